# SPDX-License-Identifier: Apache-2.0
"""The process of one plan: `python -m matrix.worker PLAN OUTPUT`.

PLAN is JSON: producer, consumer and the steps, [case, mode] each. It writes a line to
OUTPUT before and after each step, so that the parent knows in which step it died.
"""

import gc
import os

from dlbridge.conformance import frameworks, handmade, processes

from . import cases, measure, proofs

MODES = {**measure.MODES, "proof": proofs.prove, "fact": proofs.fact}


def run(plan, record):
    parties = frameworks.load({plan["producer"], plan["consumer"]})
    producer, consumer = parties[plan["producer"]], parties[plan["consumer"]]
    versions = {name: party.version() for name, party in parties.items()}
    record({"versions": versions})
    for name, mode in plan["steps"]:
        record({"begin": [name, mode]})
        cell = MODES[mode](producer, consumer, cases.BY_NAME.get(name, name))
        record({"end": [name, mode], "cell": cell})


def main():
    processes.serve(run)
    gc.collect()
    if handmade.alive():
        # Their deleters are Python callbacks, which must not run after the end of the interpreter.
        os._exit(0)


if __name__ == "__main__":
    main()
