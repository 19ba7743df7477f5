// node live_browser.mjs NODE_MODULES PAGE OUTPUT [SETTINGS.json]: the live page in headless Chromium, opened from a file. OUTPUT as live_page.mjs has it.
// Ends with a line of what it saw; errors of the console are errors.
import { createRequire } from 'node:module';
import { readFileSync, writeFileSync, existsSync } from 'node:fs';
const [, , modules, page, output, settingsFile] = process.argv, { chromium } = createRequire(`${modules}/`)('playwright-core');
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'] });
const errors = [];
const open = async (hash, options = {}) => {
    const tab = await (await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options })).newPage();
    tab.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
    tab.on('pageerror', (e) => errors.push(String(e)));
    await tab.goto(`file://${page}#${hash}`);
    await tab.waitForFunction(() => document.body.dataset.ready, null, { timeout: 60000 });
    return tab;
};
const tab = await open('show=live&still');
const why = await tab.evaluate(() => document.body.dataset.notLive);
if (why !== undefined) { console.log(`not live: ${why}`); process.exit(1); }
const wanted = settingsFile ? JSON.parse(readFileSync(settingsFile, 'utf8')) : {};
// the whole clip, frame by frame; a pull by its force, for as long as wanted
const { text, ms, steps } = await tab.evaluate((wanted) => {
    const { panel: { flesh }, data } = window.supple, { live, frames } = data.info, first = data['live.times'][0], n = 3 * flesh.nbar;
    if (wanted.stiffness || wanted.damping) flesh.call.set_flesh(wanted.stiffness ?? live.stiffness, wanted.damping ?? live.damping);
    if (wanted.gravity) flesh.call.set_gravity(...wanted.gravity, wanted.gravity_mode ?? live.gravity_mode);
    if (wanted.wind) flesh.call.set_wind(...wanted.wind, wanted.drag);
    flesh.call.set_colliders(wanted.plane !== undefined, wanted.plane ?? 0, 0.5, !!wanted.ball, ...(wanted.ball ?? [0, 0, 0, 0]));
    flesh.call.begin(0);
    const out = new Float32Array(frames * n);
    out.set(flesh.skin(), 0);
    let took = 0, steps = 0;
    for (let f = 1; f < frames; f++) {
        for (let k = 1; k <= live.substeps; k++) {
            if (wanted.force) {
                const t = first + ((f - 1) * live.substeps + k) * flesh.seconds, on = t >= wanted.force.from - 1e-9 && t <= wanted.force.to + 1e-9;
                flesh.call.set_force(wanted.force.contact, ...(on ? wanted.force.force : [0, 0, 0]));
            }
            const began = performance.now();
            flesh.call.step(), steps++;
            took += performance.now() - began;
        }
        out.set(flesh.skin(), f * n);
    }
    const bytes = new Uint8Array(out.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return { text: btoa(text), ms: took / steps, steps };
}, wanted);
writeFileSync(output, Buffer.from(text, 'base64'));
console.log(`${steps} steps, ${ms.toFixed(3)} ms each`);

await browser.close();
if (errors.length) { console.log(`console: ${errors.join(' | ')}`); process.exit(1); }
