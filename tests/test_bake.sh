#!/bin/sh
# supple bake: the whole road on a small character, what a second run makes, and how failures come through.
. "$(dirname "$0")/tap.sh"

small='--poses 2 --tets 2500 --modes 10 --linear 6 --substeps 1'

run "$BIN/supple" creature --vertices 3000 -q -o 'my pet.glb'
check "the creature is made" "$status"

run "$BIN/supple" bake 'my pet.glb' -o dry -n $small
check "a dry run shows every stage and leaves no folder" "$([ $status = 0 ] && [ ! -e dry ] &&
    for stage in import poses mesh fit modes align cubature sim export; do grep -q "supple $stage " out || exit 1; done; echo $?)" "$status $(cat err)"

run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat --progress lines $small
check "a small bake" "$([ $status = 0 ] && [ -s 'the pet/Trot.abc' ] && [ -s 'the pet/Trot.pc2' ] &&
    [ -s 'the pet/Trot.vat.json' ] && [ -s 'the pet/Trot.vat.positions.exr' ] && [ -s 'the pet/Trot.vat.mesh.glb' ]; echo $?)" "$status $(cat err)"
check "what moved is told by joint" "$(grep -q 'Trot.anim.npz: largest displacement [0-9.]* % of the diagonal, at frame [0-9]*, [a-z]' err &&
    [ "$(grep -c 'mean *[0-9.]* %  largest *[0-9.]* %' err)" = 5 ]; echo $?)" "$(cat err)"
check "what the full simulation would take is told" "$(grep -q 'played in the full space, these clips would take about [0-9]* s (--full)' err; echo $?)" "$(cat err)"
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

# Which road a bake takes: a model where something asks for one, else the full space, which is exact and sooner there.
road() { run "$BIN/supple" bake 'my pet.glb' -o bad -n --clip Trot "$@" && sed -n 's/.*supple \(fullsim\|sim\|modes\|refine\) .*/\1/p' out | sort -u | tr '\n' ' '; }
check "without a word all is played in the full space" "$([ "$(road)" = 'fullsim ' ] && [ "$(road --poses 3 --look jelly --decay 0.4 --format usda,glb)" = 'fullsim ' ]; echo $?)" "$(road) $(cat err)"
check "with contact, too" "$([ "$(road --self-contact new --self-friction 0.3)" = 'fullsim ' ] && grep -q "fullsim .*--self-friction '0.3' --self-contact new" out; echo $?)" "$(cat out err)"
wrong=''
for each in --train '--format abc,html' '--modes 20' '--bound 2%' '--train --self-contact new' '--basis one' '--set MODES_FLAGS=--verbose'; do
    [ "$(road $each)" = 'modes sim ' ] || wrong="$wrong $each ($(road $each))"
done
check "a model is trained where something asks for it" "$([ -z "$wrong" ]; echo $?)" "$wrong"
for each in --full --skin --fast; do
    run "$BIN/supple" bake 'my pet.glb' -o bad -n $each --train
    check "$each trains nothing" "$([ $status = 2 ] && grep -q 'train: a model is trained, or none is' err; echo $?)" "$status $(cat err)"
done
wrong=''
for each in '--full --modes 20' '--bound 2% --full' '--skin -r 9' '--full --poses auto' '--full --contact pairs' '--basis one --regions ear=ear*' '--fast --contact tied'; do
    run "$BIN/supple" bake 'my pet.glb' -o bad -n $each
    [ "$status" = 2 ] && grep -q 'alone' err || wrong="$wrong $each: $status $(cat err);"
done
check "what a road has no use for is told, not dropped" "$([ -z "$wrong" ] && [ ! -e bad ]; echo $?)" "$wrong"
run "$BIN/supple" bake 'my pet.glb' -o bad -n --clip Trot --train --bound none
check "--bound none: no estimate, nothing in the full space" "$([ $status = 0 ] && grep -q 'supple sim ' out && ! grep -q -e '--estimate\|--bound' out; echo $?)" "$(cat out err)"

