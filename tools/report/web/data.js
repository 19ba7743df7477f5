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

// The low bytes of all before the higher ones; of a motion, frames of `width` integers, second differences in time, modulo the type.
function gather(bytes, values, width) {
    const count = values.length, size = values.BYTES_PER_ELEMENT, raw = new Uint8Array(values.buffer);
    for (let b = 0; b < size; b++) for (let i = 0; i < count; i++) raw[size * i + b] = bytes[b * count + i];
    if (width) for (let order = 0; order < 2; order++) for (let i = width; i < count; i++) values[i] += values[i - width];
    return values;
}

const types = { f32: Float32Array, i16: Int16Array, u32: Uint32Array, u8: Uint8Array, i8: Int8Array, i32: Int32Array, f64: Float64Array, i64: BigInt64Array };

export async function readData() {
    const { arrays, info } = JSON.parse(document.getElementById('supple-info').textContent);
    const buffer = await unpack('supple-data'), data = { info };
    for (const [name, [type, offset, count, width]] of Object.entries(arrays))
        data[name] = gather(new Uint8Array(buffer, offset), new types[type](count), width);
    data.pose_shapes = Float32Array.from(data.pose_shapes, (x) => x / 32767 * info.pose_shapes_scale);
    if (data['live.skin']) data['live.skin'] = carried(data);
    if (!data.rig) data.rig = placed(data);
    return data;
}

// The animation's own skin: where its bones take the neutral one, and what is left. tools/report/skin.c does the same.
function carried({ info: { live: { unit } }, 'live.skin': left, 'live.moves': moves, 'live.weight_start': start, 'live.weight_bone': bone, 'live.weight': weight, 'model.neutral': neutral }) {
    const n = 3 * (start.length - 1), frames = left.length / n, bones = moves.length / (12 * frames), x = Float32Array.from(neutral), out = new Float32Array(left.length);
    for (let f = 0; f < frames; f++)
        for (let v = 0, i = 0; i < n; v++, i += 3) {
            let a = 0, b = 0, c = 0;
            for (let k = start[v]; k < start[v + 1]; k++) {
                const m = 12 * (f * bones + bone[k]), w = weight[k];
                a += w * (moves[m] * x[i] + moves[m + 1] * x[i + 1] + moves[m + 2] * x[i + 2] + moves[m + 3]);
                b += w * (moves[m + 4] * x[i] + moves[m + 5] * x[i + 1] + moves[m + 6] * x[i + 2] + moves[m + 7]);
                c += w * (moves[m + 8] * x[i] + moves[m + 9] * x[i + 1] + moves[m + 10] * x[i + 2] + moves[m + 11]);
            }
            const at = f * n + i;
            out[at] = a + unit * left[at], out[at + 1] = b + unit * left[at + 1], out[at + 2] = c + unit * left[at + 2];
        }
    return out;
}

// The animation's own skin where its root frames put it, as the page has all else.
function placed({ info, 'live.skin': skin, 'live.roots': root }) {
    const n = 3 * info.skin_vertices, out = new Int16Array(info.shown_frames * n);
    for (let f = 0; f < info.shown_frames; f++) {
        const from = f * info.frame_step * n, m = root.subarray(16 * f * info.frame_step);
        for (let v = 0; v < n; v += 3)
            for (let i = 0; i < 3; i++) {
                const x = m[4 * i] * skin[from + v] + m[4 * i + 1] * skin[from + v + 1] + m[4 * i + 2] * skin[from + v + 2] + m[4 * i + 3];
                out[f * n + v + i] = Math.max(-32767, Math.min(32767, Math.round((x - info.rig_centre[i]) / info.rig_scale * 32767)));
            }
    }
    return out;
}
