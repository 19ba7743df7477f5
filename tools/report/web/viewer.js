import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { readData, unpack } from './data.js';
import { charts } from './charts.js';
import { openLive } from './panel.js';
import { setNormals } from './normals.js';
import { pixelLit, vertexLit } from './skin_light.js';

const element = (id) => document.getElementById(id);
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const radio = (name) => document.querySelector(`input[name=${name}]:checked`).value;

// Light blue to red, even in lightness steps.
const ramp = ['#c9d6ea', '#8fb4e3', '#5fc2b4', '#f2d24b', '#ef8a3c', '#c8263f'].map((c) => new THREE.Color(c));
const SHADES = 255, shades = Float32Array.from({ length: 3 * (SHADES + 1) }, (_, k) => {
    const x = Math.floor(k / 3) / SHADES * (ramp.length - 1), i = Math.min(Math.floor(x), ramp.length - 2), c = 'rgb'[k % 3];
    return ramp[i][c] + (x - i) * (ramp[i + 1][c] - ramp[i][c]);
});
function colourOf(t, out, at) {
    const k = 3 * (t > 0 ? t < 1 ? Math.round(SHADES * t) : SHADES : 0);
    out[at] = shades[k], out[at + 1] = shades[k + 1], out[at + 2] = shades[k + 2];
}
const palette = ['#7aa6d8', '#e8a15c', '#82bf7a', '#c98bc4', '#d9716e', '#8d86c9', '#d8c15a', '#6cbfbf'].map((c) => new THREE.Color(c));
const plain = new THREE.Color('#c9d6ea');

// Has every edge one triangle on either side, turned alike, and does each connected part face outwards?
function isClosed(triangles, x) {
    const edges = new Set(), part = Int32Array.from({ length: x.length / 3 }, (_, v) => v), volume = new Float64Array(part.length), FAR = 0x4000000;
    const first = (v) => { while (part[v] !== v) v = part[v] = part[part[v]]; return v; };
    for (let i = 0; i < triangles.length; i += 3)
        for (let k = 0; k < 3; k++) {
            const a = triangles[i + k], b = triangles[i + (k + 1) % 3], edge = FAR * a + b;
            if (edges.has(edge)) return false;
            edges.add(edge), part[first(a)] = first(b);
        }
    for (const edge of edges) if (!edges.has(FAR * (edge % FAR) + Math.floor(edge / FAR))) return false;
    for (let i = 0; i < triangles.length; i += 3) {
        const [p, q, r] = [3 * triangles[i], 3 * triangles[i + 1], 3 * triangles[i + 2]];
        volume[first(triangles[i])] += x[p] * (x[q + 1] * x[r + 2] - x[q + 2] * x[r + 1]) + x[p + 1] * (x[q + 2] * x[r] - x[q] * x[r + 2]) + x[p + 2] * (x[q] * x[r + 1] - x[q + 1] * x[r]);
    }
    return volume.every((six) => six >= 0);
}

function skin(data, triangles) {
    const geometry = new THREE.BufferGeometry(), count = data.info.skin_vertices;
    geometry.setIndex(triangles);
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    geometry.setAttribute('normal', new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(new Float32Array(3 * count).fill(0.8), 3));
    const side = data.closed ? THREE.FrontSide : THREE.DoubleSide;   // of a closed skin the inside is never seen, and costs as much
    const materials = [pixelLit(side), vertexLit(side)];
    const mesh = new THREE.Mesh(geometry, materials[0]);
    mesh.frustumCulled = false;
    const edges = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ wireframe: true, color: 0x30384a, transparent: true, opacity: 0.25 }));
    edges.frustumCulled = false;
    mesh.add(edges);
    mesh.userData.edges = edges, mesh.userData.materials = materials;
    return mesh;
}

function see(mesh, opacity, depthWrite) {
    for (const material of mesh.userData.materials) {
        material.transparent = opacity < 1, material.opacity = opacity, material.depthWrite = depthWrite;
        if (material.uniforms) material.uniforms.opacity.value = opacity;
    }
}

function points(colour, size) {
    const geometry = new THREE.BufferGeometry();
    const dots = new THREE.Points(geometry, new THREE.PointsMaterial({ color: colour, size, sizeAttenuation: false, depthTest: false, transparent: true, map: disc(), alphaTest: 0.4 }));
    dots.renderOrder = 1;   // over the skin, which is half transparent then
    return dots;
}

