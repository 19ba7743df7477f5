"""Characters: reduced against full at r = 100, and where the error comes from."""
import os
import re

from lab import Lab, figure, read_csv

R = 100
NONE = ("--gravity-mode", "none")
PAINT = ("--young", "color.a", "--young-low", 1, "--young-high", 12)


class Cast:
    """A character file (None: the demo's), its clips with their names in files, options of poses and fit."""
    def __init__(self, name, source, clips, poses=(), fit=()):
        self.name, self.source, self.clips, self.poses, self.fit = name, source, clips, poses, fit


def casts(data):
    return [Cast("demo", None, {"Stop": "Stop", "Trot": "Trot"}, ("-m", 6, *PAINT), ("--frequency", 6.5)),
            Cast("cesium_man", f"{data}/cesium_man/cesium_man.gltf", {"walk": None}),
            Cast("fox", f"{data}/fox/Fox.glb", {"Walk": "Walk", "Run": "Run"})]


def flesh(lab, cast):
    """anim, poses, tet, fit and the full simulations; the shots' files."""
    source = cast.source
    if source is None:
        source = f"{lab.work}/demo.glb"
        if not lab.has("demo.glb"):
            lab.run("creature", "-o", source)
    shots = []
    for clip, name in cast.clips.items():
        shots.append(f"{cast.name}.{clip}.anim.npz")
        if not lab.has(shots[-1]):
            lab.run("import", source, *(["--clip", name] if name else []), "-o", shots[-1])
    files = [f"{cast.name}.{kind}.npz" for kind in ("tet", "poses", "fit")]
    if not lab.has(files[2]):
        lab.run("poses", *shots, *cast.poses, "-o", files[1])
        lab.run("mesh", files[1], "-o", files[0])
        lab.run("fit", files[0], files[1], "--shots", *shots, *cast.fit, "-o", files[2])
        lab.run("fit", files[0], files[1], "--shots", *shots, *cast.fit, "--rest", "posed", "-o", f"{cast.name}.posed.fit.npz")
    for shot in shots:
        for fit in ("fit", "posed.fit"):
            full = shot.replace("anim", fit.replace("fit", "full"))
            if not lab.has(full):
                lab.run("fullsim", files[0], f"{cast.name}.{fit}.npz", shot, *NONE, "--tolerance", "1e-4", "-o", full)
    return shots


def model(lab, cast, shots, label, one, align=(), cubature=()):
    """Basis and model of this label, one basis or a basis a pose; its name without .model.npz."""
    name = f"{cast.name}.{label}"
    tet, poses, fit = (f"{cast.name}.{kind}.npz" for kind in ("tet", "poses", "fit" if one else "posed.fit"))
    if not lab.has(f"{name}.model.npz"):
        trained = list(shots)
        if one:
            motion = f"{cast.name}.motion.npz"
            trained = [motion, *shots]
            lab.run("motion", poses, *shots, "-o", motion)
            lab.run("modes", tet, fit, "-r", R, "--motion", motion, "--shots", *shots, "-o", f"{name}.basis.npz")
        else:
            lab.run("modes", tet, fit, "-r", R, "-o", f"{name}.modes.npz")
            lab.run("align", tet, fit, f"{name}.modes.npz", *align, "-o", f"{name}.basis.npz")
        lab.run("cubature", tet, poses, fit, f"{name}.basis.npz", "--shots", *trained, *cubature, "-o", f"{name}.model.npz", "--stats",
                f"{name}.json")
    return name


def error(lab, name, shot, *options, full="full"):
    """Error of u, and, in per cent, what the basis leaves at best."""
    lab.run("sim", f"{name}.model.npz", shot, *NONE, *options, "-o", f"{name}.sim.npz")
    tag = shot.replace(".anim.npz", "")
    text = lab.run("compare", f"{name}.model.npz", shot, f"{name}.sim.npz", shot.replace("anim", full), "--projection", "--stats",
                   f"{name}.compare.json", "--csv", f"{tag}.{name.split('.')[-1]}.csv")
    return lab.stats(f"{name}.compare.json")["error"], float(re.search(r"projected.*?plain +([0-9.e-]+) %", text, re.S).group(1))


def characters(lab: Lab):
    data = os.path.abspath(os.environ.get("SUPPLE_DATA", "../shared/data"))
    lab.say("## Characters at r = 100: reduced against full\n")
    lab.say("15 k tets, default settings but r, gravity none, one basis. The paper's scheme: posed rest, linear modes and derivatives a pose, "
            "linear interpolation, the whole elastic force by tets trained to 2 %, `--inertia paper`, against the full simulation with that rest.\n")
    lab.say("| shot | error | its basis at best | tets, vertices | the paper's scheme | its basis at best | ours over it |")
    lab.say("| --- | --- | --- | --- | --- | --- | --- |")
    curves = []
    for cast in casts(data):
        if cast.source and not os.path.exists(cast.source):
            lab.say(f"| {cast.name} | skipped: not in SUPPLE_DATA | | | | | |")
            continue
        shots = flesh(lab, cast)
        ours = model(lab, cast, shots, "ours", True)
        paper = model(lab, cast, shots, "paper", False, ("--interpolation", "linear"), ("--error", "2%"))
        size = lab.stats(f"{ours}.json")
        for shot in shots:
            (a, best), (b, theirs) = error(lab, ours, shot), error(lab, paper, shot, "--inertia", "paper", full="posed.full")
            label = shot.replace(".anim.npz", "").replace(".", ", ")
            lab.say(f"| {label} | {100 * a:.2f} % | {best:.2f} % | {size['cubature_tets']}, {size['inertia_vertices']} | {100 * b:.1f} % | "
                    f"{theirs:.1f} % | 1/{b / a:.1f} |")
            curves.append((label, *(read_csv(f"{lab.work}/{shot.replace('.anim.npz', '')}.{kind}.csv") for kind in ("ours", "paper"))))
    lab.say()

    def draw(fig):
        for k, (label, *runs) in enumerate(curves):
            ax = fig.add_subplot(1, len(curves), k + 1)
            for (names, rows), style in zip(runs, ("ours", "paper")):
                ax.semilogy(rows[1:, 0], rows[1:, names.index("error_rms_mm")], label=style)
            ax.semilogy(rows[1:, 0], rows[1:, names.index("u_rms_mm")], color="gray", lw=0.8, label="u")
            ax.set_title(label, fontsize=9), ax.set_xlabel("frame"), ax.grid(alpha=0.3)
            if k == 0:
                ax.set_ylabel("RMS, mm")
        ax.legend(fontsize=7)
    figure(lab, "characters", draw, (3 * max(1, len(curves)), 3.2), False)
