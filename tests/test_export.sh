#!/bin/sh
# supple export: every format against positions worked out in Python, options, statuses, nothing left behind.
. "$(dirname "$0")/tap.sh"
need_numpy "export"
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
export_() { supple-export -q --progress none "$@" >log.txt 2>&1; }
check() { "$python" "$here/export_case.py" check "$@" >>log.txt 2>&1; }
status() {   # EXPECTED WHAT ARGUMENTS...
    wanted=$1 what=$2; shift 2
    export_ "$@"; code=$?
    [ $code = "$wanted" ] && ! grep -q 'runtime error\|Sanitizer' log.txt; ok $? "$what: status $wanted"
}

# ---- positions ----
for run in zero moving full; do
    export_ model.npz shot.anim.npz $run.sim.npz -o $run.npy && check npy $run.npy expected_$run.npy
    ok $? "$run: the skin is root (skin + A u) on the source's vertices"
done
export_ --rig model.npz shot.anim.npz -o rig.npy && cmp rig.npy zero.npy >>log.txt
ok $? "no motion gives the rig, byte by byte"
export_ --rig shot.anim.npz -o alone.npy && cmp rig.npy alone.npy >>log.txt
ok $? "the rig needs no model"
for format in pc2 mdd usda; do
    export_ model.npz shot.anim.npz moving.sim.npz -o moving.$format --velocities --normals && check $format moving.$format expected_moving.npy
    ok $? "$format holds the same frames"
done
mkdir frames && export_ model.npz shot.anim.npz moving.sim.npz -o 'frames/moving.%04d.obj' && check obj 'frames/moving.%04d.obj' expected_moving.npy &&
    [ "$(ls frames | wc -l)" = 12 ]
