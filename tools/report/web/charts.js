import uPlot from 'uplot';

const colours = ['#3457d5', '#e4572e', '#2a9d8f', '#c98bc4', '#d8a62a', '#6b7280', '#8d5a3b', '#17bebb'];

// A chart's cursor and its numbers take the browser as long as a picture: those in sight follow the player, so many ms behind it.
const CURSOR = 120;

function card(parent, title) {
    const box = document.createElement('div');
    box.className = 'card';
    box.innerHTML = '<h2></h2>';
    box.firstChild.textContent = title;
    parent.append(box);
    return box;
}

// Of the largest a chart shows: what is less is rounding and reads 0.
const NOTHING = 1e-5;

const largest = (values) => values.reduce((most, v) => Math.max(most, Math.abs(v ?? 0)), 0);

// Joules in the unit that keeps the largest of them to one to four digits before the point.
function joules(most) {
    const units = ['nJ', 'µJ', 'mJ', 'J', 'kJ', 'MJ', 'GJ'], power = Math.log10(most || 1);
    const step = Math.min(3, Math.max(-3, Math.floor((power >= 4 ? power - 1 : Math.min(power, 0)) / 3)));
    return { unit: units[step + 3], factor: 10 ** (-3 * step) };
}

// Six digits, wherever the point stands: the browser's own three behind it make of small numbers 0, 0, -0.
const digits = (v) => v.toLocaleString(undefined, { maximumSignificantDigits: 6 });

function strided(values, count, width, column, factor = 1) {
    return Array.from({ length: count }, (_, i) => values[i * width + column] * factor);
}

