// node export_readers.mjs NODE_MODULES FOLDER: files that supple export wrote, read by three.js and by Khronos' validator.
// FOLDER holds run.glb, run.usda, blur.usda with three samples a frame, run.json with its textures, and expected.json (frames, vertices, 3): metres, y up.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [, , modules, folder] = process.argv;
const load = (name) => import(pathToFileURL(`${modules}/${name}`).href);
const file = (name) => readFileSync(`${folder}/${name}`);
const buffer = (name) => { const b = file(name); return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength); };
const expected = JSON.parse(file('expected.json')), frames = expected.length, vertices = expected[0].length;
const results = [];
async function check(what, run) {
    try { results.push([what, await run() ?? '']); } catch (error) { results.push([what, null, error.message ?? String(error)]); }
}
function need(condition, text) { if (!condition) throw new Error(text); }

globalThis.self ??= globalThis;
const THREE = await load('three/build/three.module.js');

const validator = (await load('gltf-validator/index.js')).default;
for (const name of ['run.glb', 'run.mesh.glb'])
    await check(`gltf-validator: ${name}`, async () => {
        const { issues, info } = await validator.validateBytes(new Uint8Array(file(name)));
        need(issues.numErrors === 0 && issues.numWarnings === 0, JSON.stringify(issues.messages.slice(0, 3)));
        return `${info.totalVertexCount} vertices, no error, no warning`;
    });

await check('three.js GLTFLoader plays the frames', async () => {
    const { GLTFLoader } = await load('three/examples/jsm/loaders/GLTFLoader.js');
    const gltf = await new Promise((done, fail) => new GLTFLoader().parse(buffer('run.glb'), '', done, fail));
    const mixer = new THREE.AnimationMixer(gltf.scene), action = mixer.clipAction(gltf.animations[0]);
    const fps = JSON.parse(file('run.json')).fps;
    action.setLoop(THREE.LoopOnce), action.clampWhenFinished = true, action.play();
    let worst = 0;
    const at = new THREE.Vector3();
    for (let f = 0; f < frames; f++) {
        mixer.setTime(Math.min(f / fps, gltf.animations[0].duration));
        gltf.scene.updateMatrixWorld(true);
        const found = [];
        gltf.scene.traverse((o) => {
            if (!o.isMesh) return;
            for (let v = 0; v < o.geometry.attributes.position.count; v++) found.push(o.localToWorld(o.getVertexPosition(v, at)).toArray());
        });
        // split vertices stand where one of the source does, and none is left out
        for (const p of found) worst = Math.max(worst, Math.min(...expected[f].map((q) => Math.hypot(...q.map((x, i) => x - p[i])))));
        for (const q of expected[f]) worst = Math.max(worst, Math.min(...found.map((p) => Math.hypot(...q.map((x, i) => x - p[i])))));
    }
    need(worst < 2e-5, `largest difference ${worst}`);
    return `largest difference ${worst.toPrecision(2)} m`;
});

await check('three.js USDLoader finds meshes and places', async () => {
    const { USDLoader } = await load('three/examples/jsm/loaders/USDLoader.js');
    const group = new USDLoader().parse(file('run.usda').toString());
    const found = [], at = new THREE.Vector3();
    let meshes = 0, uv = 0;
    group.updateMatrixWorld(true);
    group.traverse((o) => {
        if (!o.isMesh) return;
        meshes++, uv += o.geometry.attributes.uv ? 1 : 0;
        for (let v = 0; v < o.geometry.attributes.position.count; v++) found.push(at.fromBufferAttribute(o.geometry.attributes.position, v).applyMatrix4(o.matrixWorld).toArray());
    });
    need(meshes === 2 && uv === 2, `${meshes} meshes, ${uv} with texture coordinates`);
    let worst = 0;
    for (const p of found) worst = Math.max(worst, Math.min(...expected[0].map((q) => Math.hypot(...q.map((x, i) => x - p[i])))));
    need(found.length >= vertices && worst < 1e-5, `${found.length} corners, largest difference ${worst}`);
    return `first frame, largest difference ${worst.toPrecision(2)} m`;
});

