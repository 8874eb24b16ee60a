#!/bin/sh
# A launcher for mpirun whose hosts are all this machine: it gives the command to a shell, as ssh does on the other side.
# Ranks of different hosts share no memory, so they use the network.
#
#   mpirun --launcher tests/net/here.sh --host a:2,b:2 ./program
shift
exec sh -c "$*"
