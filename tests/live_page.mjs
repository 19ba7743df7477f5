// node live_page.mjs WEB PAGE WASM OUTPUT [SETTINGS.json [CONTACTS.json]]: the run time of a page without a browser. OUTPUT: skin (frames,vertices,3) as f32, in the world,
// at every frame of the shot. SETTINGS: stiffness, damping, gravity, gravity_mode; wind and drag; ball, plane; force: {contact, force, from, to}.
import { readFileSync, writeFileSync } from 'node:fs';
const [, , web, page, wasm, output, settingsFile, contactsFile] = process.argv;
const html = readFileSync(page, 'utf8');
const element = (id) => {
    const at = html.indexOf(`id="${id}">`), from = at + `id="${id}">`.length;
    return at < 0 ? null : { textContent: html.slice(from, html.indexOf('</script>', from)) };
};
globalThis.document = { getElementById: element };
const { readData } = await import(`${web}/data.js`), { Flesh } = await import(`${web}/live.js`);
const data = await readData(), { live, frames } = data.info;
const wanted = settingsFile ? JSON.parse(readFileSync(settingsFile, 'utf8')) : {};
const flesh = (await Flesh.open(data, await WebAssembly.compile(readFileSync(wasm)))).start({ ...live, ...wanted }, wanted.contacts ?? 300);
if (contactsFile) writeFileSync(contactsFile, JSON.stringify(Array.from(flesh.contacts)));
if (wanted.wind) flesh.call.set_wind(...wanted.wind, wanted.drag);
if (wanted.plane !== undefined || wanted.ball) flesh.call.set_colliders(wanted.plane !== undefined, wanted.plane ?? 0, 0.5, !!wanted.ball, ...(wanted.ball ?? [0, 0, 0, 0]));
flesh.call.begin(0);   // as a bake has all of it from the start
const out = new Float32Array(frames * 3 * flesh.nbar);
out.set(flesh.skin(), 0);
let troubled = 0, steps = 0, seconds = 0;
const first = data['live.times'][0];
for (let f = 1; f < frames; f++) {
    for (let k = 1; k <= live.substeps; k++) {
        if (wanted.force) {
            const { contact, force, from, to } = wanted.force, t = first + (f - 1) * flesh.seconds * live.substeps + k * flesh.seconds, on = t >= from - 1e-9 && t <= to + 1e-9;
            flesh.call.set_force(contact, ...(on ? force : [0, 0, 0]));
        }
        const began = performance.now();
        troubled += flesh.call.step() !== 0, steps++;
        seconds += (performance.now() - began) / 1000;
    }
    out.set(flesh.skin(), f * 3 * flesh.nbar);
}
writeFileSync(output, new Uint8Array(out.buffer));
console.log(`${steps} steps, ${(1000 * seconds / steps).toFixed(4)} ms each, ${troubled} in trouble`);
