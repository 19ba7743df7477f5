#!/bin/sh
# Alembic written by its own library (tests/make_alembic.cpp), and other caches whose times are not even: cyclic and acyclic
# sampling, objects of several rates and kinds, hidden ones, instances, mirrors, animated transforms over a still mesh.
# Where a box is at a time is said by the writer's comment.
. "$(dirname "$0")/tap.sh"
need_numpy "Alembic files"
export PYTHONPATH="$folder"
for name in cyclic acyclic scene carried; do cp "$here/corpus/alembic/library-$name.abc" $name.abc || exit 1; done
import() { supple import --progress none "$@" 2>log.txt; }

cat >boxes.py <<'PY'
import json, zipfile
import numpy as np
F = 1 / 24
corner = np.array([[c & 1, c >> 1 & 1, c >> 2 & 1] for c in range(8)], float)
def box(at, speed, t):
    return corner + [at + speed * t, 0, 2 * speed * t]
class Anim:
    def __init__(self, name):
        self.a, self.meta = np.load(name), json.loads(zipfile.ZipFile(name).read("meta.json"))
        self.frames = len(self.a["times"])
    def world(self, f, name=None):
        a = self.a
        p = a["points"][f].astype(float)[a["source_vertex"]] @ a["root"][f][:3, :3].T + a["root"][f][:3, 3]
        return p if name is None else p[a["object_ids"] == self.meta["object_names"].index(name)]
    def on(self, fps, first):
        assert self.meta["fps"] == fps and self.meta["frame_start"] == first, (self.meta["fps"], self.meta["frame_start"])
        assert abs(self.a["times"] - (first + np.arange(self.frames)) / fps).max() < 1e-9
def near(a, b, what, by=3e-6):
    assert abs(a - b).max() < by, (what, abs(a - b).max())
PY

import cyclic.abc -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(24, 1)
assert x.frames == 6, x.frames
for f in range(6):
    near(x.world(f), box(0, 1, (1 + f) * F), f)
PY
ok $? "three samples a frame: 24 frames a second, from a sample on a whole frame"

import acyclic.abc -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(24, 1)
assert x.frames == 7, x.frames
for f in range(7):      # frames 4 and 5 lie in the gap; the motion is straight
    near(x.world(f), box(0, 1, (1 + f) * F), f)
PY
ok $? "stored times: resampled at their usual rate"
grep -q "1 stretches are without a sample, the longest from frame 3.5 to 6" log.txt
ok $? "and the gap is told"

import scene.abc -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(24, 1)
assert x.frames == 8 and x.meta["object_names"] == ["body", "cap", "blink", "mirror", "again", "other"], x.meta["object_names"]
flip, up = np.array([-1, 1, 1]), np.array([0, 5, 0])
for f in range(8):
    t = (1 + f) * F
    near(x.world(f, "body"), box(0, 1, t), "body")
    near(x.world(f, "cap"), box(3, 2, min(max(t, 3 * F), 7 * F)), "cap")     # a subdivision surface, a sample every second frame
    near(x.world(f, "blink"), box(6, 0, t), "blink")
    near(x.world(f, "mirror"), box(0, 1, t) * flip + [-3, 0, 0], "mirror")
    near(x.world(f, "again"), box(0, 1, t) + up, "again")
    near(x.world(f, "other"), box(0, 1, t) * flip + [-3, 0, 0] + up, "other")
q = x.a["face_indices"].reshape(-1, 4)
for name in x.meta["object_names"]:
    mine = q[x.a["object_ids"][q[:, 0]] == x.meta["object_names"].index(name)]
    p = x.world(0)
    p = p - p[mine[0]].mean(0)
    volume = sum(np.dot(p[a], np.cross(p[b], p[c])) + np.dot(p[a], np.cross(p[c], p[d])) for a, b, c, d in mine) / 6
    assert abs(volume - 1) < 1e-5, (name, volume)     # outside is out
PY
ok $? "each object at its own times, subdivision surfaces, instances and mirrors among them"
grep -q "1 objects are hidden and were left out .*: ghost" log.txt && grep -q "1 objects are hidden at times .*: blink" log.txt &&
    grep -q "1 objects that are no meshes" log.txt
