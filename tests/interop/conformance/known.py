# SPDX-License-Identifier: Apache-2.0
"""The files of known deviations in quirks/ and gpu/quirks/, one for each library with a failure on
record.

python known.py write    adds a row for each failure that no row names, removes rows without one
python known.py check    fails if a file does not name exactly the failures on record

A new row has what was found and the text that demands otherwise. A better reason or link that a
person writes into it stays.
"""

import fnmatch
import json
import pathlib
import re
import sys

import tomllib
from bugs import listed
from gpu_page import read as read_gpu
from page import RECORD
from rows import CHECKS, LISTS

HERE = pathlib.Path(__file__).resolve().parent
# Title in the record -> name of the framework or adapter.
NAMES = {
    "PyTorch": "torch",
    "ONNX Runtime": "onnxruntime",
    "tvm-ffi": "tvm_ffi",
    "cuda.core": "cuda_core",
}
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Known deviations of {title} {version}, for --quirks and --dlpack-quirks. Rows of broken tensors
# (hostile-*) are tensors that no right producer makes: the text binds the producer, and does not
# oblige a consumer to check it.
"""
GPU_HEAD = """# SPDX-License-Identifier: Apache-2.0
# Known deviations of {title} {version} on an NVIDIA GPU, for --quirks and --dlpack-quirks.
"""


def name_of(title):
    return NAMES.get(title, title.lower())


def recorded():
    """The reports on record, with the folder and the first lines of their files."""
    for report in json.loads(RECORD.read_text(encoding="utf-8")):
        yield report, HERE / "quirks", HEAD
    for report in read_gpu()["libraries"]:
        yield report, HERE / "gpu/quirks", GPU_HEAD


def sources():
    """Check -> the text that demands it, and its address."""
    hostile = json.loads((LISTS / "hostile.json").read_text(encoding="utf-8"))
    rows = [*CHECKS["check"], *hostile]
    return {row["name"]: CHECKS["sources"][row["source"]] for row in rows}


def titles():
    """Check -> the rule in words."""
    hostile = json.loads((LISTS / "hostile.json").read_text(encoding="utf-8"))
    broken = {row["name"]: f"a tensor that breaks {row['rule']}" for row in hostile}
    return {row["name"]: row["title"] for row in CHECKS["check"]} | broken


def failures(report):
    return {row["name"]: row for row in report["checks"] if row["status"] == "failed"}


def read(file):
    if not file.exists():
        return []
    return tomllib.loads(file.read_text(encoding="utf-8"))["quirk"]


def pattern(name, failed):
    """One pattern for the legacy and the versioned form of a broken tensor."""
    base = re.sub("-(legacy|versioned)$", "", name)
    forms = [one for one in failed if re.fullmatch(f"{re.escape(base)}-(legacy|versioned)", one)]
    return f"{base}-*" if len(forms) == 2 else name


def made(report, name, failed):
    """The row of a failure."""
    source, row = sources()[name], failed[name]
    found = re.sub(r"\s+", " ", row["found"])[:160].replace("\\", "/").replace('"', "'")
    link = next(
        (
            bug["link"]
            for bug in listed()
            if (bug["library"], bug["check"], "packages" in bug) == (report["title"], name, False)
        ),
        source["url"],
    )
    reason = f"{titles()[name]}: found {found}; {source['text']}".replace('"', "'")
    return {"check": pattern(name, failed), "reason": reason, "link": link}


def rows_of(report, file):
    failed = failures(report)
    rows = [row for row in read(file) if fnmatch.filter(failed, row["check"])]
    for name in failed:
        if not any(fnmatch.fnmatch(name, row["check"]) for row in rows):
            rows.append(made(report, name, failed))
    return rows


def text_of(report, file, head):
    """The file, or None for a library without a failure."""
    if not failures(report):
        return None
    parts = [head.format(title=report["title"], version=report["version"])]
    for row in rows_of(report, file):
        lines = (f'{key} = "{row[key]}"' for key in ("check", "reason", "link"))
        parts.append("\n".join(["[[quirk]]", *lines]) + "\n")
    return "\n".join(parts)


def main(argv):
    if argv not in (["write"], ["check"]):
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for report, folder, head in recorded():
        file = folder / f"{name_of(report['title'])}.toml"
        text = text_of(report, file, head)
        if argv == ["write"]:
            file.unlink(missing_ok=True)
            if text:
                file.write_text(text, encoding="utf-8")
        elif text != (file.read_text(encoding="utf-8") if file.exists() else None):
            print(f"{file} does not name the failures on record; run known.py write")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
