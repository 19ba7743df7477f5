#!/bin/sh
# supple farm-job: a bake as job arrays of Slurm, disturbed on the way, writes what the bake on one machine writes; templates for OpenJD and OpenCue have the
# structure that these publish. DISTURB: how often a job is requeued or told to stop (4). DEMO=1: Slurm alone, with the character and the options of `make demo`,
# each job disturbed four times at most, for else a long one would take all of them.
. "$(dirname "$0")/tap.sh"
. "$here/slurm_node.sh"
need_numpy "farms"

if [ -n "${DEMO:-}" ]; then
    "$BIN/supple" creature --character hound -q -o pet.glb
    small='--train --format abc' seconds=3600 pause=1 each_most=4
else
    "$BIN/supple" creature --vertices 3000 -q -o pet.glb
    small='--poses 2 --tets 800 --modes 6 --substeps 1 --format abc,obj' seconds=600 pause=0.2 each_most=1000
fi

run "$BIN/supple" bake pet.glb -o local -q $small
check "the bake on one machine" "$status" "$(cat err)"

# ---- templates ----
if [ -n "${DEMO:-}" ]; then mv local made; else
cp -R local made && rm local/*.abc local/*.obj local/*.sim.npz local/pet.basis.npz local/pet.model.npz && rm -rf local/stats/modes.*
run "$BIN/supple" farm-job openjd local -o job.json THREADS=2
check "an OpenJD template of what is not made" "$([ $status = 0 ] && "$python" "$here/farm_case.py" openjd job.json modes cubature sim export; echo $?)" "$status $(cat err) $("$python" "$here/farm_case.py" openjd job.json modes cubature sim export 2>&1)"
mkdir killed && printf '#!/bin/sh\nkill -TERM $$\n' >killed/sed && chmod +x killed/sed
run env PATH="$folder/killed:$PATH" sh local/.farm/openjd/job 0 0
check "a job whose question what to make was stopped does not end as if that were made" "$([ $status = 75 ]; echo $?)" "$status $(cat err)"
if command -v openjd >/dev/null 2>&1; then   # their own command line, where it is installed
    run openjd check job.json
    check "OpenJD's own check of it" "$status" "$(cat out err)"
fi
run "$BIN/supple" farm-job opencue local -o job.xml
check "an OpenCue job of the same" "$([ $status = 0 ] && "$python" "$here/farm_case.py" opencue job.xml modes cubature sim export; echo $?)" "$status $(cat err) $("$python" "$here/farm_case.py" opencue job.xml modes cubature sim export 2>&1)"
# What these templates run is run by hand, in their order: sh job ARRAY INDEX.
"$python" "$here/farm_case.py" commands job.json >commands
run sh -e commands
check "whose commands make it, the same bytes" "$([ $status = 0 ] && cmp local/Stop.abc made/Stop.abc && cmp local/pet.model.npz made/pet.model.npz; echo $?)" "$status $(cat err out)"
run "$BIN/supple" farm-job openjd local
check "nothing left to make: nothing written" "$([ $status = 0 ] && [ ! -s out ] && grep -q 'all is made' err; echo $?)" "$status $(cat err)"

# ---- a job a pose ----
cp -R made apart
run make -s -C apart BASIS=poses 'POSES=0 1'
check "a bake whose poses are jobs of their own" "$([ $status = 0 ] && [ -s apart/Trot.abc ]; echo $?)" "$status $(cat err)"
check "poses fitted apart are, put together, the fit of one go" "$(grep -q '"reused_poses": 2' apart/stats/fit.pet.fit.npz.json && cmp made/pet.fit.npz apart/pet.fit.npz; echo $?)" "$(cat err)"
run "$BIN/supple" modes made/pet.tet.npz made/pet.fit.npz --pose 1 --modes 6 -o modes.npz
check "modes of a pose are those of its job" "$([ $status = 0 ] && cmp modes.npz apart/pet.modes.1.npz; echo $?)" "$status $(cat err)"
mkdir empty
for each in 'slurm empty:3:empty/Makefile: cannot read' 'torque local:2:none of slurm' 'slurm:2:a folder is wanted' 'slurm local --threads 0:2:not a number above 0' 'slurm local --whatever:2:unknown option'; do
    words=${each%%:*} rest=${each#*:}
    run "$BIN/supple" farm-job $words
    check "supple farm-job $words" "$([ $status = "${rest%%:*}" ] && grep -q -e "${rest#*:}" err; echo $?)" "$status $(cat err)"
done
run "$BIN/supple" bake pet.glb -o x --farm lsf
check "--farm with a queue that is not known" "$([ $status = 2 ] && grep -q 'slurm' err; echo $?)" "$status $(cat err)"
fi   # DEMO

# ---- Slurm ----
mkdir node && if ! slurm_start "$folder/node"; then
    count=$((count + 1))
    echo "ok $count - a bake by Slurm # skip $slurm_why"
    echo "1..$count"
    exit 0
fi
trap 'slurm_stop; rm -rf "$folder"' EXIT

# Requeues and stops running jobs, at random but the same ones each time.
disturb() {   # TIMES
    done=0
    while [ $done -lt "$1" ] && [ ! -e undisturbed ]; do
        job=$(squeue -h -r -t R -o %i 2>/dev/null | awk -v seed=$((done * 17 + 3)) -v most=$each_most '
            BEGIN { srand(seed); while ((getline line <"disturbed") > 0) times[line]++ } times[$1] < most { job[n++] = $1 } END { if (n) print job[int(n * rand())] }')
        [ -n "$job" ] || { sleep 0.05; continue; }
        case $((done % 3)) in
        0) scontrol requeue "$job" ;;
        1) scancel --full --signal=TERM "$job" ;;
        2) scancel --batch --signal=USR1 "$job" ;;
        esac 2>>disturbed.err && done=$((done + 1)) && echo "$job" >>disturbed
        sleep "${PAUSE:-$pause}"   # PAUSE: s between them
    done
}
same() {   # FOLDER: what lies there is what the bake on one machine made
    for file in made/*.npz made/*.abc made/*.obj; do [ ! -e "$file" ] || cmp "$file" "$1/${file#*/}" || return 1; done
}
: >disturbed
disturb "${DISTURB:-4}" &
job=$!
bakes=0
while :; do   # a long version bakes until all disturbances have come
    rm -rf farmed
    run "$BIN/supple" bake pet.glb -o farmed --farm slurm:night $small
    bakes=$((bakes + 1))
    [ $status = 0 ] && [ "${DISTURB:-4}" -gt 10 ] && [ $bakes -lt 20 ] && [ "$(grep -c . disturbed)" -lt "$DISTURB" ] || break
    same farmed >same.txt 2>&1 || { status=differs; break; }
