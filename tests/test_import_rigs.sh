#!/bin/sh
# Rigs as exporters write them: FBX as text and binary, z up, with pre-rotations and pivots; Collada; matrix nodes, instances,
# mirrors, uneven scale, a bind pose that is not the node pose, clips without name or length, bones without channels.
# Positions are compared with what the formats' descriptions say (tests/rig_files.py, tests/reference_gltf.py).
. "$(dirname "$0")/tap.sh"
cmp_points() { "$python" -c 'import sys, numpy as np; a, b = (np.load(f)["points"] for f in sys.argv[1:]); assert (a == b).all()' "$@"; }
need_numpy "rigs"
export PYTHONDONTWRITEBYTECODE=1

for kind in fbx-sparse fbx-cubic fbx-text-cubic fbx-ends fbx-text-ends fbx-held fbx-world fbx-text-world-geometric fbx-loose fbx6 fbx6-text-pivot fbx6-text-z fbx6-text-geometric fbx6-text-materials fbx6-shapes fbx6-cubic fbx6-text-cubic fbx6-ends fbx6-text-ends fbx-text fbx fbx-z fbx-pivot fbx-materials fbx-shapes fbx-materials-shapes fbx-geometric fbx-twins fbx-text-twins fbx-late fbx-text-late fbx-late-unsaid fbx-shapes-late-unsaid fbx-late-aside fbx-text-late-aside fbx-constraint fbx-text-constraint fbx-compensated fbx-text-apart fbx-shapes-between fbx-text-shapes-part collada collada-z collada-materials collada-named usd usd-z usd-shapes usd-shapes-between; do
    case $kind in
    collada*) file=$kind.dae clip=animation ;;
    usd*) file=$kind.usda clip=bend ;;
    *) file=$kind.fbx clip=bend ;;
    esac
    "$python" "$here/rig_files.py" write $kind $file && supple import -q $file --clip $clip --progress none -o $kind.npz &&
        "$python" "$here/rig_files.py" check $kind $kind.npz
    ok $? "$kind: positions, neutral pose, polygons and vertices in the order of the file"
done
"$python" - <<'PY' && supple import lid.dae --clip animation --progress none -o lid.npz 2>log.txt && "$python" - <<'CHECK'
import re
text = open("collada.dae").read()
def once(old, new):
    global text
    assert text.count(old) == 1, old
    text = text.replace(old, new)
once('id="tube-j-a" count="3">hip knee toe<', 'id="tube-j-a" count="4">hip knee toe end<')
once('source="#tube-j-a" count="3"', 'source="#tube-j-a" count="4"')
once('id="tube-b-a" count="48">', 'id="tube-b-a" count="64">')
bind = re.search('id="tube-b-a"[^>]*>([^<]*)<', text).group(1).split()[-16:]      # of the toe; the end lies 5 farther along y
bind[7] = repr(float(bind[7]) - 5)
once('</float_array><technique_common><accessor source="#tube-b-a" count="3"',
     " %s</float_array>" % " ".join(bind) + '<technique_common><accessor source="#tube-b-a" count="4"')
once("</node></node></node>", '<node id="end" sid="end" type="JOINT"><matrix sid="transform">1 0 0 0 0 1 0 5 0 0 1 0 0 0 0 1</matrix><node id="lid">'
     '<instance_geometry url="#lid-g"/></node></node></node></node></node>')
once("</library_geometries>", '<geometry id="lid-g"><mesh><source id="lid-p"><float_array id="lid-a" count="9">0 0 0 4 0 0 0 4 1</float_array><technique_common>'
     '<accessor source="#lid-a" count="3" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>'
     '</technique_common></source><vertices id="lid-v"><input semantic="POSITION" source="#lid-p"/></vertices><triangles count="1">'
     '<input semantic="VERTEX" source="#lid-v" offset="0"/><p>0 1 2</p></triangles></mesh></geometry></library_geometries>')
