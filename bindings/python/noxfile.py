# SPDX-License-Identifier: Apache-2.0
"""Builds the wheels of the package and checks them.

nox -f bindings/python/noxfile.py                   tests, types, extensions of CPython 3.11
nox -f bindings/python/noxfile.py -s quick          the tests alone, with this machine's compiler
nox -f bindings/python/noxfile.py -t nightly        the checks that only a nightly run does
nox -f bindings/python/noxfile.py -t selftest       the checks report faults
nox -f bindings/python/noxfile.py -s tests-3.11 -- -k copy    some tests of one interpreter
nox -f bindings/python/noxfile.py -s develop        an editable install, for work on the package

Wheels and the source distribution are written to build/wheels. A wheel is built only if its sources
changed. With DLBRIDGE_WHEELS=native this machine's compiler builds them, in build/wheels-native,
and the tests that take seconds each are left out, as for each commit. DLBRIDGE_OUTCOMES_DIR names
the folder for python.jsonl, the results of the corpus.
"""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import nox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))

from foreign import build  # noqa: E402
from maven import python_of  # noqa: E402
from sessions import (  # noqa: E402
    HERE,
    NATIVE,
    ROOT,
    WHEELS,
    configure,
    install_pinned,
    install_wheel,
)
from systems import SYSTEMS  # noqa: E402
from wheels import (  # noqa: E402
    CHOSEN,
    MACHINE,
    REQUIREMENTS,
    TAGS,
    build_wheels,
    interpreter,
    need_zig,
)

SCRATCH = ROOT / "build/bindings/python"
# Each interpreter that runs the tests, and the interpreter that builds its wheel.
TESTED = {"3.11": "3.11", "3.10": "3.10", "3.12": "3.12", "3.13": "3.12", "3.14": "3.12"}
TESTED.update({"3.15": "3.12", "3.13t": "3.13t", "3.14t": "3.14t", "3.15t": "3.15t"})

configure("python")
nox.options.allow_parallel = True
nox.options.parallel = 2
os.environ.setdefault("SOURCE_DATE_EPOCH", "1640995200")
if shutil.which("ccache"):
    os.environ.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CMAKE_CXX_COMPILER_LAUNCHER="ccache")
    os.environ.update(CCACHE_BASEDIR="/", CCACHE_NOHASHDIR="1")
    os.environ.setdefault("CCACHE_DIR", str(ROOT / "build/ccache"))


@nox.session
def wheels(session):
    """Builds the wheels. Those of a release run with glibc 2.17 and later."""
    build_wheels(session, WHEELS, SCRATCH / WHEELS.name)


def build_tags():
    return [tag for version, tag in TAGS.items() if interpreter(version)]


@nox.session(requires=["wheels"], tags=["nightly"], default=False)
def rules(session):
    """The wheels' contents, needed libraries, symbols and hardening; the limited API."""
    install_pinned(session, REQUIREMENTS / "wheels.txt")
    tags = build_tags()
    check = str(HERE / "tools/wheel_checks.py")
    session.run("python", "-B", check, str(WHEELS), MACHINE, *tags)
    install_pinned(session, REQUIREMENTS / "twine.txt")
    session.run("twine", "check", "--strict", *map(str, sorted(WHEELS.iterdir())))
    limited = limited_extensions(pathlib.Path(session.create_tmp()))
    if limited:
        options = ("--strict", "--summary", "--assume-minimum-abi3", "3.12")
        session.run("abi3audit", *options, *limited)


