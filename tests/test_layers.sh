#!/bin/sh
# The layers of lib/ and tools/ as docs/design.md section 2 has them: who may include whom, no circles of modules, a run-time archive that is
# closed, a line in docs/tree.md for each file; and no line of C that is longer than the formatter's limit. Each rule is tried on a small tree that breaks it as well.
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
. "$here/tap.sh"

# A folder, and the folders whose headers it may include beside its own. Only folders of lines above may stand in a line, so there is no circle.
# Every program in tools/ may include all of these, headers that lie in tools/ itself, and its own.
cat >order <<'ORDER'
core:
linalg: core
geometry: core
io/alembic: core
io/usd: core geometry
io/cache: core linalg geometry io/alembic io/usd
io/scene: core geometry io/usd
io/stage: core geometry
io: core geometry io/cache io/stage
rig: core geometry io/cache io/scene io/stage io
physics: core geometry io
contact: core geometry physics
fem: core linalg geometry io/stage rig physics contact
runtime/kernels: core geometry physics
runtime/step: core geometry physics runtime/kernels
runtime/subspace: core geometry io/stage rig physics runtime/kernels runtime/step
runtime/forces: core geometry io/stage physics contact runtime/kernels runtime/step runtime/subspace
runtime/skinning: core geometry io/stage rig physics runtime/kernels runtime/step runtime/subspace runtime/forces
runtime: core geometry io/stage rig physics runtime/kernels runtime/step runtime/subspace runtime/forces runtime/skinning
reduce: physics
reduce/align: core geometry rig
reduce/modes: core linalg geometry io/stage rig physics fem reduce reduce/align
reduce/cubature: core linalg geometry io/stage rig physics contact fem runtime/subspace runtime/forces runtime reduce reduce/align
skin: core linalg geometry io/stage rig physics contact fem reduce/modes
estimate: core linalg geometry io/stage rig physics fem runtime/subspace
ORDER
# Headers that only programs include, although they lie in core.
programs_only='core/tool.h'

# ---- includes: problems as "kind<TAB>file:line: what" ----

