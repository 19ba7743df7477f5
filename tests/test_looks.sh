#!/bin/sh
# Materials, face sets, vertex colours and the source's groups: from every reader to every format that holds them. Sources are written here from
# the formats' descriptions or by Alembic's own library (tests/make_alembic.cpp, library-looks.abc); what comes out is read by three.js, TinyUSDZ and Khronos'
# validator (installed by `make viewer`) and by Alembic's tools where they are in PATH.
. "$(dirname "$0")/tap.sh"
modules=$(dirname "$(dirname "${BUILD:-$here/../build/default}")")/build/viewer/source/node_modules
need_numpy "looks"
export PYTHONPATH="$folder"
cp "$here/corpus/alembic/library-looks.abc" looks.abc || exit 1
import() { supple import --progress none "$@" >log.txt 2>&1; }
out() { supple export -q --progress none --rig "$@" >log.txt 2>&1; }

cat >anim.py <<'PY'
import json, struct, sys, zipfile
import numpy as np
corner = np.array([[c & 1, c >> 1 & 1, c >> 2 & 1] for c in range(8)], float)
class Anim:
    def __init__(self, name):
        self.a, self.meta = np.load(name), json.loads(zipfile.ZipFile(name).read("meta.json"))
        self.counts = self.a["face_counts"]
        self.first = np.concatenate([[0], np.cumsum(self.counts)])[:-1]
        self.objects = self.a["object_ids"][self.a["face_indices"][self.first]]     # of each polygon
    def material(self, name):       # polygons, by their corners in source vertices
        i = self.meta["material_names"].index(name)
        return [self.face(f) for f in np.nonzero(self.a["face_material"] == i)[0]]
    def face(self, f):
        return tuple(self.a["face_indices"][self.first[f]:self.first[f] + self.counts[f]])
    def sets(self):
        start, faces = self.a["face_set_start"], self.a["face_set_faces"]
        return {n: faces[start[i]:start[i + 1]].tolist() for i, n in enumerate(self.meta["face_set_names"])}
    def world(self, f):
        a = self.a
        return a["points"][f].astype(float)[a["source_vertex"]] @ a["root"][f][:3, :3].T + a["root"][f][:3, 3]
def same_looks(x, y, colors=True, sets=True):
    assert x.meta["material_names"] == y.meta["material_names"], y.meta["material_names"]
    for name in ("face_material", "material_color", "material_surface"):
        assert np.allclose(x.a[name], y.a[name], atol=1e-6), name
    if sets: assert x.sets() == y.sets(), y.sets()
    if colors: assert np.allclose(x.a["color"], y.a["color"], atol=1e-6)
PY

# ---- Alembic's own library ----
import looks.abc -o looks.npz && "$python" - <<'PY'
from anim import *
x = Anim("looks.npz")
assert x.meta["object_paths"] == ["/grp/ctl/off/body", "/grp/spin/prop"]
m = x.a["face_material"]
assert x.meta["material_names"] == ["skinSG", "nailSG"] and m.tolist() == [0, 0, 0, 1, -1, 1] + [0] * 6, m
assert x.sets() == {"front": [4], "wide": [1, 3, 4]}
c = np.arange(8) / 8
want = np.stack([c, 1 - c, 0 * c + 0.5, np.where(c < 0.5, 1, 0.25)], 1)
assert abs(x.a["color"][:8] - want).max() < 1e-7 and (x.a["color"][8:] == 1).all()
corner_of = x.a["face_indices"]
body = x.a["object_ids"][corner_of] == 0
assert (x.a["uv"][x.a["uv_indices"]][body] == np.stack([corner_of[body] / 8, 1 + 0 * corner_of[body]], 1)).all()
for f in range(4):
    a = np.radians(10 * f)
    turn = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    assert np.allclose(x.a["object_frames"][f, 0], [[2, 0, 0, 10], [0, 2, 0, 10], [0, 0, 2, 0], [0, 0, 0, 1]])
    assert np.allclose(x.a["object_frames"][f, 1][:3, :3], 2 * turn)
PY
ok $? "an Alembic cache's face sets, exclusive ones as materials, colours by corner, texture coordinates by another name, groups and moving transforms"