def limited_extensions(folder):
    """The extensions of the wheel for the limited API. The wheel's libdlbridge.so is a script for
    the linker, which abi3audit does not take."""
    for wheel in WHEELS.glob("*-abi3-*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / wheel.stem)
    return [str(one) for one in sorted(folder.glob("*-abi3-*/dlbridge/*.abi3.so"))]


@nox.session(requires=["wheels"], tags=["selftest"], default=False)
def rules_can_fail(session):
    """The rules of the wheels report faults that are put into a wheel."""
    install_pinned(session, REQUIREMENTS / "wheels.txt")
    found = list(WHEELS.glob(f"*-{TAGS['3.12']}-*.whl"))
    if not found:
        session.skip("there is no wheel for CPython 3.12")
    session.run("python", "-B", str(HERE / "tools/wheel_checks.py"), "--faults", str(found[0]))


@nox.session(requires=["wheels"], tags=["nightly"], default=False)
def reproducible(session):
    """A second build in another folder produces the same bytes."""
    again = SCRATCH / "wheels-again"
    shutil.rmtree(again, ignore_errors=True)
    build_wheels(session, again / "wheels", again / "work")
    built = sorted((again / "wheels").iterdir())
    differ = [one.name for one in built if one.read_bytes() != (WHEELS / one.name).read_bytes()]
    if differ or len(built) != 1 + len(build_tags()):
        session.error(f"of {[one.name for one in built]} these differ: {differ}")


@nox.session(python="3.11", requires=["wheels"], tags=["nightly"], default=False)
def sdist(session):
    """The source distribution builds with this machine's compiler."""
    install_pinned(session, REQUIREMENTS / "build.txt")
    install_source(session, next(WHEELS.glob("*.tar.gz")), {"cmake.build-type": "None"})
    session.run("python", "-P", "-c", "import dlbridge._core, dlbridge._describe")


# ---------------------------------------------------------------------------------------- tests


QUICK = ("-m", "not long")  # `-- -m long` chooses the others


def run_tests(session, *chosen, **environment):
    """Runs pytest outside the checkout's package folder, so that it imports the installed one."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    session.chdir(SCRATCH)
    options = ("-q", "-p", "no:cacheprovider", "--color=no", "-ra", *chosen)
    session.run("pytest", *options, *session.posargs, str(HERE / "tests"), env=environment)


def tests(session):
    """The tests on an installed wheel, the corpus and the examples of README.md included."""
    install_pinned(session, REQUIREMENTS / "tests.txt")
    install_wheel(session, TAGS[TESTED[session.python]])
    outcomes = {}
    if session.python == "3.11":
        folder = ROOT / os.environ.get("DLBRIDGE_OUTCOMES_DIR", SCRATCH)
        folder.mkdir(parents=True, exist_ok=True)
        outcomes = {"DLBRIDGE_OUTCOMES": str(folder / "python.jsonl")}
    run_tests(session, *(QUICK if NATIVE else ()), **outcomes)


# A commit is tested with one interpreter; the others are left to the night.
for tested in (version for version in TESTED if version in CHOSEN):
    options = {"requires": ["wheels"], "tags": ["nightly"], "default": tested == "3.11"}
    nox.session(tests, name=f"tests-{tested}", python=tested, **options)


@nox.session(python=False, requires=["wheels"], tags=["nightly"], default=False)
def newest(session):
    """The tests on CPython 3.14 of Maven Central, with the wheel of 3.12."""
    folder = python_of("linux-x86_64")
    if folder is None or not list(WHEELS.glob(f"*-{TAGS['3.12']}-*.whl")):
        session.skip("Maven (Debian: maven), or the wheel for CPython 3.12, is missing")
    [wheel] = WHEELS.glob(f"*-{TAGS['3.12']}-*.whl")
    place = SCRATCH / "newest"
    make = ("-m", "venv", "--clear", "--without-pip", str(place))
    session.run(str(folder / "bin/python3.14"), *make, external=True)
    python = str(place / "bin/python")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
    session.run(*pip, "-r", str(REQUIREMENTS / "tests.txt"), external=True)
    session.run(*pip, "--no-index", str(wheel), external=True)
    session.chdir(SCRATCH)
    options = ("-q", "-p", "no:cacheprovider", "--color=no", "-ra", *session.posargs)
    session.run(python, "-m", "pytest", *options, str(HERE / "tests"), external=True)


@nox.session(python="3.11", requires=["wheels"])
def extensions(session):
    """The examples of extensions, and the typed arguments of pybind11 and nanobind.

    They are built with CMake and pkg-config against the installed wheel.
    """
    missing = [name for name in ("cmake", "ninja", "c++", "pkg-config") if not shutil.which(name)]
    if missing:
        session.error(f"not installed: {', '.join(missing)}")
    install_pinned(session, REQUIREMENTS / "tests.txt", REQUIREMENTS / "extensions.txt")
    install_wheel(session)
    # The other tests of test_typed.py need neither of them: `tests-3.11` runs those.
    chosen = "test_extensions or test_typed and (pybind11 or nanobind or list_of_arguments)"
    run_tests(session, "-k", chosen, DLBRIDGE_EXTENSIONS="1")


def install_source(session, source, settings, *options):
    """Builds and installs the package with this machine's compiler."""
    arguments = [f"-C{name}={value}" for name, value in settings.items()]
    how = ("--no-deps", "--no-index", "--no-build-isolation", "--force-reinstall")
    session.install("--quiet", *how, *arguments, *options, str(source))


# ------------------------------------------------------------------------------- other systems


def foreign(session, name):
    """The wheel for another system, and its tests as far as that system can run here."""
    programs = ("llvm-readobj", "llvm-nm", "llvm-objdump", *SYSTEMS[name].programs)
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        session.error(f"not installed: {', '.join(missing)}")
    made = build(session, name, ROOT / "build/wheels-foreign", SCRATCH / f"foreign-{name}")
    if made is None:
        session.skip("Maven (Debian: maven) is missing")
    wheel, python = made
    check = str(HERE / "tools/foreign_checks.py")
    session.run("python", "-B", check, name, str(wheel), str(python), need_zig(session))


for system in SYSTEMS:
    built = functools.partial(foreign, name=system)
    built.__doc__ = foreign.__doc__
    name = f"wheel-{system}"
    nox.session(built, name=name, python="3.11", tags=["nightly"], default=False)


# -------------------------------------------------------------------------------- interpreters


@nox.session(python=False, requires=["wheels"])
def old_pythons(session):
    """Python 3.8 and 3.9 reject the sources and name the version that they need."""
    check = (sys.executable, "-B", str(HERE / "tools/backend_refuses.py"))
    sources = (HERE, next(WHEELS.glob("*.tar.gz")))
    session.run(*check, str(HERE / "tools/backend.py"), *map(str, sources))


@nox.session(python=False)
def free_threaded_compile(session):
    """The extension _core compiles for free-threaded builds, with the headers of CPython 3.13.

    This is the only check of them where no free-threaded interpreter is found; where one is, the
    sessions tests-3.13t to tests-3.15t run its tests.
    """
    python = interpreter("3.13")
    if not python:
        session.skip("Python.h of CPython 3.13 is missing")
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    include = session.run(python, "-c", ask, silent=True, external=True).strip()
    flags = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-DPy_GIL_DISABLED=1")
    sources = sorted(str(path) for path in (HERE / "src/core").glob("*.c"))
    folders = (f"-I{ROOT / 'include'}", f"-I{include}")
    session.run("gcc", *flags, *folders, *sources, external=True)


@nox.session(python="3.11", tags=["nightly"], default=False)
def sanitizers(session):
    """The tests under AddressSanitizer and UndefinedBehaviorSanitizer, in the library too.

    Python keeps some memory until it ends, so leaks are found by counting deleters.
    """
    if not interpreter("3.11"):
        session.skip("Python.h of CPython 3.11 is missing")
    install_pinned(session, REQUIREMENTS / "build.txt", REQUIREMENTS / "tests.txt")
    settings = {
        "build-dir": SCRATCH / "sanitizers",
        "cmake.build-type": "RelWithDebInfo",
        "install.strip": "false",
        "cmake.define.DLBRIDGE_WERROR": "ON",
        "cmake.define.DLBRIDGE_SANITIZE": "address,undefined",
        "cmake.define.CMAKE_C_FLAGS_RELWITHDEBINFO": "-O1 -g",
        "cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO": "-O1 -g",
    }
    session.env.update(CC="gcc", CXX="g++")
    install_source(session, HERE, settings)
    libraries = (("gcc", "libasan.so"), ("g++", "libstdc++.so"))
    paths = [
        subprocess.run((compiler, f"-print-file-name={name}"), capture_output=True, text=True)
        for compiler, name in libraries
    ]
    run_tests(
        session,
        LD_PRELOAD=":".join(path.stdout.strip() for path in paths),
        ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
        DLBRIDGE_SLOW_MACHINE="1",
    )


# What threads do at the same time. These tests need no NumPy, which no sanitizer has compiled.
THREADED = ("test_free_threads.py", "test_release_after.py")


@nox.session(python=False, default=False)
def threads(session):
    """The tests of threads under ThreadSanitizer, with the interpreter that CPYTHON names.

    No package has such an interpreter: build and install CPython 3.13 or later from its source,
    configured with --disable-gil and --with-thread-sanitizer. TSAN_OPTIONS can name the
    suppressions of these sources. The interpreter's compiler compiles the package.
    """
    python, variables = sanitized_interpreter(session)
    place = SCRATCH / "threads"
    shutil.rmtree(place, ignore_errors=True)
    # Its pip is new enough for that interpreter; the one that runs nox may be a system's old one.
    virtualenv = (sys.executable, "-m", "virtualenv", "--quiet", "--python", python)
    session.run(*virtualenv, str(place / "venv"), external=True)
    python = str(place / "venv/bin/python")
    pip = (sys.executable, "-m", "pip")
    quietly = ("install", "--quiet", "--no-deps", "--no-compile")
    # None of these is compiled, so the Python that runs nox installs them, which is faster.
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    target = session.run(python, "-c", ask, silent=True, external=True).strip()
    chosen = ("-r", str(REQUIREMENTS / "build.txt"), "-c", str(REQUIREMENTS / "tests.txt"))
    pytest = ("pytest", "iniconfig", "packaging", "pluggy", "Pygments")
    session.run(*pip, *quietly, "--target", target, *chosen, *pytest, external=True)
    settings = {"build-dir": place / "build", "cmake.define.DLBRIDGE_SANITIZE": "thread"}
    settings.update({"cmake.build-type": "RelWithDebInfo", "install.strip": "false"})
    given = (f"-C{name}={value}" for name, value in settings.items())
    compilers = {name: variables[name].split()[0] for name in ("CC", "CXX")}
    options = ("--no-index", "--no-build-isolation", *given, str(HERE))
    session.run(python, "-m", "pip", *quietly, *options, env=compilers, external=True)
    run_sanitized(session, python, place)


def sanitized_interpreter(session):
    """The interpreter of CPYTHON, and its variables of sysconfig."""
    python = os.environ.get("CPYTHON", "")
    if not shutil.which(python):
        session.error(f"expected CPYTHON to name an interpreter, found {python!r}")
    ask = "import json, sysconfig; print(json.dumps(sysconfig.get_config_vars()))"
    variables = json.loads(session.run(python, "-c", ask, silent=True, external=True))
    sanitized = "-fsanitize=thread" in variables.get("BASECFLAGS", "")
    if not variables.get("Py_GIL_DISABLED") or not sanitized:
        session.error(f"expected --disable-gil and --with-thread-sanitizer, which {python} lacks")
    return python, variables


def run_sanitized(session, python, place):
    """ThreadSanitizer's reports are files, since pytest captures what a test prints."""
    options = f"{os.environ.get('TSAN_OPTIONS', '')} log_path={place / 'report'} exitcode=0"
    session.chdir(place)
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "-ra")
    files = (str(HERE / "tests" / name) for name in THREADED)
    environment = {"TSAN_OPTIONS": options, "DLBRIDGE_SLOW_MACHINE": "1"}
    session.run(python, *command, *session.posargs, *files, env=environment, external=True)
    reports = sorted(place.glob("report.*"))
    for report in reports:
        print(report.read_text(errors="replace"))
    if reports:
        session.error(f"ThreadSanitizer found races: {len(reports)} processes, see {place}")


