// What one does to the live flesh: the controls' numbers, the pointer's pull, a plane and a ball, and the command that bakes what is seen.
import * as THREE from 'three';
import { GRAVITY_MODES } from './live.js';
import { Thread } from './thread.js';
import { setNormals } from './normals.js';

const element = (id) => document.getElementById(id);
const DRAG = 1.2, FRICTION = 0.5, CONTACTS = 300;   // kg/(m^2 s), as docs/runtime.md has them
const MOVING = 2e-4, SEEN = 1e-6;   // of the size, between two pictures: what counts as motion, in which pixels may be coarse, and what is drawn anew at all

export class Live {
    constructor(viewer, flesh) {
        this.viewer = viewer, this.flesh = flesh, this.owed = 0, this.took = 0, this.steps = 0, this.worst = 0, this.moved = -Infinity, this.stale = true;
        this.baked = baked(viewer.data.info);
        this.mesh = viewer.live;
        this.weight = weight(viewer.data);
        const dot = (colour) => new THREE.Mesh(new THREE.SphereGeometry(1, 32, 20), new THREE.MeshStandardMaterial({ color: colour, roughness: 0.6 }));
        this.ball = dot('#e8a15c'), this.hand = dot('#c8263f');
        this.hand.scale.setScalar(0.012 * viewer.size);
        this.string = new THREE.Line(new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(new Float32Array(6), 3)), new THREE.LineBasicMaterial({ color: '#c8263f' }));
        this.string.frustumCulled = false;
        this.plane = new THREE.Mesh(new THREE.PlaneGeometry(6 * viewer.size, 6 * viewer.size), new THREE.MeshStandardMaterial({ color: '#9fb3d1', transparent: true, opacity: 0.45, side: THREE.DoubleSide }));
        this.plane.rotation.x = -Math.PI / 2;
        viewer.scene.add(this.ball, this.hand, this.string, this.plane);
        this.reset();
        for (const input of document.querySelectorAll('#live-panel input, #live-panel select')) input.addEventListener('input', () => this.read());
        element('live-reset').onclick = () => { this.reset(); this.restart(0); };
        element('live-copy').onclick = () => this.copy();
        this.listen();
        this.show();
    }

    /* ---- controls ---- */

    reset() {
        const set = (id, value) => { element(`live-${id}`).value = value; };
        set('stiffness', Math.log10(this.baked.stiffness)), set('damping', this.baked.damping);
        set('gravity', Math.hypot(...this.baked.gravity) / 9.81), set('mode', this.baked.gravity_mode);
        set('wind', 0), set('pull', 0), this.held = null, element('live-plane').checked = element('live-ball').checked = false;
        this.read();
    }

    // The numbers of the controls, in the run time's units; given to it.
    read() {
        const { viewer, flesh: { call } } = this, value = (id) => Number(element(`live-${id}`).value);
        const g = this.baked.gravity, size = Math.hypot(...g) || 1, down = Math.hypot(...g) ? g.map((x) => x / size) : [0, -1, 0];
        const angle = value('from') * Math.PI / 180, near = (a, b) => Math.abs(a - b) < 1e-9 * Math.abs(b) + 5e-4;
        // a slider's steps do not hit what the bake had: where it stands there, that is meant
        const stiffness = near(value('stiffness'), Math.round(50 * Math.log10(this.baked.stiffness)) / 50) ? this.baked.stiffness : 10 ** value('stiffness');
        const damping = near(value('damping'), Math.round(100 * this.baked.damping) / 100) ? this.baked.damping : value('damping');
        const strength = Math.abs(value('gravity') - size / 9.81) < 0.025 ? size : 9.81 * value('gravity');
        this.settings = {
            stiffness, damping, gravity: down.map((x) => x * strength), gravity_mode: value('mode'),
            wind: value('wind') > 0 ? [value('wind') * Math.cos(angle), 0, value('wind') * Math.sin(angle)] : null,
            plane: element('live-plane').checked ? viewer.low + value('height') * viewer.width[1] : null,
            ball: element('live-ball').checked ? { at: this.at(), radius: value('radius') * viewer.size } : null,
            pull: 3 * this.weight / viewer.size * 10 ** value('pull'),
        };
        const s = this.settings, say = (id, text) => { element(`live-${id}`).parentElement.querySelector('output').textContent = text; };
        call.set_flesh(s.stiffness, s.damping);
        call.set_gravity(...s.gravity, s.gravity_mode);
        call.set_wind(...(s.wind ?? [0, 0, 0]), s.wind ? DRAG : 0);
        this.collide();
        this.countContacts();
        viewer.dirty = true;
        say('stiffness', `${s.stiffness.toPrecision(3)} ×`), say('damping', s.damping.toPrecision(2)), say('gravity', `${strength.toFixed(1)} m/s²`);
        say('wind', `${value('wind')} m/s`), say('from', `${value('from')}°`), say('pull', `${s.pull.toPrecision(2)} N/m`);
        say('height', s.plane === null ? '' : `${Math.round(100 * s.plane) + 0} cm`), say('radius', s.ball ? `${(100 * s.ball.radius).toFixed(0)} cm` : '');
    }

    // Where the ball is; at first beside the character.
    at() {
        if (!this.place) {
            const middle = this.viewer.middleOf(this.viewer.rig);
            this.place = [middle.x + 0.5 * this.viewer.width[0] + 0.1 * this.viewer.size, middle.y, middle.z];
        }
        return this.place;
    }

    collide() {
        const { plane, ball } = this.settings;
        this.flesh.call.set_colliders(plane !== null, plane ?? 0, FRICTION, !!ball, ...(ball?.at ?? [0, 0, 0]), ball?.radius ?? 0);
    }

    /* ---- the pointer ---- */

    listen() {
        const canvas = this.viewer.renderer.domElement, ray = new THREE.Raycaster(), facing = new THREE.Plane();
        const cast = (e) => {
            const box = canvas.getBoundingClientRect(), half = this.split ? box.width / 2 : box.width, x = e.clientX - box.left;
            ray.setFromCamera(new THREE.Vector2(2 * (x % half) / half - 1, 1 - 2 * (e.clientY - box.top) / box.height), this.viewer.camera);
        };
        canvas.addEventListener('pointerdown', (e) => {
            if (!this.on || e.button > 0 || this.grip || (this.split && e.clientX - canvas.getBoundingClientRect().left < canvas.clientWidth / 2)) return;
            cast(e);
            this.mesh.geometry.computeBoundingSphere();
            const found = ray.intersectObjects([this.mesh, this.ball].filter((o) => o.visible), false)[0];
            if (!found) return;
            e.stopImmediatePropagation();
            canvas.setPointerCapture(e.pointerId);
            facing.setFromNormalAndCoplanarPoint(this.viewer.camera.getWorldDirection(new THREE.Vector3()), found.point);
            if (found.object === this.ball) this.grip = { id: e.pointerId, offset: this.ball.position.clone().sub(found.point) };
            else this.pull(this.nearest(found.point), found.point), this.grip = { id: e.pointerId };
        }, { capture: true });
        canvas.addEventListener('pointermove', (e) => {
            if (this.grip?.id !== e.pointerId) return;
            cast(e);
            const to = ray.ray.intersectPlane(facing, new THREE.Vector3());
            if (!to) return;
            if (this.grip.offset) this.place = to.add(this.grip.offset).toArray(), this.read();
            else this.pull(this.picked, to);
        });
        for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (e) => {
            if (this.grip?.id !== e.pointerId) return;
            if (!this.grip.offset) this.release();
            this.grip = null;
        });
    }

    // The contact point next to a place.
    nearest(place) {
        const now = this.flesh.contactPositions();
        let best = 0, least = Infinity;
        for (let k = 0; k < now.length; k += 3) {
            const d = (now[k] - place.x) ** 2 + (now[k + 1] - place.y) ** 2 + (now[k + 2] - place.z) ** 2;
            if (d < least) least = d, best = k / 3;
        }
        return best;
    }

    pull(contact, to) {
        this.picked = contact, this.target = to.clone();
        this.flesh.call.set_pull(contact, to.x, to.y, to.z, this.settings.pull);
    }

    // On the clip's clock.
    time(frame) { return this.viewer.data['live.times'][0] + frame * this.viewer.data.info.live.substeps * this.flesh.seconds; }

    release() {
        this.letGo = this.picked;
        this.flesh.call.set_pull(-1, 0, 0, 0, 0);
        this.picked = -1, this.viewer.dirty = true;
    }

    /* ---- time ---- */

    restart(frame) {
        this.owed = 0;
        this.flesh.call.begin(frame);
        return this.step({});
    }

    // What one asks of the flesh, seen when it is done.
    async step(question) {
        this.note(await this.flesh.ask({ rig: true, ...question }));
        this.show();
    }

    note(state) {
        this.took += state.took, this.steps += state.steps, this.worst = Math.max(this.worst, state.worst);
        if (state.pulled) this.held = { vertex: this.flesh.contacts[this.letGo], force: state.pulled.force, from: this.time(state.pulled.from), to: this.time(state.pulled.to) };
    }

    // Shows what the flesh has come to, and lets it go on by so many seconds of the clip's time while that is drawn; moving: the clip goes on.
    run(seconds, moving) {
        const { flesh } = this;
        this.owed += seconds;
        if (flesh.fresh) flesh.fresh = false, this.show();
        if (flesh.busy) return;
        flesh.ask({ seconds: this.owed, moving, rig: this.viewer.showsDisplacement() }).then((state) => this.note(state));
        this.owed = 0;
    }

    // Draws anew what has moved since it was drawn: paused, the flesh comes to rest.
    show() {
        const array = this.mesh.geometry.attributes.position.array, { viewer } = this, skin = this.flesh.skin();
        let most = 0;
        for (let i = 0; i < array.length; i++) {
            const by = Math.abs(skin[i] - array[i]);
            if (by > most) most = by;
        }
        if (most > MOVING * viewer.size) this.moved = performance.now();
        if (most > SEEN * viewer.size || this.stale) {
            array.set(skin);
            this.mesh.geometry.attributes.position.needsUpdate = true;
            setNormals(this.mesh.geometry, viewer.data.triangles);
            this.stale = viewer.paintLive?.() === false;
            viewer.dirty = true;
        }
        if (this.picked >= 0) {
            const now = this.flesh.contactPositions(), ends = this.string.geometry.attributes.position;
            ends.array.set([...now.subarray(3 * this.picked, 3 * this.picked + 3), ...this.target.toArray()]), ends.needsUpdate = true;
            this.hand.position.copy(this.target), viewer.dirty = true;
        }
        this.countContacts();
    }

    // The points that the plane and the ball push, and how deep the deepest is in them.
    countContacts() {
        const { plane, ball } = this.settings, note = element('live-contacts');
        const none = plane === null && !ball;
        if (note.hidden !== none) note.hidden = none;   // to set it has the page's style worked out, whatever it was
        if (none) return;
        const x = this.flesh.contactPositions();
        let count = 0, deepest = 0;
        for (let i = 0; i < x.length; i += 3) {
            const under = plane === null ? 0 : plane - x[i + 1], inside = ball ? ball.radius - Math.hypot(x[i] - ball.at[0], x[i + 1] - ball.at[1], x[i + 2] - ball.at[2]) : 0;
            const depth = Math.max(under, inside);
            if (depth > 0) count++, deepest = Math.max(deepest, depth);
        }
        this.touching = { count, deepest };
        note.textContent = `${count} of ${x.length / 3} points in contact${count ? `, ${(1000 * deepest).toFixed(1)} mm deep at most` : ''}`;
    }

    arrange(on) {
        const { settings } = this;
        this.on = on;
        this.ball.visible = on && !!settings.ball, this.plane.visible = on && settings.plane !== null;
        this.hand.visible = this.string.visible = on && this.picked >= 0;
        if (settings.ball) this.ball.position.set(...settings.ball.at), this.ball.scale.setScalar(settings.ball.radius);
        if (settings.plane !== null) this.plane.position.set(this.viewer.centre.x, settings.plane, this.viewer.centre.z);
    }

    // Once a second: what a step took, and what the page does beside steps and drawing in a frame.
    report(frames, page) {
        if (!this.steps) return;
        const ms = this.took / this.steps;
        this.rate = { ms, steps: 1000 / ms, frames, page };
        element('live-time').textContent = `${ms.toFixed(2)} ms a step, ${Math.round(1000 / ms)} steps/s, ${frames} frames/s${['', '', ' · damped', ' · a step failed'][this.worst] ?? ''}`;
        this.took = this.steps = this.worst = 0;
    }

    /* ---- the command ---- */

    forces() {
        const { settings: s } = this, out = {};
        if (!s.wind && s.plane === null && !s.ball && !this.held) return null;
        out.points = CONTACTS;
        const colliders = [];
        const tidy = (list) => list.map((x) => Number(x.toPrecision(6)));
        if (s.plane !== null) colliders.push({ shape: 'plane', point: tidy([0, s.plane, 0]), normal: [0, 1, 0], friction: FRICTION });
        if (s.ball) colliders.push({ shape: 'sphere', centre: tidy(s.ball.at), radius: Number(s.ball.radius.toPrecision(6)), friction: FRICTION });
        if (colliders.length) out.colliders = colliders;
        if (s.wind) out.wind = { velocity: tidy(s.wind), drag: DRAG };
        if (this.held) {
            const { vertex, force, from, to } = this.held;   // while the clip stood, or came round, the pull has no time of its own in it
            out.forces = [{ vertex, force: tidy(force), ...(to > from ? { from: Number(from.toFixed(4)), to: Number(to.toFixed(4)) } : {}) }];
        }
        return out;
    }

    command() {
        const { settings: s, viewer: { data: { info } } } = this, words = [], forces = this.forces();
        const quote = (text) => /^[\w./%+:=,@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
        if (s.stiffness !== 1) words.push(`--stiffness ${Number(s.stiffness.toPrecision(6))}`);
        words.push(`--damping ${Number(s.damping.toPrecision(6))}`);
        if (s.gravity.some((x, i) => Math.abs(x - [0, -9.81, 0][i]) > 1e-9)) words.push(`--gravity=${s.gravity.map((x) => Number(x.toPrecision(6))).join(',')}`);
        if (s.gravity_mode) words.push(`--gravity-mode ${GRAVITY_MODES[s.gravity_mode]}`);
        if (forces) words.push('--forces live.json');
        const source = info.live.source;
        const line = source ? `supple bake --model ${quote(info.model_file)} ${quote(source)}${info.clip ? ` --clip ${quote(info.clip)}` : ''} ${words.join(' ')} --bound 0 -o live/`   // without what would play in the full space
            : `supple sim ${quote(info.model_file)} ${quote(info.animation_file)} ${words.join(' ')} -o live.sim.npz`;
        return (forces ? `cat >live.json <<'END'\n${JSON.stringify(forces)}\nEND\n` : '') + line;
    }

    async copy() {
        const text = this.command(), button = element('live-copy');
        try {
            await navigator.clipboard.writeText(text);
        } catch {   // a page from a file may not
            const area = Object.assign(document.createElement('textarea'), { value: text });
            document.body.append(area);
            area.select(), document.execCommand('copy'), area.remove();
        }
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy command'; }, 1500);
    }
}