open("lid.dae", "w").write(text)
PY
import json, zipfile
import numpy as np
a, meta = np.load("lid.npz"), json.loads(zipfile.ZipFile("lid.npz").read("meta.json"))
assert meta["object_names"] == ["lid", "tube"] and a["rigid"].sum() == 3, (meta["object_names"], a["rigid"].sum())
toe, end = (meta["bone_names"].index(n) for n in ("toe", "lid"))      # the lid moves as the toe above it does
move = [a["bones"][:, b].reshape(-1, 4, 4) @ np.linalg.inv(a["bone_rest"][b].reshape(4, 4)) for b in (toe, end)]
assert abs(move[0] - move[1]).max() < 1e-6
CHECK
ok $? "a part on a joint that no vertex follows comes in, and moves with what is above that joint"
"$python" "$here/rig_files.py" write fbx-few-bare few.fbx && supple import few.fbx --list >few.txt 2>&1 && grep -q "object 'tube'.* 4 vertices, 1 polygons" few.txt
ok $? "one polygon of a material of its own at the end of a file without clips"
for kind in usd-bare usd-motion; do "$python" "$here/rig_files.py" write $kind $kind.usda; done
supple import usd-bare.usda --clip usd-motion.usda --progress none -o other.npz && "$python" "$here/rig_files.py" check usd other.npz
ok $? "a motion of USD, a skeleton without meshes, on a rig without clips"
cat >hero.usda <<'USD'
#usda 1.0
( metersPerUnit = 0.01 timeCodesPerSecond = 24 upAxis = "Y" subLayers = [@moves.usda@] )
def Xform "world" {
    def SkelRoot "hero" ( references = @usd-bare.usda@</rig> ) { over "bones" { rel skel:animationSource = </world/hero/walks> } }
}
USD
printf '#usda 1.0\nover "world" { over "hero" { def "walks" ( payload = @usd-motion.usda@</rig/bend> ) {} } }\n' >moves.usda
supple import hero.usda --progress none -o hero.npz && "$python" "$here/rig_files.py" check usd hero.npz
ok $? "a character and its motion in layers of their own, which a shot puts together"
cat >set.usda <<'USD'
#usda 1.0
( metersPerUnit = 0.01 timeCodesPerSecond = 24 upAxis = "Y" subLayers = [@hero.usda@] )
def Mesh "floor" { point3f[] points = [(-90, 0, -90), (90, 0, -90), (90, 0, 90), (-90, 0, 90)] int[] faceVertexCounts = [4] int[] faceVertexIndices = [3, 2, 1, 0] }
USD
supple import set.usda --progress none -o set.npz >log.txt 2>&1 && grep -q floor log.txt && "$python" "$here/rig_files.py" check usd set.npz
ok $? "a floor beside the character, at the top of the stage"
sed 's/def SkelRoot "rig".*/&\n/; s/    rel skel:skeleton = <.*/&\n    uniform token primvars:skel:skinningMethod = "dualQuaternion"/' usd-bare.usda >dual.usda
supple import dual.usda --clip usd-motion.usda --progress none -o dual.npz >log.txt 2>&1 && "$python" "$here/rig_files.py" check usd dual.npz dqs && grep -q "skins blend dual quaternions" log.txt
ok $? "dual quaternions, as the root of the character says"
cat >two.usda <<'USD'
#usda 1.0
( metersPerUnit = 0.01 timeCodesPerSecond = 24 upAxis = "Y" subLayers = [@hero.usda@] )
over "world" {
    def Xform "herd" ( references = @hero.usda@</world> (offset = 5) ) { double3 xformOp:translate = (500, 0, 0) uniform token[] xformOpOrder = ["xformOp:translate"] }
}
USD
supple import two.usda --list >list.txt 2>&1 && grep -q 'clips: 1' list.txt && grep -q "'walks': .* 18 frames" list.txt && grep -q "object 'tube' at /world/herd/hero/tube" list.txt &&
    supple import two.usda --object /world/hero --end 12 --progress none -o hero.npz && "$python" "$here/rig_files.py" check usd hero.npz
ok $? "two characters in one shot move at once; one is taken by its path"
for format in usda usdc; do
    supple export -q --rig hero.npz --over --asset ./hero.usda -o over.$format && supple import over.$format --progress none -o over.npz >log.txt 2>&1 && ! grep -q skeleton log.txt && "$python" - <<'CHECK'
import json
import numpy as np
def world(path):
    a = np.load(path)
    p = a["points"].astype(float)[:, a["source_vertex"]]
    return a, np.einsum("fij,fvj->fvi", a["root"][:, :3, :3], p) + a["root"][:, None, :3, 3]
(a, p), (b, q) = world("hero.npz"), world("over.npz")
path = lambda x: json.loads(x["meta.json"])["object_paths"]
assert path(a) == path(b) == ["/world/hero/tube"] and (a["face_indices"] == b["face_indices"]).all()
assert abs(p - q).max() < 1e-6 * np.ptp(p[0], axis=0).max(), abs(p - q).max()
CHECK
    ok $? "a $format layer over it takes its meshes from their skeleton and puts them where it did"
done
# MD5 keeps a character and each of its motions in files of their own: a square rod along z, bent by 90 degrees half way up.
"$python" - <<'PY' && supple import rod.md5mesh --clip bend.md5anim --unit m --progress none -o rod.npz && "$python" - <<'CHECK'
from math import pi, sin
points = [(x, y, z) for z in range(4) for x, y in ((-.5, -.5), (.5, -.5), (.5, .5), (-.5, .5))]
faces = [(0, 2, 1), (0, 3, 2), (12, 13, 14), (12, 14, 15)]
for a, b in ((4 * r + k, 4 * r + (k + 1) % 4) for r in range(3) for k in range(4)):
    faces += [(a, b, b + 4), (a, b + 4, a + 4)]
with open("rod.md5mesh", "w") as out:
    print('MD5Version 10\ncommandline ""\nnumJoints 2\nnumMeshes 1\n\njoints {\n"low" -1 ( 0 0 0 ) ( 0 0 0 )\n"high" 0 ( 0 0 1.5 ) ( 0 0 0 )\n}\n\nmesh {\nshader "rod"', file=out)
    print("numverts", len(points), *("\nvert %d ( 0 0 ) %d 1" % (i, i) for i in range(len(points))), file=out)
    print("numtris", len(faces), *("\ntri %d %d %d %d" % (i, *f) for i, f in enumerate(faces)), file=out)
    print("numweights", len(points), *("\nweight %d %d 1 ( %g %g %g )" % (i, z > 1.5, x, y, z - 1.5 * (z > 1.5)) for i, (x, y, z) in enumerate(points)), "\n}", file=out)
