# Read by test scripts (. "$(dirname "$0")/tap.sh"): a folder of their own as working folder, removed at the end, `here` where they stand, and
# functions. A script ends with echo "1..$count".
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
count=0

check() {   # NAME CONDITION-STATUS [DETAIL]
    count=$((count + 1))
    if [ "$2" = 0 ]; then echo "ok $count - $1"; else echo "not ok $count - $1"; echo "# ${3:-}"; fi
}

# The same the other way round; with a failure goes what stands in log.txt.
ok() {   # STATUS NAME
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; return; fi
    echo "not ok $count - $2"
    [ ! -f log.txt ] || tail -n 20 log.txt | sed 's/^/# /'
}

skip() {   # NAME WHY
    count=$((count + 1))
    echo "ok $count - $1 # skip $2"
}

skip_all() {   # NAME WHY: ends the script
    echo "ok 1 - $1 # skip $2"
    echo "1..1"
    exit 0
}

# Python with numpy in $python, empty where there is none.
find_numpy() {
    python=
    for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import numpy' 2>/dev/null && python=$p; }; done
}

need_numpy() {   # NAME
    find_numpy
    [ -n "$python" ] || skip_all "$1" "no numpy"
}

# Runs a command for at most $seconds; status in $status, output in files out and err.
seconds=300
run() {
    timeout "$seconds" "$@" >out 2>err </dev/null
    status=$?
}
