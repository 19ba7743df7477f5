#!/bin/sh
# Files as users have them (odd_files.py): what is good is read, what is not ends with 3 and a sentence that says what is wrong.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
python=
for p in python3 /usr/bin/python3; do [ -n "$python" ] || { "$p" -c 'import json' 2>/dev/null && python=$p; }; done
[ -n "$python" ] || { echo "ok 1 - odd files # skip no python3"; echo "1..1"; exit 0; }
"$python" "$here/make_arm.py" arm.glb 90 8 8 0.3 && "$python" "$here/odd_files.py" arm.glb || exit 1
tab=$(printf '\t')
while IFS= read -r line; do   # fields may be empty, which IFS=tab would swallow
    file=${line%%"$tab"*} rest=${line#*"$tab"}
    says=${rest%%"$tab"*} options=${rest#*"$tab"}
    run supple-import "$file" $options -o "made.anim.npz" -q --progress none
    if [ -n "$says" ]; then
        check "$file: 3, and why" "$([ $status = 3 ] && grep -q -E -e "$says" err && [ ! -e made.anim.npz ]; echo $?)" "$status $(head -n 3 err)"
    else
        check "$file is read" "$([ $status = 0 ] && supple-info -q made.anim.npz >/dev/null; echo $?)" "$status $(head -n 3 err)"
    fi
    rm -f made.anim.npz
done <cases
echo "1..$count"