ok $? "obj holds the same frames, polygons, UVs and names"
export_ model.npz shot.anim.npz moving.sim.npz -o moving.glb && check glb moving.glb expected_moving.npy 1e-4
ok $? "glb plays the same frames by morph targets and the root's motion"
for case in float:2e-5 half:1e-1 png:4e-3; do   # in centimetres, of a motion over 4 m
    mkdir ${case%:*} && export_ model.npz shot.anim.npz moving.sim.npz -o ${case%:*}/run.json --texture ${case%:*} &&
        check vat ${case%:*}/run.json expected_moving.npy ${case#*:} && [ "$(ls ${case%:*} | wc -l)" = 4 ]
    ok $? "vertex-animation textures (${case%:*}) give the same frames, a mesh finds its texels"
done
export_ model.npz shot.anim.npz moving.sim.npz -o flesh.json --what displacement --space root --unit 1 --up y && "$python" -c '
import sys, json
sys.path.insert(0, sys.argv[1])
import export_case as e, numpy as np
doc = json.load(open("flesh.json"))
assert doc["holds"] == "displacement" and "mesh" not in doc and "normals" not in doc
np.save("flesh.npy", e.read_image("flesh.positions.exr").reshape(12, 13, 3))' "$here" >>log.txt 2>&1 &&
    export_ model.npz shot.anim.npz moving.sim.npz -o d.npy --what displacement --space root --unit 1 --up y && cmp d.npy flesh.npy >>log.txt 2>&1 ||
    "$python" -c 'import numpy as np; assert (np.load("d.npy") == np.load("flesh.npy")).all()' >>log.txt 2>&1
ok $? "displacement alone as a texture"
export_ model.npz shot.anim.npz moving.sim.npz -o one.glb --morphs 1 --stats one.json && ! check glb one.glb expected_moving.npy 1e-4 &&
    "$python" -c 'import json; s = json.load(open("one.json")); assert s["morphs"] == 1 and 0 < s["morph_error_rms"] < s["morph_error_largest"]'
ok $? "a single morph target leaves an error, and says so"
for space in world local; do
    export_ model.npz shot.anim.npz moving.sim.npz -o $space.abc --space $space --velocities &&
        supple-import -q $space.abc --unit m --up y -o $space.anim.npz >>log.txt 2>&1 && check anim $space.anim.npz expected_moving.npy 1e-4
    ok $? "abc in $space space: import finds the same places in the world"
done
export_ model.npz shot.anim.npz moving.sim.npz -o metres.npy --unit 1 --up y && "$python" -c '
import numpy as np
a, b = np.load("metres.npy"), np.load("expected_moving.npy") / 100
assert np.abs(a - np.stack([b[..., 0], b[..., 2], -b[..., 1]], -1)).max() < 1e-6' >>log.txt 2>&1
ok $? "--unit and --up replace the source's"
export_ model.npz shot.anim.npz moving.sim.npz -o root.npy --space root --unit 1 --up y && "$python" -c '
import numpy as np
a = np.load("root.npy")
assert np.abs(a[:, 7] - 0.4).max() < 1e-6   # rigid: where the rig has it, in every frame' >>log.txt 2>&1
ok $? "root space leaves the root motion out, rigid vertices stay with the rig"
export_ model.npz shot.anim.npz moving.sim.npz -o d.npy --what displacement --space root --unit 1 --up y && "$python" -c '
import numpy as np
a, b, c = np.load("root.npy"), np.load("d.npy"), np.load("rig.npy")
assert np.abs(b[:, 7]).max() == 0 and np.abs(b).max() > 0.01
assert np.abs(a - b - (a - b)[0]).max() < 1e-6   # what remains is the rig, which rests in the root frame' >>log.txt 2>&1
ok $? "the displacement alone, as vectors"

# ---- frames ----
export_ model.npz shot.anim.npz moving.sim.npz -o part.npy --frames 1002-1006x2 && "$python" -c '
import numpy as np
assert (np.load("part.npy") == np.load("moving.npy")[1:6:2]).all()' >>log.txt 2>&1
ok $? "--frames takes the shot's own numbers"
export_ model.npz shot.anim.npz moving.sim.npz -o part.pc2 --frames 1003-1004 --offset -1000 && "$python" -c '
import struct
assert struct.unpack("<12siiffi", open("part.pc2", "rb").read(32))[3:] == (3.0, 1.0, 2)' >>log.txt 2>&1
ok $? "--offset moves the numbers"
export_ model.npz shot.anim.npz moving.sim.npz -o part.usda --velocities --frames 1003-1004 && "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
import export_case as e, numpy as np
v = e.read("usda", "part.usda")[1]["velocities"]
assert np.abs(v - np.gradient(np.load("expected_moving.npy"), 1 / 24, axis=0)[2:4]).max() < 1e-2' "$here" >>log.txt 2>&1
ok $? "velocities at the ends of a part see the frames outside it"

export_ model.npz shot.anim.npz moving.sim.npz -o blur.usda --samples 3 --velocities && export_ model.npz shot.anim.npz moving.sim.npz -o blur.abc --samples 3 &&
    supple-import -q blur.abc --unit m --up y -o blur.anim.npz >>log.txt 2>&1 && "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
import export_case as e, numpy as np
points, more = e.read("usda", "blur.usda")
frames, V = 1001 + np.arange(12.0), points.shape[1]
want = np.load("expected_moving.npy")
# the natural cubic spline through the frames, solved as a whole
A, b = np.zeros((12, 12)), np.zeros((12, 3 * V))
f = want.reshape(12, -1)
for i in range(12):
    for k, s in ((i - 1, -1), (i + 1, 1)):
        if 0 <= k < 12: A[i, i] += 2; A[i, k] = 1; b[i] += 3 * s * (f[k] - f[i])
slope = np.linalg.solve(A, b)
def at(t):
    i = min(max(int(np.floor(t)), 0), 10); s = t - i
    if t < 0: return f[0] + t * slope[0]
    if t > 11: return f[11] + (t - 11) * slope[11]
    return (1+2*s)*(1-s)**2*f[i] + s*s*(3-2*s)*f[i+1] + s*(1-s)**2*slope[i] + s*s*(s-1)*slope[i+1]
times = [t + o for t in frames for o in (-0.25, 0, 0.25)]
assert np.allclose(more["times"], times), more["times"]
motion = np.abs(np.diff(f, axis=0)).max()
spline = np.array([at(t - 1001) for t in times]).reshape(36, V, 3)
assert np.abs(points[1::3] - want).max() < 2e-5            # the frames themselves, as they are
assert np.abs(points - spline).max() < 2e-3 * motion, np.abs(points - spline).max() / motion
assert np.abs(more["velocities"][1::3] - 24 * slope.reshape(12, V, 3)).max() < 5e-3 * 24 * motion
assert "startTimeCode = 1001\n" in more["text"] and "endTimeCode = 1012\n" in more["text"]
whole, more = e.read("anim", "blur.anim.npz")               # import takes the whole frames of it
assert more["meta"]["frame_start"] == 1001 and np.abs(whole - want).max() < 1e-3, np.abs(whole - want).max()' "$here" >>log.txt 2>&1
ok $? "--samples: the frames as they are, and the spline between them, with its velocities"

# a run that says the rig jumps before frame 6: no velocity leads across
"$python" -c '
import json, zipfile
src, out = zipfile.ZipFile("moving.sim.npz"), zipfile.ZipFile("jump.sim.npz", "w")
for name in src.namelist():
    data = src.read(name)
    if name == "meta.json":
        meta = json.loads(data); meta["teleports"] = [6]; data = json.dumps(meta)
    out.writestr(name, data)
out.close()'
export_ model.npz shot.anim.npz jump.sim.npz -o jump.usda --velocities && "$python" -c '
import sys
sys.path.insert(0, sys.argv[1])
import export_case as e, numpy as np
v, w = e.read("usda", "jump.usda")[1]["velocities"], np.load("expected_moving.npy")
assert np.abs(v[5] - 24 * (w[5] - w[4])).max() < 1e-2 and np.abs(v[6] - 24 * (w[7] - w[6])).max() < 1e-2
assert np.abs(v[4] - 12 * (w[5] - w[3])).max() < 1e-2' "$here" >>log.txt 2>&1
ok $? "velocities do not lead across a teleport"

export_ model.npz shot.anim.npz moving.sim.npz -o x.npy --amplitude map.npy && "$python" -c '
import numpy as np
assert np.abs(np.load("map.npy") - np.linalg.norm(np.load("d.npy"), axis=2).max(0)).max() < 1e-6' >>log.txt 2>&1 && rm x.npy
ok $? "--amplitude: how far each vertex goes"

# a mesh of the cube's corners, three middles of edges and one point outside, bound to the skin
"$python" -c '
import numpy as np
c = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float) * 80 - 40
p = np.vstack([c, (c[0] + c[3]) / 2, (c[4] + c[7]) / 2, (c[0] + c[5]) / 2, (c[4] + c[7]) / 2 + [0, 0, 10]])
p = np.stack([p[:, 0], -p[:, 2], p[:, 1]], -1)
open("other.obj", "w").write("".join("v %.9g %.9g %.9g\n" % tuple(v) for v in p) + "f 1 3 4 2\nf 5 6 8 7\nf 9 10 11 12\n")'
export_ model.npz shot.anim.npz moving.sim.npz -o bound.npy --bind other.obj && "$python" -c '
import numpy as np
a, e = np.load("bound.npy"), np.load("expected_moving.npy")
assert a.shape == (12, 12, 3)
assert np.abs(a[:, :8] - e[:, :8]).max() < 1e-4
for k, (i, j) in enumerate(((0, 3), (4, 7), (0, 5))): assert np.abs(a[:, 8 + k] - (e[:, i] + e[:, j]) / 2).max() < 1e-4
assert np.abs(np.linalg.norm(a[:, 11] - a[:, 9], axis=1) - 10).max() < 1e-3   # keeps its distance' >>log.txt 2>&1
ok $? "--bind carries another mesh along"

