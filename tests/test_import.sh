#!/bin/sh
# supple import: positions against an evaluator written straight from the glTF specification, and bad input.
. "$(dirname "$0")/tap.sh"
find_numpy

# ---- every clip of the skinned and morphing characters, at 20 times, at keys and between them ----
compare() {   # FILE
    file=$1 path=$SUPPLE_DATA/$1
    if [ ! -f "$path" ]; then skip "$1 agrees with the specification" "no data"; return; fi
    if [ -z "$python" ]; then skip "$1 agrees with the specification" "no numpy"; return; fi
    worst=0 clips=0
    "$python" -c 'import sys; sys.path.insert(0, sys.argv[1]); import reference_gltf as r
for i, a in enumerate(r.Gltf(sys.argv[2]).json["animations"]): print(i, a.get("name", ""))' "$here" "$path" >clips.txt
    while read -r index name; do
        clips=$((clips + 1))
        for fps in 0 37; do
            times=20
            [ $fps = 0 ] || times=6
            set -- -q "$path" -o x.anim.npz
            [ -n "$name" ] && set -- "$@" --clip "$name"
            [ $fps = 0 ] || set -- "$@" --fps $fps
            supple import "$@" 2>log.txt || { worst=1; cat log.txt; }
            "$python" "$here/reference_gltf.py" "$path" "$index" x.anim.npz $times >out.txt 2>&1 || worst=1
            echo "# $name, fps $fps: $(tail -1 out.txt)"
        done
    done <clips.txt
    [ $worst = 0 ] && [ $clips -gt 0 ]
    ok $? "$file agrees with the specification to 1e-5 of its size"
}
compare cesium_man/cesium_man.gltf
compare fox/Fox.glb
compare mannequiny/mannequiny-0.3.0.glb
compare morph_stress_test/MorphStressTest.gltf

if [ -n "$python" ]; then
    "$python" "$here/make_gltf.py" hard hard.gltf &&
        supple import -q hard.gltf --fps 60 --object skin --object hat --object floor -o hard.npz &&
        "$python" "$here/reference_gltf.py" hard.gltf 0 hard.npz 40
    ok $? "stepped and cubic keys, six joints a vertex, uneven scale, rigid props agree with the specification"
    supple import hard.gltf --progress none -o hard.npz 2>log.txt && grep -q "1 objects that do not move with the skeleton were left out .*: floor$" log.txt &&
        grep -q "1 objects without skin follow their joints and get no flesh: hat$" log.txt &&
        "$python" - <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("hard.npz"), json.loads(zipfile.ZipFile("hard.npz").read("meta.json"))
assert meta["object_names"] == ["hat", "skin"]
assert (a["rigid"][a["source_vertex"]] == (a["object_ids"] == 0)).all() and a["rigid"].sum() == 8
assert not any(n.startswith("hat.") for n in meta["param_names"])
PY
    ok $? "a prop on a joint is rigid, a floor stays out"
    "$python" "$here/make_gltf.py" held held.gltf && supple import -q held.gltf --fps 60 -o held.npz &&
        "$python" "$here/reference_gltf.py" held.gltf 0 held.npz 40
    ok $? "a prop on a joint that carries no skin comes in and follows it"
    "$python" "$here/make_gltf.py" figure figure.gltf && supple import figure.gltf --progress none -o figure.npz 2>log.txt &&
        grep -q "most of the body is 5 objects that hang on joints without skin: they get flesh$" log.txt && supple import -q figure.gltf --rigid hat -o hat.npz &&
        "$python" - <<'PY'
import numpy as np
a, hat = np.load("figure.npz"), np.load("hat.npz")
assert "rigid" not in a and hat["rigid"].sum() == 8
PY
    ok $? "a body of objects on joints, skinned at its end alone, is flesh; --rigid says what is not"
    "$python" - <<'PY' && supple import -q hanging.gltf -o hanging.npz && "$python" - <<'CHECK'
