# SPDX-License-Identifier: Apache-2.0
"""Checks the wheel for another system.

foreign_checks.py SYSTEM WHEEL PYTHON ZIG   PYTHON: the folder of the system's CPython. The exit
                                            status is 1 if a check fails.
"""

import pathlib
import re
import sys
import tempfile
import zipfile

from foreign_runs import tool
from systems import SYSTEMS


def check_libraries(package, system):
    """The extensions and the library need only libraries that every such system has."""
    extensions = (package / f"{name}{system.suffix}" for name in ("_core", "_describe"))
    for file in (*extensions, package / system.library):
        needed = re.findall(r"^  (\S+)$", tool("llvm-readobj", "--needed-libs", file), re.M)
        wrong = [name for name in needed if not re.fullmatch(system.needed, name, re.I)]
        if not needed or wrong:
            yield f"{file.name} needs {wrong or 'no library'}"


def main(name, wheel, python, zig):
    system = SYSTEMS[name]
    with tempfile.TemporaryDirectory(dir=pathlib.Path(wheel).parent) as place:
        folder = pathlib.Path(place)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        complaints = list(check_libraries(folder / "dlbridge", system))
        complaints += system.check(folder, pathlib.Path(python), zig)
    for complaint in complaints:
        print(f"FAILED {name}: {complaint}")
    print(f"{pathlib.Path(wheel).name}: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