with open("bend.md5anim", "w") as out:
    print('MD5Version 10\ncommandline ""\nnumFrames 3\nnumJoints 2\nframeRate 24\nnumAnimatedComponents 1\n\nhierarchy {\n"low" -1 0 0\n"high" 0 8 0\n}', file=out)
    print("\nbounds {", *["\n( -1 -1 0 ) ( 1 1 3 )"] * 3, "\n}\n\nbaseframe {\n( 0 0 0 ) ( 0 0 0 )\n( 0 0 1.5 ) ( 0 0 0 )\n}", file=out)
    print(*("\nframe %d {\n%.9g\n}\n" % (f, sin(pi / 8 * f)) for f in range(3)), sep="", file=out)
PY
import numpy as np
points = np.load("rod.npz")["points"]      # y up
x, y, z = points[0].T
assert abs(points[0].max(axis=0) - (.5, 3, .5)).max() < 1e-6 and abs(points[0].min(axis=0) - (-.5, 0, -.5)).max() < 1e-6
bent = np.where((y > 1.5)[:, None], np.stack([x, 1.5 + z, 1.5 - y], axis=1), points[0])
assert abs(points[2] - bent).max() < 1e-6, points[2]
CHECK
ok $? "a motion of MD5 (.md5anim) on its mesh"
sed 's/LINEAR/BEZIER/' collada.dae >curved.dae      # one key of the file
supple import collada.dae --clip animation --fps 240 --progress none -o far.npz 2>far.txt && ! grep -q "straight lines" far.txt &&
    supple import curved.dae --clip animation --fps 240 --progress none -o far.npz 2>far.txt && grep -q "keys lie up to .* along straight lines" far.txt
ok $? "Collada keys farther apart than frames: a warning where the file says curves, none where it says lines"
# A character in one file, its motion in another: in binary, text and Collada; with links that assimp makes of pivots and pre-rotations
# of animated nodes only.
for kind in fbx-bare fbx-pivot-bare; do "$python" "$here/rig_files.py" write $kind $kind.fbx; done
for each in fbx-bare:fbx.fbx fbx-bare:fbx-text.fbx:bend fbx-bare:collada.dae fbx-pivot-bare:fbx-pivot.fbx fbx-late:fbx.fbx; do
    rig=${each%%:*} motion=${each#*:} kind=${rig%-bare} kind=${kind%-late}
    supple import $rig.fbx --clip $motion --progress none -o other.npz 2>log.txt && "$python" "$here/rig_files.py" check $kind other.npz &&
        ! grep -q warning log.txt
    ok $? "the motion of $motion on $rig"
done
supple import -q fbx-bare.fbx --clip nothing.fbx -o x.npz 2>log.txt
[ $? = 3 ] && grep -q "nothing.fbx: cannot open" log.txt
ok $? "a motion that is not there"
sed 's/FBXVersion: 7[0-9]*/FBXVersion: 5800/; s/FBX 7\.[0-9.]*/FBX 5.8.0/' fbx-text.fbx >old.fbx
supple import -q old.fbx -o x.npz 2>log.txt
[ $? = 3 ] && grep -q "old.fbx: an FBX file older than version 6; convert it" log.txt
ok $? "an FBX of before 2006 is refused with what to do"
sed 's/Model::knee/Model::elbow/' fbx-text.fbx >elbow.fbx && supple import fbx-bare.fbx --clip elbow.fbx --progress none -o x.npz 2>log.txt &&
    grep -q "warning: elbow.fbx: 1 of the nodes that it moves are not in fbx-bare.fbx and were left out, 'elbow' first" log.txt
ok $? "a joint that the character does not have is named"
# Chains of ten joints with one name in common: another skeleton's motion; of three in common it moves these.
for case in 1:3 3:0; do
    "$python" - ${case%:*} <<'PY'
import base64, json, struct, sys
same = int(sys.argv[1])
def chain(path, names, moving, armature=False):  # armature: the chain hangs on one that is turned, and stands as it does without
    n, data, views, accessors = len(names), b"", [], []
    def add(values, kind, component, form):
        nonlocal data
        raw = struct.pack("<%d%s" % (len(values), form), *values)
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(raw)})
        data += raw + b"\0" * (-len(raw) % 4)
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[kind]
        one = {"bufferView": len(views) - 1, "componentType": component, "count": len(values) // width, "type": kind}
        if kind in ("VEC3", "SCALAR"):
            one["min"], one["max"] = ([f(values[k::width]) for k in range(width)] for f in (min, max))
        accessors.append(one)
        return len(accessors) - 1
    nodes = [{"name": a, "translation": [0, 1.0 * (k > 0), 0], **({"children": [k + 1]} if k + 1 < n else {})} for k, a in enumerate(names)]
    nodes.append({"name": "body", "mesh": 0, "skin": 0})
    points, joints, weights = [], [], []
    for k in range(n):
        for x, z in ((0, 0), (1, 0), (0, 1)):
            points += [x, k, z]
            joints += [k, 0, 0, 0]
            weights += [1, 0, 0, 0]
    faces = []
    for k in range(n - 1):
        for a in range(3):
            b = (a + 1) % 3
            faces += [3 * k + a, 3 * k + b, 3 * k + 3 + a, 3 * k + b, 3 * k + 3 + b, 3 * k + 3 + a]
    faces += [0, 2, 1, 3 * n - 3, 3 * n - 2, 3 * n - 1]
    binds = sum(([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -k, 0, 1] for k in range(n)), [])
    root = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, n]}], "nodes": nodes,
            "meshes": [{"primitives": [{"attributes": {"POSITION": add(points, "VEC3", 5126, "f"), "JOINTS_0": add(joints, "VEC4", 5121, "B"),
                                                       "WEIGHTS_0": add(weights, "VEC4", 5126, "f")}, "indices": add(faces, "SCALAR", 5123, "H")}]}],
            "skins": [{"joints": list(range(n)), "inverseBindMatrices": add(binds, "MAT4", 5126, "f")}]}
    if moving:
        times, turns = add([0, 0.5, 1], "SCALAR", 5126, "f"), add([0, 0, 0, 1, 0.1, 0, 0, 0.995, 0, 0, 0, 1], "VEC4", 5126, "f")
        root["animations"] = [{"name": "sway", "samplers": [{"input": times, "output": turns}],
                               "channels": [{"sampler": 0, "target": {"node": k, "path": "rotation"}} for k in range(n)]}]
    if armature:
        s = 0.5 ** 0.5
        turned = add([s, 0, 0, s, s * (0.1 + 0.995), 0, 0, s * (0.995 - 0.1), s, 0, 0, s], "VEC4", 5126, "f")
        places = add([0, 0, 0.5, 0, 0, 0.5, 0, 0, 0.5], "VEC3", 5126, "f")  # of the first joint: half a unit up in the world
        root["animations"][0]["samplers"] += [{"input": times, "output": turned}, {"input": times, "output": places}]
        root["animations"][0]["channels"][0]["sampler"] = 1
        root["animations"][0]["channels"].append({"sampler": 2, "target": {"node": 0, "path": "translation"}})
        nodes[0].update(rotation=[s, 0, 0, s], translation=[0, 0, 0.5])
        nodes.append({"name": "armature", "rotation": [-s, 0, 0, s], "children": [0]})
        root["scenes"][0]["nodes"][0] = n + 1
    root["buffers"] = [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}]
    root["bufferViews"], root["accessors"] = views, accessors
    json.dump(root, open(path, "w"))
