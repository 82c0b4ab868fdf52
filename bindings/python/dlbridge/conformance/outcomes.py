# SPDX-License-Identifier: Apache-2.0
"""The outcome of one check."""

from __future__ import annotations

import dataclasses
from typing import Any

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
# The child process ended without an outcome of this check.
UNSTARTED = "unstarted"


@dataclasses.dataclass
class Outcome:
    """`quirk` is the row of the file of known deviations that names the check."""

    name: str
    status: str
    expected: str = ""
    found: str = ""
    severity: str = ""
    reproducer: str = ""
    reason: str = ""
    seconds: float = 0.0
    quirk: dict[str, str] | None = None
    # The pattern of the adapter's `unsupported` that hides the check.
    pattern: str = ""

    @property
    def good(self) -> bool:
        """Whether the run may be green: passed, skipped, or a failure that is listed as a quirk. A
        quirk that no longer occurs is to be removed from the list."""
        if self.status == FAILED:
            return self.quirk is not None
        return self.status == SKIPPED or (self.status == PASSED and self.quirk is None)

    def data(self) -> dict[str, Any]:
        return {name: value for name, value in dataclasses.asdict(self).items() if value}


class Failure(Exception):
    """Raised by a check that fails. `severity` replaces the one of the list."""

    def __init__(self, expected: str, found: str, severity: str = "") -> None:
        super().__init__(expected, found, severity)
        self.expected, self.found, self.severity = expected, found, severity

    def __str__(self) -> str:
        return f"expected {self.expected}, found {self.found}"


class Skip(Exception):
    """The check does not apply, for the given reason."""


class Declared(Skip):
    """The adapter declares what the check needs unsupported, by this pattern."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f"declared unsupported: {pattern}")
        self.pattern = pattern
