#!/bin/sh
# A real Slurm on this machine, for as long as a command runs.
#
#   tests/slurm/cluster.sh [-n NODES] [-c CPUS] COMMAND...
#
# It starts slurmctld, a munged and a slurmd for each node. All run in namespaces of their own (mounts, processes, network, names),
# which end with the command, so nothing of the machine changes. The nodes are n1, n2 and so on, each with its own network address.
# The command runs on the login node, `login`. Exit status 77 says that there is no Slurm here, or no right to make namespaces.
set -eu

nodes=2
cpus=4
slurmd=$(command -v slurmd || echo /usr/sbin/slurmd)
slurmctld=$(command -v slurmctld || echo /usr/sbin/slurmctld)
munged=$(command -v munged || echo /usr/sbin/munged)

main() {
    while getopts n:c: option; do
        case $option in
        n) nodes=$OPTARG ;;
        c) cpus=$OPTARG ;;
        *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    [ $# -ge 1 ] || usage
    check_machine
    unshare --mount --pid --fork --kill-child --mount-proc --net --uts --ipc \
        sh "$0" --inside "$nodes" "$cpus" "$@" &
    child=$!
    # With it ends all that it has started.
    trap 'kill -KILL "$child"' TERM INT HUP
    status=0
    wait "$child" || status=$?
    exit "$status"
}

usage() {
    echo "usage: tests/slurm/cluster.sh [-n NODES] [-c CPUS] COMMAND..." >&2
    exit 2
}

check_machine() {
    [ "$(id -u)" -eq 0 ] || skip "only root can make namespaces"
    for program in "$slurmd" "$slurmctld" "$munged"; do
        [ -x "$program" ] || skip "there is no $program: scripts/setup.sh installs Slurm"
    done
    unshare --mount --pid --fork --net --uts --ipc true 2>/dev/null || skip "namespaces cannot be made here"
}

skip() {
    echo "skipped: $*"
    exit 77
}

# --inside NODES CPUS COMMAND...: the first process of the namespaces. Its files are in memory that nobody else sees.
inside() {
    work=/mnt nodes=$1 cpus=$2
    shift 2
    mount -t tmpfs tmpfs "$work"
    hostname login
    make_network
    write_hosts
    write_configuration
    export SLURM_CONF="$work/slurm.conf"
    start_munge
    mkdir "$work/state"
    "$slurmctld" >"$work/slurmctld.out" 2>&1
    for node in $(seq "$nodes"); do
        start_node "$node"
    done
    wait_for_nodes
    status=0
    "$@" || status=$?
    [ "$status" -eq 0 ] || [ -z "${SLURM_TEST_LOGS:-}" ] || tail -n 40 "$work"/*.log >&2
    exit "$status"
}

# The login node has the bridge; each node has a cable to it.
make_network() {
    ip link set lo up
    ip link add cluster type bridge
    ip addr add 10.77.0.254/24 dev cluster
    ip link set cluster up
}

write_hosts() {
    {
        echo "127.0.0.1 localhost"
        echo "10.77.0.254 login"
        for node in $(seq "$nodes"); do
            echo "10.77.0.$node n$node"
        done
    } >"$work/hosts"
    mount --bind "$work/hosts" /etc/hosts
}

write_configuration() {
    cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=login(10.77.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
SlurmdParameters=config_overrides
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
SchedulerParameters=sched_min_interval=10000,batch_sched_delay=1,defer_batch
PriorityType=priority/basic
ReturnToService=2
KillWait=1
InactiveLimit=0
MaxStepCount=40000
LaunchParameters=enable_nss_slurm
$(for node in $(seq "$nodes"); do
        echo "NodeName=n$node NodeHostname=n$node NodeAddr=10.77.0.$node CPUs=$cpus State=UNKNOWN"
    done)
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    echo "PMIxCliTmpDirBase=$work/tmp" >"$work/mpi.conf"
    mkdir "$work/tmp"
}

start_munge() {
    (umask 077 && head -c 1024 /dev/urandom >"$work/munge.key")
    "$munged" --force --socket="$work/munge.socket" --key-file="$work/munge.key" --pid-file="$work/munged.pid" \
        --log-file="$work/munged.log" --seed-file="$work/munged.seed" >"$work/munged.out" 2>&1
}

# A slurmd in a network and under a name of its own, with a folder of its own for what its plugins leave.
start_node() {
    mkdir "$work/spool.n$1"
    mkfifo "$work/go.$1"
    unshare --mount --net --uts sh -c 'hostname "n$1"; mount -t tmpfs tmpfs "$2/tmp"; echo ready >"$2/at.$1"; read -r _ <"$2/go.$1"; ip link set lo up
        ip addr add "10.77.0.$1/24" dev eth0; ip link set eth0 up; exec "$3" -D -N "n$1" >"$2/slurmd.$1.out" 2>&1' \
        sh "$1" "$work" "$slurmd" &
    tries=0
    until [ -e "$work/at.$1" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 1000 ] || give_up
        sleep 0.02
    done
    ip link add "cable$1" type veth peer name eth0 netns "$!"
    ip link set "cable$1" master cluster up
    echo go >"$work/go.$1"
}

wait_for_nodes() {
    tries=0
    until [ "$(timeout 10 sinfo -h -N -o %T 2>/dev/null | grep -c -x idle)" -eq "$nodes" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || give_up
        sleep 0.1
    done
}

give_up() {
    tail -n 20 "$work"/*.log "$work"/*.out >&2
    echo "the nodes do not come up" >&2
    exit 1
}

if [ "${1:-}" = --inside ]; then
    shift
    inside "$@"
else
    main "$@"
fi