# ---- out and in again ----
out looks.npz -o world.abc && import world.abc -o world.npz && out looks.npz --space object -o object.abc && import object.abc -o object.npz && "$python" - <<'PY'
from anim import *
x, w, o = Anim("looks.npz"), Anim("world.npz"), Anim("object.npz")
for y in w, o:
    assert y.meta["object_paths"] == x.meta["object_paths"], y.meta["object_paths"]
    same_looks(x, y)
    for f in range(4):
        assert abs(x.world(f) - y.world(f)).max() < 1e-5, f
assert (w.a["object_xform"] == np.eye(4)).all() and "object_frames" not in w.a.files
assert np.allclose(o.a["object_frames"], x.a["object_frames"])
PY
ok $? "Alembic: groups, materials, sets and colours as in the source; object space has the source's transforms"
if command -v abctree >/dev/null; then
    abctree object.abc >log.txt 2>&1 && grep -q -e '--off' log.txt && grep -q -- '--nailSG' log.txt && abcecho object.abc >log.txt 2>&1 &&
        grep -q 'name=Cd;interpretation=rgba;datatype=float32_t\[4\];arraysize=8' log.txt && grep -q 'schema=AbcGeom_FaceSet_v1' log.txt
    ok $? "Alembic's own tools find them"
    out looks.npz --subdivision -o sub.abc && abcecho sub.abc >log.txt 2>&1 && [ "$(grep -c 'schema=AbcGeom_SubD_v1' log.txt)" = 2 ]
    ok $? "and subdivision surfaces"
fi
out looks.npz --subdivision -o sub.abc && import sub.abc -o sub.npz && "$python" - <<'PY'
from anim import *
same_looks(Anim("looks.npz"), Anim("sub.npz"))
PY
ok $? "subdivision surfaces with face sets"
out looks.npz --flat -o flat.abc && import flat.abc -o flat.npz && out looks.npz --under /shot/beast -o under.abc && import under.abc -o under.npz && "$python" - <<'PY'
from anim import *
assert Anim("flat.npz").meta["object_paths"] == ["/off/offShape", "/spin/spinShape"]
assert Anim("under.npz").meta["object_paths"] == ["/shot/beast/grp/ctl/off/body", "/shot/beast/grp/spin/prop"]
PY
ok $? "without groups, and under others"
out looks.npz --space object -o object.npy && out looks.npz --space object -o object.pc2 && "$python" - <<'PY'
from anim import *
p = np.load("object.npy")
for f in range(4):      # what the library was given
    assert abs(p[f, :8] - corner - np.array([1, 0, 2]) * (1 + f) / 24).max() < 1e-6 and abs(p[f, 8:] - corner - [6, 0, 0]).max() < 2e-6, f
head = open("object.pc2", "rb").read()
assert abs(np.frombuffer(head[32:], "<f4").reshape(p.shape) - p).max() == 0
PY
ok $? "points of object space are those that the source's objects have below their groups"
out looks.npz --space object --object spin -o spin.pc2 && out looks.npz --object spin --normals --velocities -o spin.usda && out looks.npz --normals --velocities -o all.usda &&
    import spin.usda -o one.npz && out looks.npz --object off -o off.%04d.obj && import 'off.%04d.obj' -o off.npz && "$python" - <<'PY'
import re
from anim import *
p = np.frombuffer(open("spin.pc2", "rb").read()[32:], "<f4").reshape(4, 8, 3)
assert abs(p - corner - [6, 0, 0]).max() < 2e-6
x, one, off = Anim("looks.npz"), Anim("one.npz"), Anim("off.npz")
assert one.meta["object_paths"] == ["/grp/spin/prop"] and one.meta["material_names"] == ["skinSG"] and len(one.a["source_vertex"]) == 8
assert off.meta["object_names"] == ["off"] and off.sets() == x.sets() and off.meta["material_names"] == ["skinSG", "nailSG"]
for f in range(4):
    assert abs(x.world(f)[8:] - one.world(f)).max() < 1e-5 and abs(x.world(f)[:8] - off.world(f)).max() < 1e-5
def prop(name, attribute):
    return re.findall(attribute + r".timeSamples = \{.*?\}", open(name).read(), re.S)[-1].split()
