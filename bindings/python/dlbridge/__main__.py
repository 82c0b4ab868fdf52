# SPDX-License-Identifier: Apache-2.0
"""`python -m dlbridge COMMAND`."""

import sys

USAGE = """usage: python -m dlbridge COMMAND ...

  doctor   shows the library, the drivers, the frameworks found, and how each pair exchanges

`python -m dlbridge COMMAND --help` shows the options."""


def main(argv: list[str]) -> int:
    command, rest = (argv[0], argv[1:]) if argv else ("", [])
    if command == "doctor":
        from ._doctor import main as doctor

        return doctor(rest)
    asked = command in ("-h", "--help")
    print(USAGE, file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
