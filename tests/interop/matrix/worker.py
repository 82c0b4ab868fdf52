# SPDX-License-Identifier: Apache-2.0
"""The process of one plan: `python -m matrix.worker PLAN OUTPUT`.

PLAN is JSON: producer, consumer and the steps, [case, mode] each. It writes a line to
OUTPUT before and after each step, so that the parent knows in which step it died.
"""

import faulthandler
import gc
import json
import os
import sys
import warnings

from dlbridge.conformance import frameworks, handmade

from . import cases, measure, proofs

MODES = {**measure.MODES, "proof": proofs.prove, "fact": proofs.fact}


def run(plan, output):
    parties = frameworks.load({plan["producer"], plan["consumer"]})
    producer, consumer = parties[plan["producer"]], parties[plan["consumer"]]
    versions = {name: party.version() for name, party in parties.items()}
    _write(output, {"versions": versions})
    for name, mode in plan["steps"]:
        _write(output, {"begin": [name, mode]})
        cell = MODES[mode](producer, consumer, cases.BY_NAME.get(name, name))
        _write(output, {"end": [name, mode], "cell": cell})


def _write(output, record):
    output.write(json.dumps(record) + "\n")
    output.flush()


def main():
    faulthandler.enable()
    warnings.simplefilter("ignore")
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    with open(sys.argv[2], "w") as output:
        run(plan, output)
    gc.collect()
    if handmade.alive():
        # Their deleters are Python callbacks, which must not run after the end of the interpreter.
        os._exit(0)


if __name__ == "__main__":
    main()
