#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases.json. Expectations come from model.py or from the case; the wording of messages
is recorded from the library by the C runner:

    python3 tests/conformance/generate.py --runner build/dev/tests/conformance/runner_test

With --check nothing is written: the file must contain the same cases and expectations; messages are
not compared.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import cases_convert
import cases_describe
import cases_device
import cases_misuse
import cases_validate
import model
from corpus import Corpus

FILE = pathlib.Path(__file__).with_name("cases.json")
RECORD = (
    "`ninja -C build/dev runner_test && python3 tests/conformance/generate.py "
    "--runner build/dev/tests/conformance/runner_test`"
)


def build():
    corpus = Corpus()
    for part in (cases_validate, cases_describe, cases_convert, cases_misuse, cases_device):
        part.add(corpus)
    return {"schema": 2, "dlpack": list(model.NEWEST), "cases": corpus.cases}


def dump(document):
    """One line per case, so that a change of one case changes one line."""
    head = {key: value for key, value in document.items() if key != "cases"}
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in document["cases"])
    return json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}\n"


def without_messages(document):
    for case in document["cases"]:
        for step in case["steps"]:
            step["expect"].pop("message", None)
            for finding in step["expect"].get("findings", []):
                finding.pop("expected", None)
                finding.pop("found", None)
    return document


def record(document, runner):
    """Lets the runner fill in the library's messages."""
    FILE.write_text(dump(document))
    filled = FILE.with_suffix(".recorded")
    subprocess.run([runner], env={**os.environ, "DLBRIDGE_RECORD": str(filled)}, check=False)
    recorded = json.loads(filled.read_text())
    filled.unlink()
    FILE.write_text(dump(recorded))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runner", help="the C runner, to record messages")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    document = build()
    if arguments.check:
        same = without_messages(json.loads(FILE.read_text())) == json.loads(dump(document))
        print("cases.json is", "as generated" if same else f"NOT as generated; run {RECORD}")
        return 0 if same else 1
    if not arguments.runner:
        parser.error(f"--check, or {RECORD}")
    record(document, arguments.runner)
    print(len(document["cases"]), "cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
