// The arrays that supple report has put into the page.
export async function unpack(id) {
    const holder = document.getElementById(id);
    if (!holder) return null;
    const text = atob(holder.textContent), packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    holder.textContent = '';
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Response(stream).arrayBuffer();
}

// Frames of `width` values: second differences in time, modulo the type, the low bytes of all before the higher ones.
function motion(bytes, values, width) {
    const count = values.length, size = values.BYTES_PER_ELEMENT, raw = new Uint8Array(values.buffer);
    for (let b = 0; b < size; b++) for (let i = 0; i < count; i++) raw[size * i + b] = bytes[b * count + i];
    for (let order = 0; order < 2; order++) for (let i = width; i < count; i++) values[i] += values[i - width];
    return values;
}

const types = { f32: Float32Array, i16: Int16Array, u32: Uint32Array, u8: Uint8Array, i8: Int8Array, i32: Int32Array, f64: Float64Array, i64: BigInt64Array };

export async function readData() {
    const { arrays, info } = JSON.parse(document.getElementById('supple-info').textContent);
    const buffer = await unpack('supple-data'), data = { info };
    for (const [name, [type, offset, count, width]] of Object.entries(arrays))
        data[name] = width === undefined ? new types[type](buffer, offset, count)
            : motion(new Uint8Array(buffer, offset), new types[type](count), width);
    data.pose_shapes = Float32Array.from(data.pose_shapes, (x) => x / 32767 * info.pose_shapes_scale);
    if (!data.rig) data.rig = placed(data);
    return data;
}

// The animation's own skin where its root frames put it, as the page has all else.
function placed({ info, 'live.skin': skin, 'live.roots': root }) {
    const n = 3 * info.skin_vertices, out = new Int16Array(info.shown_frames * n), { unit } = info.live;
    for (let f = 0; f < info.shown_frames; f++) {
        const from = f * info.frame_step * n, m = root.subarray(16 * f * info.frame_step);
        for (let v = 0; v < n; v += 3)
            for (let i = 0; i < 3; i++) {
                const x = unit * (m[4 * i] * skin[from + v] + m[4 * i + 1] * skin[from + v + 1] + m[4 * i + 2] * skin[from + v + 2]) + m[4 * i + 3];
                out[f * n + v + i] = Math.max(-32767, Math.min(32767, Math.round((x - info.rig_centre[i]) / info.rig_scale * 32767)));
            }
    }
    return out;
}
