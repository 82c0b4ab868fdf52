#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [PYTHON]: what an exchange costs beside its peers, with those frameworks that the
# environment of PYTHON (a CPython 3.11; build/interop-venv, which `./run interop` makes, else
# build/venv) has; then instructions, by callgrind. All output is below build/bindings/python.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$root/build/bindings/python/bench
# shellcheck source=bindings/python/environment.sh
. "$here/environment.sh"

python=${1:-$root/build/interop-venv/bin/python}
[ -x "$python" ] || python=$root/build/venv/bin/python
mkdir -p "$scratch"
scratch=$root/build/bindings/python
build_tree 11 "$(find_python 11)" "$scratch/bench" -DCMAKE_BUILD_TYPE=Release \
  >"$scratch/bench.log" 2>&1 || {
  tail -n 40 "$scratch/bench.log" >&2
  exit 1
}
package=$scratch/bench/package
gcc -O2 -Wall -Wextra -shared -fPIC -I"$root/include" \
  -I"$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
  "$here/bench/exchange_loops.c" -o "$scratch/bench/exchange_loops.so" \
  -L"$package/dlbridge/lib" -l:libdlbridge.so.1 -Wl,-rpath,"$package/dlbridge/lib"
PYTHONPATH=$package:$scratch/bench "$python" -B "$here/bench/exchange.py"
