#!/bin/sh
# supple contact and supple sim --contact as programs, on an arm that is bent, and in a bake.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
find_numpy
number() { sed -n "s/.*\"$2\": *\([-0-9.e+]*\).*/\1/p" "$1" | head -n 1; }
# The arrays named, all where none is, byte for byte; meta tells of command lines.
same_arrays() {
    python3 - "$@" <<'PY'
import zipfile, sys
a, b = (zipfile.ZipFile(path) for path in sys.argv[1:3])
names = [n + '.npy' for n in sys.argv[3:]] or [n for n in a.namelist() if 'meta' not in n]
sys.exit(not names or any(a.read(n) != b.read(n) for n in names))
PY
}

python3 "$here/make_arm.py" arm.glb 112 40 24 0.6
python3 "$here/make_arm.py" still.glb 0 40 24 0.3
run "$BIN/supple" bake arm.glb --train --self-contact all --tets 2400 -r 30 --set MOTION_FLAGS='--seconds 1' -q -o baked
check "an arm is baked with reduced contact" "$status" "$(cat err)"
cd baked || exit 1
none() { "$BIN/supple" sim arm.model.npz Bend.anim.npz -q "$@"; }
none -o none.npz --self-contact none
none -o all.npz --self-contact all --fit arm.fit.npz --stats all.json
none -o few.npz --contact arm.contact.npz --stats few.json
for threads in 1 2; do
    "$BIN/supple" contact arm.tet.npz arm.fit.npz arm.model.npz Bend.anim.npz --self-contact all -q -j $threads -m 6 -o $threads.contact.npz --stats c.json
done
same_arrays 1.contact.npz 2.contact.npz
check "contact: two threads give the bytes of one" $?
error=$(number c.json error) met=$(number c.json most_pairs)
awk -v e="$error" -v m="$met" 'BEGIN { exit !(e <= 0.05 && m > 3) }'
check "pair sets meet 5 % (${error:-?}; at most ${met:-?} vertices press in a pose)" $?
same_arrays few.npz Bend.sim.npz times q qdot weights basis_weights energy iterations # status says what the full space took over
check "the bake's reduced run has trained contact" $?
awk -v a="$(number all.json contact_most_pressed)" -v f="$(number few.json contact_most_pressed)" 'BEGIN { exit !(a > 3 && f > 0) }'
check "pairs press in both runs" $?
apart() { "$BIN/supple" compare arm.model.npz Bend.anim.npz "$1" "$2" | sed -n 's/^relative L2 error of u *\([0-9.]*\).*/\1/p'; }
with=$(apart few.npz all.npz) without=$(apart none.npz all.npz)
awk -v a="$with" -v b="$without" 'BEGIN { exit !(a < 0.3 * b) }'
check "trained pairs come nearer to all pairs than none (${with:-?} against ${without:-?} %)" $?
# The fewer ways the flesh has to give way, the softer contact has to be.
softness() { "$BIN/supple" info "$1" | sed -n 's/^ *contact_softness *//p'; }
"$BIN/supple" modes arm.tet.npz arm.fit.npz --motion arm.motion.anim.npz --shots Bend.anim.npz --self-contact all -r 8 -q -o few.basis.npz
"$BIN/supple" cubature arm.tet.npz arm.poses.npz arm.fit.npz few.basis.npz --shots arm.motion.anim.npz Bend.anim.npz -q -o few.model.npz --stats few.model.json 2>err
few=$(softness few.model.npz) many=$(softness arm.model.npz)
awk -v f="$few" -v m="$many" -v s="$(number few.model.json contact_softness)" 'BEGIN { d = f - s; exit !(f > 0.2 && f < 0.8 && m > 0.9 && m <= 1 && d * d < 1e-8) }'
check "contact is softer in a subspace of 8 modes than in one of 30 (${few:-?} and ${many:-?})" $?
none -o held.npz --contact arm.contact.npz --self-friction 0.5 --stats held.json
held=$(apart held.npz few.npz)
awk -v a="$held" -v f="$(number held.json failed)" 'BEGIN { exit !(a > 1 && f == 0) }'
check "friction holds trained pairs (${held:-?} % from those that slide)" $?
# How far off trained pairs are is known, and what takes their place is the full space's contact.
none -o off.npz --contact arm.contact.npz --estimate arm.tet.npz arm.fit.npz --bound 0.01% --stats off.json
"$BIN/supple" fullsim arm.tet.npz arm.fit.npz Bend.anim.npz --self-contact all --tolerance 1e-3 -q -o full.npz
told=$(number off.json error_estimate_reduced) true=$(apart few.npz full.npz) left=$(apart off.npz full.npz)
awk -v e="$told" -v t="$true" -v l="$left" 'BEGIN { exit !(t > 0.1 && 100 * e > 0.98 * t && 100 * e < 1.02 * t && l < 0.01) }'
check "the error with contact is known (${told:-?} for ${true:-?} %), and nothing of it is left in the full space (${left:-?} %)" $?
# Modes that answer forces of contact stand first; the others are beside them.
for threads in 1 2; do
    "$BIN/supple" modes arm.tet.npz arm.fit.npz --motion Bend.anim.npz --self-contact all -r 16 --contact-forces 5 -j $threads -q -o $threads.basis.npz
