"""What the experiments share: skins that one parameter deforms, the programs as calls, tables and figures."""
import json
import os
import resource
import subprocess
import sys

import numpy as np

FPS, FRAMES, TETS = 30, 61, 2500
SETTINGS = ("--gravity-mode", "none", "--beta", 0.008)


# ---- characters: skins that one parameter deforms, as OBJ sequences ----

def blocks(cells, size):
    """Closed surface of a set of unit cells (i, j, k) as quads that share vertices, scaled by size."""
    cells, index, points, quads = set(cells), {}, [], []

    def vertex(corner):
        if corner not in index:
            index[corner] = len(points)
            points.append([c * size for c in corner])
        return index[corner]
    for cell in sorted(cells):
        for axis in range(3):
            for side in (0, 1):
                beside = list(cell)
                beside[axis] += 2 * side - 1
                if tuple(beside) in cells:
                    continue
                a, b = (axis + 1) % 3, (axis + 2) % 3
                quad = []
                for da, db in ((0, 0), (1, 0), (1, 1), (0, 1)):
                    corner = list(cell)
                    corner[axis] += side
                    corner[a] += da
                    corner[b] += db
                    quad.append(vertex(tuple(corner)))
                quads.append(quad if side else quad[::-1])
    return np.array(points, float), quads


def bend(points, angle, length):
    """The axis along x, of this length, becomes an arc in the x-y plane; cross sections stay plane."""
    s, y = points[:, 0] / length, points[:, 1]
    out = points.copy()
    if abs(angle) > 1e-9:
        r = length / angle
        out[:, 0] = (r - y) * np.sin(angle * s)
        out[:, 1] = r - (r - y) * np.cos(angle * s)
    return out


class Character:
    """points (n,3), quads; deform(points, value); values of the catalogue of poses, the neutral one first; bones: lines of two
    points, the flesh they pass through is held; shots: name -> (values (F), translations (F,3) or None)."""
    def __init__(self, name, points, quads, deform, catalogue, bones, shots):
        self.name, self.points, self.quads, self.deform = name, points, quads, deform
        self.catalogue, self.bones, self.shots = list(catalogue), bones, shots

    def shape(self, value):
        return self.deform(self.points, value)


def beam():
    """1 m by 0.2 m by 0.2 m, held at one end, bent by degrees: a swing of 75 to both sides, and a fast one on a moving root."""
    cells = [(i, j, k) for i in range(30) for j in range(6) for k in range(6)]
    points, quads = blocks(cells, 1 / 30)
    points[:, 1:] -= 0.1
    t = np.arange(FRAMES) / FPS
    start = np.minimum(1, t / 0.3)
    shake = np.zeros((FRAMES, 3))
    shake[:, 1] = 0.15 * np.sin(2 * np.pi * t / 0.7) * start
    return Character("beam", points, quads, lambda x, d: bend(x, np.deg2rad(d), 1.0), [0, *range(-135, 136, 15)],
                     [(0.02, -0.1, z, 0.02, 0.1, z) for z in np.linspace(-0.09, 0.09, 7)],
                     {"beam": (np.rad2deg(1.3) * np.sin(2 * np.pi * t / 1.6) * start, None),
                      "fast": (np.rad2deg(1.3) * np.sin(2 * np.pi * t / 0.6) * start, shake)})


def cross(arm=6, width=3, size=0.05):
    """An X of four arms in the x-y plane around the origin."""
    cells = [(i, j, k) for i in range(-arm, width + arm) for j in range(-arm, width + arm) for k in range(width)
             if 0 <= i < width or 0 <= j < width]
    points, quads = blocks(cells, size)
    points -= width * size / 2
    turn = np.sqrt(0.5) * np.array([[1, 1, 0], [-1, 1, 0], [0, 0, np.sqrt(2)]])
    return points @ turn, quads


def write_sequence(folder, name, shapes, quads, values):
    os.makedirs(folder, exist_ok=True)
    for f, p in enumerate(shapes):
        with open(f"{folder}/{name}.{f:04d}.obj", "w") as o:
            o.write(f"o {name}\n")
            o.writelines("v %.9g %.9g %.9g\n" % tuple(v) for v in p)
            o.writelines("f %d %d %d %d\n" % tuple(i + 1 for i in q) for q in quads)
    with open(f"{folder}/{name}.csv", "w") as o:
        o.write("bend\n" + "".join("%.9g\n" % v for v in values))


