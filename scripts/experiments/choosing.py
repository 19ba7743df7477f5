"""The trained model, skinning modes and the full space side by side at what a step costs (docs/choosing.md)."""
import numpy as np

from characters import NONE, casts, flesh
from lab import figure, plain_ticks

TRUTH = 15000           # tets of what all are held against, as `supple mesh` has them without a word
COARSE = (4000, 1000)   # and of what the full space does with less
TRAINED = (45, 100)     # r
SKINNING = ((5, 50), (10, 200), (20, 400), (40, 800))   # modes, means
LIMITS = (0.1, 0.3, 1, 3, 10)   # ms a step
FEW, MANY = 2, 12        # steps a frame, and how often they are timed
RUNS = 4


def skin(lab, tet, full):
    """What a full run moves the skin by (F,n,3), root frame."""
    t, u = lab.load(tet), lab.load(full)["u"]
    corners = t["tets"][t["embed_tet"]]
    return np.einsum("vk,fvkd->fvd", t["embed_bary"], u[:, corners])


def exported(lab, name, shot, run):
    made = f"{run}.moved.npy"
    lab.run("export", f"{name}.model.npz", f"{shot}.anim.npz", f"{run}.npz", "--what", "displacement", "--space", "root", "-o", made)
    return np.load(f"{lab.work}/{made}").astype(float)


def step_ms(lab, run):
    """Processor time of a step: what so many more a frame cost, so that reading and writing do not count; of either number the
    run that was disturbed least."""
    used, steps = [], []
    for substeps in FEW, MANY:
        seconds = []
        for _ in range(RUNS):
            run("-j", 1, "--substeps", substeps, "--stats", "time.json")
            seconds.append(lab.processor_seconds)
        used.append(min(seconds)), steps.append(lab.stats("time.json")["steps"])
    return 1e3 * (used[1] - used[0]) / (steps[1] - steps[0])


def roads(lab, cast, shots):
    """(road, name, how a shot is run to a file, what that moved the skin by) of all."""
    tet, poses, fit = (f"{cast.name}.{kind}.npz" for kind in ("tet", "poses", "fit"))

    def simulated(name):
        def run(shot, out, *options):
            lab.run("sim", f"{name}.model.npz", f"{shot}.anim.npz", *NONE, *options, "-o", f"{out}.npz")
        return run, lambda shot, out: exported(lab, name, shot, out)
    for modes, means in SKINNING:
        name = f"{cast.name}.w{modes}"
        if not lab.has(f"{name}.model.npz"):
            lab.run("modes", "--kind", "skinning", tet, fit, "--unconstrained", "-r", modes, "-o", f"{name}.skinning.npz")
            lab.run("cubature", tet, poses, fit, f"{name}.skinning.npz", "--clusters", means, "--as-fitted", "-o", f"{name}.model.npz")
        yield ("skinning modes", f"{modes} modes, {means} means", *simulated(name))
    for tets in COARSE:
        name = f"{cast.name}{tets}"
        if not lab.has(f"{name}.fit.npz"):
            lab.run("mesh", poses, "--tets", tets, "-o", f"{name}.tet.npz")
            lab.run("fit", f"{name}.tet.npz", poses, "--shots", *shots, *cast.fit, "-o", f"{name}.fit.npz")

        def full(shot, out, *options, name=name):
            lab.run("fullsim", f"{name}.tet.npz", f"{name}.fit.npz", f"{shot}.anim.npz", *NONE, "--tolerance", "1e-3", *options, "-o",
                    f"{out}.npz")
        yield "full space", f"{tets} tets", full, lambda shot, out, name=name: skin(lab, f"{name}.tet.npz", f"{out}.npz")
    motion = f"{cast.name}.motion.anim.npz"
    if not lab.has(motion):
        lab.run("motion", poses, *shots, "-o", motion)
    for r in TRAINED:
        name = f"{cast.name}.{r}"
        if not lab.has(f"{name}.model.npz"):   # Trot is what it is trained on; Stop it has not seen
            lab.run("modes", tet, fit, "--motion", motion, "-r", r, "--shots", shots[1], "-o", f"{name}.basis.npz")
            lab.run("cubature", tet, poses, fit, f"{name}.basis.npz", "--shots", motion, shots[1], "-o", f"{name}.model.npz")
        yield ("trained", f"r = {r}", *simulated(name))


def choosing(lab):
    lab.say("## Which road at which price\n")
    cast = casts("")[0]
    shots = flesh(lab, cast)
    clips = {clip: skin(lab, f"{cast.name}.tet.npz", f"{cast.name}.{clip}.full.npz") for clip in cast.clips}
    lab.say(f"The calf with its defaults ({TRUTH} tets), gravity none; relative L2 error of what moves the skin against the full space of that flesh; "
            "moduli as fitted; the trained models know Trot and not Stop; processor time of a step on one thread.\n")
    lab.say("| road | | ms a step | " + " | ".join(clips) + " |\n| --- | --- | --- |" + " --- |" * len(clips))
    rows = []
    for road, size, run, moved in roads(lab, cast, shots):
        off = []
        for clip, truth in clips.items():
            shot, out = f"{cast.name}.{clip}", f"choosing.{clip}"
            run(shot, out)
            off.append(np.linalg.norm(moved(shot, out) - truth) / np.linalg.norm(truth))
        cost = step_ms(lab, lambda *options: run(f"{cast.name}.Stop", "choosing.time", *options))
        rows.append((road, size, cost, off))
        lab.say(f"| {road} | {size} | {cost:.3f} | " + " | ".join(f"{100 * e:.1f} %" for e in off) + " |")
    lab.say("\nThe best of each road within so many milliseconds a step, " + " and ".join(clips) + ":\n")
    names = list(dict.fromkeys(road for road, *_ in rows))
    lab.say("| ms a step | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    for limit in LIMITS:
        best = [min((e for r, _, cost, e in rows if r == road and cost <= limit), key=sum, default=None) for road in names]
        lab.say(f"| {limit} | " + " | ".join("–" if b is None else ", ".join(f"{100 * e:.1f}" for e in b) + " %" for b in best) + " |")
    lab.say()

    def draw(fig):
        for k, clip in enumerate(clips):
            ax = fig.add_subplot(1, len(clips), k + 1)
            for road in names:
                ax.loglog(*zip(*sorted((cost, 100 * e[k]) for r, _, cost, e in rows if r == road)), "o-", label=road)
            plain_ticks(ax.xaxis), plain_ticks(ax.yaxis)
            ax.set_title(clip, fontsize=9), ax.set_xlabel("ms a step"), ax.grid(alpha=0.3)
            ax.set_ylabel("error of the skin, %") if k == 0 else ax.legend(fontsize=7)
    figure(lab, "choosing", draw, (8, 3.2), False)
