#!/bin/sh
# The crates that are inside Tern's library and programs, with their licenses and the texts of these. Prints Markdown.
#
#   scripts/notices.sh
#
# Fails if a crate names no license. Texts come from the crates as cargo has downloaded them.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

main() {
    crates >"$work/crates"
    [ -s "$work/crates" ] || fail "cargo tree lists no crates"
    nameless=$(awk -F '|' '$2 == "" { print $1 }' "$work/crates")
    [ -z "$nameless" ] || fail "no license is named by: $nameless"
    printf '# Notices\n\nTern contains the standard library of Rust (MIT OR Apache-2.0) and the following crates.\n\n'
    printf '| crate | license | source |\n|---|---|---|\n'
    sed 's/|/ | /g; s/^/| /; s/$/ |/' "$work/crates"
    texts
}

fail() {
    echo "notices.sh: $*" >&2
    exit 1
}

# Name and version, license, source: a line each. Tern's own crates and those that only run in the compiler are left out.
crates() {
    cd "$root" && "${CARGO:-cargo}" tree --quiet --locked -p tern-mpi -p tern-mpich -p tern-openmpi -p tern-mpirun -p tern-tools \
        --edges normal,no-proc-macro --prefix none --format '{p}|{l}|{r}' |
        sed -e '/^$/d' -e '/^tern-/d' -e 's/ (\*)$//' -e 's/ (proc-macro)//' -e 's/^\([^ ]*\) v/\1 /' | sort -u
}

# Each text once, with the crates that have it.
texts() {
    cut -d '|' -f 1 "$work/crates" | while read -r name version; do
        found=no
        for file in "$registry"/*/"$name-$version"/LICEN[SC]E* "$registry"/*/"$name-$version"/COPYING* \
            "$registry"/*/"$name-$version"/NOTICE*; do
            [ -f "$file" ] || continue
            found=yes
            sum=$(cksum <"$file" | tr ' ' -)
            cp "$file" "$work/text-$sum"
            echo "$name $version" >>"$work/who-$sum"
        done
        [ "$found" = yes ] || echo "$name $version" >>"$work/without"
    done
    for text in "$work"/text-*; do
        [ -f "$text" ] || fail "no crate has a text under $registry"
        printf '\n## %s\n\n' "$(sort -u "$work/who-${text##*/text-}" | paste -sd , | sed 's/,/, /g')"
        sed -e 's/^/    /' -e 's/[[:space:]]*$//' "$text"
    done
    if [ -f "$work/without" ]; then
        printf '\n## Without a text in the crate\n\n%s\n' "$(paste -sd , "$work/without" | sed 's/,/, /g')"
    fi
}

main
