# SPDX-License-Identifier: Apache-2.0
"""The checks of the Go binding, one session each: nox -f bindings/go/noxfile.py

DLBRIDGE_PREFIX         folder where the shared library is installed
DLBRIDGE_PREFIX_STATIC  the same for the static library; without it `static` is skipped
DLBRIDGE_OUTCOMES_DIR   folder for go.jsonl, the outcome of each step of the corpus

Paths are absolute. All output is in build/bindings/go.
"""

import collections
import functools
import hashlib
import os
import pathlib
import re
import shutil
import statistics

import nox

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build/bindings/go"
STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
FUZZ_TARGETS = ("FuzzForeign", "FuzzNames", "FuzzDescriptor", "FuzzProgram")
# The user's settings do not count, and nothing is written outside the scratch folder.
SETTINGS = {
    **dict.fromkeys(("GOEXPERIMENT", "GODEBUG", "GOARCH", "GOOS", "GOWORK", "CGO_LDFLAGS")),
    "CGO_ENABLED": "1",
    "GOCACHE": str(SCRATCH / "cache"),
    "GOENV": "off",
    "GOFLAGS": "-buildvcs=false -modcacherw",
    "GOMODCACHE": str(SCRATCH / "modules"),
    "GOTELEMETRY": "off",
    "GOTOOLCHAIN": "local",
}

nox.options.default_venv_backend = "none"
nox.options.envdir = str(SCRATCH / "nox")
# The others take minutes, and are left to the night.
nox.options.sessions = ["vet", "tests", "static", "conformance"]


def use(session, variable):
    """Lets Go find the library in the folder that the variable names."""
    if not os.environ.get(variable):
        session.error(f"{variable} must name the folder where the library is installed")
    prefix = pathlib.Path(os.environ[variable])
    described = next(prefix.rglob("dlbridge.pc"))
    session.env["PKG_CONFIG_PATH"] = str(described.parent)
    session.env["LD_LIBRARY_PATH"] = str(described.parent.parent)
    # Go's build cache notices changed flags, but neither other headers nor another dlbridge.pc.
    files = [described, *sorted(prefix.rglob("*.h"))]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    session.env["CGO_CFLAGS"] = f"-O2 -g -DDLBRIDGE_INSTALLED=0x{digest[:8]}"


def check(function):
    """A session that uses the shared library; it is skipped without Go."""

    @functools.wraps(function)
    def run(session):
        if shutil.which("go") is None:
            session.skip("go is not installed")
        SCRATCH.mkdir(parents=True, exist_ok=True)
        session.env.update(SETTINGS)
        use(session, "DLBRIDGE_PREFIX")
        function(session)

    return nox.session(run)


def flags(session, option):
    """What pkg-config answers for dlbridge."""
    return session.run("pkg-config", option, "dlbridge", external=True, silent=True).split()


@check
def vet(session):
    """go vet."""
    session.run("go", "vet", "./...")


MODULE = re.search(r"^module (\S+)$", (HERE / "go.mod").read_text(), re.MULTILINE)[1]
# A path of which `go get` can find the module once it is hosted: its first part has a dot.
HOSTED = MODULE if "." in MODULE.split("/")[0] else f"example.org/{MODULE}"
# The binding, and the conformance kit, a module of its own.
MODULES = ("", "/conformance")


def library_version():
    text = (ROOT / "include/dlbridge/dlbridge.h").read_text()
    return re.search(r'^#define DLBRIDGE_VERSION_STRING "(.*)"$', text, re.MULTILINE)[1]


def proxied(session, folder):
    """The modules as a module proxy serves them, by the rules of golang.org/x/mod; its URL."""
    proxy = folder / "proxy"
    for inside in MODULES:
        where = ("-folder", f"{HERE}{inside}", "-hosted", f"{HOSTED}{inside}")
        options = ("-licence", str(ROOT / "LICENSE"), "-proxy", str(proxy))
        pack = ("go", "run", "-C", str(ROOT / "packaging/gomodule"), ".")
        session.run(*pack, *where, "-version", f"v{library_version()}", *options)
    return f"file://{proxy}"


@check
def hosted(session):
    """go get and go vet of the modules under a path with a host name, from a module proxy."""
    folder = SCRATCH / "hosted"
    shutil.rmtree(folder, ignore_errors=True)
    user = folder / "user"
    user.mkdir(parents=True)
    proxy = proxied(session, folder)
    session.env.update(GOPROXY=proxy, GONOSUMDB="*", GOFLAGS="-modcacherw")
    session.env["GOMODCACHE"] = str(folder / "modules")
    program = f'package main\n\nimport dlbridge "{HOSTED}"\n\n'
    (user / "main.go").write_text(program + "func main() { println(dlbridge.LibraryVersion()) }\n")
    with session.chdir(user):
        session.run("go", "mod", "init", "example.org/user")
        for inside in MODULES:
            session.run("go", "get", f"{HOSTED}{inside}@v{library_version()}")
            session.run("go", "vet", f"{HOSTED}{inside}")
        session.run("go", "vet", "./...")
        session.run("go", "run", ".")


