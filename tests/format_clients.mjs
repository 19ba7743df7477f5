// node format_clients.mjs NODE_MODULES JOBS.json: what three.js, Khronos' validator and TinyUSDZ read of files, for scripts/check-formats.
// A job is { client, file, out, ... }; what was read is written to its `out` as JSON:
//   meshes [{ name, frames [[x y z of each corner of each triangle, in the world]], uv, normals (of the first frame) }], or points
//   [frames][x y z of each vertex of the file], for files in which the reader keeps vertices; or the validator's findings; or { error }.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , modules, list] = process.argv;
const load = (name) => import(pathToFileURL(`${modules}/${name}`).href);
const bytes = (name) => { const b = readFileSync(name); return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength); };
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class { constructor(type) { this.type = type; } };
const THREE = await load('three/build/three.module.js');
const loaders = 'three/examples/jsm/loaders';

function corners(mesh) {
    const index = mesh.geometry.index, count = index ? index.count : mesh.geometry.attributes.position.count;
    return Array.from({ length: count }, (_, i) => (index ? index.getX(i) : i));
}

function meshesOf(root) {
    const out = [];
    root.traverse((o) => { if (o.isMesh) out.push(o); });
    return out;
}

function places(mesh, indices) {
    const at = new THREE.Vector3(), out = [];
    for (const i of indices) {
        mesh.getVertexPosition(i, at);
        mesh.localToWorld(at);
        out.push(at.x, at.y, at.z);
    }
    return out;
}

function described(mesh) {
    const { uv, normal } = mesh.geometry.attributes, all = corners(mesh), turn = new THREE.Matrix3().getNormalMatrix(mesh.matrixWorld), n = new THREE.Vector3();
    const out = { name: mesh.name, frames: [] };
    if (uv) out.uv = all.flatMap((i) => [uv.getX(i), uv.getY(i)]);
    if (normal) out.normals = all.flatMap((i) => {
        n.fromBufferAttribute(normal, i);
        const morphs = mesh.geometry.morphAttributes.normal ?? [];
        morphs.forEach((m, k) => { const w = mesh.morphTargetInfluences[k]; n.x += w * m.getX(i), n.y += w * m.getY(i), n.z += w * m.getZ(i); });
        return n.applyMatrix3(turn).normalize().toArray();
    });
    return out;
}

async function gltf(job) {
    const { GLTFLoader } = await load(`${loaders}/GLTFLoader.js`);
    const loader = new GLTFLoader(), name = job.file, data = bytes(name);
    if (job.meshopt) loader.setMeshoptDecoder((await load('three/examples/jsm/libs/meshopt_decoder.module.js')).MeshoptDecoder);
    THREE.Cache.enabled = true;     // buffers beside the file, without a server
    for (const buffer of name.endsWith('.gltf') ? JSON.parse(readFileSync(name)).buffers : [])
        if (buffer.uri && !buffer.uri.startsWith('data:'))
            THREE.Cache.add(`file:${dirname(name)}/${buffer.uri}`, bytes(join(dirname(name), decodeURIComponent(buffer.uri))));
    const scene = await new Promise((done, fail) => loader.parse(name.endsWith('.gltf') ? readFileSync(name).toString() : data, `${dirname(name)}/`, done, fail));
    const meshes = meshesOf(scene.scene);
    const order = (o) => scene.parser.associations.get(o).meshes;
    if (!job.points) meshes.sort((a, b) => order(a) - order(b));
    const mixer = new THREE.AnimationMixer(scene.scene);
    const clip = scene.animations.find((a) => !job.clip || a.name === job.clip);
    if (clip) {
        const action = mixer.clipAction(clip);
        action.setLoop(THREE.LoopOnce), action.clampWhenFinished = true, action.play();
    }
    // three.js plays quaternions of integers as they are stored, up to 2e-5 from length 1; a rotation is a unit quaternion
    for (const track of clip?.tracks ?? [])
        for (let k = 0; track.ValueTypeName === 'quaternion' && k < track.values.length; k += 4) {
            const length = Math.hypot(...track.values.subarray(k, k + 4));
            for (let i = 0; i < 4; i++) track.values[k + i] /= length;
        }
    let found = null;
    const points = [];
    for (const time of job.times) {
        mixer.setTime(clip ? Math.min(time, clip.duration) : 0);
        scene.scene.updateMatrixWorld(true);
        if (job.points) {
            points.push(meshes.flatMap((m) => places(m, Array.from({ length: m.geometry.attributes.position.count }, (_, i) => i))));
            continue;
        }
        found ??= meshes.map(described);
        meshes.forEach((m, k) => found[k].frames.push(places(m, corners(m))));
    }
    return job.points ? { points } : { meshes: found };
}

async function still(job, root) {
    root.updateMatrixWorld(true);
    return { meshes: meshesOf(root).map((m) => ({ ...described(m), frames: [places(m, corners(m))] })) };
}

const clients = {
    gltf,
    obj: async (job) => still(job, new (await load(`${loaders}/OBJLoader.js`)).OBJLoader().parse(readFileSync(job.file).toString())),
    usd: async (job) => still(job, new (await load(`${loaders}/USDLoader.js`)).USDLoader().parse(readFileSync(job.file).toString())),
    mdd: async (job) => {
        const { morphTargets } = new (await load(`${loaders}/MDDLoader.js`)).MDDLoader().parse(bytes(job.file));
        return { points: morphTargets.map((t) => Array.from(t.array)) };
    },
    exr: async (job) => {
        const image = new (await load(`${loaders}/EXRLoader.js`)).EXRLoader().setDataType(THREE.FloatType).parse(bytes(job.file));
        return { width: image.width, height: image.height, data: Array.from(image.data) };
    },
    validator: async (job) => {
        const { issues } = await (await load('gltf-validator/index.js')).default.validateBytes(new Uint8Array(readFileSync(job.file)));
        return { errors: issues.numErrors, warnings: issues.numWarnings, messages: issues.messages.filter((m) => m.severity < 2).slice(0, 3) };
    },
    tinyusdz: async (job) => {
        globalThis.WorkerGlobalScope = function () {};      // its build is for browsers; a worker is close enough
        Object.defineProperty(process, 'type', { value: 'renderer', configurable: true });
        const { default: create } = await load('tinyusdz/tinyusdz.js');
        const usd = await create({ wasmBinary: readFileSync(`${modules}/tinyusdz/tinyusdz.wasm`) });
        const layer = new usd.TinyUSDZLoaderNative();
        if (!layer.loadAsLayerFromBinary(readFileSync(job.file), job.file)) throw new Error(layer.error());
        return { layer: layer.layerToString() };
    },
};

for (const job of JSON.parse(readFileSync(list))) {
    let found;
    try {
        found = await clients[job.client](job);
    } catch (error) {
        found = { error: String(error.message ?? error) };
    }
    writeFileSync(job.out, JSON.stringify(found));
}