function disc() {
    const canvas = document.createElement('canvas'), draw = canvas.getContext('2d');
    canvas.width = canvas.height = 32;
    draw.fillStyle = '#fff', draw.beginPath(), draw.arc(16, 16, 14, 0, 2 * Math.PI), draw.fill();
    return new THREE.CanvasTexture(canvas);
}

// A grid of lines of PIECE cells: software renderers drop a line that begins behind the camera, and take as long for a line as for two triangles.
const PIECE = 4;
function floor(step, least) {
    const ends = [], cells = PIECE * Math.ceil(least / PIECE);
    for (let i = -cells; i <= cells; i++)
        for (let k = -cells; k < cells; k += PIECE) ends.push(i, 0, k, i, 0, k + PIECE, k, 0, i, k + PIECE, 0, i);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(ends.map((x) => x * step), 3));
    return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: css('--line') }));
}

/* What a picture is drawn with, from the finest: `share` of FINEST pixels along each of the page's (which smooths edges), light a pixel or a vertex, all triangles or those of coarse.js.
   At a stop, and for pictures, always the first. While things move: where PATIENCE frames came slower than SLOW, the mean of the QUICKEST of them (what something else held up is not
   the page's), or HASTY of which all took twice that, the next. Where not even the last is quick, the finest that is all but as quick as the best. After WAIT rows of frames that were
   quick a finer one is tried, or where none is quick all this again; each time in vain the wait doubles. A machine without a graphics processor begins at SOFTWARE. */
const FINEST = 2, LEVELS = [{ share: 1 }, { share: 1, vertexLit: true }, { share: 0.5, vertexLit: true, coarse: true }, { share: 0.35, vertexLit: true, coarse: true }, { share: 0.25, vertexLit: true, coarse: true }];
const PATIENCE = 30, HASTY = 6, QUICKEST = 0.9, SLOW = 17.5, ALIKE = 0.95, WAIT = 20, SOFTWARE = 2;   // SLOW: ms
const COARSE = 0.001;   // of the size: how far off fewer triangles may be
const NUMBERS = 120;   // ms for which the frame's number and the slider stand where frames come slowly: each time they are a layout of the page
const TURNING = 300;   // ms for which camera and flesh count as moving behind their last move

