#!/bin/sh
# supple bake on every kind of source, several of them as shots, on a finished model, and with the options of stages that name files.
. "$(dirname "$0")/tap.sh"
need_numpy "sources of bakes"
bake() { run "$BIN/supple" bake "$@"; }
small='--basis poses --poses 2 --tets 400 --modes 6 --linear 4 --substeps 1 --bound 0'
tiny='--tets 300 --modes 6 --substeps 1 --bound 0'

# A bag that is dragged along and bends, as every kind of sequence; a second shot of it, and a folder with a space.
cat >make.py <<'PY'
import struct
import numpy as np
rings, around = 7, 8
rest = np.array([[0.1 * np.cos(2 * np.pi * k / around) * (1 if 0 < r < rings - 1 else 0.5), 0.1 * r, 0.1 * np.sin(2 * np.pi * k / around) * (1 if 0 < r < rings - 1 else 0.5)]
                 for r in range(rings) for k in range(around)] + [[0, -0.05, 0], [0, 0.1 * rings - 0.05, 0]])
quads = [[r * around + k, (r + 1) * around + k, (r + 1) * around + (k + 1) % around, r * around + (k + 1) % around] for r in range(rings - 1) for k in range(around)]
caps = [[rings * around, k, (k + 1) % around] for k in range(around)] + [[rings * around + 1, (rings - 1) * around + (k + 1) % around, (rings - 1) * around + k] for k in range(around)]
def frame(f, bend, drag):
    p = rest.copy()
    a = bend * np.sin(0.5 * f) * rest[:, 1]
    p[:, 0], p[:, 1] = rest[:, 0] * np.cos(a) + rest[:, 1] * np.sin(a) + drag * f, rest[:, 1] * np.cos(a) - rest[:, 0] * np.sin(a)
    return p
def obj(path, p):
    with open(path, "w") as o:
        o.write("o bag\n")
        for v in p:
            o.write("v %.9g %.9g %.9g\n" % tuple(v))
        for q in quads + caps:
            o.write("f " + " ".join(str(k + 1) for k in q) + "\n")
def ply(path, p):
    with open(path, "w") as o:
        o.write("ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n" % (len(p), len(quads + caps)))
        for v in p:
            o.write("%.9g %.9g %.9g\n" % tuple(v))
        for q in quads + caps:
            o.write("%d %s\n" % (len(q), " ".join(map(str, q))))
import os
os.makedirs("my shots", exist_ok=True)
walk = [frame(f, 0.8, 0.02) for f in range(10)]
obj("rest.obj", rest)
for f, p in enumerate(walk):
    obj("my shots/walk.%04d.obj" % (1001 + f), p)
    ply("walk.%d.ply" % (1001 + f), p)
for f in range(8):
    obj("my shots/run.%04d.obj" % f, frame(f, -0.8, 0.05))
open("walk.pc2", "wb").write(b"POINTCACHE2\0" + struct.pack("<iiffi", 1, len(rest), 1001.0, 1.0, len(walk)) + np.array(walk, "<f4").tobytes())
open("walk.mdd", "wb").write(struct.pack(">ii", len(walk), len(rest)) + ((1001 + np.arange(len(walk))) / 24).astype(">f4").tobytes() + np.array(walk, ">f4").tobytes())
PY
"$python" make.py
"$BIN/supple" import -q --progress none 'my shots/walk.%04d.obj' -o w.npz && "$BIN/supple" export -q --progress none --rig w.npz -o walk.abc &&
    "$BIN/supple" export -q --progress none --rig w.npz -o walk.usdc && "$BIN/supple" export -q --progress none --rig w.npz -o walk.usda || echo "# no caches"

