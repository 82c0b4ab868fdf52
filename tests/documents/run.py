# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documents as a user would, from a clean clone.

run.py list                  the documents, with the commands that are not run
run.py run CLONE [PAGE...]   runs these pages against the clone CLONE, or those that are not left to
                             the night, or all with --all
run.py example PREFIX PAGE   runs examples/NAME/README.md in a copy of its folder, with the dlbridge
                             that is installed in PREFIX
run.py selftest              shows that faults are found

The fences of a page with the language `sh` run in their order, in one shell and one empty folder.
Comments before a fence, which no reader sees:

  <!-- file: NAME -->       the fence is the content of a file
  <!-- prints -->           the fence is what the commands before it print; `...` is any text
  <!-- not run: REASON -->  the fence is not run, and why

and for a page:

  <!-- continues: PAGE -->  it starts with the environment that PAGE has left
  <!-- needs: PROGRAM... -->   it is skipped without these
  <!-- nightly: REASON -->     it is not run for each commit

DLBRIDGE is the folder of the clone.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/documents"
PAGES = (
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/start/*.md",
    "docs/guides/*.md", "docs/concepts/*.md", "bindings/*/README.md", "bindings/rust/*/README.md",
    "abi/README.md",
)  # fmt: skip
INSTALL = "docs/start/install.md"
COMMENT = re.compile(
    r"<!-- (file|prints|not run|continues|needs|nightly)(?::\s*(.*?))?\s*-->", re.DOTALL
)


class Fault(Exception):
    """A page that cannot be run, or a command that did not do what the page says."""


@dataclass
class Page:
    name: str
    continues: str = ""
    needs: list = field(default_factory=list)
    nightly: str = ""
    steps: list = field(default_factory=list)  # pairs of a kind and a value
    left_out: list = field(default_factory=list)  # reasons

    @property
    def commands(self):
        return sum(kind == "sh" for kind, _ in self.steps)


def read(name, text):
    """The steps of a page."""
    page = Page(name)
    given = None
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "html_block":
            for word, value in COMMENT.findall(token.content):
                value = " ".join(value.split())
                if word == "continues":
                    page.continues = f"docs/{value}"
                elif word == "needs":
                    page.needs = value.split()
                elif word == "nightly":
                    if not value:
                        raise Fault(f"{name}:{token.map[0] + 1}: expected a reason")
                    page.nightly = value
                else:
                    given = (word, value, token.map[0] + 1)
        elif token.type == "fence":
            _fence(page, token, given)
            given = None
    if given is not None:
        raise Fault(f"{name}:{given[2]}: no fence follows")
    return page


def _fence(page, token, given):
    language = token.info.split(" ")[0]
    word, value = given[:2] if given else ("", "")
    if word == "file":
        page.steps.append(("file", (value, token.content)))
    elif word == "prints":
        page.steps.append(("prints", token.content))
    elif word == "not run":
        if not value:
            raise Fault(f"{page.name}:{token.map[0]}: expected a reason")
        page.left_out.append(value)
    elif language in ("sh", "bash", "shell", "console"):
        page.steps.append(("sh", token.content))


def pages():
    """All pages, those first that others continue."""
    found = {}
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            name = str(path.relative_to(ROOT))
            found[name] = read(name, path.read_text())
    return dict(sorted(found.items(), key=lambda item: depth(item[1], found)))


def depth(page, found):
    if not page.continues:
        return 0
    if page.continues not in found:
        raise Fault(f"{page.name}: no page is called {page.continues}")
    return 1 + depth(found[page.continues], found)


def missing(page):
    """What the page needs and the machine does not have."""
    return [word for word in page.needs if shutil.which(word) is None]


def expected(text, output):
    pattern = ".*".join(re.escape(part) for part in text.strip().split("..."))
    return re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


class Runner:
    """Runs pages, each in a folder of its own."""

    def __init__(self, clone, work):
        self.work = work
        self.environment = {"DLBRIDGE": str(clone), "LC_ALL": "C", "TERM": "dumb"}
        self.clone = clone
        self.failed = set()

    def state(self, name):
        return self.work / (re.sub(r"\W+", "-", name) + ".environment")

    def run(self, page, files=None):
        """Runs a page in an empty folder, or in a copy of the folder `files`."""
        if page.continues in self.failed:
            raise Fault(f"{page.continues}, which it continues, has failed")
        folder = self.work / re.sub(r"\W+", "-", page.name)
        shutil.rmtree(folder, ignore_errors=True)
        if files is None:
            folder.mkdir(parents=True)
        else:
            shutil.copytree(files, folder)
        before = self.state(page.continues).read_text() if page.continues else ""
        before = before.rpartition("\ncd ")[0] + "\n"  # a page begins in its own folder
        printed = ""
        state = self.state(page.name)
        state.write_text(before)
        for kind, value in page.steps:
            if kind == "file":
                path = folder / value[0]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(value[1])
            elif kind == "sh":
                printed = self.shell(page, folder, state, value)
            elif not expected(value, printed):
                raise Fault(f"expected\n{value}found\n{printed}")

    def shell(self, page, folder, state, script):
        """Runs a fence in the environment and folder that the one before it has left."""
        whole = f"set -eu\ncd {folder}\n. {state}\nset -x\n{script}\n{{ set +x; }} 2>/dev/null\n"
        # Variables and the working folder pass on; the shell's own do not.
        whole += f"{{ export -p; echo \"cd '$(pwd -P)'\"; }} >{state}\n"
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        trace = folder.parent / "trace"
        with trace.open("w") as file:
            done = subprocess.run(
                ["bash", "-c", whole], env={**kept, **self.environment}, cwd=folder, text=True,
                stdout=subprocess.PIPE, stderr=file, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        if done.returncode != 0:
            tail = "\n".join((done.stdout + trace.read_text()).splitlines()[-40:])
            raise Fault(f"exit status {done.returncode}: {script}{tail}")
        return done.stdout


# Of the caller's environment: where programs and caches are, and nothing that leads to a library.
KEPT = (
    "PATH", "HOME", "USER", "CARGO_HOME", "RUSTUP_HOME", "GOPATH", "GOMODCACHE", "GOCACHE",
    "GOROOT", "GOPROXY", "GOFLAGS", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "CCACHE_DIR",
    "CCACHE_BASEDIR", "CCACHE_NOHASHDIR", "CCACHE_MAXSIZE", "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE",
    "PYENV_ROOT", "PYENV_VERSION", "CARGO_TARGET_DIR",
)  # fmt: skip


def attempt(runner, page, files=None):
    """Runs a page that has all that it needs, and reports the result."""
    lacks = missing(page)
    if lacks:
        print(f"skipped {page.name}: not installed: {', '.join(lacks)}", flush=True)
        return
    try:
        runner.run(page, files)
        print(f"passed {page.name}: {page.commands} fences", flush=True)
    except Fault as fault:
        runner.failed.add(page.name)
        print(f"FAILED {page.name}\n{fault}", flush=True)


def example(prefix, name):
    """Runs the page of an example; an installed library replaces the page on how to install."""
    runner = Runner(ROOT, ROOT / "build/examples")
    runner.work.mkdir(parents=True, exist_ok=True)
    variables = {"PREFIX": prefix, "PKG_CONFIG_PATH": prefix / "lib/pkgconfig"}
    exports = "".join(f"export {word}='{value}'\n" for word, value in variables.items())
    runner.state(INSTALL).write_text(f"{exports}cd /\n")
    path = ROOT / name
    attempt(runner, read(name, path.read_text()), path.parent)
    return 1 if runner.failed else 0


def run(clone, chosen, every):
    found = pages()
    chosen = chosen or [name for name, page in found.items() if every or not page.nightly]
    wanted = [name for name in found if name in chosen]
    for name in list(wanted):  # a page that is continued runs first
        while found[name].continues:
            name = found[name].continues
            if name not in wanted:
                wanted.append(name)
    runner = Runner(clone, WORK / "pages")
    shutil.rmtree(WORK / "pages", ignore_errors=True)
    for name, page in found.items():
        if name not in wanted or not page.commands:
            continue
        attempt(runner, page)
    return 1 if runner.failed else 0


def listing():
    for name, page in pages().items():
        if page.commands or page.left_out:
            when = f" at night: {page.nightly}" if page.nightly else ""
            print(f"{name}: {page.commands} fences are run{when}")
            for reason in page.left_out:
                print(f"  not run: {reason}")
    return 0


FAULTS = (
    ("a command that fails", "```sh\nfalse\n```\n"),
    ("a command that fails, in a pipe's end", "```sh\ntrue | grep nothing\n```\n"),
    ("another output", "```sh\necho one\n```\n\n<!-- prints -->\n\n```text\ntwo\n```\n"),
    ("less output", "```sh\necho one\n```\n\n<!-- prints -->\n\n```text\none...two\n```\n"),
    ("no reason", "<!-- not run: -->\n\n```sh\ntrue\n```\n"),
    ("no reason for the night", "<!-- nightly: -->\n\n```sh\ntrue\n```\n"),
    ("a comment without a fence", "<!-- file: x -->\n"),
    ("a file that is missing", "```sh\ncat x\n```\n"),
)
GOOD = (
    "<!-- file: a/x -->\n\n```c\nint x;\n```\n\n```sh\nexport WORD=there\ncd a\n```\n\n"
    "```sh\ncat x\necho $WORD\n```\n\n<!-- prints -->\n\n```text\nint ...;\nthere\n```\n"
)


def found_fault(text):
    with tempfile.TemporaryDirectory() as folder:
        try:
            Runner(Path(folder), Path(folder) / "work").run(read("page.md", text))
        except Fault:
            return True
    return False


def selftest():
    bad = [name for name, text in FAULTS if not found_fault(text)]
    for name in bad:
        print(f"FAILED not found: {name}")
    if found_fault(GOOD):
        bad.append("good")
        print("FAILED a correct page is rejected")
    print(f"{len(FAULTS) + 1} cases, {len(bad)} failed")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=("list", "run", "example", "selftest"))
    parser.add_argument("clone", type=Path, nargs="?", metavar="folder")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if options.task == "run":
        return run(options.clone.resolve(), options.pages, options.all)
    if options.task == "example":
        return example(options.clone.resolve(), options.pages[0])
    return {"list": listing, "selftest": selftest}[options.task]()


if __name__ == "__main__":
    sys.exit(main())
