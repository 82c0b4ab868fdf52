# SPDX-License-Identifier: Apache-2.0
"""CHANGELOG.md by versions, and Debian's changelog, which repeats its versions and dates."""

import datetime
import email.utils
import re
from dataclasses import dataclass

MAINTAINER = "dlbridge maintainers <maintainers@dlbridge.invalid>"
UNRELEASED = "(unreleased)"


@dataclass
class Section:
    """state: what follows the version, such as `, 2026-12-01`; text: what is below the heading."""

    version: str
    state: str
    text: str

    @property
    def date(self):
        """The day of the release, such as 2026-12-01; None before it."""
        found = re.fullmatch(r", (\d{4}-\d\d-\d\d)", self.state)
        return found and found[1]

    @property
    def unreleased(self):
        return self.state == f" {UNRELEASED}"


def sections(text):
    """The versions, the newest first."""
    parts = re.split(r"^## (\d+\.\d+\.\d+)(.*)\n", text, flags=re.MULTILINE)[1:]
    rows = zip(parts[::3], parts[1::3], parts[2::3])
    return [Section(version, state, body.strip() + "\n") for version, state, body in rows]


def debian(text, time=None):
    """debian/changelog. Until the newest version has a date, its entry is UNRELEASED and has the
    time of the version before it; `time`, in seconds, makes it a complete one."""
    entries, before = [], datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    for one in reversed(sections(text)):
        if one.date:
            before = datetime.datetime.fromisoformat(f"{one.date}T12:00:00+00:00")
        elif one.unreleased and time is not None:
            before = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
        elif not one.unreleased:
            continue
        suite = "unstable" if one.date or time is not None else "UNRELEASED"
        entries.insert(
            0,
            f"dlbridge ({one.version}-1) {suite}; urgency=medium\n\n"
            "  * New upstream release.\n\n"
            f" -- {MAINTAINER}  {email.utils.format_datetime(before)}\n",
        )
    return "\n".join(entries)