// The settings of the run that the page shows.
function baked({ live }) {
    return { stiffness: live.stiffness, damping: live.damping, gravity: live.gravity, gravity_mode: live.gravity_mode };
}

// Of the flesh, N.
function weight(data) {
    const x = data['model.vertices'], tets = data['model.tets'], density = data['model.density'];
    let mass = 0;
    for (let t = 0; t < density.length; t++) {
        const [a, b, c, d] = [0, 1, 2, 3].map((k) => 3 * tets[4 * t + k]), e = (k, i) => x[k + i] - x[a + i];
        mass += density[t] / 6 * Math.abs(e(b, 0) * (e(c, 1) * e(d, 2) - e(c, 2) * e(d, 1)) - e(b, 1) * (e(c, 0) * e(d, 2) - e(c, 2) * e(d, 0)) + e(b, 2) * (e(c, 0) * e(d, 1) - e(c, 1) * e(d, 0)));
    }
    return 9.81 * mass;
}

// null where the page has no run time, the browser no WebAssembly, or the bake no live part: *why says which.
export async function openLive(viewer, bytes) {
    const { info } = viewer.data;
    if (!info.live) return { why: info.not_live };
    if (!bytes) return { why: 'this page was built without its run time' };
    if (typeof WebAssembly === 'undefined') return { why: 'this browser has no WebAssembly' };
    try {
        return { live: new Live(viewer, await Thread.open(viewer.data, bytes, baked(info), CONTACTS)) };
    } catch (error) {
        return { why: String(error.message ?? error) };
    }
}
