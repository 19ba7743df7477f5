#!/bin/sh
# The run time with every instruction set that this processor has (SUPPLE_KERNELS), and what it says of one that it has not.
. "$(dirname "$0")/tap.sh"

for set in base avx2 avx512; do
    SUPPLE_KERNELS=$set "$BUILD/tests/test_plugged_models" >out 2>err </dev/null
    if grep -q 'has no such kernels' out err; then
        count=$((count + 1)); echo "ok $count - $set # SKIP this processor does not run it"
        continue
    fi
    for program in plugged_models runtime forces rest_lanes; do
        SUPPLE_KERNELS=$set run "$BUILD/tests/test_$program"
        check "$program with the $set kernels" "$status" "$(tail -n 5 out) $(tail -n 3 err)"
    done
done

echo "1..$count"
