#!/bin/sh
# What the documents name exists: files that they link to and paths that they mention, options of programs, the numbered
# conventions, equations and sections that code cites. Each check is first seen to fail on a small tree with faults.
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/tests/tap.sh"
LC_ALL=C

pages() { (cd "$1" && ls ./*.md docs/*.md docs/notes/*.md 2>/dev/null | sed 's|^\./||'); }
sources() { (cd "$1" && find lib tools tests bench scripts examples -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.mk' \) \
    2>/dev/null | grep -v '^tests/test_documents\.sh$' | sort); }

# Numbers in citations "PAGE, WORD 3", "PAGE, WORDs 6 and 7", "... 9, 10" or "... 12 to 14" in code and pages, as lines
# "FILE NUMBER", each once. A citation may be broken over two lines of a comment.
cited() {   # ROOT PATTERN
    (cd "$1" && awk -v pattern="$2 [0-9]+((, | and | to )[0-9]+)*" '
        function flush(   found) {
            gsub(/[ \t]+/, " ", text)
            while (match(text, pattern)) {
                found = substr(text, RSTART, RLENGTH)
                text = substr(text, RSTART + RLENGTH)
                sub(/.*(conventions?|eq\.|sections?) /, "", found)
                while (match(found, /[0-9]+/)) {
                    print file, substr(found, RSTART, RLENGTH)
                    found = substr(found, RSTART + RLENGTH)
                }
            }
            text = ""
        }
        FNR == 1 { flush(); file = FILENAME }
        { sub(/^[ \t]*\*[ \t]/, " ") }
        /onvention|[Ss]ection|eq\./ || recent { text = text " " $0; recent = /onvention|[Ss]ection|eq\.|\.md,?$/; next }
        /\.md,?$/ { text = text " " $0; recent = 1 }
        END { flush() }' $(sources .) $(pages .) /dev/null) | sort -u
}

# Relative links and images of all pages, without anchors: those that lead nowhere.
broken_links() {
    pages "$1" | while read -r page; do
        sed 's/`[^`]*`//g' "$1/$page" | grep -o ']([^)]*)' | sed 's/^](//; s/)$//; s/#.*//' | while read -r link; do
            case $link in '' | *://* | mailto:*) continue ;; esac
            [ -e "$1/$(dirname "$page")/$link" ] || echo "$page: $link"
        done
    done
}

# Paths that pages mention and that are neither in the tree nor in lib/. Notes are dated: what they name may be gone.
missing_paths() {
    pages "$1" | grep -v '^docs/notes/' | while read -r page; do
        grep -oE '(^|[^A-Za-z0-9_./$%<-])((lib|tools|tests|bench|scripts|examples|docs)/[A-Za-z0-9_./*%<-]*|[a-z_]+(/[a-z_0-9]+)+\.(c|h|sh|py|mjs|mk))' \
            "$1/$page" | sed 's/^[^a-z]//; s/[.,]*$//' | sort -u | while read -r path; do
            case $path in *[*%\<]* | */[A-Z][A-Z]*) continue ;; esac   # patterns, and names in capitals that stand for others
            [ -e "$1/$path" ] || [ -e "$1/lib/$path" ] || echo "$page: $path"
        done
    done
}

unknown() {   # NUMBERS: lines of stdin "FILE NUMBER" whose number is not among them
    while read -r file number; do
        case " $1 " in *" $number "*) ;; *) echo "$file: $number" ;; esac
    done
}

unknown_conventions() {
    known=$(sed -n '/^## Conventions/,/^## /s/^\([0-9]*\)\. \*\*.*/\1/p' "$1/docs/formats.md" | tr '\n' ' ')
    cited "$1" '[Cc]onventions?' | unknown "$known"
}

# Equations stand as "... (7)" at the end of a line.
unknown_equations() {
    for page in design reduction runtime; do
        [ -f "$1/docs/$page.md" ] || continue
        known=$(grep -oE '   \([0-9]+\)$' "$1/docs/$page.md" | tr -dc '0-9\n' | tr '\n' ' ')
        cited "$1" "$page[.]md, eq[.]" | unknown "$known" | sed "s|\$| of $page.md|"
    done
}

unknown_sections() {
    for page in design reduction; do
        [ -f "$1/docs/$page.md" ] || continue
        known=$(sed -n 's/^## \([0-9]*\)\. .*/\1/p' "$1/docs/$page.md" | tr '\n' ' ')
        cited "$1" "$page[.]md, sections?" | unknown "$known" | sed "s|\$| of $page.md|"
    done
}

# Citations of a page that is not in the project.
strangers() {
    (cd "$1" && grep -oE 'DESIGN (section|convention)|DESIGN §|[.][.]/shared/[A-Za-z-]*[.]md' $(sources .) $(pages .) /dev/null)
}

