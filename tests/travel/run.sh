#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tensors between processes, by engines that exist: multiprocessing, Dask, Ray and MPI. One line per
# check, `passed`, `FAILED` or `skipped`, as those of bindings/*/check.sh.
#
# run.sh SCRATCH            builds the package and the environment (CPython 3.11), runs all of it
# run.sh SCRATCH --bench    measures instead, against pickles of the frameworks' own arrays
#
# DLBRIDGE_PYTHONPATH: a package that is built already. DLBRIDGE_TRAVEL_EXTRA: a folder of packages to
# measure too, such as one with torch.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
logs=$(cd "$1" && pwd)
scratch=$root/build/bindings/python # of environment.sh
status=0
# shellcheck source=bindings/python/environment.sh
. "$root/bindings/python/environment.sh"

failed() {
  printf 'FAILED travel: %s\n' "$1"
  tail -n 60 "$2"
  exit 1
}

prepare() {
  local interpreter log=$logs/prepare.log package=${DLBRIDGE_PYTHONPATH-}
  interpreter=$(find_python 11) || {
    echo 'skipped travel: there is no CPython 3.11'
    exit 0
  }
  environment=$root/build/travel-venv
  need_environment "$environment" "$interpreter" "$here/requirements.txt" >"$log" 2>&1 ||
    failed 'the environment is installed' "$log"
  if [ -z "$package" ]; then
    package=$("$root/bindings/python/check.sh" --develop 11 2>"$log") ||
      failed 'the package is built' "$log"
    package=${package#PYTHONPATH=}
  fi
  export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
  python=$environment/bin/python
}

# program NAME COMMAND...: its lines; all that it said where it fails.
program() {
  local log=$logs/$1.log code=0
  timeout --kill-after=10 80 "${@:2}" >"$log" 2>&1 || code=$?
  if [ "$code" -eq 0 ]; then
    grep -E '^(passed|skipped) travel: ' "$log"
  else
    cat "$log"
    printf 'FAILED travel: %s ended with %d\n' "$1" "$code"
    status=1
  fi
}

# Open MPI as it runs in a container, on one machine, for whoever is there.
mpirun=(env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=sh
  OMPI_MCA_btl='self,vader' OMPI_MCA_btl_vader_single_copy_mechanism=none
  mpirun -n 2 --oversubscribe)

prepare
if [ "${2-}" = --bench ]; then
  "$python" "$here/measure.py"
  ! command -v mpirun >/dev/null || "${mpirun[@]}" "$python" "$here/measure_mpi.py"
  exit
fi
program shared-memory "$python" "$here/shared_memory_travel.py"
program dask "$python" "$here/dask_travel.py"
program ray "$python" "$here/ray_travel.py"
if command -v mpirun >/dev/null; then
  program mpi "${mpirun[@]}" "$python" "$here/mpi_travel.py"
else
  echo 'skipped travel: mpi: there is no mpirun (openmpi-bin, libopenmpi-dev)'
fi
exit $status
