# SPDX-License-Identifier: Apache-2.0
"""A CPython that Debian does not have: the package org.bytedeco:cpython of Maven Central."""

import pathlib
import shutil
import subprocess
import zipfile

from sessions import ROOT, stages

VERSION = "3.14.3-1.5.13"
GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
FOLDER = ROOT / "build/maven"


def python_of(system):
    """The folder of CPython for `system`, such as linux-x86_64; None without Maven."""
    folder = FOLDER / f"{VERSION}-{system}"
    found = folder / "org/bytedeco/cpython" / system
    with stages.locked("maven"):
        if not found.exists():
            if shutil.which("mvn") is None:
                return None
            unpack(download(system), folder)
    return found


def download(system):
    """The package, from Maven's own cache if it was downloaded before."""
    artifact = f"org.bytedeco:cpython:{VERSION}:jar:{system}"
    options = (
        f"-Dartifact={artifact}",
        f"-DoutputDirectory={FOLDER}",
        "-Dmdep.useBaseVersion=true",
    )
    subprocess.run(("mvn", "-q", "-B", GOAL, *options), check=True)
    return FOLDER / f"cpython-{VERSION}-{system}.jar"


def unpack(package: pathlib.Path, folder):
    """Unpacks it, or nothing: a folder of an interrupted call is not taken for a whole one."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with zipfile.ZipFile(package) as archive:
        archive.extractall(part)
    for program in part.glob("org/bytedeco/cpython/*/bin/*"):
        program.chmod(0o755)
    part.rename(folder)
