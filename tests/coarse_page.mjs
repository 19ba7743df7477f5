// node coarse_page.mjs WEB: the page's fewer triangles (coarse.js), on a ball, a plane of two colours, and a tube with open ends.
const { coarser } = await import(`${process.argv[2]}/coarse.js`);
function need(condition, text) { if (!condition) throw new Error(text); }
// (columns, rows) places, and two triangles between four of them; wrapped: the last column is the first.
function sheet(columns, rows, place, wrapped) {
    const x = [], t = [], at = (i, k) => (wrapped ? i % columns : i) + k * columns;
    for (let k = 0; k < rows; k++) for (let i = 0; i < columns; i++) x.push(...place(i, k));
    for (let k = 0; k + 1 < rows; k++) for (let i = 0; i + (wrapped ? 0 : 1) < columns; i++) t.push(at(i, k), at(i + 1, k), at(i + 1, k + 1), at(i, k), at(i + 1, k + 1), at(i, k + 1));
    return { x: Float32Array.from(x), t: Uint32Array.from(t) };
}
const edges = (t) => { const out = new Map(); for (let i = 0; i < t.length; i += 3) for (let k = 0; k < 3; k++) { const e = `${t[i + k]} ${t[i + (k + 1) % 3]}`; out.set(e, (out.get(e) ?? 0) + 1); } return out; };
const open = (t) => { const all = edges(t); return [...all.keys()].filter((e) => !all.has(e.split(' ').reverse().join(' '))).sort(); };
const manifold = (t) => [...edges(t).values()].every((times) => times === 1);

// a ball: closed, turned outwards as before, all places within the error of the sphere
const columns = 64, rings = 33, { x, t } = sheet(columns, rings, (i, k) => {
    const a = 2 * Math.PI * i / columns, b = Math.PI * (k + 1) / (rings + 1);
    return [Math.sin(b) * Math.cos(a), Math.cos(b), -Math.sin(b) * Math.sin(a)];
}, true);
const places = Float32Array.from([...x, 0, 1, 0, 0, -1, 0]), top = columns * rings, caps = [];
for (let i = 0; i < columns; i++) caps.push(top, (i + 1) % columns, i, top + 1, columns * (rings - 1) + i, columns * (rings - 1) + (i + 1) % columns);
const out = edges(t).has('0 1') ? 1 : -1, side = (list) => list.map((v, i) => list[i - i % 3 + (i % 3 === 0 ? 0 : out > 0 ? 3 - i % 3 : i % 3)]);
const whole = Uint32Array.from([...t, ...caps]), ball = open(whole).length ? Uint32Array.from([...t, ...side(caps)]) : whole;
need(open(ball).length === 0, 'the ball of this test is open');
const volume = (t) => { let six = 0; for (let i = 0; i < t.length; i += 3) { const [p, q, r] = [3 * t[i], 3 * t[i + 1], 3 * t[i + 2]], y = places; six += y[p] * (y[q + 1] * y[r + 2] - y[q + 2] * y[r + 1]) + y[p + 1] * (y[q + 2] * y[r] - y[q] * y[r + 2]) + y[p + 2] * (y[q] * y[r + 1] - y[q + 1] * y[r]); } return six / 6; };
let before = ball.length;
for (const error of [0.002, 0.005, 0.02]) {
    const fewer = coarser(ball, places, null, 2, error), left = volume(fewer) / volume(ball);
    need(fewer.length < before && open(fewer).length === 0 && manifold(fewer), `ball, ${error}: ${fewer.length / 3} of ${ball.length / 3} triangles, ${open(fewer).length} open edges`);
    need(left < 1 + 1e-6 && left > 1 - 12 * error, `ball, ${error}: ${left} of its volume is left`);
    before = fewer.length;
}
need(coarser(ball, places, null, 2, 0).length === ball.length, 'no error, and the ball is coarser');

// flat: nothing but its outline is left; the line between two colours stays
const plane = sheet(21, 21, (i, k) => [i, k, 0]), inner = (t) => [...new Set(t)].filter((v) => v % 21 % 20 && Math.floor(v / 21) % 20).length;
const flat = coarser(plane.t, plane.x, null, 30, 0.001);
need(inner(flat) === 0 && open(flat).join() === open(plane.t).join(), `plane: ${inner(flat)} of its inner vertices are left`);
const colours = Uint8Array.from({ length: 3 * 441 }, (_, c) => Math.floor(c / 3) % 21 < 10 ? 0 : 255), two = coarser(plane.t, plane.x, colours, 30, 0.001);
const area = (t, white) => { let sum = 0; for (let i = 0; i < t.length; i += 3) { const [a, b, c] = [t[i], t[i + 1], t[i + 2]].map((v) => [plane.x[3 * v], plane.x[3 * v + 1], colours[3 * v] > 0]); if ([a, b, c].every((v) => v[2] === white)) sum += 0.5 * Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])); } return sum; };
need(two.length < plane.t.length / 3 && area(two, true) + area(two, false) >= 0.85 * 400, `two colours: ${area(two, true) + area(two, false)} of 400 has one of them`);
const tube = sheet(24, 30, (i, k) => [Math.cos(Math.PI * i / 12), k / 4, Math.sin(Math.PI * i / 12)], true), short = coarser(tube.t, tube.x, null, 8, 0.01);
need(short.length < tube.t.length / 2 && open(short).join() === open(tube.t).join(), `tube: ${short.length / 3} of ${tube.t.length / 3} triangles`);
console.log(`ball ${before / 3} of ${ball.length / 3}, plane ${flat.length / 3}, two colours ${two.length / 3} of ${plane.t.length / 3}, tube ${short.length / 3} of ${tube.t.length / 3}`);
