#!/bin/sh
# supple poses: one parameter space for clips imported apart, farthest points, lists, and what cannot be joined.
. "$(dirname "$0")/tap.sh"
fox=$SUPPLE_DATA/fox/Fox.glb
if [ ! -f "$fox" ]; then echo "ok 1 - poses of the fox # skip no data"; echo "1..1"; exit 0; fi
find_numpy
supple import -q "$fox" --clip Run -o run.anim.npz 2>/dev/null && supple import -q "$fox" --clip Walk -o walk.anim.npz 2>/dev/null
ok $? "Run and Walk are imported apart"
supple poses run.anim.npz walk.anim.npz -m 6 -o fox.poses.npz 2>log.txt
ok $? "six poses of both"

if [ -n "$python" ]; then
    cat >check.py <<'PY'
import json, sys, zipfile
import numpy as np
def load(path):
    return dict(np.load(path).items()), json.loads(zipfile.ZipFile(path).read("meta.json"))
P, meta = load("fox.poses.npz")
names, scale = meta["param_names"], P["param_scale"]
clips = [load("run.anim.npz"), load("walk.anim.npz")]
columns = []
for a, m in clips:   # every clip in the parameters of the poses
    p = np.zeros((len(a["times"]), len(names)))
    for k, name in enumerate(m["param_names"]):
        if name in names:
            p[:, names.index(name)] = a["params"][:, k]
        else:
            assert abs(a["params"][:, k]).max() < 1e-4, name
    columns.append(p)
frames = np.vstack(columns)
points = np.vstack([a["points"] for a, _ in clips])
assert P["params"].shape == (6, len(names)) and (P["params"][0] == 0).all()
assert (P["shapes"][0] == P["neutral"]).all() and (P["rigged"] == P["shapes"]).all()
picked = []
for i in range(1, 6):   # each pose is a frame, with its shape and its bones
    k = int(np.abs(frames - P["params"][i]).sum(1).argmin())
    assert (frames[k] == P["params"][i]).all() and (points[k] == P["shapes"][i].astype(np.float32)).all()
    picked.append(k)
    # ... the farthest one from those before it
    d = lambda q: min(np.linalg.norm((q - p) * scale) for p in P["params"][:i])
    assert d(frames[k]) >= max(d(q) for q in frames) - 1e-12
assert len(set(picked)) == 5
assert (P["bones"][0] == P["bone_rest"]).all()
# bones carry the skin: sum_j w_j B_j B_rest^-1 X is the shape
x = np.hstack([P["neutral"], np.ones((len(P["neutral"]), 1))])
for i in range(6):
    t = P["bones"][i] @ np.linalg.inv(P["bone_rest"])
    skin = np.einsum("vb,bij,vj->vi", P["weights"].astype(float), t, x)[:, :3]
    assert abs(skin - P["shapes"][i]).max() < 1e-5
PY
    "$python" check.py; ok $? "pose 0 is neutral, the others are the farthest frames, bones carry their skins"
else
    skip "poses are farthest frames" "no numpy"
fi

if [ -n "$python" ]; then
    cat >sculpt.py <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("run.anim.npz"), json.loads(zipfile.ZipFile("run.anim.npz").read("meta.json"))
for k, name in ((5, "five"), (12, "twelve")):
    r = a["root"][k]
    p = a["points"][k].astype(float)
    p[:, 1] += 0.03 * np.exp(-((p - p[7]) ** 2).sum(1) / 0.02)
    np.save(name, p)
    with open(name + ".obj", "w") as o:   # as it stands in the world of the file, in its unit and vertex order
        for v in (p @ r[:3, :3].T + r[:3, 3])[a["source_vertex"]] / meta["source_unit"]:
            o.write("v %.9g %.9g %.9g\n" % tuple(v))
        for i in range(0, len(a["source_vertex"]), 3):
            o.write("f %d %d %d\n" % (i + 1, i + 2, i + 3))
np.save("stiff.npy", np.linspace(0.5, 2.0, len(a["source_vertex"])))
np.savetxt("soft.csv", np.full(len(a["neutral"]), 0.25))
PY
    "$python" sculpt.py
    supple poses run.anim.npz -q --sculpt Run:5=five.obj --sculpt Run:12=twelve.obj --at Run:20 --young stiff.npy \
        --young Run:12=soft.csv -o sculpt.npz && "$python" - <<'PY'
