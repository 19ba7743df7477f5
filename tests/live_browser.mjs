// node live_browser.mjs NODE_MODULES PAGE OUTPUT SETTINGS.json: the live page in headless Chromium, opened from a file, its controls set as SETTINGS say
// ({"controls": {id: value}, "ball": [x, y, z], "held": {contact, force, from, to}}, a pull that was let go). OUTPUT as live_page.mjs has it, and OUTPUT.sh: what
// `Copy command` copies. Ends with a line of what it saw; errors of the console are errors.
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
const wanted = JSON.parse(readFileSync(settingsFile, 'utf8'));
// the whole clip, frame by frame; a pull by its force, for as long as wanted
const { text, command, ms, steps } = await tab.evaluate(async (wanted) => {
    const { panel, data } = window.supple, { flesh } = panel, { live, frames } = data.info, first = data['live.times'][0], n = 3 * flesh.nbar, { held } = wanted;
    if (wanted.ball) panel.place = wanted.ball;
    for (const [id, value] of Object.entries(wanted.controls)) {
        const input = document.getElementById(`live-${id}`);
        if (input.type === 'checkbox') input.checked = value; else input.value = value;
        input.dispatchEvent(new Event('input', { bubbles: true }));
    }
    if (held) panel.held = { vertex: flesh.contacts[held.contact], force: held.force, from: held.from, to: held.to };
    let command = '';   // as a hand would copy it
    document.addEventListener('copy', () => { command = String(document.activeElement.value); });
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { command = text; } } });
    document.getElementById('live-copy').click();
    await new Promise((done) => setTimeout(done, 50));
    if (!flesh.worker) throw new Error('the flesh has no thread of its own');
    await panel.restart(0);
    const out = new Float32Array(frames * n);
    out.set(flesh.skin(), 0);
    let took = 0, steps = 0;
    for (let f = 1; f < frames; f++) {
        for (let k = 1; k <= live.substeps; k++) {
            if (held) {
                const t = first + ((f - 1) * live.substeps + k) * flesh.seconds, on = t >= held.from - 1e-9 && t <= held.to + 1e-9;
                flesh.call.set_force(held.contact, ...(on ? held.force : [0, 0, 0]));
            }
            const state = await flesh.ask({ steps: 1, moving: true });
            took += state.took, steps++;
        }
        out.set(flesh.skin(), f * n);
    }
    const bytes = new Uint8Array(out.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return { text: btoa(text), command, ms: took / steps, steps };
}, wanted);
writeFileSync(output, Buffer.from(text, 'base64'));
writeFileSync(`${output}.sh`, `${command}\n`);
console.log(`${steps} steps, ${ms.toFixed(3)} ms each`);

await browser.close();
if (errors.length) { console.log(`console: ${errors.join(' | ')}`); process.exit(1); }
