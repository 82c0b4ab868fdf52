# SPDX-License-Identifier: Apache-2.0
"""Reproduces the public reports of bugs.toml that name packages.

python bugs.py FOLDER [LIBRARY...]

Installs the packages of each report into FOLDER. The version of the report must fail its check as
stated there, and the version that fixes it must pass.
"""

import json
import os
import pathlib
import subprocess
import sys

import tomllib

HERE = pathlib.Path(__file__).resolve().parent
BUGS = HERE / "bugs.toml"


def listed():
    """The reports, and the changes that repair what a check finds."""
    return tomllib.loads(BUGS.read_text(encoding="utf-8"))["bug"]


def run(*command, **options):
    return subprocess.run((sys.executable, "-B", *map(str, command)), **options)


def environment(place):
    """The variables of a process that imports the packages of a folder first."""
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}


def install(folder, packages, builds):
    """Installs packages without dependencies, which they name, into a folder of their own."""
    place = folder / packages[0].replace("==", "-")
    if (place / "complete").exists():
        return place
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target")
    run(*pip, place, *packages, check=True)
    if builds:
        run(HERE / "build.py", place, "nanobind", check=True, env=environment(place))
    (place / "complete").touch()
    return place


def outcome(bug, place, report):
    """The outcome of the report's check with the packages of a folder."""
    way, name = bug["adapter"]
    library = (f"--{way}", HERE / "adapters" / name if way == "adapter" else name)
    arguments = (*library, "--checks", bug["check"], "--json", report)
    report.unlink(missing_ok=True)
    options = {
        "env": environment(place),
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    run("-m", "dlbridge.conformance", *arguments, cwd=place, **options)
    if not report.exists():
        sys.exit(f"{bug['link']}: the kit did not run with {place.name}")
    found = json.loads(report.read_text(encoding="utf-8"))
    return found["version"], found["checks"][0]


def reproduce(bug, folder):
    """Whether the old version fails as reported and the new one passes."""
    builds = bug.get("builds", False)
    report = folder / "report.json"
    version, old = outcome(bug, install(folder, bug["packages"], builds), report)
    good = old["status"] == "failed" and bug["found"] in old["found"]
    said = old.get("found") or old.get("reason", "")
    print(f"{bug['library']} {version}: {bug['check']} {old['status']}: {said}")
    version, new = outcome(bug, install(folder, bug["fixed"], builds), report)
    print(f"{bug['library']} {version}: {bug['check']} {new['status']}", flush=True)
    return good and new["status"] == "passed"


def main(folder, *libraries):
    folder = pathlib.Path(folder).resolve()
    chosen = [bug for bug in listed() if "packages" in bug]
    chosen = [bug for bug in chosen if not libraries or bug["library"] in libraries]
    wrong = [bug["link"] for bug in chosen if not reproduce(bug, folder)]
    if wrong or not chosen:
        sys.exit(f"not reproduced: {', '.join(wrong) or 'no report is chosen'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