class Lab:
    def __init__(self, binaries, out):
        self.bin, self.out = os.path.abspath(binaries), os.path.abspath(out)
        self.work = self.out + "/work"
        os.makedirs(self.work, exist_ok=True)
        self.lines = []

    def run(self, tool, *words, loud=False):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([f"{self.bin}/supple-{tool}", *map(str, words), *([] if loud else ["-q"]), "--progress", "none"],
                              cwd=self.work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"supple-{tool} {' '.join(map(str, words))}\n{done.stdout}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done.stdout

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def has(self, name):
        return os.path.exists(f"{self.work}/{name}")

    def load(self, name):
        return np.load(f"{self.work}/{name}", allow_pickle=False)

    def stats(self, name):
        with open(f"{self.work}/{name}") as f:
            return json.load(f)

    # ---- the pipeline; keys name what is made, so that experiments share it ----

    def use(self, character):
        """Its catalogue and shots as anim files."""
        self.character = character
        takes = {f"{character.name}.catalogue": (character.catalogue, None), **character.shots}
        for name, (values, moved) in takes.items():
            if self.has(f"{name}.anim.npz"):
                continue
            shapes = [character.shape(v) + (0 if moved is None else moved[k]) for k, v in enumerate(values)]
            write_sequence(f"{self.work}/{name}", name, shapes, character.quads, np.deg2rad(values))
            self.run("import", f"{name}/{name}.%04d.obj", "--rate", FPS, "--params", f"{name}/{name}.csv", "--unit", "m",
                     "-o", f"{name}.anim.npz")
        with open(f"{self.work}/{character.name}.bones.txt", "w") as o:
            o.writelines(" ".join("%.4f" % c for c in line) + "\n" for line in character.bones)

    def flesh(self, key, poses, tets=TETS, fit=("--frequency", 4, "--rest", "posed"), shot=None):
        """poses, tet and fit with example poses at these values of the catalogue (its first is always one); the rest shape is the paper's
        unless `fit` says otherwise, the material even and neo-Hookean: it has no law that stiffens."""
        character = self.character
        shot = shot or next(iter(character.shots))
        if self.has(f"{key}.fit.npz"):
            return
        at = [f"{character.name}.catalogue:{character.catalogue.index(d, 1)}" for d in poses]
        self.run("poses", f"{character.name}.catalogue.anim.npz", *(["--at", *at] if at else ["-m", 1]), "--shots",
                 f"{shot}.anim.npz", "-o", f"{key}.poses.npz")
        self.run("mesh", f"{key}.poses.npz", "--tets", tets, "--bones", f"{character.name}.bones.txt", "-o", f"{key}.tet.npz")
        law = () if "--material" in fit else ("--material", "neohookean")
        self.run("fit", f"{key}.tet.npz", f"{key}.poses.npz", *fit, *law, "--softness", "even", "-o", f"{key}.fit.npz", "--stats", f"{key}.fit.json")

    def basis(self, key, r, interpolation="corotated", modes=(), align=()):
        name = f"{key}.{r}.{interpolation}" + "".join(f".{a}" for a in align).replace("-", "")
        if not self.has(f"{name}.basis.npz"):
            if not self.has(f"{key}.{r}.modes.npz"):
                self.run("modes", f"{key}.tet.npz", f"{key}.fit.npz", "-r", r, *modes, "-o", f"{key}.{r}.modes.npz")
            self.run("align", f"{key}.tet.npz", f"{key}.fit.npz", f"{key}.{r}.modes.npz", "--interpolation", interpolation,
                     *align, "-o", f"{name}.basis.npz")
        return name

    def baked(self, key, r, *cubature):
        """A model as `supple bake` makes it: one basis from a motion of the rig's own and the character's shots, the pipeline's cubature, with
        these options. Its name without .model.npz."""
        shots, motion = [f"{shot}.anim.npz" for shot in self.character.shots], f"{key}.motion.anim.npz"
        name, basis = ".".join([f"{key}.{r}.baked", *cubature]).replace("-", ""), f"{key}.{r}.baked.basis.npz"
        if not self.has(motion):
            self.run("motion", f"{key}.poses.npz", *shots, "-o", motion)
        if not self.has(basis):
            self.run("modes", f"{key}.tet.npz", f"{key}.fit.npz", "-r", r, "--motion", motion, "--shots", *shots, "-o", basis)
        if not self.has(f"{name}.model.npz"):
            self.run("cubature", f"{key}.tet.npz", f"{key}.poses.npz", f"{key}.fit.npz", basis, "--shots", motion, *shots, *cubature, "-o",
                     f"{name}.model.npz")
        return name

    def model(self, key, r, interpolation="corotated", error="0.1%", modes=(), align=(), shot=None):
        """Tets stand for the whole force here, as always with bases a pose, and are trained to 0.1 %, so that they do not hide what is
        measured."""
        first = next(iter(self.character.shots))
        shot = shot or first
        basis = self.basis(key, r, interpolation, modes, align)
        name = f"{basis}.{error.replace('%', '')}" + (f".{shot}" if shot != first else "")
        if not self.has(f"{name}.model.npz"):
            self.run("cubature", f"{key}.tet.npz", f"{key}.poses.npz", f"{key}.fit.npz", f"{basis}.basis.npz", "--shots",
                     f"{shot}.anim.npz", "--error", error, "-o", f"{name}.model.npz", "--stats", f"{name}.json")
        return name

    def full(self, key, shot=None, *options, settings=SETTINGS):
        """The full simulation; returns its name without .npz."""
        shot = shot or next(iter(self.character.shots))
        name = f"{key}.{shot}" + "".join(str(o) for o in options).replace("-", "").replace("/", "") + ".full"
        if not self.has(f"{name}.npz"):
            self.run("fullsim", f"{key}.tet.npz", f"{key}.fit.npz", f"{shot}.anim.npz", *settings, *options, "-o", f"{name}.npz",
                     "--stats", f"{name}.json")
            with open(f"{self.work}/{name}.cpu.json", "w") as o:
                json.dump(self.processor_seconds, o)
        return name

    def full_ms(self, name):
        """Processor time of one step of a full simulation, reading and writing included."""
        return 1e3 * self.stats(f"{name}.cpu.json") / self.stats(f"{name}.json")["steps"]

    def reduced_ms(self, name, shot, *options):
        """Processor time of one step and pose part: what 45 steps a frame more cost, so that reading and writing do not count."""
        self.sim(name, shot, *options, "-j", 1)
        short = self.processor_seconds
        tag = self.sim(name, shot, *options, "-j", 1, "--substeps", 48)
        return max(0.0, 1e3 * (self.processor_seconds - short) / (self.stats(f"{tag}.json")["steps"] * 45 / 48))

    def sim(self, name, shot, *options, settings=SETTINGS):
        tag = f"{name}.{shot}" + "".join(str(o) for o in options).replace("-", "").replace("/", "")
        self.run("sim", f"{name}.model.npz", f"{shot}.anim.npz", *settings, *options, "-o", f"{tag}.sim.npz", "--stats",
                 f"{tag}.json")
        return tag

    def compare(self, name, shot, tag, full, *options):
        """Statistics and text of supple compare; TAG.csv by frames."""
        text = self.run("compare", f"{name}.model.npz", f"{shot}.anim.npz", f"{tag}.sim.npz", f"{full}.npz", "--csv",
                        f"{tag}.csv", "--stats", f"{tag}.compare.json", *options)
        return self.stats(f"{tag}.compare.json"), text

    def error(self, key, name, *options, shot=None):
        """Relative L2 error of u (the largest of compare's four) of a run with these options, and its tag."""
        shot = shot or next(iter(self.character.shots))
        full = self.full(key, shot)
        tag = self.sim(name, shot, *options)
        return self.compare(name, shot, tag, full)[0], tag

    def projected(self, key, name, tag, shot=None):
        """Per cent: the full result projected on the basis of each frame."""
        import re
        shot = shot or next(iter(self.character.shots))
        text = self.compare(name, shot, tag, self.full(key, shot), "--projection")[1]
        return float(re.search(r"projected.*?plain +([0-9.e-]+) %", text, re.S).group(1))


def read_csv(path):
    with open(path) as f:
        names = f.readline().strip().split(",")
        return names, np.array([[float(x) for x in line.split(",")] for line in f])


def figure(lab, name, draw, size=(6, 3.4), plots=None):
    """draw(axes) on one plot, or draw(fig) where plots is false."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig = plt.figure(figsize=size, dpi=100)
    if plots is None:
        ax = fig.add_subplot()
        draw(ax)
        ax.grid(alpha=0.3)
    else:
        draw(fig)
    fig.tight_layout()
    fig.savefig(f"{lab.out}/{name}.png", metadata={"Software": None})
    plt.close(fig)
    lab.say(f"![{name}]({name}.png)")
    lab.say()


def plain_ticks(axis):
    """Numbers as they are said, at 1, 2 and 5 of each decade, on a logarithmic axis."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def draw_skin(ax, points, quads, color, yaw=0.9, pitch=0.35, edges="none"):
    """Faces of four corners (triangles: the last twice) shaded by their normal, seen along z from the side and from above, the
    nearest last."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb
    corners = points[np.array(quads)]
    n = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    turn = np.array([[np.cos(yaw), 0, -np.sin(yaw)], [-np.sin(pitch) * np.sin(yaw), np.cos(pitch), -np.sin(pitch) * np.cos(yaw)],
                     [np.cos(pitch) * np.sin(yaw), np.sin(pitch), np.cos(pitch) * np.cos(yaw)]])
    seen, light = corners @ turn.T, 0.45 + 0.55 * np.clip(n @ np.array([0.74, 0.6, 0.3]), 0, 1)
    order = np.argsort(seen[:, :, 2].mean(1))
    front = [k for k in order if (turn @ n[k])[2] > 0]
    ax.add_collection(PolyCollection(seen[front][:, :, :2], facecolors=[np.array(to_rgb(color)) * light[k] for k in front],
                                     edgecolors=edges, linewidths=0.3))
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_axis_off()
