#!/bin/sh
# supple bake --fast: skinning modes and clusters on the whole road, and everything that takes their models.
. "$(dirname "$0")/tap.sh"

run "$BIN/supple" creature --vertices 3000 -q -o pet.glb
check "the creature is made" "$status"

small='--tets 2500 --clusters 40'
run "$BIN/supple" bake --fast pet.glb -o fast --clip Stop --format abc,glb,npy $small -j 1
check "a fast bake" "$([ $status = 0 ] && [ -s fast/Stop.abc ] && [ -s fast/Stop.glb ] && [ -s fast/Stop.npy ]; echo $?)" "$status $(cat err)"
check "without bases, motion or cubature of its own" "$([ ! -e fast/pet.basis.npz ] && [ ! -e fast/pet.motion.anim.npz ] && [ -e fast/pet.skinning.npz ]; echo $?)" "$(ls fast)"
most=$(sed -n 's/.*largest displacement \([0-9.]*\) % of the diagonal, at frame.*/\1/p' err)
check "moves flesh" "$(awk -v m="${most:-0}" 'BEGIN { exit !(m > 0.5 && m < 10) }'; echo $?)" "$most"
for file in fast/*.npz; do
    run "$BIN/supple" info "$file"
    check "supple info accepts ${file##*/}" "$status" "$(cat err)"
done
check "the model says what it is" "$("$BIN/supple" info fast/pet.model.npz | grep -q '"\{0,1\}skinning"\{0,1\}'; echo $?)"

touch mark
run "$BIN/supple" bake --fast pet.glb -o fast --clip Stop --format abc,glb,npy $small -j 1
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
printf '{"points": 100, "colliders": [{"shape": "plane", "point": [0, 0.3, 0], "normal": [0, 1, 0]}], "wind": {"velocity": [3, 0, 0]}}' >forces.json
run "$BIN/supple" sim fast/pet.model.npz fast/Stop.anim.npz --forces forces.json -q -o pushed.npz
check "colliders and wind" "$([ $status = 0 ] && ! cmp -s pushed.npz 1.npz; echo $?)" "$status $(cat err)"

run "$BIN/supple" bake --fast pet.glb -o bound --bound 3%
check "a bound has nothing to hold against" "$([ $status = 2 ] && grep -q 'no estimate' err && [ ! -e bound ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" cubature fast/pet.tet.npz fast/pet.poses.npz fast/pet.fit.npz fast/pet.skinning.npz --clusters 0 -o x.npz
check "no clusters is no model" "$([ $status = 2 ] && [ ! -e x.npz ]; echo $?)" "$status $(cat err)"

echo "1..$count"
