#!/bin/sh
# Debian's Blender opens the exported OBJ with PC2 and MDD on it and finds the same vertices. Skipped without Blender.
. "$(dirname "$0")/tap.sh"
need_numpy "Blender reads our caches"
command -v blender >/dev/null || { echo "ok 1 - Blender reads our caches # skip Blender is not installed"; exit 0; }
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
run() { supple-export -q --progress none model.npz shot.anim.npz moving.sim.npz -o "$@" >log.txt 2>&1; }
blend() { timeout 120 blender -b --factory-startup -noaudio --python-exit-code 3 --python "$here/blender_caches.py" -- "$@" >>log.txt 2>&1; }
# one object for Blender's modifier: object lines are taken out, vertices and faces stay
run body.obj --frames 1001 && sed -i '/^o /d' body.obj
ok $? "one frame as OBJ"
for format in pc2 mdd; do
    run cache.$format && blend body.obj "$folder/cache.$format" expected_moving.npy 1001
    ok $? "$format on the OBJ by the Mesh Cache modifier: $(grep -o 'largest difference.*' log.txt)"
done
for case in float:2e-5 half:1e-1 png:4e-3; do
    run ${case%:*}.json --texture ${case%:*} &&
        timeout 120 blender -b --factory-startup -noaudio --python-exit-code 3 --python "$here/blender_textures.py" -- ${case%:*}.json expected_moving.npy ${case#*:} >>log.txt 2>&1
    ok $? "Blender reads the textures (${case%:*}): $(grep -o 'largest difference.*' log.txt)"
done
