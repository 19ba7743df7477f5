// node bench/frames.mjs [PAGE...] [--size 1360x900,820x1180] [--seconds 8] [--flags 'CHROMIUM FLAGS']: the table of docs/export.md: pictures a second of a live page (out/demo/Trot.html) in headless
// Chromium, and milliseconds of processor time a picture, by who takes them; before it those of a page with nothing but a line of text, and with an empty canvas of WebGL. Chromium is as it
// comes, which without a graphics processor draws WebGL by SwiftShader and puts pages together by itself; --flags adds to that. Linux; needs `make viewer`.
import { createRequire } from 'node:module';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

const root = resolve(new URL('..', import.meta.url).pathname), words = process.argv.slice(2), pages = [];
const option = { size: '1360x900', seconds: '8', flags: '' };
while (words.length) { const word = words.shift(); if (word.startsWith('--')) option[word.slice(2)] = words.shift(); else pages.push(word); }
if (!pages.length) pages.push(`${root}/out/demo/Trot.html`);
const skip = (why) => { console.log(`skipped: ${why}`); process.exit(0); };
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
if (!browserPath) skip('no Chromium');
if (!existsSync(`${root}/build/viewer/source/node_modules/playwright-core`)) skip('no playwright-core (make viewer)');
for (const page of pages) if (!existsSync(page)) skip(`no ${page} (make demo)`);
const { chromium } = createRequire(`${root}/build/viewer/source/node_modules/`)('playwright-core');

const TICK = 10, WARM = 5, WINDOW = 1;   // ms of a tick of /proc; s before anything counts: the page finds out how it draws; s of a window, of which the median counts
const folder = mkdtempSync(`${tmpdir()}/frames-`);
const bare = (body, draw) => {
    const file = `${folder}/${draw.length}.html`;
    writeFileSync(file, `<!doctype html><body>${body}<script>${draw}\ndocument.body.dataset.ready = 1; requestAnimationFrame(function frame() { draw(); requestAnimationFrame(frame); });</script>`);
    return file;
};
const text = bare('<p id="text" style="width: 20em">', 'const draw = () => { document.getElementById("text").textContent = performance.now(); };');
const canvas = bare('<canvas id="canvas" style="width: calc(100vw - 300px); height: calc(100vh - 130px)"></canvas>', `
    const canvas = document.getElementById("canvas"), gl = canvas.getContext("webgl2", { alpha: false, antialias: false });
    canvas.width = canvas.clientWidth, canvas.height = canvas.clientHeight;
    const draw = () => { gl.clearColor(Math.random(), 0.5, 0.5, 1), gl.clear(gl.COLOR_BUFFER_BIT); };`);

// Ticks of the threads of all processes under the browser's, by what they are for.
function ticks(browser) {
    const all = {}, out = { page: 0, flesh: 0, WebGL: 0, browser: 0 };
    for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid)) try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        all[pid] = { parent: Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]), type: readFileSync(`/proc/${pid}/cmdline`, 'utf8').match(/--type=([\w-]+)/)?.[1] ?? 'browser' };
    } catch { /* it has ended */ }
    const under = (pid) => { for (; all[pid]; pid = all[pid].parent) if (Number(pid) === browser) return true; return false; };
    for (const pid in all) if (under(pid)) for (const thread of readdirSync(`/proc/${pid}/task`)) try {
        const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'), at = stat.lastIndexOf(')'), name = stat.slice(stat.indexOf('(') + 1, at), fields = stat.slice(at + 2).split(' ');
        const whose = all[pid].type === 'renderer' ? name.startsWith('DedicatedWorker') ? 'flesh' : thread === pid ? 'page' : 'browser'
            : all[pid].type === 'gpu-process' && (thread === pid || name.startsWith('Thread<')) ? 'WebGL' : 'browser';
        out[whose] += Number(fields[11]) + Number(fields[12]);
    } catch { /* as above */ }
    return out;
}

