#!/bin/sh
# One character as glTF in many ways of storing numbers (tests/gltf_variants.py): each must be read as the specification says, and all must agree
# with the one in floats as far as they store. What is not read is refused in one plain sentence. gltfpack and gltf-transform, where they are in
# PATH (npm install -g gltfpack @gltf-transform/cli), pack a real character, too.
. "$(dirname "$0")/tap.sh"
need_numpy "glTF"
export PYTHONDONTWRITEBYTECODE=1

"$python" "$here/gltf_variants.py" . >list.txt || { echo "not ok 1 - the files are written"; exit 1; }
"$python" - <<'PY' && supple import nan.glb --progress none -o nan.npz 2>log.txt && grep -q "1 vertices have no skinning weight" log.txt
import json, struct
data = bytearray(open("float.glb", "rb").read())
size = struct.unpack_from("<I", data, 12)[0]
g = json.loads(data[20:20 + size])
a = next(g["accessors"][p["attributes"]["WEIGHTS_0"]] for m in g["meshes"] for p in m["primitives"] if "WEIGHTS_0" in p["attributes"])
assert a["componentType"] == 5126
struct.pack_into("<4f", data, 28 + size + g["bufferViews"][a["bufferView"]].get("byteOffset", 0) + a.get("byteOffset", 0), *[float("nan")] * 4)
open("nan.glb", "wb").write(data)
PY
ok $? "weights that are no numbers are none, and it says so"
"$python" - <<'PY' && supple import bare.glb --progress none -o bare.npz 2>log.txt && grep -q "warning: nothing will move: .* no mesh of this file is bound to joints" log.txt
import json, struct
data = open("float.glb", "rb").read()
size = struct.unpack_from("<I", data, 12)[0]
g = json.loads(data[20:20 + size])
del g["skins"]
for node in g["nodes"]: node.pop("skin", None)
for node in g["nodes"][6:]: node.pop("mesh", None)  # what hangs on joints moves without skins
for m in g["meshes"]:
    for p in m["primitives"]: p.pop("targets", None)
g["animations"] = [dict(a, channels=[c for c in a["channels"] if c["target"]["path"] != "weights"]) for a in g["animations"]]
text = json.dumps(g).encode()
text += b" " * (-len(text) % 4)
rest = data[20 + size:]
open("bare.glb", "wb").write(struct.pack("<III", 0x46546C67, 2, 20 + len(text) + len(rest)) + struct.pack("<II", len(text), 0x4E4F534A) + text + rest)
PY
ok $? "a character whose skin a converter dropped stands still, and it says why"
supple import float.glb --progress none -o moves.npz 2>log.txt && ! grep -q "nothing will move\|neutral_bone" log.txt; ok $? "one that moves is not said to stand"
sed 's/"name": "j3"/"name": "neutral_bone"/' inside.gltf >neutral.gltf && supple import neutral.gltf --progress none -o neutral.npz 2>log.txt &&
    grep -q "warning: [1-9][0-9]* vertices follow 'neutral_bone'" log.txt
ok $? "what had no weights in Blender is told, as it stays behind"
while read -r file twin largest; do
    supple import -q "$file" --progress none -o "$file.npz" && "$python" "$here/reference_gltf.py" "$twin" 0 "$file.npz" 12 >twin.txt 2>&1 &&
        "$python" "$here/reference_gltf.py" float.glb 0 "$file.npz" 12 "$largest" >float.txt 2>&1
    ok $? "$file: as $twin says, and within $largest of the floats"
    echo "# $(tail -1 twin.txt), $(tail -1 float.txt)"
done <list.txt
"$python" - <<'PY'
import json, zipfile
import numpy as np
twins = {line.split()[0]: line.split()[1] for line in open("list.txt")}
def load(name):
    return np.load(name + ".npz"), json.loads(zipfile.ZipFile(name + ".npz").read("meta.json"))
def turned(a):      # triangles that begin at their lowest corner: codecs may turn them round
    f = a["face_indices"].reshape(-1, 3)
    return np.take_along_axis(f, (f.argmin(1)[:, None] + [0, 1, 2]) % 3, 1)
