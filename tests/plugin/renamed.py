# SPDX-License-Identifier: Apache-2.0
"""Copies a shared library under another SONAME of the same length.

renamed.py LIBRARY SONAME COPY
"""

import pathlib
import sys


def main():
    library, soname, copy = sys.argv[1:]
    new = pathlib.Path(copy).name
    content = pathlib.Path(library).read_bytes()
    old, replacement = f"\0{soname}\0".encode(), f"\0{new}\0".encode()
    if old not in content or len(old) != len(replacement):
        print(f"{library} has no SONAME {soname}, or {new} is not as long")
        return 1
    pathlib.Path(copy).write_bytes(content.replace(old, replacement))
    return 0


if __name__ == "__main__":
    sys.exit(main())
