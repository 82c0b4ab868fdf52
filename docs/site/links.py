# SPDX-License-Identifier: Apache-2.0
"""Where a file of the repository is in the site, and the links of a page rewritten to that."""

import os
import posixpath
import re
from pathlib import PurePosixPath

# Pages from outside of docs/, and their place in the site.
OUTSIDE = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "abi/README.md": "abi.md",
    "examples/README.md": "examples.md",
    "bindings/cpp/README.md": "bindings/cpp.md",
    "bindings/go/README.md": "bindings/go.md",
    "bindings/python/README.md": "bindings/python.md",
    "bindings/rust/README.md": "bindings/rust.md",
    "bindings/rust/dlbridge/README.md": "bindings/rust-dlbridge.md",
    "bindings/rust/dlbridge-sys/README.md": "bindings/rust-sys.md",
}
LANGUAGES = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".py": "python", ".toml": "toml",
    ".rs": "rust", ".go": "go", ".sh": "sh", ".json": "json", ".cmake": "cmake",
}  # fmt: skip
# A link in Markdown, outside of code.
LINK = re.compile(r"(\]\()([^()\s]+)(\))")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def place(path):
    """The page of a Markdown file of the repository, or None if the site does not have it."""
    if path in OUTSIDE:
        return OUTSIDE[path]
    if path.endswith("/README.md") and path.startswith("examples/"):
        return f"{path.removesuffix('/README.md')}.md"
    if path.endswith("/README.md") and not path.startswith("docs/"):
        return f"folders/{path.removesuffix('/README.md')}.md"
    inside = path.startswith("docs/") and not path.startswith("docs/site/")
    return path.removeprefix("docs/") if inside else None


class Rewriter:
    """Rewrites the links of pages; collects the files that they show."""

    def __init__(self, root):
        self.root = root
        self.shown = set()
        self.problems = []

    def page(self, source, text):
        """The text of `source`, a path of the repository, for its place in the site."""
        parts = CODE.split(text)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda m: m[1] + self.target(source, m[2]) + m[3], parts[i])
        return "".join(parts)

    def target(self, source, link):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        found = self.found(wanted)
        if found is None:
            self.problems.append(f"{source}: nothing is at {link}")
            return link
        start = posixpath.dirname(place(source) or source)
        relative = posixpath.relpath(found, start or ".")
        return f"{relative}#{anchor}" if anchor else relative

    def found(self, wanted):
        file = self.root / wanted
        if not file.exists():
            return None
        if place(wanted) and (wanted.endswith(".md") or file.suffix == ".svg"):
            return place(wanted)
        if file.is_dir() and (file / "README.md").exists() and place(f"{wanted}/README.md"):
            return place(f"{wanted}/README.md")
        self.shown.add(wanted)
        return f"files/{wanted.strip('.').replace('.', '_') or 'root'}.md"

    def files(self):
        """Pages of the files that other pages link to: pairs of a path and a text."""
        for wanted in sorted(self.shown):
            file = self.root / wanted
            yield (
                self.found(wanted),
                _listing(file, wanted) if file.is_dir() else _shown(file, wanted),
            )


def _listing(folder, wanted):
    names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    rows = "\n".join(f"- `{name}`" for name in names if not name.startswith((".", "__pycache__")))
    return f"# {wanted}\n\nThe folder `{wanted}` of the repository:\n\n{rows}\n"


def _shown(file, wanted):
    try:
        text = file.read_text()
    except UnicodeDecodeError:
        return f"# {wanted}\n\n`{wanted}` of the repository is not a text.\n"
    language = LANGUAGES.get(file.suffix, "text")
    limit = 60_000
    note = "" if len(text) <= limit else "\n\nThe rest is left out here."
    head = f"# {PurePosixPath(wanted).name}\n\n`{wanted}` of the repository:\n\n"
    return f"{head}``````{language}\n{text[:limit]}\n``````{note}\n"


def relative(page, to):
    return os.path.relpath(to, os.path.dirname(page) or ".")
