import { coarser } from './coarse.js';
self.onmessage = ({ data: [triangles, x, colours, size, error] }) => { const out = coarser(triangles, x, colours, size, error); self.postMessage(out, [out.buffer]); };
