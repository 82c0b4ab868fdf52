#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [OPTION...]: all reports on the programs of a build folder; options go to report.py and
# through it to the benchmark program. DLBRIDGE_TORCH_PYTHON is a Python that has PyTorch, for copies to
# be measured beside its.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly build=$1
shift
python3 -B bench/report.py --binary "$build/bench/core_bench" "$@"
echo
python3 -B bench/instructions.py --binary "$build/bench/core_instructions"
echo
python3 -B bench/copy_report.py --binary "$build/bench/copy_bench" \
  --numpy-python build/venv/bin/python --torch-python "${DLBRIDGE_TORCH_PYTHON:-}"
echo
python3 -B bench/device_report.py --folder "$build/bench"