# ----------------------------------------------------------------------------------- the sources


@nox.session(python="3.11", requires=["wheels"])
def types(session):
    """The stubs describe the modules, and the package keeps to its types."""
    install_pinned(session, REQUIREMENTS / "tests.txt", REQUIREMENTS / "types.txt")
    install_wheel(session)
    session.chdir(SCRATCH)
    session.env["MYPY_CACHE_DIR"] = str(SCRATCH / "mypy")
    stubs = [f"dlbridge.{path.stem}" for path in sorted((HERE / "dlbridge").glob("*.pyi"))]
    allowed = str(HERE / "tools/stubs_allowed.txt")
    session.run("python", "-m", "mypy.stubtest", "--allowlist", allowed, *stubs)
    session.run("python", "-m", "mypy", "--package", "dlbridge")


@nox.session(python=False)
def lint(session):
    """The modules and the C sources have no cycles of imports or includes."""
    session.run(sys.executable, "-B", str(HERE / "tools/cycles.py"))


# -------------------------------------------------------------------------------------- by hand


def install_editable(session):
    """Builds the extensions with debug information and installs links to the modules in Python."""
    if not interpreter(f"{sys.version_info[0]}.{sys.version_info[1]}"):
        session.skip("Python.h is missing (Debian: python3-dev)")
    install_pinned(session, REQUIREMENTS / "build.txt", REQUIREMENTS / "tests.txt")
    settings = {
        # As deep as the folders of the presets: ccache compares relative paths, and finds the
        # library's objects that the preset dev has compiled.
        "build-dir": ROOT / f"build/python-{session.name}",
        "cmake.build-type": "RelWithDebInfo",
        "cmake.define.DLBRIDGE_DEVELOP": "ON",
        "cmake.define.DLBRIDGE_WERROR": "ON",
        "install.strip": "false",
    }
    install_source(session, HERE, settings, "--editable")