// Do pixels come from a processor?
function inSoftware(renderer) {
    const gl = renderer.getContext(), names = gl.getExtension('WEBGL_debug_renderer_info');
    return /SwiftShader|llvmpipe|softpipe|Software|Basic Render/i.test(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}

class Pace {
    constructor(viewer) {
        this.viewer = viewer, this.first = inSoftware(viewer.renderer) ? SOFTWARE : 0, this.forget();
    }

    // What was found out: other things are seen now.
    forget() {
        this.level = this.first, this.wait = WAIT, this.warm = false, this.search();
        this.apply(false);
    }

    search() {
        this.means = [], this.settled = this.tried = false, this.took = [], this.rows = 0;
    }

    apply(moving) {
        const { viewer } = this, { share, vertexLit, coarse } = LEVELS[moving ? this.level : 0], ratio = FINEST * share;
        if (viewer.renderer.getPixelRatio() !== ratio) viewer.renderer.setPixelRatio(ratio), viewer.dirty = true;
        viewer.draft(vertexLit, coarse);
    }

    // A frame that came so many ms behind the one before.
    frame(took, moving) {
        this.apply(moving);
        if (!moving) return;
        const { took: all } = this, count = all.push(took);
        if (count < PATIENCE && !(count >= HASTY && all.every((ms) => ms > 2 * SLOW))) return;
        this.took = [];
        if (!this.warm) { this.warm = true; return; }   // what is new takes longer
        const quickest = all.sort((a, b) => a - b).slice(0, Math.ceil(QUICKEST * count)), mean = quickest.reduce((a, b) => a + b) / quickest.length;
        this.means[this.level] = mean;
        if (this.settled) {
            if (++this.rows >= this.wait) this.wait *= 2, this.search();
        } else if (mean > SLOW) {
            if (this.tried) this.wait *= 2;
            this.tried = false, this.rows = 0;
            if (this.level + 1 < LEVELS.length) { this.level++; return; }
            const best = Math.min(...this.means.filter((ms) => ms));   // of a sparse array
            this.level = this.means.findIndex((ms) => ms <= best / ALIKE), this.settled = true;
        } else if (++this.rows >= this.wait && this.level > this.first) {
            this.level--, this.rows = 0, this.tried = true;
        }
    }
}

class Viewer {
    constructor(data) {
        this.data = data;
        data.closed = isClosed(data.triangles, data.pose_shapes);
        this.frame = 0;
        this.turned = -Infinity;
        this.playing = false;
        // three.js asks for a canvas that one sees through, which a browser would have to blend
        const canvas = document.createElement('canvas');
        this.renderer = new THREE.WebGLRenderer({ canvas, context: canvas.getContext('webgl2', { alpha: false, antialias: false, powerPreference: 'high-performance' }) });
        element('view').prepend(this.renderer.domElement);
        this.scene = new THREE.Scene();
        this.scene.background = new THREE.Color(css('--view'));
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
            this.scene.background.set(css('--view')), this.grid.material.color.set(css('--line')), this.dirty = true;
        });
        this.scene.add(new THREE.HemisphereLight('#ffffff', '#a9b0c0', 1.9));
        this.sun = new THREE.DirectionalLight('#ffffff', 1.7);
        this.scene.add(this.sun);
        this.camera = new THREE.PerspectiveCamera(35, 1, 0.001, 1000);
        this.controls = new OrbitControls(this.camera, this.renderer.domElement);
        this.controls.enableDamping = true;
        this.controls.addEventListener('change', () => { this.turned = performance.now(); });
        this.triangles = new THREE.BufferAttribute(data.triangles, 1);
        [this.simulated, this.rig, this.modes, this.live, this.second] = [1, 1, 1, 1, data.moved2].map((there) => there ? skin(data, this.triangles) : null);
        this.dots = {
            cubature: points('#e4572e', 7), inertia: points('#17bebb', 6), fixed: points('#4a4e69', 4), contact: points('#b5179e', 7),
        };
        this.setPoints(0);
        this.scene.add(this.simulated, this.rig, this.modes, this.live, ...(this.second ? [this.second] : []), ...Object.values(this.dots));
        this.measure();
        this.pace = new Pace(this);
        this.grid = floor(0.2 * this.size, Math.ceil((1.5 * data.info.rig_scale / this.size + 2) / 0.2));
        this.grid.position.set(data.info.rig_centre[0], this.low, data.info.rig_centre[2]);
        this.scene.add(this.grid);
        this.centre = new THREE.Vector3();
        this.offset = new THREE.Vector3();
        this.largest = Math.max(...data.largest, ...(data.largest2 ?? []), 1e-9);
        this.youngRange = data.young ? [data.young.reduce((a, b) => Math.min(a, b)), data.young.reduce((a, b) => Math.max(a, b))] : [0, 1];
        this.setFrame(0);
        this.look();
        new ResizeObserver(() => this.resize()).observe(element('view'));
        this.resize();
    }

    // Size of the character at rest; of the whole shot the lowest point, and how far it reaches up where it stands tallest.
    measure() {
        const { info, rig, pose_shapes: shape } = this.data, low = [1e30, 1e30, 1e30], high = [-1e30, -1e30, -1e30];
        for (let i = 0; i < 3 * info.skin_vertices; i++) {
            low[i % 3] = Math.min(low[i % 3], shape[i]), high[i % 3] = Math.max(high[i % 3], shape[i]);
        }
        this.size = Math.hypot(...high.map((h, i) => h - low[i]));
        this.width = high.map((h, i) => h - low[i]);
        let bottom = 32767, tallest = 0;
        for (let frame = 0, i = 1; frame < info.shown_frames; frame++) {
            let least = 32767, most = -32767;
            for (let v = 0; v < info.skin_vertices; v++, i += 3) least = Math.min(least, rig[i]), most = Math.max(most, rig[i]);
            bottom = Math.min(bottom, least), tallest = Math.max(tallest, most - least);
        }
        const scale = info.rig_scale / 32767;
        this.low = bottom * scale + info.rig_centre[1];
        this.tallest = tallest * scale;
    }

    resize() {
        const { clientWidth: w, clientHeight: h } = element('view');
        this.renderer.setSize(w, h);
        this.pace.forget(), this.dirty = true;
    }

    // What moves may be drawn with light a vertex and with fewer triangles, where there are any.
    draft(vertexLit, coarse) {
        if (coarse && !this.fewer) this.findFewer();
        const index = coarse && !element('wire').checked && this.fewer.index || this.triangles;
        for (const mesh of this.meshes()) {
            mesh.material = mesh.userData.materials[vertexLit ? 1 : 0];
            if (mesh.geometry.index !== index) mesh.geometry.setIndex(index);
        }
    }

    // In a thread of its own: it takes a while. Browsers that give none to a page from a file draw all triangles.
    findFewer() {
        const { data } = this, n = 3 * data.info.skin_vertices;
        this.fewer = { index: null };
        try {
            const worker = new Worker(URL.createObjectURL(new Blob([SUPPLE_COARSE], { type: 'text/javascript' })));
            worker.onmessage = ({ data: found }) => { this.fewer.index = new THREE.BufferAttribute(found, 1), worker.terminate(); };
            worker.onerror = (event) => { event.preventDefault(); };
            worker.postMessage([data.triangles, data.pose_shapes.slice(0, n), data.look ?? null, this.size, COARSE * this.size]);
        } catch { /* as above */ }
    }

    meshes() { return [this.simulated, this.rig, this.modes, this.live, this.second].filter(Boolean); }

    look() {
        const target = this.target(), whole = 0.6 * this.tallest / Math.tan(this.camera.fov * Math.PI / 360); // and a fifth more
        const distance = Math.max((this.sides() ? 1.75 : 1.5) * this.size, whole);
        this.controls.target.copy(target);
        this.camera.position.copy(target).add(new THREE.Vector3(0.75, 0.35, 1).normalize().multiplyScalar(distance));
        this.camera.near = this.size / 100, this.camera.far = this.size * 60;
        this.camera.updateProjectionMatrix();
        this.offset.copy(target);
    }

    target() {
        if (radio('show') === 'modes') return this.middleOf(this.modes);
        return this.centre.clone();
    }

    middleOf(mesh) {
        const p = mesh.geometry.attributes.position.array, low = [1e30, 1e30, 1e30], high = [-1e30, -1e30, -1e30];
        for (let i = 0; i < p.length; i++) low[i % 3] = Math.min(low[i % 3], p[i]), high[i % 3] = Math.max(high[i % 3], p[i]);
        return new THREE.Vector3(...low.map((l, i) => 0.5 * (l + high[i])));
    }

    setFrame(frame) {
        const { info, rig, moved, moved2, rigid } = this.data, n = 3 * info.skin_vertices, at = frame * n, times = Number(element('exaggerate').value) / 32767;
        this.frame = frame;
        const a = this.rig.geometry.attributes.position.array, s = info.rig_scale / 32767;
        for (let axis = 0; axis < 3; axis++) {
            const c = info.rig_centre[axis];
            let low = Infinity, high = -Infinity;
            for (let i = axis, v = 0; i < n; i += 3, v++) {
                const x = rig[at + i] * s + c;
                a[i] = x;
                if (rigid?.[v]) continue;   // a gun that is dropped stays behind
                if (x < low) low = x;
                if (x > high) high = x;
            }
            this.centre.setComponent(axis, 0.5 * (low + high));
        }
        // all else only of what is looked at
        const shown = { rig: [this.rig], both: [this.rig, this.simulated], overlay: [this.rig, this.simulated], live: [], two: [this.simulated, this.second] }[radio('show')] ?? [this.simulated];
        for (const mesh of shown) {
            const u = { [this.simulated.id]: [moved, info.moved_scale], [this.second?.id]: [moved2, info.moved2_scale] }[mesh.id];
            if (u) add(a, u[0], at, u[1] * times, mesh.geometry.attributes.position.array);
            this.paint(mesh, at);
            mesh.geometry.attributes.position.needsUpdate = true;
            setNormals(mesh.geometry, this.data.triangles);
        }
        if (!this.playing || !this.pace.level || performance.now() - this.told > NUMBERS) this.tell();
        this.onframe?.(frame * info.frame_step);
        this.dirty = true;
    }

    tell() {
        const { info } = this.data;
        this.told = performance.now();
        element('scrub').value = this.frame;
        element('frame').textContent = `frame ${info.frame_start + this.frame * info.frame_step}`;
    }

    showsDisplacement() { return radio('colour') === 'displacement'; }

    // As the baked one: by how far it is from the rig, which the run time knows at its own instant. False: it was not asked for the rig.
    paintLive() {
        const { info } = this.data;
        if (!this.showsDisplacement()) { this.paint(this.live, 0); return true; }
        this.live.userData.painted = null;
        const x = this.live.geometry.attributes.position.array, rig = this.panel?.flesh.rig(), colour = this.live.geometry.attributes.color;
        if (!rig) return false;
        const out = colour.array, n = 3 * info.skin_vertices;
        for (let i = 0; i < n; i += 3) {
            const a = x[i] - rig[i], b = x[i + 1] - rig[i + 1], c = x[i + 2] - rig[i + 2];
            colourOf(Math.sqrt(a * a + b * b + c * c) / this.largest, out, i);
        }
        colour.needsUpdate = true;
        return true;
    }

    paint(mesh, at) {
        const { info, region, young, look } = this.data, how = radio('colour'), n = 3 * info.skin_vertices, { userData } = mesh;
        const colour = mesh.geometry.attributes.color, out = colour.array;
        if (how === 'displacement' && (mesh === this.simulated || mesh === this.second)) {
            const [u, scale] = mesh === this.second ? [this.data.moved2, info.moved2_scale] : [this.data.moved, info.moved_scale], s = scale / 32767 / this.largest;
            for (let i = 0; i < n; i += 3) {
                const a = u[at + i], b = u[at + i + 1], c = u[at + i + 2];
                colourOf(Math.sqrt(a * a + b * b + c * c) * s, out, i);
            }
            userData.painted = null;
        } else if (userData.painted === how) {
            return;   // stays as it is from frame to frame
        } else {
            userData.painted = how;
            const [low, high] = this.youngRange;
            for (let v = 0, i = 0; i < n; v++, i += 3) {
                if (how === 'young' && young) {
                    colourOf((young[v] - low) / (high - low || 1), out, i);
                } else if (how === 'look' && look) {
                    out[i] = look[i] / 255, out[i + 1] = look[i + 1] / 255, out[i + 2] = look[i + 2] / 255;
                } else {
                    const c = how === 'region' && region[v] !== 255 ? palette[region[v] % palette.length] : plain;
                    out[i] = c.r, out[i + 1] = c.g, out[i + 2] = c.b;
                }
            }
        }
        colour.needsUpdate = true;
    }

    // The modes of a pose swing about its shape.
    setMode(seconds) {
        const { info, modes, pose_shapes: shapes } = this.data, n = 3 * info.skin_vertices;
        const pose = Number(element('pose').value), mode = Number(element('mode').value);
        const swing = Math.sin(2 * Math.PI * 0.6 * seconds) * Number(element('amplitude').value) * this.size / 127;
        const p = this.modes.geometry.attributes.position.array, at = (pose * info.mode_count + mode) * n;
        for (let i = 0; i < n; i++) p[i] = shapes[pose * n + i] + swing * modes[at + i];
        this.modes.geometry.attributes.position.needsUpdate = true;
        setNormals(this.modes.geometry, this.data.triangles);
        if (this.painted === `${pose} ${mode} ${radio('colour')}`) return;
        this.painted = `${pose} ${mode} ${radio('colour')}`;
        const colour = this.modes.geometry.attributes.color;
        if (radio('colour') === 'displacement') {
            for (let i = 0; i < n; i += 3)
                colourOf(Math.hypot(modes[at + i], modes[at + i + 1], modes[at + i + 2]) / 127, colour.array, i);
            colour.needsUpdate = true, this.modes.userData.painted = null;
        } else {
            this.paint(this.modes, 0);
        }
    }

    // The points of a pose, where its flesh has them.
    setPoints(pose) {
        const { data } = this, poses = data.info.point_poses;
        if (pose >= poses) pose = 0;
        for (const [name, dots] of Object.entries(this.dots)) {
            const each = data[name].length / poses;
            const part = name === 'contact' ? data.contact.subarray(3 * data.contact_start[pose], 3 * data.contact_start[pose + 1])
                : data[name].subarray(pose * each, (pose + 1) * each);
            dots.geometry.setAttribute('position', new THREE.BufferAttribute(part.slice(), 3));
            dots.geometry.computeBoundingSphere();
        }
    }

    // What is visible. Side by side each half of the view has one of them, seen by the same camera.
    arrange() {
        const show = radio('show'), sides = this.sides(), modes = show === 'modes', live = show === 'live';
        this.simulated.visible = !modes && !live && show !== 'rig';
        this.rig.visible = show === 'rig' || show === 'both' || show === 'overlay';
        this.live.visible = live || show === 'beside';
        if (this.second) this.second.visible = show === 'two';
        this.panel?.arrange(this.live.visible);
        if (this.panel) this.panel.split = show === 'beside';
        this.modes.visible = modes;
        this.grid.visible = !modes;
        const overlay = show === 'overlay';
        see(this.rig, overlay ? 0.3 : 1, !overlay);
        for (const mesh of this.meshes()) mesh.userData.edges.visible = element('wire').checked;
        for (const [name, dots] of Object.entries(this.dots)) dots.visible = modes && Number(element('pose').value) < this.data.info.point_poses && element(name).checked;
        see(this.modes, modes && Object.values(this.dots).some((d) => d.visible) ? 0.55 : 1, true);
        const labels = sides ? sides.map(([, text], i) => [text, 25 + 50 * i])
            : [[{ rig: 'rig', overlay: 'rig and simulated', live: 'live', modes: `mode ${Number(element('mode').value) + 1} of pose ${element('pose').value}` }[show] ?? 'simulated', 50]];
        element('view').classList.toggle('split', !!sides);
        const html = labels.map(([text, x]) => `<span style="left:${x}%">${text}</span>`).join('');
        if (html !== this.labels) element('labels').innerHTML = this.labels = html;   // a layout of the page, every frame
    }

    // The two meshes that stand beside each other, and their names; null: one view.
    sides() {
        return { both: [[this.rig, 'rig'], [this.simulated, 'simulated']], beside: [[this.simulated, 'baked'], [this.live, 'live']], two: [[this.simulated, this.data.info.run_file], [this.second, this.data.info.second_file]] }[radio('show')] ?? null;
    }

    follow() {
        if (!element('follow').checked) return;
        const target = this.target(), step = target.clone().sub(this.offset);
        this.controls.target.add(step);
        this.camera.position.add(step);
        this.offset.copy(target);
    }

    // changing: what is seen does so without setFrame; else the picture of a frame stands until the next, and costs nothing.
    draw(seconds, changing = true) {
        if (radio('show') === 'modes') this.setMode(seconds);
        this.arrange();
        this.controls.update();
        this.sun.position.copy(this.camera.position).add(new THREE.Vector3(0.3, 0.9, 0.2).multiplyScalar(this.size));
        this.sun.target.position.copy(this.controls.target);
        this.sun.target.updateMatrixWorld();
        if (changing || this.dirty || performance.now() - this.turned < TURNING) this.render();
        this.dirty = false;
    }

    render() {
        const { renderer, camera, scene } = this, sides = this.sides(), both = !!sides;
        const { x: w, y: h } = renderer.getSize(new THREE.Vector2());
        camera.aspect = (both ? w / 2 : w) / h;
        camera.updateProjectionMatrix();
        renderer.setScissorTest(both);
        const began = performance.now();
        const props = this.panel ? [this.panel.ball, this.panel.plane, this.panel.hand, this.panel.string] : [], shown = props.map((o) => o.visible);
        for (const [mesh, at] of both ? [[sides[0][0], 0], [sides[1][0], w / 2]] : [[null, 0]]) {
            if (mesh) {
                for (const [other] of sides) other.visible = mesh === other;
                props.forEach((o, i) => { o.visible = shown[i] && mesh === this.live; });
            }
            renderer.setViewport(at, 0, both ? w / 2 : w, h);
            renderer.setScissor(at, 0, both ? w / 2 : w, h);
            renderer.render(scene, camera);
        }
        this.drawing = (this.drawing ?? 0) + performance.now() - began;
    }
}

