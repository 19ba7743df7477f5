#!/bin/sh
# What supple farm-job asks for before anything was baked, against what the stages then take: enough for each, and not as much as a host has.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import json' 2>/dev/null && python=$p; }; done
[ -n "$python" ] || { echo "ok 1 - estimates # skip no python3"; echo "1..1"; exit 0; }
case $BUILD in */san) echo "ok 1 - estimates # skip the sanitizers keep their own account"; echo "1..1"; exit 0 ;; esac
"$python" "$here/make_arm.py" arm.glb 90 24 24 0.5
run supple bake arm.glb -o baked --tets 2000 --modes 8 -j 1 -q
check "a bake" "$status" "$(cat err)"
mkdir fresh && cp baked/Makefile fresh
run supple farm-job openjd fresh -o job.json
check "a job of a folder where nothing was baked" "$status" "$(cat err)"
cat >compare.py <<'PY'
import glob, json, os
took, bad = {}, 0
for path in glob.glob("baked/stats/*.json"):
    stage = os.path.basename(path).split(".")[0]
    stats = json.load(open(path))
    both = took.get(stage, (0, 0))
    took[stage] = (max(both[0], stats["peak_memory_bytes"] / 1e6), max(both[1], stats["seconds"]))
with open("job.json") as file:
    steps = json.load(file)["steps"]
for step in steps:
    stage = step["name"].split("-")[1]
    asked = next(a["min"] for a in step["hostRequirements"]["amounts"] if a["name"].endswith("memory"))
    seconds = step["script"]["actions"]["onRun"]["timeout"]
    good = stage in took and 1.2 * took[stage][0] < asked < 20 * took[stage][0] + 500 and took[stage][1] < seconds
    bad += not good
    print(f"# {stage}: {took.get(stage, (0, 0))[0]:.0f} MB and {took.get(stage, (0, 0))[1]:.1f} s, asked for {asked} MB and {seconds} s{'' if good else '  WRONG'}")
raise SystemExit(bad > 0 or len(steps) < 8)
PY
run "$python" compare.py
check "memory and time asked for every stage hold" "$status" "$(cat out err)"
cat out
echo "1..$count"