# ---- the same bytes ----
for format in abc usda usdc glb; do
    export_ -j1 model.npz shot.anim.npz moving.sim.npz -o one.$format && export_ -j2 model.npz shot.anim.npz moving.sim.npz -o two.$format && cmp one.$format two.$format >>log.txt
    ok $? "$format: the same bytes again, with any number of threads"
done

export_ model.npz shot.anim.npz moving.sim.npz -o one.usd && cmp one.usd one.usdc >>log.txt && export_ model.npz shot.anim.npz moving.sim.npz --format usd -o other && [ "$(head -c 8 other)" = PXR-USDC ]
ok $? ".usd is .usdc by another name"

mkdir first second && export_ -j1 model.npz shot.anim.npz moving.sim.npz -o first/run.json --texture png &&
    export_ -j2 model.npz shot.anim.npz moving.sim.npz -o second/run.json --texture png && diff -r first second >>log.txt
ok $? "textures: the same bytes again"

# ---- what cannot be done ----
sh -c 'trap "" XFSZ; ulimit -f 1; exec supple-export -q --progress none model.npz shot.anim.npz moving.sim.npz -o full.usda' >log.txt 2>&1
[ $? = 75 ] && [ ! -e full.usda ]; ok $? "no room for the file: status 75"
mkdir seq && sh -c 'trap "" XFSZ; ulimit -f 0; exec supple-export -q --progress none model.npz shot.anim.npz moving.sim.npz -o seq/x.%04d.obj' >log.txt 2>&1
[ $? = 75 ] && [ -z "$(ls seq)" ]; ok $? "no room for a sequence: status 75, none of its files stays"
mkdir textures
for blocks in 1 5 6; do   # of 512 bytes: for the frames that wait, for them and no mesh
    sh -c 'trap "" XFSZ; ulimit -f '$blocks'; exec supple-export -q --progress none model.npz shot.anim.npz moving.sim.npz -o textures/x.json' >log.txt 2>&1
    [ $? = 75 ] && [ -z "$(ls textures)" ]; ok $? "no room for textures ($blocks blocks): status 75, none of their files stays"