// out = a + scale u, of one frame of u.
function add(a, u, at, scale, out) {
    for (let i = 0; i < a.length; i++) out[i] = a[i] + u[at + i] * scale;
}

function legend(viewer) {
    const how = radio('colour'), young = viewer.data.young;
    const ends = how === 'displacement' && radio('show') !== 'modes' ? ['0', `${(100 * viewer.largest).toPrecision(3)} cm`]
        : how === 'displacement' ? ['0', 'largest'] : how === 'young' && young ? ['soft', 'stiff'] : null;
    element('legend').innerHTML = ends ? `<div class="bar" style="background:linear-gradient(90deg,${ramp.map((c) => `#${c.getHexString()}`).join(',')})"></div>
        <div class="ends"><span>${ends[0]}</span><span>${ends[1]}</span></div>` : '';
}

function facts(info) {
    const rows = [['skin', `${info.skin_vertices} vertices`], ['flesh', `${info.tets} tets, ${info.flesh_vertices} vertices`],
        ['poses', info.poses], ['modes', info.modes], ['cubature', `${info.cubature_tets} tets`], ['inertia', `${info.inertia_vertices} vertices`],
        ['material', info.model.material ?? ''], ['lowest frequency', info.model.frequency ? `${info.model.frequency} Hz` : ''],
        ['substeps', info.sim?.substeps ?? ''], ['gravity', info.sim?.gravity_mode ?? '']];
    const table = element('facts');
    for (const [name, value] of rows) {
        if (value === '') continue;
        const row = table.insertRow();
        row.insertCell().textContent = name;
        row.insertCell().textContent = value;
    }
}

// A contact sheet: frames spread over the shot, four a row, in place of the player.
function sheet(viewer, count) {
    const { info } = viewer.data, grid = document.createElement('div');
    count = Math.min(count, info.shown_frames);
    grid.id = 'sheet';
    viewer.renderer.setPixelRatio(FINEST);
    viewer.renderer.setSize(420, 340);
    for (let k = 0; k < count; k++) {
        viewer.setFrame(Math.round(k * (info.shown_frames - 1) / Math.max(count - 1, 1)));
        viewer.follow();
        viewer.draw(0);
        const figure = document.createElement('figure'), image = new Image(), caption = document.createElement('figcaption');
        image.src = viewer.renderer.domElement.toDataURL();
        const way = viewer.data.largest[viewer.frame * info.frame_step]; // of the shot's largest less than that is rounding
        caption.textContent = `${element('frame').textContent} · ${way > 1e-5 * viewer.largest ? (100 * way).toPrecision(3) : 0} cm`;
        figure.append(image, caption);
        grid.append(figure);
    }
    document.body.classList.add('sheet');
    document.querySelector('main').replaceWith(grid);
}

// Chromium takes its picture of a page (supple report --png) when that has loaded: a document left open within the page holds that
// back until the page is drawn.
function holdLoad() {
    const frame = document.createElement('iframe');
    frame.hidden = true;
    document.body.append(frame);
    const held = frame.contentDocument;
    held.open();
    return () => held.close();
}

async function main(drawn) {
    const data = await readData(), { info } = data;
    document.title = `${info.run_file} · supple report`;
    element('title').textContent = info.clip || info.run_file;
    element('subtitle').textContent = `${info.model_file} · ${info.frames} frames at ${info.fps} fps · supple ${info.supple}`;
    element('scrub').max = info.shown_frames - 1;
    for (let i = 0; i < info.mode_poses; i++) element('pose').add(new Option(i ? `pose ${i}` : 'neutral', i));
    element('mode').max = info.mode_count - 1;
    if (!data.young) element('stiffness-label').hidden = true;
    if (!data.look) element('look-label').hidden = true;
    if (!data.contact.length) element('contact-label').hidden = true;
    facts(info);

    const viewer = new Viewer(data);
    window.supple = viewer;   // for tests
    const cursor = charts(data, element('charts'), element('tables'), (frame) => seek(Math.min(Math.round(frame / info.frame_step), info.shown_frames - 1)));
    viewer.onframe = cursor;
    const bytes = await unpack('supple-wasm'), { live, why } = await openLive(viewer, bytes);
    viewer.panel = live;
    live?.show();
    for (const label of document.querySelectorAll('.live')) label.hidden = !live, label.title = why ?? '';
    for (const label of document.querySelectorAll('.two')) label.hidden = !data.moved2;
    if (!live) document.body.dataset.notLive = why ?? '';
    const isLive = () => live && ['live', 'beside'].includes(radio('show'));
    const refresh = () => { viewer.painted = null; viewer.setFrame(viewer.frame); if (isLive()) live.stale = !viewer.paintLive(); legend(viewer); element('mode-value').textContent = `${Number(element('mode').value) + 1}`; element('exaggerate-value').textContent = element('exaggerate').value; };
    const play = (on) => { viewer.playing = on; element('play').textContent = on ? 'Pause' : 'Play'; viewer.clock = performance.now(); viewer.from = viewer.frame; viewer.tell(); };
    const seek = (frame) => { play(false); viewer.setFrame(frame); if (isLive()) live.restart(frame * info.frame_step); };
    element('play').onclick = () => play(!viewer.playing);
    element('scrub').oninput = (e) => seek(Number(e.target.value));
    addEventListener('keydown', (e) => {
        if (e.target.matches?.('input[type=range], select') && e.key !== ' ') return;
        if (e.key === ' ') { e.preventDefault(); play(!viewer.playing); }
        const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (step) seek((viewer.frame + step + info.shown_frames) % info.shown_frames);
        const show = { 1: 'simulated', 2: 'rig', 3: 'both', 4: 'overlay', 5: 'live', 6: 'beside', 7: 'two', 8: 'modes' }[e.key];
        const input = show && document.querySelector(`input[name=show][value=${show}]`);
        if (input && !input.parentElement.hidden) input.checked = true, input.dispatchEvent(new Event('input', { bubbles: true }));
        if (e.key === 'Home' || e.key === 'r') seek(0);
        if (e.key === 'c' && isLive() && !e.ctrlKey && !e.metaKey) live.copy();
    });
    document.querySelector('aside').addEventListener('input', (e) => {
        if (e.target.id === 'pose') viewer.setPoints(Number(e.target.value));
        if (e.target.name === 'show') { element('live-panel').hidden = !isLive(); document.body.classList.toggle('is-live', !!isLive()); if (isLive()) live.restart(viewer.frame * info.frame_step); element('mode-panel').style.display = radio('show') === 'modes' ? '' : 'none'; viewer.setMode(0); viewer.look(); viewer.pace.forget(); }
        refresh();
    });
    element('speed').onchange = () => play(viewer.playing);
    element('mode-panel').style.display = 'none';
    /* page.html#frame=10&show=both&colour=region&pose=1&mode=2: what to open with; bare: the view alone; still: it stands, and has loaded when it is drawn */
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has('bare')) document.body.classList.add('bare');
    for (const name of ['show', 'colour']) {
        const input = wanted.get(name) && document.querySelector(`input[name=${name}][value="${CSS.escape(wanted.get(name))}"]`);
        if (input) input.checked = true, input.dispatchEvent(new Event('input', { bubbles: true }));
    }
    for (const name of ['pose', 'mode'])
        if (wanted.has(name)) element(name).value = name === 'mode' ? Number(wanted.get(name)) - 1 : wanted.get(name);
    for (const name of wanted.get('points')?.split(',') ?? []) if (element(name)) element(name).checked = true;
    for (const name of wanted.get('without')?.split(',') ?? []) if (element(name)) element(name).checked = false;
    viewer.setPoints(Number(element('pose').value));
    refresh();
    if (wanted.has('frame')) seek(Math.min(Math.max(Math.round((Number(wanted.get('frame')) - info.frame_start) / info.frame_step), 0), info.shown_frames - 1));
    viewer.look();
    if (isLive()) await live.restart(viewer.frame * info.frame_step);
    // what the first of them draws is shown before the second
    const ready = () => { document.body.dataset.ready = 'yes'; if (drawn) requestAnimationFrame(() => requestAnimationFrame(drawn)); };
    if (wanted.has('sheet')) {
        sheet(viewer, Number(wanted.get('sheet')) || 8);
        ready();
        return;
    }

    let before = performance.now(), second = before, ticks = 0, worked = 0;
    function tick(now) {
        const passed = Math.min(Math.max(now - before, 0), 100) / 1000 * Number(element('speed').value);
        const moving = !wanted.has('still') && (viewer.playing || (isLive() && now - live.moved < TURNING)), changing = radio('show') === 'modes';
        viewer.pace.frame(now - before, moving || now - viewer.turned < TURNING);
        before = now, ticks++;
        if (now - second > 1000) live?.report(Math.round(1000 * ticks / (now - second)), worked / ticks), second = now, ticks = worked = 0;
        const began = performance.now(), others = viewer.drawing ?? 0;   // the page's own work is what is left of a frame without this
        if (isLive() && !wanted.has('still')) {
            live.run(passed, viewer.playing);
            const frame = Math.floor(live.flesh.frame / info.frame_step + 1e-6);
            if (frame !== viewer.frame && frame < info.shown_frames) viewer.setFrame(frame);
        } else if (viewer.playing) {
            const rate = info.fps / info.frame_step * Number(element('speed').value);
            const frame = Math.floor(viewer.from + (now - viewer.clock) / 1000 * rate) % info.shown_frames;
            if (frame !== viewer.frame && frame >= 0) viewer.setFrame(frame);
        }
        viewer.follow();
        viewer.draw(now / 1000, changing);
        worked += performance.now() - began - ((viewer.drawing ?? 0) - others);
        requestAnimationFrame(tick);
    }
    if (wanted.has('play')) play(true);
    viewer.draw(0);
    requestAnimationFrame(tick);
    ready();
}

const drawn = new URLSearchParams(location.hash.slice(1)).has('still') ? holdLoad() : null;
main(drawn).catch((error) => { drawn?.(); throw error; });   // a page that fails is a picture, too