ok $? "what is hidden, and what is no mesh, is told"

import scene.abc --object ghost -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(25, 0)
assert x.frames == 30
for f in range(30):
    near(x.world(f), box(50, 1, f / 25), f, 1e-5)
PY
ok $? "a hidden object that is asked for, at its own rate"
import scene.abc --object cap -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
assert x.frames == 3 and x.meta["fps"] == 12 and abs(x.a["times"] - np.array([3, 5, 7]) * F).max() < 1e-9
PY
ok $? "the rates of objects that are left out do not matter"

import carried.abc -o x.npz && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(24, 1001)
assert x.frames == 5
for f in range(5):
    a = np.radians(10 * f)
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    near(x.world(f), corner @ turn.T + [0.5 * f, 0, 0], f)
PY
ok $? "transforms that move a mesh without samples make its frames"

# ---- a cache against the neutral mesh of another ----
import scene.abc --object body -o body.npz && supple export -q --progress none --rig body.npz -o body.abc && supple export -q --progress none --rig body.npz -o body.pc2 &&
    import cyclic.abc --neutral body.abc -o x.npz && import body.pc2 --rate 24 --neutral body.abc -o y.npz && "$python" - <<'PY'
from boxes import *
x, y, b = Anim("x.npz"), Anim("y.npz"), Anim("body.npz")
for z in x, y:
    near(z.a["neutral"], b.a["neutral"], "neutral", 1e-6)
assert (y.a["face_indices"] == b.a["face_indices"]).all() and x.frames == 6
near(y.world(7), box(0, 1, 8 * F), "pc2")
PY
ok $? "--neutral takes the first frame of a cache, for .abc too"

# ---- MDD with a gap; the last frames at the old rate ----
"$python" - <<'PY'
import struct
from boxes import *
times = np.array([10, 11, 12, 13, 18, 19, 20]) * F
with open("gap.mdd", "wb") as o:
    o.write(struct.pack(">ii", len(times), 8) + times.astype(">f4").tobytes())
    for t in times:
        o.write((box(0, 3, t)).astype(">f4").tobytes())
with open("box.obj", "w") as o:
    for v in corner:
        o.write("v %g %g %g\n" % tuple(v))
    for q in ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)):
        o.write("f %d %d %d %d\n" % tuple(k + 1 for k in q))
PY
import gap.mdd --neutral box.obj -o x.npz && grep -q "1 stretches are without a sample, the longest from frame 13 to 18" log.txt && "$python" - <<'PY'
from boxes import *
x = Anim("x.npz")
x.on(24, 10)
assert x.frames == 11
for f in range(11):
    near(x.world(f), box(0, 3, (10 + f) * F), f, 2e-5)
PY
ok $? "MDD with a gap in time keeps its rate, with a word"

# ---- ways to write a pattern, and a file alone ----
for k in 0998 0999 1000; do sed "s/^v 1 /v 1.$k /" box.obj >walk.$k.obj; done
import 'walk.%04d.obj' -o want.npz && import 'walk.####.obj' -o a.npz && import 'walk.$F4.obj' -o b.npz && import 'walk.*.obj' -o c.npz &&
    "$python" - <<'PY'
from boxes import *
want = Anim("want.npz")
want.on(24, 998)
assert want.frames == 3 and want.meta["clip"] == "walk"
for name in "abc":
    x = Anim(name + ".npz")
    assert x.meta["clip"] == "walk" and all((x.a[k] == want.a[k]).all() for k in want.a.files if k != "meta.json"), name
PY
ok $? "%04d, ####, \$F4 and * mean the same files"
import walk.0999.obj -o x.npz && grep -q "walk.0999.obj is one of 3 numbered files and is taken alone; all of them are 'walk.%04d.obj'" log.txt
ok $? "one numbered file out of a sequence warns"
import box.obj -o x.npz && ! grep -q "numbered" log.txt
ok $? "a file without a number does not"
echo "1..$count"
