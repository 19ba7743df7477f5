#!/bin/sh
# supple report: the numbers inside the page, statuses, and, where they are installed, the page in Chromium.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work" || exit 1
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; sed 's/^/# /' log.txt; fi; }
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import numpy' 2>/dev/null && python=$p; }; done
[ -n "$python" ] || { echo "ok 1 - report # skip no numpy"; exit 0; }
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
report() { supple-report -q --progress none "$@" >log.txt 2>&1; }
status() {   # EXPECTED WHAT ARGUMENTS...
    wanted=$1 what=$2; shift 2
    report "$@"; code=$?
    [ $code = "$wanted" ] && ! grep -q 'runtime error\|Sanitizer' log.txt && [ ! -e x.html ]; ok $? "$what: status $wanted"
}
printf '<html>\nSUPPLE-DATA\n</html>\n' >template.html
echo '{"tool": "supple-fit", "seconds": 1.5, "warnings": ["a </script> in a warning"]}' >fit.json
echo '{"tool": "supple-cubature", "seconds": 2.5, "curve": [{"tets": 8, "error": 0.2}, {"tets": 16, "error": 0.1}]}' >cubature.json
# two modes with contact between flesh vertices 1, 4 and 6
"$python" - <<'PY'
import sys, numpy as np, io, json, zipfile
arrays = dict(pose=np.zeros(1, np.int32), modes=np.random.default_rng(1).normal(size=(1, 2, 8, 3)), eigenvalues=np.array([[100.0, 400.0]]),
              region_weights=np.ones((1, 8)), mode_region=np.zeros(2, np.int32), contact_offsets=np.array([0, 2], np.int32),
              contact_row_offsets=np.array([0, 2, 3], np.int32), contact_vertices=np.array([6, 1, 4], np.int32),
              contact_coefficients=np.array([[0, 0.7, 0], [0, -0.7, 0], [1, 0, 0.0]]))
with zipfile.ZipFile("modes.npz", "w") as out:
    for name, array in arrays.items():
        b = io.BytesIO()
        np.save(b, array)
        out.writestr(name + ".npy", b.getvalue())
    out.writestr("meta.json", json.dumps(dict(kind="supple.modes", version=1, linear_modes=[2])))
PY
report model.npz shot.anim.npz moving.sim.npz --template template.html --modes modes.npz --stage fit.json cubature.json -o page.html &&
    "$python" "$here/report_case.py" page.html expected_moving.npy >>log.txt 2>&1
ok $? "the page holds rig, displacement, modes and series"
[ "$(grep -c '</script>' page.html)" = 2 ]; ok $? "texts cannot end the page's script"
report model.npz shot.anim.npz full.sim.npz --template template.html -o full.html && "$python" "$here/report_case.py" full.html expected_full.npy >>log.txt 2>&1
ok $? "a full-space run as well"
report -j1 model.npz shot.anim.npz moving.sim.npz --template template.html --modes modes.npz --stage fit.json cubature.json -o again.html && cmp page.html again.html >>log.txt
ok $? "the same bytes again"
report model.npz shot.anim.npz moving.sim.npz full.sim.npz --template template.html -o both.html && grep -q '"moved2":\[' both.html && grep -q '"second_file":"full.sim.npz"' both.html
ok $? "a second run stands beside the first"
report model.npz shot.anim.npz moving.sim.npz model.npz full.sim.npz --template template.html -o both.html && grep -q '"moved2":\[' both.html
ok $? "so does one of a model of its own"
status 3 "a second run of another length" model.npz shot.anim.npz moving.sim.npz short.sim.npz --template template.html -o x.html
echo nothing >empty.html
status 1 "a template without a place for data" model.npz shot.anim.npz moving.sim.npz --template empty.html -o x.html
status 1 "no template" model.npz shot.anim.npz moving.sim.npz --template nowhere.html -o x.html
status 2 "a view that is none" model.npz shot.anim.npz moving.sim.npz --template template.html --png x.png --view 'a"b' -o x.html
status 3 "a run of another length" model.npz shot.anim.npz short.sim.npz --template template.html -o x.html
status 4 "displacements beyond all bounds" model.npz shot.anim.npz wild.sim.npz --template template.html -o x.html

# ---- the real page ----
browser=
for b in chromium chromium-browser google-chrome; do [ -n "$browser" ] || { command -v $b >/dev/null && browser=$b; }; done
if ! report model.npz shot.anim.npz moving.sim.npz --modes modes.npz --stage cubature.json -o real.html; then echo "ok $((n + 1)) - the page opens # skip the viewer is not built (make viewer)"; exit 0; fi
[ -n "$browser" ] || { echo "ok $((n + 1)) - the page opens # skip Chromium is not installed"; exit 0; }
shots() { "$python" "$here/page_shots.py" "$browser" real.html "$@" >log.txt 2>&1; }
plain='still&bare&colour=plain'
shots 'still&frame=1001=a.png' && [ -s a.png ]
ok $? "Chromium opens the page without errors"
# the view alone, without texts: only what is shown can make the difference
shots "$plain&frame=1002=b.png" "$plain&frame=1006=c.png" "$plain&frame=1006=again.png" "$plain&frame=1006&show=rig=d.png" \
    "$plain&show=modes&points=contact=e.png" "$plain&show=modes&points=contact&without=contact=f.png" 'play&frame=1001=dom.html'
ok $? "it does so in seven other ways"
[ -s b.png ] && [ -s c.png ] && ! cmp -s b.png c.png
ok $? "another frame is another picture"
cmp c.png again.png >>log.txt 2>&1
ok $? "the same frame is the same picture"
[ -s d.png ] && ! cmp -s c.png d.png
ok $? "where the flesh moves, the simulated skin is another picture than the rig"
[ -s e.png ] && [ -s f.png ] && ! cmp -s e.png f.png
ok $? "contact points are shown on the mesh"
grep -q 'shown: \(frame 10[01][0-9], \)\{3\}frame 10[01][0-9]' dom.html && grep -q '>Pause<' dom.html
ok $? "it plays"
for words in 'Displacement of the skin' 'Energy' 'Frequencies of the linear modes' 'Cubature: error as the set grows' 'Time and memory of the stages'; do
    grep -q "$words" dom.html || echo "missing: $words" >>log.txt
done
! grep -q missing log.txt; ok $? "charts of displacement, energy, frequencies, cubature and stages stand on the page"
report model.npz shot.anim.npz moving.sim.npz -o sheet.html --png sheet.png && [ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] && [ "$(wc -c <sheet.png)" -gt 20000 ]
ok $? "--png draws a contact sheet"
report model.npz shot.anim.npz moving.sim.npz -o view.html --png view.png --view 'show=both&frame=1004' && [ "$(wc -c <view.png)" -gt 20000 ] && ! cmp -s view.png sheet.png
ok $? "--view draws the page as wanted"
grep -q 'https\?://[^"]*\.\(js\|css\)"' real.html; [ $? = 1 ]; ok $? "nothing is loaded from elsewhere"
