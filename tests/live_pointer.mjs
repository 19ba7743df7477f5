// node live_pointer.mjs NODE_MODULES PAGE [FOLDER]: the live page's controls in headless Chromium, used as a hand would. FOLDER: pictures of each state.
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
const [modules, page] = process.argv.slice(2, 4).map((p) => resolve(p)), shots = process.argv[4], { chromium } = createRequire(`${modules}/`)('playwright-core');
const browserPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((p) => existsSync(p));
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'] });
const errors = [];
const open = async (hash, options = {}) => {
    const tab = await (await browser.newContext({ viewport: { width: 1180, height: 760 }, ...options })).newPage();
    tab.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
    tab.on('pageerror', (e) => errors.push(String(e)));
    await tab.goto(`file://${page}#${hash}`);
    await tab.waitForFunction(() => document.body.dataset.ready, null, { timeout: 60000 });
    return tab;
};
function need(condition, text) { if (!condition) throw new Error(text); }
const set = (tab, id, value) => tab.evaluate(([id, value]) => {
    const input = document.getElementById(id);
    if (input.type === 'checkbox') input.checked = value; else input.value = value;
    input.dispatchEvent(new Event('input', { bubbles: true }));
}, [id, value]);
const picture = async (tab, name) => { if (shots) await tab.screenshot({ path: `${shots}/${name}.png` }); };

const live = await open('show=live&play&frame=0');
await live.waitForFunction(() => window.supple.panel.flesh.frame > 8, null, { timeout: 60000 });
await live.keyboard.press(' ');
need(await live.evaluate(() => !window.supple.playing && !document.getElementById('live-panel').hidden), 'space does not pause');
const settle = () => live.evaluate(() => window.supple.panel.step({ steps: 400, moving: false }));   // the rig stands, the flesh comes to rest
await settle();
// a place on the skin that moves, towards the viewer: the pointer takes it and drags it away
const [x, y] = await live.evaluate(() => {
    const v = window.supple, mesh = v.live, { moved, info } = v.data, n = info.skin_vertices, most = new Float32Array(n), box = v.renderer.domElement.getBoundingClientRect();
    for (let i = 0; i < moved.length; i += 3) most[(i / 3) % n] = Math.max(most[(i / 3) % n], Math.hypot(moved[i], moved[i + 1], moved[i + 2]));
    const p = mesh.geometry.attributes.position, normal = mesh.geometry.attributes.normal, V = mesh.position.constructor;
    let best = -1, place = null;
    for (let k = 0; k < n; k++) {
        const at = new V().fromBufferAttribute(p, k), facing = new V().fromBufferAttribute(normal, k).dot(v.camera.position.clone().sub(at).normalize());
        if (facing > 0.6 && most[k] > best) best = most[k], place = at;
    }
    place.project(v.camera);
    return [box.left + (place.x + 1) / 2 * box.width, box.top + (1 - place.y) / 2 * box.height];
});
const shape = () => live.evaluate(() => Array.from(window.supple.live.geometry.attributes.position.array));
const before = await shape();
await live.mouse.move(x, y), await live.mouse.down(), await live.mouse.move(x + 50, y + 40, { steps: 6 });
await live.waitForFunction(() => window.supple.panel.picked >= 0 && Math.hypot(...window.supple.panel.flesh.force()) > 1, null, { timeout: 20000 });
await live.waitForTimeout(1200);
const pulled = await shape();
await picture(live, 'report-live-pull');
await live.mouse.up();
const away = Math.max(...pulled.map((v, i) => Math.abs(v - before[i])));
need(away > 0.002, `the pull moves the skin by ${away} m only`);
need(await live.evaluate(() => window.supple.panel.picked < 0), 'the pull is not let go');
await settle();
const after = await shape(), left = Math.max(...after.map((v, i) => Math.abs(v - before[i])));
need(left < 0.1 * away, `after the pull ${left} m of ${away} m are left`);

