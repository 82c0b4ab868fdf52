# SPDX-License-Identifier: Apache-2.0
"""What the sessions of noxfile.py share: builds, programs that report checks, and counts of both.

stages.py TASK    adds up the sessions of build/reports/TASK.json and prints the last line of a task
"""

import concurrent.futures
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
REPORTS = BUILD / "reports"
LOG = BUILD / "log"
JOBS = str(os.cpu_count() or 1)
KINDS = ("passed", "failed", "skipped")
MARKS = {"passed ": "passed", "FAILED ": "failed", "skipped ": "skipped"}

# The files of a package that several environments have are stored once, in uv's cache. The tests
# write no bytecode, so it is compiled once, here.
os.environ.setdefault("UV_CACHE_DIR", str(BUILD / "uv-cache"))
os.environ.update(UV_COMPILE_BYTECODE="1", UV_PYTHON_DOWNLOADS="never")


def count(session, **found):
    """Adds to the counts of a session."""
    path = REPORTS / f"{session.name}.counts"
    total = json.loads(path.read_text()) if path.exists() else dict.fromkeys(KINDS, 0)
    path.write_text(json.dumps({kind: total[kind] + found.get(kind, 0) for kind in KINDS}))


def processor_seconds():
    """What the child processes that have ended used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def quietly(session, log, *command, **environment):
    """Runs a command; shows the end of its output only if it fails."""
    LOG.mkdir(parents=True, exist_ok=True)
    path = LOG / log
    with path.open("w") as file:
        done = subprocess.run(
            list(map(str, command)), stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
            env={**os.environ, **environment},
        )  # fmt: skip
    if done.returncode != 0:
        print(*path.read_text(errors="replace").splitlines()[-60:], sep="\n", flush=True)
        session.error(f"failed: {' '.join(map(str, command))}")


def need(session, *programs):
    """Skips the session if a program is missing."""
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        session.skip(f"not installed: {', '.join(missing)}")


@contextlib.contextmanager
def locked(name):
    """Keeps other sessions, which may run side by side, from changing build/<name> meanwhile."""
    (BUILD / "locks").mkdir(parents=True, exist_ok=True)
    with (BUILD / "locks" / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment(session, name, requirements):
    """The Python of build/<name>, an environment with exactly those packages."""
    folder, requirements = BUILD / name, ROOT / requirements
    stamp = folder / f"{hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]}.stamp"
    python = folder / "bin/python"
    with locked(name):
        if not stamp.exists():
            session.log(f"installing {requirements.relative_to(ROOT)} in build/{name}")
            uv = (sys.executable, "-m", "uv", "--quiet")
            quietly(session, f"{name}-new", *uv, "venv", "--clear", "--python", "python3", folder)
            install = ("pip", "install", "--python", python, "--requirement", requirements)
            quietly(session, name, *uv, *install)
            stamp.touch()
    return python


def cmake(session, binary, preset, *options):
    quietly(
        session, f"{binary.name}-configure", "cmake", "--preset", preset, "-B", binary, *options
    )


def configure(session, preset, *options, folder=None):
    """Configures a preset, in build/<folder>; returns that folder."""
    binary = BUILD / (folder or preset)
    with locked(binary.name):
        cmake(session, binary, preset, *options)
    return binary


def build(session, preset, *options, folder=None, targets=()):
    """Configures a preset and builds it, or only those targets; returns the build folder."""
    binary = BUILD / (folder or preset)
    names = ("--target", *targets) if targets else ()
    with locked(binary.name):
        cmake(session, binary, preset, *options)
        session.log(f"building {binary.name}")
        quietly(session, f"{binary.name}-build", "cmake", "--build", binary, *names)
    return binary


def test_commands(binary):
    """The command line of each test of a build folder; ctest omits those not built yet."""
    line = re.compile(r"^add_test\(\[=*\[(.*?)\]=*\] (.*)\)$", re.MULTILINE)
    texts = (path.read_text() for path in binary.rglob("CTestTestfile.cmake"))
    found = (match for text in texts for match in line.findall(text))
    return {name: re.findall(r'"([^"]*)"', words) for name, words in found}


def programs(session, binary, *options):
    """Builds what the chosen tests of a build folder run; returns the number of tests."""
    show = ("ctest", "--test-dir", str(binary), "--show-only=json-v1", *options)
    shown = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    tests = [test["name"] for test in json.loads(shown)["tests"]]
    commands = test_commands(binary)
    words = {word for name in tests for word in commands[name]}
    words = {word.removeprefix(f"{binary}/") for word in words if word.startswith(f"{binary}/")}
    ask = ("ninja", "-C", str(binary), "-t", "targets", "all")
    known = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    targets = words & {line.rpartition(":")[0] for line in known.splitlines()}
    session.log(f"building {len(targets)} targets of {binary.name}")
    if targets:
        command = ("cmake", "--build", binary, "--target", *sorted(targets))
        with locked(binary.name):
            quietly(session, f"{binary.name}-build", *command)
    return len(tests)


def ctest(session, binary, *options, **variables):
    """Runs the tests of a build folder, or those that the options choose, and counts them."""
    report = REPORTS / f"{session.name}-{binary.name}.xml"
    report.unlink(missing_ok=True)
    command = ("ctest", "--test-dir", binary, "--output-on-failure", "--no-tests=error")
    command += ("--parallel", JOBS, "--timeout", "600", "--output-junit", report, *options)
    done = subprocess.run(list(map(str, command)), env={**os.environ, **variables})
    if not report.exists():
        session.error("ctest wrote no report")
    suite = xml.etree.ElementTree.parse(report).getroot()
    total, bad = int(suite.get("tests")), int(suite.get("failures"))
    left = int(suite.get("skipped")) + int(suite.get("disabled"))
    count(session, passed=total - bad - left, failed=bad, skipped=left)
    # A test whose program is missing is counted as skipped; only the exit status reports it.
    if bad or done.returncode != 0:
        session.error(f"{bad} tests failed" if bad else "not all tests were run")


def checks(session, *command):
    """Runs a program that prints `passed`, `FAILED` or `skipped` for each of its checks."""
    found = dict.fromkeys(KINDS, 0)
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            kind = next((kind for mark, kind in MARKS.items() if line.startswith(mark)), None)
            if kind:
                found[kind] += 1
    count(session, **found)
    if found["failed"] or process.returncode != 0:
        session.error(f"{found['failed']} checks failed: {' '.join(map(str, command))}")
    if not any(found.values()):
        session.error(f"nothing was checked: {' '.join(map(str, command))}")


def run_noxfile(session, path, options, variables):
    """Runs a noxfile; returns its report and its output."""
    # Another session may run other parts of that noxfile side by side.
    name = f"{session.name}-{path.replace('/', '-')}"
    report = REPORTS / f"{name}.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nox", "-f", f"{path}/noxfile.py", "--report", str(report)]
    done = subprocess.run(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=ROOT, env={**os.environ, **variables},
    )  # fmt: skip
    (LOG / name).write_text(done.stdout)
    sessions = json.loads(report.read_text())["sessions"] if report.exists() else []
    if done.returncode != 0 and all(one["result"] != "failed" for one in sessions):
        sessions.append({"name": "all", "signatures": ["all"], "result": "failed"})
    return path, sessions, done.stdout


def section(output, signature):
    """The part of nox's output that belongs to a session, its end."""
    parts = re.split(r"^(?=nox > Running session )", output, flags=re.MULTILINE)
    mine = [part for part in parts if part.startswith(f"nox > Running session {signature}\n")]
    return "\n".join((mine or [output])[-1].splitlines()[-80:])