// Processor time of all that runs on the machine, ticks.
const everything = () => { const [user, nice, system, , , irq, soft] = readFileSync('/proc/stat', 'utf8').split('\n')[0].split(/\s+/).slice(1).map(Number); return user + nice + system + irq + soft; };
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const server = await chromium.launchServer({ executablePath: browserPath, args: ['--no-sandbox', ...option.flags.split(' ').filter(Boolean)] });
const browser = await chromium.connect(server.wsEndpoint()), process_ = server.process().pid;

async function row(name, address, width, height) {
    const tab = await (await browser.newContext({ viewport: { width, height } })).newPage(), errors = [];
    tab.on('pageerror', (error) => errors.push(String(error)));
    await tab.goto(address);
    await tab.waitForFunction(() => document.body.dataset.ready, null, { timeout: 120000 });
    const inspector = await tab.context().newCDPSession(tab);
    await inspector.send('Performance.enable', { timeDomain: 'threadTicks' });
    const spent = async () => Object.fromEntries((await inspector.send('Performance.getMetrics')).metrics.map((m) => [m.name, 1000 * m.value]));
    await tab.evaluate(() => { window.times = []; requestAnimationFrame(function count(now) { window.times.push(now); requestAnimationFrame(count); }); });
    await tab.waitForTimeout(1000 * WARM);
    const began = performance.now(), ticks0 = ticks(process_), all0 = everything(), spent0 = await spent();
    await tab.evaluate(() => { window.times = []; });
    await tab.waitForTimeout(1000 * Number(option.seconds));
    const times = await tab.evaluate(() => window.times), ticks1 = ticks(process_), all1 = everything(), passed = performance.now() - began, spent1 = await spent(), n = times.length, windows = [];
    for (let from = times[0], k = 0; from + 1000 * WINDOW <= times[n - 1]; from += 1000 * WINDOW) {
        let count = 0;
        while (times[k] < from + 1000 * WINDOW) k++, count++;
        windows.push(count / WINDOW);
    }
    const each = (ms) => (ms / n).toFixed(1), own = spent1.ScriptDuration - spent0.ScriptDuration, laid = spent1.LayoutDuration + spent1.RecalcStyleDuration - spent0.LayoutDuration - spent0.RecalcStyleDuration;
    const drawn = await tab.evaluate(() => { const v = window.supple; return v ? `${v.renderer.getPixelRatio().toFixed(2)}, ${v.renderer.info.render.triangles}` : ''; });
    const by = Object.fromEntries(Object.keys(ticks0).map((whose) => [whose, each(TICK * (ticks1[whose] - ticks0[whose]))]));
    const sum = (of) => Object.values(of).reduce((a, b) => a + b), others = TICK * (all1 - all0 - sum(ticks1) + sum(ticks0)) / passed;
    console.log(`| ${name} | ${width} × ${height} | ${Math.round(median(windows))} (${Math.min(...windows)}) | ${each(own)}, ${each(laid)} | ${by.page} | ${by.flesh} | ${by.WebGL} | ${by.browser} | ${drawn} | ${Math.max(others, 0).toFixed(1)} |`);
    await tab.context().close();
    if (errors.length) throw new Error(errors.join('\n'));
}

console.log(`${browser.version()}${option.flags ? `, ${option.flags}` : ''}\n
| page | window | pictures a second, median (least) | scripts, layout | all of the page's thread | steps of the flesh | WebGL | the browser's other threads | pixel ratio, triangles | cores taken by other work |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`);
for (const size of option.size.split(',')) {
    const [width, height] = size.split('x').map(Number);
    await row('a line of text', `file://${text}`, width, height);
    await row('an empty canvas', `file://${canvas}`, width, height);
    for (const page of pages) for (const [name, show] of [['baked', 'simulated'], ['live', 'live'], ['live beside baked', 'beside']])
        await row(pages.length > 1 ? `${page.match(/([^/]*)\.html$/)?.[1]}, ${name}` : name, `file://${resolve(page)}#show=${show}&play`, width, height);
}
await browser.close(), await server.close();
rmSync(folder, { recursive: true });