@nox.session(default=False)
def develop(session):
    """An editable install: only a change of an extension needs this session again."""
    install_editable(session)
    session.log(f"installed for {session.virtualenv.location}/bin/python")


@nox.session(default=False)
def quick(session):
    """The tests with this machine's compiler and the Python that runs nox; builds no wheel."""
    install_editable(session)
    run_tests(session, *QUICK)


@nox.session(python=False, requires=["wheels"], default=False)
def bench(session):
    """The cost of an exchange beside other libraries, by CPU time and by callgrind's instructions.

    `-- PYTHON OPTION...` names a CPython 3.11 with frameworks (build/peers-venv is the default)
    and options of exchange.py.
    """
    python, *options = session.posargs or [str(ROOT / "build/peers-venv/bin/python")]
    package = SCRATCH / "bench"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade")
    wheel = next(WHEELS.glob(f"*-{TAGS['3.11']}-*.whl"))
    session.run(*pip, "--no-index", "--target", str(package), str(wheel))
    peers = SCRATCH / "bench-peers"
    session.run(*pip, "--target", str(peers), "-r", str(REQUIREMENTS / "build.txt"))
    ask = "import sysconfig; print(sysconfig.get_path('include'))"
    include = session.run(python, "-c", ask, silent=True, external=True).strip()
    build_loops(session, package, include)
    build_peer(session, package, peers / "nanobind", include)
    environment = {"PYTHONPATH": str(package)}
    program = str(HERE / "bench/exchange.py")
    session.run(python, program, *options, env=environment, external=True)


