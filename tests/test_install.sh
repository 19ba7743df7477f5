#!/bin/sh
# What `make install` and `make deb` leave: programs that bake from where they lie, pages, completions, the run-time library with its soname and
# pkg-config file. And supple doctor.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
root=$(dirname "$here")
case $BUILD in */build/default) ;; *) echo "ok 1 - installation # skip it is tried with the default build alone"; exit 0 ;; esac
unset MAKEFLAGS MAKELEVEL MFLAGS SUPPLE_BIN
export OMP_WAIT_POLICY=passive

bakes() {   # NAME BIN: the programs there make a cache, with no others in PATH
    PATH=/usr/bin:/bin "$2/supple" creature -q --vertices 3000 -o "$1.glb" 2>err </dev/null &&
        PATH=/usr/bin:/bin run "$2/supple" bake -q --fast "$1.glb" --clip Stop --tets 2000 -o "$1" && [ -s "$1/Stop.abc" ]
    check "$1: a bake from there" $? "$(cat err)"
}

# ---- make install ----

run make -C "$root" install DESTDIR="$folder/there" PREFIX=/opt/supple
check "make install" "$status" "$(cat err)"
at=$folder/there/opt/supple
for file in bin/supple bin/supple-bake bin/supple-doctor lib/libsupple-runtime.a include/supple_runtime.h include/supple_clip.h share/man/man1/supple-sim.1 \
    share/man/man1/supple-doctor.1 share/doc/supple/docs/tutorial.md share/doc/supple/examples/live.c share/supple/pipeline.mk \
    share/bash-completion/completions/supple share/zsh/site-functions/_supple; do
    [ -s "$at/$file" ] || missing="${missing:-} $file"
done
check "programs, library, headers, pages, examples and completions are there" "$([ -z "${missing:-}" ]; echo $?)" "missing:${missing:-}"
broken=$(cd "$at/share/doc/supple" && grep -o ']([^)#:]*)' README.md | sed 's/^](//; s/)$//' | while read -r link; do
    [ -e "$link" ] || echo "$link"; done)
check "links of the installed README lead somewhere" "$([ -z "$broken" ]; echo $?)" "$broken"
run env PATH=/usr/bin:/bin "$at/bin/supple" doctor --try
check "supple doctor finds the installation whole" "$([ "$status" = 0 ] && grep -q '^ok *a small bake' out && ! grep -q ^BAD out; echo $?)" "$(grep ^BAD out; cat err)"
check "it names what is missing, and for what" "$(PATH=$at/bin:/bin:/usr/bin "$at/bin/supple" doctor | grep -q '^\(ok\|-\) *browser .*supple report --png'; echo $?)"

# ---- the library: its name, what it shows, who finds it ----

version=$(sed -n 's/^.define SUPPLE_RUNTIME_M..OR //p' "$root/lib/runtime/supple_runtime.h" | tr '\n' . | sed 's/.$//')
library=$at/lib/libsupple-runtime.so.$version
check "soname and links are the header's version ($version)" "$([ "$(objdump -p "$library" | awk '/SONAME/ { print $2 }')" = "libsupple-runtime.so.${version%%.*}" ] &&
    [ "$at/lib/libsupple-runtime.so" -ef "$library" ] && [ "$at/lib/libsupple-runtime.so.${version%%.*}" -ef "$library" ]; echo $?)" "$(ls "$at/lib")"
cat "$at"/include/supple_*.h | sed -n '/visibility("hidden").*;/d; /visibility("hidden")/,/;/d; s/^[a-z].*[ *]\(supple_[a-z_]*\)(.*/\1/p' | LC_ALL=C sort -u >api
for each in "nm -D --defined-only $library" "nm -g --defined-only $at/lib/libsupple-runtime.a"; do
    $each 2>/dev/null | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u >shown
    check "${each%% /*} shows the functions of its headers and no others ($(wc -l <api))" "$(cmp -s api shown && [ "$(wc -l <api)" -gt 20 ]; echo $?)" \
        "$(LC_ALL=C comm -3 api shown | tr '\n\t' '  ')"