// Charts over the shot share a cursor with the player: a click goes to the frame.
export function charts(data, parent, tables, goto) {
    const { info } = data, count = data.times.length, times = Array.from(data.times), linked = [];
    let at = 0, waiting = null;
    const follow = (chart) => chart.setCursor({ left: chart.valToPos(times[Math.min(at, count - 1)], 'x'), top: 10 }, false);

    // asked again whenever a chart is drawn: the page may turn dark
    const css = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const axis = { stroke: css('--soft'), grid: { stroke: css('--line') }, ticks: { stroke: css('--line') } };

    function plot(title, x, series, options = {}) {
        const box = card(parent, title), nothing = NOTHING * Math.max(...series.map((s) => largest(s.values)), 1e-9);
        const size = () => ({ width: Math.max(box.clientWidth - 28, 200), height: 220 });
        const chart = new uPlot({
            ...size(), scales: { x: { time: false }, ...options.scales }, cursor: { drag: { x: true, y: false } },
            axes: [{ label: options.x ?? 'time, s', labelSize: 20, ...axis },
                { size: 58, label: options.y, labelSize: 18, ...(options.scales ? {} : { values: (_, splits) => splits.map(digits) }), ...axis }],
            series: [{ label: options.x ?? 'time' }, ...series.map((s, i) => ({
                label: s.label, stroke: colours[i % colours.length], width: 1.6, points: { show: options.points ?? false, size: 6 }, value: (_, v) => v == null ? '' : Math.abs(v) < nothing ? '0' : Number(v).toPrecision(4),
            }))],
        }, [x, ...series.map((s) => s.values)], box);
        new ResizeObserver(() => chart.setSize(size())).observe(box);
        return chart;
    }

    function overTime(title, series, options) {
        const chart = plot(title, times, series, options);
        linked.push(chart);
        new IntersectionObserver((seen) => { chart.seen = seen.at(-1).isIntersecting; if (chart.seen) follow(chart); }).observe(chart.root);
        chart.over.addEventListener('click', () => { if (chart.cursor.idx != null) goto(chart.cursor.idx); });
    }

    overTime('Displacement of the skin', [{ label: 'largest', values: Array.from(data.largest, (v) => 100 * v) }, { label: 'RMS', values: Array.from(data.rms, (v) => 100 * v) },
        ...(data.largest2 ? [{ label: `largest, ${info.second_file}`, values: Array.from(data.largest2, (v) => 100 * v) }] : [])], { y: 'cm' });
    // Beside the kinetic energy, in which the rig's own motion counts, the others would be a line at 0.
    const energies = (title, list) => {
        const { unit, factor } = joules(Math.max(...list.map(([, column]) => largest(strided(data.energy, count, 3, column)))));
        overTime(title, list.map(([label, column]) => ({ label, values: strided(data.energy, count, 3, column, factor) })), { y: unit });
    };
    energies('Energy of the flesh', [['elastic', 1], ['gravity', 2]]);
    energies('Kinetic energy, with the rig', [['kinetic', 0]]);
    if (data.error_estimate) {
        const share = info.sim?.error_estimate;
        const title = data.full_frame ? 'How far the model alone is off; shown is the full space' : `Error${share == null ? '' : `: about ${(100 * share).toPrecision(2)} % of the motion`}`;
        overTime(title, [{ label: 'RMS', values: Array.from(data.error_estimate, (v) => 1000 * v) }], { y: 'mm' });
    }
    if (data.contacts) {
        overTime('Contacts of the flesh with itself', [{ label: 'pairs', values: Array.from(data.contacts) }]);
        overTime('Depth of contacts', [{ label: 'new', values: Array.from(data.contact_depth, (v) => 1000 * v) }, { label: "the rig's own shape", values: Array.from(data.rig_depth, (v) => 1000 * v) }], { y: 'mm' });
    }
    const m = data.weights.length / count;
    overTime('Weights of the example poses', Array.from({ length: Math.min(m, 8) }, (_, i) => ({ label: `pose ${i}`, values: strided(data.weights, count, m, i) })));
    if (data.status.some((s) => s) || data.iterations.slice(1).some((v) => v !== data.iterations[1]))
        overTime('Solver', [{ label: 'iterations', values: Array.from(data.iterations) }, { label: 'status', values: Array.from(data.status) }]);
    if (data.eigenvalues) {
        const n = info.linear_modes, index = Array.from({ length: n }, (_, i) => i + 1);
        plot('Frequencies of the linear modes', index, Array.from({ length: Math.min(info.eigenvalue_poses, 8) }, (_, k) => ({
            label: `pose ${k}`, values: Array.from(data.eigenvalues.subarray(k * n, (k + 1) * n), (v) => Math.sqrt(Math.max(v, 0)) / (2 * Math.PI)),
        })), { x: 'mode', y: 'Hz', points: true });
    }
    if (data.angles) {
        const r = info.modes, index = Array.from({ length: r }, (_, i) => i + 1), poses = data.angles.length / r;
        plot('Angles of subspaces to the parent pose', index, Array.from({ length: Math.min(poses, 9) }, (_, k) => k).slice(1).map((k) => ({
            label: `${k} from ${info.parent[k]}`, values: Array.from(data.angles.subarray(k * r, (k + 1) * r), (v) => v * 180 / Math.PI),
        })), { x: 'direction', y: 'degrees' });
    }
    for (const stage of info.stages ?? [])
        if (stage.curve?.length) plot('Cubature: error as the set grows', stage.curve.map((c) => c.tets), [{ label: 'RMS error', values: stage.curve.map((c) => 100 * c.error) }],
            { x: 'tets', y: '%', points: true, scales: { x: { time: false, distr: 3 }, y: { distr: 3 } } });
    look(data, tables, goto);
    errors(data, tables);
    stages(info, tables);
    tree(data, tables);
    const warned = (info.stages ?? []).flatMap((s) => (s.warnings ?? []).map((w) => `${s.tool}: ${w}`));
    if (warned.length) {
        const box = card(tables, 'Warnings');
        for (const text of warned) {
            const line = document.createElement('p');
            line.className = 'warning';
            line.textContent = text;
            box.append(line);
        }
    }
    return (frame) => {
        at = frame;
        waiting ??= setTimeout(() => { waiting = null; for (const chart of linked) if (chart.seen) follow(chart); }, CURSOR);
    };
}

// What deserves a look: steps that went wrong, then where the error, the motion and its energy are largest; frames that lie close together count once.
function look(data, parent, goto) {
    const { info } = data, count = data.times.length, apart = Math.max(3, Math.round(0.25 * info.fps)), rows = [];
    const taken = (f) => rows.some((r) => Math.abs(r.frame - f) < apart);
    const peaks = (values, text, most) => {
        const order = Array.from(values, (v, f) => f).sort((a, b) => values[b] - values[a]);
        for (const f of order) if (most > 0 && values[f] > 0 && !taken(f)) rows.push({ frame: f, why: text(values[f], f) }), most--;
    };
    const words = ['', 'a step was halved', 'motion was damped away', 'the flesh just follows the rig'];
    peaks(Array.from(data.status, (s) => s > 1 ? s : 0), (s) => words[s], 4);
    if (data.error_estimate && !data.full_frame) peaks(data.error_estimate, (v) => `off by ${(1000 * v).toPrecision(2)} mm RMS`, 3);
    peaks(data.largest, (v) => `moves by ${(100 * v).toPrecision(3)} cm`, 3);
    const elastic = strided(data.energy, count, 3, 1), scale = joules(largest(elastic));
    peaks(elastic, (v) => `elastic energy ${(scale.factor * v).toPrecision(3)} ${scale.unit}`, 1);
    if (!rows.length) return;
    const cells = table(parent, 'Frames to look at first', ['frame', 'why'], rows.map((r) => ['', r.why]));
    cells.forEach((row, i) => {
        const button = Object.assign(document.createElement('button'), { className: 'look', textContent: info.frame_start + rows[i].frame });
        button.onclick = () => { goto(rows[i].frame); scrollTo({ top: 0, behavior: 'smooth' }); };
        row.cells[0].append(button);
    });
}