@check
def staticcheck(session):
    """staticcheck."""
    session.run("go", "run", STATICCHECK, "-tests", "./...")


def hooks(session):
    """Builds the library that makes calls of the C library fail; its path."""
    library = SCRATCH / "faults.so"
    source = ROOT / "tests/faults/hooks.c"
    session.run("cc", "-std=c11", "-shared", "-fPIC", "-O1", str(source), "-ldl", "-o",
                str(library), external=True)  # fmt: skip
    return str(library)


@check
def tests(session):
    """All tests: examples, corpus, misuse that must not compile, seeds of the fuzz targets; the
    corpus while calls of the library fail."""
    session.env["DLBRIDGE_FAULTS"] = hooks(session)
    outcomes = pathlib.Path(os.environ.get("DLBRIDGE_OUTCOMES_DIR") or SCRATCH) / "go.jsonl"
    outcomes.parent.mkdir(parents=True, exist_ok=True)
    outcomes.unlink(missing_ok=True)
    session.env.update(GODEBUG="cgocheck=1", DLBRIDGE_OUTCOMES=str(outcomes))
    # The session `vet` has those checks.
    session.run("go", "test", "-count=1", "-vet=off", "./...")
    if not outcomes.exists():
        session.error("the corpus did not run")


@check
def race(session):
    """The race detector, with cgocheck2, which finds Go pointers that are written to C memory."""
    # In one run, since each needs a standard library that is built for it.
    session.env.update(GODEBUG="cgocheck=1", GOEXPERIMENT="cgocheck2")
    session.run("go", "test", "-count=1", "-race", ".")


@check
def checkptr(session):
    """The tests with the compiler's checks of pointer conversions and arithmetic, in the standard
    library too, which is compiled for it."""
    session.env["GODEBUG"] = "cgocheck=1"
    checks = ("-gcflags=all=-d=checkptr=2", "-skip", "^TestNoAllocations$")  # they allocate
    session.run("go", "test", "-count=1", *checks, "./...")


@check
def static(session):
    """The tests with the static library, without a path to the shared one."""
    if not os.environ.get("DLBRIDGE_PREFIX_STATIC"):
        session.skip("DLBRIDGE_PREFIX_STATIC is not set")
    use(session, "DLBRIDGE_PREFIX_STATIC")
    session.env["LD_LIBRARY_PATH"] = None
    program = str(SCRATCH / "static.test")
    session.run("go", "test", "-c", "-tags", "dlbridge_static", "-o", program, ".")
    if "libdlbridge" in session.run("ldd", program, external=True, silent=True):
        session.error("the static library was not linked")
    session.run(program)


@check
def plugin(session):
    """A plugin that is a module of its own, and a host in C that loads it."""
    with session.chdir("testdata/plugin"):
        library, host = str(SCRATCH / "plugin.so"), str(SCRATCH / "plugin_host")
        session.run("go", "vet", ".")
        session.run("go", "build", "-buildmode=c-shared", "-o", library, ".")
        session.run("cc", "-Wall", "-Wextra", "-Werror", "host/host.c", *flags(session, "--cflags"),
                    *flags(session, "--libs"), "-ldl", "-lpthread", "-o", host)  # fmt: skip
        session.run(host, library)


@check
def fuzz(session):
    """Each fuzz target for 200,000 inputs: a time limit makes go test fail now and then."""
    for target in FUZZ_TARGETS:
        # The package comes first: after an unknown flag, go test takes no package any more.
        command = ("go", "test", "./internal/fuzz", "-run", "^$", "-fuzz", f"^{target}$")
        options = ("-fuzztime", "200000x", "-fuzzminimizetime", "10x")
        output = session.run(*command, *options, silent=True)
        if not re.search("execs: [1-9]", output):
            session.error(f"{target} did not run:\n{output}")
        session.log(output.splitlines()[-3])


@check
def conformance(session):
    """The conformance kit for Go, a module of its own, on a library that uses dlbridge."""
    with session.chdir("conformance"):
        session.run("go", "vet", "./...")
        session.run("go", "test", "-count=1", "./...")


@check
def bench(session):
    """Figures in nanoseconds and as multiples of malloc and free of 128 bytes: -s bench -- 15"""
    count = session.posargs[0] if session.posargs else "15"
    output = session.run("go", "test", "-run", "^$", "-bench", ".", "-benchtime", "50ms", "-count",
                         count, ".", silent=True)  # fmt: skip
    figures = collections.defaultdict(list)
    for name, line in re.findall(r"^Benchmark(\S+?)(?:-\d+)?\s(.*)", output, re.MULTILINE):
        for value, unit in re.findall(r"([\d.]+) (ns/\S+)", line):
            figures[name, unit].append(float(value))
    base = figures["MallocFree", "ns/op"]
    for (name, unit), values in sorted(figures.items()):
        for word, choose in (("median", statistics.median), ("least", min)):
            figure = choose(values)
            session.log(f"{name:24} {unit:11} {word:6} {figure:9.1f} {figure / choose(base):8.2f}x")
