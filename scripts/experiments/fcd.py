"""Skinning eigenmodes and clusters: figures after FCD's own, on bars (docs/experiments.md, "Skinning modes")."""
import io
import shutil
import zipfile

import numpy as np

from lab import FPS, Character, blocks, draw_skin, figure, plain_ticks

FRAMES = 21
STILL = ("--gravity-mode", "none", "--beta", 0.004)
RIPPLE = ("--gravity-mode", "none", "--beta", 0.001, "--stiffness", 0.01)   # so soft that a jerk is a wave
TETS = 1500


def bar():
    """1 m by 0.2 m by 0.2 m, held at one end. Values: the angle by which the rig twists the far end, degrees."""
    cells = [(i, j, k) for i in range(20) for j in range(4) for k in range(4)]
    points, quads = blocks(cells, 1 / 20)
    points[:, 1:] -= 0.1

    def twist(x, degrees):
        a = np.deg2rad(degrees) * x[:, 0]
        c, s = np.cos(a), np.sin(a)
        return np.stack([x[:, 0], c * x[:, 1] - s * x[:, 2], s * x[:, 1] + c * x[:, 2]], 1)
    t = np.arange(FRAMES) / FPS
    shake, ripple = np.zeros((FRAMES, 3)), np.zeros((FRAMES, 3))
    shake[:, 1], shake[:, 2] = 0.25 * np.sin(2 * np.pi * t), 0.1 * np.sin(2 * np.pi * t / 0.8)   # slower than the bar swings
    ripple[:, 1] = 0.003 * np.sin(np.pi * np.clip(t / 0.1, 0, 1)) ** 2   # a jerk at the held end
    still = np.zeros(FRAMES)
    return Character("bar", points, quads, twist, [0, 90, 180], [(0.02, -0.1, z, 0.02, 0.1, z) for z in np.linspace(-0.09, 0.09, 7)],
                     {"shake": (still, shake), "ripple": (still, ripple), "twist": (180 * np.clip(t / 0.4, 0, 1), None), "rest": (still, None)})


def copy(lab, key):
    """Poses and flesh of the bar under another name, for another material."""
    for kind in ("poses", "tet"):
        shutil.copy(f"{lab.work}/bar.{kind}.npz", f"{lab.work}/{key}.{kind}.npz")


def with_array(lab, source, name, values, to):
    """A file with other values in one array."""
    with zipfile.ZipFile(f"{lab.work}/{source}") as old, zipfile.ZipFile(f"{lab.work}/{to}", "w") as new:
        for item in old.infolist():
            data = io.BytesIO()
            if item.filename == f"{name}.npy":
                np.save(data, values)
            new.writestr(item.filename, data.getvalue() or old.read(item.filename))


def skinning(lab, key, modes, clusters, *options, spare=(), name=None):
    """A model without the rig's rows and its moduli as fitted; its name."""
    made, name = f"{key}.{modes}.skinning.npz", name or f"{key}.{modes}.{clusters}"
    if not lab.has(made):
        lab.run("modes", "--kind", "skinning", f"{key}.tet.npz", f"{key}.fit.npz", "--unconstrained", *spare, "-r", modes, "-o", made)
    if not lab.has(f"{name}.model.npz"):
        lab.run("cubature", f"{key}.tet.npz", f"{key}.poses.npz", f"{key}.fit.npz", made, "--clusters", clusters, "--as-fitted", *options, "-o",
                f"{name}.model.npz")
    return name


def off(lab, key, name, shot, settings=STILL):
    """Relative L2 error of u against the full space."""
    full = lab.full(key, shot, settings=settings)
    tag = lab.sim(name, shot, settings=settings)
    return lab.compare(name, shot, tag, full)[0]["error"]


def displacement(lab, name, tag):
    """u (F,n,3) of a run in skinning modes, root frame: docs/skinning.md, eq. 28."""
    model, q = lab.load(f"{name}.model.npz"), lab.load(f"{tag}.sim.npz")["q"]
    x, w = model["vertices"], model["skinning_weights"]
    low, high = x.min(0), x.max(0)
    affine = np.append((x - (low + high) / 2) / (np.linalg.norm(high - low) / 2), np.ones((len(x), 1)), 1)
    phi = (w[:, :, None] * affine[:, None]).reshape(len(x), -1)
    return np.einsum("vj,fji->fvi", phi, q.reshape(len(q), -1, 3)), phi


