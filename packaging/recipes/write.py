# SPDX-License-Identifier: Apache-2.0
"""Writes the recipes of conda, Homebrew, Meson and vcpkg for a source archive of a release.

write.py HOMEPAGE URL ARCHIVE FOLDER

HOMEPAGE is the address of the project, URL that of the archive, .../dlbridge-<version>.tar.gz,
and ARCHIVE the file, whose checksums the recipes state. FOLDER gets conda/recipe.yaml,
homebrew/dlbridge.rb, meson/dlbridge.wrap, vcpkg/portfile.cmake and vcpkg/vcpkg.json. The version
and description are those of the archive. Conan's recipe needs none of this: packaging/conan.
"""

import argparse
import hashlib
import pathlib
import re
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent


def member(archive, name):
    """The text of a file of the archive, whose files are in one folder."""
    with tarfile.open(archive) as file:
        found = [one for one in file.getnames() if one.partition("/")[2] == name]
        if len(found) != 1:
            sys.exit(f"write.py: {archive}: expected one folder with {name}, found {found}")
        return file.extractfile(found[0]).read().decode()


def stated(pattern, archive, name):
    found = re.search(pattern, member(archive, name), re.MULTILINE)
    if not found:
        sys.exit(f"write.py: {archive}: {name} has no {pattern}")
    return found[1]


def values(homepage, url, archive):
    header = "include/dlbridge/dlbridge.h"
    version = stated(r'^#define DLBRIDGE_VERSION_STRING "(.*)"$', archive, header)
    if not url.endswith(f"/dlbridge-{version}.tar.gz"):
        sys.exit(f"write.py: URL: expected .../dlbridge-{version}.tar.gz, found {url}")
    content = pathlib.Path(archive).read_bytes()
    return {
        "DESCRIPTION": stated(r'^  DESCRIPTION "(.*)"$', archive, "CMakeLists.txt"),
        "HOMEPAGE": homepage,
        "SHA256": hashlib.sha256(content).hexdigest(),
        "SHA512": hashlib.sha512(content).hexdigest(),
        "URL": url,
        "VERSION": version,
    }


def write(homepage, url, archive, folder):
    """Returns the paths of the recipes."""
    known = values(homepage, url, archive)
    paths = []
    for template in sorted(HERE.glob("*/*.in")):
        text = re.sub("@([A-Z0-9]+)@", lambda match: known[match[1]], template.read_text())
        path = pathlib.Path(folder) / template.relative_to(HERE).with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    return paths


def main():
    parser = argparse.ArgumentParser(description="Writes the recipes of package managers.")
    for name in ("homepage", "url", "archive", "folder"):
        parser.add_argument(name)
    print(*write(**vars(parser.parse_args())), sep="\n")


if __name__ == "__main__":
    main()
