#!/bin/sh
# supple refine: poses are added until the bound holds, nothing is computed twice and the result is that of one go; bake --poses auto.
. "$(dirname "$0")/tap.sh"

modes='-r 10 --linear 6'
# On the posed rest bases lock between poses; on the turned one two poses are enough here.
fit='--rest posed'
"$BIN/supple" creature --vertices 3000 -q -o pet.glb && "$BIN/supple" import pet.glb --clip Trot -q -o 'the trot.anim.npz' &&
    "$BIN/supple" poses 'the trot.anim.npz' -m 2 -q -o start.poses.npz && "$BIN/supple" mesh start.poses.npz --tets 2500 -q -o pet.tet.npz
check "a small character" $?

run "$BIN/supple" refine pet.tet.npz 'the trot.anim.npz' -o pet --poses '-m 2' --fit "$fit" --modes "$modes" --bound 0.2% --frames 12 --stats refine.json
check "poses are added until the bound holds" "$([ $status = 0 ] && python3 -c "
import json
s = json.load(open('refine.json'))
r = s['rounds']
assert len(r) > 1 and r[0]['poses'] == 2 and r[0]['stiffening'] > 0.002, r
assert all(a['poses'] < b['poses'] for a, b in zip(r, r[1:])), r
assert r[-1] == {'poses': s['poses'], 'stiffening': s['stiffening']} and s['stiffening'] <= 0.002, s
"; echo $?)" "$status $(cat err refine.json)"
check "only its results stay" "$([ "$(ls pet.* | tr '\n' ' ')" = 'pet.basis.npz pet.fit.npz pet.glb pet.modes.npz pet.poses.npz pet.tet.npz ' ]; echo $?)" "$(ls)"

# What was put together round by round is what one go makes of the same poses.
run "$BIN/supple" fit pet.tet.npz pet.poses.npz --shots 'the trot.anim.npz' $fit -q -o once.fit.npz
check "the fit is that of one go" "$([ $status = 0 ] && cmp -s pet.fit.npz once.fit.npz; echo $?)" "$status $(cat err)"
mkdir one && cp pet.fit.npz one
run "$BIN/supple" modes pet.tet.npz one/pet.fit.npz $modes -q -o once.modes.npz
check "and so are the modes" "$([ $status = 0 ] && cmp -s pet.modes.npz once.modes.npz; echo $?)" "$status $(cat err)"

run "$BIN/supple" modes pet.tet.npz pet.fit.npz -r 11 --linear 6 --reuse pet.modes.npz --stats reuse.json -o other.modes.npz
check "modes of another number are not reused" "$([ $status = 0 ] && grep -q '"reused_poses": 0' reuse.json; echo $?)" "$status $(cat err)"
run "$BIN/supple" fit pet.tet.npz pet.poses.npz $fit --reuse pet.fit.npz --stats reuse.json -o other.fit.npz
check "a fit of the same settings is, pose by pose" "$([ $status = 0 ] && [ "$(sed -n 's/.*"reused_poses": \([0-9]*\).*/\1/p' reuse.json)" = "$(sed -n 's/^ "poses": \([0-9]*\).*/\1/p' refine.json)" ] && cmp -s pet.fit.npz other.fit.npz; echo $?)" "$status $(cat err)"
run "$BIN/supple" fit pet.tet.npz pet.poses.npz $fit --gamma 1e-4 --reuse pet.fit.npz --stats reuse.json -o other.fit.npz
check "one of others is not" "$([ $status = 0 ] && grep -q '"reused_poses": 0' reuse.json; echo $?)" "$status $(cat err)"
run "$BIN/supple" fit pet.tet.npz pet.poses.npz --reuse pet.modes.npz -o other.fit.npz
check "another kind of file cannot be reused" "$([ $status = 3 ]; echo $?)" "$status $(cat err)"

run "$BIN/supple" poses 'the trot.anim.npz' -m 2 --add 'the trot:3' 'the trot:9' 'the trot:3' -o twice.npz
check "a frame that is added twice is one pose, with a note" "$([ $status = 0 ] && grep -q 'the trot:3: the same as pose 2; left out' err &&
    grep -q 'pose 3: the trot:9' err && ! grep -q 'pose 4:' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" refine pet.tet.npz 'the trot.anim.npz' -o few --poses '-m 2' --fit "$fit" --modes "$modes" --bound 0.01% --frames 12 --most 3
check "a bound out of reach ends at --most, with a warning" "$([ $status = 0 ] && grep -q 'warning: 3 poses are the most' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" refine pet.tet.npz 'the trot.anim.npz' -o bad --poses '-m -2'
check "a stage's usage error comes through as 2" "$([ $status = 2 ] && grep -q '^supple-poses: ' err && [ -z "$(ls bad* 2>/dev/null)" ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" refine pet.tet.npz none.anim.npz -o bad
check "a missing shot ends with 3" "$([ $status = 3 ] && grep -q 'none.anim.npz' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" refine pet.tet.npz -o bad
check "a missing argument ends with 2" "$([ $status = 2 ]; echo $?)" "$status $(cat err)"

"$BIN/supple" refine pet.tet.npz 'the trot.anim.npz' -o stop --poses '-m 2' --fit "$fit" --modes "$modes" --bound 0.001% --frames 12 >out 2>err </dev/null &
job=$!
tries=0
while [ ! -e stop.modes.npz ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -TERM $job
wait $job
check "SIGTERM ends with 75" "$([ $? = 75 ] && [ -z "$(ls stop.*.tmp.* stop.*.round.npz 2>/dev/null)" ]; echo $?)" "$(cat err; ls)"

# The whole road; the bound is loose, for what counts here is how the stages go together.
small='--tets 2500 --modes 10 --linear 6 --substeps 1 --clip Trot'
run "$BIN/supple" bake pet.glb -o 'the pet' --poses auto:0.2% $small --set 'POSES_FLAGS=-m 2' --set "FIT_FLAGS=$fit"
check "bake --poses auto" "$([ $status = 0 ] && [ -s 'the pet/Trot.abc' ] && python3 -c "
import json
s = json.load(open('the pet/stats.json'))
r = s['stages']['refine.pet.basis.npz']
assert r['rounds'][-1]['stiffening'] <= 0.002 and r['poses'] > 2, r
assert sorted(s['stage_seconds']) == sorted('import poses mesh refine cubature sim export'.split()), s['stage_seconds']
"; echo $?)" "$status $(cat err)"
touch mark
run "$BIN/supple" bake pet.glb -o 'the pet' --poses auto:0.2% $small --set 'POSES_FLAGS=-m 2' --set "FIT_FLAGS=$fit"
check "a second run makes nothing" "$([ $status = 0 ] && [ -z "$(find 'the pet' -name '*.npz' -newer mark)" ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake pet.glb -o 'the pet' --poses auto:much $small
check "a bound that is none is a usage error" "$([ $status = 2 ]; echo $?)" "$status $(cat err)"
echo "1..$count"
