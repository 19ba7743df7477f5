# Read by test scripts that take files through the programs and look into them with numpy, after `what` is set: tap.sh, and a Python with numpy;
# without one the script ends as skipped.
. "$(dirname "$0")/tap.sh"
need_numpy "$what"

run() {
    timeout 300 "$@" --progress none >out 2>err </dev/null
    status=$?
}

must() { run "$@"; [ $status = 0 ] || { echo "not ok 1 - set up: $*"; sed 's/^/# /' err; exit 1; }; }

refused() {   # NAME STATUS WORD: what ran last ended so, said so in one line, and left no output
    check "$1" "$([ $status = "$2" ] && grep -q -e "$3" err && [ "$(grep -c . err)" = 1 ] && [ ! -e bad.npz ]; echo $?)" \
        "status $status: $(cat err) $(ls bad.npz 2>/dev/null)"
}
