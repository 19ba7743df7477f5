#!/bin/sh
# The Blender add-on (scripts/blender/supple_addon.py), installed and driven without a window: bakes a character, puts the result on its meshes,
# takes it off (tests/blender_addon.py). Skipped without Blender.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
seconds=550
bin=${BIN:-$here/../bin}
timeout 60 blender --version >/dev/null 2>&1 || { echo "ok 1 - the Blender add-on # skip Blender is not installed"; exit 0; }
mkdir user
BLENDER_USER_RESOURCES=$PWD/user BLENDER_USER_SCRIPTS=$PWD/user BLENDER_USER_CONFIG=$PWD/user run blender -b --factory-startup -noaudio --python-exit-code 3 \
    --python "$here/blender_addon.py" -- "$bin/supple" "$here/../scripts/blender/supple_addon.py" "$PWD/bake folder"
grep -E '^(not )?ok - ' out | while IFS= read -r line; do
    n=$((${n:-0} + 1)); printf '%s\n' "$line" | sed "s/^\(not ok\|ok\) - /\1 $n - /"
done
count=$(grep -cE '^(not )?ok - ' out)
check "Blender ends well" "$([ $status = 0 ] && [ "$count" -gt 15 ]; echo $?)" "$status $(grep -v '^ok' out | tail -5) $(tail -5 err)"