points() { "$python" -c "import sys, numpy; a = numpy.load(sys.argv[1]); print(a['points'].shape, a['times'][0])" "$1"; }
bake 'my shots/walk.%04d.obj' --rate 24 -o objs $small
check "a sequence of OBJ files, from a folder with a space" "$([ $status = 0 ] && [ -s objs/walk.abc ] && [ -s objs/walk.model.npz ]; echo $?)" "$status $(cat err)"
want=$(points objs/walk.anim.npz)
for each in 'walk.*.ply' walk.abc walk.usdc 'walk.pc2 --neutral rest.obj' 'walk.mdd --neutral my_rest.obj'; do
    cp rest.obj my_rest.obj
    source=${each%% *} rest=''
    case $each in *' '*) rest=${each#* } ;; esac
    rm -rf seq
    bake "$source" $rest -o seq $small
    check "bake $each" "$([ $status = 0 ] && [ -s seq/walk.abc ] && [ "$(points seq/walk.anim.npz)" = "$want" ]; echo $?)" "$status $(cat err) $want"
done
for each in 'walk.####.ply' 'walk.$F4.ply' walk.usda; do
    rm -rf seq
    bake "$each" -o seq -n
    check "bake $each names its files and shot" "$([ $status = 0 ] && grep -Fq "supple import '$PWD/$each' " out && grep -q 'walk.sim.npz .*-o walk.abc' out; echo $?)" "$status $(cat err out)"
done
bake 'my shots/walk.%04d.obj' --rate 24 -o objs $small -n
check "a second run makes nothing" "$([ $status = 0 ] && ! grep -q 'supple import' out; echo $?)" "$(cat out)"
touch -d '1 minute' 'my shots/walk.1005.obj'
bake 'my shots/walk.%04d.obj' --rate 24 -o objs $small -n
check "unless one of the files has changed" "$([ $status = 0 ] && grep -q 'supple import' out; echo $?)" "$(cat out)"
printf '#usda 1.0\n( subLayers = [@walk.usdc@] metersPerUnit = 1 upAxis = "Y" )\n' >shot.usda
bake shot.usda -o shot $small
check "a shot of USD that takes from another layer" "$([ $status = 0 ] && [ -s shot/shot.abc ] && [ "$(points shot/shot.anim.npz)" = "$want" ]; echo $?)" "$status $(cat err) $want"
bake shot.usda -o shot $small -n
check "a second run of it makes nothing" "$([ $status = 0 ] && ! grep -q 'supple import' out; echo $?)" "$(cat out)"
touch -d '1 minute' walk.usdc
bake shot.usda -o shot $small -n
check "unless that layer has changed" "$([ $status = 0 ] && grep -q 'supple import' out; echo $?)" "$(cat out)"
bake walk.pc2 -o bad
check "points without faces: what to do" "$([ $status = 2 ] && grep -q 'walk.pc2: it has no faces; give .* by --neutral' err && [ ! -e bad ]; echo $?)" "$status $(cat err)"
bake 'my shots/walk.1001.obj' 'my shots/walk.1002.obj' -o bad
check "a pattern that the shell has opened" "$([ $status = 2 ] && grep -q "pattern in quotes" err; echo $?)" "$status $(cat err)"
bake 'my shots/walk.1001.obj' -o one -n
check "one file out of many can be asked for" "$([ $status = 0 ] && grep -q "supple import '.*/my shots/walk.1001.obj'" out; echo $?)" "$status $(cat err)"
check "and is said to stand still" "$(supple import -q 'my shots/walk.1001.obj' -o still.npz --progress none 2>err; grep -q 'warning: the sequence has one frame; nothing will move' err; echo $?)" "$(cat err)"
mkdir -p strut && cp 'my shots/walk.1001.obj' strut/1.obj && cp 'my shots/walk.1002.obj' strut/2.obj
bake 'strut/%d.obj' -o numbers -n
check "files that are numbers alone are a shot of their folder's name" "$([ $status = 0 ] && grep -q 'strut.anim.npz' out; echo $?)" "$status $(cat err)"
bake 'none.%04d.obj' -o bad
check "a sequence that is not there" "$([ $status = 3 ] && grep -q 'none.%04d.obj' err && [ ! -e bad ]; echo $?)" "$status $(cat err)"

bake 'my shots/walk.%04d.obj' 'my shots/run.%04d.obj' --rate 24 -o both $small
check "two sequences are two shots of one character" "$([ $status = 0 ] && [ -s both/walk.abc ] && [ -s both/run.abc ] &&
    "$python" -c "
import numpy
a, b = numpy.load('both/walk.anim.npz'), numpy.load('both/run.anim.npz')
assert (a['neutral'] == b['neutral']).all() and len(b['times']) == 8"; echo $?)" "$status $(cat err)"
mkdir plain && printf 'SOURCE := ../my shots/walk.%%04d.obj\nCHARACTER := bag\nCLIPS := a b\nSOURCE_b := ../my shots/run.*.obj\nIMPORT_FLAGS := --rate 24 --neutral ../rest.obj\nSUPPLE := %s\ninclude %s\n' \
    "$BIN/supple" "$here/../scripts/pipeline.mk" >plain/Makefile
run make -C plain a.anim.npz b.anim.npz
check "patterns in a makefile of one's own" "$([ $status = 0 ] && [ -s plain/a.anim.npz ] && [ -s plain/b.anim.npz ]; echo $?)" "$(cat err out)"
run make -C plain -q a.anim.npz b.anim.npz
check "which make knows to be done" "$status" "$(cat out)"

# ---- a rig and motions in files of their own ----
export PYTHONDONTWRITEBYTECODE=1
for kind in fbx-bare fbx fbx-late; do "$python" "$here/rig_files.py" write $kind $kind.fbx; done
cp fbx-bare.fbx rig.fbx && cp fbx-late.fbx 'long walk.fbx' && cp fbx.fbx run.fbx
bake rig.fbx 'long walk.fbx' run.fbx -o fbxs $tiny
check "a rig and motions in files of their own" "$([ $status = 0 ] && [ -s fbxs/long_walk_bend.abc ] && [ -s fbxs/run_bend.abc ] && [ -s fbxs/rig.model.npz ] &&
    "$python" -c "
import numpy
a, b = numpy.load('fbxs/long_walk_bend.anim.npz'), numpy.load('fbxs/run_bend.anim.npz')
assert abs(a['times'][0] - 1001 / 24) < 1e-6 and abs(b['times'][0]) < 1e-6 and abs(a['points'] - b['points']).max() < 1e-6"; echo $?)" "$status $(cat err)"
touch -d '1 minute' run.fbx
bake rig.fbx --clip 'long walk.fbx' --clip run.fbx:bend -o named $tiny -n
check "motions by --clip, with and without the name of a clip" "$([ $status = 0 ] && grep -q 'import .*long_walk_bend.anim.npz' out && grep -q 'import .*run_bend.anim.npz' out; echo $?)" "$status $(cat err)"
bake rig.fbx 'long walk.fbx' run.fbx -o fbxs $tiny -n
check "a motion that changes is read again, and no other" "$([ $status = 0 ] && [ "$(grep -c 'supple import' out)" = 1 ] && grep -q 'run.fbx:bend' out; echo $?)" "$(cat out err)"
"$python" "$here/make_gltf.py" odd odd.gltf
bake odd.gltf --clip turn+clip2 -o halves -n
check "clips that play together are a shot" "$([ $status = 0 ] && grep -q "import .*--clip 'turn+clip2' .*turn_clip2.anim.npz" out; echo $?)" "$status $(cat err)"
bake odd.gltf --clip turn+clip9 -o halves -n
check "unless one is not there" "$([ $status = 3 ] && grep -q "there is no clip 'turn+clip9'" err; echo $?)" "$status $(cat err)"
bake rig.fbx -o bad
check "a rig without a clip: what to do about it" "$([ $status = 3 ] && grep -q 'rig.fbx: it holds no clip.*the file of a motion' err; echo $?)" "$status $(cat err)"
bake rig.fbx walk.abc -o bad
check "rigs and sequences do not mix" "$([ $status = 2 ] && grep -q 'walk.abc: is a sequence of meshes' err; echo $?)" "$status $(cat err)"

# ---- motions without a mesh, as motion libraries give them ----
"$BIN/supple" creature --vertices 3000 -q -o pet.glb
"$python" - <<'PY'
import json, struct
b = open("pet.glb", "rb").read()
n = struct.unpack("<I", b[12:16])[0]
g, rest = json.loads(b[20:20 + n]), b[20 + n:]
del g["meshes"], g["skins"]
for node in g["nodes"]:
    node.pop("mesh", None), node.pop("skin", None)
text = json.dumps(g).encode()
text += b" " * (-len(text) % 4)
open("motion.glb", "wb").write(b"glTF" + struct.pack("<III", 2, 20 + len(text) + len(rest), len(text)) + b"JSON" + text + rest)
PY
run "$BIN/supple" import motion.glb --list
check "a motion without a mesh is listed" "$([ $status = 0 ] && grep -q '^meshes: 0' out && grep -q "'Stop'" out; echo $?)" "$status $(cat err out)"
for clip in Stop motion.glb:Stop; do "$BIN/supple" import -q --progress none pet.glb --clip $clip -o $clip.npz; done
"$python" -c "
import numpy
a, b = numpy.load('Stop.npz'), numpy.load('motion.glb:Stop.npz')
assert abs(a['points'] - b['points']).max() < 1e-6 and len(a['times']) > 2"
check "and moves its character as the clip in the character's own file does" "$?"
cp motion.glb motion.vrma
run "$BIN/supple" import -q --progress none pet.glb --clip motion.vrma:Stop -o vrma.npz
check "a .vrma is a motion, too" "$status" "$(cat err)"
bake pet.glb motion.glb -o fbxs2 -n
check "so it is a shot behind it" "$([ $status = 0 ] && grep -q 'motion.glb:Stop' out; echo $?)" "$status $(cat err)"
run "$BIN/supple" import motion.glb -o alone.npz
check "alone it is no character, and the sentence says where it goes" "$([ $status = 3 ] && grep -q 'no mesh with faces; a motion alone goes behind its character' err; echo $?)" "$status $(cat err)"

# Eyes on a skeleton of their own that the clip does not move: held by a constraint that the file does not keep.
"$python" - <<'PY'
import json, struct
b = open("pet.glb", "rb").read()
n = struct.unpack("<I", b[12:16])[0]
g, rest = json.loads(b[20:20 + n]), b[20 + n:]
at = next(i for i, node in enumerate(g["nodes"]) if "skin" in node)
mesh = json.loads(json.dumps(g["meshes"][g["nodes"][at]["mesh"]]))
for primitive in mesh["primitives"]:
    count = g["accessors"][primitive["attributes"]["POSITION"]]["count"]
    g["accessors"].append({"componentType": 5121, "count": count, "type": "VEC4"})
    primitive["attributes"]["JOINTS_0"] = len(g["accessors"]) - 1
g["meshes"].append(mesh)
g["nodes"] += [{"name": "eyebone"}, {"name": "eyes", "mesh": len(g["meshes"]) - 1, "skin": len(g["skins"])}]
g["skins"].append({"joints": [len(g["nodes"]) - 2]})
g["scenes"][0]["nodes"] += [len(g["nodes"]) - 2, len(g["nodes"]) - 1]
text = json.dumps(g).encode()
text += b" " * (-len(text) % 4)
open("eyes.glb", "wb").write(b"glTF" + struct.pack("<III", 2, 20 + len(text) + len(rest), len(text)) + b"JSON" + text + rest)
PY
run "$BIN/supple" import eyes.glb --clip Stop -n
check "what the clip leaves behind is told" "$([ $status = 0 ] && grep -q "'eyes' hangs on a joint that the clip does not move ('eyebone')" err; echo $?)" "$status $(cat err)"
run "$BIN/supple" import pet.glb --clip Stop -n
check "and nothing where all moves" "$([ $status = 0 ] && ! grep -q 'stays behind' err; echo $?)" "$status $(cat err)"

# ---- a finished model and shots that it has not seen ----
bake pet.glb -o made --clip Trot --up y --decay 0.4 --start 2 $tiny
check "a model is made" "$status" "$(cat err)"
find made -type f -exec cksum {} + | sort >before
mkdir elsewhere
bake --model made/pet.model.npz pet.glb --clip Stop -o 'second shot' --format abc,html -v
check "a shot on it, with what the model's makefile says" "$([ -s 'second shot/Stop.abc' ] && grep -q "supple sim .*--decay '0.4'" err && grep -q "supple import .*--up 'y'" err &&
    ! grep -q "supple import .*--start" err && ! grep -q 'supple \(poses pet\|mesh\|fit\|motion\|modes\|cubature\) ' err; echo $?)" "$status $(cat err)"
