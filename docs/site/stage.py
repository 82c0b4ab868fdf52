# SPDX-License-Identifier: Apache-2.0
"""Writes the tree that Sphinx reads: the pages of docs/ and of the bindings with their links
rewritten, one page for each rule and status, and the tables of contents.

A new file docs/*.md joins the site without an edit here: pages that no section names are in the
section of their folder, or in "In depth".
"""

import re
import shutil

import doxygen_filter
import facts_pages
import links

# Sections of the table of contents: title, pages in their order, and a pattern for the rest.
SECTIONS = (
    ("Start", ("start/install", "start/c", "start/cpp", "start/rust", "start/go", "start/python"),
     "start/"),
    ("Concepts", ("concepts/versions", "concepts/ownership", "concepts/flags", "concepts/streams",
                  "concepts/contexts"), "concepts/"),
    ("Guides", ("guides/legacy-producer", "guides/kernel-library", "guides/plugin-host",
                "guides/two-processes", "guides/jax-to-pytorch", "guides/device-allocator",
                "guides/ship"), "guides/"),
    ("Examples", ("examples",), "examples/"),
    ("Bindings", ("bindings/cpp", "bindings/rust-dlbridge", "bindings/rust-sys", "bindings/go",
                  "bindings/python", "python_extensions"), "bindings/"),
    ("Reference", ("functions", "rules", "dtypes-and-devices", "api/c", "api/cpp", "api/rust",
                   "api/go", "api/python"), "api/"),
    ("In depth", ("identify", "streams", "context-table", "ipc", "interop", "performance",
                  "platforms"), ""),
    ("Project", ("comparison", "faq", "abi", "decisions", "architecture", "building",
                 "contributing", "security", "releasing", "changelog", "renames"), "reliability"),
)  # fmt: skip
# Pages that are reached from others, not from the table of contents of the whole site.
UNLISTED = re.compile(r"(files|folders|rules|statuses|api/c|api/cpp)/|readme$|index$")


HEADERS = ("dlpack", "cuda_api", "hip_api", "level_zero_api", "opencl_api", "onnxruntime_api")
# What Breathe shows of a header: not its includes, nor the code of initialisers.
SHOWN = (
    "briefdescription detaileddescription innerclass public-type public-func public-static-func "
    "public-attrib func typedef enum define"
)


def of_file(name, project):
    return f"```{{doxygenfile}} {name}\n:project: {project}\n:sections: {SHOWN}\n```\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def orphan(text):
    return f"---\norphan: true\n---\n\n{text}"


def sources(root):
    """Paths of the Markdown files and pictures that become pages."""
    for path in sorted((root / "docs").rglob("*")):
        name = str(path.relative_to(root))
        if path.suffix in (".md", ".svg") and links.place(name):
            yield name
    yield from (name for name in links.OUTSIDE if (root / name).exists())
    # What other folders say about themselves.
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        if folder.name in ("build", "docs") or folder.name.startswith("."):
            continue
        for path in sorted(folder.rglob("README.md")):
            name = str(path.relative_to(root))
            if name not in links.OUTSIDE and "/target/" not in name:
                yield name


def with_links_to_rules(text):
    """rules.md: each name leads to the page of the rule or status."""

    def page(match):
        name = match[1]
        status = name.removeprefix("DLBRIDGE_")
        if name != status or name.startswith("ERROR_"):
            return f"| [`{name}`](statuses/{facts_pages.slug(status)}.md) |"
        return f"| [`{name}`](rules/{facts_pages.slug(name)}.md) |"

    return re.sub(r"\| `([A-Z_0-9]+)` \|", page, text)


def rust_examples(text):
    """An example of a crate is a fence without a language, or with a word of rustdoc; lines with
    `# ` are hidden in it."""

    def example(fence):
        language, code = fence.groups()
        if language not in ("", "ignore", "no_run"):
            return fence[0]
        code = re.sub(r"^# .*\n|^#\n", "", code, flags=re.MULTILINE)
        return f"```rust\n{code}```"

    return re.sub(r"^```(\w*)\n(.*?)^```$", example, text, flags=re.DOTALL | re.MULTILINE)


