#!/bin/sh
# Faults: a sample of what `make faults` does in full. The n-th call fails in every program; kill -9 while a bake runs; no room, no permission, nobody who
# reads. A sentence, the right status, nothing half under a final name.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import numpy' 2>/dev/null && python=$p; }; done
[ -n "$python" ] || { echo "ok 1 - faults # skip no numpy"; exit 0; }
root=$(dirname "$here") asan=''
case $BUILD in */san) asan=--asan ;; esac
tool=$BUILD/tests/faults/inject

# ---- the n-th call fails ----
"$python" "$here/make_arm.py" arm.glb 90 8 8 0.3
run "$tool" write 0 report supple-import arm.glb -q -o x.anim.npz
if [ $status = 126 ]; then
    count=$((count + 1)); echo "ok $count - the n-th call fails # skip no seccomp filter can be set here"
else
    check "inject counts calls and lets them be" "$([ $status = 0 ] && grep -q '^[1-9][0-9]* 0 -1' report; echo $?)" "$status $(cat report err)"
    run "$tool" write 9 report supple-import arm.glb -q -o y.anim.npz
    check "and fails one" "$([ $status = 75 ] && grep -q 'y.anim.npz: writing failed: No space left' err && [ ! -e y.anim.npz ]; echo $?)" "$status $(cat report err)"
    run "$here/faults/sweep" $asan --bin "$BIN" --inject "$tool" --most 3 --only import,poses,fit,cubature,sim,export-abc,export-vat,info -j 2
    check "a sample of calls fails in the programs of a bake: $(tail -n 1 out)" "$status" "$(cat out err)"
fi

# ---- kill -9 ----
run "$here/faults/kills" --bin "$BIN" --count 12
check "killed twelve times at random instants: $(tail -n 1 out)" "$status" "$(cat out err)"

# ---- no room, no permission, nobody who reads ----
bake() { run "$BIN/supple" bake arm.glb -o "$1" --tets 200 --modes 4 --substeps 1 -q -j 1; }
if unshare -rm sh -c 'mkdir -p full && mount -t tmpfs -o size=256k none full' 2>/dev/null; then
    for size in 24k 64k 128k 512k; do
        mkdir -p full
        unshare -rm sh -c 'mount -t tmpfs -o size='$size' none full && "$BIN/supple" bake arm.glb -o full --tets 200 --modes 4 --substeps 1 -q -j 1 >out 2>err; echo $? >code
            for file in full/*.npz; do [ ! -f "$file" ] || supple-info -q "$file" >/dev/null 2>>bad || echo "$file" >>bad; done; ls full | grep -e "\.tmp\." >>bad'
        check "a bake on a disk of $size: 75, a sentence, only whole files" "$([ "$(cat code)" = 75 ] && [ -s err ] && [ ! -s bad ]; echo $?)" "$(cat code err bad)"
        rm -f bad
    done
else
    count=$((count + 1)); echo "ok $count - a full disk # skip no file system of its own can be mounted here"
fi
sh -c 'trap "" XFSZ; ulimit -f 8; exec "$BIN/supple" bake arm.glb -o limited --tets 200 --modes 4 --substeps 1 -q -j 1' >out 2>err
status=$?
check "a limit of file sizes: 75 and a sentence" "$([ $status = 75 ] && grep -q 'File too large' err; echo $?)" "$status $(cat err)"
mkdir closed && chmod a-w closed
run setpriv --reuid 65534 --clear-groups "$BIN/supple-import" arm.glb -q -o closed/x.anim.npz
if [ "$(id -u)" = 0 ] && [ $status != 127 ] && setpriv --reuid 65534 --clear-groups test -r arm.glb 2>/dev/null; then
    check "a folder that is read-only: 1 and a sentence" "$([ $status = 1 ] && grep -q 'cannot write into its folder' err; echo $?)" "$status $(cat err)"
fi
for words in '--help' '--version'; do
    sh -c 'exec "$BIN/supple-sim" '$words' >&-' 2>err
    status=$?
    check "$words with a closed standard output: not 0" "$([ $status != 0 ] && [ -s err ]; echo $?)" "$status $(cat err)"
    sh -c 'exec "$BIN/supple-sim" '$words' >/dev/full' 2>err
    status=$?
    check "$words on a full device: 75" "$([ $status = 75 ] && [ -s err ]; echo $?)" "$status $(cat err)"
done
sh -c 'exec "$BIN/supple-import" arm.glb -o quiet.anim.npz >&- 2>&- <&-'
status=$?
check "without any standard stream a program still writes its file, whole" "$([ $status = 0 ] && cmp -s quiet.anim.npz x.anim.npz; echo $?)" "$status"

echo "1..$count"