import json
g = json.load(open("figure.gltf"))
g["nodes"][4]["rotation"] = [0.766, 0, 0, 0.643]      # 100 degrees: the end of figure hangs where nothing is animated
json.dump(g, open("hanging.gltf", "w"))
PY
import json, zipfile
import numpy as np
a, names = np.load("hanging.npz"), json.loads(zipfile.ZipFile("hanging.npz").read("meta.json"))["object_names"]
boxes = np.isin(a["object_ids"], [k for k, n in enumerate(names) if n.startswith("box")])
size = np.ptp(a["neutral"][a["source_vertex"][boxes]], axis=0)
assert size.argmax() == 1 and size[1] > 1.5 * size[0], size
CHECK
    ok $? "a body stands upright where all that is skinned hangs"
    "$python" "$here/make_gltf.py" morph morph.gltf && supple import -q morph.gltf --fps 60 -o morph.npz &&
        "$python" "$here/reference_gltf.py" morph.gltf 0 morph.npz 40 && supple poses -q morph.npz -m 4 -o poses.npz && "$python" - <<'PY'
import json, zipfile
import numpy as np
a = np.load("poses.npz")
assert np.linalg.matrix_rank(a["params"]) == 2 and len(a["params"]) == 4, a["params"]
# not by what its shapes are called: poses lie as far apart as their skins
x = a["shapes"].reshape(4, -1)
far = lambda v: np.linalg.norm(v[:, None] - v[None], axis=2)
assert abs(far(x) - far(a["params"])).max() < 0.01 * far(x).max()
assert "bone_segments" not in a.files
PY
    ok $? "a character of blend shapes without joints, and poses of it"
    supple poses -q morph.npz -m 3 -o few.npz && supple mesh -q few.npz --tets 400 -o few.tet.npz --stats few.json &&
        supple fit -q few.tet.npz few.npz -o few.fit.npz && supple fullsim -q few.tet.npz few.fit.npz morph.npz -o few.sim.npz 2>said &&
        ! grep -q "does not know" said && "$python" - <<'PY'
import json
assert json.load(open("few.json"))["core_parts"] == 1
PY
    ok $? "its flesh is held by a core that goes with the skin, and its clips are known"
    "$python" "$here/make_gltf.py" prop prop.gltf && supple import prop.gltf --fps 60 -o prop.npz >said 2>&1 &&
        grep -q "1 objects skinned to one joint follow it and get no flesh: hat" said && "$python" - <<'PY'
import numpy as np
a = np.load("prop.npz")
assert (a["rigid"][a["source_vertex"]] == (a["object_ids"] == 1)).all() and a["rigid"].sum() == 8
PY
    ok $? "a prop skinned to a last joint is rigid, too"
    "$python" "$here/make_gltf.py" prop prop.gltf 3 && supple import prop.gltf --fps 60 -o prop.npz >said 2>&1 && ! grep -q "get no flesh" said
    ok $? "what is skinned to one joint of a trunk is flesh"
    "$python" "$here/make_gltf.py" twins twins.gltf && supple import -q twins.gltf --fps 60 --object thing -o twins.npz &&
        "$python" "$here/reference_gltf.py" twins.gltf 0 twins.npz 40 && "$python" - <<'PY'
import json, zipfile
meta = json.loads(zipfile.ZipFile("twins.npz").read("meta.json"))
assert meta["bone_names"].count("bone") == 3 and meta["bone_names"].count("end") == 2, meta["bone_names"]
names = {n.rsplit(".", 1)[0] for n in meta["param_names"]}
assert {"hip", "bone", "bone#2", "bone#3", "end", "end#2"} <= names, names
PY
    ok $? "joints of equal names are told apart by their numbers, as glTF does"
    printf 'time,bone#3.rx,hip.ry # a key a row\n0,0,0\n1,1,0\n' >curves.csv
    supple import -q twins.gltf --clip curves.csv -o curves.npz && "$python" - <<'PY'
import json, zipfile
import numpy as np
a, names = np.load("curves.npz"), json.loads(zipfile.ZipFile("curves.npz").read("meta.json"))["param_names"]
last = {n: v for n, v in zip(names, a["params"][-1]) if abs(v) > 1e-6 and n != "shape0"}
assert list(last) == ["bone#3.rx"] and abs(last["bone#3.rx"] - 1) < 1e-6, last
PY
    ok $? "joint curves name them as the parameters do"
