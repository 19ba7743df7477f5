// node live_browser.mjs NODE_MODULES PAGE OUTPUT [SETTINGS.json]: the live page in headless Chromium, opened from a file. OUTPUT as live_page.mjs has it.
// Ends with a line of what it saw; errors of the console are errors. SHOTS=FOLDER: pictures of each state.
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

if (process.env.SHOTS) {
    const shots = process.env.SHOTS;
    const live = await open('show=live&play&frame=0');
    await live.waitForTimeout(2500);
    // pull at the middle of what is seen
    const middle = await live.evaluate(() => {
        const v = window.supple, c = v.camera, p = v.live.geometry.attributes.position.array, box = v.renderer.domElement.getBoundingClientRect();
        const at = v.middleOf(v.live).project(c);
        return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height];
    });
    await live.keyboard.press(' ');
    await live.mouse.move(...middle), await live.mouse.down(), await live.mouse.move(middle[0] + 60, middle[1] + 70, { steps: 8 });
    await live.waitForTimeout(1500);
    const pulled = await live.evaluate(() => ({ picked: window.supple.panel.picked, force: Array.from(window.supple.panel.flesh.force()), pull: window.supple.panel.settings.pull }));
    await live.screenshot({ path: `${shots}/report-live-pull.png` });
    await live.mouse.up();
    await live.evaluate(() => { const set = (id, v) => { const e = document.getElementById(id); if (e.type === 'checkbox') e.checked = v; else e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); }; set('live-plane', true), set('live-ball', true), set('live-wind', 8), set('live-stiffness', -0.3); });
    await live.keyboard.press(' ');
    await live.waitForTimeout(3000);
    await live.screenshot({ path: `${shots}/report-live-colliders.png` });
    console.log(JSON.stringify({ pulled, rate: await live.evaluate(() => window.supple.panel.rate), command: await live.evaluate(() => window.supple.panel.command().slice(-200)) }));
    const beside = await open('show=beside&play', { colorScheme: 'dark' });
    await beside.waitForTimeout(3000);
    await beside.screenshot({ path: `${shots}/report-live-dark.png` });
    console.log('beside', JSON.stringify(await beside.evaluate(() => window.supple.panel.rate)));
    const tablet = await open('show=live', { viewport: { width: 820, height: 1180 }, hasTouch: true });
    await tablet.waitForTimeout(1500);
    await tablet.screenshot({ path: `${shots}/report-live-tablet.png` });
    if (await tablet.evaluate(() => !!window.supple.data.moved2)) {
        const two = await open('show=two&frame=60');
        await two.waitForTimeout(500);
        await two.screenshot({ path: `${shots}/report-two.png` });
    }
}
await browser.close();
if (errors.length) { console.log(`console: ${errors.join(' | ')}`); process.exit(1); }
