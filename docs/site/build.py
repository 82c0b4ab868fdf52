# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation in build/docs: Doxygen, rustdoc and gomarkdoc, then Sphinx.

build.py [--without rust,go,python]    leaves out references whose tools are missing

Prints `passed` or `FAILED` for each step.
"""

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check
import python_pages
import stage

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/docs"
HTML = BUILD / "html"
GOMARKDOC = "github.com/princjef/gomarkdoc"
GOMARKDOC_VERSION = "v1.1.0"

C_HEADERS = (
    "dlbridge",
    "dlpack",
    "cuda_api",
    "hip_api",
    "level_zero_api",
    "opencl_api",
    "onnxruntime_api",
)
DOXYGEN = {
    "c": {
        "INPUT": " ".join(f"include/dlbridge/{name}.h" for name in C_HEADERS),
        "OPTIMIZE_OUTPUT_FOR_C": "YES",
        # Else each struct has two declarations: its own, and that of its typedef.
        "TYPEDEF_HIDES_STRUCT": "YES",
        # Without __cplusplus, as a C compiler sees the headers.
        "PREDEFINED": "DLBRIDGE_API= DLPACK_DLL= NULL=0 ORT_API_CALL= ORT_API_VERSION=22",
    },
    "cpp": {
        "INPUT": "bindings/cpp/include/dlbridge/hpp",
        "FILE_PATTERNS": "*.hpp",
        "EXCLUDE": " ".join(
            f"bindings/cpp/include/dlbridge/hpp/{name}" for name in ("python", "abi.hpp")
        ),
        "EXCLUDE_SYMBOLS": "dlbridge::detail dlbridge::detail::* detail detail::*",
        # The values are those of a compiler of C++20 with exceptions. An inline namespace would be
        # a part of each name, and attributes confuse Doxygen's parser.
        "PREDEFINED": " ".join((
            "DLBRIDGE_HPP_BEGIN=\"namespace dlbridge {\"", "DLBRIDGE_HPP_END=}",
            "DLBRIDGE_HPP_BORROWS=", "DLBRIDGE_HPP_HD=", "DLBRIDGE_HPP_INLINE=inline",
            "DLBRIDGE_HPP_EXCEPTIONS=1", "DLBRIDGE_HPP_RANGES=1", "__cplusplus=202002L",
            "DLBRIDGE_POLICY_INIT={}", "DLBRIDGE_ALLOCATOR_INIT={}",
            "DLBRIDGE_ALLOCATE_SPEC_INIT={}", "DLBRIDGE_WRAP_SPEC_INIT={}",
            "DLBRIDGE_STORAGE_INIT={}", "DLBRIDGE_COPY_SPEC_INIT={}", "DLBRIDGE_VIEW_SPEC_INIT={}",
            "DLBRIDGE_CONVERT_OPTIONS_INIT={}", "DLBRIDGE_CONTEXT_ENTRY_INIT={}",
            "DLBRIDGE_STREAM_INIT={}", "DLBRIDGE_BUFFER_INIT={}",
        )),
    },
}  # fmt: skip


class StepFailed(Exception):
    """A step reported something."""


def run(*command, quiet=True, **environment):
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, cwd=ROOT, env={**os.environ, **environment},
    )  # fmt: skip
    if done.returncode != 0:
        (BUILD / "failed.log").write_text(done.stdout)
        raise StepFailed("\n".join(done.stdout.splitlines()[-60:]))
    return done.stdout


def doxygen(project):
    """Doxygen's XML of a project. A warning is a failure."""
    folder = BUILD / f"doxygen-{project}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = {
        "OUTPUT_DIRECTORY": folder,
        "INPUT_FILTER": f'"{sys.executable} -B {HERE / "doxygen_filter.py"}"',
        "WARN_LOGFILE": folder / "warnings",
        **DOXYGEN[project],
    }
    lines = [f"@INCLUDE = {HERE / 'Doxyfile'}"]
    lines += [f"{name} = {value}" for name, value in options.items()]
    (folder / "Doxyfile").write_text("\n".join(lines) + "\n")
    try:
        run("doxygen", folder / "Doxyfile")
    except StepFailed as problem:
        raise StepFailed(f"{problem}\n{(folder / 'warnings').read_text()}") from None
    return folder / "xml"


def rust():
    """rustdoc of the two crates, with its own pages and search."""
    target = BUILD / "cargo"
    command = ("cargo", "doc", "--quiet", "--locked", "--no-deps", "-p", "dlbridge-sys")
    options = ("-p", "dlbridge", "--features", "dlbridge/ndarray,dlbridge/half")
    manifest = ("--manifest-path", ROOT / "bindings/rust/Cargo.toml")
    # No library is linked by rustdoc, so its build script must not build one.
    run(*command, *options, *manifest, CARGO_TARGET_DIR=str(target), DOCS_RS="1")
    return target / "doc"


