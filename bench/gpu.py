# SPDX-License-Identifier: Apache-2.0
"""The times of tests/gpu on a GPU: the record gpu.json, and its section of docs/performance.md.

gpu.py record RESULTS    from results.jsonl of the bundle
"""

import json
import pathlib
import sys
import textwrap

RECORD = pathlib.Path(__file__).with_name("gpu.json")
LIBRARIES = {"torch": "PyTorch", "cupy-cuda13x": "CuPy", "jax": "JAX"}
BESIDE = "beside the driver: "
COLUMNS = f"{'':<44}{'other':>11}{'dlbridge':>11}   ratio"


def one(lines, module, check):
    """What a check measured."""
    return next(
        line["measured"] for line in lines if (line["module"], line["check"]) == (module, check)
    )


def rows_of(lines):
    """(beside what, title, figures) of each comparison."""
    for line in lines:
        if line["module"] != "timings" or line["result"] != "passed":
            continue
        if line["check"].startswith(BESIDE):
            yield "driver", line["check"].removeprefix(BESIDE), line["measured"]
        elif line["check"].startswith("beside "):
            for title, figures in line["measured"].items():
                yield line["check"].removeprefix("beside "), title, figures


def record(path):
    lines = [json.loads(text) for text in pathlib.Path(path).read_text().splitlines()]
    versions = one(lines, "backend_info", "machine")
    found = {
        "gpu": one(lines, "backend_info", "device 0")["name"],
        "driver": one(lines, "backend_info", "driver")["driver_version"],
        "date": next(line["measured"]["date"] for line in lines if line["measured"].get("date")),
        "versions": {title: versions[name] for name, title in LIBRARIES.items()},
        "rows": list(rows_of(lines)),
    }
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def table(rows):
    for beside, title, figures in rows:
        name = title if beside == "driver" else f"{beside}: {title}"
        lowest, highest = figures["ratio_lowest"], figures["ratio_highest"]
        yield (
            f"{name:<44}{figures['other_ns']:>11,.0f}{figures['dlbridge_ns']:>11,.0f}"
            f"{figures['ratio']:>8.2f}  ({lowest:.2f} to {highest:.2f})"
        )


def section():
    """The lines of the section."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    yield "## On a GPU"
    yield ""
    text = (
        "`./run gpu` measures both sides in turn (`tests/gpu/timings.c`, `check_timings.py`): "
        "nanoseconds of a call, and the median, lowest and highest ratio of 15 rounds. The other "
        "side of the first table makes the driver's calls by hand; for `release_after` and "
        "`copy_async` it also records an event of a ring and asks for the oldest. In the second "
        "table it is the library's own exchange; beside an import of PyTorch's tensor it is "
        f"`to_dlpack`, which only exports it. {found['gpu']}, CUDA driver {found['driver']}, "
        f"{versions}, {found['date']}."
    )
    yield textwrap.fill(text, 104)
    yield ""
    yield "```text"
    yield COLUMNS
    yield from table([row for row in found["rows"] if row[0] == "driver"])
    yield ""
    yield from table([row for row in found["rows"] if row[0] != "driver"])
    yield "```"


def main(argv):
    if len(argv) != 2 or argv[0] != "record":
        print(__doc__, file=sys.stderr)
        return 2
    record(argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
