"""Four bases against their number of modes, on shots that no stage before sim has read."""
import os

from lab import Lab, figure, plain_ticks

SIZES = (30, 60, 100, 150, 200)
TETS = 4000


class Pair:
    """A character file (None: the demo's) and two clips: what trains, and what is then simulated."""
    def __init__(self, name, source, known, unseen):
        self.name, self.source, self.known, self.unseen = name, source, known, unseen


def pairs(data):
    return [Pair("demo", None, "Trot", "Stop"), Pair("fox", f"{data}/fox/Fox.glb", "Survey", "Run")]


def flesh(lab, pair):
    """anim of both clips, poses, tet and a motion of the rig's own; of either rest shape the fit of the known clip and the unseen one in
    full. File names without ending."""
    here = f"curves.{pair.name}"
    source = pair.source or f"{lab.work}/demo.glb"
    if not pair.source and not lab.has("demo.glb"):
        lab.run("creature", "-o", source)
    for clip in (pair.known, pair.unseen):
        if not lab.has(f"{here}.{clip}.anim.npz"):
            lab.run("import", source, "--clip", clip, "-o", f"{here}.{clip}.anim.npz")
    known, unseen = (f"{here}.{clip}.anim.npz" for clip in (pair.known, pair.unseen))
    if not lab.has(f"{here}.motion.npz"):
        lab.run("poses", known, "-o", f"{here}.poses.npz")
        lab.run("mesh", f"{here}.poses.npz", "--tets", TETS, "-o", f"{here}.tet.npz")
        lab.run("motion", f"{here}.poses.npz", known, "-o", f"{here}.motion.npz")
    for rest in ("turned", "posed"):
        if not lab.has(f"{here}.{rest}.full.npz"):
            lab.run("fit", f"{here}.tet.npz", f"{here}.poses.npz", "--shots", known, "--rest", rest, "-o", f"{here}.{rest}.fit.npz")
            lab.run("fullsim", f"{here}.tet.npz", f"{here}.{rest}.fit.npz", unseen, "--tolerance", "1e-4", "-o", f"{here}.{rest}.full.npz")
    return here, known, unseen


class Basis:
    """How a model is made: its rest shape, motions of one basis (OWN, KNOWN; none: a basis a pose) and known shots, options of align,
    cubature and sim."""
    def __init__(self, label, rest="turned", motions=(), shots=(), align=(), cubature=(), sim=()):
        self.label, self.rest, self.motions, self.shots, self.align, self.cubature, self.sim = label, rest, motions, shots, align, cubature, sim


OWN, KNOWN = "motion of the rig's own", "known clip"
BASES = (Basis("one basis, motion of the rig's own", motions=(OWN,), shots=(KNOWN,)),
         Basis("one basis, the known clip alone", motions=(KNOWN,)),
         Basis("derivatives a pose", cubature=("--shots", KNOWN)),
         Basis("the paper's scheme", rest="posed", align=("--interpolation", "linear"), cubature=("--error", "2%", "--shots", KNOWN),
               sim=("--inertia", "paper")))


def error(lab, here, known, unseen, number, r):
    """Relative error of the unseen shot with this basis."""
    basis, name = BASES[number], f"{here}.{number}.{r}"
    if not lab.has(f"{name}.compare.json"):
        files = {OWN: f"{here}.motion.npz", KNOWN: known}
        motions, shots, cubature = ([files.get(word, word) for word in words] for words in (basis.motions, basis.shots, basis.cubature))
        fit = (f"{here}.tet.npz", f"{here}.{basis.rest}.fit.npz")
        if motions:
            lab.run("modes", *fit, "--motion", *motions, *(("--shots", *shots) if shots else ()), "-r", r, "-o", f"{name}.basis.npz")
            cubature = ["--shots", *motions, *shots]
        else:
            lab.run("modes", *fit, "-r", r, "-o", f"{name}.modes.npz")
            lab.run("align", *fit, f"{name}.modes.npz", *basis.align, "-o", f"{name}.basis.npz")
        lab.run("cubature", fit[0], f"{here}.poses.npz", fit[1], f"{name}.basis.npz", *cubature, "-o", f"{name}.model.npz")
        lab.run("sim", f"{name}.model.npz", unseen, *basis.sim, "--accept", "-o", f"{name}.sim.npz")
        lab.run("compare", f"{name}.model.npz", unseen, f"{name}.sim.npz", f"{here}.{basis.rest}.full.npz", "--stats", f"{name}.compare.json")
    return lab.stats(f"{name}.compare.json")["error"]


def curves(lab: Lab):
    data = os.path.abspath(os.environ.get("SUPPLE_DATA", "../shared/data"))
    lab.say("## Four bases by their number of modes, shots that nobody has seen\n")
    lab.say(f"{TETS // 1000} k tets, trained on one clip, another simulated; default settings but r.\n")
    found = []
    for pair in pairs(data):
        if pair.source and not os.path.exists(pair.source):
            lab.say(f"{pair.name}: skipped, not in SUPPLE_DATA\n")
            continue
        here, known, unseen = flesh(lab, pair)
        lab.say(f"| {pair.name}, {pair.known} → {pair.unseen} | {' | '.join(f'r = {r}' for r in SIZES)} |\n|{' --- |' * (len(SIZES) + 1)}")
        rows = []
        for number, basis in enumerate(BASES):
            rows.append([error(lab, here, known, unseen, number, r) for r in SIZES])
            lab.say(f"| {basis.label} | {' | '.join(f'{100 * e:.1f} %' for e in rows[-1])} |")
        lab.say()
        found.append((f"{pair.name}, {pair.known} → {pair.unseen}", rows))

    def draw(fig):
        for k, (title, rows) in enumerate(found):
            ax = fig.add_subplot(1, len(found), k + 1)
            for basis, row in zip(BASES, rows):
                ax.semilogy(SIZES, [100 * e for e in row], "o-", label=basis.label)
            plain_ticks(ax.yaxis)
            ax.set_title(title, fontsize=9), ax.set_xlabel("r"), ax.grid(alpha=0.3)
            ax.set_ylabel("relative L2 error, %") if k == 0 else None
        ax.legend(fontsize=7)
    figure(lab, "curves", draw, (4.2 * max(1, len(found)), 3.4), False)