assert all(prop("spin.usda", a) == prop("all.usda", a) for a in ("points", "velocities", "normals"))
PY
ok $? "one object of several, for caches that hold no names"
out looks.npz --object nobody -o x.pc2; [ $? = 3 ] && grep -q "no object is called 'nobody'" log.txt && { out looks.npz --object spin -o x.glb; [ $? = 2 ]; }
ok $? "objects that are not there, formats that take them all"
out looks.npz -o walk.%04d.obj && import 'walk.%04d.obj' -o obj.npz && "$python" - <<'PY'
from anim import *
x, y = Anim("looks.npz"), Anim("obj.npz")
same_looks(x, y, colors=False)
assert np.allclose(x.a["color"][:, :3], y.a["color"][:, :3], atol=1e-6)
PY
ok $? "OBJ: usemtl, groups, colours, a library beside it"

# ---- what is not kept is told ----
supple creature -q --vertices 3000 -o pet.glb && "$python" - <<'PY' && supple import -q --progress none sets.glb --clip Trot -o sets.npz 2>gltf.txt && supple import --progress none sets.usda -o sets.npz 2>usd.txt &&
import json, struct
glb = open("pet.glb", "rb").read()
size, = struct.unpack_from("<I", glb, 12)
scene, rest = json.loads(glb[20:20 + size]), glb[20 + size:]
attributes = scene["meshes"][0]["primitives"][0]["attributes"]
attributes.update(TEXCOORD_1=attributes["TEXCOORD_0"], COLOR_1=attributes["COLOR_0"])
text = json.dumps(scene).encode()
text += b" " * (-len(text) % 4)
open("sets.glb", "wb").write(glb[:8] + struct.pack("<II", 20 + len(text) + len(rest), len(text)) + glb[16:20] + text + rest)
open("sets.usda", "w").write("""#usda 1.0
def Mesh "a"
{
    point3f[] points.timeSamples = { 1: [(0,0,0),(1,0,0),(1,1,0),(0,1,1)], 2: [(0,0,0),(1,0,0),(1,1,0),(0,1,2)] }
    int[] faceVertexCounts = [3, 3, 3, 3]
    int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]
    texCoord2f[] primvars:st = [(0,0),(1,0),(1,1),(0,1)] (interpolation = "vertex")
    texCoord2f[] primvars:lightmap = [(0,0),(1,0),(1,1),(0,1)] (interpolation = "vertex")
    color3f[] primvars:wet = [(0,0,0),(1,0,0),(1,1,0),(0,1,1)] (interpolation = "vertex")
    float[] primvars:mask = [0, 0, 1, 1] (interpolation = "vertex")
}
""")
PY
    grep -q "warning: .*caches will be without 'TEXCOORD_1', 'COLOR_1'$" gltf.txt && grep -q "warning: .*caches will be without .*'lightmap'" usd.txt && grep -q "'wet'" usd.txt &&
    ! grep "without" usd.txt | grep -q "'st'\|'mask'" && grep -q "not read: 'mask'" usd.txt && ! grep -q 'caches will be without' log.txt
ok $? "further texture coordinates, colours and parameters are named"

# ---- OBJ and PLY by hand ----
cat >hand.mtl <<'MTL'
newmtl skin
Kd 0.9 0.5 0.4
d 0.5
newmtl unused
Kd 1 1 1
MTL
cat >hand.obj <<'OBJ'
mtllib hand.mtl
g
v 0 0 0 1 0 0
v 1 0 0 0 1 0
v 0 1 0 0 0 1
v 0 0 1 0.5 0.5 0.5
usemtl skin
g a b
f 1 3 2
usemtl
g b
f 1 2 4
usemtl claw two
g default
f 1 4 3
g c
f 2 3 4
OBJ
cat >hand.ply <<'PLY'
ply
format ascii 1.0
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
property uchar alpha
element face 4
property list uchar int vertex_indices
end_header
0 0 0 255 0 0 51
1 0 0 0 255 0 255
0 1 0 0 0 255 0
0 0 1 102 102 102 255
3 0 2 1
3 0 1 3
3 0 3 2
3 1 2 3
PLY
import hand.obj -o hand.npz && import hand.ply -o ply.npz && "$python" - <<'PY'
from anim import *
x, y = Anim("hand.npz"), Anim("ply.npz")
assert x.meta["material_names"] == ["skin", "claw two"] and x.a["face_material"].tolist() == [0, -1, 1, 1]
assert np.allclose(x.a["material_color"][0], [0.9, 0.5, 0.4, 0.5])
assert x.sets() == {"a": [0], "b": [0, 1], "c": [3]}, x.sets()
assert np.allclose(x.a["color"][3], [0.5, 0.5, 0.5, 1])
assert np.allclose(y.a["color"], [[1, 0, 0, 0.2], [0, 1, 0, 1], [0, 0, 1, 0], [0.4, 0.4, 0.4, 1]])
PY
ok $? "OBJ by hand: names with spaces, several groups, faces without; PLY colours with opacity"
import hand.obj --object mesh -o kept.npz && "$python" - <<'PY'
from anim import *
x, y = Anim("hand.npz"), Anim("kept.npz")
same_looks(x, y)
PY
ok $? "objects that are chosen keep their materials"
import looks.abc --object spin -o spin.npz && "$python" - <<'PY'
from anim import *
x = Anim("spin.npz")
assert x.meta["material_names"] == ["skinSG"] and x.a["face_material"].tolist() == [0] * 6 and "face_set_start" not in x.a.files
assert x.meta["object_paths"] == ["/grp/spin/prop"] and np.allclose(x.a["object_frames"][0, 0][:3, 3], [10, 0, 0])
PY
ok $? "what only others have goes with them"