function table(parent, title, head, rows) {
    const box = card(parent, title), out = document.createElement('table');
    for (const [tag, cells] of [['th', head], ...rows.map((r) => ['td', r])]) {
        const row = out.insertRow();
        for (const text of cells) row.append(Object.assign(document.createElement(tag), { textContent: text }));
    }
    box.append(out);
    return Array.from(out.rows).slice(1);
}

function errors(data, parent) {
    const { model } = data.info, list = model.training_error, inertia = model.training_error_inertia;
    if (!Array.isArray(list)) return;
    const percent = (e) => e ? `${(100 * e.mean).toFixed(2)} %` : '';
    table(parent, 'Cubature, relative error of forces', ['pose', 'elastic', 'inertia'],
        list.map((e, i) => [`${i}`, percent(e), percent(Array.isArray(inertia) ? inertia[i] : null)]));
}

function stages(info, parent) {
    if (!info.stages?.length) return;
    const longest = Math.max(...info.stages.map((s) => s.seconds ?? 0), 1e-9);
    const rows = table(parent, 'Time and memory of the stages', ['stage', 'clip', 'memory', 'time'], info.stages.map((s) => [
        (s.tool ?? '').replace('supple-', ''), clipOf(s), `${((s.peak_memory_bytes ?? 0) / 1048576).toFixed(0)} MB`, `${(s.seconds ?? 0).toFixed(2)} s`]));
    info.stages.forEach((s, i) => {
        const share = 100 * (s.seconds ?? 0) / longest;
        rows[i].style.background = `linear-gradient(90deg, color-mix(in srgb, var(--accent) 25%, transparent) ${share}%, transparent ${share}%)`;
    });
}

// What a stage was run on, where several stages are the same program's.
function clipOf(stage) {
    const name = (stage.inputs ?? []).map((i) => `${i.name ?? i}`).filter((n) => /\.(anim|sim)\.npz$/.test(n)).pop();
    return name ? name.replace(/\.(anim|sim)\.npz$/, '') : '';
}

// The poses with the one their basis was aligned to to the left; on the line the median angle to it.
function tree(data, parent) {
    const { info, angles } = data;
    if (!info.parent?.length) return;
    const r = info.modes, place = [], svg = [];
    const put = (k, depth) => { place[k] = [depth, place.filter(Boolean).length]; info.parent.forEach((p, i) => { if (p === k) put(i, depth + 1); }); };
    info.parent.forEach((p, i) => { if (p < 0) put(i, 0); });
    const x = (k) => 14 + 96 * place[k][0], y = (k) => 16 + 24 * place[k][1];
    info.parent.forEach((p, k) => {
        if (p >= 0) {
            const sorted = Array.from(angles.subarray(k * r, (k + 1) * r)).sort((a, b) => a - b), middle = sorted[Math.floor(r / 2)] * 180 / Math.PI;
            svg.push(`<path d="M${x(p)} ${y(p)}V${y(k)}H${x(k)}" fill="none" stroke="#9aa5b8"/><text x="${x(p) + 6}" y="${y(k) - 4}" class="soft">${middle.toPrecision(2)}°</text>`);
        }
        svg.push(`<circle cx="${x(k)}" cy="${y(k)}" r="5" fill="#3457d5"/><text x="${x(k) + 10}" y="${y(k) + 4}">${k ? `pose ${k}` : 'neutral'}</text>`);
    });
    const wide = Math.max(...place.map((p) => p[0])), box = card(parent, 'Tree of poses, median angle to the parent');
    const holder = document.createElement('div');
    holder.style.overflowX = 'auto';
    holder.innerHTML = `<svg width="${110 + 96 * wide}" height="${24 * place.length + 10}" font-size="12">${svg.join('')}</svg>`;
    box.append(holder);
}
