# SPDX-License-Identifier: Apache-2.0
"""The files of the checkout: committed ones and new ones, without those that git ignores."""

import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]


def files(*patterns):
    """Their names relative to the repository; only those that match a pattern of git, if any."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--")
    done = subprocess.run((*command, *patterns), cwd=ROOT, check=True, capture_output=True)
    names = done.stdout.decode().split("\0")
    # A file that was removed is still listed until that is committed.
    return [name for name in names if name and (ROOT / name).exists()]


def copy(folder, without=()):
    """Copies them to a folder, links as links, without names that begin with one of `without`."""
    for name in files():
        if not name.startswith(tuple(without)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