check "nothing of it is touched" "$(find made -type f -exec cksum {} + | sort | cmp -s - before; echo $?)"
bake --model made/pet.model.npz pet.glb --clip Stop -o third
check "how far it leaves what is known, and its error" "$([ $status = 0 ] && grep -q 'Stop: at most [0-9.]* % of the diagonal from a pose of the model; its poses lie up to [0-9.]* % apart' err &&
    grep -q 'Stop: the model alone is [0-9.]* % off the motion (in its own shots up to [0-9.]* %)$' err; echo $?)" "$(cat err)"
"$python" - <<'PY'
import json, sys
s, m = json.load(open("third/stats/sim.Stop.sim.npz.json")), json.load(open("third/Stop.known.json"))
sys.exit(not (s["error_estimate_reduced"] > 0 and m["farthest"] > 0 and m["spacing"] > 0))
PY
check "as numbers, too" "$?"
bake --model made/pet.model.npz pet.glb --clip Stop -o played --bound 5%
check "what is played in the full space is told" "$([ $status = 0 ] && grep -q 'Stop: the model alone .*, so the shot was played in the full space$' err; echo $?)" "$(cat err)"
bake --model made/pet.model.npz pet.glb --clip Stop -o third -n
check "a second run makes nothing" "$([ $status = 0 ] && ! grep -q 'supple ' out; echo $?)" "$(cat out)"
bake --model made/pet.model.npz pet.glb --clip Stop -o fourth -n
check "and a dry run leaves nothing" "$([ $status = 0 ] && grep -q 'supple sim ' out && [ ! -e fourth ]; echo $?)" "$(cat out err)"
bake --model made/pet.model.npz pet.glb --clip Stop -o made
check "beside the model it has a makefile of its own" "$([ $status = 0 ] && [ -s made/Stop.abc ] && [ -s made/shots.mk ] && cksum made/Makefile made/pet.*.npz made/Trot.* >after && ! grep -vFqxf before after; echo $?)" \
    "$status $(cat err)"