import numpy as np
P, a = np.load("sculpt.npz"), np.load("run.anim.npz")
assert P["shapes"].shape[0] == 4 and P["psd_shapes"].shape[0] == 3      # neutral, 20, 5, 12
assert abs(P["shapes"][2] - np.load("five.npy")).max() < 1e-6 and abs(P["shapes"][3] - np.load("twelve.npy")).max() < 1e-6
assert (P["psd_shapes"][0] == 0).all() and (P["psd_params"][0] == 0).all() and (P["shapes"][0] == P["neutral"]).all()
d = lambda p, q: np.linalg.norm((p - q) * P["param_scale"])             # eq. 2 written out for the pose without a sculpt
K = np.array([[d(p, q) for q in P["psd_params"]] for p in P["psd_params"]])
w = np.linalg.solve(K, [d(P["params"][1], q) for q in P["psd_params"]])
w /= w.sum()
want = P["rigged"][1] + np.tensordot(w, P["psd_shapes"], 1)
assert abs(P["shapes"][1] - want).max() < 1e-9 and abs(P["shapes"][1] - P["rigged"][1]).max() > 1e-4
young = P["young"]
mean = np.array([np.linspace(0.5, 2.0, len(a["source_vertex"]))[a["source_vertex"] == v].mean() for v in range(len(a["neutral"]))])
assert abs(young[:3] - mean).max() < 1e-12 and (young[3] == 0.25).all()
PY
    ok $? "sculpts are hit, a pose between them takes the interpolated correction, painted maps reach their poses"
fi

# ---- sculpts that are no frame of a clip ----
if [ -n "$python" ]; then
    cat >named.py <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("run.anim.npz"), json.loads(zipfile.ZipFile("run.anim.npz").read("meta.json"))
sv, names = a["source_vertex"], meta["param_names"]
def obj(path, p):
    with open(path, "w") as o:
        for v in p[sv] / meta["source_unit"]:
            o.write("v %.9g %.9g %.9g\n" % tuple(v))
        for i in range(0, len(sv), 3):
            o.write("f %d %d %d\n" % (i + 1, i + 2, i + 3))
rigged = a["points"][5].astype(float) + [0.01, 0, 0]        # what some rig shows at parameters that no clip has
sculpt = rigged + 0.02 * np.sin(40 * a["neutral"])
obj("rigged.obj", rigged), obj("sculpt.obj", sculpt)
np.save("sculpt", sculpt), np.save("rigged", rigged)
values = dict(zip(names, 1.5 * a["params"][9]))
values["grin"] = 0.7                                        # a parameter that only the sculpt has
open("at.csv", "w").write(",".join(values) + "\n" + ",".join("%.17g" % v for v in values.values()) + "\n")
frame = dict(zip(names, a["params"][12]))
open("frame.csv", "w").write(",".join(frame) + "\n" + ",".join("%.17g" % v for v in frame.values()) + "\n")
r = a["root"][12]
p12 = a["points"][12].astype(float) + [0, 0.02, 0]
obj("twelve2.obj", p12 @ r[:3, :3].T + r[:3, 3]), np.save("twelve2", p12)
PY
    "$python" named.py
    yes 0.4 | head -1728 >half.csv
    supple poses run.anim.npz -q -m 3 --sculpt grin=sculpt.obj --params grin=at.csv --rigged grin=rigged.obj \
        --sculpt Twelve=twelve2.obj --params Twelve=frame.csv --poisson half.csv --poisson grin=soft.csv --poisson-low 0.1 \
        --poisson-high 0.5 -o named.npz && "$python" - <<'PY'
import json, zipfile
import numpy as np
P, meta = np.load("named.npz"), json.loads(zipfile.ZipFile("named.npz").read("meta.json"))
a = np.load("run.anim.npz")
run = json.loads(zipfile.ZipFile("run.anim.npz").read("meta.json"))["param_names"]
names = meta["param_names"]
assert meta["pose_sources"] == ["neutral", "grin", "run:12"] and "grin" in names
assert abs(P["rigged"][1] - np.load("rigged.npy")).max() < 1e-6 and abs(P["shapes"][1] - np.load("sculpt.npy")).max() < 1e-6
assert abs(P["shapes"][2] - np.load("twelve2.npy")).max() < 1e-6 and abs(P["rigged"][2] - a["points"][12]).max() == 0
assert P["params"][1][names.index("grin")] == 0.7 and P["params"][2][names.index("grin")] == 0
k = run.index(names[0])
assert abs(P["params"][1][0] - 1.5 * a["params"][9, k]) < 1e-12
assert abs(P["poisson"][[0, 2]] - (0.1 + 0.4 * 0.4)).max() < 1e-12 and abs(P["poisson"][1] - 0.2).max() < 1e-12
PY
    ok $? "a sculpt at parameters of its own: with the rig's shape, or found among the frames"
