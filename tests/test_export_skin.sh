#!/bin/sh
# glTF that keeps the source's skeleton: without its morph weights it is the rig, with them the baked flesh, as the specification says it
# (an evaluator of its own in Python), and as three.js, Khronos' validator and Blender see it where they are.
. "$(dirname "$0")/tap.sh"
modules=$(dirname "$(dirname "${BUILD:-$here/../build/default}")")/build/viewer/source/node_modules
need_numpy "glTF with a skeleton"
export_() { supple-export -q --progress none "$@"; }

# truth FOLDER SHOT MODEL: where the flesh is, what it does, where the rig is, metres and y up; exact.npy, flesh.npy, rig.npy, anim.json
truth() {
    export_ "$1/$3.model.npz" "$1/$2.anim.npz" "$1/$2.sim.npz" --unit 1 --up y -o exact.npy &&
        export_ "$1/$3.model.npz" "$1/$2.anim.npz" "$1/$2.sim.npz" --unit 1 --up y --what displacement -o flesh.npy &&
        export_ --rig "$1/$2.anim.npz" --unit 1 --up y -o rig.npy && cp "$1/$2.anim.npz" anim.npz && describe
}

describe() {   # anim.npz to anim.json
    "$python" - <<'PY'
import json, zipfile, numpy as np
objects = np.load("anim.npz")["object_ids"]
meta = json.load(zipfile.ZipFile("anim.npz").open("meta.json"))
json.dump({"fps": meta["fps"], "objects": [np.flatnonzero(objects == o).tolist() for o in range(objects.max() + 1)]}, open("anim.json", "w"))
PY
}

# judge NAME GLB LIMIT ANGLE: everybody that is there looks at it
judge() {
    run "$python" "$here/skinned_glb.py" "$2" exact.npy flesh.npy rig.npy anim.npz "$3" "$4"
    check "$1, by the specification: $(cat out)" "$status" "$(tail -3 err)"
    others "$1" "$2" "$3" rig.npy
}

others() {   # NAME GLB LIMIT RIG
    if ! command -v node >/dev/null || [ ! -d "$modules/three" ]; then
        count=$((count + 1)); echo "ok $count - $1, three.js and the validator # skip node or its packages are missing (make viewer)"
    else
        run node "$here/skinned_glb.mjs" "$modules" "$2" exact.npy flesh.npy "$4" anim.json "$3"
        check "$1, three.js and the validator: $(cat out)" "$status" "$(tail -3 err)"
    fi
    if ! command -v blender >/dev/null; then
        count=$((count + 1)); echo "ok $count - $1, Blender # skip Blender is not installed"
    else
        run blender -b --factory-startup -noaudio --python-exit-code 3 --python "$here/blender_glb.py" -- "$2" exact.npy flesh.npy anim.npz \
            "$("$python" -c 'import json; print(json.load(open("anim.json"))["fps"])')" "$3"
        check "$1, Blender: $(grep 'largest difference' out)" "$status" "$(tail -3 err)"
    fi
}

small='--poses 2 --tets 2500 --modes 10 --linear 6 --substeps 1'
run supple-creature --vertices 3000 -q -o pet.glb
run supple bake pet.glb -o pet --clip Trot --format glb $small
check "a bake writes a GLB and says what its targets leave" "$([ $status = 0 ] && [ -s pet/Trot.glb ] &&
    grep -q 'Trot.glb: with its skeleton; [0-9]* morph targets leave [0-9.]* % of the flesh.s motion' err; echo $?)" "$(cat err)"
truth pet Trot pet
judge "the creature" pet/Trot.glb 0.02 5

fox=${SUPPLE_DATA:-$here/../../shared/data}/fox/Fox.glb
if [ -s "$fox" ]; then
    run supple bake "$fox" -o fox --clip Run --format glb $small
    truth fox Run Fox
    judge "the fox" fox/Run.glb 0.02 10
    shot='fox/Fox.model.npz fox/Run.anim.npz fox/Run.sim.npz'
    export_ $shot -o fine.glb --morph-error 0.5% --stats fine.json && grep -q '"morph_error_relative": 0.00[0-4]' fine.json
    check "a tighter bound" "$?" "$(grep morph fine.json)"
    export_ $shot -o few.glb --morphs 3 --stats few.json && grep -q '"morphs": 4,' few.json
    check "a number of shapes" "$?" "$(grep morph few.json)"
    run "$python" - "$here" "$fox" fox/Run.glb <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
from skinned_glb import Glb
a, b = Glb(sys.argv[2]), Glb(sys.argv[3])

def tree(doc):
    nodes = doc["nodes"]
    parent = {c: i for i, n in enumerate(nodes) for c in n.get("children", [])}
    path = lambda i: (path(parent[i]) if i in parent else ()) + (nodes[i]["name"],)
    return [path(i) for i in range(len(nodes))]
was, now = tree(a.doc), [p[1:] for p in tree(b.doc)]   # under what turns its unit into metres
assert set(was) == set(now) - {()}, set(was) ^ set(now)
joints = lambda g: {g.doc["nodes"][j]["name"]: m.reshape(4, 4).T for s in g.doc["skins"] for j, m in zip(s["joints"], g.get(s["inverseBindMatrices"]))}
one, two = joints(a), joints(b)
assert set(one) == set(two)
for name in one:   # metres in, the source's unit out
    scaled = two[name].copy()
    scaled[:3, :3] *= 0.01
    assert abs(scaled - one[name]).max() < 1e-4 * abs(one[name]).max(), (name, scaled, one[name])
