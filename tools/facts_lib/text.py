# SPDX-License-Identifier: Apache-2.0
"""Generated regions in hand-written files, and the wrapping of comments.

A region is between a line that contains "[facts/FILE.toml NAME]" (with a NAME if the file gives
several regions) and the next line that contains "[/facts]". Both lines are written by hand.
"""

import re
import textwrap


class Problem(Exception):
    """An error that must be fixed by hand before any file can be written."""


def regions(text):
    """The marks of all regions of a text."""
    return re.findall(r"\[(facts/\w+\.toml(?: \w+)?)\]", text)


def replace(text, mark, body, path):
    """The text with another body in the region of `mark`."""
    begin = text.find(f"[{mark}]")
    if begin < 0:
        raise Problem(f"{path}: no line with [{mark}]")
    start = text.index("\n", begin) + 1
    end = text.find("[/facts]", start)
    if end < 0:
        raise Problem(f"{path}: no line with [/facts] after [{mark}]")
    end = text.rindex("\n", 0, end) + 1
    return text[:start] + body + text[end:]


def first_difference(old, new):
    """The number of the first line that differs, and what differs."""
    lines = new.splitlines()
    for number, line in enumerate(old.splitlines(), 1):
        if number > len(lines) or line != lines[number - 1]:
            wanted = lines[number - 1].strip() if number <= len(lines) else "nothing"
            return number, f"has '{line.strip()[:60]}', the facts give '{wanted[:60]}'"
    return len(old.splitlines()) + 1, "ends, the facts give more"


def sources(old, line):
    """The facts that give a line, by its region or by the first line of a generated file."""
    before = "\n".join(old.splitlines()[:line])
    begin, end = before.rfind("[facts/"), before.rfind("[/facts]")
    if begin > end:
        return f"facts/{before[begin:].partition(']')[0].removeprefix('[facts/')}"
    head = re.search(r"enerated from (facts.*?) by tools/facts.py", old)
    return head[1] if head else "facts/functions.toml or dlbridge.h"


def wrap(text, width):
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def c_comment(text, indent="  ", width=103, begin="/** "):
    """A comment of C before an item."""
    if len(indent + begin + text) + 3 <= width + 2:
        return [f"{indent}{begin}{text} */"]
    lines = wrap(text, width - len(indent) - 3)
    # The opening of the comment precedes the first line, its end follows the last one.
    first = [f"{indent}{begin}{lines[0]}"]
    middle = [f"{indent} * {line}" for line in lines[1:]]
    both = first + middle
    if len(both[-1]) + 3 > width + 2:
        head, _, tail = both[-1].rpartition(" ")
        both[-1:] = [head, f"{indent} * {tail}"]
    both[-1] += " */"
    return both


def line_comment(text, prefix, width=100):
    """A comment of lines that each begin with a prefix."""
    return [prefix + line for line in wrap(text, width - len(prefix))]