fi

# ---- preview: shots that leave the space of the poses, parameters that no pose knows ----
supple import -q "$fox" --clip Survey -o survey.anim.npz 2>/dev/null
supple poses walk.anim.npz -m 3 --shots run.anim.npz survey.anim.npz walk.anim.npz -n 2>log.txt && [ ! -e supple-poses ] &&
    grep -q "warning: run.anim.npz: 25 of 28 frames leave the space of the poses" log.txt &&
    grep -q "warning: survey.anim.npz: parameter 'b_Tail01_012.ry' moves, but no pose knows it" log.txt &&
    ! grep -q "warning: walk" log.txt && grep -q "pose 2: walk:4 .* from the nearest before; 0.0[0-9]* 0.1[0-9]*" log.txt
ok $? "the preview tells distances, frames that leave the space of the poses and unknown parameters by name"

supple poses run.anim.npz walk.anim.npz --at Run:3 --at walk:5 -o at.npz 2>at.txt && grep -q "pose 1: run:3" at.txt &&
    grep -q "pose 2: walk:5" at.txt && [ "$(grep -c 'pose [0-9]' at.txt)" = 3 ]
ok $? "--at takes frames of clips by name of clip or file"
supple poses -q run.anim.npz -o a.npz && supple poses -q run.anim.npz -o b.npz && cmp a.npz b.npz; ok $? "the same bytes twice"

refuse() {   # DESCRIPTION STATUS WORDS ARGUMENTS...
    what=$1 want=$2 words=$3
    shift 3
    supple poses "$@" -o bad.npz >out.txt 2>err.txt
    got=$?
    [ $got = "$want" ] && [ "$(wc -l <err.txt)" = 1 ] && grep -q "$words" err.txt && [ ! -e bad.npz ]
    result=$?
    [ $result = 0 ] || { echo "# status $got"; sed 's/^/# /' err.txt; }
    ok $result "$what"
}
refuse "one pose twice" 3 "same as one before" run.anim.npz --at Run:3 --at Run:3
refuse "a clip that is not there" 2 "no input is clip" run.anim.npz --at Fly:3
refuse "a frame that is not there" 2 "frames 0 to 27" run.anim.npz --at Run:28
refuse "poses are not clips" 3 "supple.anim" fox.poses.npz
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >small.obj
printf '1\n2\n' >few.csv
refuse "a sculpt of another mesh" 3 "small.obj: has 3 vertices; the character has 1728" run.anim.npz -q --sculpt Run:5=small.obj
refuse "a sculpt of no frame" 2 "give CLIP:FRAME=FILE" run.anim.npz --sculpt small.obj
refuse "a named sculpt without parameters" 2 "give its rig parameters by --params" run.anim.npz --sculpt grin=small.obj
refuse "parameters of no sculpt" 2 "no --sculpt has that name" run.anim.npz --params grin=few.csv
printf 'b_Hip_01.rx\n3\n' >far.csv
refuse "parameters of no frame" 2 "no frame of the clips has its parameters" run.anim.npz --sculpt grin=small.obj --params grin=far.csv
yes 0.5 | head -1728 >half.csv
refuse "a Poisson's ratio of a half" 3 "vertex 0 has the value 0.5, wanted is 0 to below 0.5" run.anim.npz -q --poisson half.csv
refuse "a map of another mesh" 3 "few.csv: has 2 values" run.anim.npz -q --young few.csv
man=$SUPPLE_DATA/cesium_man/cesium_man.gltf
if [ -f "$man" ]; then
    supple import -q "$man" -o man.anim.npz
    refuse "two characters" 3 "2338 vertices and 4672 triangles, but run.anim.npz has 290 and 576" run.anim.npz man.anim.npz
fi
echo "1..$count"
