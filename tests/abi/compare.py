# SPDX-License-Identifier: Apache-2.0
"""Compares the API of a recorded version with today's, item by item. Additions are allowed, and so
are new fields at the end of a growable struct; everything else is a difference, which names the
item. A few kinds of difference can be accepted by a line in abi/reviewed.txt."""

import hashlib
import json
import re
from collections import namedtuple

import rules

Difference = namedtuple("Difference", "item text now reviewable")
VERSIONS = re.compile(r"DLBRIDGE_VERSION_\w+")


def differences(old, new):
    """Every difference between two values of api.json that the ABI does not allow."""
    for header, was in old["headers"].items():
        now = new["headers"].get(header)
        if now is None:
            yield Difference(header, "the header is gone", None, False)
            continue
        for kind in ("functions", "inlines", "structs", "constants", "types", "macros"):
            for name, item in was[kind].items():
                yield from _item(f"{header}:{kind}:{name}", kind, item, now[kind].get(name), old)
        for text in sorted(set(was["inactive"]) - set(now["inactive"])):
            item = f"{header}:inactive:{digest(text)}"
            yield Difference(item, f"changed: {text[:300]}", digest(now["inactive"]), True)
    yield from _defaults(old.get("defaults", {}), new.get("defaults", {}), old, new)
    yield from _cpp(old.get("c++", {}), new.get("c++", {}))


def _essence(item):
    """An item without the spelling of its type, if that is an alias of another type."""
    if not isinstance(item, dict) or "canonical" not in item:
        return item
    return {key: value for key, value in item.items() if key != "type"}


def _item(item, kind, was, now, old):
    name = item.rpartition(":")[2]
    if _essence(was) == _essence(now) or VERSIONS.fullmatch(name):
        return
    if now is None:
        yield Difference(item, "is gone", None, kind == "inlines" and name.endswith("_"))
    elif kind == "structs":
        yield from _struct(item, was, now)
    elif kind == "macros":
        yield from _macro(item, was, now, name in old.get("defaults", {}))
    elif not (kind == "inlines" and name in old.get("defaults", {})):
        # Parameters may get better names; the text of inline functions may be corrected.
        reviewable = kind == "inlines" or (kind == "functions" and _same_but_names(was, now))
        yield Difference(item, _keys(was, now), now, reviewable)


def _same_but_names(was, now):
    return was["canonical"] == now["canonical"] and was["attributes"] == now["attributes"]


def _keys(was, now):
    changed = [key for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
    return "; ".join(f"{key} was {was.get(key)}, is {now.get(key)}" for key in changed)


def _struct(item, was, now):
    name = item.rpartition(":")[2]
    may_grow = rules.grows(name, was)
    if was["align"] != now["align"]:
        yield Difference(item, f"its alignment was {was['align']}, is {now['align']}", now, False)
    if was["size"] != now["size"] and not (may_grow and now["size"] > was["size"]):
        yield Difference(item, f"its size was {was['size']}, is {now['size']}", now, False)
    pairs = zip(was["fields"], now["fields"][: len(was["fields"])])
    for place, (one, other) in enumerate(pairs):
        if _essence(one) != _essence(other):
            text = f"field {place}, {one['name']}: {_keys(one, other)}"
            yield Difference(f"{item}.{one['name']}", text, other, _gets_a_meaning(one, other))
    for field in was["fields"][len(now["fields"]) :]:
        yield Difference(f"{item}.{field['name']}", "is gone", None, False)
    for field in now["fields"][len(was["fields"]) :]:
        if not may_grow:
            yield Difference(item, f"cannot grow by {field['name']}", now, False)
        elif field["offset"] < was["size"]:
            yield Difference(item, f"{field['name']} lies in former padding", now, False)


def _gets_a_meaning(one, other):
    """A reserved field of a fixed-size struct got a name, and kept its offset and size."""
    same = all(one[key] == other[key] for key in ("offset", "size"))
    return same and one["name"].startswith("reserved")


def _macro(item, was, now, has_bytes):
    evaluated = all("value" in one and len(one["text"]) == 1 for one in (was, now))
    if evaluated and (was["value"], was["type"]) == (now["value"], now["type"]):
        return
    if has_bytes:
        return
    # The initialiser of a struct that has grown has more values at its end.
    start = was["text"][0].rstrip(" }")
    grown = len(was["text"]) == len(now["text"]) == 1 and now["text"][0].startswith(start)
    if item.endswith("_INIT") and grown:
        return
    yield Difference(item, _keys(was, now), now, False)


def _defaults(was, now, old, new):
    """Bytes of initialisers; those of new fields must be zero, as for an older caller."""
    for name, one in was.items():
        other = now.get(name)
        if other is None or other["struct"] != one["struct"]:
            yield Difference(f"default:{name}", "is gone", None, False)
            continue
        before, after = bytes.fromhex(one["bytes"]), bytes.fromhex(other["bytes"])
        # struct_size comes first and contains the size.
        start = 4 if _begins_with_size(one["struct"], old) else 0
        if before[start:] != after[start : len(before)]:
            text = f"its bytes were {one['bytes']}, are {other['bytes']}"
            yield Difference(f"default:{name}", text, other, False)
        if any(after[len(before) :]):
            text = f"its new fields are not zero: {other['bytes'][len(one['bytes']) :]}"
            yield Difference(f"default:{name}", text, other, False)


def _begins_with_size(struct, api):
    fields = api["headers"]["dlbridge.h"]["structs"][struct]["fields"]
    return fields[0]["name"] == "struct_size"


def _cpp(was, now):
    for name, declarations in was.items():
        for text in declarations:
            if text not in now.get(name, ()):
                item = f"c++:{name}:{digest(text)}"
                here = "; ".join(now.get(name, ())) or "nothing"
                yield Difference(item, f"was {text}, there is {here}", now.get(name), True)


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


# ---- Reviewed differences -----------------------------------------------------------------------


class Reviewed:
    """Lines `<version> <item> <digest of today's value>  # reason`. A line that accepts nothing is
    a complaint, and so is a difference without a line."""

    def __init__(self, path):
        lines = path.read_text().splitlines() if path.is_file() else []
        words = (line.split("#")[0].split() for line in lines)
        self.lines = {tuple(line) for line in words if line}
        self.used = set()

    def accepts(self, *line):
        self.used |= {line} & self.lines
        return line in self.lines

    def unused(self, kinds, versions):
        """Lines for items of these kinds that accept nothing, or whose version is not recorded."""
        for line in sorted(self.lines - self.used):
            if line[0] not in versions or re.match(kinds, line[1]):
                yield f"reviewed.txt: '{' '.join(line)}' accepts nothing"

    def complaints(self, version, found):
        for one in found:
            line = (version, one.item, digest(one.now))
            if one.reviewable and self.accepts(*line):
                continue
            remedy = f" (to accept it: '{' '.join(line)}')" if one.reviewable else ""
            yield f"{version}: {one.item}: {one.text}{remedy}"