def table_of_contents(pages):
    """The toctrees of the first page. `pages` are the names of all pages without their suffix."""
    left = {name for name in pages if not UNLISTED.search(name)}
    named = {name for _, names, _ in SECTIONS for name in names}
    rest = {title: [] for title, _, _ in SECTIONS}
    for name in sorted(left - named):
        fits = [title for title, _, start in SECTIONS if start and name.startswith(start)]
        rest[fits[0] if fits else "In depth"].append(name)
    for title, names, _ in SECTIONS:
        found = [name for name in names if name in left] + rest[title]
        entries = "\n".join(found)
        yield f"```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n\n{entries}\n```\n"


def listed(names, folder):
    """A table of contents of the pages in a folder."""
    entries = "\n".join(f"{folder}/{name}" for name in names)
    return f"```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"


def c_pages(root):
    """A page for each section of dlbridge.h, and one for each of the other headers."""
    header = root / "include/dlbridge/dlbridge.h"
    names = []
    for slug, title in doxygen_filter.sections(header):
        shown = title.partition(":")[0]
        body = f"```{{doxygengroup}} {slug}\n:project: c\n:content-only:\n```\n"
        yield f"api/c/{slug}.md", f"# {shown}\n\n{body}"
        names.append(slug)
    for name in HEADERS:
        yield f"api/c/{name}.md", f"# {name}.h\n\n{of_file(f'{name}.h', 'c')}"
        names.append(name)
    head = (
        "# C\n\n`dlbridge/dlbridge.h` is the whole ABI. Its first comment is the contract of all "
    )
    text = f"functions:\n\n{contract(header)}\n\n## Sections\n\n{listed(names, 'c')}"
    yield "api/c.md", head + text


def contract(header):
    """The paragraphs of the header's first comment, as text."""
    comment = re.search(r"/\*(.*?)\*/", header.read_text(), re.DOTALL)[1]
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.splitlines()]
    lines = [line for line in lines if "SPDX" not in line and not re.match(r"\[/?facts", line)]
    text = "\n".join(lines)
    text = re.sub(r"^([A-Z][A-Z ]+)\. ", lambda m: f"**{m[1].capitalize()}.** ", text, flags=re.M)
    return text.split("**Generated.**")[0].partition("START HERE")[0] + text[text.find("**Start") :]


def cpp_pages(root):
    """A page for each topic of the C++ binding."""
    folder = root / "bindings/cpp/include/dlbridge/hpp"
    hidden = {"abi", "callback", "config"}
    names = sorted(path.stem for path in folder.glob("*.hpp") if path.stem not in hidden)
    for name in names:
        yield f"api/cpp/{name}.md", f"# {name}.hpp\n\n{of_file(f'{name}.hpp', 'cpp')}"
    head = "# C++\n\nOne header, `dlbridge/dlbridge.hpp`, includes all of these; "
    text = f"[the page of the binding](../bindings/cpp.md) explains them.\n\n{listed(names, 'cpp')}"
    yield "api/cpp.md", head + text


def stage(root, tree, more):
    """Writes the tree; `more` are further pages, pairs of a path and a text. Returns complaints."""
    shutil.rmtree(tree, ignore_errors=True)
    rewriter = links.Rewriter(root)
    names = []
    for name in sources(root):
        target = tree / links.place(name)
        if target.suffix == ".svg":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, target)
            continue
        text = rewriter.page(name, (root / name).read_text())
        if name.startswith("bindings/rust/dlbridge"):
            text = rust_examples(text)
        if name == "docs/rules.md":
            text = with_links_to_rules(text)
        names.append(links.place(name).removesuffix(".md"))
        write(target, orphan(text) if UNLISTED.search(names[-1]) else text)
    for path, text in facts_pages.pages(root):
        write(tree / path, orphan(text))
    for path, text in (*c_pages(root), *cpp_pages(root), *more):
        write(tree / path, text)
        names.append(path.removesuffix(".md"))
    for path, text in rewriter.files():
        write(tree / path, orphan(text))
    site = root / "docs/site"
    contents = "\n".join(table_of_contents(names))
    write(tree / "index.md", (site / "index.md.in").read_text() + "\n" + contents)
    shutil.copytree(site / "static", tree / "_static")
    shutil.copy(site / "conf.py", tree / "conf.py")
    (tree / "_extra").mkdir()
    return rewriter.problems