def build_loops(session, package, include):
    """Builds the extension with dlbridge's header that the benchmark calls."""
    source, out = HERE / "bench/exchange_loops.c", package / "exchange_loops.so"
    own = (f"-I{ROOT / 'include'}", str(source), "-o", str(out))
    session.run("gcc", *extension_flags(include), *own, *link_flags(package), external=True)


def extension_flags(include):
    return ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{include}")


def link_flags(package):
    library = package / "dlbridge/lib"
    return (f"-L{library}", "-l:libdlbridge.so.1", f"-Wl,-rpath,{library}")


def build_peer(session, package, nanobind, include):
    """Builds the extension with nanobind that the benchmark calls."""
    folders = (nanobind / "include", nanobind / "ext/robin_map/include")
    system = [part for folder in folders for part in ("-isystem", str(folder))]
    sources = (HERE / "bench/exchange_nanobind.cc", nanobind / "src/nb_combined.cpp")
    out = package / "exchange_nanobind.so"
    peer = ("-std=c++17", "-DNDEBUG", "-fvisibility=hidden", *system, *map(str, sources))
    session.run("g++", *extension_flags(include), *peer, "-o", str(out), external=True)


@nox.session(python="3.11", requires=["wheels"])
def instructions(session):
    """dlbridge's own instructions in each exchange with NumPy fit bench/budget.json; `-- record`
    records them. The budget is that of the core's: this machine's compiler."""
    if not NATIVE:
        session.skip("it needs DLBRIDGE_WHEELS=native")
    if not shutil.which("valgrind"):
        session.error("not installed: valgrind")
    install_pinned(session, REQUIREMENTS / "tests.txt")
    install_wheel(session, TAGS["3.11"])
    ask = "import sysconfig as s; print(s.get_path('include'), s.get_path('platlib'))"
    include, package = session.run("python", "-c", ask, silent=True).split()
    build_loops(session, pathlib.Path(package), include)
    pairs = session.run("python", str(HERE / "bench/exchange.py"), "--own", silent=True)
    task = "record-section" if "record" in session.posargs else "compare"
    budget = ("python", "-B", str(ROOT / "bench/budget.py"), task, "python")
    session.run(*budget, *pairs.strip().splitlines())
