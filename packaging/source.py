# SPDX-License-Identifier: Apache-2.0
"""The source archive of a commit. The same commit gives the same bytes: git writes the members in
order, with the time of the commit.

source.py REPOSITORY FILE
"""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import versions  # noqa: E402 needs the path above


def git(repository, *words, **environment):
    command = ("git", "-C", str(repository), *map(str, words))
    found = subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, **environment}
    )
    return found.stdout


def commit_time(repository):
    return int(git(repository, "log", "-1", "--format=%ct"))


def archive(repository, path):
    """All files of the commit but those that .gitattributes leaves out."""
    name = f"dlbridge-{versions.read(repository).text}"
    tar = git(repository, "archive", "--format=tar", f"--prefix={name}/", "HEAD")
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as zipped:
        zipped.write(tar)


def copy_folder(repository, name, folder):
    """A folder of the commit, also one that the archive leaves out."""
    with tempfile.TemporaryDirectory() as scratch:
        index = {"GIT_INDEX_FILE": f"{scratch}/index"}
        git(repository, "read-tree", f"HEAD:{name}", **index)
        git(repository, "checkout-index", "--all", f"--prefix={folder / name}/", **index)


if __name__ == "__main__":
    archive(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
