#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the size of the stripped library. Arguments: the strip tool, the library, the limit."""

import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    strip, library, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "library"
        subprocess.run([strip, "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"{library}: expected at most {limit} bytes when stripped, found {size}")
    return 0 if size <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
