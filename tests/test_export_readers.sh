#!/bin/sh
# Other people's readers take our files: Khronos' glTF validator, three.js and TinyUSDZ (installed by `make viewer`), and Alembic's own tools
# where they are in PATH. Skipped with a word where they are not.
. "$(dirname "$0")/tap.sh"
modules=$(dirname "$(dirname "${BUILD:-$here/../build/default}")")/build/viewer/source/node_modules
need_numpy "readers"
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
run() { supple-export -q --progress none model.npz shot.anim.npz moving.sim.npz -o "$@" >>log.txt 2>&1; }
"$python" -c '
import json, numpy as np
p = np.load("expected_moving.npy") / 100
json.dump(np.stack([p[..., 0], p[..., 2], -p[..., 1]], -1).tolist(), open("expected.json", "w"))'
run run.glb --morphs 30 && run run.usda --unit 1 --up y && run blur.usda --unit 1 --up y --samples 3 --velocities && run run.json && run half.json --texture half && run run.abc --samples 3 --velocities --normals
ok $? "files are written"

if ! command -v node >/dev/null || [ ! -d "$modules/tinyusdz" ]; then
    skip "three.js, TinyUSDZ and the glTF validator" "node or its packages are missing (make viewer)"
else
    timeout 100 node "$here/export_readers.mjs" "$modules" . >found.txt 2>log.txt || echo "not ok - the readers: $(tail -1 log.txt)" >>found.txt
    while IFS= read -r line; do
        count=$((count + 1)); printf '%s\n' "$line" | sed "s/^\(not ok\|ok\) - /\1 $count - /"
    done <found.txt
fi
if ! command -v abcecho >/dev/null; then
    skip "Alembic's own tools" "they are not installed"
else
    abcecho run.abc >log.txt 2>&1 && [ "$(grep -c 'name=P;.*numsamps=36' log.txt)" = 2 ] && grep -q '.velocities;.*numsamps=36' log.txt
    ok $? "abcecho finds two meshes of 36 samples"
    abcechobounds run.abc >log.txt 2>&1 && grep -q '/body/bodyShape' log.txt
    ok $? "abcechobounds finds their bounds"
fi