want, about = load("float.glb")
assert about["object_names"] == ["plate", "j1", "tube"] and about["frame_start"] == 1
assert abs(want["times"] - np.arange(1, 25) / 24).max() < 1e-6, want["times"]
assert about["morph_names"] == ["shape0", "swell"], about["morph_names"]
for name, twin in twins.items():
    (a, meta), plain = load(name), load(twin)[0]
    assert meta["object_names"] == about["object_names"] and meta["param_names"] == about["param_names"] and meta["frame_start"] == 1, name
    assert (turned(a) == turned(want)).all() and (a["object_ids"] == want["object_ids"]).all(), name
    whole = "quantized" in name or "filtered" in name
    assert abs(a["uv"] - want["uv"]).max() < (3e-5 if whole else 1e-6), name
    assert abs(a["color"] - plain["color"]).max() < 1e-6 and abs(a["uv"] - plain["uv"]).max() < 1e-6, name
    assert abs(a["color"] - want["color"]).max() < (0.02 if "filtered" in name else 0.003 if whole else 1e-6), name
    per_object = [a["rigid"][a["source_vertex"][a["object_ids"] == k]].mean() for k in range(3)]
    assert per_object == [1, 1, 0], (name, per_object)      # the box and the plate are carried, with the blend shape of the plate
PY
ok $? "frames keep their numbers; UV, colours, triangles, parts and blend shapes are the same in all"

# Indices of more than sixteen bits are packed in another way.
mkdir many && "$python" - "$here" <<'PY' && supple import -q many/float.glb --progress none -o many/float.npz && supple import -q many/draco.glb --progress none -o many/draco.npz &&
import sys
sys.path.insert(0, sys.argv[1])
import gltf_variants
gltf_variants.RINGS, gltf_variants.FRAMES = 8300, 2
gltf_variants.character("many/float.glb")
gltf_variants.character("many/draco.glb", packed=True)
PY
    "$python" - <<'PY'
import numpy as np
a, b = (np.load(f"many/{name}.npz") for name in ("float", "draco"))
def turned(faces):
    f = faces.reshape(-1, 3)
    return np.take_along_axis(f, (f.argmin(1)[:, None] + [0, 1, 2]) % 3, 1)
assert len(b["source_vertex"]) > 65536 and (a["points"] == b["points"]).all() and (turned(a["face_indices"]) == turned(b["face_indices"])).all()
PY
ok $? "Draco with more than 65,536 vertices"

cp float.glb float.vrm && cp float.glb renamed.bin && supple import -q float.vrm --progress none -o vrm.npz && supple import -q renamed.bin --progress none -o bin.npz &&
    "$python" -c 'import numpy as np; a, b, c = (np.load(f)["points"] for f in ("float.glb.npz", "vrm.npz", "bin.npz")); assert (a == b).all() and (a == c).all()'
ok $? "a VRM is a GLB, and a GLB is known by its first bytes"

# The clip of a file by any of the endings that GLB has, from its own character to itself: the same motion.
cp float.glb float.vrma && supple import -q float.glb --clip float.vrma --progress none -o vrma.npz &&
    supple import -q float.glb --clip renamed.glb --progress none -o no.npz 2>no.txt; [ $? = 3 ] &&
    supple import -q float.glb --clip float.vrm --progress none -o own.npz &&
    "$python" -c 'import numpy as np; a, b, c = (np.load(f)["points"] for f in ("float.glb.npz", "vrma.npz", "own.npz")); assert abs(a - b).max() < 1e-6 and abs(a - c).max() < 1e-6'
ok $? "the clip of a .vrma or .vrm plays as that of a .glb does"

# ---- what is not read ----
refuse() {   # DESCRIPTION FILE WORDS
    supple import "$2" --progress none -o bad.npz >out.txt 2>err.txt
    got=$?
    [ $got = 3 ] && [ "$(wc -l <err.txt)" = 1 ] && grep -q "$3" err.txt && [ ! -e bad.npz ]
    result=$?
    [ $result = 0 ] || { echo "# status $got:"; sed 's/^/# /' err.txt; }
    ok $result "$1"
}
"$python" - <<'PY'
import json, struct
g = json.load(open("inside.gltf"))
def write(name, **more):
    json.dump(dict(g, **more), open(name, "w"))
