# SPDX-License-Identifier: Apache-2.0
"""Why a commit cannot be released. Some reasons hold for a dry run, too; the others are what is
left to do between the dry run and the release."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import versions  # noqa: E402 needs the path above


def git(root, *words):
    done = subprocess.run(("git", "-C", str(root), *words), capture_output=True, text=True)
    return done.stdout.rstrip() if done.returncode == 0 else ""


def always(root):
    """Reasons why artefacts would not be reproducible, or would contradict each other."""
    changed = git(root, "status", "--porcelain")
    if changed:
        first = changed.splitlines()[0]
        yield f"the tree is not clean: expected no change, found '{first}'; commit or remove it"
    yield from versions.disagreements(root)


def before_release(root):
    """Reasons that only a person can settle: the date, the tag, and where the project is hosted."""
    version = versions.read(root)
    if not version.section.date:
        yield f"CHANGELOG.md: {version.text} has no date; replace '(unreleased)' by ', YYYY-MM-DD'"
    tag = f"v{version.text}"
    tagged = git(root, "rev-list", "-1", tag)
    if not tagged:
        yield f"no tag {tag}; run git tag --sign {tag}"
    elif tagged != git(root, "rev-parse", "HEAD"):
        yield f"the tag {tag} names another commit; check it out"
    path = "bindings/go/go.mod"
    own = re.search(r"^module (\S+)$", (root / path).read_text(), re.MULTILINE)[1]
    if "." not in own.split("/")[0]:
        yield f"{path}: expected a path that begins with a host, found {own}; rename the module"
    for path in ("debian/control", "debian/copyright", "debian/watch", "tools/changelog.py"):
        if ".invalid" in (root / path).read_text():
            yield f"{path}: expected an address of the project, found one that ends with .invalid"