# ---- glTF: two primitives over the same vertices, one of its own, one without a material ----
"$python" - <<'PY'
from anim import *
binary, doc = b"", {"asset": {"version": "2.0"}, "scene": 0, "accessors": [], "bufferViews": []}
def put(values, kind, width, **more):
    global binary
    values = np.ascontiguousarray(values)
    doc["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": values.nbytes})
    doc["accessors"].append({"bufferView": len(doc["bufferViews"]) - 1, "componentType": kind, "count": len(values), "type": width, **more})
    binary += values.tobytes() + b"\0" * (-values.nbytes % 4)
    return len(doc["accessors"]) - 1
p = (corner - 0.5).astype("<f4")
faces = np.array([[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6], [1, 3, 5], [3, 7, 5]], "<u2")
at = put(p, 5126, "VEC3", min=p.min(0).tolist(), max=p.max(0).tolist())
color = put(np.linspace(0, 1, 32).reshape(8, 4).astype("<f4"), 5126, "VEC4")
joints, weights = put(np.zeros((8, 4), "u1"), 5121, "VEC4"), put(np.tile([1, 0, 0, 0], (8, 1)).astype("<f4"), 5126, "VEC4")
both = {"POSITION": at, "COLOR_0": color, "JOINTS_0": joints, "WEIGHTS_0": weights}
low, high, all = (put(f.ravel(), 5123, "SCALAR") for f in (faces[:8], faces[8:], faces))
time = put(np.array([0, 0.5, 1], "<f4"), 5126, "SCALAR", min=[0], max=[1])
move = put(np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], "<f4"), 5126, "VEC3")
doc.update(scenes=[{"nodes": [0]}], buffers=[{"byteLength": len(binary)}],
           nodes=[{"name": "rig", "children": [1, 2]}, {"name": "joint", "children": [3]}, {"name": "body", "mesh": 0, "skin": 0},
                  {"name": "hat", "mesh": 1, "translation": [0, 3, 0], "scale": [2, 2, 2]}],
           materials=[{"name": "nail", "pbrMetallicRoughness": {"baseColorFactor": [0.1, 0.2, 0.9, 1], "metallicFactor": 0.75, "roughnessFactor": 0.5}},
                      {"name": "skin", "pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.4, 0.3, 1]}}, {"name": "nobody's"}],
           meshes=[{"name": "cube", "primitives": [{"attributes": both, "indices": low, "material": 1}, {"attributes": both, "indices": high, "material": 0}]},
                   {"name": "hat mesh", "primitives": [{"attributes": {"POSITION": at}, "indices": low}, {"attributes": {"POSITION": at}, "indices": high, "material": 1}]}],
           skins=[{"joints": [1]}],
           animations=[{"name": "up", "samplers": [{"input": time, "output": move}], "channels": [{"sampler": 0, "target": {"node": 1, "path": "translation"}}]}])
text = json.dumps(doc).encode()
text += b" " * (-len(text) % 4)
open("two.glb", "wb").write(struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(binary), len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x4E4942) + binary)
PY
import two.glb -o two.npz && "$python" - <<'PY'
from anim import *
x = Anim("two.npz")
assert x.meta["material_names"] == ["skin", "nail"] and x.a["face_material"].tolist() == [-1] * 8 + [0] * 4 + [0] * 8 + [1] * 4
assert np.allclose(x.a["material_color"], [[0.9, 0.4, 0.3, 1], [0.1, 0.2, 0.9, 1]]) and np.allclose(x.a["material_surface"], [[1, 1], [0.75, 0.5]])
assert len(x.a["source_vertex"]) == 16, "primitives over the same vertices are one mesh"
assert x.meta["object_paths"] == ["/rig/joint/hat/hat mesh", "/rig/body/cube"], x.meta["object_paths"]
assert np.allclose(x.a["object_frames"][15, 0], [[2, 0, 0, 0], [0, 2, 0, 4], [0, 0, 2, 0], [0, 0, 0, 1]])
PY
ok $? "glTF: materials with colours, of primitives that share their vertices and that do not; the path of nodes"
out two.npz -o again.glb && import again.glb -o again.npz && "$python" - <<'PY'
from anim import *
x, y = Anim("two.npz"), Anim("again.npz")
for name in ("skin", "nail"):
    assert sorted(map(sorted, x.material(name))) == sorted(map(sorted, y.material(name))), name
assert np.allclose(x.a["color"], y.a["color"]) and len(y.a["source_vertex"]) == 16
assert np.allclose(x.a["material_color"], y.a["material_color"]) and np.allclose(x.a["material_surface"], y.a["material_surface"])
PY
ok $? "glTF and back"
out two.npz --space object -o hat.npy && "$python" - <<'PY'
from anim import *
p = np.load("hat.npy")
assert abs(p[:, :8] - (corner - 0.5)).max() < 1e-6     # at all frames: what stands in the file
PY
ok $? "object space of a node that moves"

# ---- FBX, of which assimp cuts meshes up by material ----
"$python" "$here/rig_files.py" write fbx-materials rig.fbx && import rig.fbx --clip bend -o rig.npz && "$python" - <<'PY'
from anim import *
x = Anim("rig.npz")
m = x.a["face_material"]
assert len(x.meta["material_names"]) == 2 and (m == (m[0] + np.arange(len(m))) % 2).all(), m   # every second polygon has the other
PY
ok $? "FBX: each polygon its material, in the order of the file"

# ---- USD in: ours, and one by hand ----
out looks.npz --space object -o beast.usda && import beast.usda -o usd.npz && "$python" - <<'PY'
from anim import *
x, y = Anim("looks.npz"), Anim("usd.npz")
same_looks(x, y)
assert y.meta["object_paths"] == x.meta["object_paths"] and y.meta["fps"] == 24 and y.meta["frame_start"] == 1
for f in range(4):
    assert abs(x.world(f) - y.world(f)).max() < 1e-5, f
assert np.allclose(x.a["object_frames"], y.a["object_frames"]) and (x.a["face_indices"] == y.a["face_indices"]).all()
assert (x.a["uv"][x.a["uv_indices"]] == y.a["uv"][y.a["uv_indices"]]).all()
PY
ok $? "USD and back"
cp "$here/corpus/usda/hand.usda" . || exit 1
import hand.usda --fps 48 -o byhand.npz && grep -q "1 objects are hidden and were left out .*: hidden" log.txt && "$python" - <<'PY'
from anim import *
x = Anim("byhand.npz")
assert x.meta["source_unit"] == 0.01 and x.meta["source_up"] == "z" and x.meta["fps"] == 48 and len(x.a["times"]) == 5
assert x.meta["material_names"] == ["red"] and (x.a["face_material"] == 0).all() and x.sets() == {"lid": [1]}
assert np.allclose(x.a["material_color"], [[1, 0.25, 0.125, 1]]) and np.allclose(x.a["material_surface"], [[0, 0.5]])
def about(axis, degrees):
    m, a, (i, j) = np.eye(4), np.radians(degrees), [(1, 2), (2, 0), (0, 1)][axis]
    m[i, i] = m[j, j] = np.cos(a)
    m[i, j], m[j, i] = -np.sin(a), np.sin(a)
    return m
def move(*t):
    m = np.eye(4)
    m[:3, 3] = t
    return m
up = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
for f in (0, 4):    # between samples transforms and points are linear each, positions are not: see the ends
    k = f / 4
    turn = about(2, 10 * k) @ about(1, 20 * k) @ about(0, 40 * k)
    orient = about(0, np.degrees(2 * np.arctan2(0.6, 0.8)))
    m = move(100, 0, 0) @ move(0, 50, 0) @ turn @ move(0, -50, 0) @ orient @ np.diag([1, 2, 3, 1])
    p = corner * [100, 100, 100 + 200 * k]
    want = 0.01 * (p @ m[:3, :3].T + m[:3, 3]) @ up.T
    assert abs(x.world(f) - want).max() < 2e-6, (f, abs(x.world(f) - want).max())
assert x.a["times"][0] == 0 and abs(x.a["times"][4] - 4 / 48) < 1e-9
p, q = x.world(0), x.a["face_indices"].reshape(-1, 4)
p = p - p.mean(0)
assert sum(np.dot(p[a], np.cross(p[b], p[c])) + np.dot(p[a], np.cross(p[c], p[d])) for a, b, c, d in q) > 0     # outside is out
assert (x.a["uv"][x.a["uv_indices"]][:, 0] == x.a["face_indices"] / 8).all()
PY
ok $? "a USD layer by hand: operations of transforms, pivots, left-handed faces, hidden meshes, inherited materials, texts and comments"
for cut in 40 300 900 1500 2000; do head -c $cut hand.usda >cut.usda; supple import cut.usda -o no.npz >log.txt 2>&1; [ $? = 3 ] && grep -q 'cut.usda:[0-9]*: ' log.txt || break; cut=all; done
[ $cut = all ] && [ ! -e no.npz ]
ok $? "a layer that is cut off is refused with its line"

# ---- USD over the source's own prims ----
out looks.npz --over --asset ./beast.usda --velocities -o over.usda && ! grep -q 'def \|faceVertex\|xformOp' over.usda && grep -q '@./beast.usda@' over.usda
ok $? "a USD layer of opinions: points, extent, velocities"
out looks.npz -o looks.usda && out two.npz -o two.usda && out looks.npz --space object -o beast.usdc && out looks.npz --over --asset ./beast.usda --velocities -o over.usdc &&
    out looks.npz --flat --samples 3 --velocities --normals --subdivision -o flat.usda && out looks.npz --flat --samples 3 --velocities --normals --subdivision -o flat.usdc && out two.npz -o two.usdc
ok $? "USD layers are written, as text and binary"
out usd.npz --over -o usd.over.usda && "$python" - <<'PY'
import re
def points(name):
    return [[float(x) for x in re.findall(r"[-0-9.e]+", line.split(":", 1)[1])] for block in re.findall(r"points.timeSamples = \{(.*?)\}", open(name).read(), re.S) for line in block.strip().split("\n")]
a, b = points("beast.usda"), points("usd.over.usda")
assert len(a) == len(b) == 8 and max(abs(x - y) for p, q in zip(a, b) for x, y in zip(p, q)) < 2e-5    # in units of the asset
assert re.findall(r'over "(\w+)"', open("usd.over.usda").read()) == ["grp", "ctl", "off", "body", "spin", "prop"]
PY
ok $? "over a USD source: its own prims, its own space"
if ! command -v node >/dev/null || [ ! -d "$modules/tinyusdz" ]; then
    skip "three.js, TinyUSDZ and the glTF validator" "node or its packages are missing (make viewer)"
else
    timeout 100 node "$here/looks_readers.mjs" "$modules" . >found.txt 2>log.txt || echo "not ok - the readers: $(tail -1 log.txt)" >>found.txt
    while IFS= read -r line; do
        count=$((count + 1)); printf '%s\n' "$line" | sed "s/^\(not ok\|ok\) - /\1 $count - /"
    done <found.txt
fi

# ---- the one command ----
supple bake -n looks.abc -o baked --format abc,usda,glb --space object --over --asset ./beast.usda --velocities --flat --samples 3 >log.txt 2>&1
grep -q ' export .* --velocities --flat --space object --samples .3. -o looks.abc' log.txt && grep -q ' export .* --over --asset .*beast.usda.* -o looks.usda' log.txt &&
    grep ' export .* -o looks.glb' log.txt | grep -qv -e '--space'
ok $? "supple bake gives each format the options that it can hold"
echo "1..$count"
