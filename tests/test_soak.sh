#!/bin/sh
# A further frame of a shot and a further shot of a call take next to no memory: what `make soak` shows at length (tests/faults/soak).
set -u
here=$(cd "$(dirname "$0")" && pwd)
case ${BUILD:-} in *san) echo "ok 1 - memory of long shots # skip the sanitizers keep their own account"; echo "1..1"; exit 0 ;; esac
if said=$("$here/faults/soak" "$BIN" "$BUILD/tests/faults/heap.so" 1000 100 2>&1); then echo "ok 1 - memory of long shots and of many"; else echo "not ok 1 - memory of long shots and of many"; fi
echo "$said" | sed 's/^/# /'
echo "1..1"
