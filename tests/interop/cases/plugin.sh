#!/bin/sh
# A plugin that is linked with Tern, for its own ABI or another, is loaded, used and unloaded; what uses it then ends well.
. "$(dirname "$0")/../common.sh"
run "${CC:-cc}" -Wall -Wextra -Werror -o "$WORK/plugins" "$here/plugins.c" -ldl -lpthread
run "$mpicc" -Wall -Wextra -Werror -shared -fPIC -o "$WORK/standard.so" "$here/plugin.c"
for abi in mpich openmpi; do
    run "${CC:-cc}" -Wall -Wextra -Werror -shared -fPIC -o "$WORK/$abi.so" -I"$here/../../compat/$abi/include" "$here/plugin.c" \
        -L"$TERN_PREFIX/lib/$abi" -lmpi -Wl,-rpath,"$TERN_PREFIX/lib/$abi"
done
for plugin in standard mpich openmpi; do
    for way in thread two; do
        run "$mpirun" -n 2 "$WORK/plugins" "$way" "$WORK/$plugin.so"
        expect_lines 2 '^ok'
    done
done
