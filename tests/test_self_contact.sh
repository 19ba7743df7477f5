#!/bin/sh
# supple fullsim --self-contact on an arm that is bent: depths, status, threads; and what a bake makes of it.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"


python3 "$here/make_arm.py" arm.glb 140 40 24 0.6
run "$BIN/supple" bake arm.glb --full --self-contact new --tets 2500 -q -o out
check "an arm is baked with contact" "$status" "$(cat err)"
"$BIN/supple" fullsim -q out/arm.tet.npz out/arm.fit.npz out/Bend.anim.npz -o none.npz --stats none.json
for threads in 1 2; do
    "$BIN/supple" fullsim -q -j $threads --self-contact new out/arm.tet.npz out/arm.fit.npz out/Bend.anim.npz -o new.$threads.npz --stats new.json
done
"$BIN/supple" fullsim -q --self-contact none out/arm.tet.npz out/arm.fit.npz out/Bend.anim.npz -o off.npz
cmp -s none.npz off.npz
check "without contact bytes are as they were" $?
"$BIN/supple" info new.1.npz > info && grep -q contact_depth info
check "the file has depths" $?
number() { sed -n "s/.*\"$2\": *\([-0-9.e+]*\).*/\1/p" "$1"; }
depth=$(number new.json contact_depth) rig=$(number new.json rig_depth) contacts=$(number new.json contacts) failed=$(number new.json damped)
awk -v d="$depth" -v r="$rig" -v c="$contacts" 'BEGIN { exit !(d <= 0.005 && r > 0.02 && c > 3) }'
check "deepest new penetration at most 0.5 % of the diagonal (${depth:-?}; the rig alone ${rig:-?}; ${contacts:-?} contacts)" $?
[ "${failed:-0}" = 0 ]
check "no step is damped" $?
python3 - <<'PY'
import zipfile, sys
a, b = zipfile.ZipFile('new.1.npz'), zipfile.ZipFile('new.2.npz')
sys.exit(any(a.read(n) != b.read(n) for n in a.namelist() if n != 'meta.json' and 'meta' not in n))
PY
check "two threads give the bytes of one" $?
run "$BIN/supple" bake arm.glb --self-contact new -q -o other
[ "$status" = 2 ]
check "without --full a bake says what is missing" $? "$(cat err)"
echo "1..$count"
