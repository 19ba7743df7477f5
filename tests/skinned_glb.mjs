// node skinned_glb.mjs NODE_MODULES GLB EXACT.npy DISPLACEMENT.npy RIG.npy ANIM.json LIMIT: three.js plays a .glb of one skinned
// character. ANIM.json: fps, objects (vertices of each). With morph weights it is EXACT to LIMIT of the flesh's motion (RMS), without RIG (-: not asked).
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [, , modules, path, exactPath, displacementPath, rigPath, animPath, limit] = process.argv;
const load = (name) => import(pathToFileURL(`${modules}/${name}`).href);
function npy(name) {   // (frames, vertices, 3) of f4
    const bytes = readFileSync(name), head = 10 + bytes.readUInt16LE(8), text = bytes.subarray(10, head).toString();
    if (!text.includes("'<f4'")) throw new Error(`${name}: ${text}`);
    const [frames, vertices] = text.match(/\((\d+), *(\d+), *3/).slice(1).map(Number);
    return { frames, vertices, data: new Float32Array(bytes.buffer.slice(bytes.byteOffset + head, bytes.byteOffset + bytes.length)) };
}
globalThis.self ??= globalThis;
const THREE = await load('three/build/three.module.js');
const { GLTFLoader } = await load('three/examples/jsm/loaders/GLTFLoader.js');
const validator = (await load('gltf-validator/index.js')).default;
const { issues } = await validator.validateBytes(new Uint8Array(readFileSync(path)));
const bad = issues.messages.filter((m) => m.severity < 2 && !m.code.startsWith('NODE_SKINNED_MESH'));   // where the source has its meshes
if (bad.length) throw new Error(`gltf-validator: ${JSON.stringify(bad.slice(0, 3))}`);

const bytes = readFileSync(path), { fps, objects } = JSON.parse(readFileSync(animPath));
const gltf = await new Promise((done, fail) => new GLTFLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '', done, fail));
const exact = npy(exactPath), displacement = npy(displacementPath), rig = rigPath === '-' ? null : npy(rigPath);
const mixer = new THREE.AnimationMixer(gltf.scene), action = mixer.clipAction(gltf.animations[0]);
action.setLoop(THREE.LoopOnce), action.clampWhenFinished = true, action.play();
const at = new THREE.Vector3(), meshes = [];
gltf.scene.traverse((o) => { if (o.isMesh) meshes.push(o); });
meshes.sort((a, b) => gltf.parser.associations.get(a).meshes - gltf.parser.associations.get(b).meshes);
const difference = (o, v, want, index) => {
    o.localToWorld(o.getVertexPosition(v, at));
    return Math.hypot(at.x - want.data[index], at.y - want.data[index + 1], at.z - want.data[index + 2]);
};
let square = 0, largest = 0, off = 0, motion = 0, size = 0;
for (const d of displacement.data) motion += d * d;
for (const x of exact.data.subarray(0, 3 * exact.vertices)) size = Math.max(size, Math.abs(x));
for (let f = 0; f < exact.frames; f++) {
    mixer.setTime(Math.min(f / fps, gltf.animations[0].duration));
    for (const targets of rig ? [true, false] : [true]) {
        if (!targets) meshes.forEach((o) => o.morphTargetInfluences?.fill(0));
        gltf.scene.updateMatrixWorld(true);
        for (const o of meshes) {   // several for a mesh of several materials, over the same vertices
            const { meshes: m, primitives } = gltf.parser.associations.get(o);
            objects[m].forEach((own, v) => {   // vertex v of the mesh is vertex v of the object
                const d = difference(o, v, targets ? exact : rig, 3 * (f * exact.vertices + own));
                if (!targets) off = Math.max(off, d);
                else largest = Math.max(largest, d), square += primitives ? 0 : d * d;
            });
        }
    }
}
const relative = Math.sqrt(square / motion);
console.log(`${(100 * relative).toPrecision(3)} % of the flesh's motion, ${largest.toPrecision(2)} m at most; the rig alone to ${(off / size).toPrecision(2)} of the size`);
if (!(relative < Number(limit) && off < 1e-5 * size)) process.exit(1);
