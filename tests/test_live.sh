#!/bin/sh
# The page that simulates: the run time as WebAssembly against supple sim, by node alone and, where playwright-core and Chromium are there, in the page.
. "$(dirname "$0")/tap.sh"
root=$(dirname "$here")
viewer=$root/build/viewer modules=$root/build/viewer/source/node_modules
need_numpy "the page simulates"
if [ ! -s "$viewer/live.wasm" ]; then # not for want of a compiler that takes it
    "$root/tools/report/wasm/build" probe.wasm 2>log
    [ $? != 1 ] || { echo "not ok 1 - the run time compiles to WebAssembly"; sed 's/^/# /' log; exit 1; }
    skip_all "the page simulates" "the run time is not built for the page (make viewer)"
fi
command -v node >/dev/null || skip_all "the page simulates" "no node"
export OMP_WAIT_POLICY=passive
supple=$BIN/supple

run node "$here/coarse_page.mjs" "$root/tools/report/web"
check "fewer triangles: closed stays closed, flat goes first, colours and open edges stay" "$status" "$(cat out err)"

run "$supple" creature --vertices 3000 -q -o pet.glb
run "$supple" bake -q pet.glb -o pose --clip Stop --format npy --tets 1500 --modes 16 --poses 3 --bound 0
check "a model of bases is baked" "$status" "$(cat err)"
run "$supple" bake -q --fast pet.glb -o skinning --clip Stop --format npy --tets 2500 --clusters 40
check "a model of skinning modes is baked" "$status" "$(cat err)"

# What acts, as the page is told it and as sim is: NAME SETTINGS FORCES OPTIONS. {C} is the vertex of a contact point.
cat >cases <<'CASES'
plain|{}||
pull and release|{"force":{"contact":40,"force":[0,-60,40],"from":0.501,"to":0.901}}|{"points":300,"wind":{"velocity":[0,0,0],"drag":1e-9},"forces":[{"vertex":{C},"force":[0,-60,40],"from":0.501,"to":0.901}]}|
all at once|{"stiffness":0.6,"damping":0.2,"gravity":[0,-7,0],"wind":[5,0,0],"drag":1.2,"plane":0.02,"ball":[0.3,0.5,0.6,0.1]}|{"wind":{"velocity":[5,0,0],"drag":1.2},"colliders":[{"shape":"plane","point":[0,0.02,0],"normal":[0,1,0]},{"shape":"sphere","centre":[0.3,0.5,0.6],"radius":0.1}]}|--stiffness 0.6 --damping 0.2 --gravity=0,-7,0
CASES
for model in pose skinning; do
    run "$supple" report -q $model/pet.model.npz $model/Stop.anim.npz $model/Stop.sim.npz -o $model.html
    check "$model: the report" "$([ "$status" = 0 ] && grep -q supple-wasm $model.html; echo $?)" "$(cat err)"
    while IFS='|' read -r name settings forces options; do
        echo "$settings" >settings.json
        run node "$here/live_page.mjs" "$root/tools/report/web" "$PWD/$model.html" "$viewer/live.wasm" live.f32 settings.json contacts.json
        check "$model, $name: the module runs" "$status" "$(cat out err)"
        [ -z "$forces" ] || {
            contact=$("$python" -c 'import json; print(json.load(open("contacts.json"))[40])')
            echo "$forces" | sed "s/{C}/$contact/" >forces.json
            options="$options --forces forces.json"
        }
        # shellcheck disable=SC2086
        "$supple" sim -q $model/pet.model.npz $model/Stop.anim.npz $options -o sim.npz 2>err </dev/null &&
            "$supple" export -q $model/pet.model.npz $model/Stop.anim.npz sim.npz -o "$model-$name.npy" 2>err </dev/null
        other=
        [ "$name" = plain ] || other="$model-plain.npy"
        # shellcheck disable=SC2086
        run "$python" "$here/live_case.py" $model/Stop.anim.npz "$model-$name.npy" live.f32 $other
        check "$model, $name: as supple sim, to 1e-5 of the diagonal" "$status" "$(cat out err)"
        cp settings.json "$model-$name.json"
    done <cases
done

# A skin that bones do not carry linearly: the page has what is left of it.
echo '{}' >settings.json
"$supple" import -q pet.glb --clip Stop --skinning dqs -o dqs.anim.npz && "$supple" sim -q pose/pet.model.npz dqs.anim.npz -o sim.npz &&
    "$supple" export -q pose/pet.model.npz dqs.anim.npz sim.npz -o dqs.npy &&
    "$supple" report -q pose/pet.model.npz dqs.anim.npz sim.npz -o dqs.html &&
    node "$here/live_page.mjs" "$root/tools/report/web" "$PWD/dqs.html" "$viewer/live.wasm" live.f32 settings.json >log
check "dual quaternions: the module runs" $? "$(cat log)"
run "$python" "$here/live_case.py" dqs.anim.npz dqs.npy live.f32 pose-plain.npy
check "dual quaternions: as supple sim, to 1e-5 of the diagonal, and not as the linear skin" "$status" "$(cat out err)"

browser=
for b in chromium chromium-browser google-chrome; do [ -n "$browser" ] || { command -v $b >/dev/null && browser=$b; }; done
if [ -z "$browser" ] || [ ! -d "$modules/playwright-core" ]; then
    echo "ok $((count + 1)) - the page in Chromium # skip Chromium or playwright-core is not installed"
    exit 0
fi
# What the copied command bakes is what is seen: once for each kind of model, with something of everything.
cat >pose.controls <<'JSON'
{"controls": {"stiffness": -0.3, "damping": 0.2, "gravity": 0.75, "mode": 1, "wind": 5, "from": 30, "plane": true, "height": 0.02, "ball": true, "radius": 0.06},
 "ball": [0.3, 0.5, 0.6], "held": {"contact": 40, "force": [0, -60, 40], "from": 0.501, "to": 0.901}}
JSON
echo '{"controls": {"stiffness": 0.3, "wind": 9}}' >skinning.controls
for model in pose skinning; do
    run node "$here/live_browser.mjs" "$modules" "$PWD/$model.html" browser.f32 $model.controls
    check "$model: the page runs in Chromium, from a file, without an error on its console" "$status" "$(cat out err)"
    cp pet.glb $model/ && sed 's| -o live/| --format npy&|' browser.f32.sh >$model/copied.sh
    (cd $model && PATH=$BIN:$PATH run sh ./copied.sh; cat out err; exit "$status") >log 2>&1
    check "$model: the copied command bakes" $? "$(cat browser.f32.sh log)"
    run "$python" "$here/live_case.py" $model/Stop.anim.npz $model/live/Stop.npy browser.f32 $model-plain.npy
    check "$model: what it bakes is what Chromium shows, to 1e-5 of the diagonal, and not the bake as it was" "$status" "$(cat out err)"
done
run node "$here/live_pointer.mjs" "$modules" "$PWD/pose.html"
check "pointer, keys, sliders and command" "$status" "$(cat out err)"
