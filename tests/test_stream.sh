#!/bin/sh
# Long caches are imported in a fixed block of memory: ten times the frames take no more of it.
. "$(dirname "$0")/tap.sh"
need_numpy "memory"
case ${BUILD:-} in *san) echo "ok 1 - memory # skip the sanitizers keep their own account"; echo "1..1"; exit 0 ;; esac

# 8,100 vertices: 97 kB a frame, 39 MB of 400 frames.
cat >make.py <<'PY'
import struct, sys
import numpy as np
W = 90
x, y = [a.ravel() / 10 for a in np.meshgrid(np.arange(W), np.arange(W))]
i = (np.arange(W - 1)[:, None] * W + np.arange(W - 1)).ravel()
quads = np.stack([i, i + 1, i + W + 1, i + W], 1) + 1
frame = lambda f: np.stack([x + 0.001 * f, y, 0.1 * np.sin(3 * x + 0.05 * f)], 1)
def obj(path, p):
    with open(path, "w") as o:
        np.savetxt(o, p, fmt="v %.7g %.7g %.7g")
        np.savetxt(o, quads, fmt="f %d %d %d %d")
obj("rest.obj", frame(0))
for F in (40, 400):
    with open("pc2.%d.pc2" % F, "wb") as o:
        o.write(b"POINTCACHE2\0" + struct.pack("<iiffi", 1, W * W, 0, 1, F) + b"".join(frame(f).astype("<f4").tobytes() for f in range(F)))
    with open("mdd.%d.mdd" % F, "wb") as o:
        o.write(struct.pack(">ii", F, W * W) + (np.arange(F) / 24).astype(">f4").tobytes() + b"".join(frame(f).astype(">f4").tobytes() for f in range(F)))
PY
"$python" make.py
peak() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["peak_memory_bytes"] // 1024)' "$1"; }
compare() {   # WHAT SHORT LONG OPTIONS...: peak memory of both, kB
    what=$1 short=$2 long=$3
    shift 3
    supple import -q --progress none "$short" "$@" --stats a.json -o a.npz && supple import -q --progress none "$long" "$@" --stats b.json -o b.npz &&
        a=$(peak a.json) && b=$(peak b.json) && echo "# $what: $a kB for the short one, $b kB for the long one" && [ $((b - a)) -lt 3000 ]
    ok $? "$what: memory does not grow with the frames"
}
compare PC2 pc2.40.pc2 pc2.400.pc2 --neutral rest.obj
compare MDD mdd.40.mdd mdd.400.mdd --neutral rest.obj
for F in 40 400; do
    supple import -q --progress none pc2.$F.pc2 --neutral rest.obj -o x.npz && supple export -q --progress none --rig x.npz -o abc.$F.abc
done
compare Alembic abc.40.abc abc.400.abc
mkdir few many
for k in 0 1 2 3; do cp rest.obj few/x.000$k.obj; done
k=0
while [ $k -lt 40 ]; do ln rest.obj "many/x.$(printf %04d $k).obj"; k=$((k + 1)); done
compare OBJ few/x.%04d.obj many/x.%04d.obj
echo "1..$count"
