#!/bin/sh
# supple bake --fast: skinning modes and clusters on the whole road, and everything that takes their models.
. "$(dirname "$0")/tap.sh"
need_numpy "supple bake --fast"

run "$BIN/supple" creature --vertices 3000 -q -o pet.glb
check "the creature is made" "$status"

small='--tets 2500 --clusters 40'
run "$BIN/supple" bake --fast pet.glb -o fast --clip Stop --format abc,glb,npy,skin $small -j 1
check "a fast bake" "$([ $status = 0 ] && [ -s fast/Stop.abc ] && [ -s fast/Stop.glb ] && [ -s fast/Stop.npy ] && [ -s fast/Stop.skin.json ] && [ -s fast/Stop.skin.bin ]; echo $?)" "$status $(cat err)"
check "without bases, motion or cubature of its own" "$([ ! -e fast/pet.basis.npz ] && [ ! -e fast/pet.motion.anim.npz ] && [ -e fast/pet.skinning.npz ]; echo $?)" "$(ls fast)"
most=$(sed -n 's/.*largest displacement \([0-9.]*\) % of the diagonal, at frame.*/\1/p' err)
check "moves flesh" "$(awk -v m="${most:-0}" 'BEGIN { exit !(m > 0.5 && m < 10) }'; echo $?)" "$most"
for file in fast/*.npz; do
    run "$BIN/supple" info "$file"
    check "supple info accepts ${file##*/}" "$status" "$(cat err)"
done
check "the model says what it is" "$("$BIN/supple" info fast/pet.model.npz | grep -q '"\{0,1\}skinning"\{0,1\}'; echo $?)"

touch mark
run "$BIN/supple" bake --fast pet.glb -o fast --clip Stop --format abc,glb,npy,skin $small -j 1
check "a second run makes nothing" "$([ $status = 0 ] && [ -z "$(find fast -name '*.npz' -newer mark)" ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake --model fast/pet.model.npz pet.glb --clip Trot -o more
check "its model bakes the next shot" "$([ $status = 0 ] && [ -s more/Trot.abc ]; echo $?)" "$status $(cat err)"

cd fast || exit 1
for threads in 1 2; do "$BIN/supple" sim pet.model.npz Stop.anim.npz -j $threads -q -o "../$threads.npz" 2>/dev/null; done
cd ..
check "the same bytes for any number of threads" "$(cmp 1.npz 2.npz; echo $?)"
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --solver local-global --iterations 3000 --tolerance 1e-8 -q -o plain.npz
check "local-global iterations as printed" "$status" "$(cat err)"
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --tolerance 1e-8 --iterations 1000 -q -o quasi.npz
run "$BIN/supple" compare fast/pet.model.npz fast/Stop.anim.npz plain.npz quasi.npz -q --stats off.json
off=$(sed -n 's/^ "error": \([0-9.e+-]*\),*$/\1/p' off.json)
check "end where the quasi-Newton method does" "$([ $status = 0 ] && awk -v e="${off:-1}" 'BEGIN { exit !(e < 1e-4) }'; echo $?)" "$off $(cat err)"
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --loop -q -o loop.npz
check "cycles" "$status" "$(cat err)"
# Killed behind a checkpoint, a run goes on from it to the same bytes.
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --substeps 60 -q -o whole.npz
"$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --substeps 60 --checkpoint 10 -q -o kept.npz >/dev/null 2>&1 &
victim=$!
for try in $(seq 3000); do [ ! -e kept.npz.checkpoint ] || break; kill -0 "$victim" 2>/dev/null || break; sleep 0.01; done
kill -9 "$victim" 2>/dev/null; wait "$victim" 2>/dev/null
if [ ! -e kept.npz.checkpoint ]; then rm -f kept.npz; fi      # it was done before
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --substeps 60 --checkpoint 10 --resume -j 2 -o kept.npz
cp err resumed
check "checkpoints go on to the same bytes" "$([ $status = 0 ] && cmp kept.npz whole.npz && [ ! -e kept.npz.checkpoint ]; echo $?)" "$status $(cat err)"

