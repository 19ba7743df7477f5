// The run time as a module (tools/report/wasm/live.c) with the model and the shot of the page in its memory.
const GRAVITY_MODES = ['relative', 'absolute', 'none'];
export { GRAVITY_MODES };

// Row after row in multiples of its own quantum, and some entries as they are.
function unrounded(data, name) {
    const [values, rows, quanta, at, exact] = ['', '.rows', '.quanta', '.at', '.exact'].map((part) => data[name + part]);
    const out = new Float32Array(values.length);
    for (let k = 0, i = 0; k < rows.length; k++) for (const end = i + rows[k]; i < end; i++) out[i] = values[i] * quanta[k];
    for (let k = 0; k < at.length; k++) out[at[k]] = exact[k];
    return out;
}

export class Flesh {
    // data: the page's arrays; module: a WebAssembly.Module. Throws where the run time refuses.
    static async open(data, module) {
        const none = () => 0;
        const { exports } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: new Proxy({}, { get: () => none }), env: new Proxy({}, { get: () => none }) });
        return new Flesh(data, exports);
    }

    constructor(data, exports) {
        const { live, skin_vertices: nbar, frames, parameters } = data.info;
        this.call = exports, this.nbar = nbar, this.live = live, this.triangles = data.triangles;
        for (const [key, text] of Object.entries(live.texts)) exports.tell(this.text(key), this.text(text), 0);
        exports.tell(this.text('frequency'), 0, live.frequency);
        for (const [name, shape] of Object.entries(live.arrays)) {
            let array = data[`model.${name}`];
            if (data[`model.${name}.rows`]) array = unrounded(data, `model.${name}`);
            if (!exports.add(this.text(name), this.put(array), array instanceof Float32Array, ...[0, 1, 2, 3].map((d) => shape[d] ?? 0))) throw new Error(`model: ${name}`);
        }
        const cuts = live.teleports ?? [], s = parameters;
        if (!exports.frames(frames, s, this.put(data['live.times']), this.put(data['live.params']), this.put(data['live.roots']), this.put(data['live.skin']),
            live.corrected, cuts.length, this.put(Int32Array.from(cuts)))) throw new Error(this.message());
    }

    // What cannot be changed while it runs; settings: stiffness, damping, gravity, gravity_mode.
    start(settings, contacts = 300, contactStiffness = 0) {
        const { live } = this, g = settings.gravity;
        if (this.call.open(live.newton, contacts, contactStiffness, settings.stiffness, settings.damping, g[0], g[1], g[2], settings.gravity_mode,
            live.substeps, live.moving ? 0 : 1, live.preroll, this.triangles.length / 3, this.put(this.triangles))) throw new Error(this.message());
        this.contacts = new Int32Array(this.call.memory.buffer, this.call.contact_vertices(), this.call.contact_count()).slice();
        this.call.begin(0);
        return this;
    }

    put(array) {
        const at = this.call.room(array.byteLength);
        new Uint8Array(this.call.memory.buffer, at, array.byteLength).set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
        return at;
    }
    text(text) { return this.put(new TextEncoder().encode(`${text}\0`)); }
    message() {
        const bytes = new Uint8Array(this.call.memory.buffer, this.call.message(), 1024);
        return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    }
    // Views of the module's memory: to be read before the next call.
    skin() { return new Float32Array(this.call.memory.buffer, this.call.skin(), 3 * this.nbar); }
    rig() { return new Float32Array(this.call.memory.buffer, this.call.rig(), 3 * this.nbar); }
    contactPositions() { return new Float64Array(this.call.memory.buffer, this.call.contact_positions(), 3 * this.contacts.length); }
    force() { return new Float64Array(this.call.memory.buffer, this.call.pull_force(), 3); }
    get frame() { return this.call.at(); }
    get seconds() { return this.call.step_seconds(); }
}
