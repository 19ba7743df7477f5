#!/bin/sh
# Mesh sequences: what comes in goes out in the world, seams are welded unless they open, and clips without a rig get
# parameters.
. "$(dirname "$0")/tap.sh"
need_numpy "mesh sequences"

# Two boxes of quads as one strip each, every quad with vertices of its own; 20 frames that bend and travel. At frame 7
# alone the vertices 1 and 4 of the seam between the first two quads part.
cat >make.py <<'PY'
import numpy as np
quads, points = [], []
for i in range(6):
    for corner in ((i, 0), (i + 1, 0), (i + 1, 1), (i, 1)):
        points.append((corner[0], corner[1], 0.1 * corner[0] * corner[1]))
    quads.append([4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 4])
rest = np.array(points, float)
for f in range(20):
    p = rest.copy()
    a = 0.1 * f * rest[:, 0] / 6
    p[:, 0], p[:, 2] = rest[:, 0] * np.cos(a) + 0.3 * f, rest[:, 2] + rest[:, 0] * np.sin(a)
    if f == 7:
        p[1, 1] -= 0.25
    np.save("frame%02d.npy" % f, p)
    with open("strip.%04d.obj" % (f + 1001), "w") as o:
        o.write("o strip\n")
        for v in p:
            o.write("v %.9g %.9g %.9g\n" % tuple(v))
        for q in quads:
            o.write("f %d %d %d %d\n" % tuple(q))
PY
"$python" make.py
supple import 'strip.%04d.obj' --rate 25 -o strip.anim.npz 2>log.txt; ok $? "a numbered OBJ sequence"
supple import 'strip.*.obj' --rate 25 -q -o glob.anim.npz 2>>log.txt; ok $? "the same as a glob"
grep -q "1 vertices share a place" log.txt; ok $? "the vertex that parts is reported"
cat >check.py <<'PY'
import json, sys, zipfile
import numpy as np
a, meta = np.load("strip.anim.npz"), json.loads(zipfile.ZipFile("strip.anim.npz").read("meta.json"))
assert a["points"].shape[1] == 15, a["points"].shape    # 14 corners of the strip, and one that parts
assert a["face_counts"].tolist() == [4] * 6 and a["face_indices"].tolist() == list(range(24))
assert meta["fps"] == 25 and meta["frame_start"] == 1001 and abs(a["times"][0] - 1001 / 25) < 1e-9
for f in range(20):
    p = a["points"][f].astype(float)[a["source_vertex"]] @ a["root"][f][:3, :3].T + a["root"][f][:3, 3]
    want = np.load("frame%02d.npy" % f)
    assert abs(p - want).max() < 2e-6 * 8, (f, abs(p - want).max())
g = np.load("glob.anim.npz")
assert all((a[k] == g[k]).all() for k in a.files if k != "meta.json")
PY
"$python" check.py; ok $? "root frame times points are the file's positions; polygons, order and frame numbers stay"

