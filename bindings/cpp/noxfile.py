# SPDX-License-Identifier: Apache-2.0
"""The checks of the C++ binding on an installed library, each a session. CMake and ctest do most of
the work, in build/bindings/cpp.

    DLBRIDGE_PREFIX=folder nox -f bindings/cpp/noxfile.py [-s 'misuse(clang)']

DLBRIDGE_PREFIX is where the shared library is installed. DLBRIDGE_PREFIX_STATIC is the same for the
static one, DLBRIDGE_OUTCOMES_DIR the folder for the answers to the conformance corpus.
"""

import os
import pathlib
import shutil
import sys

import nox

BINDING = pathlib.Path(__file__).resolve().parent
ROOT = BINDING.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import stages  # noqa: E402 needs the path above

BUILD = ROOT / "build/bindings/cpp"
OUTCOMES = pathlib.Path(os.environ.get("DLBRIDGE_OUTCOMES_DIR", BUILD)).resolve()
JOBS = str(min(os.cpu_count(), 2))
LEAST_OUTCOMES = 3200  # cases of the corpus

os.chdir(ROOT)  # also the folder that a relative --report counts from
nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False
nox.options.envdir = str(ROOT / "build/nox/cpp")
nox.options.reuse_existing_virtualenvs = True

COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
both_compilers = nox.parametrize("compiler", list(COMPILERS), ids=list(COMPILERS))


def prefix(session):
    if "DLBRIDGE_PREFIX" not in os.environ:
        session.error("set DLBRIDGE_PREFIX to the folder where the shared library is installed")
    return pathlib.Path(os.environ["DLBRIDGE_PREFIX"]).resolve()


def need(session, program):
    if not shutil.which(program):
        session.skip(f"{program} is not installed")


def run(session, *command, **options):
    return session.run(*map(str, command), external=True, **options)


