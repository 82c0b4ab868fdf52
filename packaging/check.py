# SPDX-License-Identifier: Apache-2.0
"""Holds what is released to its rules: one line per check, exit status 1 where one fails.

check.py archive FILE MACHINE FOLDER   an archive; it is unpacked into FOLDER
check.py windows FILE                  dlbridge.dll
check.py macos FILE                    libdlbridge.dylib
"""

import pathlib
import sys

import archive_checks
import foreign_checks


def functions():
    symbols = archive_checks.library_checks.read_symbols(archive_checks.ROOT / "abi/symbols.txt")
    return {symbol.split("@@")[0] for symbol in symbols}


def report(label, results):
    """results: pairs of a check's name and its complaints."""
    failed = 0
    for name, complaints in results:
        print(f"{'FAILED' if complaints else 'passed'} {label}: {name}", flush=True)
        for complaint in complaints:
            print(f"  {complaint}")
        failed += bool(complaints)
    return 1 if failed else 0


def main():
    kind, file, *rest = sys.argv[1:]
    path = pathlib.Path(file).resolve()
    if kind == "archive":
        machine, folder = rest
        archive = archive_checks.unpack(path, machine, pathlib.Path(folder))
        checks = archive_checks.CHECKS.items()
        results = [(name, check(archive)) for name, check in checks]
        results.append(("debug information", archive_checks.check_debug(archive)))
        results.append(("conformance kit", archive_checks.check_kit(archive)))
        return report(machine, results)
    checks = foreign_checks.CHECKS[kind].items()
    return report(kind, ((name, check(path, functions())) for name, check in checks))


if __name__ == "__main__":
    sys.exit(main())