supple import 'strip.%04d.obj' --rate 25 --fps 50 -q -o fine.anim.npz && "$python" - <<'PY'
import numpy as np
a, b = np.load("strip.anim.npz"), np.load("fine.anim.npz")
assert len(b["times"]) == 39 and abs(b["points"][::2] - a["points"]).max() < 1e-6
PY
ok $? "--fps keeps the frames it hits"
# ---- PLY, in its three forms ----
cat >ply.py <<'PY'
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import make_ply
for kind in ("ascii", "little", "big"):
    for f in range(20):
        p = np.load("frame%02d.npy" % f)
        make_ply.write("%s.%04d.ply" % (kind, f + 1001), p, [[4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(6)], kind,
                       [(10 * v, 255, 0) for v in range(24)], p[:, :2])
PY
PYTHONDONTWRITEBYTECODE=1 "$python" ply.py "$here"
for kind in ascii little big; do
    supple import "$kind.%04d.ply" --rate 25 -q --progress none -o $kind.anim.npz || echo "# $kind"
done
supple import 'ascii.1001.ply' -q --list >list.txt && grep -q "24 vertices, 6 polygons, uv" list.txt && "$python" - <<'PY'
import numpy as np
a = np.load("strip.anim.npz")
for kind in ("ascii", "little", "big"):
    b = np.load(kind + ".anim.npz")
    for k in ("face_counts", "face_indices", "source_vertex", "triangles", "times"):
        assert (a[k] == b[k]).all(), (kind, k)
    assert abs(a["points"] - b["points"]).max() < 1e-6 and abs(a["root"] - b["root"]).max() < 1e-6
    assert abs(b["color"][:, 0] * 255 - 10 * np.arange(24)).max() < 1e-3 and (b["color"][:, 1:] == [1, 0, 1]).all()
    assert abs(b["uv"][b["uv_indices"]] - np.load("frame00.npy")[:, :2].astype("f4")[a["face_indices"]]).max() == 0
PY
ok $? "PLY sequences, ASCII and binary of both byte orders, with colours and texture coordinates"

supple poses strip.anim.npz -m 4 -o strip.poses.npz 2>log.txt && "$python" - <<'PY'
import numpy as np
a, p = np.load("strip.anim.npz"), np.load("strip.poses.npz")
mean, basis = p["param_mean"], p["param_basis"]
assert (mean == p["neutral"].ravel()).all() and abs(basis @ basis.T - np.eye(len(basis))).max() < 1e-9
d = a["points"].reshape(20, -1).astype(float) - mean
rest = d - (d @ basis.T) @ basis
assert (rest ** 2).sum() < 0.011 * (d ** 2).sum()
for i in range(4):
    assert abs(basis @ (p["shapes"][i].ravel() - mean) - p["params"][i]).max() < 1e-9
PY
ok $? "principal coordinates of a clip without a rig: orthonormal, 99 % of the motion, 0 at the neutral"

cat >named.py <<'PY'
import numpy as np
a = np.load("strip.anim.npz")
sv = a["source_vertex"]
rigged = np.load("frame12.npy") + [5, 0, 1]            # stands elsewhere in the world
rigged[:, 2] += 0.05 * rigged[:, 1] ** 2
sculpt = rigged + 0.1 * np.sin(3 * a["neutral"][sv])
for name, p in (("rigged", rigged), ("sculpt", sculpt)):
    with open(name + ".obj", "w") as o:
        for v in p:
            o.write("v %.9g %.9g %.9g\n" % tuple(v))
        o.write("f 1 2 3 4\n")
    np.save(name, p)
PY
"$python" named.py
supple poses strip.anim.npz -q -m 3 --sculpt bulge=sculpt.obj --rigged bulge=rigged.obj -o named.npz && "$python" - <<'PY'
import numpy as np
a, p = np.load("strip.anim.npz"), np.load("named.npz")
first = np.array([np.flatnonzero(a["source_vertex"] == v)[0] for v in range(len(a["neutral"]))])
rigged, sculpt = np.load("rigged.npy")[first], np.load("sculpt.npy")[first]
c, d = rigged.mean(0), a["neutral"].mean(0)            # its own root frame: the best rigid fit
u, _, v = np.linalg.svd((rigged - c).T @ (a["neutral"] - d))
turn = u @ np.diag([1, 1, np.linalg.det(u @ v)]) @ v
assert abs(p["rigged"][1] - ((rigged - c) @ turn + d)).max() < 1e-6 and abs(p["shapes"][1] - ((sculpt - c) @ turn + d)).max() < 1e-6
assert abs(p["params"][1] - p["param_basis"] @ (p["rigged"][1].ravel() - p["param_mean"])).max() < 1e-6
PY
ok $? "a named sculpt of a clip without a rig gets its coordinates from the unsculpted shape"

# ---- some objects of a cache, and objects that only follow ----
cat >two.py <<'PY'
import numpy as np
box = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
for f in range(4):
    with open("two.%d.obj" % f, "w") as o:
        for n, (name, at) in enumerate((("hat", 3.0), ("body", 0.0), ("eye", 5.0))):
            o.write("o %s\n" % name)
            for i, v in enumerate(box + [at, 0.1 * f * n, 0]):
                o.write("v %.9g %.9g %.9g\nvt %g %g\n" % (*v, n, i))
            for q in quads:
                o.write("f " + " ".join("%d/%d" % (8 * n + k + 1, 8 * n + k + 1) for k in q) + "\n")
PY
"$python" two.py
supple import -q --progress none 'two.%d.obj' --object body --object eye --rigid eye -o some.npz && supple import -q --progress none 'two.%d.obj' -o all.npz &&
    supple export -q --progress none --rig all.npz -o all.abc && supple import -q --progress none all.abc --object body --object eye --rigid eye -o abc.npz &&
    "$python" - <<'PY'
import json, zipfile
import numpy as np
whole = np.load("all.npz")
def world(x, f):
    return x["points"][f].astype(float)[x["source_vertex"]] @ x["root"][f][:3, :3].T + x["root"][f][:3, 3]
for name in ("some", "abc"):
    a, meta = np.load(name + ".npz"), json.loads(zipfile.ZipFile(name + ".npz").read("meta.json"))
    assert meta["object_names"] == ["body", "eye"] and a["object_ids"].tolist() == [0] * 8 + [1] * 8
    assert (a["face_indices"] == whole["face_indices"][24:] - 8).all()
    assert (a["uv"][a["uv_indices"]] == whole["uv"][whole["uv_indices"]][24:]).all()
    assert a["rigid"][a["source_vertex"]].tolist() == [0] * 8 + [1] * 8
    for f in range(4):
        assert abs(world(a, f) - world(whole, f)[8:]).max() < 2e-6, (name, f)
PY
ok $? "--object takes some objects of a sequence, --rigid marks those that only follow"

refuse() {   # DESCRIPTION STATUS WORDS ARGUMENTS...
    what=$1 want=$2 words=$3
    shift 3
    supple import "$@" --progress none -o bad.npz >out.txt 2>err.txt
    got=$?
    [ $got = "$want" ] && [ "$(wc -l <err.txt)" = 1 ] && grep -q "$words" err.txt && [ ! -e bad.npz ]
    result=$?
    [ $result = 0 ] || { echo "# status $got"; sed 's/^/# /' err.txt; }
    ok $result "$what"
}
cp strip.1001.obj one.0001.obj && sed -e 2d -e '$d' strip.1002.obj >one.0002.obj
refuse "frames of different topology" 3 "one.0002.obj" 'one.%04d.obj'
sed 's/^v 6 .*/v nan 0 0/' strip.1001.obj >nan.obj
refuse "positions that are not numbers" 3 "nan.obj" nan.obj
head -c 700 little.1001.ply >cut.ply
refuse "a PLY that is cut off" 3 "cut.ply: vertex 8 is cut off" cut.ply
sed 's/^4 0 1 2 3/4 0 1 2 30/; s/^\(2 0.5 1.5\) 4 0 1 2 3/\1 4 0 1 2 30/' ascii.1001.ply >wild.ply
refuse "a PLY whose faces name no vertex" 3 "wild.ply: face 0 names a vertex" wild.ply
refuse "an object that is not there" 3 "no object is called 'tail'" 'two.%d.obj' --object tail
refuse "nothing but rigid objects" 3 "every vertex is rigid" 'two.%d.obj' --object hat --rigid hat
refuse "a sequence that is not there" 3 "no file" 'none.%04d.obj'
refuse "a frame that is not there" 2 "20 frames" 'strip.%04d.obj' --neutral-frame 20

bone=$SUPPLE_DATA/mesh_sequences/bone
if [ -f "$bone/Bone_Anim.abc" ]; then
    supple import -q "$bone/Bone_Anim.abc" -o abc.npz && supple import -q "$bone/obj/bone_%04d.obj" -o obj.npz && "$python" - <<'PY'
import numpy as np
a, o = np.load("abc.npz"), np.load("obj.npz")
def world(x, f):
    return x["points"][f].astype(float)[x["source_vertex"]] @ x["root"][f][:3, :3].T + x["root"][f][:3, 3]
assert len(a["times"]) == 400 and len(o["times"]) == 48
for f in range(48):   # the OBJ frames are samples 201 to 248
    assert abs(world(a, 201 + f) - world(o, f)).max() < 4e-6, f
PY
    ok $? "Alembic and OBJ frames of the same motion agree"
else
    skip "Alembic and OBJ frames agree" "no data"
fi
echo "1..$count"