def volume(x, tets):
    e = x[tets[:, 1:]] - x[tets[:, :1]]
    return np.linalg.det(e).sum() / 6


def boundary(tets):
    """Faces of one tet alone, as quads whose last corner counts twice, turned outwards."""
    faces = np.concatenate([tets[:, f] for f in ([1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1])])
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    alone = faces[first[count == 1]]
    return np.concatenate([alone, alone[:, 2:]], 1)


def points(lab, name, shot, run):
    """The skin of a run at every frame (F,n,3), root frame."""
    made = f"{run}.points.npy"
    lab.run("export", f"{name}.model.npz", f"{shot}.anim.npz", f"{run}.npz", "--what", "points", "--space", "root", "-o", made)
    return np.load(f"{lab.work}/{made}").astype(float)


def pictures(lab, name, rows, size, **how):
    """Rows of bodies beside each other, (title, points, faces) each, all at one scale."""
    def draw(fig):
        axes = fig.subplots(len(rows), max(map(len, rows)), squeeze=False, sharex=True, sharey=True)
        for line, row in zip(axes, rows):
            for ax in line:
                ax.set_axis_off()
            for ax, (title, x, faces) in zip(line, row):
                draw_skin(ax, x, faces, "#c98f73", **{"yaw": 0.35, "edges": "#8a5a44", **how})
                ax.set_title(title, fontsize=8)
    figure(lab, name, draw, size, False)


def percent(share):
    return f"{100 * share:.1f} %"


def ablation(lab):
    lab.say("### Modes and clusters against the full space (FCD 9.10)\n")
    lab.say("A bar shaken at its held end; relative L2 error of u.\n")
    rows = {"modes": [(k, off(lab, "bar", skinning(lab, "bar", k, 1000), "shake")) for k in (2, 5, 10, 20)],
            "clusters": [(c, off(lab, "bar", skinning(lab, "bar", 20, c), "shake")) for c in (20, 80, 300, 1000)]}
    for what, held in (("modes", "1000 clusters"), ("clusters", "20 modes")):
        lab.say(f"| {what}, {held} | " + " | ".join(str(n) for n, _ in rows[what]) + " |")
        lab.say("| --- |" + " --- |" * len(rows[what]))
        lab.say("| error | " + " | ".join(percent(e) for _, e in rows[what]) + " |\n")

    def draw(fig):
        for k, what in enumerate(rows):
            ax = fig.add_subplot(1, 2, k + 1)
            ax.loglog(*zip(*[(n, 100 * e) for n, e in rows[what]]), "o-")
            plain_ticks(ax.xaxis), plain_ticks(ax.yaxis)
            ax.set_xlabel(what), ax.set_ylabel("error of u, %"), ax.grid(alpha=0.3)
    figure(lab, "fcd_ablation", draw, (8, 3.2), False)


def materials(lab):
    lab.say("### Modes know the material (FCD 9.8, Fig. 10)\n")
    tet = lab.load("bar.tet.npz")
    middle = tet["vertices"][tet["tets"]].mean(1)[:, 0]
    np.save(f"{lab.work}/half.npy", np.where(middle < 0.5, 30.0, 1.0))
    if not lab.has("half.fit.npz"):
        copy(lab, "half")
        lab.run("fit", "half.tet.npz", "half.poses.npz", "--frequency", 2.5, "--softness", "even", "--young-tets", "half.npy", "--material", "neohookean", "-o", "half.fit.npz")
    own = skinning(lab, "half", 5, 300)
    error = off(lab, "half", own, "shake")
    # the same flesh with the weights of an even bar
    skinning(lab, "bar", 5, 300)
    with_array(lab, "half.5.300.model.npz", "skinning_weights", lab.load("bar.5.300.model.npz")["skinning_weights"], "half.blind.model.npz")
    lab.say("The half at the held end is 30 times as stiff; five modes, 300 clusters, shot `shake`.\n")
    lab.say("| modes of | error of u |\n| --- | --- |")
    lab.say(f"| this bar | {percent(error)} |")
    lab.say(f"| an even bar | {percent(off(lab, 'half', 'half.blind', 'shake'))} |\n")

    runs = ("full space", lab.full("half", "shake", settings=STILL)), ("its own five modes", f"{own}.shake.sim"), ("an even bar's", "half.blind.shake.sim")
    shapes = [(title, points(lab, own, "shake", run)) for title, run in runs]
    moved = np.linalg.norm(shapes[0][1] - lab.character.points, axis=2).max(1)
    pictures(lab, "fcd_materials_bars", [[(title, x[np.argmax(moved)], lab.character.quads) for title, x in shapes]], (8, 2.2))

    def draw(fig):
        for k, key in enumerate(("bar", "half")):
            ax = fig.add_subplot(1, 2, k + 1)
            w, x = lab.load(f"{key}.5.skinning.npz")["weights"], tet["vertices"][:, 0]
            for b in range(4):
                ax.plot(x, w[:, b], ".", ms=2)
            ax.set_title("even" if key == "bar" else "left half 30 times as stiff", fontsize=9), ax.set_xlabel("x, m"), ax.grid(alpha=0.3)
    figure(lab, "fcd_materials", draw, (8, 3), False)