else
    skip "stepped and cubic keys" "no numpy"
fi

# The cache of the same mesh tells what the vertex order of the FBX must be; its rig follows the cache to 1.5e-4 at frame 0.
bone=$SUPPLE_DATA/mesh_sequences/bone
if [ -f "$bone/Bone_All.fbx" ] && [ -n "$python" ]; then
    supple import -q "$bone/Bone_All.fbx" --unit m --progress none -o fbx.npz &&
        supple import -q "$bone/Bone_Anim.abc" --progress none -o abc.npz && "$python" - <<'PY'
import numpy as np
a, b = np.load("fbx.npz"), np.load("abc.npz")
def world(x):
    return x["points"][0].astype(float)[x["source_vertex"]] @ x["root"][0][:3, :3].T + x["root"][0][:3, 3]
assert (a["face_counts"] == b["face_counts"]).all() and (a["face_indices"] == b["face_indices"]).all()
assert len(a["points"]) == 400 and abs(world(a) - world(b)).max() < 2e-4
PY
    ok $? "an FBX keeps its polygons and the order of its control points"
    "$python" - <<'PY'
import numpy as np
x = np.load("fbx.npz")
corner = np.column_stack([x["face_indices"], x["uv"][x["uv_indices"]]])
joined = len(np.unique(corner, axis=0))
pairs = np.unique(np.column_stack([x["face_indices"], x["uv_indices"]]), axis=0)
assert len(pairs) == joined < 0.3 * len(corner) and len(x["uv"]) <= joined, (len(pairs), joined, len(corner), len(x["uv"]))
PY
    ok $? "corners of a vertex with equal texture coordinates share one"
else
    skip "FBX control points" "no data or numpy"
fi

# ---- what cannot be imported says so, in one line, and leaves nothing behind ----
refuse() {   # DESCRIPTION STATUS WORDS ARGUMENTS...
    what=$1 want=$2 words=$3
    shift 3
    supple import "$@" --progress none -o bad.anim.npz >out.txt 2>err.txt
    got=$?
    lines=$(wc -l <err.txt)
    [ $got = "$want" ] && [ "$lines" = 1 ] && grep -q "$words" err.txt && [ ! -e bad.anim.npz ] && [ -z "$(ls | grep tmp)" ]
    result=$?
    [ $result = 0 ] || { echo "# status $got, $lines lines:"; sed 's/^/# /' err.txt; }
    ok $result "$what"
}
echo "this is a text" >text.glb
: >empty.glb
mkdir folder.glb
refuse "a text renamed .glb" 3 "text.glb" text.glb
refuse "an empty file" 3 "empty" empty.glb
refuse "a missing file" 3 "No such file" nowhere.glb
refuse "a folder" 3 "not a file" folder.glb
refuse "a kind nobody knows" 3 "cannot read" "$here/run"
fox=$SUPPLE_DATA/fox/Fox.glb
if [ -f "$fox" ]; then
    head -c 100000 "$fox" >cut.glb
    refuse "a truncated .glb" 3 "cut.glb" cut.glb
    refuse "a clip that does not exist" 3 "no clip is called 'Fly'" "$fox" --clip Fly
    refuse "an object that does not exist" 3 "no object" "$fox" --clip Run --object hen
    refuse "a stretch outside the clip" 3 "has frames 0 to" "$fox" --clip Run --start 99
    supple import "$fox" >out.txt 2>&1
    [ $? = 2 ]; ok $? "no output file: a usage error"
    supple import -q "$fox" --clip Run -o nowhere/x.npz >out.txt 2>&1
    [ $? = 1 ]; ok $? "an output folder that does not exist: status 1"
    if [ -n "$python" ]; then
        "$python" - "$fox" <<'PY'
