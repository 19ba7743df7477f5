#!/bin/sh
# Reduced against full on a beam that bends by 75 degrees, slowly and fast: at most 1 %, and at most a fifth (fast) or two thirds (slowly) of what the
# scheme of PSSD leaves at the same r (its inertia, linear interpolation, modes and cubature). Its modes and tets are of the one shot alone that it
# is measured on; ours are of a motion, too. Ours is the median of eight meshes (beam_error.py): from 850 to 1,200 tets its slow shot is 1.0 to 2.5 % off,
# ours 0.1 to 1.6 %. Trained on the shots alone ours left a fifth of the slow one as well.
. "$(dirname "$0")/tap.sh"
need_numpy "reduced against full"

export OMP_NUM_THREADS=1   # tests run two at a time
"$python" "$here/beam_error.py" "$BIN" "$PWD/beam" 50 >errors 2>&1
sed 's/^/# shot, ours, the paper'\''s scheme, tets: /' errors
for part in "beam 1.5 two.thirds" "fast 5 a.fifth"; do
    set -- $part
    awk -v shot=$1 -v part=$2 '$1 == shot { found = $2 <= 0.01 && part * $2 <= $3 } END { exit !found }' errors
    check "shot $1: within 1 % of the full simulation, and $(echo $3 | tr . ' ') of the paper's scheme" $?
done
# Ten modes hold the motion of the rig's own, too, and have 0.4 % of these shots out of reach; the median of what they do with the rest is 4.5 %,
# and was 8.1 % on another machine before directions were balanced (docs/reduction.md, 16a).
awk '$1 == "few" { found = $2 <= 0.1 } END { exit !found }' errors
check "ten modes: within 10 %" $?
