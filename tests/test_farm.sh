#!/bin/sh
# supple farm-job: a bake as job arrays of Slurm, disturbed on the way, writes what the bake on one machine writes; templates for OpenJD and OpenCue have the
# structure that these publish. DISTURB: how often a job is requeued or told to stop (4).
. "$(dirname "$0")/tap.sh"
. "$here/slurm_node.sh"
need_numpy "farms"

"$BIN/supple" creature --vertices 3000 -q -o pet.glb
small='--poses 2 --tets 800 --modes 6 --substeps 1 --format abc,obj'
seconds=600

# ---- templates ----
run "$BIN/supple" bake pet.glb -o local -q $small
check "the bake on one machine" "$status" "$(cat err)"
cp -R local made && rm local/*.abc local/*.obj local/*.sim.npz local/pet.basis.npz local/pet.model.npz && rm -rf local/stats/modes.*
run "$BIN/supple" farm-job openjd local -o job.json THREADS=2
check "an OpenJD template of what is not made" "$([ $status = 0 ] && "$python" "$here/farm_case.py" openjd job.json modes cubature sim export; echo $?)" "$status $(cat err) $("$python" "$here/farm_case.py" openjd job.json modes cubature sim export 2>&1)"
run "$BIN/supple" farm-job opencue local -o job.xml
check "an OpenCue job of the same" "$([ $status = 0 ] && "$python" "$here/farm_case.py" opencue job.xml modes cubature sim export; echo $?)" "$status $(cat err) $("$python" "$here/farm_case.py" opencue job.xml modes cubature sim export 2>&1)"
# What these templates run is run by hand, in their order: sh job ARRAY INDEX.
"$python" "$here/farm_case.py" commands job.json >commands
run sh -e commands
check "whose commands make it, the same bytes" "$([ $status = 0 ] && cmp local/Stop.abc made/Stop.abc && cmp local/pet.model.npz made/pet.model.npz; echo $?)" "$status $(cat err out)"
run "$BIN/supple" farm-job openjd local
check "nothing left to make: nothing written" "$([ $status = 0 ] && [ ! -s out ] && grep -q 'all is made' err; echo $?)" "$status $(cat err)"
mkdir empty
for each in 'slurm empty:3:empty/Makefile: cannot read' 'torque local:2:none of slurm' 'slurm:2:a folder is wanted' 'slurm local --threads 0:2:not a number above 0' 'slurm local --whatever:2:unknown option'; do
    words=${each%%:*} rest=${each#*:}
    run "$BIN/supple" farm-job $words
    check "supple farm-job $words" "$([ $status = "${rest%%:*}" ] && grep -q -e "${rest#*:}" err; echo $?)" "$status $(cat err)"
done
run "$BIN/supple" bake pet.glb -o x --farm lsf
check "--farm with a queue that is not known" "$([ $status = 2 ] && grep -q 'slurm' err; echo $?)" "$status $(cat err)"

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
        job=$(squeue -h -r -t R -o %i 2>/dev/null | awk -v seed=$((done * 17 + 3)) 'BEGIN { srand(seed) } { job[n++] = $1 } END { if (n) print job[int(n * rand())] }')
        [ -n "$job" ] || { sleep 0.05; continue; }
        case $((done % 3)) in
        0) scontrol requeue "$job" ;;
        1) scancel --full --signal=TERM "$job" ;;
        2) scancel --batch --signal=USR1 "$job" ;;
        esac 2>>disturbed.err && done=$((done + 1)) && echo "$job" >>disturbed
        sleep "${PAUSE:-0.2}"   # PAUSE: s between them
    done
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
    for file in made/*.npz made/*.abc made/*.obj; do cmp "$file" "farmed/${file#*/}" >>same.txt 2>&1 || { status=differs; break 2; }; done
done
touch undisturbed
wait $job
same() {   # FOLDER: what lies there is what the bake on one machine made
    for file in made/*.npz made/*.abc made/*.obj; do cmp "$file" "$1/${file#*/}" || return 1; done
}
check "a bake by Slurm, its jobs requeued and stopped $(grep -c . disturbed) times in $bakes bakes, has the same bytes" "$([ $status = 0 ] && same farmed >same.txt 2>&1; echo $?)" \
    "$status $(cat err same.txt) $(squeue)"
check "it says how far it is, and ends as a bake does" "$(grep -q '^supple-farm-job: \[[0-9]*/[0-9]*\]' err && grep -q 'supple-bake: farmed/Trot.abc' err && [ -s farmed/stats.json ]; echo $?)" "$(cat err)"
check "shots were arrays of two" "$(ls farmed/.farm/slurm/log | grep -c '^[0-9]*\.1$' | awk '{ print !($1 >= 2) }')" "$(ls farmed/.farm/slurm/log)"

sed 's/^SIM_FLAGS :=.*/& --substeps -5/' farmed/Makefile >bad.mk && mv bad.mk farmed/Makefile
run make -s -C farmed FARM=slurm
check "make FARM=slurm: a stage that fails is told with its status and what it said" "$([ $status != 0 ] && grep -q 'sim.npz: status 2' err && grep -q 'substeps' err; echo $?)" "$status $(cat err)"
rm -f farmed/*.sim.npz
sed -i 's/^\(SIM_FLAGS :=.*\) --substeps -5/\1/' farmed/Makefile
run make -s -C farmed FARM=slurm
check "and mended it goes on" "$([ $status = 0 ] && same farmed >same.txt 2>&1; echo $?)" "$status $(cat err same.txt)"

rm farmed/*.sim.npz farmed/*.abc
run "$BIN/supple" farm-job slurm farmed --submit
check "submitted and left alone" "$([ $status = 0 ] && grep -q 'submitted as [0-9]' err && [ -n "$(squeue -h)" ]; echo $?)" "$status $(cat err)"
scancel -u root
run "$BIN/supple" farm-job slurm farmed
check "where jobs were cancelled the status is 75" "$([ $status = 75 ] || [ $status = 0 ]; echo $?)" "$status $(cat err)"

echo "1..$count"
