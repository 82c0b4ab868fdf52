# SPDX-License-Identifier: Apache-2.0
"""The files of a release archive: those of contents.txt, whose last line stands for the pages and
pictures of docs/."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = "share/doc/dlbridge/docs/**"
# The first parts of the files of the command-line tool, the component `tools`.
TOOL = ("bin/", "share/bash-completion/", "share/fish/", "share/man/", "share/zsh/")


def expected(abi, version):
    names = (ROOT / "packaging/contents.txt").read_text().format(abi=abi, version=version).split()
    names.remove(PAGES)
    docs = ROOT / "docs"
    for path in docs.rglob("*"):
        inside = path.relative_to(docs)
        if path.suffix in (".md", ".svg") and inside.parts[0] != "site":
            names.append(f"share/doc/dlbridge/docs/{inside}")
    return names
