# Read by the scripts behind `supple` (scripts/supple-*), which have a function `usage` that prints their help, and `here`, the folder
# where they stand: where the programs are, how a script fails, and its command line.
set -u
LC_ALL=C
export LC_ALL
me=supple-${0##*/supple-}
tab='	' newline='
'

# The front end says where the programs stand; else they are beside the script, else in the source tree.
bin=${SUPPLE_BIN:-}
if [ -z "$bin" ]; then
    if [ -x "$here/supple" ]; then bin=$here; else bin=$here/../bin; fi
fi

fail() {   # STATUS MESSAGE
    echo "$me: $2" >&2
    exit "$1"
}

need_programs() { [ -x "$bin/supple" ] || fail 1 "$bin/supple is missing; build or install supple first"; }

quote() { case $1 in *\'*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;; *) printf "'%s'" "$1" ;; esac }   # a word as one word of the shell

# The help as a manual page: lines as they are, each section a heading.
manual() {
    title=$(usage | sed -n "1s/^$me: //p")
    printf '.TH %s 1\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' "$(printf '%s' "$me" | tr a-z A-Z)" "$me" "$title"
    usage | sed -e 1,2d -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" -e 's/^\([A-Z][A-Za-z, ]*\):$/.fi\n.SH \1\n.nf/' -e 's/-/\\-/g'
    echo .fi
}

# ---- the help is the table of options: completion and the scripts themselves read it ----

# From the help on standard input, a line an option, parted by tabs: name, letter, kind (flag, number, choice, text), the argument's
# word, choices, what it does. An option stands at the head of a line, with what it does behind two blanks or below, choices as
# "One of: a|b". In the section "Passed on" the stages that take them stand there, and behind these the options, which the stages'
# own help explains; the choices of such an option are "@" and its stages. Of what is mentioned twice the first counts.
options_of_help() {
    awk -v OFS='\t' '
        function flush(   each, n, word, part, argument, letter, choices, kind) {
            if (heads == "") return
            sub(/^ */, "", text)
            if (match(text, /One of: [^ ]+/)) choices = substr(text, RSTART + 8, RLENGTH - 8)
            sub(/[.;]( .*)?$/, "", text)
            if (text !~ /^[^:]*\(/) sub(/: .*/, "", text)
            n = split(heads, each, /, */)
            for (word = 1; word <= n; word++) {
                if (each[word] ~ /^-[a-z]$/) { letter = each[word]; continue }
                if (each[word] !~ /^--/) continue   # of an argument with commas
                split(each[word], part, " ")
                sub(/\[.*/, "", part[1])
                argument = part[2]
                kind = choices != "" ? "choice" : argument == "" ? "flag" : argument ~ /^(N|A|X|S|HZ|SHARE|FRAME)$/ ? "number" : "text"
                print part[1], letter, kind, argument, choices, text
                letter = ""
            }
            heads = text = ""
        }
        function passed(stages, list,   found, word, letter) {
            gsub(/  +/, " ", list)
            while (match(list, /(-[a-z], )?--[a-z][a-z-]*( [A-Z][A-Z\/0-9]*([,=:][A-Z\/0-9]+)*)?/)) {
                found = substr(list, RSTART, RLENGTH)
                list = substr(list, RSTART + RLENGTH)
                letter = ""
                if (found ~ /^-[a-z], /) { letter = substr(found, 1, 2); found = substr(found, 5) }
                split(found, word, " ")
                print word[1], letter, word[2] == "" ? "flag" : "text", word[2], "@" stages, ""
            }
        }
        function end() { flush(); if (list != "") passed(stages, list); list = "" }
        /^Passed on/ { end(); on = 2; next }
        /^(Exit status|Example|Usage):/ { end(); on = 0 }
        /^[A-Z][A-Za-z ]*:$/ && !/^Example/ { end(); on = 1; next }
        on == 0 { next }
        /^ *-/ && !/^          / {
            end()
            match($0, /^ *-[^ ]*( ?[^ ]+)*/)
            heads = substr($0, 1, RLENGTH); sub(/^ */, "", heads)
            text = substr($0, RLENGTH + 1)
            next
        }
        on == 2 && /^  [a-z]/ { end(); stages = substr($0, 3, 22); gsub(/[ ,]+/, " ", stages); sub(/ $/, "", stages); list = substr($0, 25); next }
        heads != "" { text = text " " $0; gsub(/  +/, " ", text); next }
        on == 2 { list = list " " $0 }
        END { end() }'
}

# Reads the first word of a command line, or two where the second is its argument, by that table. Sets `option` to its long name and
# `value` to its argument, or `option` to nothing where it is none and `value` to the word; `given` to the option as it was written,
# `argument` to what the help calls its argument and `stages` to those that it is passed on to; `used` to how many words that were.
# Behind --, which is an option of its own here, are none. Ends the script where the help has no such option, or not so, and after --help and --version.
read_option() {
    option='' value=$1 given=$1 argument='' stages='' used=1
    if [ -n "${no_more_options:-}" ]; then return; fi
    case $1 in
    --) no_more_options=1 option=$1; return ;;
    -?*) ;;
    *) return ;;
    esac
    options=${options:-$newline$(usage | options_of_help)$newline}
    joined=''
    case $1 in
    --*=*) given=${1%%=*} value=${1#*=} joined=1 ;;
    --*) ;;
    -??*) given=${1%"${1#??}"} value=${1#??} joined=1 ;;
    esac
    case $options in
    *"$newline$given$tab"*) option=$given ;;
    *"$tab$given$tab"*) option=${options%%"$tab$given$tab"*} option=${option##*"$newline"} ;;
    *) fail 2 "unknown option $given; see --help" ;;
    esac
    row=${options#*"$newline$option$tab"} row=${row%%"$newline"*} row=${row#*"$tab"}   # kind, argument, choices, help
    kind=${row%%"$tab"*} row=${row#*"$tab"}
    argument=${row%%"$tab"*} row=${row#*"$tab"}
    choices=${row%%"$tab"*}
    case $option in
    --help) if [ -n "$joined" ] && [ "$value" = man ]; then manual; else usage; fi; exit 0 ;;
    --version) exec "$bin/supple" --version ;;
    esac
    if [ "$kind" = flag ]; then
        [ -z "$joined" ] || case $1 in --*) fail 2 "$given takes no argument" ;; *) fail 2 "unknown option $1; see --help" ;; esac
        value=''
    elif [ -z "$joined" ]; then
        [ $# -gt 1 ] || fail 2 "$given wants an argument; see --help"
        value=$2 used=2
    fi
    case $choices in
    @*) stages=${choices#@} ;;
    ?*) case "|$choices|" in *"|$value|"*) ;; *) fail 2 "$given: '$value' is none of $choices" ;; esac ;;
    esac
}

# An option whose value has to be a number above 0: "whole" or "decimal".
need_number() {   # whole|decimal
    case $1:$value in
    *:'' | *:*[!0-9.]* | *:*.*.* | whole:*.*) ;;
    *) [ -z "$(printf '%s' "$value" | tr -d 0.)" ] || return 0 ;;
    esac
    fail 2 "$given: '$value' is not a number above 0"
}