write("unknown.gltf", extensionsRequired=["KHR_materials_unlit", "EXT_mesh_gpu_instancing"])
write("looks.gltf", extensionsRequired=["KHR_materials_unlit", "KHR_texture_basisu"])
write("one.gltf", asset={"version": "1.0"})
write("cut.gltf", buffers=[dict(g["buffers"][0], uri=g["buffers"][0]["uri"][:3000])])
write("far.gltf", buffers=[dict(g["buffers"][0], uri="https://example.org/a.bin")])
write("lost.gltf", buffers=[dict(g["buffers"][0], uri="nowhere.bin")])
write("folder.gltf", buffers=[dict(g["buffers"][0], uri=".")])
write("loop.gltf", nodes=[dict(x, children=[0]) if x["name"] == "j4" else x for x in g["nodes"]])
raw = bytearray(open("packed-ext.glb", "rb").read())
size = struct.unpack_from("<I", raw, 12)[0]
view = json.loads(raw[20:20 + size])["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]
raw[28 + size + view["byteOffset"] + 5] ^= 0x55      # headers of groups: other lengths
open("broken.glb", "wb").write(raw)
PY
refuse "an extension that the file requires and nobody knows is named" unknown.gltf "requires the extension EXT_mesh_gpu_instancing, which is not read"
refuse "glTF 1.0" one.gltf "it is glTF 1.0; export it as glTF 2.0"
refuse "a buffer that is too short" cut.gltf "beyond its buffer"
refuse "a buffer in the net" far.gltf "only files beside this one"
refuse "a buffer that is not there" lost.gltf "nowhere.bin that belongs to it cannot be read"
refuse "a buffer that is a folder" folder.gltf "that belongs to it cannot be read"
refuse "a node tree with a circle" loop.gltf "node tree is broken"
refuse "a broken meshopt stream" broken.glb "meshopt compression is broken"
supple import -q looks.gltf --progress none -o looks.npz; ok $? "extensions that tell how things look do not matter"
printf 'BLENDER-v304RENDH' >rig.blend && printf 'PXR-USDC' >rig.usdc && printf 'PK' >rig.usdz && printf 'HIERARCHY\nROOT hip\n' >walk.bvh
printf '//Maya ASCII 2024 scene\n' >rig.ma
refuse "a .blend says what to do" rig.blend "scene of Blender; export glTF or FBX from Blender, or run scripts/blender/supple_export.py"
for f in rig.usdc rig.usdz; do refuse "a $f that is cut off" $f "is no USD layer"; done
cp rig.usdc usd.fbx && refuse "USD of another name says what to do" usd.fbx "USD is read as a rig or as meshes that move, of a file that is called .usda, .usdc"
refuse "a .bvh that is cut off" walk.bvh "walk.bvh: cannot read it"
refuse "a .ma says what to do" rig.ma "scene of Maya; export the rig as FBX"

# ---- packed by the programs that people use ----
cat >near.py <<'PY'
import sys
import numpy as np
def world(path):
    a = np.load(path)
    p, r = a["points"].astype(float)[:, a["source_vertex"]], a["root"]
    return np.einsum("fij,fvj->fvi", r[:, :3, :3], p) + r[:, None, :3, 3], a["times"]
(a, ta), (b, tb), worst = world(sys.argv[1]), world(sys.argv[2]), 0.0
for t in np.linspace(0, len(ta) - 1, 5).round().astype(int):
    k = abs(tb - ta[t]).argmin()
    assert abs(tb[k] - ta[t]) < 1e-3
    d = np.linalg.norm(a[t][:, None] - b[k][None], axis=2)
    worst = max(worst, d.min(1).max(), d.min(0).max())
worst /= np.linalg.norm(np.ptp(a[0], axis=0))
print("%.2g" % worst)
sys.exit(int(worst > float(sys.argv[3])))
PY
fox=$SUPPLE_DATA/fox/Fox.glb
packed() {   # DESCRIPTION PROGRAM LARGEST ARGUMENTS...: of the fox
    what=$1 program=$2 largest=$3
    shift 3
    command -v "$program" >/dev/null || { skip "$what" "no $program"; return; }
    [ -f "$fox" ] || { skip "$what" "no data"; return; }
    rm -f out.glb
    "$program" "$@" >log.txt 2>&1 && supple import -q fox.glb --clip Run --fps 30 --unit cm --progress none -o fox.npz && supple import -q out.glb --clip Run --fps 30 \
        --unit cm --progress none -o out.npz && "$python" near.py fox.npz out.npz "$largest" >near.txt
    ok $? "$what"
    echo "# $(tail -1 near.txt)"
}
[ -f "$fox" ] && cp "$fox" fox.glb
packed "gltfpack: quantized" gltfpack 1e-3 -i fox.glb -o out.glb -kn -km
packed "gltfpack: quantized and compressed" gltfpack 1e-3 -i fox.glb -o out.glb -kn -km -c
packed "gltfpack: the better compression" gltfpack 1e-3 -i fox.glb -o out.glb -kn -km -cc
packed "gltfpack: the Khronos extension" gltfpack 1e-3 -i fox.glb -o out.glb -kn -km -cz -ce khr
packed "gltfpack: floats, compressed" gltfpack 1e-3 -i fox.glb -o out.glb -kn -km -cc -vpf -vtf
packed "gltf-transform: quantized" gltf-transform 1e-3 quantize fox.glb out.glb
packed "gltf-transform: meshopt" gltf-transform 1e-3 meshopt fox.glb out.glb
packed "gltf-transform: Draco" gltf-transform 1e-3 draco fox.glb out.glb
packed "gltf-transform: sparse" gltf-transform 1e-6 sparse fox.glb out.glb
echo "1..$count"