mine = ["pelvis", "waist", "ribs", "collar", "throat", "skull", "temple", "brow", "crest", "plume"]
theirs = ["mast", "boom", "stay", "shroud", "spar", "keel", "helm", "jib", "reef", "buoy"]
chain("mine.gltf", mine, False)
chain("theirs.gltf", mine[:same] + theirs[same:], True)
chain("plain.gltf", mine, True)
chain("hung.gltf", mine, True, True)
PY
    supple import mine.gltf --clip theirs.gltf --progress none -o x.npz 2>log.txt
    [ $? = ${case#*:} ] && { [ ${case#*:} = 0 ] || grep -q "clip 'sway' is another skeleton's: of its 10 nodes 1 are there by name, '[a-z]*' for one is not; put the motion on" log.txt; }
    ok $? "of ten joints ${case%:*} have the same names: $(tail -n 1 log.txt)"
done
supple import mine.gltf --clip plain.gltf --progress none -o plain.npz 2>log.txt && supple import mine.gltf --clip hung.gltf --progress none -o hung.npz 2>>log.txt &&
    ! grep -q "another place" log.txt && "$python" - <<'PY'
import numpy as np
def places(path):
    d = np.load(path)
    r = d["root"].reshape(-1, 4, 4)
    return np.einsum("fij,fvj->fvi", r[:, :3, :3], d["points"]) + r[:, None, :3, 3]
plain, hung = places("plain.npz"), places("hung.npz")
assert np.ptp(plain, axis=0).max() > 0.1
off = np.abs(hung - plain - [0, 0.5, 0]).max()
assert off < 1e-6, off
PY
ok $? "a skeleton that hangs on a turned armature stands as it does there"
"$python" - <<'PY' && supple import mine.gltf --clip lying.gltf --progress none -o lying.npz 2>log.txt && "$python" -c 'import numpy as np
a, b = np.load("plain.npz"), np.load("lying.npz")
assert (a["points"] == b["points"]).all() and (a["root"] == b["root"]).all()'
import json
g = json.load(open("plain.gltf"))
g["nodes"].append({"name": "ground", "rotation": [-0.5 ** 0.5, 0, 0, 0.5 ** 0.5], "children": [0]})
g["scenes"][0]["nodes"][0] = len(g["nodes"]) - 1
json.dump(g, open("lying.gltf", "w"))
PY
ok $? "one that is turned as a whole there keeps its turn here"
"$python" - <<'PY' && supple import -q walks.gltf -o walks.npz 2>log.txt && supple import mine.gltf --clip walks.gltf --progress none -o x.npz 2>>log.txt && ! grep -q "proportions\|place" log.txt && "$python" -c 'import numpy as np
a, b, still = np.load("walks.npz"), np.load("x.npz"), np.load("plain.npz")
assert np.abs(a["points"] - b["points"]).max() < 1e-6 < 0.1 < np.abs(a["points"] - still["points"]).max()'
import base64, json, struct
g = json.load(open("plain.gltf"))
places = [0.8, 0.6, 0, 0.8, 0.6, 0.02, 0.8, 0.6, 0]  # as far from its parent as here, and hardly moved
data = base64.b64decode(g["buffers"][0]["uri"].split(",")[1])
g["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": 36})
g["accessors"].append({"bufferView": len(g["bufferViews"]) - 1, "componentType": 5126, "count": 3, "type": "VEC3"})
data += struct.pack("<9f", *places)
g["buffers"][0] = {"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
sway = g["animations"][0]
sway["samplers"].append({"input": sway["samplers"][0]["input"], "output": len(g["accessors"]) - 1})
sway["channels"].append({"sampler": len(sway["samplers"]) - 1, "target": {"node": 4, "path": "translation"}})
g["nodes"][4]["translation"] = places[:3]
json.dump(g, open("walks.gltf", "w"))
PY
ok $? "a joint that moves about its parent, shown at another time in each file"
sed 's/"Lcl Translation", "Lcl Translation", "", "A",0, 60, 0/"Lcl Translation", "Lcl Translation", "", "A",0, 70, 0/; s/"A", 0, 60, 0/"A", 0, 70, 0/' fbx-text.fbx >long.fbx
cmp -s long.fbx fbx-text.fbx && echo "# the file did not change"
supple import fbx-bare.fbx --clip long.fbx --progress none -o x.npz 2>log.txt && "$python" "$here/rig_files.py" check fbx x.npz &&
    grep -q "long.fbx: fitted to other proportions: 1 joints keep their own places ('knee' differs most)" log.txt && ! grep -q warning log.txt
ok $? "one that stands elsewhere keeps its place"
sed 's/"Lcl Translation", "Lcl Translation", "", "A",0, 60, 0/"Lcl Translation", "Lcl Translation", "", "A",60, 0, 0/; s/"A", 0, 60, 0/"A", 60, 0, 0/' fbx-text.fbx >turned.fbx
supple import fbx-bare.fbx --clip turned.fbx --progress none -o x.npz 2>log.txt &&
    grep -q "warning: turned.fbx: a skeleton with other axes; joints turn in the world" log.txt
ok $? "a skeleton with other axes, with a warning"
for file in fbx-text turned; do sed 's/Model::\(hip\|knee\|toe\)/Model::Bip01 \1/' $file.fbx >headed-$file.fbx; done
supple import fbx-bare.fbx --clip headed-fbx-text.fbx --progress none -o x.npz 2>log.txt && "$python" "$here/rig_files.py" check fbx x.npz &&
    grep -q "warning: headed-fbx-text.fbx: its nodes have other names than those of fbx-bare.fbx; 'Bip01 hip' was taken for 'hip', and so the others" log.txt
ok $? "names that differ in front by the same word"
sed 's/Model::hip/Model::hip_01/; s/Model::knee/Model::knee_010/; s/Model::toe/Model::toe_02/' fbx-text.fbx >numbered.fbx
cmp -s numbered.fbx fbx-text.fbx && echo "# the file did not change"
supple import fbx-bare.fbx --clip numbered.fbx --progress none -o x.npz 2>log.txt && "$python" "$here/rig_files.py" check fbx x.npz &&
    grep -q "warning: numbered.fbx: its nodes have other names than those of fbx-bare.fbx; 'hip_01' was taken for 'hip', and so the others" log.txt
ok $? "names with numbers behind them"
supple import fbx-bare.fbx --clip headed-turned.fbx --progress none -o y.npz 2>log.txt && supple import fbx-bare.fbx --clip turned.fbx --progress none -o x.npz 2>>log.txt &&
    cmp_points x.npz y.npz && grep -q "warning: headed-turned.fbx: its nodes have other names" log.txt && grep -q "warning: headed-turned.fbx: a skeleton with other axes" log.txt
ok $? "and those of a skeleton with other axes"
supple import -q fbx.fbx --clip bend --skinning dqs --progress none -o dqs.npz && "$python" "$here/rig_files.py" check fbx dqs.npz dqs &&
    ! "$python" "$here/rig_files.py" check fbx dqs.npz bend >/dev/null 2>&1
ok $? "--skinning dqs blends dual quaternions"
for kind in fbx fbx-text; do
    "$python" "$here/rig_files.py" write $kind-dual $kind-dual.fbx && supple import $kind-dual.fbx --clip bend --progress none -o x.npz 2>log.txt &&
        "$python" "$here/rig_files.py" check $kind x.npz dqs && grep -q "skins blend dual quaternions, and so it is here" log.txt &&
        supple import -q $kind-dual.fbx --clip bend --skinning lbs --progress none -o x.npz && "$python" "$here/rig_files.py" check $kind x.npz bend
    ok $? "$kind: a skin that says it blends dual quaternions"
    "$python" "$here/rig_files.py" write $kind-blend $kind-blend.fbx && supple import $kind-blend.fbx --clip bend --progress none -o x.npz 2>log.txt &&
        "$python" "$here/rig_files.py" check $kind x.npz bend && grep -q "warning: 1 of 1 skins blend dual quaternions, some at some of their vertices" log.txt
    ok $? "$kind: one that does at some vertices is told"
done
# Where the skin really is: the rig's own positions with something that no skinning does, in the file's space, unit and order.
supple import -q fbx-z.fbx --clip bend --progress none -o plain.npz && supple export -q --rig plain.npz -o rig.npy && "$python" - <<'PY' &&
import struct
import numpy as np
p = np.load("rig.npy")
bulge = p + (0.02 * np.ptp(p[0], axis=0).max() * np.sin(np.arange(len(p)))[:, None, None] * np.cos(p / 7)).astype(np.float32)
np.save("bulge.npy", bulge)
def write(name, points):
    open(name, "wb").write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, points.shape[1], 1.0, 1.0, len(points)) + points.astype("<f4").tobytes())