run "$BIN/supple" bake 'my pet.glb' -o whole --clip Trot --format abc,npy --poses 2 --tets 2500 --substeps 1
check "it says so" "$(grep -q 'all played in the full space; --train' err; echo $?)" "$(cat err)"
check "a bake in the full space makes no basis" "$([ $status = 0 ] && [ -s whole/Trot.abc ] && [ ! -e 'whole/my_pet.basis.npz' ] && [ ! -e 'whole/my_pet.motion.anim.npz' ] &&
    grep -q 'largest displacement' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake --model whole/my_pet.model.npz 'my pet.glb' --clip Stop --self-contact new -o bad -n
check "another shot of that flesh with contact has it" "$([ $status = 0 ] && grep -q 'fullsim .*--self-contact new' out; echo $?)" "$status $(cat out err)"
run "$BIN/supple" bake 'my pet.glb' -o share --poses 2 --tets 1500 --substeps 1 -j 4
check "clips beside each other share the threads" "$([ $status = 0 ] && python3 -c "
import json
threads = lambda name: json.load(open('share/stats/%s.npz.json' % name))['threads']
assert [threads(n) for n in ('mesh.my_pet.tet', 'fullsim.Trot.sim', 'fullsim.Stop.sim')] == [4, 2, 2]
"; echo $?)" "$status $(cat err)"
run "$BIN/supple" fullsim whole/my_pet.tet.npz whole/my_pet.fit.npz whole/Trot.anim.npz --substeps 1 -q -o whole/truth.npz
run "$BIN/supple" compare whole/my_pet.model.npz whole/Trot.anim.npz whole/Trot.sim.npz whole/truth.npz -q --stats off.json
off=$(sed -n 's/^ "error": \([0-9.e+-]*\),*$/\1/p' off.json)
check "and is the full simulation within a tenth of a per cent" "$([ $status = 0 ] && awk -v e="$off" 'BEGIN { exit !(e > 0 && e < 1e-3) }'; echo $?)" "$off $(cat err)"
run "$BIN/supple" sim whole/my_pet.model.npz whole/Trot.anim.npz -o x.npz
check "a model without modes simulates nothing reduced, and says so" "$([ $status = 3 ] && grep -q 'no modes' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake --model whole/my_pet.model.npz 'my pet.glb' --clip Stop -o wholly
check "another shot on its flesh is played in the full space" "$([ $status = 0 ] && [ -s wholly/Stop.abc ] && [ -s wholly/stats/fullsim.Stop.sim.npz.json ] && [ ! -e wholly/stats/fit.my_pet.fit.npz.json ] &&
    ! grep -q 'model alone\|full space;' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake --model whole/my_pet.model.npz 'my pet.glb' --clip Stop -o bad -n --bound 2%
check "where a bound has no meaning" "$([ $status = 2 ] && grep -q 'is flesh, and its shots' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake 'my pet.glb' -o whole --clip Trot --format abc,npy --poses 2 --tets 2500 --substeps 1 --full -n
check "--full says the same in words" "$([ $status = 0 ] && ! grep -q 'supple ' out; echo $?)" "$(cat out)"
run "$BIN/supple" bake 'my pet.glb' -o whole --clip Trot --format abc,npy --poses 2 --tets 2500 --substeps 1 --train -n
check "with --train the same folder gets a basis, and the shot is made again" "$([ $status = 0 ] && ! grep -q 'supple \(mesh\|fit\) ' out && grep -q 'supple modes ' out && grep -q 'supple sim ' out; echo $?)" "$(cat out)"

