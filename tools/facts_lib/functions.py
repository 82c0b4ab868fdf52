# SPDX-License-Identifier: Apache-2.0
"""The functions that dlbridge.h declares, read by libclang, compared with functions.toml."""

import re
import sys

import tomllib

FACTS = "facts/functions.toml"
HEADER = "include/dlbridge/dlbridge.h"


def declarations(root, text=None):
    """The result, parameters and comment of each function; None without libclang. `text` is the
    text of the header if it differs from the file."""
    sys.path.insert(0, str(root / "tests/abi"))
    try:
        import api
    except ImportError:
        return None
    return api.declarations(root / HEADER, text)


def unknown(root):
    """Complaints on functions of the header without a fact, and on facts without a function."""
    found = declarations(root)
    if found is None:
        return
    known = _known(root)
    for name in found:
        if name not in known:
            yield f"{FACTS} lacks {name} of {HEADER}: tools/facts.py write appends it"
    for name in known:
        if name not in found:
            yield f"{FACTS} has {name}, which {HEADER} does not declare"


def _known(root):
    return [f"dlbridge_{name}" for name in tomllib.loads((root / FACTS).read_text())]


def append_new(root):
    """Appends the functions of the header that the facts lack, in the order of the header. The
    function table only grows at its end, so that this is also the order of the table."""
    found = declarations(root)
    if found is None:
        return
    known = _known(root)
    new = [name for name in found if name not in known]
    with (root / FACTS).open("a") as file:
        for name in new:
            file.write(_entry(name.removeprefix("dlbridge_"), found[name]["comment"]))
            print(f"{FACTS}: appended {name}")


def _entry(name, comment):
    words = " ".join(re.sub(r"^\s*(/\*\*|\*/?)|\*/$", "", line) for line in comment.splitlines())
    since = re.search(r"\\since (\d+\.\d+\.\d+)", words)
    purpose = words.partition("\\since")[0].strip().partition(". ")[0].rstrip(".").strip()
    purpose = re.sub(r"\s+", " ", purpose).replace('"', "'")
    purpose = purpose[:1].lower() + purpose[1:]
    return f'\n[{name}]\nsince = "{since[1] if since else ""}"\npurpose = "{purpose}"\n'
