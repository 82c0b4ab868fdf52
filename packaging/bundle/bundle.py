# SPDX-License-Identifier: Apache-2.0
"""Writes the bundle: the library without drivers as one header and one source, for other projects.

bundle.py FOLDER [--prefix PREFIX]

FOLDER gets dlbridge/dlbridge.h, dlbridge/dlbridge.cc, LICENSE and SHA256SUMS. The sources are those
that src/CMakeLists.txt lists for a library without drivers. PREFIX, such as mylib_, is put before
each symbol; a user can define DLBRIDGE_PREFIX instead. Equal sources give equal files.

Tools that join headers (quom, pcpp) leave each source a part of one translation unit, where the
unnamed namespaces of two sources are the same. Here names that clash get the name of their source.
"""

import argparse
import hashlib
import pathlib
import re
import sys

import names

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = (ROOT / "src", ROOT / "include")
HEADER = "dlbridge/dlbridge.h"
INCLUDE = re.compile(r'^#include "([^"]+)"[^\n]*\n', re.MULTILINE)
GUARD = "#define DLBRIDGE_DLBRIDGE_H_\n"
LINKAGE = re.compile(r"^/\*\* Marks what the .*?\*/\n#if defined\(DLBRIDGE_STATIC\)\n.*?^#endif\n",
                     re.DOTALL | re.MULTILINE)  # fmt: skip
HIDDEN = """\
#ifndef DLBRIDGE_API
#define DLBRIDGE_API DLBRIDGE_HIDDEN
#endif
"""
LICENCE_LINE = re.compile(r"^// SPDX-License-Identifier: .*\n", re.MULTILINE)
FUNCTION = re.compile(r"^dlbridge_\w+(?=@)", re.MULTILINE)


def find(name):
    """The file that `#include "name"` means."""
    found = [folder / name for folder in FOLDERS if (folder / name).is_file()]
    if len(found) != 1:
        sys.exit(f'bundle.py: #include "{name}": expected one file below src or include, {found}')
    return found[0]


def sources():
    """The sources of a library without drivers, as src/CMakeLists.txt lists them."""
    text = (ROOT / "src/CMakeLists.txt").read_text()
    listed = re.search(r"^set\(sources\n(.*?)\)", text, re.DOTALL | re.MULTILINE)
    if not listed:
        sys.exit("bundle.py: src/CMakeLists.txt has no set(sources ...)")
    return listed[1].split()


class Joiner:
    """Replaces each #include of a file of the repository by the file, headers only once."""

    def __init__(self):
        self.seen = set()

    def text(self, name):
        return LICENCE_LINE.sub("", find(name).read_text(), count=1)

    def join(self, name, rename=None):
        text = self.text(name)
        if rename is not None:
            text = names.rename(text, rename)
        return INCLUDE.sub(lambda match: self.include(match[1], rename), text)

    def include(self, name, rename):
        if name.endswith(".inc"):  # a part of the source, perhaps more than once
            return self.join(name, rename)
        if name in self.seen:
            return ""
        self.seen.add(name)
        return f"\n// ---- {name}\n{self.join(name)}"


def symbols():
    return FUNCTION.findall((ROOT / "abi/symbols.txt").read_text())


def fill(template, **values):
    text = (HERE / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def version():
    text = find(HEADER).read_text()
    return re.search(r'^#define DLBRIDGE_VERSION_STRING "(.*)"', text, re.MULTILINE)[1]


def make_header(prefix, digest):
    """dlbridge.h, with dlpack.h inside and the settings after its include guard."""
    default = ""
    if prefix:
        default = f"#ifndef DLBRIDGE_PREFIX\n#define DLBRIDGE_PREFIX {prefix}\n#endif\n"
    renames = "\n".join(f"#define {name} DLBRIDGE_PREFIXED({name})" for name in symbols())
    settings = fill("settings.h.in", DEFAULT=default, RENAMES=renames)
    dlpack = find("dlbridge/dlpack.h").read_text()
    text, linkages = LINKAGE.subn(HIDDEN, find(HEADER).read_text())
    text = text.replace('#include "dlbridge/dlpack.h"\n', dlpack)
    if text.count(GUARD) != 1 or linkages != 1 or INCLUDE.search(text):
        sys.exit(
            f"bundle.py: {HEADER}: its guard, DLBRIDGE_API or #include lines are not as expected"
        )
    banner = fill("banner.in", VERSION=version(), DIGEST=digest)
    return f"/*\n{banner} */\n{text.replace(GUARD, GUARD + settings)}"


def make_source(joiner, digest):
    """dlbridge.cc: every source, each header before its first user."""
    joiner.seen.update((HEADER, "dlbridge/dlpack.h"))
    listed = sources()
    renames = names.clashes({name: joiner.text(name) for name in (*listed, *headers())})
    parts = []
    for name in listed:
        body = joiner.join(name, renames.get(name, {}))
        parts.append(f"\n// ---- {name}\n{body.lstrip()}{names.undefine(joiner.text(name))}")
    banner = fill("banner.in", VERSION=version(), DIGEST=digest)
    top = "".join(f"//{line[2:]}\n" for line in banner.splitlines())
    text = top + (HERE / "top.cc.in").read_text() + "".join(parts)
    text = re.sub(r"^namespace dlbridge \{", "namespace dlbridge DLBRIDGE_HIDDEN {", text,
                  flags=re.MULTILINE)  # fmt: skip
    return re.sub(r"\n{3,}", "\n\n", text)


def headers():
    return [str(path.relative_to(FOLDERS[0])) for path in sorted(FOLDERS[0].rglob("*.h"))
            if path.relative_to(FOLDERS[0]).parts[0] != "device"]  # fmt: skip


def digest():
    """One checksum of all files that the bundle is made of."""
    inputs = [ROOT / "src" / name for name in (*sources(), *headers())]
    inputs += [find(HEADER), find("dlbridge/dlpack.h"), *HERE.glob("*.in"), *HERE.glob("*.py")]
    inputs += sorted((ROOT / "src").rglob("*.inc"))
    total = hashlib.sha256()
    for path in sorted(inputs):
        content = path.read_bytes()
        total.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return total.hexdigest()


def write(folder, prefix=""):
    joiner = Joiner()
    total = digest()
    files = {
        HEADER: make_header(prefix, total),
        "dlbridge/dlbridge.cc": make_source(joiner, total),
        "LICENSE": (ROOT / "LICENSE").read_text(),
    }
    sums = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in files.items()
    )
    for name, text in {**files, "SHA256SUMS": sums}.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description="Writes the bundle of dlbridge.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--prefix", default="", help="put before each symbol, such as mylib_")
    given = parser.parse_args()
    if not re.fullmatch(r"[A-Za-z_]\w*|", given.prefix):
        parser.error(f"--prefix: expected the beginning of a C name, found '{given.prefix}'")
    write(given.folder, given.prefix)
    print(f"{given.folder}: dlbridge {version()}, one header and one source")


if __name__ == "__main__":
    main()
