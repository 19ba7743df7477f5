// The arrays that supple report has put into the page.
export async function readData() {
    const { arrays, info } = JSON.parse(document.getElementById('supple-info').textContent);
    const text = atob(document.getElementById('supple-data').textContent);
    const packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const buffer = await new Response(stream).arrayBuffer();
    const types = { f32: Float32Array, i16: Int16Array, u32: Uint32Array, u8: Uint8Array };
    const data = { info };
    for (const [name, [type, offset, count]] of Object.entries(arrays)) data[name] = new types[type](buffer, offset, count);
    return data;
}
