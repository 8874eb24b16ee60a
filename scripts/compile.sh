#!/bin/sh
# Compiles one file of C or C++, or takes the object that the same text and the same flags have given before.
#
#   scripts/compile.sh COMPILER [FLAGS] -- SOURCE OBJECT
#
# Staging takes as long as these files do, and they change seldom. Objects are kept in the folder of builds, by what the compiler was
# given: its name and version, the flags, and the text after the preprocessor. So no date and no path counts.
set -eu

cc=$1
shift
flags=
while [ "$1" != -- ]; do
    # Folders of headers are in the text; a blank in one is kept by the lines.
    flags="$flags$1
"
    shift
done
source=$2
object=$3
kept=${CARGO_TARGET_DIR:-$(cd "$(dirname "$0")/.." && pwd)/target}/objects

# compile WORDS: with the flags, one a line.
compile() (
    words=$(printf '%s' "$flags")
    IFS='
'
    set -f
    # shellcheck disable=SC2086
    set -- $words "$@"
    unset IFS
    # The compiler may be several words.
    # shellcheck disable=SC2086
    $cc "$@"
)

text=$(mktemp)
trap 'rm -f "$text"' EXIT
# shellcheck disable=SC2086
{
    $cc --version
    printf '%s\n' "$cc" "$flags" | grep -v '^-I'
    compile -E -P "$source"
} >"$text"
name=$(sha256sum <"$text" | cut -d ' ' -f 1)
if [ ! -f "$kept/$name.o" ]; then
    mkdir -p "$kept"
    compile -c "$source" -o "$kept/$name.$$" || {
        echo "compile.sh: $source does not compile" >&2
        rm -f "$kept/$name.$$"
        exit 1
    }
    mv -f "$kept/$name.$$" "$kept/$name.o"
fi
cp "$kept/$name.o" "$object"
