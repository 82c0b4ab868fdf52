# SPDX-License-Identifier: Apache-2.0
"""Reads facts/*.toml. What the writers need beyond a value as it is written is a method here."""

import re
import tomllib
from dataclasses import dataclass, field

UPSTREAM = "upstream"


@dataclass
class Item:
    """One status, rule, constant, flag, dtype code, device type or function."""

    name: str
    number: int = 0  # of a bit its place
    since: str = ""
    doc: str = ""
    more: dict = field(default_factory=dict)

    def __getitem__(self, key):
        return self.more.get(key, "")


@dataclass
class Group:
    """One enumeration: its constants are DLBRIDGE_<name>_<constant>."""

    name: str
    members: list
    more: dict

    def __getitem__(self, key):
        return self.more.get(key, "")

    @property
    def prefix(self):
        return self.more.get("prefix", f"DLBRIDGE_{self.name}_")


@dataclass
class Facts:
    statuses: list
    rules: list
    groups: list
    dtypes: list
    devices: list
    flags: list
    functions: list
    dlpack: dict


def read(root):
    def table(name):
        with (root / f"facts/{name}.toml").open("rb") as file:
            return tomllib.load(file)

    dlpack = table("dlpack")
    return Facts(
        statuses=_items(table("statuses"), "number"),
        rules=_items(table("rules"), "number"),
        groups=[_group(name, value) for name, value in table("enums").items()],
        dtypes=_items(table("dtypes"), "code"),
        devices=_items(table("devices"), "code"),
        flags=_items(dlpack.pop("flags"), "bit"),
        functions=_items(table("functions"), ""),
        dlpack=dlpack,
    )


def _items(table, number, since=""):
    rest = {key: value for key, value in table.items() if isinstance(value, dict)}
    return [_item(name, dict(value), number, since) for name, value in rest.items()]


def _item(name, value, number, since):
    return Item(
        name,
        value.pop(number, 0),
        value.pop("since", since),
        value.pop("doc", ""),
        value,
    )


def _group(name, value):
    members = {key: item for key, item in value.items() if key.isupper()}
    bits = any("bit" in item for item in members.values())
    more = {key: item for key, item in value.items() if key not in members}
    items = _items(members, "bit" if bits else "value", more["since"])
    return Group(name, items, {**more, "bits": bits})


def version(text):
    """A DLPack release as one number that compares; None for what is in no release."""
    if text == UPSTREAM:
        return None
    major, minor = map(int, text.split("."))
    return major * 100 + minor


def problems(facts):
    """Complaints on facts that contradict each other."""
    yield from _consecutive("statuses", facts.statuses)
    yield from _consecutive("rules", facts.rules)
    yield from _consecutive("dtypes", facts.dtypes)
    statuses = {status.name for status in facts.statuses}
    for rule in facts.rules:
        if rule["status"] not in statuses:
            yield f"facts/rules.toml: {rule.name}: statuses.toml has no '{rule['status']}'"
        for key in ("text", *(("expected", "found", "source") if rule.number else ())):
            if not rule[key]:
                yield f"facts/rules.toml: {rule.name} has no {key}"
        if rule.number and rule["status"] != "OK" and not rule["remedy"]:
            yield f"facts/rules.toml: {rule.name} has no remedy"
    codes = [device.number for device in facts.devices]
    if codes != sorted(set(codes)):
        yield "facts/devices.toml: the codes are not in ascending order"
    for name in ("statuses", "rules", "dtypes", "devices", "functions"):
        for item in getattr(facts, name):
            if not item.since:
                yield f"facts/{name}.toml: {item.name} has no since"
            if not item.doc and name != "functions":
                yield f"facts/{name}.toml: {item.name} has no doc"
    for status in facts.statuses:
        if not status["text"]:
            yield f"facts/statuses.toml: {status.name} has no text"
    for group in facts.groups:
        for item in group.members:
            if not item.doc:
                yield f"facts/enums.toml: {group.name}.{item.name} has no doc"
    for item in (*facts.dtypes, *facts.devices):
        if not re.fullmatch(r"[a-z]\w*", item["name"]):
            yield f"facts: {item.name} has no name, or one that cannot be parsed"


def _consecutive(name, items):
    if [item.number for item in items] != list(range(len(items))):
        yield f"facts/{name}.toml: the numbers are not 0, 1, 2 ... in order"
