# SPDX-License-Identifier: Apache-2.0
"""Checks the models of this folder; README.md describes them.

check.py source        the statements that the models quote are in the source
check.py spin FOLDER   spin finds no error in the models, and one in each fault that they can have

Exit status 77: spin or gcc is not installed.
"""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUOTE = re.compile(r"^\s*(?:/\*|//) (src/\S+\.(?:cc|h)): (.+?)(?: \*/)?$", re.MULTILINE)
FAULT = re.compile(r"^#ifn?def (BUG_\w+)$", re.MULTILINE)
# Sizes that a model is checked with, besides its own.
SIZES = {"owners": (("-DTHREADS=2", "-DNEW=2"),), "pending": (("-DCOLLECTORS=3",),)}


def words(text):
    """The text without comments, with one space between words."""
    return " ".join(re.sub(r"//[^\n]*", "", text).split())


def missing_quotes():
    """The statements that models quote and the source lacks, and the number of all."""
    found, missing = 0, []
    for path in sorted((*HERE.glob("*.pml"), *HERE.glob("orders/src/*.rs"))):
        quotes = QUOTE.findall(path.read_text())
        found += len(quotes)
        for name, quote in quotes:
            source = ROOT / name
            if not source.exists() or words(quote) not in words(source.read_text()):
                missing.append(f"{path.relative_to(ROOT)}: {name} does not have: {quote}")
    return found, missing


def check_source():
    found, missing = missing_quotes()
    for line in missing:
        print(f"FAILED {line}")
    if missing:
        print("Change the model as the source was changed, then `./run test models` and the quote.")
    print(f"{found} statements are quoted")
    return 1 if missing or not found else 0


def verify(model, folder, *options):
    """Runs spin's verifier; returns the number of errors, the number of states and its output."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    spin = ("spin", *options, "-a", str(model))
    compiler = ("gcc", "-O1", "-w", "-DSAFETY", "-DVECTORSZ=4096", "-o", "pan", "pan.c")
    subprocess.run(spin, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(compiler, cwd=folder, check=True)
    done = subprocess.run(("./pan", "-m200000"), cwd=folder, capture_output=True, text=True)
    output = done.stdout + done.stderr
    errors = re.search(r"errors: (\d+)", output)
    states = re.search(r"(\d+) states, stored", output)
    complete = "max search depth too small" not in output and "Search not completed" not in output
    if errors is None or states is None or (errors[1] == "0" and not complete):
        return None, 0, output
    return int(errors[1]), int(states[1]), output


def report(name, is_right, errors, states, output):
    word = "passed" if is_right else "FAILED"
    print(f"{word} {name}: {errors} errors, {states} states", flush=True)
    if not is_right:
        print(output[-3000:])
    return is_right


def check_model(model, folder):
    """Yields whether each run had the result that it must have."""
    for options in ((), *SIZES.get(model.stem, ())):
        errors, *rest = verify(model, folder, *options)
        yield report(" ".join((model.stem, *options)), errors == 0, errors, *rest)
    for fault in sorted(set(FAULT.findall(model.read_text()))):
        errors, states, output = verify(model, folder, f"-D{fault}")
        found = bool(errors) and "assertion violated" in output
        yield report(f"{model.stem} -D{fault}", found, errors, states, output)


def check_spin(folder):
    if not shutil.which("spin") or not shutil.which("gcc"):
        print("skipped spin or gcc is not installed")
        return 77
    models = sorted(HERE.glob("*.pml"))
    results = [one for model in models for one in check_model(model, folder / model.stem)]
    return 0 if results and all(results) else 1


def main():
    if sys.argv[1:] == ["source"]:
        return check_source()
    if len(sys.argv) == 3 and sys.argv[1] == "spin":
        return check_spin(pathlib.Path(sys.argv[2]))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