def volumes(lab):
    lab.say("### Volume (FCD 9.8, 9.11, Fig. 19 and 20)\n")
    lab.say("The bar hangs from its held end under gravity along it, Poisson's ratio 0.49; ten modes, 300 clusters.\n")
    lab.say("| law | volume, largest change | stretch at the end, full space | ten modes |\n| --- | --- | --- | --- |")
    shapes = []
    down = ("--gravity-mode", "absolute", "--gravity", "9.81,0,0", "--beta", 0.02)
    for law, key in (("arap", "arap"), ("corotational", "bar49"), ("neohookean", "neo49")):
        if not lab.has(f"{key}.fit.npz"):
            copy(lab, key)
            lab.run("fit", f"{key}.tet.npz", f"{key}.poses.npz", "--young", 60000, "--softness", "even", "--poisson", 0 if law == "arap" else 0.49,
                    "--material", "neohookean" if law == "neohookean" else "corotational", "-o", f"{key}.fit.npz")
        name = skinning(lab, key, 10, 300)
        full = lab.full(key, "rest", settings=down)
        tag = lab.sim(name, "rest", settings=down)
        tet, u = lab.load(f"{key}.tet.npz"), displacement(lab, name, tag)[0]
        x, tip = tet["vertices"], tet["vertices"][:, 0] > 0.95
        v = np.array([volume(x + f, tet["tets"]) for f in u]) / volume(x, tet["tets"])
        lab.say(f"| {law} | {percent(np.abs(v - 1).max())} | {1e3 * lab.load(f'{full}.npz')['u'][:, tip, 0].mean(1).max():.1f} mm | "
                f"{1e3 * u[:, tip, 0].mean(1).max():.1f} mm |")
        far, faces = np.argmax(u[:, tip, 0].mean(1)), boundary(tet["tets"])
        shapes.append([(f"{law}, full space", x + lab.load(f"{full}.npz")["u"][far], faces), ("ten modes", x + u[far], faces)])
    lab.say()
    pictures(lab, "fcd_volume_bars", list(map(list, zip(*shapes))), (9, 3.4))


def twisting(lab):
    lab.say("### A twisted bar (FCD Fig. 15)\n")
    lab.say("The rig twists the far end by 180 degrees within 0.4 s; then the flesh swings on. Gravity none.\n")
    lab.say("| modes, clusters | error of u |\n| --- | --- |")
    frame = FRAMES // 2 + 2   # just behind the end of the twist, where the flesh goes on
    shapes = []
    for modes, clusters in ((5, 100), (10, 300), (20, 1000)):
        name = skinning(lab, "bar", modes, clusters)
        lab.say(f"| {modes}, {clusters} | {percent(off(lab, 'bar', name, 'twist'))} |")
        shapes.append((f"{modes} modes, {clusters} means", points(lab, name, "twist", f"{name}.twist.sim")[frame], lab.character.quads))
    lab.say()
    full = points(lab, name, "twist", lab.full("bar", "twist", settings=STILL))[frame]
    rig = lab.character.shape(180)
    pictures(lab, "fcd_twist_bars", [[("the rig", rig, lab.character.quads), ("full space", full, lab.character.quads)] + shapes], (11, 1.9))