write("bulge.pc2", bulge), write("short.pc2", bulge[1:]), write("few.pc2", bulge[:, 1:])
PY
    supple import fbx-z.fbx --clip bend --points bulge.pc2 --progress none -o bulge.npz 2>log.txt && supple export -q --rig bulge.npz -o back.npy && "$python" - <<'PY'
import numpy as np
want, back, plain = np.load("bulge.npy"), np.load("back.npy"), np.load("rig.npy")
size = np.linalg.norm(np.ptp(want[0], axis=0))
assert abs(back - want).max() < 1e-6 * size < 1e-3 * abs(plain - want).max(), (abs(back - want).max(), size)
a, b = np.load("bulge.npz"), np.load("plain.npz")
assert all((a[name] == b[name]).all() for name in ("root", "neutral", "params", "weights", "bones", "times"))
PY
ok $? "--points: the skin of a cache on the joints of the rig"
for each in short few; do
    supple import -q fbx-z.fbx --clip bend --points $each.pc2 --progress none -o lost.npz 2>log.txt
    [ $? = 3 ] && grep -q "$each.pc2: has [0-9]* \(frames, the clip\|vertices, the character\) [0-9]*" log.txt && [ ! -e lost.npz ]
    ok $? "--points: $(cut -c1-100 log.txt)"
