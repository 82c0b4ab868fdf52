# SPDX-License-Identifier: Apache-2.0
"""Reads facts/*.toml into objects. Values that are derived from the text are methods here."""

from dataclasses import dataclass, field

import tomllib

UPSTREAM = "upstream"


@dataclass
class Item:
    """One status, rule, constant, flag, dtype code, device type or function."""

    name: str
    number: int = 0  # the number of the bit for option bits and flags
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

    def group(self, name):
        return next(group for group in self.groups if group.name == name)


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
    return [_item(name, dict(value), number, since) for name, value in table.items()]


def _item(name, more, number, since):
    values = (more.pop(number, 0), more.pop("since", since), more.pop("doc", ""))
    return Item(name, *values, more)


def _group(name, value):
    members = {key: item for key, item in value.items() if key.isupper()}
    bits = any("bit" in item for item in members.values())
    more = {key: item for key, item in value.items() if key not in members}
    items = _items(members, "bit" if bits else "value", more["since"])
    return Group(name, items, {**more, "bits": bits})


def version(text):
    """A DLPack release as one number that can be compared; None for "upstream"."""
    if text == UPSTREAM:
        return None
    major, minor = map(int, text.split("."))
    return major * 100 + minor


# The fields that each item must have, by the file that describes it.
NEEDED = {
    "statuses": ("doc", "text", "fix"),
    "rules": ("doc", "text", "status"),
    "dtypes": ("doc", "name"),
    "devices": ("doc", "name", "data", "readable"),
    "functions": ("purpose",),
    "flags": ("doc",),
}


def problems(facts):
    """Complaints on facts that are missing or contradict each other."""
    for name, keys in NEEDED.items():
        for item in getattr(facts, name):
            yield from _incomplete(f"facts/{name}.toml", item, ("since", *keys))
    for group in facts.groups:
        for item in group.members:
            yield from _incomplete(f"facts/enums.toml: {group.name}", item, ("since", "doc"))
    for name in ("statuses", "rules", "dtypes"):
        yield from _consecutive(name, getattr(facts, name))
    for name in ("dtypes", "devices"):
        yield from _unreleased(name, getattr(facts, name), facts.dlpack["newest"])
    codes = [device.number for device in facts.devices]
    if codes != sorted(set(codes)):
        yield "facts/devices.toml: the codes are not in ascending order"
    yield from _rejections(facts)


def _incomplete(where, item, keys):
    for key in keys:
        if not (getattr(item, key, "") or item[key]):
            yield f"{where}: {item.name} has no {key}"


def _unreleased(name, items, newest):
    for item in items:
        if item.since != UPSTREAM and version(item.since) > version(newest):
            yield (
                f"facts/{name}.toml: {item.name}: since {item.since}, but the newest release of "
                f"dlpack.toml is {newest}; write since = '{UPSTREAM}'"
            )


def _rejections(facts):
    for status in facts.statuses[1:]:
        yield from _incomplete("facts/statuses.toml", status, ("python",))
    statuses = {status.name for status in facts.statuses}
    for rule in facts.rules[1:]:
        keys = ("expected", "found", "source", "why", "fix")
        yield from _incomplete("facts/rules.toml", rule, keys)
        if rule["status"] not in statuses:
            yield f"facts/rules.toml: {rule.name}: statuses.toml has no '{rule['status']}'"
        if rule["status"] != "OK" and not rule["remedy"]:
            yield f"facts/rules.toml: {rule.name} rejects and has no remedy"


def _consecutive(name, items):
    if [item.number for item in items] != list(range(len(items))):
        yield f"facts/{name}.toml: the numbers are not 0, 1, 2 ... in order"
