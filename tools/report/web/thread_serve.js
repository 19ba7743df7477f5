// The flesh behind messages, so that its steps can have a thread of their own: what thread.js asks is done in order, each answered by where things are then.
import { Flesh } from './live.js';

const BUDGET = 12;   // ms of steps for one question, so that the page stays at hand: what does not fit is lost, the clip is then slower than life
const MOST = 0.1;    // s of the clip's time that may be owed

// answer(state, transferred): where answers go. Returns what takes the questions.
export function serve(answer) {
    let flesh = null, owed = 0, since = null;

    async function open({ data, bytes, settings, contacts }) {
        try {
            flesh = (await Flesh.open(data, await WebAssembly.compile(bytes))).start(settings, contacts);
            answer({ contacts: flesh.contacts, seconds: flesh.seconds, nbar: flesh.nbar, ...state({}) }, []);
        } catch (error) {
            answer({ why: String(error.message ?? error) }, []);
        }
    }

    function call([name, ...words], out) {
        if (name === 'set_pull') {   // how long it lasted, and with which force it ended
            if (words[0] >= 0) since ??= flesh.frame;
            else if (since !== null) out.pulled = { force: Array.from(flesh.force()), from: since, to: flesh.frame }, since = null;
        }
        if (name === 'begin') owed = 0;
        flesh.call[name](...words);
    }

    // rig: it is wanted, too. The module has one place for both.
    function state({ rig }, out = {}) {
        Object.assign(out, { frame: flesh.frame, skin: flesh.skin().slice(), places: flesh.contactPositions().slice(), force: flesh.force().slice() });
        if (rig) out.rig = flesh.rig().slice();
        return out;
    }

    // seconds of the clip's time, or so many steps, whatever they take; moving: the clip goes on.
    return (question) => {
        if (question.open) { open(question.open); return; }
        const { calls, seconds = 0, steps = 0, moving } = question, out = { epoch: question.epoch, steps: 0, worst: 0 };
        for (const each of calls) call(each, out);
        const began = performance.now(), step = () => { out.worst = Math.max(out.worst, moving ? flesh.call.step() : flesh.call.hold()), out.steps++; };
        for (let k = 0; k < steps; k++) step();
        for (owed = Math.min(owed + seconds, MOST); owed >= flesh.seconds; owed -= flesh.seconds) {
            if (performance.now() - began > BUDGET) { owed = 0; break; }
            step();
        }
        out.took = performance.now() - began;
        state(question, out);
        answer(out, [out.skin.buffer, out.places.buffer, out.force.buffer, ...(out.rig ? [out.rig.buffer] : [])]);
    };
}
