# SPDX-License-Identifier: Apache-2.0
"""Puts old faults back, one at a time, and checks that a fuzz target finds each within a minute.

mutants.py FOLDER [NAME...]   builds in FOLDER; by default all of mutants.toml

The sources are copied. A mutant replaces lines of the copy, the target that must find it is built
and fuzzes for at most a minute, beginning with its seeds. A few are found by a test instead, of
tests/unit or of another folder, which has the same minute. Prints each target and its seconds.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

import tomllib

sys.path[:0] = [str(folder) for folder in pathlib.Path(__file__).resolve().parents[:2]]

import checkout  # noqa: E402 needs the path above
from fuzz import ASAN, ROOT, VARIANTS, environment, leak_options  # noqa: E402

MUTANTS = ROOT / "tests/fuzz/mutants.toml"
SECONDS = 60


def copy_sources(to):
    """Makes the copy equal to the sources; unchanged files keep their times."""
    for name in checkout.files():
        source, copy = ROOT / name, to / name
        if source.is_dir():  # a link, which no fuzz target needs
            continue
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def quietly(*command, cwd):
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    if done.returncode != 0:
        print(done.stdout[-6000:])
    return done.returncode == 0


def configure(source, preset, headers):
    options = ["-DDLBRIDGE_BUILD_BENCH=OFF", "-DDLBRIDGE_BUILD_EXAMPLES=OFF"]
    options += [f"-DDLBRIDGE_CUDA_INCLUDE={headers}"] if headers else []
    return quietly("cmake", "--preset", preset, *options, cwd=source)


def cuda_headers():
    found = (ROOT / "build/cuda-venv").glob("lib/python3*/site-packages/nvidia/*/include/cuda.h")
    return next((path.parent for path in found), None)


def program_of(target):
    return f"fuzz_{VARIANTS[target][0] if target in VARIANTS else target}"


def fuzz(source, target):
    """Returns the seconds until the target fails, or None."""
    build, seeds = source / "build/fuzz", source / "tests/fuzz/seeds" / target
    program = build / "tests/fuzz" / program_of(target)
    corpus = build / "corpus" / target
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    for path in build.glob("found-*"):
        path.unlink()
    options = [f"-max_total_time={SECONDS}", "-max_len=1024", "-timeout=20", "-seed=1"]
    options += [f"-artifact_prefix={build}/found-", *leak_options(target)]
    began = time.monotonic()
    done = subprocess.run(
        list(map(str, (program, *options, corpus, seeds))), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env=environment(target, **ASAN), timeout=10 * SECONDS,
    )  # fmt: skip
    seconds = time.monotonic() - began
    # A program that fails for another reason leaves no input.
    return seconds if done.returncode != 0 and any(build.glob("found-*")) else None


def run_test(source, mutant):
    """Returns the seconds until the test of a mutant fails, or None."""
    folder = (
        source / "build" / mutant.get("preset", "fuzz") / "tests" / mutant.get("folder", "unit")
    )
    command = [folder / mutant["test"]]
    began = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **ASAN}, timeout=10 * SECONDS,
    )  # fmt: skip
    seconds = time.monotonic() - began
    return seconds if done.returncode != 0 and seconds <= SECONDS else None


def edited(text, name, mutant):
    """The text of a mutant's file with its edits; check_repo.py makes them at every commit."""
    for edit in mutant["edits"]:
        places = text.count(edit["search"])
        if places != 1:
            where = f"{mutant['file']} has {places} places with {edit['search']!r}"
            raise ValueError(f"tests/fuzz/mutants.toml: {name}: {where}")
        text = text.replace(edit["search"], edit["replace"])
    return text


def try_mutant(source, name, mutant):
    """Builds and fuzzes one mutant; returns the line to print."""
    path = source / mutant["file"]
    original = path.read_text()
    path.write_text(edited(original, name, mutant))
    try:
        program = mutant["test"] if "test" in mutant else program_of(mutant["target"])
        build = source / "build" / mutant.get("preset", "fuzz")
        if not quietly("ninja", "-C", build, program, cwd=source):
            return f"FAILED {name}: it does not compile"
        seconds = run_test(source, mutant) if "test" in mutant else fuzz(source, mutant["target"])
    finally:
        path.write_text(original)
    if seconds is None:
        return f"FAILED {name}: {program} found nothing in {SECONDS} s"
    return f"passed {name}: {program} found it in {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    mutants = tomllib.loads(MUTANTS.read_text())
    source = arguments.folder.resolve() / "source"
    copy_sources(source)
    names = arguments.names or list(mutants)
    for preset in {mutants[name].get("preset", "fuzz") for name in names}:
        if not configure(source, preset, cuda_headers()):
            return 1
    failed = False
    for name in names:
        line = try_mutant(source, name, mutants[name])
        print(line, flush=True)
        failed = failed or line.startswith("FAILED")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
