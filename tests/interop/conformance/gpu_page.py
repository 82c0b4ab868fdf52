# SPDX-License-Identifier: Apache-2.0
"""The record of a run of tests/gpu, gpu.json, and its section in docs/conformance.md."""

import json
import pathlib
import sys

from rows import KEPT, array, escaped, failure_rows, outcome

RECORD = pathlib.Path(__file__).resolve().parent / "gpu.json"
# The reason that a skipped check has where the library rejects an export.
REJECTED = "not exported: "
HEAD = """\
## Streams on a GPU

`./run gpu` runs the checks of CUDA's streams on each of these libraries that is installed
([On a GPU](building.md#on-a-gpu)). A kernel holds the producer's work back until the check lets it
run, so a missing synchronisation gives wrong values every time. Without a GPU, a right and a wrong
library on a fake driver test the checks (`bindings/python/tests/test_conformance_streams.py`).

dlbridge and tvm-ffi import arrays of CuPy. cuda.core is checked as a consumer only. A check is not
applicable if the library or its adapter lacks what the check needs, or if the library rejects the
export.

{gpu}, CUDA driver {driver}, {date}:
"""


def read():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def machine(lines):
    """The GPU and the driver of a run."""
    found = {line["check"]: line["measured"] for line in lines if line["module"] == "backend_info"}
    if not {"driver", "device 0"} <= set(found):
        sys.exit("expected the module backend_info in the same run; run the whole of tests/gpu")
    return {"gpu": found["device 0"]["name"], "driver": found["driver"]["driver_version"]}


def report_of(line):
    """The report of a library in a line of the module `conformance`."""
    report = line["measured"]
    if not report.get("checks") or any(row["status"] == "unstarted" for row in report["checks"]):
        sys.exit(f"{line['check']}: the kit has no results: {line['reason']}")
    rows = [outcome(row, (*KEPT, "reason")) for row in report["checks"]]
    return {**{name: report[name] for name in ("title", "version", "date")}, "checks": rows}


def record(path):
    """Replaces the record of a GPU by the results of a run of tests/gpu."""
    lines = list(map(json.loads, pathlib.Path(path).read_text(encoding="utf-8").splitlines()))
    ran = [line for line in lines if line["module"] == "conformance" and line["check"] != "process"]
    found = [report_of(line) for line in ran if line["result"] != "skipped"]
    if not found:
        sys.exit(f"{path}: the module conformance has no results")
    head = json.dumps(machine(lines), ensure_ascii=False).removesuffix("}")
    libraries = array({one["title"]: one for one in found})
    RECORD.write_text(f'{head}, "libraries": {libraries}}}\n', encoding="utf-8")


def section():
    found = read()
    libraries = found["libraries"]
    date = max(one["date"] for one in libraries)
    yield HEAD.format(date=date, **found)
    yield from summary(libraries)
    yield from failures(libraries)
    yield from rejections(libraries)


def named(report, status):
    """The checks of a report that have a status."""
    return [row["name"] for row in report["checks"] if row["status"] == status]


def summary(libraries):
    yield "| library | version | passed | failed | not applicable |"
    yield "|---|---|---|---|---|"
    for one in libraries:
        failed = ", ".join(f"`{name}`" for name in named(one, "failed")) or "-"
        passed, skipped = (len(named(one, status)) for status in ("passed", "skipped"))
        yield f"| {one['title']} | {one['version']} | {passed} | {failed} | {skipped} |"
    yield ""


def failures(libraries):
    yield "| library | severity | check | expected | found |"
    yield "|---|---|---|---|---|"
    for one in libraries:
        failed = [row for row in one["checks"] if row["status"] == "failed"]
        yield from (f"| {one['title']} {row}" for row in failure_rows(failed))
    yield ""


def rejections(libraries):
    """Exports that a library rejects, so that the check does not apply."""
    found = [
        (one["title"], row["name"], row["reason"].removeprefix(REJECTED))
        for one in libraries
        for row in one["checks"]
        if row.get("reason", "").startswith(REJECTED)
    ]
    if not found:
        return
    yield "Exports that a library rejects:"
    yield ""
    yield "| library | check | exception |"
    yield "|---|---|---|"
    for title, name, text in found:
        yield f"| {title} | `{name}` | {escaped(text)} |"
    yield ""
