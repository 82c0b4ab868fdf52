# SPDX-License-Identifier: Apache-2.0
"""Builds Debian's source package and the packages of this machine from a commit, by debian/, and
checks them with lintian: no tag without an override that explains it.

debian.py REPOSITORY FOLDER [--tests]    the last commit of REPOSITORY; FOLDER is empty or missing
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import source

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import changelog  # noqa: E402 needs the path above
import versions  # noqa: E402

LINTIAN = ("lintian", "--display-info", "--pedantic", "--allow-root")
FAIL = ("--fail-on", "error,warning,info,pedantic")


def unpack(repository, folder):
    """The source tree as Debian's tools expect it, beside its archive."""
    version = versions.read(repository).text
    orig = folder / f"dlbridge_{version}.orig.tar.gz"
    source.archive(repository, orig)
    shutil.unpack_archive(orig, folder)
    tree = folder / f"dlbridge-{version}"
    source.copy_folder(repository, "debian", tree)
    # Before its release, the package is made as if this commit were the release.
    text, time = (tree / "CHANGELOG.md").read_text(), source.commit_time(repository)
    (tree / "debian/changelog").write_text(changelog.debian(text, time))
    return tree


def build(tree, tests):
    """The output of debian/rules is shown only if it fails."""
    options = f"parallel={os.cpu_count()}" + ("" if tests else " nocheck")
    profiles = {} if tests else {"DEB_BUILD_PROFILES": "nocheck"}
    environment = {**os.environ, "DEB_BUILD_OPTIONS": options, **profiles}
    log = tree.parent / "build.log"
    with log.open("w") as file:
        done = subprocess.run(
            ("dpkg-buildpackage", "-us", "-uc"), cwd=tree, env=environment,
            stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
    if done.returncode != 0:
        print(*log.read_text(errors="replace").splitlines()[-60:], sep="\n")
        sys.exit("dpkg-buildpackage failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tests", action="store_true", help="also run the tests while building")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tree = unpack(options.repository.resolve(), folder)
    build(tree, options.tests)
    shutil.rmtree(tree)
    (changes,) = folder.glob("*.changes")
    subprocess.run((*LINTIAN, *FAIL, str(changes)), check=True)
    print(*sorted(path.name for path in folder.glob("*.deb")), sep="\n")


if __name__ == "__main__":
    main()
