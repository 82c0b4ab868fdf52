#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests on an NVIDIA GPU. The machine needs sh, python3 and a driver; nothing is installed or
# compiled. Frameworks that are not installed are skipped.
#
# sh run-gpu.sh [FOLDER [MODULE...]]    tests/gpu/runner.py describes the results in FOLDER
#
# DLBRIDGE_GPU_PYTHON names another Python than python3.
set -eu
case $0 in
  */*) here=$(cd "${0%/*}" && pwd) ;;
  *) here=$PWD ;;
esac
python=${DLBRIDGE_GPU_PYTHON:-python3}
command -v "$python" >/dev/null || {
  echo "run-gpu.sh: there is no $python; DLBRIDGE_GPU_PYTHON names another one" >&2
  exit 2
}
DLBRIDGE_LIBRARY=$here/lib/libdlbridge.so.1
PYTHONPATH=$here/bindings/python${PYTHONPATH:+:$PYTHONPATH}
DLBRIDGE_GPU_TIMINGS=$here/bin/timings
export DLBRIDGE_LIBRARY PYTHONPATH DLBRIDGE_GPU_TIMINGS
exec "$python" -B "$here/tests/gpu/runner.py" "$@"
