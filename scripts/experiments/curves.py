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
    """anim of both clips, poses, tet and fit of the known one, a motion of the rig's own, and the unseen one in full. File names without
    ending."""
    here = f"curves.{pair.name}"
    source = pair.source or f"{lab.work}/demo.glb"
    if not pair.source and not lab.has("demo.glb"):
        lab.run("creature", "-o", source)
    for clip in (pair.known, pair.unseen):
        if not lab.has(f"{here}.{clip}.anim.npz"):
            lab.run("import", source, "--clip", clip, "-o", f"{here}.{clip}.anim.npz")
    known, unseen = (f"{here}.{clip}.anim.npz" for clip in (pair.known, pair.unseen))
    if not lab.has(f"{here}.full.npz"):
        lab.run("poses", known, "-o", f"{here}.poses.npz")
        lab.run("mesh", f"{here}.poses.npz", "--tets", TETS, "-o", f"{here}.tet.npz")
        lab.run("fit", f"{here}.tet.npz", f"{here}.poses.npz", "--shots", known, "-o", f"{here}.fit.npz")
        lab.run("motion", f"{here}.poses.npz", known, "-o", f"{here}.motion.npz")
        lab.run("fullsim", f"{here}.tet.npz", f"{here}.fit.npz", unseen, "--tolerance", "1e-4", "-o", f"{here}.full.npz")
    return here, known, unseen


def one_basis(lab, here, known, r, name):
    motion = f"{here}.motion.npz"
    lab.run("modes", f"{here}.tet.npz", f"{here}.fit.npz", "--motion", motion, "--shots", known, "-r", r, "-o", f"{name}.basis.npz")
    return ("--shots", motion, known)


def basis_a_pose(modes, align, cubature):
    """A recipe: options of modes (with the known shot where `known` stands), align and cubature."""
    def make(lab, here, known, r, name):
        fit = (f"{here}.tet.npz", f"{here}.fit.npz")
        lab.run("modes", *fit, "-r", r, *(known if word == "known" else word for word in modes), "-o", f"{name}.modes.npz")
        lab.run("align", *fit, f"{name}.modes.npz", *align, "-o", f"{name}.basis.npz")
        return ("--shots", known, *cubature)
    return make


# label, recipe, options of sim
BASES = (("one basis, motion of the rig's own", one_basis, ()),
         ("derivatives", basis_a_pose((), (), ()), ()),
         ("shots alone", basis_a_pose(("--shots", "known"), (), ()), ()),
         ("the paper's scheme", basis_a_pose((), ("--interpolation", "linear"), ("--error", "2%")), ("--inertia", "paper")))


def error(lab, here, known, unseen, number, r):
    """Relative error of the unseen shot with this basis."""
    label, recipe, options = BASES[number]
    name = f"{here}.{number}.{r}"
    if not lab.has(f"{name}.compare.json"):
        shots = recipe(lab, here, known, r, name)
        lab.run("cubature", f"{here}.tet.npz", f"{here}.poses.npz", f"{here}.fit.npz", f"{name}.basis.npz", *shots, "-o", f"{name}.model.npz")
        lab.run("sim", f"{name}.model.npz", unseen, *options, "--accept", "-o", f"{name}.sim.npz")
        lab.run("compare", f"{name}.model.npz", unseen, f"{name}.sim.npz", f"{here}.full.npz", "--stats", f"{name}.compare.json")
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
        for number, (label, _, _) in enumerate(BASES):
            rows.append([error(lab, here, known, unseen, number, r) for r in SIZES])
            lab.say(f"| {label} | {' | '.join(f'{100 * e:.1f} %' for e in rows[-1])} |")
        lab.say()
        found.append((f"{pair.name}, {pair.known} → {pair.unseen}", rows))

    def draw(fig):
        for k, (title, rows) in enumerate(found):
            ax = fig.add_subplot(1, len(found), k + 1)
            for (label, _, _), row in zip(BASES, rows):
                ax.semilogy(SIZES, [100 * e for e in row], "o-", label=label)
            plain_ticks(ax.yaxis)
            ax.set_title(title, fontsize=9), ax.set_xlabel("r"), ax.grid(alpha=0.3)
            ax.set_ylabel("relative L2 error, %") if k == 0 else None
        ax.legend(fontsize=7)
    figure(lab, "curves", draw, (4.2 * max(1, len(found)), 3.4), False)