def go():
    """The Markdown that gomarkdoc makes of the package."""
    tools = BUILD / "go"
    settings = {"GOFLAGS": "-buildvcs=false -modcacherw -mod=mod", "GOWORK": "off"}
    if not (tools / "gomarkdoc").exists():
        # `go install` asks for a module of the command's own folder, which the proxy rejects.
        shutil.rmtree(tools, ignore_errors=True)
        tools.mkdir(parents=True)
        (tools / "go.mod").write_text("module tools\n")
        run("go", "-C", tools, "get", f"{GOMARKDOC}@{GOMARKDOC_VERSION}", **settings)
        run("go", "-C", tools, "build", "-o", ".", f"{GOMARKDOC}/cmd/gomarkdoc", **settings)
    made = tools / "go.md"
    options = ("--repository.url", "", "--repository.default-branch", "", "--format", "github")
    run(tools / "gomarkdoc", *options, "--output", made, "./bindings/go")
    return go_page(made.read_text())


def go_page(text):
    """gomarkdoc's page for MyST: names of the package are HTML anchors, which links of Markdown do
    not know, and headings must not skip a level."""
    text = text.replace('import "."', 'import dlbridge "dlbridge/bindings/go"')
    head, index, rest = text.partition("\n## Index\n")
    text = re.sub(r"^### ", "## ", head, flags=re.MULTILINE) + index + rest
    text = re.sub(r"^####+ ", "### ", text, flags=re.MULTILINE)

    def link(match):
        shown = html.escape(match[2].replace("\\", "")).replace("[", "&#91;")
        return f'{match[1]}<a href="#{match[3]}">{shown}</a>'

    text = re.sub(r"^(\s*- )\[(.*)\]\(<#([^>\n]*)>\)$", link, text, flags=re.MULTILINE)
    return re.sub(r"()\[((?:[^][\n]|\\.)*)\]\(<#([^>\n]*)>\)", link, text)


def sphinx(tree):
    shutil.rmtree(HTML, ignore_errors=True)
    names = {
        f"DLBRIDGE_DOXYGEN_{name.upper()}": str(BUILD / f"doxygen-{name}/xml") for name in DOXYGEN
    }
    options = ("-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "-d", BUILD / "doctrees")
    command = (sys.executable, "-m", "sphinx", *options, tree, HTML)
    run(*command, DLBRIDGE_ROOT=str(ROOT), PYTHONDONTWRITEBYTECODE="1", **names)


def name_enums():
    """In the contents of a page, Doxygen's name of an enumeration without a name."""
    for path in (HTML / "api").rglob("*.html"):
        text = path.read_text()
        path.write_text(re.sub(r'(<span class="pre">)@\d+(</span>)', r"\1enum\2", text))


def step(name, function, *arguments):
    """Runs a step, prints its outcome, and returns its result; None if it failed."""
    try:
        result = function(*arguments)
    except StepFailed as problem:
        print(f"FAILED {name}\n{problem}", flush=True)
        raise
    print(f"passed {name}", flush=True)
    return result


def reference(name, present, text):
    """The page of a reference, or one that says that it was left out."""
    if present:
        return text
    return f"# {name}\n\nThis build of the site was made without the reference of {name}.\n"


RUST_PAGE = """# Rust

The reference is that of rustdoc, with a search of its own:

- <a href="../rust/dlbridge/index.html">`dlbridge`</a>, the safe interface
- <a href="../rust/dlbridge_sys/index.html">`dlbridge-sys`</a>, the C ABI

[The page of the crate](../bindings/rust-dlbridge.md) explains them.
"""


def build(without):
    for project in DOXYGEN:
        step(f"doxygen: {project}", doxygen, project)
    crates = None if "rust" in without else step("rustdoc", rust)
    package = None if "go" in without else step("gomarkdoc", go)
    more = [
        ("api/rust.md", reference("Rust", crates, RUST_PAGE)),
        ("api/go.md", reference("Go", package, package)),
        *python_pages.pages(ROOT),
    ]

    def pages():
        complaints = stage.stage(ROOT, BUILD / "source", more)
        if complaints:
            raise StepFailed("\n".join(complaints))

    step("pages", pages)
    step("sphinx", sphinx, BUILD / "source")
    name_enums()
    if crates:
        shutil.copytree(crates, HTML / "rust")

    def links():
        complaints = [*check.problems(HTML)]
        if complaints:
            raise StepFailed("\n".join(complaints[:60]))

    step("links", links)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--without", default="", help="references to leave out: rust,go")
    options = parser.parse_args()
    try:
        build(set(filter(None, options.without.split(","))))
    except StepFailed:
        return 1
    print(f"{HTML}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
