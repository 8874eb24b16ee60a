#!/bin/sh
# Several hosts on one machine: network namespaces, joined by a bridge in a namespace of its own, so that nothing outside
# them changes and no traffic leaves them. Needs root.
#
#   tests/net/testnet.sh up NET HOSTS [RATE]      makes the hosts NET-1 ... NET-HOSTS; RATE as for tc, such as 1gbit
#   tests/net/testnet.sh down NET                 removes them
#   tests/net/testnet.sh enter HOST COMMAND...    a launcher for mpirun: runs a command on a host, as ssh would
#   tests/net/testnet.sh cut HOST                 pulls its cable
#   tests/net/testnet.sh mend HOST                and puts it in again
#   tests/net/testnet.sh loss HOST PERCENT        loses so many of the packets that come to it, at random; 0 ends that
#   tests/net/testnet.sh lost HOST                says how many packets that were
#   tests/net/testnet.sh deaf HOST                loses all multicasts that come to it
#   tests/net/testnet.sh mute HOST                loses all datagrams that come to it
#   tests/net/testnet.sh reset HOST               resets all its connections to other hosts, and says how many
#   tests/net/testnet.sh only6 HOST               takes its IPv4 addresses away
#   tests/net/testnet.sh with HOSTS RATE COMMAND...
#                                                 all at once: makes a network, runs a command with MPI_HOSTS and
#                                                 MPI_LAUNCHER in its environment, and removes it. RATE 0 is unlimited.
#
# Host i has the addresses 10.83.0.i and fd83::i on eth0, and besides a bridge docker0 with 172.17.0.1 as all others have:
# an address that leads nowhere. Commands see the host's name as the machine's, and nothing resolves it.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")

fail() {
    echo "testnet.sh: $*" >&2
    exit 1
}

up() {
    net=$1 hosts=$2 rate=${3:-0}
    [ "$(id -u)" -eq 0 ] || fail "needs root to make network namespaces"
    [ "$hosts" -ge 1 ] && [ "$hosts" -le 250 ] || fail "from 1 to 250 hosts, not $hosts"
    ip netns add "$net-switch" || fail "cannot make network namespaces here"
    ip -n "$net-switch" link add bridge type bridge
    ip -n "$net-switch" link set bridge up
    for i in $(seq "$hosts"); do
        add_host "$net" "$i" "$rate"
    done
}

add_host() {
    host=$1-$2
    ip netns add "$host"
    ip -n "$1-switch" link add "port$2" type veth peer name eth0 netns "$host"
    ip -n "$1-switch" link set "port$2" master bridge up
    ip -n "$host" link set lo up
    ip -n "$host" address add "10.83.0.$2/24" dev eth0
    # Without the wait in which the kernel looks whether somebody else has the address.
    ip -n "$host" address add "fd83::$2/64" dev eth0 nodad
    ip -n "$host" link set eth0 up
    ip -n "$host" link add docker0 type bridge
    ip -n "$host" address add 172.17.0.1/16 dev docker0
    ip -n "$host" link set docker0 up
    if [ "$3" != 0 ]; then
        tc -n "$host" qdisc add dev eth0 root tbf rate "$3" burst 256kb latency 50ms
        tc -n "$1-switch" qdisc add dev "port$2" root tbf rate "$3" burst 256kb latency 50ms
    fi
}

# What still runs in a namespace keeps it alive, without a name; the harness looks for such processes by itself.
down() {
    for name in $(ip netns list | cut -d' ' -f1 | grep -E "^$1-(switch|[0-9]+)$"); do
        ip netns delete "$name"
    done
}

enter() {
    host=$1
    shift
    exec ip netns exec "$host" unshare --uts \
        sh -c 'echo "$0" >/proc/sys/kernel/hostname && exec sh -c "$1"' "$host" "$*"
}

loss() {
    command -v nft >/dev/null || fail "needs nft (package nftables) to lose packets"
    ip netns exec "$1" nft delete table netdev loss 2>/dev/null || true
    [ "$2" = 0 ] || ip netns exec "$1" nft -f - <<RULES
table netdev loss {
    counter dropped { }
    chain ingress {
        type filter hook ingress device eth0 priority 0;
        ether type != arp numgen random mod 1000 < $(($2 < 100 ? $2 * 10 : 999)) counter name dropped drop
    }
}
RULES
}

# Drops some of what comes to a host from others: HOST NAME RULES.
refuse() {
    command -v nft >/dev/null || fail "needs nft (package nftables) to lose packets"
    ip netns exec "$1" nft "table inet $2 { chain input { type filter hook input priority 0; $3; }; }"
}

deaf() {
    refuse "$1" deaf "iifname eth0 ip daddr 224.0.0.0/4 drop; iifname eth0 ip6 daddr ff00::/8 meta l4proto udp drop"
}

# A firewall that lets connections through, and nothing else.
mute() {
    refuse "$1" mute "iifname eth0 meta l4proto udp drop"
}

lost() {
    ip netns exec "$1" nft list counter netdev loss dropped | sed -n 's/.*packets \([0-9]*\) bytes.*/\1/p'
}

# An interface that goes down loses its IPv6 addresses.
mend() {
    ip -n "$1" link set eth0 up
    ip -n "$1" address add "fd83::${1##*-}/64" dev eth0 nodad 2>/dev/null || true
}

# The kernel aborts each connection as if its other end had done so, and tells the other end.
reset() {
    ip netns exec "$1" ss --kill --tcp --numeric --no-header state established \
        '( src 10.83.0.0/24 or src fd83::/64 )' | wc -l
}

names() {
    seq -s, -f "$1-%.0f" "$2"
}

with() {
    net=tern$$ hosts=$1 rate=$2
    shift 2
    trap 'down "$net"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    up "$net" "$hosts" "$rate"
    MPI_HOSTS=$(names "$net" "$hosts")
    MPI_LAUNCHER="$self enter"
    # MPICH's launcher tells its hosts this interface's address, and not the name of the machine.
    HYDRA_IFACE=eth0
    export MPI_HOSTS MPI_LAUNCHER HYDRA_IFACE
    "$@"
}

[ $# -ge 2 ] || fail "see the head of this file for what can be asked"
command=$1
shift
case $command in
up | down | enter | with | loss | lost | deaf | mute | reset) "$command" "$@" ;;
cut) ip -n "$1" link set eth0 down ;;
mend) mend "$1" ;;
only6) ip -n "$1" -4 address flush dev eth0 && ip -n "$1" link delete docker0 ;;
*) fail "there is no command '$command'" ;;
esac