await set(live, 'live-stiffness', -0.3), await set(live, 'live-wind', 8), await set(live, 'live-plane', true), await set(live, 'live-ball', true);
// the ball, dragged into the flesh: the page counts what it touches, as often as it draws
const [[ballX, ballY], [bodyX, bodyY]] = await live.evaluate(() => {
    const v = window.supple, box = v.renderer.domElement.getBoundingClientRect();
    return [v.middleOf(v.live).fromArray(v.panel.settings.ball.at), v.middleOf(v.live)].map((at) => { at.project(v.camera); return [box.left + (at.x + 1) / 2 * box.width, box.top + (1 - at.y) / 2 * box.height]; });
});
const touches = () => live.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.supple.panel.touching?.count ?? 0)))));
need(await touches() === 0, 'a ball beside the flesh touches it');
await live.mouse.move(ballX, ballY), await live.mouse.down();
for (let k = 1; k <= 40 && await touches() < 8; k++) await live.mouse.move(ballX + (bodyX - ballX) * k / 40, ballY + (bodyY - ballY) * k / 40);
need(await touches() > 0 && /^[1-9]\d* of 300 points in contact, [\d.]+ mm deep at most$/.test(await live.textContent('#live-contacts')), `the ball in the flesh: ${await live.textContent('#live-contacts')}`);
await picture(live, 'report-live-colliders');
await live.mouse.up();
await live.keyboard.press(' ');
await live.waitForTimeout(500);
const command = await live.evaluate(() => window.supple.panel.command());
for (const word of ['supple bake --model', '--stiffness 0.501187', '--forces live.json', '"sphere"', '"plane"', '"velocity"']) need(command.includes(word), `${word} is not in: ${command}`);
await live.evaluate(() => window.supple.panel.report(1));
need(/ms a step, \d+ steps\/s/.test(await live.textContent('#live-time')), 'no times are shown');
await live.click('#live-reset');
need(!(await live.evaluate(() => window.supple.panel.command())).includes('--stiffness'), 'As baked leaves a slider');
need(await live.isHidden('#live-contacts'), 'contacts of nothing are counted');
await live.keyboard.press('6');
need(await live.evaluate(() => document.querySelector('input[name=show]:checked').value === 'beside'), 'keys do not choose what is shown');

// how finely what moves is drawn follows the time that pictures take; at rest it is as fine as ever
const found = await live.evaluate(async () => {
    const v = window.supple, { pace } = v, out = {}, play = (count, ms) => { for (let k = 0; k < count; k++) pace.frame(ms(pace.level), true); };
    pace.forget(), play(1500, () => 16.7), out.quick = pace.level - pace.first;
    pace.forget(), play(600, () => 40), out.never = pace.level - pace.first;   // slow, however it is drawn
    pace.forget(), play(600, (level) => [60, 50, 40, 25, 16.6][level]), out.coarsest = pace.level;
    pace.frame(16.6, true);
    for (let k = 0; k < 600 && !v.fewer.index; k++) await new Promise((done) => setTimeout(done, 50));
    pace.apply(true), out.moving = [v.renderer.getPixelRatio(), v.live.geometry.index.count / v.triangles.count];
    pace.apply(false), out.still = [v.renderer.getPixelRatio(), v.live.geometry.index.count / v.triangles.count];
    pace.forget();
    return out;
});
need(found.quick === 0 && found.never === 0 && found.coarsest === 4, `ways of drawing: ${JSON.stringify(found)}`);
need(found.moving[0] === 0.5 && found.moving[1] > 0.05 && found.moving[1] < 0.8 && found.still.join() === '2,1', `what is drawn: ${JSON.stringify(found)}`);

const dark = await open('show=beside&play&colour=look', { colorScheme: 'dark' });
await dark.waitForFunction((frame) => window.supple.panel.flesh.frame > frame, shots ? 56 : 1, { timeout: 60000 });
await picture(dark, 'report-live-dark');
need(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 28)'), 'dark is not dark');
const tablet = await open('show=live&frame=20&colour=look', { viewport: { width: 820, height: 1180 }, hasTouch: true });
await tablet.waitForTimeout(500);
await picture(tablet, 'report-live-tablet');
need(await tablet.evaluate(() => document.getElementById('frame').textContent === 'frame 20'), 'live does not open at the frame of the address');
need(await tablet.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is wider than a tablet');
if (await live.evaluate(() => !!window.supple.data.moved2)) {
    const two = await open('show=two&frame=66');
    await two.waitForTimeout(500);
    await picture(two, 'report-two');
}
console.log(`pulled by ${(1000 * away).toFixed(1)} mm, ${(1000 * left).toFixed(2)} mm left; ${await dark.evaluate(() => JSON.stringify(window.supple.panel.rate))}`);
await browser.close();
if (errors.length) { console.log(`console: ${errors.join(' | ')}`); process.exit(1); }