# A crowd: many clips of one model in a call, their poses made from the bones alone.
cp fast/Stop.anim.npz a.anim.npz; cp more/Trot.anim.npz b.anim.npz
run "$BIN/supple" cubature fast/pet.tet.npz fast/pet.poses.npz fast/pet.fit.npz fast/pet.skinning.npz --clusters 40 --rest neutral -q -o neutral.model.npz
for threads in 1 2; do "$BIN/supple" sim fast/pet.model.npz a.anim.npz b.anim.npz --crowd -j $threads -q --stats crowd.json -o crowd$threads 2>>crowd.err; done
for clip in a b; do "$BIN/supple" sim fast/pet.model.npz $clip.anim.npz --crowd -q -o $clip.sim.npz 2>>crowd.err; done
check "a crowd has the bytes of its clips alone, for any number of threads" "$(for k in 1 2; do for clip in a b; do cmp crowd$k/$clip.sim.npz $clip.sim.npz || exit 1; done; done; echo $?)" "$(cat crowd.err)"
check "and says how many steps a core takes" "$(grep -q '^ "crowd": 2,' crowd.json && grep -q '^ "crowd_steps_per_second": [0-9]' crowd.json; echo $?)" "$(cat crowd.json)"
"$BIN/supple" sim fast/pet.model.npz a.anim.npz b.anim.npz -q -o both 2>/dev/null; "$BIN/supple" sim fast/pet.model.npz b.anim.npz -q -o skin.npz 2>/dev/null
check "so have several clips in a call without it" "$(cmp both/b.sim.npz skin.npz; echo $?)"
for how in "" --crowd; do "$BIN/supple" sim neutral.model.npz b.anim.npz $how --gravity-mode none --tolerance 1e-8 --iterations 1000 -q -o "neutral$how.npz"; done
check "where the rest is linear in the bones they make what the skin makes" "$("$python" - <<'PY' 2>why
import numpy as np
a, b = np.load('neutral.npz'), np.load('neutral--crowd.npz')
for key, most in (('q', 1e-4), ('energy', 1e-3)):
    off = np.linalg.norm(a[key] - b[key]) / np.linalg.norm(a[key])
    assert 0 < off < most, (key, off)
PY
echo $?)" "$(tail -3 why)"
for mode in none relative; do
    for how in "" --crowd; do "$BIN/supple" sim fast/pet.model.npz b.anim.npz $how --gravity-mode $mode -q -o "turned-$mode$how.npz"; done
done
# The smooth gradients' rotation for the mean of theirs (docs/skinning.md, section 6): small beside the motion.
check "where it turns they make nearly what the skin makes" "$("$python" - <<'PY' 2>why
import numpy as np
for mode, most in (('none', 0.005), ('relative', 0.03)):
    a, b = np.load('turned-%s.npz' % mode)['q'], np.load('turned-%s--crowd.npz' % mode)['q']
    off = np.linalg.norm(a - b) / np.linalg.norm(a)
    assert 0 < off < most, (mode, off)
PY
echo $?)" "$(tail -3 why)"
mkdir -p other; cp b.anim.npz other/a.anim.npz
run "$BIN/supple" sim fast/pet.model.npz a.anim.npz other/a.anim.npz -o twice
check "two clips of one name are refused" "$([ $status = 2 ] && grep -q 'both results would be called a.sim.npz' err && [ ! -e twice ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" sim fast/pet.model.npz a.anim.npz --crowd --loop -o x.npz
check "a crowd has no cycles" "$([ $status = 2 ] && [ ! -e x.npz ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" import pet.glb --clip Trot --skinning dqs -q -o dual.anim.npz
run "$BIN/supple" sim fast/pet.model.npz a.anim.npz dual.anim.npz --crowd -o bent
check "a skin that bones do not make by themselves is refused" "$([ $status = 3 ] && grep -q 'dual.anim.npz: at frame' err && [ ! -e bent/dual.sim.npz ]; echo $?)" "$status $(cat err)"

printf '{"points": 100, "colliders": [{"shape": "plane", "point": [0, 0.3, 0], "normal": [0, 1, 0]}], "wind": {"velocity": [3, 0, 0]}}' >forces.json
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --forces forces.json -q -o pushed.npz
check "colliders and wind" "$([ $status = 0 ] && ! cmp -s pushed.npz 1.npz; echo $?)" "$status $(cat err)"

