# Read by tests: one node of Slurm of its own in this folder, as root and without systemd. slurm_start FOLDER [LINE...] sets SLURM_CONF for all that follows;
# LINEs go into slurm.conf. slurm_stop ends it. 1 where Slurm is not installed or does not come up.
slurm_start() {
    slurm_home=$1
    shift
    for each in slurmctld slurmd munged sbatch; do command -v $each >/dev/null 2>&1 || { slurm_why="$each is not installed"; return 1; }; done
    [ "$(id -u)" = 0 ] || { slurm_why='slurmd needs root'; return 1; }
    mkdir -p "$slurm_home/spool" "$slurm_home/state" && chmod 755 "$slurm_home" || return 1
    dd if=/dev/urandom of="$slurm_home/key" bs=128 count=1 2>/dev/null && chmod 400 "$slurm_home/key"
    slurm_port=$((20000 + $$ % 20000))
    SLURM_CONF=$slurm_home/slurm.conf
    export SLURM_CONF
    {
        echo "ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$slurm_port
SlurmdPort=$((slurm_port + 1))
SlurmUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$slurm_home/munge.socket,cred_expire=5
StateSaveLocation=$slurm_home/state
SlurmdSpoolDir=$slurm_home/spool
SlurmctldPidFile=$slurm_home/slurmctld.pid
SlurmdPidFile=$slurm_home/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=$slurm_home/completed
MpiDefault=none
ReturnToService=2
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=2,sched_min_interval=0,bf_interval=2,default_queue_depth=1000
KillWait=5
MinJobAge=600
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/MemTotal/ { print int($2 / 1024 * 0.9) }' /proc/meminfo) State=UNKNOWN
PartitionName=night Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        for each in "$@"; do echo "$each"; done
    } >"$SLURM_CONF"
    munged --force --foreground --key-file="$slurm_home/key" --socket="$slurm_home/munge.socket" --pid-file="$slurm_home/munged.pid" \
        --log-file="$slurm_home/munged.log" --seed-file="$slurm_home/munge.seed" --num-threads=2 >/dev/null 2>&1 &
    slurm_daemons=$!
    tries=0
    while [ ! -S "$slurm_home/munge.socket" ] && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
    slurmctld -D -f "$SLURM_CONF" >"$slurm_home/slurmctld.log" 2>&1 &
    slurm_daemons="$slurm_daemons $!"
    slurmd -D -f "$SLURM_CONF" >"$slurm_home/slurmd.log" 2>&1 &
    slurm_daemons="$slurm_daemons $!"
    tries=0
    until sinfo -h -o %T 2>/dev/null | grep -q idle; do
        [ $tries -lt 100 ] || { slurm_why="it does not come up: $(tail -n 2 "$slurm_home/slurmctld.log" "$slurm_home/slurmd.log" | tr '\n' ' ')"; slurm_stop; return 1; }
        sleep 0.2
        tries=$((tries + 1))
    done
}

slurm_stop() {
    for each in $(printf '%s\n' $slurm_daemons | tac); do kill "$each" 2>/dev/null; wait "$each" 2>/dev/null; done
    slurm_daemons=''
}
