#!/bin/sh
# supple export when the disk is full, when it is killed, and when inputs do not belong together: a message, the right status,
# and never half a file under the final name.
. "$(dirname "$0")/tap.sh"
need_numpy "failing exports"
"$python" "$here/export_case.py" make . >log.txt 2>&1 || { ok 1 "the case is made"; exit 1; }
# a mesh of 160,000 vertices to carry along, so that files are large and writing takes a while: 23 MB of positions
"$python" -c '
import numpy as np
k = 400
x, y = np.meshgrid(np.linspace(-40, 40, k), np.linspace(-40, 40, k))
v = np.arange(k * k - k).reshape(k - 1, k)[:, :-1].ravel() + 1
with open("dense.obj", "w") as out:
    out.write("".join("v %.6g %.6g -41\n" % p for p in zip(x.ravel(), y.ravel())))
    out.write("".join("f %d %d %d %d\n" % (a, a + 1, a + k + 1, a + k) for a in v.tolist()))'
large="model.npz shot.anim.npz moving.sim.npz --bind dense.obj"

# ---- a full disk: a file system of its own, 2 MB ----
mkdir full
if ! unshare -rm mount -t tmpfs -o size=2m none full 2>log.txt; then
    skip "a full disk" "no file system of its own can be mounted here"
else
    for name in x.abc x.usda x.usdc x.pc2 x.mdd x.%04d.obj x.npy x.glb x.json; do
        unshare -rm sh -c 'mount -t tmpfs -o size=2m none full && supple-export -q --progress none '"$large"' -o full/'$name' 2>log.txt
                           echo $? >status; ls full >left' >log2.txt 2>&1
        [ "$(cat status)" = 75 ] && [ ! -s left ] && grep -q "${name%%[.%]*}.*[Nn]o space left" log.txt
        ok $? "a full disk, $name: status 75, a message that says so, nothing left"
    done
    unshare -rm sh -c 'mount -t tmpfs -o size=2m none full && echo old >full/x.abc && supple-export -q --progress none '"$large"' -o full/x.abc 2>log.txt
                       echo $? >status; cat full/x.abc >left' >log2.txt 2>&1
    [ "$(cat status)" = 75 ] && [ "$(cat left)" = old ]; ok $? "an older file stays as it was"
    unshare -rm sh -c 'mount -t tmpfs -o size=27m none full && for f in json positions.exr normals.exr mesh.glb; do echo old >full/x.$f; done
                       supple-export -q --progress none '"$large"' --frames 1001-1004 -o full/x.json 2>log.txt
                       echo $? >status; cat full/*>left; ls full | wc -l >>left' >log2.txt 2>&1
    [ "$(cat status)" = 75 ] && [ "$(tr '\n' ' ' <left)" = 'old old old old 4 ' ]; ok $? "older textures stay as they were, all of them: $(cat log.txt | cut -c1-90)"
fi

# ---- killed in the middle of it ----
writes() { ls -l /proc/$1/fd 2>/dev/null | grep -q "/$2/"; }   # what it writes has no name before it is whole
for name in x.abc x.usda x.usdc x.pc2 x.glb x.json; do
    mkdir killed
    supple-export -q --progress none $large -o killed/$name >log.txt 2>&1 &
    job=$! tries=0
    while ! writes $job killed && kill -0 $job 2>/dev/null && [ $tries -lt 400 ]; do sleep 0.02; tries=$((tries + 1)); done
    kill -KILL $job 2>/dev/null; wait $job 2>/dev/null; code=$?
    [ $code = 137 ] && [ -z "$(ls killed)" ]; ok $? "killed while it writes $name: nothing is left"
    rm -rf killed
done
mkdir stopped
supple-export -q --progress none $large -o stopped/x.pc2 >log.txt 2>&1 &
job=$! tries=0
while ! writes $job stopped && kill -0 $job 2>/dev/null && [ $tries -lt 400 ]; do sleep 0.02; tries=$((tries + 1)); done
kill -TERM $job; wait $job; code=$?
[ $code = 75 ] && [ -z "$(ls stopped)" ]; ok $? "stopped by SIGTERM: status 75, not even the temporary stays ($code)"

# ---- inputs that do not belong together ----
"$python" - <<'PY'
import io, json, zipfile
import numpy as np
def change(source, target, edit):
    arrays, meta = dict(np.load(source)), json.loads(zipfile.ZipFile(source).read("meta.json"))
    arrays.pop("meta.json", None)
    edit(arrays)
    with zipfile.ZipFile(target, "w") as out:
        for name, array in arrays.items():
            b = io.BytesIO()
            np.save(b, np.ascontiguousarray(array))
            out.writestr(name + ".npy", b.getvalue())
        out.writestr("meta.json", json.dumps(meta))
def no_frames(a):
    for name in ("points", "root", "times", "params"): a[name] = a[name][:0]
def no_run(a):
    for name in ("times", "q", "qdot", "energy", "iterations", "status", "weights"): a[name] = a[name][:0]
def one_more_vertex(a):
    a["points"] = np.concatenate([a["points"], a["points"][:, :1]], 1)
    a["neutral"] = np.vstack([a["neutral"], a["neutral"][:1]])
    a["rigid"] = np.append(a["rigid"], a["rigid"][:1])
def other_polygons(a): a["face_indices"] = np.where(a["face_indices"] == 12, 99, a["face_indices"]).astype(np.int32)
change("shot.anim.npz", "empty.anim.npz", no_frames)
change("moving.sim.npz", "empty.sim.npz", no_run)
change("shot.anim.npz", "more.anim.npz", one_more_vertex)
change("shot.anim.npz", "wrong.anim.npz", other_polygons)
PY
refuse() {   # STATUS WORDS WHAT ARGUMENTS...
    wanted=$1 words=$2 what=$3; shift 3
    supple-export -q --progress none "$@" -o x.abc >log.txt 2>&1; code=$?
    [ $code = "$wanted" ] && [ ! -e x.abc ] && grep -q "$words" log.txt && ! grep -q 'runtime error\|Sanitizer' log.txt
    ok $? "$what: status $wanted: $(head -n 1 log.txt | cut -c 1-110)"
}
refuse 3 'has 0 frames' "a shot of 0 frames" model.npz empty.anim.npz empty.sim.npz
refuse 3 'has 0 frames' "a rig of 0 frames" --rig empty.anim.npz
refuse 3 '0 frames' "a run of 0 frames" model.npz shot.anim.npz empty.sim.npz
refuse 3 'vertices' "a shot of another topology" model.npz more.anim.npz moving.sim.npz
refuse 3 '99' "polygons that name vertices which are not there" --rig wrong.anim.npz
