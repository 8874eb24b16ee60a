#!/bin/sh
# Builds the manual (docs/) as a book with mdBook, which it compiles once.
# usage: scripts/docs.sh BUILD-FOLDER
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: scripts/docs.sh BUILD-FOLDER}
version=0.5.4
mdbook=$build/mdbook/bin/mdbook

if [ "$("$mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    echo "docs.sh: compiling mdBook $version, some minutes the first time"
    "${CARGO:-cargo}" install --quiet --locked --root "$build/mdbook" \
        --no-default-features --features search mdbook --version "$version"
fi
"$mdbook" build "$root/docs" --dest-dir "$build/docs"
echo "docs.sh: $build/docs/index.html"