done
same_arrays 1.basis.npz 2.basis.npz
check "modes that answer contact: two threads give the bytes of one" $?
"$BIN/supple" modes arm.tet.npz arm.fit.npz --motion Bend.anim.npz --self-contact all -r 16 -q -o plain.basis.npz
[ -z "$python" ] || "$python" - >held <<'PY'
import numpy as np
front, plain = (np.load(name + '.basis.npz') for name in ('1', 'plain'))
B, P = (f['basis'].reshape(16, -1).T for f in (front, plain))
print(abs(front['gram'].reshape(16, 16) - np.eye(16)).max())
print(max(np.linalg.norm(b - P @ np.linalg.lstsq(P, b, rcond=None)[0]) / np.linalg.norm(b) for b in B[:, :5].T))
PY
if [ -n "$python" ]; then
    awk 'NR == 1 { good = $1 < 1e-9 } NR == 2 { good = good && $1 > 0.1 } END { exit !(good && NR == 2) }' held
    check "they are orthonormal with the others, and in no basis of the motion alone ($(tr '\n' ' ' <held))" $?
fi
python3 "$here/make_arm.py" bent.glb 40 40 24 0.3
"$BIN/supple" import -q bent.glb -o bent.anim.npz
run "$BIN/supple" modes arm.tet.npz arm.fit.npz --motion bent.anim.npz --self-contact all -r 8 --contact-forces 3 -q -o untouched.basis.npz
check "where nothing touches no modes answer it" "$status" "$(cat err)"
grep -q 'nothing touches' err && ! grep -q 'illegal' out err
check "which is said, and nothing else" $? "$(cat out err)"
run "$BIN/supple" modes arm.tet.npz arm.fit.npz --motion bent.anim.npz --self-contact all -r 8 -q -o untouched.basis.npz
test "$status" = 0 && ! grep -q 'nothing touches' err
check "where no modes are asked to answer contact, nothing is" $? "$(cat out err)"
"$BIN/supple" info arm.contact.npz | grep -q pair_weight
check "info knows the file" $?

# Trained where nothing touches, played where it does: the shot goes on, and a warning says so.
"$BIN/supple" import -q ../still.glb -o still.anim.npz
"$BIN/supple" contact arm.tet.npz arm.fit.npz arm.model.npz still.anim.npz -o nothing.contact.npz 2>../words
grep -q 'nothing touches' ../words
check "training says where nothing touches" $?
run "$BIN/supple" sim arm.model.npz Bend.anim.npz -q --contact nothing.contact.npz -o nothing.npz
check "a shot goes on without pairs" "$status" "$(cat err)"
"$BIN/supple" compare arm.model.npz Bend.anim.npz nothing.npz none.npz | grep -q '^relative L2 error of u *0\.000'
check "and is the one without contact" $?

refused() {   # EXIT WORDS ARGUMENTS...
    wanted=$1 words=$2
    shift 2
    "$BIN/supple" "$@" -q -o refused.npz 2>../words
    [ $? = "$wanted" ] && grep -q "$words" ../words && [ ! -e refused.npz ]
    check "$* is refused" $? "$(cat ../words)"
}
refused 2 'take one' sim arm.model.npz Bend.anim.npz --contact arm.contact.npz --self-contact all --fit arm.fit.npz
refused 2 'goes with --self-contact' modes arm.tet.npz arm.fit.npz --motion Bend.anim.npz --contact-forces 5
refused 2 'leaves nothing' modes arm.tet.npz arm.fit.npz --motion Bend.anim.npz --self-contact all -r 5 --contact-forces 5
refused 2 'goes with --contact' sim arm.model.npz Bend.anim.npz --self-friction 0.5
refused 2 'goes with --fit' sim arm.model.npz Bend.anim.npz --self-contact all
refused 3 'supple.contact' sim arm.model.npz Bend.anim.npz --contact arm.fit.npz
refused 2 'the clip has frames' contact arm.tet.npz arm.fit.npz arm.model.npz Bend.anim.npz --at Bend:900
head -c 3000 arm.contact.npz >cut.contact.npz
refused 3 'cut.contact.npz' sim arm.model.npz Bend.anim.npz --contact cut.contact.npz
cd .. || exit 1
echo "1..$count"
