#!/bin/sh
# Completion of command lines: options of every program as their --help has them, and the functions of bash and zsh in real shells.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
root=$(dirname "$here")
supple=$BIN/supple

# ---- the table of a program is its --help ----

for tool in $("$supple" completions tools | cut -f 1); do
    "$supple" completions options "$tool" >table 2>err
    "$supple" "$tool" --help >help
    # names at the heads of lines; help and version close every list
    sed -n 's/^  \(-[a-z], \|    \)\(--[a-z-]*\).*/\2/p; s/^      --stiff JOINT=F, \(--soft\) .*/\1/p' help | sort -u >named
    cut -f 1 table | sort -u >offered
    missing=$(comm -23 named offered | tr '\n' ' ')
    check "$tool: completion offers what --help lists ($(wc -l <offered))" "$([ -s table ] && [ -z "$missing" ]; echo $?)" "missing: $missing $(cat err)"
    bad=$(awk -F '\t' 'NF != 6 || $1 !~ /^--[a-z][a-z-]*$/ || $2 !~ /^(-[a-z])?$/ || $3 !~ /^(flag|number|choice|text)$/ || ($3 == "choice") != ($5 != "") || ($3 != "flag" && $4 == "")' table)
    check "$tool: each line has its six columns" "$([ -z "$bad" ] && [ "$(cut -f 1 table | sort | uniq -d)" = '' ]; echo $?)" "$bad"
done

# ---- scripts: what is offered is what is taken, both ways ----

for script in bake refine; do
    "$supple" completions options $script | cut -f 1,3 >table
    wrong=''
    while read -r option kind; do
        case $option in --help | --version) continue ;; esac
        run "$supple" $script "$option"   # nothing behind it
        if [ "$kind" = flag ]; then
            ! grep -q 'unknown option\|wants an argument' err || wrong="$wrong $option"
        else
            grep -q -e "$option wants an argument" err || wrong="$wrong $option"
        fi
    done <table
    check "$script takes every option that is offered, with an argument where it is said to have one" "$([ -z "$wrong" ]; echo $?)" "$wrong"
    taken=$(sed -n '/^while \[ \$# -gt 0 \]/,/^done/p' "$root/scripts/supple-$script" | grep -oE '(^|[ |])--[a-z][a-z-]*' | tr -d ' |' | sort -u)
    missing=''
    for option in $taken; do grep -q -e "^$option	" table || missing="$missing $option"; done
    check "$script: completion and --help know every option that it takes ($(echo "$taken" | wc -l))" "$([ -z "$missing" ] && [ "$(echo "$taken" | wc -l)" -gt 10 ]; echo $?)" "$missing"
done
run "$supple" completions options nonsense
check "options of no tool: a usage error" "$([ "$status" = 2 ] && grep -q nonsense err; echo $?)" "$(cat err)"
run "$supple" completions fish
check "another shell: a usage error" "$([ "$status" = 2 ] && grep -q fish err; echo $?)" "$(cat err)"

# ---- bash, called as readline calls it ----

"$supple" completions bash >bash.sh
export PATH="$BIN:$PATH"
: >shot.anim.npz
ask() {   # WORD...: the candidates for the last word
    bash -c '. ./bash.sh; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _supple; printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>err | tr '\n' ' '
}
same() { [ "$1" = "$2" ]; echo $?; }
for case in 'supple com|compare completions ' 'supple sim --gravity-|--gravity-mode ' 'supple sim --gravity-mode a|absolute ' 'supple sim --gravity-mode = no|none ' \
    'supple bake x.glb --look |firm soft jelly ' 'supple bake --material s|stvk ' 'supple sim shot|shot.anim.npz ' 'supple sim --damping s| ' \
    'supple report --stage shot|shot.anim.npz ' 'supple completions z|zsh ' 'supple nonsense --|'; do
    words=${case%%|*}
    # shellcheck disable=SC2046,SC2086
    case $words in *' ') got=$(ask $words '') ;; *) got=$(ask $words) ;; esac
    wanted=${case#*|}
    check "bash: $words" "$(same "$(echo $got)" "$(echo $wanted)")" "'$got' $(cat err)"
done

# ---- on a terminal: a key is pressed ----

{ cat bash.sh; echo 'PS1="ready> "'; } >bashrc
if ! python3 -c 'import pty; pty.openpty()' 2>/dev/null; then   # a chroot without /dev/pts
    count=$((count + 1)); echo "ok $count - completion at a key # skip there are no terminals"
    echo "1..$count"
    exit 0
fi
python3 "$here/shell_keys.py" 'supple sim --gravity-m\tab\t' 'supple sim --gravity-mode absolute' bash --noprofile --rcfile bashrc -i >screen 2>&1
check "bash completes an option and its choice at Tab" "$(grep -q 'supple sim --gravity-mode absolute' screen; echo $?)" "$(tail -n 3 screen)"
if command -v zsh >/dev/null; then
    mkdir zsh && "$supple" completions zsh >zsh/_supple
    printf 'fpath=(%s $fpath)\nautoload -U compinit\ncompinit -u -D\nPS1="ready> "\n' "$folder/zsh" >zsh/.zshrc
    ZDOTDIR=$folder/zsh python3 "$here/shell_keys.py" 'supple sim --gravity-m\tab\t' 'gravity-mode[= ]absolute' zsh -i >screen 2>&1
    check "zsh completes an option and its choice at Tab" "$(grep -q 'gravity-mode[= ]absolute' screen; echo $?)" "$(tail -n 3 screen)"
    ZDOTDIR=$folder/zsh python3 "$here/shell_keys.py" 'supple comp\t' 'compare *-- *measure one simulation' zsh -i >screen 2>&1
    check "zsh lists tools with what they do" "$(grep -q 'compare *-- *measure one simulation' screen; echo $?)" "$(tail -n 5 screen)"
    printf 'autoload -U compinit\ncompinit -u -D\neval "$(supple completions zsh)"\nPS1="ready> "\n' >zsh/.zshrc
    ZDOTDIR=$folder/zsh python3 "$here/shell_keys.py" 'supple bake x.glb --look j\t' 'look[= ]jelly' zsh -i >screen 2>&1
    check "zsh: the same by eval in .zshrc" "$(grep -q 'look[= ]jelly' screen; echo $?)" "$(tail -n 3 screen)"
else
    count=$((count + 1)); echo "ok $count - completion in zsh # skip zsh is not installed"
fi
echo "1..$count"
