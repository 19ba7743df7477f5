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
report model.npz shot.anim.npz moving.sim.npz --template template.html --stage fit.json -o page.html &&
    "$python" "$here/report_case.py" page.html expected_moving.npy >>log.txt 2>&1
ok $? "the page holds rig, displacement, modes and series"
[ "$(grep -c '</script>' page.html)" = 2 ]; ok $? "texts cannot end the page's script"
report model.npz shot.anim.npz full.sim.npz --template template.html -o full.html && "$python" "$here/report_case.py" full.html expected_full.npy >>log.txt 2>&1
ok $? "a full-space run as well"
report -j1 model.npz shot.anim.npz moving.sim.npz --template template.html --stage fit.json -o again.html && cmp page.html again.html >>log.txt
ok $? "the same bytes again"
echo nothing >empty.html
status 1 "a template without a place for data" model.npz shot.anim.npz moving.sim.npz --template empty.html -o x.html
status 1 "no template" model.npz shot.anim.npz moving.sim.npz --template nowhere.html -o x.html
status 3 "a run of another length" model.npz shot.anim.npz short.sim.npz --template template.html -o x.html
status 4 "displacements beyond all bounds" model.npz shot.anim.npz wild.sim.npz --template template.html -o x.html

# ---- the real page ----
browser=
for b in chromium chromium-browser google-chrome; do [ -n "$browser" ] || { command -v $b >/dev/null && browser=$b; }; done
if ! report model.npz shot.anim.npz moving.sim.npz -o real.html; then echo "ok $((n + 1)) - the page opens # skip the viewer is not built (make viewer)"; exit 0; fi
[ -n "$browser" ] || { echo "ok $((n + 1)) - the page opens # skip Chromium is not installed"; exit 0; }
shoot() {   # HASH FILE
    timeout 100 $browser --headless --no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist \
        --user-data-dir="$work/profile" --window-size=1000,900 --virtual-time-budget=4000 --enable-logging=stderr --screenshot="$work/$2" \
        "file://$work/real.html#$1" >log.txt 2>&1
}
shoot 'frame=1001' a.png && [ -s a.png ] && ! grep -q 'CONSOLE.*\(rror\|arning\)' log.txt
ok $? "Chromium opens the page without errors"
# the view alone, without texts: only the skin can make the difference
shoot 'bare&frame=1002&colour=plain' b.png && shoot 'bare&frame=1006&colour=plain' c.png && [ -s b.png ] && [ -s c.png ] && ! cmp -s b.png c.png
ok $? "another frame is another picture"
shoot 'bare&frame=1006&colour=plain' again.png && cmp c.png again.png >>log.txt
ok $? "the same frame is the same picture"
shoot 'bare&frame=1006&show=rig&colour=plain' d.png && [ -s d.png ] && ! cmp -s c.png d.png
ok $? "where the flesh moves, the simulated skin is another picture than the rig"
report model.npz shot.anim.npz moving.sim.npz -o sheet.html --png sheet.png && [ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] && [ "$(wc -c <sheet.png)" -gt 20000 ]
ok $? "--png draws a contact sheet"
grep -q 'https\?://[^"]*\.\(js\|css\)"' real.html; [ $? = 1 ]; ok $? "nothing is loaded from elsewhere"