const { EXRLoader } = await load('three/examples/jsm/loaders/EXRLoader.js');
for (const kind of ['float', 'half'])
    await check(`three.js EXRLoader: ${kind} textures give the frames`, async () => {
        const name = kind === 'float' ? 'run' : 'half', doc = JSON.parse(file(`${name}.json`));
        const image = new EXRLoader().setDataType(THREE.FloatType).parse(buffer(doc.positions.file));
        need(image.width === doc.width && image.height === doc.height, 'another size');
        let worst = 0;
        for (let f = 0; f < frames; f++)
            for (let v = 0; v < vertices; v++) {
                const row = f * doc.rows_per_frame + Math.floor(v / doc.width), x = v % doc.width;
                for (let i = 0; i < 3; i++) {   // three.js turns images upside down
                    const texel = image.data[4 * ((image.height - 1 - row) * image.width + x) + i];
                    worst = Math.max(worst, Math.abs(doc.positions.offset[i] + doc.positions.scale[i] * texel - expected[f][v][i]));
                }
            }
        need(worst < (kind === 'float' ? 1e-6 : 1e-3), `largest difference ${worst}`);
        return `largest difference ${worst.toPrecision(2)} m`;
    });

await check('TinyUSDZ reads every time sample of the USD layer', async () => {
    /* its build is for browsers; a worker is close enough */
    globalThis.WorkerGlobalScope = function () {};
    Object.defineProperty(process, 'type', { value: 'renderer' });
    const { default: create } = await load('tinyusdz/tinyusdz.js');
    const usd = await create({ wasmBinary: readFileSync(`${modules}/tinyusdz/tinyusdz.wasm`) }), reader = new usd.TinyUSDZLoaderNative();
    need(reader.loadFromBinary(file('run.usda'), 'run.usda') && reader.numMeshes() === 2, `${reader.numMeshes()} meshes: ${reader.error()}`);
    const layer = new usd.TinyUSDZLoaderNative();
    need(layer.loadAsLayerFromBinary(file('blur.usda'), 'blur.usda'), layer.error());
    const text = layer.layerToString(), start = Number(text.match(/startTimeCode = (\d+)/)[1]);
    const samples = (name) => [...text.matchAll(new RegExp(`${name}.timeSamples = \\{(.*?)\\n            \\}`, 'gs'))].map((mesh) =>
        [...mesh[1].matchAll(/([-0-9.e]+): \[(.*?)\]/g)].map(([, t, list]) => [Number(t), [...list.matchAll(/\(([^)]*)\)/g)].map(([, p]) => p.split(',').map(Number))]));
    const meshes = samples('point3f\\[\\] points');
    need(meshes.length === 2 && meshes.every((m) => m.length === 3 * frames), `${meshes.map((m) => m.length)} samples`);
    need(samples('vector3f\\[\\] velocities').every((m) => m.length === 3 * frames), 'velocities are missing');
    let worst = 0;
    for (let f = 0; f < frames; f++) {
        const [a, b] = meshes.map((m) => m.find(([t]) => t === start + f)[1]);
        [...a, ...b].forEach((p, v) => p.forEach((x, i) => { worst = Math.max(worst, Math.abs(x - expected[f][v][i])); }));
        need(meshes[0][3 * f][0] === start + f - 0.25 && meshes[0][3 * f + 2][0] === start + f + 0.25, `time codes of frame ${f}`);
    }
    need(worst < 1e-6, `largest difference ${worst}`);
    return `${3 * frames} samples of each mesh, frames to ${worst.toPrecision(2)} m`;
});

results.forEach(([what, note, error]) => console.log(error ? `not ok - ${what}: ${error}` : `ok - ${what}: ${note}`));