done
"$python" "$here/make_gltf.py" odd odd.gltf && "$python" - <<'PY' &&
import base64, json
g = json.load(open("odd.gltf"))
primitive, = [p for m in g["meshes"] for p in m["primitives"] if "WEIGHTS_0" in p["attributes"]]
head, body = g["buffers"][0]["uri"].split(",")
blob = bytearray(base64.b64decode(body))
for index in primitive["attributes"].values():      # a seam: vertex 7 lies where 3 does and moves with it
    a = g["accessors"][index]
    at, size = g["bufferViews"][a["bufferView"]].get("byteOffset", 0), {"VEC2": 2, "VEC3": 3, "VEC4": 4}[a["type"]] * {5121: 1, 5123: 2, 5126: 4}[a["componentType"]]
    blob[at + 7 * size:at + 8 * size] = blob[at + 3 * size:at + 4 * size]
g["buffers"][0]["uri"] = head + "," + base64.b64encode(blob).decode()
json.dump(g, open("seam.gltf", "w"))
PY
    supple import -q seam.gltf --clip turn --progress none -o seam.npz && supple export -q --rig seam.npz -o seam.npy && "$python" - <<'PY' &&
import struct
import numpy as np
p, joined = np.load("seam.npy"), np.load("seam.npz")["source_vertex"]
pair = next(np.flatnonzero(joined == v) for v in joined if (joined == v).sum() > 1)
p[3:, pair[1]] += 0.1 * np.ptp(p[0], axis=0).max()
open("seam.pc2", "wb").write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, p.shape[1], 1.0, 1.0, len(p)) + p.astype("<f4").tobytes())
PY
    ! supple import -q seam.gltf --clip turn --points seam.pc2 --progress none -o lost.npz 2>log.txt && grep -q "part in frame 3 of the points" log.txt && [ ! -e lost.npz ]
ok $? "--points: vertices that only the cache parts are told"
supple import -q bulge.pc2 --neutral x.obj --points bulge.pc2 -o x.npz 2>log.txt
[ $? = 2 ] && grep -q "goes with a rigged character" log.txt; ok $? "--points of a sequence"
supple import --list fbx-z.fbx >list.txt && grep -q "up z" list.txt && grep -q "'clip2': 0.000 s from 0.167 s, 1 frames" list.txt
ok $? "--list tells the axis, and numbers a clip that has no name"
supple import fbx.fbx --clip clip2 --progress none -o still.npz 2>log.txt && grep -q "one frame; nothing will move" log.txt &&
    "$python" "$here/rig_files.py" check fbx still.npz still
ok $? "a clip without length is one frame, with a warning"

"$python" "$here/make_gltf.py" odd odd.gltf
supple import -q odd.gltf --clip turn --progress none -o odd.npz && "$python" "$here/reference_gltf.py" odd.gltf 0 odd.npz
ok $? "matrix nodes, uneven scale, instances, a mirror agree with the specification"
supple import -q odd.gltf --clip clip3 --progress none -o third.npz && "$python" "$here/reference_gltf.py" odd.gltf 2 third.npz
ok $? "the second of two clips without names"
supple import -q odd.gltf --clip still --progress none -o still.npz 2>/dev/null && "$python" "$here/reference_gltf.py" odd.gltf 3 still.npz
ok $? "a clip of one key"
supple import -q odd.gltf --clip turn --clip clip2 --progress none -o both.npz && supple import -q odd.gltf --clip clip2 --progress none -o second.npz &&
    "$python" - <<'PY'
