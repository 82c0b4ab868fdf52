# SPDX-License-Identifier: Apache-2.0
"""`python -m dlbridge COMMAND`."""

import sys

USAGE = """usage: python -m dlbridge COMMAND ...

  doctor   the library, the drivers, the frameworks found, and what each pair will do
  matrix   measures the pairs that are installed, and prints or writes the table

`python -m dlbridge COMMAND --help` says more."""


def main(argv: list[str]) -> int:
    command, rest = (argv[0], argv[1:]) if argv else ("", [])
    if command == "doctor":
        from ._doctor import main as doctor

        return doctor(rest)
    if command == "matrix":
        from ._matrix import main as matrix

        return matrix(rest)
    asked = command in ("-h", "--help")
    print(USAGE, file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