done
touch undisturbed
wait $job
check "a bake by Slurm, its jobs requeued and stopped $(grep -c . disturbed) times in $bakes bakes, has the same bytes" "$([ $status = 0 ] && same farmed >same.txt 2>&1; echo $?)" \
    "$status $(cat err same.txt) $(squeue -h -t all -o "%i %j %T %r") $(tail -n 40 node/completed)"
check "it says how far it is, and ends as a bake does" "$(grep -q '^supple-farm-job: \[[0-9]*/[0-9]*\]' err && grep -q 'supple-bake: farmed/Trot.abc' err && [ -s farmed/stats.json ]; echo $?)" "$(cat err)"
check "shots were arrays of two" "$(ls farmed/.farm/slurm/log | grep -c '^[0-9]*\.1$' | awk '{ print !($1 >= 2) }')" "$(ls farmed/.farm/slurm/log)"
if [ -n "${DEMO:-}" ]; then echo "1..$count"; exit 0; fi

sed 's/^SIM_FLAGS :=.*/& --substeps -5/' farmed/Makefile >bad.mk && mv bad.mk farmed/Makefile
run make -s -C farmed FARM=slurm
check "make FARM=slurm: a stage that fails is told with its status and what it said" "$([ $status != 0 ] && grep -q 'sim.npz: status 2' err && grep -q 'substeps' err; echo $?)" "$status $(cat err)"
rm -f farmed/*.sim.npz
sed -i 's/^\(SIM_FLAGS :=.*\) --substeps -5/\1/' farmed/Makefile
run make -s -C farmed FARM=slurm
check "and mended it goes on" "$([ $status = 0 ] && same farmed >same.txt 2>&1; echo $?)" "$status $(cat err same.txt)"

cp -R farmed farmed_apart
run make -s -C farmed_apart FARM=slurm BASIS=poses 'POSES=0 1'
check "by pose the same bytes on a farm as on one machine" "$([ $status = 0 ] && cmp apart/pet.basis.npz farmed_apart/pet.basis.npz && cmp apart/Stop.abc farmed_apart/Stop.abc; echo $?)" "$status $(cat err)"
check "fit and modes were arrays of two" "$(ls farmed_apart/.farm/slurm/log | grep -c '^[0-9]*\.1$' | awk '{ print !($1 >= 4) }')" "$(ls farmed_apart/.farm/slurm/log)"

rm farmed/*.sim.npz farmed/*.abc
run "$BIN/supple" farm-job slurm farmed --submit
check "submitted and left alone" "$([ $status = 0 ] && grep -q 'submitted as [0-9]' err && [ -n "$(squeue -h)" ]; echo $?)" "$status $(cat err)"
scancel -u root
run "$BIN/supple" farm-job slurm farmed
check "where jobs were cancelled the status is 75" "$([ $status = 75 ] || [ $status = 0 ]; echo $?)" "$status $(cat err)"

echo "1..$count"
