#!/bin/sh
# The programs of examples/: C and Python on the run-time library, and the live preview in Blender (skipped without it).
root=$(cd "$(dirname "$0")/.." && pwd)
what='the examples'
. "$root/tests/programs.sh"
export OMP_WAIT_POLICY=passive SUPPLE_RUNTIME="$BUILD/libsupple-runtime.so"
case $BUILD in *san | *fuzz) echo "ok 1 - $what # skip a sanitized library does not load into other programs"; exit 0 ;; esac
play() { timeout 60 "$@" >out 2>err </dev/null; status=$?; }
must supple creature -q --vertices 3000 -o pet.glb
must supple bake -q pet.glb -o pose --clip Stop --format npy --tets 1500 --modes 16 --poses 3 --bound 0
must supple bake -q --fast pet.glb -o fast --clip Stop --format npy --tets 2000 --clusters 40
for model in pose fast; do
    must supple sim -q $model/pet.model.npz $model/Stop.anim.npz --stiffness 0.7 --damping 0.15 -o soft.sim.npz
    must supple export -q $model/pet.model.npz $model/Stop.anim.npz soft.sim.npz -o $model-soft.npy
    play "$BUILD/examples/live" $model/pet.model.npz $model/Stop.anim.npz 90
    check "C, $model: live plays the clip" "$([ "$status" = 0 ] && grep -q '^252 steps at 90 .* 0 steps in trouble' out; echo $?)" "$(cat out err)"
    "$python" "$root/examples/supple_live.py" $model/pet.model.npz $model/Stop.anim.npz --stiffness 0.7 --damping 0.15 -o live.npy >out 2>err
    check "Python, $model: the script runs" $? "$(cat err)"
    "$python" - $model/Stop.npy $model-soft.npy live.npy <<'PYTHON' >out 2>err
import sys, numpy as np
plain, soft, live = (np.load(f) for f in sys.argv[1:])
other = np.abs(soft - plain).max()
print(np.abs(live - soft).max(), other)
assert live.shape == soft.shape and np.abs(live - soft).max() < 1e-5 < 1e-3 < other
PYTHON
    check "Python, $model: the skin is supple sim's to 0.01 mm at the same settings, and another at others" $? "$(cat out err)"
done
play "$BUILD/examples/live" pose/pet.model.npz pose/Stop.anim.npz 90 0.05
check "C: a floor and a breeze" "$([ "$status" = 0 ] && grep -q ' 0 steps in trouble' out; echo $?)" "$(cat out err)"
play "$BUILD/examples/live" pose/pet.model.npz pet.glb
check "C: a clip that is none ends with 3 and a sentence" "$([ "$status" = 3 ] && grep -q pet.glb err; echo $?)" "$(cat err)"
play "$BUILD/examples/live" fast/pet.model.npz pose/pet.motion.anim.npz
check "C: another shot of the character plays" "$([ "$status" = 0 ]; echo $?)" "$(cat err)"
"$python" "$root/examples/supple_live.py" nothing.npz pose/Stop.anim.npz >out 2>err
check "Python: a model that is missing is a sentence, not a trace" "$([ $? = 1 ] && grep -q '^supple_live: nothing.npz' err && [ "$(grep -c . err)" = 1 ]; echo $?)" "$(cat err)"
sed -n '/typedef struct supple_options {/,/^}/p' "$root/lib/runtime/supple_runtime.h" | sed 's|/\*.*||' | tr '\n' ' ' | tr ';{' '\n\n' |
    sed -n 's/\[.*//; s/.*[ *]\([a-z_][a-z_]*\) *$/\1/p' | grep -v supple_options >fields
"$python" - "$root/examples" fields <<'PYTHON' >out 2>err
import sys
sys.path.insert(0, sys.argv[1])
import supple_live
header, own = open(sys.argv[2]).read().split(), [name for name, kind in supple_live.Options._fields_]
assert len(header) > 10 and own[:len(header)] == header, (header, own)
PYTHON
check "Python: its options have every field of the header's, in order" $? "$(cat err fields)"
"$python" - "$root/examples" pose/pet.model.npz <<'PYTHON' >out 2>err
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
import supple_live
flesh = supple_live.Flesh(sys.argv[2])
try:
    flesh.set_pose(np.zeros(len(flesh.parameters) - 1), np.zeros((len(flesh.needed), 3)), np.eye(4))
except ValueError:
    sys.exit(0)
sys.exit(1)
PYTHON
check "Python: a pose of another size is refused" $? "$(cat err)"

if timeout 60 blender --version >/dev/null 2>&1; then
    BLENDER_USER_RESOURCES=$PWD/user timeout 120 blender -b --factory-startup -noaudio --python-exit-code 3 --python "$root/tests/blender_live.py" -- \
        "$root/examples" "$PWD/pet.glb" "$PWD/pose/pet.model.npz" "$PWD/pose/Stop.anim.npz" "$PWD/pose/Stop.npy" >log 2>&1
    check "Blender: the preview's script runs" $? "$(tail -n 5 log)"
    while IFS= read -r line; do
        case $line in
        'ok - '*) check "${line#ok - }" 0 ;;
        'not ok - '*) check "${line#not ok - }" 1 ;;
        esac
    done <log
    check "Blender: all five were checked" "$([ "$(grep -c '^ok - blender' log)" = 5 ]; echo $?)" "$(tail -n 5 log)"
else
    count=$((count + 1)); echo "ok $count - the preview in Blender # skip Blender is not installed"
fi
echo "1..$count"