run "$BIN/supple" bake 'my pet.glb' -o moon -n --train --poses 2 --gravity 0,-1.6,0 --gravity-mode absolute
check "what modes are made for is simulated under the same gravity" "$([ $status = 0 ] &&
    [ "$(grep -c "supple \(modes\|sim\) .*--gravity '\{0,1\}0,-1.6,0'\{0,1\} --gravity-mode '\{0,1\}absolute" out)" = 3 ]; echo $?)" \
    "$(grep 'supple \(modes\|sim\)' out)"

touch mark
run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc,pc2,vat $small
check "a second run makes nothing" "$([ $status = 0 ] && [ -z "$(find 'the pet' -name '*.npz' -newer mark)" ]; echo $?)" "$status $(cat err)"

touch before
run "$BIN/supple" bake 'my pet.glb' -o 'the pet' --clip Trot --format abc $small --decay 0.5 -n
check "a dry run shows what other settings would make and changes nothing" "$([ $status = 0 ] && grep -q 'supple sim .*--decay' out &&
    ! grep -q 'supple \(import\|cubature\) ' out && [ -z "$(find 'the pet' -newer before)" ]; echo $?)" "$(cat out err)"

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

# Which clips, which frames of them, and curves that the caller has beside him.
python3 - <<'PY'
glb = open("my pet.glb", "rb").read()
open("prefix.glb", "wb").write(glb.replace(b'"Trot"', b'"R|Go"'))
open("none.glb", "wb").write(glb.replace(b'"animations"', b'"animationz"'))
PY
imports() { sed -n "s/.*supple import [^ ]* --clip '\([^']*\)'\(.*\) -o .*/\1\2/p" out | sort | tr '\n' ';'; }
for each in 'Go=R|Go ;' 'R|*=R|Go ;' '[GS]*o*=R|Go ;Stop ;' '*o=R|Go ;'; do
    run "$BIN/supple" bake prefix.glb -o bad -n --clip "${each%%=*}"
    check "--clip ${each%%=*}" "$([ $status = 0 ] && [ "$(imports)" = "${each#*=}" ]; echo $?)" "$(imports) $(cat err)"
done
run "$BIN/supple" bake 'my pet.glb' -o bad -n --train --clip Trot --start 3 --end=9
check "--start and --end with frames cut the clip" "$([ $status = 0 ] && grep -q "supple import .*--clip 'Trot' --start '3' --end '9'" out &&
    ! grep -q 'supple sim .*--start' out; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake 'my pet.glb' -o bad -n --train --clip Trot --start rig
check "--start with a word says how the flesh begins" "$([ $status = 0 ] && grep -q "supple sim .*--start 'rig'" out && ! grep -q 'supple import .*--start' out; echo $?)" "$(cat out err)"

mkdir 'my curves'
printf 'time,hips.ry,neck.rx\n0,0,0\n0.3,0.5,0.2\n0.6,0,0\n' >'my curves/nod it.csv'
run "$BIN/supple" bake none.glb -o nod --clip 'my curves/nod it.csv' $small
check "joint curves, named from where the caller stands, for a character without clips" "$([ $status = 0 ] && [ -s nod/nod_it.abc ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake none.glb -o nod --clip 'my curves/nod it.csv' $small -n
check "which a second run leaves alone" "$([ $status = 0 ] && ! grep -q 'supple import' out; echo $?)" "$(cat out err)"
run "$BIN/supple" bake none.glb 'my curves/nod it.csv' --degrees -o other -n $small
check "curves behind the character are the same, and may be in degrees" "$([ $status = 0 ] && grep -q "supple import .*nod it.csv.* --degrees" out; echo $?)" "$status $(cat out err)"
touch -d '1 minute' 'my curves/nod it.csv'
run "$BIN/supple" bake none.glb -o nod --clip 'my curves/nod it.csv' $small -n
check "unless they have changed" "$([ $status = 0 ] && grep -q 'supple import' out; echo $?)" "$(cat out err)"
run "$BIN/supple" bake none.glb -o bad --clip 'my curves/none.csv'
check "curves that are not there" "$([ $status = 3 ] && grep -q 'my curves/none.csv: cannot read' err; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake none.glb -o bad
check "a character without clips: what to do about it" "$([ $status = 3 ] && grep -q 'holds no clip.*--clip FILE.csv' err && [ ! -e bad/none.poses.npz ]; echo $?)" "$status $(cat err)"

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