import sys, json, struct
raw = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack_from("<I", raw, 12)[0]
g = json.loads(raw[20:20 + size])
a = g["accessors"][g["meshes"][0]["primitives"][0]["attributes"]["POSITION"]]
v = g["bufferViews"][a["bufferView"]]
struct.pack_into("<f", raw, 20 + size + 8 + v.get("byteOffset", 0) + a.get("byteOffset", 0) + 24, float("nan"))
open("nan.glb", "wb").write(raw)
PY
        refuse "positions that are not numbers" 3 "vertex 2 is not a finite number" nan.glb --clip Run
    fi
    supple import -q "$fox" --clip Run -j 1 -o a.npz && supple import -q "$fox" --clip Run -j 2 -o b.npz && cmp a.npz b.npz
    ok $? "the same bytes for any number of threads"
    supple import -q "$fox" --clip Run --start 4 --end 9 --frame-start 1001 -o part.npz && supple info part.npz >part.txt &&
        grep -q 'frame_start  *1001' part.txt && grep -q 'times  *f64 6 .* 41.7083 to 41.9167' part.txt
    ok $? "--start and --end cut by frame numbers, --frame-start renumbers frames and clock"
    supple import -q "$fox" --clip Run --skinning dqs -o dqs.npz && ! cmp -s dqs.npz a.npz; ok $? "--skinning dqs"
    awk 'BEGIN { print "smile,frown"; for (i = 0; i < 28; i++) print i / 27 ",0.5" }' >own.csv
    supple import -q "$fox" --clip Run --params own.csv -o own.npz && supple info own.npz | grep -q 'param_names  *\["smile","frown"\]'
    ok $? "--params takes the place of the joints"
    sed 1,4d own.csv >few.csv
    refuse "parameters for other frames" 3 "few.csv: has 25 rows, the clip has 28 frames" -q "$fox" --clip Run --unit cm --params few.csv
    supple import --list "$fox" >list.txt && grep -q "'Run': 1.158 s" list.txt && grep -q "b_Hip_01" list.txt
    ok $? "--list names clips and joints"
else
    skip "damaged glTF files" "no data"
fi
hand=$SUPPLE_DATA/hand_left/left.glb
if [ -f "$hand" ]; then
    refuse "a file without animation" 3 "no animation" "$hand"
    printf 'frame, index-finger-phalanx-distal.rx\n0,0\n12,-37.5\n24,-75\n' >curl.csv
    printf 'frame,elbow.rx\n0,0\n1,1\n' >wrong.csv
    printf 'frame,index-finger-phalanx-distal.rx\n0,0\n1\n' >short.csv
    printf 'frame,wrist.tx\n0,0\n1,1e308\n' >far.csv
    supple import -q "$hand" --clip curl.csv --degrees -o small.npz 2>log.txt && grep -q "warning: the character is 0.[0-9]* m tall.*is the unit right? --unit" log.txt &&
        supple import -q "$hand" --clip curl.csv --degrees --unit m -o small.npz 2>log.txt && [ ! -s log.txt ]
    ok $? "a size that is odd is asked about where nobody named the unit"
    refuse "a joint out of all bounds" 3 "finite" "$hand" -q --unit m --clip far.csv
    refuse "curves of a joint that does not exist" 3 "'elbow.rx'" "$hand" --clip wrong.csv
    refuse "a table with a short row" 3 "short.csv:3" "$hand" --clip short.csv
    supple import -q "$hand" --clip curl.csv --degrees -o curl.npz
    if [ -n "$python" ]; then
        "$python" - <<'PY'
import json, zipfile
import numpy as np
a, meta = np.load("curl.npz"), json.loads(zipfile.ZipFile("curl.npz").read("meta.json"))
p, names = a["params"], meta["param_names"]
k = names.index("index-finger-phalanx-distal.rx")
assert abs(p[:, k] - np.linspace(0, np.radians(-75), len(p))).max() < 1e-4, p[:, k]
assert abs(np.delete(p, k, 1)).max() < 1e-4
moved = abs(a["points"][-1] - a["neutral"]).max(1) > 1e-4
w = a["weights"][:, meta["bone_names"].index("index-finger-phalanx-distal")]
assert moved.any() and (w[moved] > 0).all()
PY
        ok $? "joint curves turn the joint they name, by what they say"
    fi
else skip "a file without animation" "no data"; fi
echo "1..$count"
