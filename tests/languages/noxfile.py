# SPDX-License-Identifier: Apache-2.0
"""One tensor in four languages and one process: nox -f tests/languages/noxfile.py

Builds a plugin in C++, Go and Rust on a library with AddressSanitizer, and runs all in one Python
process. The preset asan must have been built, and build/languages-venv must have the packages of
requirements.txt, unless DLBRIDGE_PYTHON names another Python that has them. All output is in
build/bindings/languages.
"""

import os
import pathlib
import shutil

import nox

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build/bindings/languages"
PYTHON = pathlib.Path(os.environ.get("DLBRIDGE_PYTHON", ROOT / "build/languages-venv/bin/python"))
PLUGINS = {"rust": "rust/debug/liblanguages.so", "go": "libgo.so", "cpp": "libcpp.so"}

nox.options.default_venv_backend = "none"
nox.options.envdir = str(SCRATCH / "nox")
nox.options.sessions = ["exchange"]


def prepare(session):
    """Installs the library; skips the session if something is missing."""
    for program in ("clang++", "go", "cargo", str(PYTHON)):
        if shutil.which(program) is None:
            session.skip(f"{program} is not installed")
    if not (ROOT / "build/asan/src/libdlbridge.so").exists():
        session.skip("the preset asan is not built")
    prefix = SCRATCH / "prefix"
    for component in ("runtime", "development"):
        session.run("cmake", "--install", str(ROOT / "build/asan"), "--prefix", str(prefix),
                    "--component", component, external=True, silent=True)  # fmt: skip
    session.env["PKG_CONFIG_PATH"] = str(prefix / "lib/pkgconfig")
    session.env["LD_LIBRARY_PATH"] = str(prefix / "lib")
    # Go's cache does not tell apart what pkg-config answers: others would link the library with
    # AddressSanitizer.
    session.env["GOCACHE"] = str(SCRATCH / "go-cache")
    return prefix


def build(session):
    """Builds the three plugins."""
    prefix = prepare(session)
    session.run("clang++", "-std=c++17", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC",
                "-shared", "-fsanitize=address", "-shared-libasan", f"-I{prefix}/include",
                "cpp/plugin.cc", "-o", str(SCRATCH / PLUGINS["cpp"]), f"-L{prefix}/lib",
                "-ldlbridge")  # fmt: skip
    with session.chdir("go"):
        session.run("go", "vet", ".")
        session.run("go", "build", "-buildmode=c-shared", "-o", str(SCRATCH / PLUGINS["go"]), ".")
    with session.chdir("rust"):
        target = ("--target-dir", str(SCRATCH / "rust"))
        session.run("cargo", "fmt", "--check")
        session.run("cargo", "clippy", "--locked", *target, "--", "-D", "warnings")
        session.run("cargo", "build", "--locked", *target)


def exchange_tensors(session, *arguments, **options):
    """Runs all plugins in one process."""
    # The sanitizer's runtime must come first, and needs libstdc++, whose exceptions it intercepts.
    files = (("clang", "libclang_rt.asan-x86_64.so"), ("g++", "libstdc++.so.6"))
    preload = [session.run(compiler, f"-print-file-name={file}", silent=True).strip()
               for compiler, file in files]  # fmt: skip
    # Python does not free its own memory at exit, so leaks are found by counting deleters. After an
    # error, llvm-symbolizer can hang in this process, which has the runtimes of four languages.
    environment = {
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:symbolize=0",
        "LD_PRELOAD": " ".join(preload),
    }
    plugins = [str(SCRATCH / file) for file in PLUGINS.values()]
    return session.run(str(PYTHON), "-B", "test_languages.py", *plugins, *arguments,
                       env=environment, **options)  # fmt: skip


@nox.session
def exchange(session):
    """Python, Rust, Go and C++ share tensors; each deleter runs once."""
    build(session)
    exchange_tensors(session)


FAULTS = {"drop-twice": "AddressSanitizer", "never-drop": "the deleter ran 0 times"}


@nox.session(tags=["selftest"])
@nox.parametrize("fault", list(FAULTS))
def faults(session, fault):
    """A plugin with a fault is noticed: the run fails and names the fault."""
    build(session)
    options = {"success_codes": range(1, 256), "silent": True}
    output = exchange_tensors(session, f"--fault={fault}", **options)
    if FAULTS[fault] not in output:
        session.error(f"the report lacks {FAULTS[fault]!r}:\n{output}")
