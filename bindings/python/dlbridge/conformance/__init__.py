# SPDX-License-Identifier: Apache-2.0
"""Checks whether a library's producer and consumer of DLPack keep to the specification.

    pytest --dlpack-producer mylib.asarray --dlpack-consumer mylib.from_dlpack
    pytest --dlpack-adapter adapter.py
    dlpack-conformance --framework numpy --html report.html

Install it with `pip install dlbridge[conformance]`. Each check is a row of checks.toml, which names
the paragraph of the specification that demands it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapters import Adapter, Request, Unsupported
    from .catalogue import Check, checks
    from .engine import Report, run
    from .outcomes import Outcome

__all__ = ["Adapter", "Check", "Outcome", "Report", "Request", "Unsupported", "checks", "run"]
# Loaded at first use: every run of pytest imports the plugin.
_LAZY = {
    **dict.fromkeys(("Adapter", "Request", "Unsupported"), "adapters"),
    **dict.fromkeys(("Check", "checks"), "catalogue"),
    **dict.fromkeys(("Report", "run"), "engine"),
    "Outcome": "outcomes",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
