#!/bin/sh
# What every program shares: help, version, exit statuses, messages, and no output left behind. Programs are found in
# $BIN, so that a new one is held to this from its first day.
. "$(dirname "$0")/tap.sh"
seconds=60

one_line() {   # the message is one line that begins with the program's name, progress aside
    [ "$(grep -v '^Progress: ' err | grep -c '')" = 1 ] && grep -q "^$1: " err
}

echo 'this is no archive' >text.npz
: >empty.npz
python3 - <<'PYTHON'
import zipfile
for name, text in ('other', '{"kind": "supple.other", "version": 1}'), ('none', '{}'), ('broken', '{"kind": '):
    zipfile.ZipFile(name + '.npz', 'w').writestr('meta.json', text)
PYTHON
head -c 60 other.npz >cut.npz

# The number of inputs a program wants: the first that is not a usage error.
wanted_inputs() {
    list='' n=0
    while [ $n -lt 5 ]; do
        list="$list absent$n.npz" n=$((n + 1))
        run "$1" $list -o result.npz
        [ $status = 2 ] || { echo $n; return; }
    done
    echo 0
}

for program in "$BIN"/supple-*; do
    name=${program##*/}
    case $name in *.*) continue ;; esac

    run "$program" --help
    check "$name --help" "$([ $status = 0 ] && grep -q '^Usage: ' out && grep -q '^Example:' out && [ ! -s err ]; echo $?)" "$status $(head -n 3 err)"
    run "$program" --help=man
    check "$name --help=man" "$([ $status = 0 ] && head -n 1 out | grep -q '^\.TH ' && [ ! -s err ]; echo $?)"
    run "$program" --version
    check "$name --version" "$([ $status = 0 ] && grep -q "^$name [0-9]*\.[0-9]*\.[0-9]*\$" out; echo $?)"
    run "$program" --no-such-option
    check "$name: an unknown option is a usage error" "$([ $status = 2 ] && one_line "$name"; echo $?)" "$status $(cat err)"
    run "$program" -o
    check "$name: -o without a file is a usage error" "$([ $status = 2 ] && one_line "$name"; echo $?)" "$status $(cat err)"
    run "$program" -j nonsense
    check "$name: -j nonsense is a usage error" "$([ $status = 2 ] && one_line "$name"; echo $?)" "$status $(cat err)"

    inputs=$(wanted_inputs "$program")
    if [ "$inputs" -gt 0 ]; then
        list=''
        i=0
        while [ $i -lt "$inputs" ]; do list="$list absent$i.npz" i=$((i + 1)); done
        run "$program" $list -o result.npz
        check "$name: a missing input ends with 3" "$([ $status = 3 ] && one_line "$name" && grep -q absent err; echo $?)" "$status $(cat err)"
        for bad in text empty cut other none broken; do
            [ "$name" = supple-info ] && case $bad in other | none) continue ;; esac   # it shows any archive
            list=''
            i=0
            while [ $i -lt "$inputs" ]; do list="$list $bad.npz" i=$((i + 1)); done
            run "$program" $list -o result.npz
            check "$name: $bad.npz as input ends with 3" "$([ $status = 3 ] && one_line "$name" && grep -q "$bad.npz" err; echo $?)" "$status $(cat err)"
        done
        left=$(ls result.npz* 2>/dev/null)
        check "$name: no output after failures" "$([ -z "$left" ]; echo $?)" "$left"
        rm -f result.npz*
        run "$program" $list -o result.npz --stats stats.json
        check "$name --stats tells of a failure" "$(grep -q '"exit_status": 3' stats.json && grep -q '"error"' stats.json; echo $?)"
        rm -f stats.json
    else
        list=''
    fi
    run "$program" $list -o missing/result.npz
    check "$name: a missing output folder ends with 1" "$([ $status = 1 ] && one_line "$name" && [ ! -e missing ]; echo $?)" "$status $(cat err)"
    run "$program" $list -o text.npz/result.npz
    check "$name: a file as output folder ends with 1" "$([ $status = 1 ] && one_line "$name"; echo $?)" "$status $(cat err)"
    run "$program" $list -o /dev/null
    check "$name: a device as output ends with 1" "$([ $status = 1 ] && [ -c /dev/null ]; echo $?)" "$status $(cat err)"
done

# ---- the front end ----

run "$BIN/supple"
check "supple lists its tools" "$([ $status = 0 ] && grep -q '^  info ' out; echo $?)"
run "$BIN/supple" nonsense
check "supple nonsense is a usage error" "$([ $status = 2 ] && one_line supple; echo $?)"
run "$BIN/supple" ../info
check "supple takes no paths" "$([ $status = 2 ]; echo $?)"
run "$BIN/supple" info --version
check "supple info is supple-info" "$(grep -q '^supple-info ' out; echo $?)"
run "$BIN/supple" bake --help
check "supple bake --help" "$([ $status = 0 ] && grep -q '^Usage: ' out; echo $?)"
check "supple bake --help is no wider than a terminal" "$(awk 'length > 82 { exit 1 }' out; echo $?)" "$(awk 'length > 82' out)"
run "$BIN/supple" bake --help=man
check "supple bake --help=man" "$([ $status = 0 ] && head -n 1 out | grep -q '^\.TH SUPPLE-BAKE 1' && grep -q '^\.SH Options' out && ! grep -q "^'" out; echo $?)"
run "$BIN/supple" bake absent.glb -o baked
check "supple bake: a missing character ends with 3" "$([ $status = 3 ] && one_line supple-bake && [ ! -e baked ]; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake text.npz
check "supple bake without -o is a usage error" "$([ $status = 2 ] && one_line supple-bake; echo $?)" "$status $(cat err)"
run "$BIN/supple" bake text.npz -o baked --nonsense
check "supple bake: an unknown option is a usage error" "$([ $status = 2 ] && one_line supple-bake; echo $?)" "$status $(cat err)"
cp text.npz text.glb
run "$BIN/supple" bake text.glb -o baked
check "supple bake: text renamed .glb ends with 3" "$([ $status = 3 ] && [ ! -e baked ]; echo $?)" "$status $(cat err)"

echo "1..$count"
