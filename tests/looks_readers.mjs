// node looks_readers.mjs NODE_MODULES FOLDER: what tests/test_looks.sh wrote, read by three.js, TinyUSDZ and Khronos' validator.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [, , modules, folder] = process.argv;
const load = (name) => import(pathToFileURL(`${modules}/${name}`).href);
const file = (name) => readFileSync(`${folder}/${name}`);
const results = [];
async function check(what, run) {
    try { results.push([what, await run() ?? '']); } catch (error) { results.push([what, null, error.message ?? String(error)]); }
}
function need(condition, text) { if (!condition) throw new Error(text); }
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

globalThis.self ??= globalThis;
await load('three/build/three.module.js');

await check('gltf-validator: materials', async () => {
    const validator = (await load('gltf-validator/index.js')).default;
    const { issues, info } = await validator.validateBytes(new Uint8Array(file('again.glb')));
    const bad = issues.messages.filter((m) => m.severity < 2 && m.code !== 'NODE_SKINNED_MESH_NON_ROOT');
    need(bad.length === 0, JSON.stringify(bad.slice(0, 3)));
    need(info.materialCount === 2 && info.totalTriangleCount === 24, `${info.materialCount} materials, ${info.totalTriangleCount} triangles`);
});

await check('three.js: a mesh a material, with its colour, over vertices with colours', async () => {
    const { GLTFLoader } = await load('three/examples/jsm/loaders/GLTFLoader.js');
    const data = file('again.glb');
    const gltf = await new Promise((done, fail) => new GLTFLoader().parse(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength), '', done, fail));
    const found = [];
    gltf.scene.traverse((o) => {
        if (o.isMesh) found.push([o.material.name, o.geometry.index.count / 3, o.geometry.attributes.color?.itemSize ?? 0, ...o.material.color.toArray().map((x) => Number(x.toFixed(4)))]);
    });
    need(same(found.map((f) => f.slice(0, 3)).sort(), [['', 8, 4], ['nail', 4, 4], ['skin', 4, 4], ['skin', 8, 4]]), JSON.stringify(found));
    need(found.every((f) => f[0] !== 'nail' || same(f.slice(3), [0.1, 0.2, 0.9])), JSON.stringify(found));
});

/* its build is for browsers; a worker is close enough */
globalThis.WorkerGlobalScope = function () {};
Object.defineProperty(process, 'type', { value: 'renderer' });
const { default: create } = await load('tinyusdz/tinyusdz.js');
const usd = await create({ wasmBinary: readFileSync(`${modules}/tinyusdz/tinyusdz.wasm`) });
const layer = (name) => {
    const reader = new usd.TinyUSDZLoaderNative();
    need(reader.loadAsLayerFromBinary(file(name), name), reader.error());
    return reader.layerToString();
};
const scene = (name) => {
    const reader = new usd.TinyUSDZLoaderNative();
    need(reader.loadFromBinary(file(name), name), reader.error());
    return reader;
};

await check('TinyUSDZ: prims where the source has them, subsets, colours', async () => {
    const text = layer('beast.usda'), reader = scene('beast.usda');
    const paths = [...Array(reader.numMeshes()).keys()].map((i) => reader.getMesh(i).absPath).sort();
    need(same(paths, ['/grp/ctl/off/body', '/grp/spin/prop']), paths.join(' '));
    const subsets = [...text.matchAll(/def GeomSubset "(\w+)"/g)].map((m) => m[1]).sort();
    need(same(subsets, ['front', 'nailSG', 'skinSG', 'skinSG', 'wide']), subsets.join(' '));
    need(text.includes('</grp/materials/nailSG>') && text.includes('primvars:displayColor') && text.includes('primvars:displayOpacity'), 'bindings or colours are missing');
});
await check('TinyUSDZ: materials with their colours', async () => {
    const reader = scene('two.usda'), text = layer('two.usda');
    need(/def Material "skin"/.test(text) && /def Material "nail"/.test(text), 'materials are missing');
    const colors = [0, 1].map((i) => reader.getMaterial(i).diffuseColor.map((x) => Number(x.toFixed(4)))).sort();
    need(same(colors, [[0.1, 0.2, 0.9], [0.9, 0.4, 0.3]]), JSON.stringify(colors));
});
await check('TinyUSDZ: points of object space, transforms that move', async () => {
    const text = layer('beast.usda'), first = text.match(/point3f\[\] points.timeSamples = \{\s*1: \[(.*?)\]/s)[1].match(/\(([^)]*)\)/g).map((p) => p.slice(1, -1).split(',').map(Number));
    const worst = Math.max(...first.flatMap((p, c) => [p[0] - (c & 1) - 1 / 24, p[1] - (c >> 1 & 1), p[2] - (c >> 2 & 1) - 2 / 24]).map(Math.abs));
    need(first.length === 8 && worst < 1e-6, `largest difference ${worst}`);
    need([...text.matchAll(/xformOp:transform.timeSamples/g)].length === 1, 'one transform moves');
});
await check('TinyUSDZ: a layer of opinions over the asset', async () => {
    const text = layer('over.usda');
    need(/over "grp"/.test(text) && /over "body"/.test(text) && !/def /.test(text), text.slice(0, 400));
    need([...text.matchAll(/points.timeSamples/g)].length === 2 && [...text.matchAll(/velocities.timeSamples/g)].length === 2, 'samples are missing');
    const reader = new usd.TinyUSDZLoaderNative();
    need(reader.loadAsLayerFromBinary(file('over.usda'), 'over.usda'), reader.error());
    need([...Array(reader.extractSublayerAssetPaths().length ?? reader.extractSublayerAssetPaths().size()).keys()].length === 1, 'the asset is no sublayer');
});

for (const name of ['beast', 'over', 'flat', 'two'])
    await check(`TinyUSDZ: ${name}.usdc holds what ${name}.usda holds`, async () => {
        /* texts of numbers that the layer's own text has to nine digits */
        const [text, binary] = ['usda', 'usdc'].map((kind) => layer(`${name}.${kind}`).replace(/string provenance = .*/, '').replaceAll('over "', 'def "').split(/(-?\d[-+.\de]*)/));
        need(text.length === binary.length && text.length > 500, `${text.length} and ${binary.length} pieces`);
        text.forEach((a, i) => need(a === binary[i] || Math.abs(Number(a) - Number(binary[i])) <= 1e-7 * Math.max(1, Math.abs(Number(a))), `${a} and ${binary[i]} behind ${text.slice(Math.max(0, i - 8), i).join('').slice(-80)}`));
        /* of binary layers TinyUSDZ shows prims without a type as def: their specifiers as the file has them */
        const over = Buffer.from([1, 0, 0, 0, 0, 0, 42, 0x40]), bytes = file(`${name}.usdc`);
        let overs = 0;
        for (let at = bytes.indexOf(over); at >= 0; at = bytes.indexOf(over, at + 1)) overs++;
        need(overs === (name === 'over' ? 6 : 0), `${overs} prims of opinions`);
        need(name === 'over' || scene(`${name}.usdc`).numMeshes() === 2, 'two meshes');
    });

results.forEach(([what, note, error]) => console.log(error ? `not ok - ${what}: ${error}` : `ok - ${what}${note ? ': ' + note : ''}`));
