#!/bin/sh
# A cache streams: ten times the frames take no more memory than one block of frames, whatever the format.
. "$(dirname "$0")/tap.sh"
need_numpy "memory of export"
case ${BUILD:-} in *san) echo "ok 1 - memory of export # skip the sanitizers keep their own account"; exit 0 ;; esac
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
# the shot over and over: 50 and 500 frames; a mesh of 10,000 vertices carried along, 120 KB a frame
"$python" - <<'PY'
import io, json, zipfile
import numpy as np
def repeat(source, target, frames, per_frame):
    arrays, meta = dict(np.load(source)), json.loads(zipfile.ZipFile(source).read("meta.json"))
    arrays.pop("meta.json", None)
    for name in per_frame: arrays[name] = np.resize(arrays[name], (frames,) + arrays[name].shape[1:])
    arrays["times"] = (1001 + np.arange(frames)) / 24.0
    with zipfile.ZipFile(target, "w") as out:
        for name, array in arrays.items():
            b = io.BytesIO()
            np.save(b, np.ascontiguousarray(array))
            out.writestr(name + ".npy", b.getvalue())
        out.writestr("meta.json", json.dumps(meta))
for frames in (50, 500):
    repeat("shot.anim.npz", "%d.anim.npz" % frames, frames, ("points", "root", "params"))
    repeat("moving.sim.npz", "%d.sim.npz" % frames, frames, ("q", "qdot", "energy", "iterations", "status", "weights"))
x, y = np.meshgrid(np.linspace(-40, 40, 100), np.linspace(-40, 40, 100))
v = np.arange(9900).reshape(99, 100)[:, :-1].ravel() + 1
with open("dense.obj", "w") as out:
    out.write("".join("v %.6g %.6g -41\n" % p for p in zip(x.ravel(), y.ravel())))
    out.write("".join("f %d %d %d %d\n" % (a, a + 1, a + 101, a + 100) for a in v.tolist()))
PY
for case in abc: abc:--velocities abc:--samples=3 usda: usdc: pc2: npy: json: ; do
    format=${case%%:*} option=${case#*:}
    for frames in 50 500; do
        supple-export -q -j1 --progress none model.npz $frames.anim.npz $frames.sim.npz --bind dense.obj $option -o x.$format --stats $frames.json >log.txt 2>&1
        rm -f x.*
    done
    "$python" - >>log.txt 2>&1 <<'PY'
import json
few, many = (json.load(open(f))["peak_memory_bytes"] / 2**20 for f in ("50.json", "500.json"))
print("%.1f and %.1f MB" % (few, many))
assert many < few + 2, (few, many)   # 450 frames are 54 MB
PY
    ok $? "$format $option: $(tail -n 1 log.txt) at 50 and 500 frames"
    rm -f 50.json 500.json
done