done
export PKG_CONFIG_PATH=$at/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$folder/there
compiler=$(cut -d ' ' -f 1 "$BUILD/flags")
cat >host.c <<'C'
#include <stdio.h>
#include <supple_clip.h>
int main(int argc, char **argv)
{
    char message[200];
    supple_runtime *flesh = supple_open(argc > 1 ? argv[1] : "nothing.npz", NULL, message, sizeof message);
    if (!flesh) printf("%s\n", message);
    supple_close(flesh);
    return supple_runtime_version() != 1000 * SUPPLE_RUNTIME_MAJOR + SUPPLE_RUNTIME_MINOR;
}
C
# shellcheck disable=SC2046
for link in shared static; do
    case $link in shared) how='' ;; *) how=--static ;; esac
    [ $link = shared ] || rm -f "$at"/lib/*.so*   # so that the archive is what is left
    run "$compiler" -o host-$link host.c $(pkg-config --cflags --libs $how supple-runtime)
    [ "$status" = 0 ] && LD_LIBRARY_PATH=$at/lib run ./host-$link
    check "a program links it by pkg-config and runs, $link" "$([ "$status" = 0 ] && grep -q nothing.npz out; echo $?)" "$(cat err out)"
    [ $link = static ] || cp -P "$at"/lib/*.so* .
done
printf 'int supple_runtime_version(void); int su_npz_open; int main(void) { return !(supple_runtime_version() + su_npz_open); }\n' >clash.c
run "$compiler" -o clash clash.c $(pkg-config --libs --static supple-runtime)
check "names inside the archive are free for others" "$status" "$(cat err)"
cp -P ./*.so* "$at/lib"
run make -C "$root" uninstall DESTDIR="$folder/there" PREFIX=/opt/supple
check "make uninstall leaves no file" "$([ "$status" = 0 ] && [ -z "$(find "$at" -type f -o -type l)" ]; echo $?)" "$(find "$at" -type f -o -type l)"

# ---- supple doctor on something broken ----

mkdir broken && cp "$BIN/supple" "$BIN"/supple-[a-r]* "$root"/scripts/supple-* "$root/scripts/pipeline.mk" "$root/scripts/common.sh" broken/
run broken/supple doctor -q
check "doctor: a program that is missing is BAD, status 1" "$([ "$status" = 1 ] && grep -q '^BAD *supple sim' out; echo $?)" "$(cat out err)"
cp "$BIN"/supple-[s-z]* broken/ && printf '#!/bin/sh\necho "error while loading shared libraries: libassimp.so.5" >&2; exit 127\n' >broken/supple-import
run broken/supple doctor -q
check "doctor: a program that does not start is BAD, with why" "$([ "$status" = 1 ] && grep -q '^BAD *supple import .*libassimp' out && [ "$(grep -c . out)" = 1 ]; echo $?)" "$(cat out err)"
run env TMPDIR=/nowhere/at/all "$BIN/supple" doctor -q
check "doctor: no place for temporary files is BAD" "$([ "$status" = 1 ] && grep -q '^BAD *temporary' out; echo $?)" "$(cat out err)"
run "$BIN/supple" doctor nonsense
check "doctor: words it does not know are a usage error" "$([ "$status" = 2 ]; echo $?)" "$(cat err)"

# ---- make deb ----

command -v dpkg-shlibdeps >/dev/null || { count=$((count + 1)); echo "ok $count - make deb # skip dpkg-dev is not installed"; echo "1..$count"; exit 0; }
mkdir deb
run env DEB_LEVEL=0 make -C "$root" deb-built DEB="$folder/deb"
check "make deb" "$status" "$(cat err)"
package=$(ls deb/*.deb)
check "its dependencies are libraries and make, none that builds" "$(dpkg-deb -f "$package" Depends | grep -q 'libopenblas0.*make' && ! dpkg-deb -f "$package" Depends | grep -q -e '-dev'; echo $?)" \
    "$(dpkg-deb -f "$package" Depends)"
dpkg-deb -x "$package" root
bakes package "$folder/root/usr/bin"
run env PATH=/usr/bin:/bin "$folder/root/usr/bin/supple" doctor -q
check "supple doctor finds the package whole" "$([ "$status" = 0 ] && [ ! -s out ]; echo $?)" "$(cat out err)"
check "its library has no debugging symbols" "$(! objdump -h root/usr/lib/*/libsupple-runtime.so.$version | grep -q debug_info; echo $?)"
if command -v lintian >/dev/null; then
    lintian --fail-on error "$package" >said 2>/dev/null
    check "lintian finds no error" $? "$(grep ^E: said)"
else
    count=$((count + 1)); echo "ok $count - lintian # skip it is not installed"
fi
echo "1..$count"
