# Read by test scripts (. "$(dirname "$0")/tap.sh"): a folder of their own as working folder, removed at the end; check and run.
set -u
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
count=0

check() {   # NAME CONDITION-STATUS [DETAIL]
    count=$((count + 1))
    if [ "$2" = 0 ]; then echo "ok $count - $1"; else echo "not ok $count - $1"; echo "# ${3:-}"; fi
}

# Runs a command for at most $seconds; status in $status, output in files out and err.
seconds=300
run() {
    timeout "$seconds" "$@" >out 2>err </dev/null
    status=$?
}
