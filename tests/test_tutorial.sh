#!/bin/sh
# Every command of docs/tutorial.md runs, in its order and in one folder, word for word; those of README.md are taken as they stand by a dry run. To be
# quick about it, the `supple` that they find makes a small character, few tets and a short motion to train on, and hands everything else on.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/tap.sh"
root=$(dirname "$here")
export OMP_WAIT_POLICY=passive

# commands PAGE: what is to be typed; lines of a program's answer begin with its name, supple-...
commands() { sed -n 's/^    \([^ ].*\)/\1/p' "$1" | grep -v '^supple-[a-z]*: '; }
commands "$root/docs/tutorial.md" >typed
strangers=$(grep -v -e '^supple [a-z]' -e '^cd ' -e '^mkdir ' -e '^cat ' -e '^make ' -e '^export PATH=' typed)
check "the tutorial's commands are found, and nothing that is none ($(wc -l <typed))" "$([ "$(wc -l <typed)" -ge 20 ] && [ -z "$strangers" ]; echo $?)" "$strangers"

# ---- the small supple, and what `make viewer` leaves in a checkout ----

mkdir bin
page=$root/build/viewer/report.html
cat >bin/supple <<WRAPPER
#!/bin/sh
case \$1 in
creature) shift; exec "$BIN/supple" creature --vertices 3000 "\$@" ;;
bake)
    [ -f "$page" ] || set -- \$(printf '%s\n' "\$@" | sed 's/^abc,html\$/abc/')
    case " \$* " in *' --model '* | *' -n '*) ;; *) set -- "\$@" --tets 800 --set 'MOTION_FLAGS=--seconds 1.5' ;; esac ;;
esac
exec "$BIN/supple" "\$@"
WRAPPER
chmod +x bin/supple
printf 'viewer:\n\t@true\n' >Makefile

# ---- line by line, as one would type them ----

{
    echo 'set -u; number=0'
    while IFS= read -r line; do
        printf '%s\n' "$line" "code=\$?; number=\$((number + 1)); echo \"\$code\" >>'$folder/codes'"
        case $line in *'--damping 0.05') echo "ls --full-time out/tutorial/painted/creature.model.npz >>'$folder/model'" ;;
        *--modes\ 90*) echo "ls --full-time out/tutorial/painted/creature.model.npz >'$folder/model'" ;; esac
    done <typed
} >session
timeout 300 sh ./session >log 2>&1 </dev/null
number=0
while IFS= read -r line; do
    number=$((number + 1))
    code=$(sed -n "${number}p" codes)
    check "$line" "$([ "${code:-none}" = 0 ]; echo $?)" "status ${code:-none}: $(tail -n 3 log)"
done <typed
# what stands in the text, in the folder that its names are of
grep -o '`supple [a-z]* [^`]*\.npz[^`]*`' "$root/docs/tutorial.md" | tr -d '`' >inline
while IFS= read -r line; do
    at=.
    case $line in *out/*) ;; *) at=out/tutorial ;; esac
    (cd $at && PATH=$folder/bin:$PATH timeout 60 sh -c "$line") >said 2>err </dev/null
    check "$line" $? "$(tail -n 2 err)"
done <inline
check "commands in the text are found ($(wc -l <inline))" "$([ "$(wc -l <inline)" -ge 2 ]; echo $?)"
check "the bake of section 7 makes no model again" "$([ "$(sort -u model | wc -l)" = 1 ] && [ "$(wc -l <model)" = 2 ]; echo $?)" "$(cat model)"
check "the bakes say what moved, as the tutorial has it" "$(grep -q '^supple-bake: Stop.anim.npz: largest displacement [0-9.]* % of the diagonal, at frame [0-9]*, [a-z]' log; echo $?)"
for file in plain/Stop.abc even/Trot.abc painted/Stop.compare.txt reduced.sim.npz Stop.usda Stop.glb Stop.positions.exr again/Trot.abc; do
    [ -s "out/tutorial/$file" ] || missing="${missing:-} $file"
done
check "what the tutorial names is there" "$([ -z "${missing:-}" ]; echo $?)" "missing:${missing:-}"

# ---- README: its bakes are dry runs, on files of the names that it uses ----

mkdir readme && cd readme && mkdir out
for name in fox bear jump rig walk run; do cp ../out/tutorial/creature.glb $name.glb; done
cp fox.glb avatar.vrm
printf 'HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 2\nFrame Time: 0.04\n0 0 0\n0 0 9\n' >walk.bvh
"$BIN/supple" export -q ../out/tutorial/painted/creature.model.npz ../out/tutorial/painted/Trot.anim.npz ../out/tutorial/painted/Trot.sim.npz -o 'cloth.%04d.obj' --frames 0-3 2>err
for kind in model tet fit; do cp ../out/tutorial/painted/creature.$kind.npz out/fox.$kind.npz; done
sed -n 's/^\(bin\/\)\{0,1\}\(supple bake [^#]*[^# ]\).*/\2/p' "$root/README.md" | sed 's/  *$//' >bakes
check "README's bakes are found ($(wc -l <bakes))" "$([ "$(wc -l <bakes)" -ge 12 ]; echo $?)" "$(cat bakes)"
while IFS= read -r line; do
    # no writer of FBX is at hand; which reader a file goes to is no matter of the command line
    printf '%s -n --clip Trot\n' "$line" | sed 's/\.fbx/.glb/g; s/ --clip Run//; /%04d\|walk\.glb/s/ --clip Trot//' >one
    PATH=$folder/bin:$PATH timeout 60 sh ./one >said 2>err </dev/null
    check "README: $line" $? "$(tail -n 2 err)"
done <bakes
cd ..
echo "1..$count"
