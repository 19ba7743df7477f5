#!/bin/sh
# supple poses: one parameter space for clips imported apart, farthest points, lists, and what cannot be joined.
set -u
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work" || exit 1
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }
fox=$SUPPLE_DATA/fox/Fox.glb
if [ ! -f "$fox" ]; then echo "ok 1 - poses of the fox # skip no data"; echo "1..1"; exit 0; fi
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import numpy' 2>/dev/null && python=$p; }; done
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
    n=$((n + 1)); echo "ok $n - poses are farthest frames # skip no numpy"
fi

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
man=$SUPPLE_DATA/cesium_man/cesium_man.gltf
if [ -f "$man" ]; then
    supple import -q "$man" -o man.anim.npz
    refuse "two characters" 3 "2338 vertices and 4672 triangles, but run.anim.npz has 290 and 576" run.anim.npz man.anim.npz
fi
echo "1..$n"
