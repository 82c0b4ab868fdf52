# SPDX-License-Identifier: Apache-2.0
"""races.py PYTHON TOOLS FOLDER [OPTION...]: builds the extensions and the library in FOLDER with
ThreadSanitizer for the free-threaded interpreter PYTHON, which has it too, and runs the tests of
threads. TOOLS is a folder with pytest and nanobind; options go to pytest. The exit status is 1 if a
test fails or a data race is reported in a function of this package.

Reports without such a function are about the interpreter itself. They are counted, not judged.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
TESTS = ("test_free_threads.py",)
OWN = re.compile(r"\((_core|_describe)\.[^()]*\.so\+|\(libdlbridge\.so[^()]*\+")
OPTIONS = {
    "CMAKE_BUILD_TYPE": "RelWithDebInfo",
    "CMAKE_C_COMPILER": "clang",
    "CMAKE_CXX_COMPILER": "clang++",
    "CMAKE_C_FLAGS_RELWITHDEBINFO": "-O1 -g",
    "CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1 -g",
    "DLBRIDGE_SANITIZE": "thread",
}


def build(python, folder, environment):
    options = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    options += [f"-DPython_EXECUTABLE={python}", "-G", "Ninja"]
    for command in (
        ("cmake", "-S", HERE, "-B", folder / "build", *options),
        ("cmake", "--build", folder / "build"),
        ("cmake", "--install", folder / "build", "--prefix", folder / "package"),
    ):
        subprocess.run([str(word) for word in command], check=True, env=environment)
    package = folder / "package/dlbridge"
    shutil.copytree(HERE / "dlbridge", package, dirs_exist_ok=True)


def run_tests(python, folder, options, environment):
    for log in folder.glob("report.*"):
        log.unlink()
    settings = f"log_path={folder / 'report'}:exitcode=0:halt_on_error=0:history_size=4"
    pytest = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", *options)
    files = [str(HERE / "tests" / name) for name in TESTS]
    environment = {**environment, "TSAN_OPTIONS": settings, "DLBRIDGE_SLOW_MACHINE": "1"}
    return subprocess.run((*pytest, *files), cwd=folder, env=environment).returncode


def reports(folder):
    """The reports of all processes, without repetitions."""
    texts = (path.read_text(errors="replace") for path in sorted(folder.glob("report.*")))
    parts = (part for text in texts for part in text.split("==================\n"))
    return list(dict.fromkeys(part for part in parts if part.startswith("WARNING: ThreadSanitizer")))


def accesses(report):
    """The innermost functions of the report's accesses, each with its file."""
    return re.findall(r"^    #0 .*$", report.split("Location is")[0], re.MULTILINE)


def main():
    python, tools, folder, *options = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = f"{folder / 'package'}{os.pathsep}{tools}"
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    build(python, folder, environment)
    failed = run_tests(python, folder, options, environment)
    found = reports(folder)
    own = [one for one in found if any(OWN.search(line) for line in accesses(one))]
    print(f"ThreadSanitizer: {len(own)} reports about this package, {len(found)} in all")
    for one in own:
        print(one)
    return 1 if failed or own else 0


if __name__ == "__main__":
    sys.exit(main())