def build(session, compiler, target, installed=None, options=()):
    """Builds a target with a compiler on an installed library; returns the build folder."""
    c, cxx = COMPILERS[compiler]
    need(session, cxx)
    installed = installed or prefix(session)
    folder = BUILD / f"{compiler}-{installed.name}"
    compilers = [f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"]
    found = [f"-DCMAKE_PREFIX_PATH={installed}", "-DDLBRIDGE_WERROR=ON", "-DCMAKE_CXX_STANDARD=17"]
    quiet = {"silent": True}
    configure = ["cmake", "-G", "Ninja", "-S", BINDING, "-B", folder, *compilers, *found, *options]
    run(session, *configure, **quiet)
    run(session, "cmake", "--build", folder, "--parallel", JOBS, "--target", target, **quiet)
    return folder


def test(session, folder, label, **options):
    ctest = ["ctest", "--test-dir", folder, "--label-regex", f"^{label}$", "--no-tests=error"]
    run(session, *ctest, "--output-on-failure", "--parallel", JOBS, **options)


@nox.session
def installed_headers(session):
    """The installed headers, which the other sessions test, are those of the checkout."""
    installed = prefix(session) / "include/dlbridge"
    folders = (BINDING / "include/dlbridge", ROOT / "conformance/c/include/dlbridge")
    own = {path.relative_to(top): path for top in folders for path in top.rglob("*.hpp")}
    if set(own) != {path.relative_to(installed) for path in installed.rglob("*.hpp")}:
        session.error(f"the files of {installed} are not those of the checkout")
    changed = [n for n in own if own[n].read_bytes() != (installed / n).read_bytes()]
    if changed:
        session.error(f"installed files differ from the checkout: {changed}")


@nox.session
def unit(session):
    """The unit tests and the conformance corpus, whose outcomes go to cpp.jsonl."""
    folder = build(session, "gcc", "all")
    OUTCOMES.mkdir(parents=True, exist_ok=True)
    file = OUTCOMES / "cpp.jsonl"
    file.unlink(missing_ok=True)
    test(session, folder, "cpp", env={"DLBRIDGE_OUTCOMES": str(file)})
    count = len(file.read_text().splitlines())
    if count < LEAST_OUTCOMES:
        session.error(f"expected at least {LEAST_OUTCOMES} outcomes, found {count}")


@nox.session
def containers(session):
    """The tests on Eigen and xtensor, which the unit tests leave out where these are missing."""
    for package, header in (("eigen3", "Eigen/Core"), ("xtensor", "xtensor.hpp")):
        if not pathlib.Path("/usr/include", package, header).exists():
            session.skip(f"lib{package}-dev is not installed")
    program = build(session, "gcc", "cpp_memory_test") / "tests/cpp/cpp_memory_test"
    printed = run(session, program, "--gtest_filter=Eigen.*:Xtensor.*", silent=True)
    if "5 tests from 2 test suites ran" not in printed:
        session.error(printed)


@nox.session
@both_compilers
def programs(session, compiler):
    """Programs without exceptions, in newer standards, through a table; the README's examples."""
    test(session, build(session, compiler, "cpp_programs"), "programs")


@nox.session
@both_compilers
def misuse(session, compiler):
    """The compiler rejects each misuse, for the stated reason."""
    test(session, build(session, compiler, "help"), "misuse")


@nox.session
@both_compilers
def warnings(session, compiler):
    """The header has no warnings in C++17 and C++20, with and without exceptions."""
    test(session, build(session, compiler, "help"), "warnings")


@nox.session
def static(session):
    """A program with the static library."""
    if "DLBRIDGE_PREFIX_STATIC" not in os.environ:
        session.skip("DLBRIDGE_PREFIX_STATIC is not set")
    installed = pathlib.Path(os.environ["DLBRIDGE_PREFIX_STATIC"]).resolve()
    folder = build(session, "gcc", "cpp_plain", installed)
    run(session, "ctest", "--test-dir", folder, "--tests-regex", "^cpp_plain$", "--no-tests=error")


@nox.session
def cost(session):
    """Instructions that the binding adds to the C calls."""
    need(session, "valgrind")
    test(session, build(session, "gcc", "cpp_cost"), "cost")


@nox.session(venv_backend="none")
def mdspan_std(session):
    """std::mdspan of libc++, which zig brings; the object needs nothing of that library's code."""
    python = stages.environment(session, "zig-venv", "packaging/requirements.txt")
    installed, made = prefix(session), BUILD / "mdspan-std"
    BUILD.mkdir(parents=True, exist_ok=True)
    flags = "-std=c++23 -O1 -fno-sanitize=undefined -Wall -Wextra -Wpedantic -Wconversion -Werror"
    cache = {name: str(BUILD / "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    source = ["-I", installed / "include", "-c", BINDING / "tests/mdspan_program.cc"]
    zig = [python, "-m", "ziglang", "c++", *flags.split(), "-Wold-style-cast"]
    run(session, *zig, *source, "-o", f"{made}.o", env=cache)
    link = [f"-L{installed}/lib", "-ldlbridge", f"-Wl,-rpath,{installed}/lib"]
    run(session, "g++", f"{made}.o", "-o", made, *link)
    run(session, made)


@nox.session(venv_backend="venv")
def mdspan_cuda(session):
    """cuda::std::mdspan."""
    session.install("--requirement", str(BINDING / "tests/requirements.txt"))
    headers = list(pathlib.Path(session.virtualenv.location).rglob("cuda/std/mdspan"))
    if not headers:
        session.error("nvidia-cuda-cccl has no cuda/std/mdspan")
    option = f"-DDLBRIDGE_CCCL_INCLUDE={headers[0].parents[2]}"
    test(session, build(session, "gcc", "cpp_mdspan_cuda", options=[option]), "mdspan")


UNITS = [path.stem for path in sorted((BINDING / "tests").glob("*_test.cc"))]


@nox.session
@nox.parametrize("source", [*UNITS, "plain_program"], ids=[*UNITS, "plain_program"])
def tidy(session, source):
    """clang-tidy on a test and the headers; the analyzer, which is slow, on one program only."""
    need(session, "clang-tidy")
    checks = [] if source == "plain_program" else ["--checks=-clang-analyzer-*"]
    filters = ["--warnings-as-errors=*", "--header-filter=bindings/cpp/|dlbridge/hpp/"]
    includes = ["-isystem", ROOT / "include", "-isystem", "/usr/include/eigen3", f"-I{ROOT}/tests"]
    flags = ["-std=c++17", f"-I{BINDING}/include", *includes, '-DDLBRIDGE_CASES=""']
    file = BINDING / f"tests/{source}.cc"
    run(session, "clang-tidy", "--quiet", *filters, *checks, file, "--", *flags)


@nox.session(tags=["selftest"], default=False)
def selftest_cost(session):
    """The check of cost fails where the limit is below what C costs."""
    need(session, "valgrind")
    test(session, build(session, "gcc", "cpp_cost"), "selftest")


@nox.session(default=False)
def bench(session):
    """Times beside the same calls in C and malloc, then instructions."""
    folder = build(session, "gcc", "cpp_cost_bench")
    run(session, folder / "tests/cpp_cost_bench")
    cost(session)