def embedding(lab):
    lab.say("### Coarse flesh around the same skin (FCD Fig. 3)\n")
    lab.say("Ten modes, 100 means; motion of the skin against that of the finest, shot `shake`.\n")
    lab.say("| tets | flesh vertices | off the finest |\n| --- | --- | --- |")
    moved, flesh, skin = {}, [], []
    for tets in (6000, 1500, 400):
        key = f"bar{tets}"
        if not lab.has(f"{key}.fit.npz"):
            lab.run("mesh", "bar.poses.npz", "--tets", tets, "--bones", "bar.bones.txt", "-o", f"{key}.tet.npz")
            shutil.copy(f"{lab.work}/bar.poses.npz", f"{lab.work}/{key}.poses.npz")
            lab.run("fit", f"{key}.tet.npz", f"{key}.poses.npz", "--frequency", 2.5, "--softness", "even", "--material", "neohookean", "-o",
                    f"{key}.fit.npz")
        name = skinning(lab, key, 10, 100)
        tag = lab.sim(name, "shake", settings=STILL)
        lab.run("export", f"{name}.model.npz", "shake.anim.npz", f"{tag}.sim.npz", "--what", "displacement", "-o", f"{key}.npy")
        moved[tets] = np.load(f"{lab.work}/{key}.npy").astype(float)
        share = np.linalg.norm(moved[tets] - moved[6000]) / np.linalg.norm(moved[6000])
        tet = lab.load(f"{key}.tet.npz")
        lab.say(f"| {len(tet['tets'])} | {len(tet['vertices'])} | {percent(share)} |")
        far = np.argmax(np.linalg.norm(moved[6000], axis=2).max(1))
        u, faces = displacement(lab, name, tag)[0][far], boundary(tet["tets"])
        flesh.append((f"{len(tet['tets'])} tets", tet["vertices"] + u, faces))
        skin.append(("the skin they carry", lab.character.points + moved[tets][far], lab.character.quads))
    lab.say()
    pictures(lab, "fcd_embedding_bars", [flesh, skin], (8, 3.6))


def space_error(basis, mass, u):
    """Share of u (n,3) outside the span of basis (3n,k), in the mass."""
    root = np.sqrt(np.repeat(mass, 3))
    a = u.reshape(-1) * root
    q = np.linalg.qr(basis * root[:, None])[0]
    return np.linalg.norm(a - q @ (q.T @ a)) / np.linalg.norm(a)


