#!/usr/bin/env python3
"""Modes of large meshes: supple modes beside scipy.sparse.linalg.eigsh on the same matrices.

usage: eigsh.py [TETS | TET.npz,FIT.npz]...   (default: 16000 64000); needs numpy and scipy

A number stands for a block of 2k x k x k cells, six tets each, held at one end; two files for a character's flesh. supple modes finds 20 linear modes and writes K and
M; eigsh then finds the same 20 by shift-invert at 0 in a process of its own, with its default ordering (COLAMD) and with the
best that scipy has for symmetric patterns (SuperLU in symmetric mode, minimum degree of A + A'). Times are processor seconds
of one thread: for supple the whole program (reading, assembly, factorization, modes, writing), for eigsh factorization and modes
alone. Peaks are resident memory of the process. MINUTES of processor time (default 10) and GIB (default 8) bound each run of eigsh;
ORDERINGS names those to run (default: "default MMD_AT_PLUS_A").
"""
import json, os, resource, signal, subprocess, sys, tempfile, time, zipfile
from io import BytesIO

import numpy as np

SUPPLE = os.environ.get("SUPPLE", "supple")
MINUTES, GIB = float(os.environ.get("MINUTES", 10)), float(os.environ.get("GIB", 8))
ORDERINGS = os.environ.get("ORDERINGS", "default MMD_AT_PLUS_A").split()


def save(path, meta, **arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as out:
        for name, array in arrays.items():
            data = BytesIO()
            np.save(data, np.ascontiguousarray(array))
            out.writestr(name + ".npy", data.getbuffer())
        out.writestr("meta.json", json.dumps(meta))


def block(k, tet_path, fit_path):
    """Writes a block of 2k x k x k cells; returns its numbers of tets and vertices."""
    nx, ny, nz = 2 * k, k, k
    grid = np.stack(np.meshgrid(np.arange(nx + 1), np.arange(ny + 1), np.arange(nz + 1), indexing="ij"), -1)
    vertices = grid.reshape(-1, 3) / float(k)
    number = np.arange(len(vertices)).reshape(nx + 1, ny + 1, nz + 1)
    cells = np.stack(np.meshgrid(np.arange(nx), np.arange(ny), np.arange(nz), indexing="ij"), -1).reshape(-1, 3)
    tets = []
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)):   # Kuhn: paths along the axes
        at, corners = cells.copy(), []
        for axis in (None,) + order:
            if axis is not None:
                at[:, axis] += 1
            corners.append(number[at[:, 0], at[:, 1], at[:, 2]])
        tets.append(np.stack(corners, -1))
    tets = np.stack(tets, 1).reshape(-1, 4).astype(np.int32)
    edges = vertices[tets[:, 1:]] - vertices[tets[:, :1]]
    flip = np.linalg.det(edges) < 0
    tets[flip, 2], tets[flip, 3] = tets[flip, 3].copy(), tets[flip, 2].copy()
    faces = np.concatenate([tets[:, f] for f in ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))])
    _, first, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    surface = faces[first[count == 1]]
    fixed = np.flatnonzero(vertices[:, 0] == 0).astype(np.int32)
    n, t, one = len(vertices), len(tets), np.ones((1, 1))
    save(tet_path, {"kind": "supple.tet", "version": 1}, vertices=vertices, tets=tets, surface=surface, fixed=fixed,
         embed_tet=np.zeros(1, np.int32), embed_bary=np.array([[1.0, 0, 0, 0]]),
         shepard_index=np.zeros((n, 1), np.int32), shepard_weight=np.ones((n, 1)))
    save(fit_path, {"kind": "supple.fit", "version": 1, "material": "neohookean"}, pose=np.zeros(1, np.int32),
         shapes=vertices[None], corrections=np.zeros((1, n, 3)), params=np.zeros((1, 0)), param_scale=np.zeros(0), rbf=one,
         young=np.full((1, t), 1e5), poisson=np.full((1, t), 0.45), density=np.full(t, 1000.0))
    return t, n


def solve(path, ordering):
    """In a process of its own: the modes of a file of matrices; prints seconds, peak and eigenvalues."""
    import scipy.sparse as sp
    import scipy.sparse.linalg as sla
    resource.setrlimit(resource.RLIMIT_AS, (int(GIB * 2 ** 30),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(60 * MINUTES), int(60 * MINUTES) + 5))
    files = np.load(path)
    size = len(files["mass"])
    lower = sp.csc_matrix((files["data"], files["indices"], files["indptr"]), shape=(size, size))
    K, M = (lower + sp.tril(lower, -1).T).tocsc(), sp.diags(files["mass"]).tocsc()
    start = time.process_time()
    inverse = None
    if ordering != "default":
        factor = sla.splu(K, permc_spec=ordering, diag_pivot_thresh=0.0, options=dict(SymmetricMode=True))
        inverse = sla.LinearOperator(K.shape, factor.solve, dtype=float)
    values = sla.eigsh(K, 20, M, sigma=0, OPinv=inverse, return_eigenvectors=True)[0]
    seconds = time.process_time() - start
    print(json.dumps(dict(seconds=seconds, values=sorted(values),
                          peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** 20)))


def run(*command, **options):
    """Processor seconds and peak GiB of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(sizes):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    print("| tets | dofs | supple modes | eigsh, default | eigsh, best ordering | eigenvalues agree to |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        at = lambda name: os.path.join(folder, name)
        for wanted in sizes:
            if "," in wanted:
                tet, fit = wanted.split(",")
            else:
                tet, fit = at("b.tet.npz"), at("b.fit.npz")
                block(round((float(wanted) / 12) ** (1 / 3)), tet, fit)
            t = len(np.load(tet)["tets"])
            common = [SUPPLE, "modes", "-q", "-r", "20", "--linear", "20", "--pose", "0", "-j", "1", tet, fit,
                      "-o", at("b.modes.npz"), "--stats", at("stats.json")]
            done, seconds = run(*common)
            if done.returncode:
                sys.exit(f"supple modes: exit status {done.returncode}")
            stats = json.load(open(at("stats.json")))
            ours = np.sort(np.load(at("b.modes.npz"))["eigenvalues"][0])
            row = [f"{t}" + (" (character)" if "," in wanted else ""), "", f"{seconds:.2f} s, {stats['peak_memory_bytes'] / 2 ** 30:.2f} GiB"]
            run(*common, "--dump-matrices", at("b.npz"))
            row[1] = str(len(np.load(at("b.npz"))["mass"]))
            agree = []
            for ordering in ("default", "MMD_AT_PLUS_A"):
                if ordering not in ORDERINGS:
                    row.append("not tried")
                    continue
                done, _ = run(sys.executable, __file__, "--solve", at("b.npz"), ordering, capture_output=True, text=True)
                if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
                    row.append(f"not within {MINUTES:g} min")
                    continue
                if done.returncode:
                    row.append(f"fails within {GIB:g} GiB")
                    continue
                out = json.loads(done.stdout)
                row.append(f"{out['seconds']:.2f} s, {out['peak']:.2f} GiB")
                agree.append(np.abs(ours / np.array(out["values"]) - 1).max())
            row.append(f"{max(agree):.0e}" if agree else "")
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--solve":
        solve(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1:] or ["16000", "64000"])
