#!/bin/sh
# supple bake: the whole road on a small character, what a second run makes, and how failures come through.
. "$(dirname "$0")/tap.sh"

small='--poses 2 --tets 2500 --modes 10 --linear 6 --substeps 1'

run "$BIN/supple" creature --vertices 3000 -q -o 'my pet.glb'
check "the creature is made" "$status"

run "$BIN/supple" bake 'my pet.glb' -o dry -n $small
check "a dry run shows every stage and makes no file of them" "$([ $status = 0 ] &&
    for stage in import poses mesh fit modes align cubature sim export; do grep -q "supple $stage " out || exit 1; done &&
    [ -z "$(ls dry/*.npz dry/*.abc 2>/dev/null)" ]; echo $?)" "$status $(cat err)"

run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat --progress lines $small
check "a small bake" "$([ $status = 0 ] && [ -s 'the pet/Trot.abc' ] && [ -s 'the pet/Trot.pc2' ] &&
    [ -s 'the pet/Trot.vat.json' ] && [ -s 'the pet/Trot.vat.positions.exr' ] && [ -s 'the pet/Trot.vat.mesh.glb' ]; echo $?)" "$status $(cat err)"
check "what moved is told by joint" "$(grep -q 'Trot.anim.npz: largest displacement [0-9.]* % of the diagonal, at frame [0-9]*, [a-z]' err &&
    [ "$(grep -c 'mean *[0-9.]* %  largest *[0-9.]* %' err)" = 5 ]; echo $?)" "$(cat err)"
check "only the clip that was asked for" "$([ ! -e 'the pet/Stop.anim.npz' ]; echo $?)"
check "progress runs to 100" "$(grep -q '^Progress: 100%$' err; echo $?)" "$(cat err)"
check "statistics of every stage" "$(python3 -c "
import json
s = json.load(open('the pet/stats.json'))
assert sorted(s['stage_seconds']) == sorted('import poses mesh fit modes align cubature sim export'.split()), s['stage_seconds']
assert all(v['exit_status'] == 0 for v in s['stages'].values())
"; echo $?)"
check "no temporary files are left" "$([ -z "$(ls -a 'the pet' | grep -e tmp -e '^\.pipe' -e '^\.make' -e '^\.status')" ]; echo $?)" "$(ls -a 'the pet')"
cp 'the pet/Trot.abc' first.abc
for file in 'the pet'/*.npz; do
    run "$BIN/supple" info "$file"
    check "supple info accepts ${file##*/}" "$status" "$(cat err)"
done

run "$BIN/supple" bake 'my pet.glb' -o moon -n --poses 2 --gravity 0,-1.6,0 --gravity-mode absolute
check "what modes are made for is simulated under the same gravity" "$([ $status = 0 ] &&
    [ "$(grep -c "supple \(modes\|sim\) .*--gravity '\{0,1\}0,-1.6,0'\{0,1\} --gravity-mode '\{0,1\}absolute" out)" = 3 ]; echo $?)" \
    "$(grep 'supple \(modes\|sim\)' out)"

touch mark
run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat $small
check "a second run makes nothing" "$([ $status = 0 ] && [ -z "$(find 'the pet' -name '*.npz' -newer mark)" ]; echo $?)" "$status $(cat err)"

run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat $small --decay 0.5
made=$(find 'the pet' \( -name '*.npz' -o -name '*.abc' -o -name '*.pc2' \) -newer mark | sort | tr '\n' ' ')
check "another setting of sim makes sim and export again" "$([ $status = 0 ] &&
    [ "$made" = 'the pet/Trot.abc the pet/Trot.pc2 the pet/Trot.sim.npz ' ]; echo $?)" "$made"

run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat $small -j 1
check "the first settings give the first bytes, on any number of threads" "$([ $status = 0 ] && cmp -s first.abc 'the pet/Trot.abc'; echo $?)" "$status $(cat err)"

# A shot with failed frames: all is written, the status says it.
again() { run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat $small "$@"; }
check "no frame failed" "$(grep -q '"failed_frames": 0' 'the pet/stats/sim.Trot.sim.npz.json'; echo $?)" "$(cat 'the pet/stats/sim.Trot.sim.npz.json')"
sed -i 's/"failed_frames": 0/"failed_frames": 3/; s/"failed_at": ""/"failed_at": "5-7"/' 'the pet/stats/sim.Trot.sim.npz.json'
again -q
check "failed frames are named, and status 4" "$([ $status = 4 ] && grep -q 'Trot: 3 frames failed.*: 5-7$' err && grep -q -e --accept err; echo $?)" "$status $(cat err)"
run make -s -C 'the pet'
check "make in the folder fails at its end, too" "$([ $status != 0 ] && grep -q 'failed frames' err; echo $?)" "$status $(cat err)"
again --accept
check "--accept takes them" "$([ $status = 0 ] && grep -q '3 frames failed' err; echo $?)" "$status $(cat err)"
run make -s -C 'the pet'
check "and so does make then" "$status" "$(cat err)"

head -c 5000 'the pet/my_pet.model.npz' >cut
cat cut >'the pet/my_pet.model.npz'
run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot $small
check "a stage's bad input comes through as 3" "$([ $status = 3 ] && grep -q '^supple-sim: my_pet.model.npz' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake 'my pet.glb' -o bad --clip Trot --poses -5
check "a stage's usage error comes through as 2" "$([ $status = 2 ] && grep -q '^supple-poses: ' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake 'my pet.glb' -o bad --clip Gallop
check "an unknown clip is named with those there are" "$([ $status = 3 ] && grep -q "'Gallop'.*Trot" err; echo $?)" "$status $(cat err)"

# Killed while it works: 75, and the next run goes on from what is whole.
"$BIN/supple" bake 'my pet.glb' -o killed --clip Trot $small >out 2>err </dev/null &
job=$!
tries=0
while [ ! -e killed/my_pet.poses.npz ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -TERM $job
wait $job
check "SIGTERM ends with 75" "$([ $? = 75 ] && [ -z "$(ls killed/*.tmp.* 2>/dev/null)" ]; echo $?)" "$(cat err)"
run "$BIN/supple" bake 'my pet.glb' -o killed --clip Trot $small
check "and the next run goes on" "$([ $status = 0 ] && cmp -s first.abc killed/Trot.abc; echo $?)" "$status $(cat err)"

if [ -r "$(dirname "$BIN")/build/viewer/report.html" ] || [ -r "$BIN/../../viewer/report.html" ]; then
    run "$BIN/supple" bake 'my pet.glb' -o killed --clip Trot --format abc,html $small
    check "a bake writes its report" "$([ $status = 0 ] && grep -q '"training_error"' killed/Trot.html && grep -q 'supple-cubature' killed/Trot.html; echo $?)" "$status $(cat err)"
fi

echo "1..$count"