done
status 1 "no such folder" model.npz shot.anim.npz moving.sim.npz -o nowhere/x.abc
status 2 "an unknown ending" model.npz shot.anim.npz moving.sim.npz -o x.xyz
status 2 "a sequence without a pattern" model.npz shot.anim.npz moving.sim.npz -o x.obj
status 2 "no sim file" model.npz shot.anim.npz -o x.abc
status 2 "frames that are not there" model.npz shot.anim.npz moving.sim.npz -o x.abc --frames 1-5
status 2 "samples where a format has none" model.npz shot.anim.npz moving.sim.npz -o x.pc2 --samples 3
status 2 "a shutter open for a frame" model.npz shot.anim.npz moving.sim.npz -o x.abc --samples 3 --shutter -0.5,0.5
status 2 "a shutter without samples" model.npz shot.anim.npz moving.sim.npz -o x.abc --shutter 0,0.5
status 2 "frames that are no range" model.npz shot.anim.npz moving.sim.npz -o x.abc --frames a-b
status 3 "a run of another length" model.npz shot.anim.npz short.sim.npz -o x.abc
grep -q '11 frames.*12' log.txt; ok $? "and both counts are named"
status 3 "files in the wrong order" shot.anim.npz model.npz moving.sim.npz -o x.abc
status 4 "displacements beyond all bounds" model.npz shot.anim.npz wild.sim.npz -o x.npy
head -c 1500 moving.sim.npz >cut.sim.npz
status 3 "a truncated run" model.npz shot.anim.npz cut.sim.npz -o x.abc
[ ! -e x.abc ] && [ ! -e x.npy ] && [ -z "$(find . -name '*.tmp.*')" ]; ok $? "nothing is left behind"