import json, zipfile
import numpy as np
def load(name):
    a, names = np.load(name), json.loads(zipfile.ZipFile(name).read("meta.json"))["param_names"]
    return {n: a["params"][:, k] for k, n in enumerate(names)}
first, second, both = load("odd.npz"), load("second.npz"), load("both.npz")
for n, p in both.items():
    want = (second if n.startswith("knee") else first)[n]
    assert abs(p - want).max() < 1e-9, n
root, alone = np.load("both.npz")["root"], np.load("odd.npz")["root"]       # the hip carries the root
assert abs(root - alone).max() < 1e-9 and np.ptp(root, axis=0).max() > 0.1 and np.ptp(both["knee.rx"]) > 0.1
PY
ok $? "two clips play together"
supple import odd.gltf --clip turn+clip2 --progress none -o one.npz 2>log.txt && supple import -q odd.gltf --clip turn --progress none -o x.npz 2>said.txt && "$python" - <<'PY' &&
import numpy as np
a, b = np.load("both.npz"), np.load("one.npz")
assert all((a[name] == b[name]).all() for name in ("points", "root", "params", "times"))
PY
    grep -q "warning: odd.gltf: 'clip2' moves other parts than 'turn', and as long: it is left out.* --clip 'turn+clip2'" said.txt && ! grep -q "left out" log.txt
ok $? "named as one, too; and one that is left out is told"
supple import -q odd.gltf --clip clip2 --clip clip3 -o x.npz 2>log.txt
[ $? = 3 ] && grep -q "clips 'clip2' and 'clip3' both move 'knee'" log.txt
ok $? "two clips that move one joint do not"
"$python" "$here/make_gltf.py" light light.gltf && supple import light.gltf --clip turn --progress none -o light.npz 2>log.txt &&
    grep -q "weights of 28 vertices did not sum to 1 and were normalized" log.txt && "$python" "$here/reference_gltf.py" light.gltf 0 light.npz
ok $? "weights that sum to 0.8 are normalized, with a word"
for kind in fbx-cubic fbx-text-cubic; do
    "$python" "$here/rig_files.py" write $kind cubic.fbx && supple import cubic.fbx --clip bend --progress none -o $kind.npz 2>log.txt && ! grep -q "frames apart" log.txt
    ok $? "$kind: curves between keys farther apart than frames are followed"
done
cmp_points fbx-cubic.npz fbx-text-cubic.npz
ok $? "what text says is what binary says"
for kind in fbx fbx-layers; do
    "$python" "$here/rig_files.py" write $kind layers.fbx && supple import layers.fbx --clip bend --progress none -o x.npz 2>$kind.txt
done
grep -q "'bend' moves joints or shapes on several animation layers" fbx-layers.txt && ! grep -q layers fbx.txt
ok $? "a joint on two animation layers: a warning"
# A mark of UTF-8, a comment, a word, numbers that are none, and a picture, which is left out.
printf '\357\273\277' >odd.fbx && sed 's/^Objects:.*/&\n\tVideo: 99, "Video::a, b: c", "Clip" {\n\t\t; "of a jacket: {\n\t\tShading: T\n\t\tCropping: 0,0, -1.#IND,1.#INF\n\t\tContent: ,\n\t\t"iVBORw0KGgo="\n\t}/' fbx-text.fbx >>odd.fbx
[ "$(wc -l <odd.fbx)" -gt "$(wc -l <fbx-text.fbx)" ] || echo "# the file did not change"
supple import odd.fbx --clip bend --progress none -o x.npz 2>log.txt && cmp_points x.npz fbx-text.npz
ok $? "text FBX with comments, words and pictures"
# TimeMode 6 is 30 fps, 3 is 60, 13 is 24/1.001; a custom rate is one of mode 14 alone. Keys stand at 24 a second.
for each in 6:30 14:48 11:24; do
    sed 's/"TimeMode", "enum", "", "", 11/"TimeMode", "enum", "", "", '${each%:*}' \n\t\tP: "CustomFrameRate", "double", "Number", "", 48/' fbx-text.fbx >rate.fbx
    supple import --list rate.fbx | grep -q "'bend': 0.500 s from 0.000 s, $((${each#*:} / 2 + 1)) frames at ${each#*:} fps"
    ok $? "frames at the rate that an FBX says: ${each#*:} fps"
done
"$python" "$here/rig_files.py" write fbx-negative negative.fbx && supple import negative.fbx --clip bend --progress none -o negative.npz 2>log.txt &&
    grep -q "warning: negative skinning weights of 1 vertices were dropped" log.txt && "$python" "$here/rig_files.py" check fbx-negative negative.npz
ok $? "negative weights are dropped, with a warning"
"$python" "$here/make_gltf.py" broken broken.gltf && supple import broken.gltf --clip turn --progress none -o broken.npz 2>log.txt &&
    grep -q "warning: 1 vertices have no skinning weight; they follow the top joint" log.txt && "$python" - <<'PY'
