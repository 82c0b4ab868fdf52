#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD [OPTION...]: both reports on the programs of a build folder; options go to report.py
# and through it to the benchmark program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly build=$1
shift
python3 -B bench/report.py --binary "$build/bench/core_bench" "$@"
echo
python3 -B bench/instructions.py --binary "$build/bench/core_instructions"