# Options in lists/NAME, by program. Lines that call programs of others, or of tests, are theirs.
foreign='[Cc]hromium|openjd run|xmllint |blender |usdcat|scancel|pkg-config|tests/faults|sweep '
dated() { grep -v -e '^docs/notes/' -e '^CHANGELOG[.]md$'; }

# Options that no program has, and those of a command line that its program has not: "PAGE: --option" and "PAGE: NAME --option".
unknown_options() {
    cat lists/* | LC_ALL=C sort -u >all-options
    pages "$1" | dated | while read -r page; do
        grep -vE "$foreign" "$1/$page" | grep -oE '(^|[^A-Za-z0-9-])--[a-z][a-z0-9-]*' | grep -oE -e '--[a-z0-9-]*' |
            LC_ALL=C sort -u | LC_ALL=C comm -23 - all-options | sed "s|^|$page: |"
        grep -oE 'supple [a-z-]+ [^`|;#]*' "$1/$page" | while read -r _ name words; do
            [ -f "lists/$name" ] || continue
            printf '%s\n' "$words" | sed 's/supple .*//' | grep -oE -e '(^|[ (\[])--[a-z][a-z0-9-]*' | grep -oE -e '--[a-z0-9-]*' | while read -r option; do
                grep -qx -e "$option" "lists/$name" || echo "$page: $name $option"
            done
        done
    done | LC_ALL=C sort -u
}

# ---- each check can fail ----

mkdir -p bad/docs/notes bad/lib/fem bad/tools bad/tests
cat >bad/README.md <<'MD'
`supple bake fox.glb --young color.a --stiff ear=2` and `--gone`, but
`blender x --python y`.
See [formats](docs/formats.md), [nothing](docs/nothing.md) and ![a picture](docs/picture.png). `fem/here.c` is there, `fem/gone.c`
and `lib/fem/nowhere.h` are not; tests/run neither.
MD
cat >bad/docs/formats.md <<'MD'
## Conventions

1. **First.** One.
2. **Second.** Two.

## Next
MD
mkdir lists && echo --young >lists/bake && echo --stiff >lists/fit
printf '## 1. A section\n\n    a = b            (1)\n' >bad/docs/design.md
cat >bad/lib/fem/here.c <<'C'
/* docs/formats.md, convention 1 is there, convention
 * 7 is not; nor docs/formats.md, conventions 2 and 9. docs/design.md, eq. 1 and 4; docs/design.md,
 * section 3. And DESIGN section 4. */
C
same() { if [ "$1" = "$2" ]; then echo 0; else echo 1; fi; }
flat() { tr '\n' ';'; }
for pair in 'broken_links|README.md: docs/nothing.md;README.md: docs/picture.png;' \
    'missing_paths|README.md: docs/nothing.md;README.md: docs/picture.png;README.md: fem/gone.c;README.md: lib/fem/nowhere.h;README.md: tests/run;' \
    'unknown_conventions|lib/fem/here.c: 7;lib/fem/here.c: 9;' 'unknown_equations|lib/fem/here.c: 4 of design.md;' \
    'unknown_sections|lib/fem/here.c: 3 of design.md;' 'strangers|lib/fem/here.c:DESIGN section;' \
    'unknown_options|README.md: --gone;README.md: bake --stiff;'; do
    found=$(${pair%%|*} bad | flat)
    check "${pair%%|*} finds planted faults and no others" "$(same "$found" "${pair#*|}")" "$found"
done

# ---- the project ----

rm -r lists && mkdir lists
for name in $("$BIN/supple" --help | sed -n '/^Tools:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    "$BIN/supple" "$name" --help | grep -oE -e '(^|[ ,([])--[a-z][a-z0-9-]*' | grep -oE -e '--[a-z0-9-]*' | LC_ALL=C sort -u >"lists/$name"
done
check "all programs say what options they have" "$([ "$(ls lists | wc -l)" -ge 22 ] && [ -z "$(find lists -size 0)" ]; echo $?)" "$(ls -l lists)"
for pair in 'broken_links|every relative link and image leads to a file' 'missing_paths|every path that a page names exists' \
    'unknown_conventions|every convention that is cited stands in formats.md' 'unknown_equations|every equation that is cited exists' \
    'unknown_sections|every section that is cited exists' 'strangers|nothing cites a page that is not in the project' \
    'unknown_options|every option that a page names is one of the program'; do
    found=$(${pair%%|*} "$root" | flat)
    check "${pair#*|}" "$(same "$found" '')" "$found"
done
number=$(cited "$root" '[Cc]onventions?' | wc -l)
check "citations are found at all ($number of conventions)" "$([ "$number" -gt 30 ]; echo $?)"
echo "1..$count"
