#!/bin/sh
# supple fullsim --self-contact on an arm that is bent: depths, status, threads; and what a bake makes of it.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"

# All arrays byte for byte; meta tells of command lines.
same_arrays() {
    python3 - "$1" "$2" <<'PY'
import zipfile, sys
a, b = (zipfile.ZipFile(path) for path in sys.argv[1:])
names = [n for n in a.namelist() if 'meta' not in n]
sys.exit(not names or any(a.read(n) != b.read(n) for n in names))
PY
}

python3 "$here/make_arm.py" arm.glb 140 40 24 0.6
run "$BIN/supple" bake arm.glb --full --self-contact new --tets 2500 -q -o baked
check "an arm is baked with contact" "$status" "$(cat err)"
"$BIN/supple" fullsim -q baked/arm.tet.npz baked/arm.fit.npz baked/Bend.anim.npz -o none.npz --stats none.json
for threads in 1 2; do
    "$BIN/supple" fullsim -q -j $threads --self-contact new baked/arm.tet.npz baked/arm.fit.npz baked/Bend.anim.npz -o new.$threads.npz --stats new.json
done
"$BIN/supple" fullsim -q --self-contact none baked/arm.tet.npz baked/arm.fit.npz baked/Bend.anim.npz -o off.npz
same_arrays none.npz off.npz
check "without contact bytes are as they were" $?
"$BIN/supple" info new.1.npz > info && grep -q contact_depth info
check "the file has depths" $?
number() { sed -n "s/.*\"$2\": *\([-0-9.e+]*\).*/\1/p" "$1"; }
depth=$(number new.json contact_depth) rig=$(number new.json rig_depth) contacts=$(number new.json contacts) failed=$(number new.json damped)
awk -v d="$depth" -v r="$rig" -v c="$contacts" 'BEGIN { exit !(d <= 0.005 && r > 0.02 && c > 3) }'
check "deepest new penetration at most 0.5 % of the diagonal (${depth:-?}; the rig alone ${rig:-?}; ${contacts:-?} contacts)" $?
[ "${failed:-0}" = 0 ]
check "no step is damped" $?
same_arrays new.1.npz new.2.npz
check "two threads give the bytes of one" $?
run "$BIN/supple" bake arm.glb --self-contact new --basis poses -q -o other
[ "$status" = 2 ]
check "with bases a pose a bake says what goes with it" $? "$(cat err)"
echo "1..$count"
