#!/bin/sh
# What depends on rounding, with the BLAS kernels of other processors (OPENBLAS_CORETYPE) and with each instruction set of ours (SUPPLE_KERNELS):
# bounds have to hold everywhere. Quick tests only.
. "$(dirname "$0")/tap.sh"
flags=$(grep -m 1 '^flags' /proc/cpuinfo)
can() { for flag in $1; do case " $flags " in *" $flag "*) ;; *) return 1 ;; esac; done; }
export OMP_NUM_THREADS=1   # tests run two at a time

try() {   # NAME FLAGS WORDS TESTS: WORDS go into the environment
    can "$2" || { count=$((count + 1)); echo "ok $count - $1 # skip this processor has not all of $2"; return; }
    for test in $4; do
        run env $3 "$BUILD/tests/test_$test"
        check "$1: $test" $status "$(grep '^not ok' out; tail -n 3 err)"
    done
}

sensitive="modes cholesky derivatives elimination align fullsim runtime estimate"
try Nehalem sse4_2 OPENBLAS_CORETYPE=Nehalem "$sensitive"
try Haswell "avx2 fma" OPENBLAS_CORETYPE=Haswell "$sensitive"
try Zen "avx2 fma" OPENBLAS_CORETYPE=Zen "$sensitive"
try SkylakeX "avx512f avx512dq avx512bw avx512vl" OPENBLAS_CORETYPE=SkylakeX "$sensitive"

ours="runtime runtime_api shot compare estimate"
try base sse2 SUPPLE_KERNELS=base "$ours"
try avx2 "avx2 fma" SUPPLE_KERNELS=avx2 "$ours"
try avx512 "avx512f avx512dq avx512bw avx512vl" SUPPLE_KERNELS=avx512 "$ours"
echo "1..$count"