# A module is a .c and a .h of one name; NAME_internal.h, which files of its folder share, belongs to NAME.
cat >includes.awk <<'AWK'
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function module(path) { sub(/\.([ch]|cpp)$/, "", path); sub(/_internal$/, "", path); return path }
function plain(path) { while (path ~ /[^\/.]\/\.\.\//) sub(/[^\/]+\/\.\.\//, "", path); return path }
function area(path) { path = folder(path); sub(/^lib\//, "", path); return path }
function problem(kind, what) { printf "%s\t%s:%d: %s\n", kind, FILENAME, FNR, what }

FILENAME == order {
    name = substr($1, 1, length($1) - 1)
    known[name] = 1
    for (i = 2; i <= NF; i++) {
        if (!($i in known) || $i == name) printf "order\t%s names %s, which stands below it\n", name, $i
        may[name, $i] = 1
    }
    next
}
FILENAME == list {
    exists[$0] = 1
    if ($0 ~ /^lib\//) used[area($0)] = 1
    next
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    target = "lib/" part[2]
    if (!(target in exists)) target = plain(folder(FILENAME) "/" part[2])
    if (!(target in exists)) { problem("layer", "\"" part[2] "\" is no header of lib/ (write \"folder/file.h\") or of this program"); next }
    if (FILENAME ~ /^lib\//) {
        from = area(FILENAME); to = area(target)
        if (target !~ /^lib\//) problem("layer", "lib includes " target)
        else if (from != to && !((from, to) in may)) problem("layer", from " may not include " to " (" part[2] ")")
        if (index(" " only " ", " " part[2] " ") && module(FILENAME) !~ "^lib/" module(part[2])) problem("layer", "only programs include " part[2])
    } else if (target ~ /^tools\// && folder(target) != folder(FILENAME) && folder(target) != "tools")
        problem("layer", folder(FILENAME) " may not include " folder(target))
    if (target ~ /_internal\.h$/ && folder(target) != folder(FILENAME)) problem("layer", part[2] " is private to its folder")
    a = module(FILENAME); b = module(target)
    if (a != b && !((a, b) in at)) { at[a, b] = FILENAME ":" FNR; print "edge\t" a "\t" b "\t" FILENAME ":" FNR }
}
END {
    for (f in used) if (!(f in known)) printf "order\tlib/%s has no line in the order of %s\n", f, "tests/test_layers.sh"
    for (f in known) if (!(f in used)) printf "order\t%s stands in the order and has no files\n", f
}
AWK

# Edges "a<TAB>b<TAB>where" in, one circle out, if there is any: what leads nowhere is taken away until only circles and what leads into them are left.
cat >circle.awk <<'AWK'
BEGIN { FS = "\t" }
!(($1, $2) in where) { where[$1, $2] = $3; to[$1] = to[$1] "\t" $2; left[$1] = 1; left[$2] = 1 }
function next_of(a,   n, i, b, best) {
    n = split(substr(to[a], 2), b, "\t")
    for (i = 1; i <= n; i++) if (b[i] in left && b[i] != a && (best == "" || b[i] < best)) best = b[i]
    return best
}
END {
    do {
        changed = 0
        for (a in left) if (next_of(a) == "") { delete left[a]; changed = 1 }
    } while (changed)
    start = ""
    for (a in left) if (start == "" || a < start) start = a
    if (start == "") exit
    for (a = start; !(a in seen); a = next_of(a)) seen[a] = 1
    start = a
    do { b = next_of(a); printf "%s -> %s (%s)\n", a, b, where[a, b]; a = b } while (a != start)
}
AWK

# includes TREE: what is wrong with its includes, and its edges, into the file `found`.
includes() {
    (cd "$1" && find lib tools -name '*.[ch]' -o -name '*.cpp' | LC_ALL=C sort) >list
    (cd "$1" && awk -v order="$folder/order" -v list="$folder/list" -v only="$programs_only" -f "$folder/includes.awk" "$folder/order" "$folder/list" \
        $(cat "$folder/list")) >found
    grep '^edge' found | cut -f 2- | awk -f circle.awk >circle
}
of_kind() { grep "^$1	" found | cut -f 2-; }
nothing() { check "$1" "$([ -z "$2" ]; echo $?)" "$(echo "$2" | sed '2,$s/^/# /')"; }

includes "$root"
nothing "the order has a line for each folder, and no circle" "$(of_kind order)"
nothing "no folder includes one that it may not" "$(of_kind layer)"
nothing "no modules include each other in a circle" "$(cat circle)"
# Its order depends on the C library, and on whether there is memory.
nothing "nothing is sorted by qsort (core/order.h)" "$(cd "$root" && grep -rnw 'qsort *(' lib tools --include='*.[ch]' --include='*.cpp')"
check "docs/design.md has the same order" "$(grep -c . order >lines; grep -F -x -c -f order "$root/docs/design.md" | cmp -s - lines; echo $?)" \
    "not in docs/design.md: $(grep -F -x -v -f "$root/docs/design.md" order | tr '\n' ';')"

# ---- docs/tree.md: each module of lib/ has its line, and nothing else has ----

# Lines are "- `name`, `name`: what for" under "## folder".
tree_names() { awk '/^## / { at = $2 } /^- `/ { line = $0; text = $0; sub(/^[^:]*: */, "", text); if ($0 !~ /: ./) next
    sub(/`:.*/, "", line); n = split(line, part, "`"); for (i = 2; i <= n; i += 2) print "lib/" at "/" part[i] }' "$1" | LC_ALL=C sort; }
tree_files() { (cd "$1" && find lib -name '*.[ch]' -o -name '*.cpp' | sed -E 's/\.([ch]|cpp)$//' | LC_ALL=C sort -u); }
tree_names "$root/docs/tree.md" >named
tree_files "$root" >there
nothing "docs/tree.md says what each file of lib/ is for" "$(LC_ALL=C comm -13 named there)"
nothing "docs/tree.md lists no file that is not there, and none twice" "$(LC_ALL=C comm -23 named there)"

# ---- calls: modules of objects, as the linker sees them ----

# Names of all objects below $1 with their symbols: "module<TAB>type<TAB>symbol".
symbols() {
    (cd "$1" && find lib tools -name '*.o' 2>/dev/null | LC_ALL=C sort | while read -r o; do [ ! -f "$2/${o%.o}.c" ] || echo "$o"; done |
        xargs nm -gA | awk '{ m = $1; sub(/\.o:.*/, "", m); if (NF >= 2) printf "%s\t%s\t%s\n", m, $(NF - 1), $NF }')
}
# Calls between modules from such lines; a program's own symbols go before those of lib/.
cat >calls.awk <<'AWK'
BEGIN { FS = "\t" }
{ own = $1 ~ /^tools/ ? $1 : "lib"; sub(/\/[^\/]*$/, "", own) }
$2 == "U" { want[++n] = $3; by[n] = $1; home[n] = own; next }
!((own, $3) in place) { place[own, $3] = $1 }
END {
    for (i = 1; i <= n; i++) {
        to = (home[i], want[i]) in place ? place[home[i], want[i]] : ("lib", want[i]) in place ? place["lib", want[i]] : ""
        if (to != "" && to != by[i]) printf "%s\t%s\t%s\n", by[i], to, want[i]
    }
}
AWK
symbols "$BUILD" "$root" >objects
awk -f calls.awk objects >calls
check "objects of the build are there to be looked into" "$([ "$(wc -l <calls)" -gt 1000 ]; echo $?)" "$(wc -l <calls) calls below $BUILD"
nothing "no modules call each other in a circle" "$(awk -f circle.awk calls)"

# ---- functions that nobody calls: what only its own file needs is static, what no file needs goes ----

# The interface for games is called from outside; clones and resolvers of a function are the compiler's.
uncalled() {   # FOLDER OBJECTS: "module: function"
    find "$1/tests" "$1/bench" "$1/examples" "$1/tools" -name '*.[ch]' -exec cat {} + 2>/dev/null | grep -o 'su_[a-z0-9_]*' | sort -u >named
    awk -F '\t' 'FILENAME == "named" { want[$1]; next } $2 == "T" && $1 ~ /^lib/ && $3 ~ /^su_[a-z0-9_]*$/ { place[$3] = $1 } $2 == "U" { want[$3] }
        END { for (s in place) if (!(s in want)) print place[s] ": " s }' named "$2" | LC_ALL=C sort
}
nothing "every function that a header of lib/ shows is called by another file" "$(uncalled "$root" objects)"

# ---- the run-time archive: what it asks for is in itself or in the few libraries that a game links ----

compiler=$(cut -d ' ' -f 1 "$BUILD/flags")
libraries='libc.so.6 libm.so.6 libgomp.so.1 libz.so libjansson.so libxxhash.so libgcc.a'
case $compiler in *clang*) libraries="$libraries libomp.so";; esac
for l in $libraries; do
    path=$("$compiler" -print-file-name="$l")
    case $path in
    /*.a) nm -g --defined-only "$path" 2>nm-err;;
    /*) nm -D --defined-only "$path";;
    *) echo "$l" >>missing;;
    esac
done | awk 'NF >= 2 { sub(/@.*/, "", $NF); print $NF }' | LC_ALL=C sort -u >offered
nothing "the run-time library's own libraries are found" "$(cat missing 2>/dev/null)"
# open_symbols ARCHIVE: asked for and not to be had.
open_symbols() {
    nm -g "$1" | awk 'NF == 3 && $2 != "U" { print $3 }' | LC_ALL=C sort -u >defined
    nm -g "$1" | awk '$1 == "U" { print $2 }' | LC_ALL=C sort -u >wanted
    case $BUILD in *san|*fuzz) sanitizers='^__[alu]*[bs]*san_\|^__sanitizer_\|^__asan_\|^__ubsan_';; *) sanitizers='^$';; esac
    LC_ALL=C comm -23 wanted defined | LC_ALL=C comm -23 - offered | grep -v -e '^_GLOBAL_OFFSET_TABLE_$' -e "$sanitizers"
}
open=$(open_symbols "$BUILD/libsupple-runtime.a")
nothing "libsupple-runtime.a is closed, without BLAS, LAPACK and CHOLMOD" \
    "$(for s in $open; do echo "$s, wanted by $(awk -F '\t' -v s="$s" '$2 == "U" && $3 == s { printf "%s ", $1 }' objects)"; done)"
check "libsupple-runtime.a has supple_runtime.h's functions" "$(sed -n 's/^[a-z].*[ *]\(supple_[a-z_]*\)(.*/\1/p' "$root/lib/runtime/supple_runtime.h" \
    | LC_ALL=C sort -u >api; [ "$(wc -l <api)" -ge 8 ] && [ -z "$(LC_ALL=C comm -23 api defined)" ]; echo $?)" "$(LC_ALL=C comm -23 api defined | tr '\n' ' ')"

# ---- lines: characters, not bytes, so continuation bytes of UTF-8 do not count ----

limit=$(sed -n 's/^ColumnLimit: *//p' "$root/.clang-format")
long_lines() {
    (cd "$1" && find . -name build -prune -o \( -name '*.[ch]' -o -name '*.cpp' \) -print | LC_ALL=C sort | LC_ALL=C xargs awk -v limit="$2" \
        '{ gsub(/[\200-\277]/, "") } length($0) > limit { printf "%s:%d: %d columns\n", substr(FILENAME, 3), FNR, length($0) }')
}
nothing "no line of C has more than $limit columns" "$(long_lines "$root" "$limit")"

# ---- the rules, broken ----

mkdir -p called/tests
printf 'lib/a\tT\tsu_called\nlib/b\tU\tsu_called\nlib/a\tT\tsu_alone\nlib/a\tT\tsu_tested\nlib/a\tT\tsupple_open\n' >planted
echo 'su_tested();' >called/tests/test.c
check "found: a function that nobody calls" "$([ "$(uncalled called planted)" = 'lib/a: su_alone' ]; echo $?)" "$(uncalled called planted)"

# A tree that keeps all rules but has only a few folders: `order` problems are left out of account.
plant() {   # FILE TEXT: a file of the small tree, all else as it should be
    rm -rf tree && mkdir -p tree/lib/core tree/lib/io/cache tree/lib/io/alembic tree/lib/runtime/kernels tree/lib/runtime/step tree/tools/one tree/tools/two
    echo '#include "core/base.h"' >tree/lib/core/base.c
    echo '/* lowest */' >tree/lib/core/base.h
    echo '#include "core/base.h"' >tree/lib/io/cache/file.h
    echo '#include "io/cache/file.h"' >tree/lib/io/cache/file.c
    echo '/* private */' >tree/lib/io/cache/file_internal.h
    echo '/* a program */' >tree/lib/core/tool.h
    echo '#include "core/base.h"' >tree/lib/runtime/step/step.h
    echo '#include "part.h"' >tree/tools/one/main.c
    echo '#include "io/cache/file.h"' >tree/tools/one/part.h
    echo '#include "../shared.h"' >tree/tools/two/main.c
    echo '#include "core/tool.h"' >tree/tools/shared.h
    [ -z "$1" ] || printf '%b\n' "$2" >"tree/$1"
    includes tree
}
plant '' ''
check "a tree that keeps the rules passes" "$([ -z "$(of_kind layer)$(cat circle)" ]; echo $?)" "$(of_kind layer; cat circle)"
broken() {   # NAME FILE TEXT PATTERN: the problem is found and named by file and line
    plant "$2" "$3"
    check "found: $1" "$( { of_kind layer; cat circle; } | grep -q -e "$4"; echo $?)" "$(of_kind layer; cat circle)"
}
broken "a folder that includes one above it" lib/core/base.c '\n# include "io/cache/file.h"' '^lib/core/base.c:2: core may not include io/cache'
broken "a folder that includes one beside it" lib/runtime/kernels/k.c '#include "runtime/step/step.h"' '^lib/runtime/kernels/k.c:1: runtime/kernels may not include'
broken "a header that is not there" lib/core/base.c '#include "nothing.h"' '^lib/core/base.c:1: "nothing.h" is no header'
broken "lib that includes a program" lib/core/base.c '#include "../../tools/shared.h"' '^lib/core/base.c:1: lib includes tools'
broken "a program that includes another" tools/two/main.c '#include "../one/part.h"' '^tools/two/main.c:1: tools/two may not include tools/one'
broken "lib that is a program" lib/io/cache/file.c '#include "core/tool.h"' '^lib/io/cache/file.c:1: only programs include'
broken "a private header from elsewhere" lib/io/moving.c '#include "io/cache/file_internal.h"' '^lib/io/moving.c:1: io/cache/file_internal.h is private'
plant lib/io/cache/file.h '#include "io/cache/other.h"'
echo '#include "io/cache/file.h"' >tree/lib/io/cache/other.c && echo '/* */' >tree/lib/io/cache/other.h && includes tree
check "found: a circle of modules through a .c" "$(grep -q '^lib/io/cache/other -> lib/io/cache/file (lib/io/cache/other.c:1)' circle; echo $?)" \
    "$(cat circle)"
printf '## core\n\n- `base`: low\n- `gone`, `tool`:\n- `old`: high\n' >page && plant '' '' && tree_names page >named && tree_files tree >there
check "found: a file without a line, a line without a file" "$([ "$(LC_ALL=C comm -13 named there | tr '\n' ' ')" = \
    "lib/core/tool lib/io/cache/file lib/io/cache/file_internal lib/runtime/step/step " ] && [ "$(LC_ALL=C comm -23 named there)" = lib/core/old ]; echo $?)" \
    "$(LC_ALL=C comm -3 named there | tr '\n' ' ')"
printf 'lib/a/x\tT\tone\nlib/a/y\tT\ttwo\nlib/a/x\tU\ttwo\nlib/a/y\tU\tone\n' | awk -f calls.awk | awk -f circle.awk >circle
check "found: modules that call each other" "$(grep -q '^lib/a/x -> lib/a/y (two)' circle; echo $?)" "$(cat circle)"
echo 'double cblas_ddot(int, const double *, int, const double *, int); double f(double *x); double f(double *x) { return cblas_ddot(3, x, 1, x, 1); }' >blas.c
"$compiler" -c -o blas.o blas.c && ar rcs blas.a blas.o
check "found: an archive that wants BLAS" "$([ "$(open_symbols "$folder/blas.a")" = cblas_ddot ]; echo $?)" "$(open_symbols "$folder/blas.a")"
mkdir long && printf '/* \303\251\303\251 */\n/* \303\251\303\251\303\251 */\n' >long/a.c
check "found: a line too long, in characters" "$([ "$(long_lines long 8)" = "a.c:2: 9 columns" ]; echo $?)" "$(long_lines long 8)"

echo "1..$count"
