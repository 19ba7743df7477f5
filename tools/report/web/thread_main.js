import { serve } from './thread_serve.js';
const take = serve((state, transferred) => self.postMessage(state, transferred));
self.onmessage = (message) => take(message.data);
