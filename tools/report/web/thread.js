/* The flesh, stepped in a thread of its own, or in the page's where a browser gives none to a page from a file. It is seen as it was at the last answer; calls
   of the run time go with the next question, in order. */
import { serve } from './thread_serve.js';

export class Thread {
    // Rejects with why there is no flesh.
    static async open(data, bytes, settings, contacts) {
        const own = Object.fromEntries(Object.entries(data).filter(([name]) => name === 'triangles' || /^(model|live)\./.test(name)));
        const words = { open: { data: { ...own, info: data.info }, bytes, settings, contacts } };
        for (const apart of [true, false]) {
            let thread;
            try {
                thread = new Thread(apart);
                const first = await thread.put(words);
                if (first.why) throw new Error(first.why);
                thread.contacts = first.contacts, thread.seconds = first.seconds, thread.nbar = first.nbar;
                return thread;
            } catch (error) {
                thread?.worker?.terminate();
                if (!apart) throw error;
            }
        }
    }

    constructor(apart) {
        this.waiting = [], this.calls = [], this.epoch = 0, this.state = null, this.fresh = false;
        if (apart) {
            this.worker = new Worker(URL.createObjectURL(new Blob([SUPPLE_THREAD], { type: 'text/javascript' })));
            this.worker.onmessage = (message) => this.take(message.data);
            this.worker.onerror = (event) => { event.preventDefault(), this.waiting.shift()?.fail(new Error(event.message || 'no thread')); };
            this.send = (question) => this.worker.postMessage(question);
        } else {
            const take = serve((state) => queueMicrotask(() => this.take(state)));
            this.send = (question) => take(question);
        }
        this.call = new Proxy({}, { get: (_, name) => (...words) => { this.queue(name, words); } });
    }

    queue(name, words) {
        this.calls.push([name, ...words]);
        if (name === 'begin') this.epoch++, this.state.frame = words[0];   // what is still under way is of before
    }

    put(question) {
        const answered = new Promise((done, fail) => this.waiting.push({ done, fail }));
        this.send(question);
        return answered;
    }

    // seconds or steps, moving, rig: see thread_serve.js.
    ask(question = {}) {
        const { calls } = this;
        this.calls = [];
        return this.put({ ...question, calls, epoch: this.epoch });
    }

    take(state) {
        if (state.epoch === undefined || state.epoch === this.epoch) this.state = state, this.fresh = true;
        this.waiting.shift().done(state);
    }

    get busy() { return this.waiting.length > 0; }
    get frame() { return this.state.frame; }
    skin() { return this.state.skin; }
    rig() { return this.state.rig; }
    contactPositions() { return this.state.places; }
    force() { return this.state.force; }
}