at = [n["name"] for n in b.doc["nodes"] if "mesh" in n]
assert at == [n["name"] for n in a.doc["nodes"] if "mesh" in n], at
assert [x["name"] for x in b.doc["animations"]] == ["Run"]
print("equal")
PY
    check "nodes, joints, inverse bind matrices, mesh node and clip are the source's" "$status" "$(tail -3 err)"
    export_ $shot -o odd.glb --frames 3-23x4 && for what in exact flesh; do
        export_ $shot --unit 1 --up y --frames 3-23x4 $([ $what = exact ] || echo --what displacement) -o $what.npy; done &&
        export_ --rig fox/Run.anim.npz --unit 1 --up y --frames 3-23x4 -o rig.npy &&
        run "$python" "$here/skinned_glb.py" odd.glb exact.npy flesh.npy rig.npy anim.npz 0.02
    check "every fourth frame: $(cat out)" "$status" "$(tail -3 err)"
    for what in exact flesh; do export_ $shot --unit 1 --up y $([ $what = exact ] || echo --what displacement) -o $what.npy; done
    export_ $shot -o whole.glb --no-skin --morphs 27 --stats whole.json && run "$python" "$here/skinned_glb.py" whole.glb exact.npy flesh.npy - anim.npz 1e-3 10
    check "without the skeleton the targets hold the whole motion: $(cat out)" "$([ $status = 0 ] && grep -q '"joints": 0' whole.json; echo $?)" "$(tail -3 err)"
    "$python" "$here/skinned_glb.py" whole.glb exact.npy flesh.npy rig.npy anim.npz 1e-3 >out 2>err
    check "... and this test knows that from a file with its skeleton" "$([ $? = 1 ]; echo $?)" "$(tail -3 err)"
else
    count=$((count + 1)); echo "ok $count - the fox # skip no data"
fi

# Rigs of all kinds, played without flesh: the targets hold what skinning does not (blend shapes, joints beyond four, dual quaternions).
rig_alone() {   # NAME FILE 'IMPORT OPTIONS' 'EXPORT OPTIONS'
    status=1
    supple-import -q --progress none "$2" $3 -o kind.npz 2>/dev/null && export_ --rig kind.npz -o kind.glb $4 2>log &&
        export_ --rig kind.npz --unit 1 --up y -o exact.npy && cp exact.npy flesh.npy && cp kind.npz anim.npz && describe &&
        run "$python" "$here/skinned_glb.py" kind.glb exact.npy exact.npy - kind.npz 1e-5
    check "$1: $(cat out)" "$status" "$(cat log) $(tail -3 err)"
}
for kind in hard odd held morph twins; do
    "$python" "$here/make_gltf.py" $kind $kind.gltf
    rig_alone "$kind" $kind.gltf '' '--joints 8 --morph-error 1e-5'
done
check_nodes() { "$python" -c "
import sys
sys.path.insert(0, '$here')
from skinned_glb import Glb
nodes = Glb('kind.glb').doc['nodes']
$1"; check "$2" "$?"; }
rig_alone "hard, once more" hard.gltf '' '--joints 8 --morph-error 1e-5'
check_nodes "
hat, = [n for n in nodes if n['name'] == 'hat']
skin, = [n for n in nodes if n['name'] == 'skin']
assert 'mesh' in hat and 'skin' not in hat and 'skin' in skin" "a box that hangs on a joint stays on its node, without a skin"
rat=${SUPPLE_DATA:-$here/../../shared/data}/rat/Rat.fbx
if [ -s "$rat" ]; then   # centimetres; clip and bind pose apart; more than four joints a vertex; a root joint without weight
    rig_alone "an FBX" "$rat" '' '--morph-error 1e-4'
    others "an FBX" kind.glb 1e-5 -
    check_nodes "assert 'root' in [nodes[j]['name'] for j in Glb('kind.glb').doc['skins'][0]['joints']]" "the joint that all others hang on is among the joints"
else
    count=$((count + 1)); echo "ok $count - an FBX # skip no data"
fi
"$python" "$here/make_gltf.py" held held.gltf
rig_alone "held, four joints" held.gltf '' '--morph-error 1e-5'
others "held" kind.glb 1e-5 -
rig_alone "dual quaternions" hard.gltf '--skinning dqs' '--joints 8 --morph-error 1e-4 --morphs 200'
supple-export --rig kind.npz -o four.glb >log 2>&1 && grep -q 'skin vertices have more than 4 joints' log
check "more joints than four a vertex are told" "$?" "$(cat log)"
"$python" - <<'PY'
import shutil, zipfile
for name, gone in (("part", ("joint_bind",)), ("old", ("node_parent", "node_rest", "node_keys", "joint_bind", "joint_node", "object_node"))):
    with zipfile.ZipFile("kind.npz") as a, zipfile.ZipFile(name + ".npz", "w") as b:
        for m in a.namelist():
            if m.removesuffix(".npy") not in gone: b.writestr(m, a.read(m))
PY
run supple info part.npz
check "a node tree without its bind matrices is refused" "$([ $status = 3 ] && grep -q 'joint_bind' err; echo $?)" "$status $(cat err)"
supple-export --rig old.npz -o old.glb >log 2>&1 && grep -q 'holds no node tree' log && ! grep -q '"skins"' old.glb
check "an animation without a node tree: the whole motion, with a word" "$?" "$(cat log)"
