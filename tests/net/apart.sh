#!/bin/sh
# A launcher for mpirun as here.sh, but host b has a folder of its own, APART, where others have theirs: what they write there it does not see.
# It is empty; with APART_FILE there is an empty file of that name. Needs the right to mount; without it the code is 77.
#
#   APART=/tmp/folder mpirun --launcher tests/net/apart.sh --host a:2,b:2 ./program
host=$1
shift
[ "$host" = b ] || exec sh -c "$*"
exec unshare --mount --uts sh -c '
    hostname b && mount -t tmpfs none "$APART" || exit 77
    [ -z "$APART_FILE" ] || : >"$APART/$APART_FILE"
    exec sh -c "$1"' - "$*"
