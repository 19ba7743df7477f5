#!/bin/sh
# --strict: the same bytes whatever kernels the processor or the environment would choose. A sample of `tests/faults/sweep --same --strict`.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
grep -m 1 '^flags' /proc/cpuinfo | grep -q ' avx2' || { echo "ok 1 - --strict # skip no AVX2"; echo "1..1"; exit 0; }
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import numpy' 2>/dev/null && python=$p; }; done
[ -n "$python" ] || { echo "ok 1 - --strict # skip no numpy"; echo "1..1"; exit 0; }
run "$here/faults/sweep" --same --strict --bin "$BIN" --only fit,modes-one,cubature,sim,skin
check "kernels of Haswell, Zen, SkylakeX, Prescott, ours for SSE2 and AVX-512: the same bytes" "$status" "$(cat out err)"

run env OPENBLAS_CORETYPE=SkylakeX SUPPLE_KERNELS=base supple-creature --strict --vertices 3000 -o c.glb -q
check "the option has the last word" "$status" "$(cat err)"
"$python" "$here/make_arm.py" arm.glb 90 8 8 0.3
run supple bake arm.glb -o baked --strict --tets 200 --modes 4 --substeps 1 -q -n
check "supple bake passes it to every program" "$([ $status = 0 ] && [ "$(grep -c 'supple [a-z]* .*-o ' out)" = "$(grep -c 'supple [a-z]* .*-o .*--strict' out)" ] && grep -q -e '--strict' out; echo $?)" "$(cat out err)"
qemu=$(command -v qemu-x86_64 || command -v qemu-x86_64-static)
if [ -n "$qemu" ] && [ "${BUILD##*/}" != san ]; then
    run env OPENBLAS_CORETYPE=Nehalem "$qemu" -cpu Nehalem "$BIN/supple-info" --strict c.glb
    check "a processor without AVX2: 1 and a sentence" "$([ $status = 1 ] && grep -q -e '--strict: this processor has no AVX2' err; echo $?)" "$status $(cat err)"
fi
echo "1..$count"