bake pet.glb -o made --clip Trot --up y --decay 0.4 --start 2 $tiny -n
check "and the bake that made the model has nothing to do" "$([ $status = 0 ] && ! grep -q 'supple ' out; echo $?)" "$(cat out)"
bake --model made/pet.model.npz pet.glb --clip Trot -o made
check "a shot that the model was made with is left alone" "$([ $status = 2 ] && grep -q 'Trot: a shot that the model was made with' err; echo $?)" "$status $(cat err)"
bake --model made/pet.model.npz pet.glb -o bad --tets 500
check "what belongs to the making of a model is refused" "$([ $status = 2 ] && grep -q 'the model is finished.*--tets' err; echo $?)" "$status $(cat err)"
cp made/pet.model.npz elsewhere
bake --model elsewhere/pet.model.npz pet.glb -o bad
check "a model without its flesh" "$([ $status = 3 ] && grep -q 'elsewhere/pet.tet.npz: cannot read it' err; echo $?)" "$status $(cat err)"
bake --model made/pet.model.npz rig.fbx run.fbx -o bad
check "another character" "$([ $status = 3 ] && grep -q 'another character\|vertices' err; echo $?)" "$status $(cat err)"
bake --model objs/walk.model.npz 'my shots/run.%04d.obj' -o seen
check "a sequence on a finished model has the model's neutral pose" "$([ $status = 0 ] && [ -s seen/run.abc ]; echo $?)" "$status $(cat err)"
bake --model fbxs/rig.model.npz 'long walk.fbx' -o walked
check "a file with a mesh is a character" "$([ $status = 0 ] && [ -s walked/bend.abc ]; echo $?)" "$status $(cat err)"