def turning(lab):
    """FCD Fig. 5, 11, 13, 14: which space keeps a deformation when it turns."""
    lab.say("### Turned deformations: skinning modes, displacement modes, modal derivatives of equal size (FCD Fig. 5, 11, 13, 14)\n")
    name = skinning(lab, "bar", 10, 300)
    tag = lab.sim(name, "shake", settings=STILL)
    own, phi = displacement(lab, name, tag)
    tet, fit = lab.load("bar.tet.npz"), lab.load("bar.fit.npz")
    e = tet["vertices"][tet["tets"][:, 1:]] - tet["vertices"][tet["tets"][:, :1]]
    mass = np.zeros(len(tet["vertices"]))
    np.add.at(mass, tet["tets"], (fit["density"].reshape(-1)[:len(e)] * np.linalg.det(e) / 24)[:, None])
    size = 12 * 10
    bases = {"skinning modes": np.kron(phi, np.eye(3))}
    for what, linear in (("displacement modes", size), ("modal derivatives", size // 3)):
        made = f"bar.{linear}of{size}.modes.npz"
        if not lab.has(made):
            lab.run("modes", "bar.tet.npz", "bar.fit.npz", "-r", size, "--linear", linear, "--pose", 0, "-o", made)
        bases[what] = lab.load(made)["modes"][0].reshape(size, -1).T
    full = lab.load(f"{lab.full('bar', 'shake', settings=STILL)}.npz")["u"]
    deformed = full[np.argmax(np.linalg.norm(full, axis=(1, 2)))]
    angles, found = (0, 15, 30, 60, 90, 180), {}
    lab.say(f"{size} degrees of freedom each. A frame of the full simulation, its displacements turned about (1, 1, 1): the share outside of the space.\n")
    lab.say("| space | " + " | ".join(f"{a}°" for a in angles) + " | most over least |")
    lab.say("| --- |" + " --- |" * (len(angles) + 1))
    for what, basis in bases.items():
        row = []
        for a in np.deg2rad(angles):
            axis = np.array([1, 1, 1]) / np.sqrt(3)
            K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
            R = np.eye(3) + np.sin(a) * K + (1 - np.cos(a)) * K @ K
            row.append(space_error(basis, mass, deformed @ R.T))
        found[what] = row
        lab.say(f"| {what} | " + " | ".join(percent(x) for x in row) + f" | 1 + {max(row) / min(row) - 1:.1e} |")
    lab.say()

    def draw(ax):
        for what, row in found.items():
            ax.plot(angles, 100 * np.array(row), "o-", label=what)
        ax.set_xlabel("turned by, degrees"), ax.set_ylabel("outside of the space, %"), ax.legend(fontsize=8)
    figure(lab, "fcd_turning", draw)


def rippling(lab):
    lab.say("### What they cannot do: a ripple (FCD 9.6)\n")
    lab.say("One jerk of 0.1 s at the held end (3 mm) of a bar a hundredth as stiff sends a wave along it. 12 degrees of freedom a skinning mode; the share of the full simulation's u that lies "
            "outside of the space, all frames.\n")
    full = lab.load(f"{lab.full('bar', 'ripple', settings=RIPPLE)}.npz")["u"]
    lab.say("| degrees of freedom | skinning modes | displacement modes |\n| --- | --- | --- |")
    curves = {"skinning modes": [], "displacement modes": []}
    if not lab.has("bar.wide.modes.npz"):
        lab.run("modes", "bar.tet.npz", "bar.fit.npz", "-r", 120, "--linear", 120, "--pose", 0, "-o", "bar.wide.modes.npz")
    modes = lab.load("bar.wide.modes.npz")["modes"][0]
    tet = lab.load("bar.tet.npz")
    faces, frame, larger = boundary(tet["tets"]), 6, 30   # the wave is half way then
    shapes = [("full space", tet["vertices"] + larger * full[frame], faces)]
    for k in (1, 2, 5, 10):
        name = skinning(lab, "bar", k, 300)
        phi = displacement(lab, name, lab.sim(name, "ripple", settings=RIPPLE))[1]
        row = []
        for what, basis in (("skinning modes", np.kron(phi, np.eye(3))), ("displacement modes", modes[:12 * k].reshape(12 * k, -1).T)):
            q = np.linalg.svd(basis, full_matrices=False)
            q = q[0][:, q[1] > 1e-9 * q[1][0]]
            u = full.reshape(len(full), -1)
            row.append(np.linalg.norm(u - (u @ q) @ q.T) / np.linalg.norm(u))
            curves[what].append((12 * k, row[-1]))
            if k in (1, 10):
                part = (q @ (q.T @ u[frame])).reshape(-1, 3)
                shapes.append((f"{what}, {12 * k}", tet["vertices"] + larger * part, faces))
        lab.say(f"| {12 * k} | {percent(row[0])} | {percent(row[1])} |")
    lab.say()
    pictures(lab, "fcd_ripple_bars", [shapes], (11, 1.9))

    def draw(ax):
        for what, points in curves.items():
            ax.loglog(*zip(*[(n, 100 * e) for n, e in points]), "o-", label=what)
        plain_ticks(ax.xaxis), plain_ticks(ax.yaxis)
        ax.set_xlabel("degrees of freedom"), ax.set_ylabel("outside of the space, %"), ax.legend(fontsize=8)
    figure(lab, "fcd_ripple", draw)


def local(lab):
    lab.say("### What happens in one place (FCD 9.5, Fig. 17)\n")
    each, regions = 5, 8
    lab.say(f"The upper side of the bar pressed in by 5 cm over about 10 cm, and the nearest to it, in the mass: of the first {each} modes of the whole, of the {each} of one of {regions} "
            "regions (`modes --local`), that which is best; of all modes. What is left of it, and what moves where nothing should, farther than 30 cm away. Drawn 2.5 times as deep.\n")
    tet = lab.load("bar.tet.npz")
    x, faces = tet["vertices"], boundary(tet["tets"])
    mass = np.zeros(len(x))
    np.add.at(mass, tet["tets"], np.linalg.det(x[tet["tets"][:, 1:]] - x[tet["tets"][:, :1]])[:, None] / 24)
    place = np.array([0.6, 0, 0.1])
    away = np.linalg.norm(x - place, axis=1)
    dent = np.zeros_like(x)
    dent[:, 2] = -0.05 * np.exp(-(away / 0.1) ** 2)
    low, high = x.min(0), x.max(0)
    affine = np.append((x - (low + high) / 2) / (np.linalg.norm(high - low) / 2), np.ones((len(x), 1)), 1)
    shapes, root = [("pressed in", x + 2.5 * dent, faces)], np.sqrt(mass)[:, None]
    size, weights = np.linalg.norm(root * dent), {}

    def nearest(w):
        phi = (w[:, :, None] * affine[:, None]).reshape(len(x), -1)
        u = phi @ np.linalg.lstsq(root * phi, root * dent, rcond=1e-9)[0]
        return np.linalg.norm(root * (u - dent)) / size, np.linalg.norm((root * u)[away > 0.3]) / size, u
    for what, options in (("of the whole", ()), ("of regions", ("--local", regions))):
        made = f"bar.{what.split()[-1]}.skinning.npz"
        if not lab.has(made):
            lab.run("modes", "--kind", "skinning", "bar.tet.npz", "bar.fit.npz", "--unconstrained", "-r", each * regions, *options, "-o", made)
        weights[what] = lab.load(made)["weights"]
    whole, parts = weights["of the whole"], weights["of regions"]
    supports = [tuple(w) for w in (parts != 0).T]
    best = min(([k for k, s in enumerate(supports) if s == one] for one in dict.fromkeys(supports)), key=lambda k: nearest(parts[:, k])[0])
    lab.say("| modes | left of the dent | moves far away |\n| --- | --- | --- |")
    for what, w, drawn in ((f"{each} of the whole", whole[:, :each], True), (f"{len(best)} of one region", parts[:, best], True),
                           (f"{each * regions} of the whole", whole, False), (f"{each * regions} of {regions} regions", parts, False)):
        left, far, u = nearest(w)
        lab.say(f"| {what} | {percent(left)} | {percent(far)} |")
        if drawn:
            shapes.append((what, x + 2.5 * u, faces))
    lab.say()
    pictures(lab, "fcd_local_bars", [shapes], (9, 2))


def step_ms(lab, name):
    """Processor time of a step to convergence: what six more steps a frame cost, so that reading and writing do not count."""
    used = []
    for substeps in (2, 8):
        lab.sim(name, "shake", "-j", 1, "--substeps", substeps, settings=STILL)
        used.append(lab.processor_seconds)
    return max(1e-3, 1e3 * (used[1] - used[0]) / (6 * (FRAMES - 1)))


def front(lab):
    lab.say("### What a frame affords (FCD 9.12)\n")
    modes, clusters, key = (5, 20, 60), (50, 300, 2000), "bar6000"
    lab.say("Processor time of a step until it has converged (ms), corotational; a step a frame at 30 a second may take 33, at 60 a second 16.7.\n")
    lab.say("| modes | " + " | ".join(f"{c} means" for c in clusters) + " |")
    lab.say("| --- |" + " --- |" * len(clusters))
    table = []
    for k in modes:
        table.append([step_ms(lab, skinning(lab, key, k, c)) for c in clusters])
        lab.say(f"| {k} | " + " | ".join(f"{ms:.2f}" for ms in table[-1]) + " |")
    lab.say()

    def draw(ax):
        x, y = np.meshgrid(clusters, modes)
        shown = ax.contourf(x, y, np.log10(table), 20, cmap="viridis")
        lines = ax.contour(x, y, table, [1, 2, 5, 1000 / 60, 1000 / 30], colors=["w", "w", "w", "C1", "r"], linewidths=1)
        ax.clabel(lines, fmt=lambda v: f"{v:.3g} ms", fontsize=7)
        ax.set_xscale("log"), ax.set_yscale("log"), plain_ticks(ax.xaxis), plain_ticks(ax.yaxis)
        ax.set_xlabel("means asked for"), ax.set_ylabel("modes")
        ax.figure.colorbar(shown, label="log10 of ms a step")
    figure(lab, "fcd_front", draw)


def fcd(lab):
    lab.say("## Skinning modes and clusters (`fcd`)\n")
    lab.use(bar())
    lab.flesh("bar", [], tets=TETS, fit=("--frequency", 2.5, "--material", "corotational"), shot="shake")
    for part in (ablation, turning, rippling, local, materials, volumes, twisting, embedding, front):
        part(lab)
