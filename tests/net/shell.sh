#!/bin/sh
# A shell among the hosts of a test network (see testnet.sh).
echo "The hosts are $MPI_HOSTS. Start a job on them with"
echo
echo '    mpirun --launcher "$MPI_LAUNCHER" --host "$MPI_HOSTS" -ppn 2 ./program'
echo
echo "They are gone when this shell ends."
exec "${SHELL:-sh}"
