# shellcheck shell=sh
# What the scripts that stage share; they define `fail`.

# put MODE FROM TO: a copy that appears at once. A file that has these bytes already keeps its date.
put() {
    if cmp -s "$2" "$3" 2>/dev/null; then
        chmod "$1" "$3" || fail "cannot write $3"
        return
    fi
    cp "$2" "$3.new.$$" && chmod "$1" "$3.new.$$" && mv -f "$3.new.$$" "$3" || fail "cannot write $3"
}

# compile_all COMPILER FLAGS: compiles pairs of a source and its object, each ended by a zero, as many at once as there are cores.
compile_all() {
    xargs -0 -n 2 -P "$(nproc)" "$root/scripts/compile.sh" "$@" -- || fail "a file does not compile; see above"
}