# What an engine does with --format skin, against the caches of vertices.
for space in world root; do
    for what in points displacement; do
        "$BIN/supple" export fast/pet.model.npz fast/Stop.anim.npz 1.npz --space $space --what $what --unit 0.01 --up z --frames 5-25x4 -q -o $space.$what.npy
    done
    "$BIN/supple" export --rig fast/pet.model.npz fast/Stop.anim.npz --space $space --unit 0.01 --up z --frames 5-25x4 -q -o $space.rig.npy
    "$BIN/supple" export fast/pet.model.npz fast/Stop.anim.npz 1.npz --format skin --space $space --unit 0.01 --up z --frames 5-25x4 -q -o $space.json
    "$BIN/supple" export fast/pet.model.npz fast/Stop.anim.npz 1.npz --format skin --weights --space $space --unit 0.01 --up z --frames 5-25x4 -q \
        --stats $space.stats.json -o $space-weights.json
done
check "skinning modes for shaders, evaluated independently" "$("$python" - <<'PY' 2>why
import json, numpy as np
def read(name):
    d = json.load(open(name))
    def array(key):
        a = d[key]
        assert a['type'] == 'f32' and a['file'] == name.replace('.json', '.bin')
        return np.fromfile(a['file'], '<f4', int(np.prod(a['shape'])), offset=a['offset']).reshape(a['shape']).astype(float)
    T = array('maps')
    if d['holds'] == 'products':
        phi = array('products')
    else:
        w, x = array('weights'), array('rest')
        phi = w[:, :, None] * np.append(x, np.ones((len(x), 1)), 1)[:, None]
    assert T.shape == (d['frames'], d['modes'], 3, 4) and phi.shape == (d['vertices'], d['modes'], 4)
    return d, np.einsum('fbrc,vbc->fvr', T, phi)
for space in ('world', 'root'):
    d, u = read(space + '.json')
    points, rig, flesh = (np.load(f'{space}.{what}.npy').astype(float) for what in ('points', 'rig', 'displacement'))
    assert (d['format'], d['version'], d['space'], d['unit'], d['up']) == ('supple skin modes', 1, space, 0.01, 'z')
    assert (d['frame_start'], d['frame_step'], d['frames']) == (5, 4, 6) and d['vertices'] == points.shape[1]
    size = np.abs(flesh).max()
    assert size > 0.1 and np.abs(u - flesh).max() < 1e-5 * size, np.abs(u - flesh).max() / size
    assert np.abs(rig + u - points).max() < 1e-6 * np.abs(points).max()
    e, v = read(space + '-weights.json')
    said = json.load(open(space + '.stats.json'))['weights_error_relative']
    off = np.sqrt(((v - u) ** 2).sum() / (u ** 2).sum())
    assert e['holds'] == 'weights' and 1e-4 < off < 0.2 and abs(off - said) < 1e-3 * off, (off, said)
assert np.abs(read('world.json')[1] - read('root.json')[1]).max() > 0.01     # the root turns
PY
echo $?)" "$(tail -3 why)"
run "$BIN/supple" export fast/pet.model.npz fast/Stop.anim.npz 1.npz --format skin --velocities -o x.json
check "maps have no velocities" "$([ $status = 2 ] && [ ! -e x.json ] && [ ! -e x.bin ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" export fast/pet.model.npz fast/Stop.anim.npz 1.npz --weights -o x.json
check "weights alone are of skinning modes" "$([ $status = 2 ] && [ ! -e x.json ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake pet.glb -o x --format skin
check "a trained model has no skinning modes" "$([ $status = 2 ] && grep -q 'goes with --fast' err && [ ! -e x ]; echo $?)" "$status $(cat err)"

run "$BIN/supple" bake --fast pet.glb -o bound --bound 3%
check "a bound has nothing to hold against" "$([ $status = 2 ] && grep -q 'no estimate' err && [ ! -e bound ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" cubature fast/pet.tet.npz fast/pet.poses.npz fast/pet.fit.npz fast/pet.skinning.npz --clusters 0 -o x.npz
check "no clusters is no model" "$([ $status = 2 ] && [ ! -e x.npz ]; echo $?)" "$status $(cat err)"

echo "1..$count"