def noxfiles(session, runs, may_skip=True, **variables):
    """Runs noxfiles side by side and counts their sessions; runs: folder and options of nox.

    Side by side since each of them waits for a network, a linker or a fuzzer now and then.
    """
    found = dict.fromkeys(KINDS, 0)
    kinds = {"success": "passed"} | ({"skipped": "skipped"} if may_skip else {})
    with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
        jobs = [
            pool.submit(run_noxfile, session, path, options, variables) for path, options in runs
        ]
        for job in concurrent.futures.as_completed(jobs):
            path, sessions, output = job.result()
            for one in sessions:
                kind = kinds.get(one["result"], "failed")
                found[kind] += 1
                word = "FAILED" if kind == "failed" else kind
                name, reason = one["signatures"][0], one.get("reason")
                print(f"{word} {path}: {name}{f' ({reason})' if reason else ''}", flush=True)
                if kind == "failed":
                    print(section(output, name), flush=True)
    count(session, **found)
    if found["failed"] or not any(found.values()):
        session.error(f"{found['failed']} of {sum(found.values())} sessions failed")


def summary(task):
    """The sum of a task's sessions; one that broke off before it counted anything has failed."""
    total = dict.fromkeys(KINDS, 0)
    report = REPORTS / f"{task}.json"
    sessions = json.loads(report.read_text())["sessions"] if report.exists() else []
    if not sessions:
        total["failed"] = 1
    for one in sessions:
        path = REPORTS / f"{one['name']}.counts"
        counts = json.loads(path.read_text()) if path.exists() else dict.fromkeys(KINDS, 0)
        if one["result"] == "skipped" and not any(counts.values()):
            counts["skipped"] = 1
        elif one["result"] == "success" and not any(counts.values()):
            counts["passed"] = 1
        elif one["result"] not in ("success", "skipped") and not counts["failed"]:
            counts["failed"] = 1
        for kind in KINDS:
            total[kind] += counts[kind]
    return total


def full_disk():
    """A line that explains failures of a machine whose disk is full; nothing if it is not."""
    free = shutil.disk_usage(BUILD).free >> 20
    return f"the disk of build/ is full ({free} MiB are free)\n" if free < 500 else ""


def main():
    (task,) = sys.argv[1:]
    total = summary(task)
    (BUILD / f"{task}.summary").write_text(" ".join(str(total[kind]) for kind in KINDS) + "\n")
    if total["failed"]:
        print(end=full_disk())
    print(f"{task}: " + ", ".join(f"{total[kind]} {kind}" for kind in KINDS))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