import numpy as np
a, b = np.load("odd.npz"), np.load("broken.npz")
first = np.flatnonzero(a["object_ids"] == 2)[0]
def world(x, f): return (x["points"][f].astype(float) @ x["root"][f][:3, :3].T + x["root"][f][:3, 3])[x["source_vertex"]][first:]
for f in (0, 10, 30):     # vertices 5 and 6 of the tube belong to the hip alone
    assert abs(world(a, f) - world(b, f)).max() < 1e-6, f
PY
ok $? "a vertex without weights follows the top joint, with a warning"
supple import fbx.fbx --clip bend --unit m --scale 0.5 --up z --progress none -q -o big.npz 2>log.txt && grep -q "the character is [0-9.]* m tall and 60 m at its largest; is the unit right" log.txt &&
    "$python" - <<'PY'
import json, zipfile
import numpy as np
a, b, meta = np.load("big.npz"), np.load("fbx.npz"), json.loads(zipfile.ZipFile("big.npz").read("meta.json"))
p, q = b["neutral"] * 50, a["neutral"]
assert meta["source_unit"] == 0.5 and meta["source_up"] == "z" and abs(np.c_[p[:, 0], p[:, 2], -p[:, 1]] - q).max() < 1e-5 * 60
PY
ok $? "--unit, --scale and --up take the place of what the file says"
"$python" - <<'PY' && supple import -q unbound.gltf --progress none -o unbound.npz && supple import -q bound.gltf --progress none -o bound.npz && cmp_points unbound.npz bound.npz
import base64, json
import numpy as np
g = json.load(open("odd.gltf"))
a = g["accessors"][g["skins"][0]["inverseBindMatrices"]]
view, raw = g["bufferViews"][a["bufferView"]], bytearray(base64.b64decode(g["buffers"][0]["uri"].split(",")[1]))
raw[view["byteOffset"]:view["byteOffset"] + view["byteLength"]] = np.tile(np.eye(4, dtype="<f4"), (2, 1)).tobytes()
g["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(raw).decode()
json.dump(g, open("bound.gltf", "w"))
del g["skins"][0]["inverseBindMatrices"]
json.dump(g, open("unbound.gltf", "w"))
PY
ok $? "a skin without bind matrices has identities"
"$python" - <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("odd.npz"), json.loads(zipfile.ZipFile("odd.npz").read("meta.json"))
assert meta["object_names"] == ["left", "right", "tube"]
ids = np.zeros(len(a["neutral"]), int)
ids[a["source_vertex"]] = a["object_ids"]
def volume(points, faces):
    q = points[faces]
    return np.einsum("ij,ij->i", q[:, 0], np.cross(q[:, 1], q[:, 2])).sum() / 6
source = a["neutral"][a["source_vertex"]]
for object in range(3):
    own = a["triangles"][ids[a["triangles"][:, 0]] == object]
    polygons = a["face_indices"].reshape(-1, 3)
    polygons = polygons[a["object_ids"][polygons[:, 0]] == object]
    assert volume(a["neutral"], own) > 0 and volume(source, polygons) > 0, object     # outside out, in the mirror too
left, right = source[a["object_ids"] == 0], source[a["object_ids"] == 1]
assert abs(np.ptp(left, axis=0) - np.ptp(right, axis=0)).max() < 1e-6 and abs(left - right).max() > 0.3
assert (a["rigid"][a["source_vertex"]] == (a["object_ids"] < 2)).all()
tube = source[a["object_ids"] == 2]     # bound straight, posed bent: the neutral pose is the bound one
sides = np.sort(np.ptp(tube, axis=0))
assert abs(sides / sides[0] - [1, 1, 5]).max() < 1e-5, sides
PY
ok $? "a mirrored mesh keeps its outside, the neutral pose is the bind pose"
"$python" "$here/human_files.py" write . || ok 1 "writing a body"
for pair in body.vrm:dance.vrma body.vrm:dance.gltf body.vrm:dance.bvh; do
    case $pair in *.bvh) tolerance=2e-5 ;; *) tolerance=2e-6 ;; esac     # its angles are read in single precision
    supple import ${pair%:*} --clip ${pair#*:} --progress none -o dance.npz 2>log.txt && "$python" "$here/human_files.py" check dance.npz $tolerance &&
        grep -q "warning: dance.*another skeleton; bones of a human were taken for the same ('.*' for 'n[0-9]*'" log.txt && ! grep -q "left out" log.txt
    ok $? "${pair#*:} on ${pair%:*}: bones of a human, other names, axes, size and direction"
done
supple import -q dance.bvh -o x.npz 2>log.txt
[ $? = 3 ] && grep -q "dance.bvh: the file holds no mesh with faces; a motion alone goes behind its character" log.txt
ok $? "a .bvh alone says where it goes"
supple import body.gltf --clip dance.gltf --progress none -o dance.npz 2>log.txt && "$python" "$here/human_files.py" check dance.npz 2e-6 &&
    grep -q "warning: dance.gltf: a skeleton with other axes; .* 0.244 times as long" log.txt
ok $? "the same names with other axes: joints turn in the world"
echo "1..$count"