# ---- options that name files: from where the caller stands, and as dependencies ----
printf '{"wind": {"velocity": [1, 0, 0]}}\n' >'my wind.json'
mkdir 'sculpts here' && cp 'my shots/walk.1004.obj' 'sculpts here/bulge.obj'
yes 1 | head -58 >soft.csv
set -- 'my shots/walk.%04d.obj' --rate 24 -o files --basis poses --poses 3 --tets 400 --modes 6 --linear 4 --substeps 1 --bound 0 --at walk:1003 \
    --sculpt 'walk:1004=sculpts here/bulge.obj' --young soft.csv --contact tied --collider rest.obj
bake "$@"
check "sculpts, paint, contact, colliders" "$([ $status = 0 ] && [ -s files/walk.abc ]; echo $?)" "$status $(cat err)"
bake "$@" -n
check "a second run makes nothing" "$([ $status = 0 ] && ! grep -q 'supple ' out; echo $?)" "$(cat out)"
for each in 'sculpts here/bulge.obj=poses=import' 'soft.csv=poses=import' 'rest.obj=sim=cubature'; do
    file=${each%%=*} stage=${each#*=} before=${stage#*=} stage=${stage%%=*}
    cp -p "$file" kept && touch -d '2 minutes' "$file"
    bake "$@" -n
    check "when $file changes, $stage is made again" "$([ $status = 0 ] && grep -q "supple $stage " out && ! grep -q "supple $before " out; echo $?)" "$(cat out err)"
    cp -p kept "$file"
done
rm -rf bad
bake pet.glb -o bad -n --clip Trot --neutral none.obj
check "a file that is not there is named" "$([ $status = 3 ] && grep -q -e '--neutral none.obj: cannot read it' err && [ ! -e bad ]; echo $?)" "$status $(cat err)"
bake pet.glb -o bad -n --clip Trot --sculpt bulge
check "a sculpt without a file" "$([ $status = 2 ] && grep -q -e '--sculpt bulge: wants a name, = and a file' err; echo $?)" "$status $(cat err)"
bake pet.glb -o bad -n --clip Trot --young 20000 --young color.a --young-high 2
check "--young is a number for the flesh or paint for the poses" "$([ $status = 0 ] && grep -q "supple fit .*--young '20000'" out && grep -q "supple poses .*--young 'color.a' --young-high '2'" out; echo $?)" "$(cat out err)"
bake pet.glb -o bad -n --clip Trot --regions 'tail=tail.*' --forces 'my wind.json' --params 'soft.csv' --free head --poses 2
check "regions, forces, parameters, what nothing holds" "$([ $status = 0 ] && grep -q "supple modes .*--regions 'tail=tail.\*' --bones pet.poses.npz" out && grep -q "supple sim .*--forces '$PWD/my wind.json'" out &&
    grep -q "supple import .*--params '$PWD/soft.csv'" out && grep -q "supple mesh .*--free 'head'" out; echo $?)" "$(cat out err)"
touch skin.pc2
bake pet.glb -o bad -n --clip Trot --points skin.pc2
check "points of a cache" "$([ $status = 0 ] && grep -q "supple import .*--points '$PWD/skin.pc2'" out; echo $?)" "$(cat out err)"
bake pet.glb -o bad -n --points skin.pc2
check "... are of one shot" "$([ $status = 2 ] && grep -q -e '--points: is of one shot, and there are Trot Stop' err; echo $?)" "$status $(cat err)"
echo "1..$count"
