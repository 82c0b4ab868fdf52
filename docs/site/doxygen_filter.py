# SPDX-License-Identifier: Apache-2.0
"""Doxygen's input filter for the public headers: prints a header as Doxygen expects it.

The headers are written for readers: the first comment describes the file, and banners of dashes
divide it into sections. Here the comment becomes the documentation of the file, without which
Doxygen documents no function of it, and each banner of dlbridge.h becomes a group.
"""

import re
import sys
from pathlib import Path

FIRST = re.compile(r"\A/\*\n \* SPDX-License-Identifier: Apache-2\.0\n \*(.*?)\*/", re.DOTALL)
# As FIRST, for a header whose first lines are `//` comments.
FIRST_LINES = re.compile(r"\A// SPDX-License-Identifier: Apache-2\.0\n((?://.*\n)*)")
BANNER = re.compile(r"/\* -{20,}\n \* ([^\n]*)\n(.*?) \* -{20,} \*/", re.DOTALL)


# Declarations of C++ that Doxygen 1.9.4 takes for definitions, and warns about.
CONFUSING = re.compile(
    r"^ *friend detail::maker;$|^inline constexpr bool std::ranges::\w+<.*> = true;$", re.MULTILINE
)


def slug(title):
    return re.sub(r"\W+", "_", title.partition(":")[0].lower()).strip("_")


def described(name, text):
    """Turns the first comment into the file's documentation."""
    text = FIRST.sub(lambda m: f"/** \\file {name}\n *\n *{m[1]}*/", text, count=1)
    lines = FIRST_LINES.match(text)
    if lines:
        comment = lines[1].replace("//", "///")
        text = f"/// \\file {name}\n{comment}{text[lines.end() :]}"
    return text


def grouped(text):
    """Turns the banners of dashes into groups."""
    first = True

    def group(match):
        nonlocal first
        end = "" if first else "/** @} */ "
        first = False
        title, rest = match[1], match[2]
        return f"{end}/** \\defgroup {slug(title)} {title}\n{rest} *\n * @{{ */"

    text = BANNER.sub(group, text)
    return text if first else f"{text}/** @}} */\n"


def filtered(path):
    text = described(path.name, path.read_text())
    if path.name == "dlbridge.h":
        text = grouped(text)
    # The marks of generated regions are for tools/facts.py.
    text = re.sub(r"^/\* \[/?facts.*\] \*/$", "", text, flags=re.MULTILINE)
    return CONFUSING.sub("", text)


def sections(path):
    """Pairs of the group's name and title, in the order of the header."""
    return [(slug(match[1]), match[1]) for match in BANNER.finditer(path.read_text())]


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1])))
