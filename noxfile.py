# SPDX-License-Identifier: Apache-2.0
"""The stages of `./run`, one session each. `.ci/run` lists what runs where, `run` the Debian
packages that a session needs, and tests/stages.py has what the sessions share."""

import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import nox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tests"))

import checkout  # noqa: E402 needs the path above
import stages  # noqa: E402
from stages import BUILD, ROOT  # noqa: E402

nox.options.default_venv_backend = "none"
nox.options.allow_parallel = True
os.chdir(ROOT)
# The other versions of Python are tested nightly.
os.environ.setdefault("DLBRIDGE_PYTHONS", "3.11 3.12")

# The tests of `core`: all but those of devices, faults, official headers and frameworks.
CORE = "^(unit|conformance|plugin|abi|example|cpp|fuzz|lint|tool)$"
# What `core_asan` leaves to an optimised library in `./run test`, where the C++ binding runs the
# corpus.
OPTIMISED = "^(abi|example|cpp|lint)$"
# What the kind of library decides.
LINKAGE = "^(conformance|plugin|abi|example)$"
# What another build of the library could break.
ABI_TESTS = "^(unit|conformance|plugin|abi|example)$"
# What needs frameworks, or headers of others.
OFFICIAL = "^(interop|headers)$"
SLOW = {"DLBRIDGE_SLOW_MACHINE": "1"}
NO_BENCH = "-DDLBRIDGE_BUILD_BENCH=OFF"
NO_TOOL = "-DDLBRIDGE_BUILD_TOOL=OFF"  # it takes a minute, and is tested without sanitizers
# With the warnings of the Python package, which takes the same objects from ccache.
RELEASE = ("release", "-DDLBRIDGE_WERROR=ON")
PREFIX = BUILD / "bindings/prefix"
OUTCOMES = BUILD / "bindings/outcomes"
RELEASES = BUILD / "package"


def sanitizer_options(preset):
    """The environment that the preset gives its tests."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]
    return next(one["environment"] for one in presets if one["name"] == preset)


ASAN, TSAN = sanitizer_options("asan"), sanitizer_options("tsan")


def stage(function, **options):
    """A session whose counts start at zero. Stages run side by side, see `run`."""

    def run(session):
        stages.REPORTS.mkdir(parents=True, exist_ok=True)
        (stages.REPORTS / f"{session.name}.counts").unlink(missing_ok=True)
        began = stages.processor_seconds()
        try:
            function(session)
        finally:
            session.log(f"{stages.processor_seconds() - began:.0f} s of processor time")

    run.__doc__ = function.__doc__
    return nox.session(run, name=function.__name__, **options)


# A stage that changes what others use, and so runs while no other does.
alone = functools.partial(stage, allow_parallel=False)
# A stage that uses the archives for x86_64, or all of them.
after_archives_x86_64 = functools.partial(stage, requires=["archives_x86_64"])
after_archives = functools.partial(stage, requires=["archives"])


# ------------------------------------------------------------------------------ the library's tests


def need_libclang(session):
    """The parser of the public headers, which tools/facts.py uses in some tests."""
    return stages.environment(session, "abi-venv", "tests/abi/requirements.txt")


def labelled(session, labels, *options, folder=None):
    """Builds and runs the tests of the preset dev with these labels."""
    binary = stages.configure(session, "dev", NO_BENCH, *options, folder=folder)
    stages.programs(session, binary, "-L", labels)
    stages.ctest(session, binary, "-L", labels)


@stage
def core(session):
    """The core, the corpus and the C++ binding, gcc."""
    need_libclang(session)
    labelled(session, CORE)


@stage
def core_optimised(session):
    """The C++ binding with its run of the corpus, examples, the ABI and the lists of facts, gcc.
    The C tests run once in `./run test`: in `core_asan`, or here where clang is missing."""
    need_libclang(session)
    labelled(session, OPTIMISED if shutil.which("clang++") else CORE)


@stage
def without_devices(session):
    """A library without drivers, with the tests of units, the corpus, plugins and the ABI."""
    labelled(session, ABI_TESTS, "-DDLBRIDGE_DEVICES=OFF", folder="without-devices")


@stage
def core_asan(session):
    """The core and the corpus under AddressSanitizer and UndefinedBehaviorSanitizer."""
    stages.need(session, "clang++")
    binary = stages.configure(session, "asan", NO_TOOL)
    # `core` and `asan` have the conformance kit, and show that the comparison of answers can fail.
    left = "^(outcomes_test|conformance_.*)$"
    chosen = ("-L", "^(unit|conformance|plugin)$", "-LE", "sources", "-E", left)
    stages.programs(session, binary, *chosen)
    stages.ctest(session, binary, *chosen, **SLOW, **ASAN)


@stage
def one(session):
    """The tests of the preset dev whose names match a word: ./run test NAME."""
    binary = BUILD / "dev"
    if not (binary / "build.ninja").exists():
        stages.configure(session, "dev", NO_BENCH)
    names = "|".join(session.posargs)
    if not stages.programs(session, binary, "-R", names):
        session.error(f"no stage and no test is called {names}")
    stages.ctest(session, binary, "-R", names)


def need_device_headers(session):
    """The headers of CUDA, Intel's OpenCL driver for CPUs, and libclang."""
    need_libclang(session)
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    stages.environment(session, "dpnp-venv", "tests/interop/requirements-dpnp.txt")


@stage
def dev(session):
    """All tests but those with frameworks, gcc."""
    need_device_headers(session)
    binary = stages.build(session, "dev")
    stages.ctest(session, binary, "-LE", "interop")


@stage
def asan(session):
    """The tests of `dev` that sanitizers allow, under AddressSanitizer and UBSan."""
    stages.need(session, "clang++")
    need_device_headers(session)
    # `asan_long` makes all rounds of the tests that draw their inputs, and tests the tool, too.
    scale = {"DLBRIDGE_TEST_SCALE": "0.2"}
    binary = stages.build(session, "asan", NO_TOOL)
    stages.ctest(session, binary, **ASAN, **scale)


@stage
def asan_long(session):
    """The tests of `asan`, with as many rounds as those of `dev` make."""
    stages.need(session, "clang++")
    need_device_headers(session)
    with_tool = "-DDLBRIDGE_BUILD_TOOL=ON"
    stages.ctest(session, stages.build(session, "asan", with_tool), **ASAN)


@stage
def tsan(session):
    """The tests of `dev` that sanitizers allow, under ThreadSanitizer."""
    stages.need(session, "clang++")
    need_device_headers(session)
    stages.ctest(session, stages.build(session, "tsan"), **TSAN)


@stage
def static(session):
    """The static library, with all tests but those of drivers, of faults and of C++."""
    stages.ctest(session, stages.build(session, "static"))


@stage
def aarch64(session):
    """A build by Debian's cross compiler for aarch64, under qemu-user."""
    stages.need(session, "aarch64-linux-gnu-g++", "qemu-aarch64")
    stages.ctest(session, stages.build(session, "aarch64"), **SLOW)


def valgrind_one(program):
    options = (
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--child-silent-after-fork=yes",
    )
    kinds = "--errors-for-leak-kinds=definite,indirect,possible"
    command = ("valgrind", *options, kinds, str(program), "--gtest_brief=1")
    return program, subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **SLOW}
    )


@stage
def valgrind(session):
    """The core's tests under valgrind. Drivers are left out: they keep threads and memory."""
    stages.need(session, "valgrind")
    binary = stages.configure(session, "dev")
    stages.programs(session, binary, "-L", CORE)
    folders = ("unit", "conformance", "plugin", "cpp")
    found = sorted(path for name in folders for path in (binary / "tests" / name).glob("*_test"))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for program, done in pool.map(valgrind_one, found):
            bad += done.returncode != 0
            print("FAILED" if done.returncode else "passed", program.name, flush=True)
            if done.returncode:
                print(done.stdout.decode(errors="replace")[-6000:], flush=True)
    stages.count(session, passed=len(found) - bad, failed=bad)
    if bad or not found:
        session.error(f"{bad} of {len(found)} programs failed")


@stage
def interop(session):
    """Real frameworks and official headers: the dev build's tests, every pair of the small ones."""
    need_device_headers(session)
    stages.environment(session, "venv", "tests/interop/requirements.txt")
    need_crate(session)
    need_onnxruntime(session)
    binary = stages.configure(session, "dev")
    stages.programs(session, binary, "-L", OFFICIAL)
    stages.build(session, "dev", targets=("onnxruntime_api",))
    stages.ctest(session, binary, "-L", OFFICIAL)
    stages.noxfiles(session, [("tests/interop", ())], **NATIVE)


def need_crate(session):
    """The official header that a Rust crate carries; without cargo its test is skipped."""
    folder = BUILD / "crate-manifest"
    if (BUILD / "crates/dlpack-ffi/header/dlpack.h").exists() or not shutil.which("cargo"):
        return
    folder.mkdir(parents=True, exist_ok=True)
    package = '[package]\nname = "headers"\nversion = "0.0.0"\nedition = "2021"\n'
    crate = '[lib]\npath = "lib.rs"\n[dependencies]\ndlpack-ffi = "=1.3.0"\n'
    (folder / "Cargo.toml").write_text(package + crate)
    (folder / "lib.rs").touch()
    manifest = folder / "Cargo.toml"
    vendor = ("cargo", "vendor", "--quiet", "--manifest-path", manifest, BUILD / "crates")
    stages.quietly(session, "cargo", *vendor)


# ONNX Runtime's C headers; no package of Debian 12 or PyPI has them.
ONNXRUNTIME_HEADERS = "github.com/yalue/onnxruntime_go@v1.27.0"


def need_onnxruntime(session):
    """The headers of ONNX Runtime and the library of its Python package, in build/onnxruntime."""
    folder = BUILD / "onnxruntime"
    if (folder / "onnxruntime_c_api.h").exists():
        return
    need_go(session)
    ask = ("go", "mod", "download", "-json", ONNXRUNTIME_HEADERS)
    shown = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (library,) = BUILD.glob("venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*")
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):
        (folder / name).symlink_to(library)
    for header in pathlib.Path(json.loads(shown)["Dir"]).glob("onnxruntime_*c_api.h"):
        (folder / header.name).write_bytes(header.read_bytes())


# --------------------------------------------------------------------------- consumers and bindings


def build_both_kinds(session):
    stages.build(session, *RELEASE)
    options = ("-DDLBRIDGE_STATIC=ON", "-DDLBRIDGE_BUILD_EXAMPLES=OFF")
    stages.build(session, "release", *options, folder="release-static")


# Each of these builds the whole library once more; of their kind, `flags(hostile-static)` and
# `warnings(gcc)` are for each commit.
NIGHTLY_BUILDS = "flags and not (hostile and static) or warnings and clang"
BUNDLE = ("-k", "bundle and not zig and not clang and not faults")


@stage
def consumers(session):
    """The ways to consume the library, but for Debian's packages and what is left to the night."""
    build_both_kinds(session)
    chosen = ("-k", f"not debian and not selftest and not ({NIGHTLY_BUILDS})")
    stages.noxfiles(session, [("tests/consumers", chosen), ("packaging", BUNDLE)])


# The sessions of `consumers` use the same folders.
@alone
def consumers_nightly(session):
    """More flags of projects around the sources, warnings of clang, two more bundles."""
    build_both_kinds(session)
    bundles = ("-s", "bundle(clang)", "bundle(zig)")
    runs = [("tests/consumers", ("-k", NIGHTLY_BUILDS)), ("packaging", bundles)]
    stages.noxfiles(session, runs)


@alone
def debian(session):
    """Builds Debian's packages, installs them in the system's folders, uses and removes them."""
    stages.noxfiles(session, [("tests/consumers", ("-s", "debian"))])


def install_prefix(session):
    """Installs the shared library for the examples; returns the variables that they read."""
    stages.build(session, *RELEASE)
    prefix = BUILD / "examples/prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    command = ("cmake", "--install", BUILD / "release", "--prefix", prefix)
    stages.quietly(session, "install-examples", *command)
    return {"DLBRIDGE_PREFIX": str(prefix), "CARGO_TARGET_DIR": str(BUILD / "examples/target")}


@stage
def examples(session):
    """Each example against an installed library, in a copy of its folder; or only some."""
    need_go(session)
    options = ("-s", *session.posargs) if session.posargs else ()
    stages.noxfiles(session, [("examples", options)], **install_prefix(session))


@stage
def examples_nightly(session):
    """The examples that install large packages or compile the library."""
    need_go(session)
    stages.noxfiles(session, [("examples", ("-t", "large"))], **install_prefix(session))


@stage
def recipes(session):
    """The recipes of Conan, Meson, conda, vcpkg and Homebrew build the library and use it."""
    stages.noxfiles(session, [("packaging", ("-t", "recipes"))])


def install_both_kinds(session):
    """Installs both kinds of the library; returns the variables that name their folders."""
    build_both_kinds(session)
    for folder, name in (("release", "shared"), ("release-static", "static")):
        prefix = PREFIX / name
        command = ("cmake", "--install", BUILD / folder, "--prefix", prefix)
        stages.quietly(session, f"install-{name}", *command)
        kit = ("--component", "conformance")
        stages.quietly(session, f"install-{name}-conformance", *command, *kit)
    OUTCOMES.mkdir(parents=True, exist_ok=True)
    return {
        "DLBRIDGE_PREFIX": str(PREFIX / "shared"),
        "DLBRIDGE_PREFIX_STATIC": str(PREFIX / "static"),
        "DLBRIDGE_OUTCOMES_DIR": str(OUTCOMES),
    }


def go_is_new_enough():
    if not shutil.which("go"):
        return False
    found = subprocess.run(("go", "env", "GOVERSION"), capture_output=True, text=True).stdout
    number = found.strip().removeprefix("go").split(".")
    return [int(part) for part in number[:2]] >= [1, 26]


def need_go(session):
    """Installs Go where the machine has none that is new enough."""
    if not go_is_new_enough():
        python = stages.environment(session, "go-venv", "bindings/go/requirements.txt")
        os.environ["PATH"] = f"{python.parent}:{os.environ['PATH']}"


def languages_here(session):
    if not shutil.which("cargo"):
        session.warn("there is no cargo: Rust is left out")
        return ["python", "cpp", "go"]
    return ["python", "cpp", "go", "rust"]


@stage
def core_bindings(session):
    """The tests of those bindings whose toolchains are installed, without the conformance kit.
    C++'s are in `core_optimised`, which takes the same library."""
    chosen = ("--", "-m", "not long and not kit and not compiled")
    runs = [("bindings/python", ("-s", "quick", *chosen))]
    if shutil.which("go") and go_is_new_enough():
        runs.append(("bindings/go", ("-s", "tests")))
    if shutil.which("cargo"):
        runs.append(("bindings/rust", ("-s", "tests", "--", "core")))
    binary = stages.build(session, "dev", NO_BENCH, targets=("dlbridge",))
    for component in ("runtime", "development"):
        command = ("cmake", "--install", binary, "--prefix", PREFIX / "dev")
        stages.quietly(session, "install-dev", *command, "--component", component)
    stages.noxfiles(session, runs, DLBRIDGE_PREFIX=str(PREFIX / "dev"))


# Of the sessions of C++: clang-tidy on tests, the tests on an installed library, what the second
# compiler makes of programs and of headers, and misuse, each case of which is a run of a compiler.
NIGHTLY_CPP = "tidy or unit or containers or mdspan or clang or misuse"


# The wheel is of this machine's compiler: that of the release's takes twice as long.
NATIVE = {"DLBRIDGE_WHEELS": "native", "DLBRIDGE_PYTHONS": "3.11"}
PYTHON = (
    "lint", "free_threaded_compile", "tests-3.11", "types", "extensions", "old_pythons",
    "instructions",
)  # fmt: skip


@stage
def bindings(session):
    """The checks of each language, and whether all answer the corpus as C does."""
    need_go(session)
    shutil.rmtree(OUTCOMES, ignore_errors=True)
    variables = install_both_kinds(session)
    # `core` runs all tests of the C++ binding; here they would be compiled again.
    runners = {"c": "conformance/runner_test", "cpp": "cpp/cpp_conformance_test"}
    names = [runner.partition("/")[2] for runner in runners.values()]
    # Python's tests of streams load the fake driver of CUDA.
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    binary = stages.build(session, "dev", targets=[*names, "fake_cuda"])
    for name, runner in runners.items():
        answers = {"DLBRIDGE_OUTCOMES": str(OUTCOMES / f"{name}.jsonl")}
        stages.quietly(session, f"outcomes-{name}", binary / "tests" / runner, **answers)
    languages = languages_here(session)
    chosen = {"cpp": ("-k", f"not ({NIGHTLY_CPP}) and not selftest and not bench")}
    chosen["python"] = ("-s", *PYTHON)
    runs = [(f"bindings/{name}", chosen.get(name, ())) for name in languages]
    stages.noxfiles(session, runs, **variables, **NATIVE)
    files = [OUTCOMES / f"{name}.jsonl" for name in ("c", *languages)]
    stages.checks(session, "python3", "-B", "tests/conformance/outcomes.py", *files)


@stage
def bindings_nightly(session):
    """Other Pythons and systems, Python under ASan, reproducible wheels; C++ on an installed
    library, misuse, clang-tidy on its tests; the race detector, staticcheck, checkptr and fuzzing
    of Go; Rust's packages, misuse, crates of frameworks, and its tests under valgrind and ASan."""
    pythons = "3.10 3.11 3.12 3.13 3.14 3.15 3.13t 3.14t 3.15t"
    variables = {"DLBRIDGE_PYTHONS": pythons, **install_both_kinds(session)}
    runs = [("bindings/python", ("-t", "nightly"))]
    runs.append(("bindings/cpp", ("-k", NIGHTLY_CPP)))
    need_go(session)
    more = ("race", "plugin", "hosted", "staticcheck", "checkptr", "fuzz")
    runs.append(("bindings/go", ("-s", *more)))
    stages.need(session, "cargo", "clang++")
    stages.build(session, "asan", targets=("dlbridge",))
    runs.append(("bindings/rust", ("-t", "nightly")))
    stages.noxfiles(session, runs, **variables)


def need_two_frameworks(session):
    """The Python of tests/languages, with the few packages that it imports."""
    stages.environment(session, "languages-venv", "tests/languages/requirements.txt")


@stage
def languages(session):
    """Python, Rust, Go and C++ share tensors in one process, under AddressSanitizer."""
    stages.need(session, "cargo", "clang++")
    need_go(session)
    need_two_frameworks(session)
    stages.build(session, "asan", targets=("dlbridge",))
    stages.noxfiles(session, [("tests/languages", ())])


@stage
def travel(session):
    """Tensors between processes: multiprocessing, Dask, Ray and MPI."""
    stages.noxfiles(session, [("tests/travel", ())])


@stage
def matrix(session):
    """Every pair of every framework, and the conformance kit on each."""
    stages.noxfiles(session, [("tests/interop", ("-s", "whole", "old", "conformance", "adapted"))])


# ------------------------------------------------------------------------------------ ABI, package


def abi_gate(session, presets, *options):
    python = need_libclang(session)
    folders = [stages.build(session, preset) for preset in presets]
    task = session.posargs[0] if session.posargs else "check"
    command = (python, "-B", "tests/abi/gate.py", task, *options, *folders)
    if task == "check":
        stages.checks(session, *command)
    else:
        session.run(*map(str, command), external=True)


@stage
def abi(session):
    """The ABI of fresh builds against the recorded versions; `record` adds an unreleased one."""
    abi_gate(session, ("abi", "abi-aarch64"))


@stage
def abi_x86_64(session):
    """`abi` without the build for aarch64, and without the recorded tests of the version that is
    being made, which `core` runs as they are now."""
    abi_gate(session, ("abi",), "--brief")


@stage
def gate(session):
    """Changes the ABI in copies of the repository; the gate must tell legal changes apart."""
    python = need_libclang(session)
    stages.checks(session, python, "-B", "tests/abi/gate_test.py", *session.posargs)


def zig_build(session, target, name, *options, targets=()):
    """Builds for a target of zig, in build/zig-<name>."""
    stages.environment(session, "zig-venv", "packaging/requirements.txt")
    cache = str(BUILD / "zig-cache")
    os.environ.update(ZIG_GLOBAL_CACHE_DIR=cache, ZIG_LOCAL_CACHE_DIR=cache)
    options = (f"-DDLBRIDGE_ZIG_TARGET={target}", *options)
    return stages.build(session, "zig", *options, folder=f"zig-{name}", targets=targets)


def make_archive(session, machine):
    """Builds, packs and checks the release archives of a machine."""
    options = ("-DCMAKE_SHARED_LINKER_FLAGS=", "-DDLBRIDGE_DEBUG_SYMBOLS=ON")
    options += ("-DDLBRIDGE_BUILD_TOOL=ON",)
    binary = zig_build(session, f"{machine}-linux-gnu.2.17", machine, *options)
    packed = (sys.executable, "-B", "packaging/pack.py", str(binary), str(RELEASES))
    archive = session.run(*packed, external=True, silent=True).split()[-1]
    checked = ("packaging/check.py", "archive", archive, machine, RELEASES / machine)
    stages.checks(session, "python3", "-B", *checked)


@stage
def archives_x86_64(session):
    """The release archives for Linux on x86_64, checked, in build/package."""
    shutil.rmtree(RELEASES, ignore_errors=True)
    make_archive(session, "x86_64")


@after_archives_x86_64
def archives(session):
    """The release archives for aarch64 too, and SHA256SUMS of all, in build/package."""
    make_archive(session, "aarch64")
    names = sorted(path.name for path in RELEASES.glob("*.tar.gz"))
    sums = subprocess.run(("sha256sum", *names), cwd=RELEASES, check=True, capture_output=True)
    (RELEASES / "SHA256SUMS").write_bytes(sums.stdout)


def archive_options(machine):
    """Options that replace the library of a preset by the one that `archives` has unpacked."""
    return (
        "-DDLBRIDGE_BUILD_BENCH=OFF",
        f"-DDLBRIDGE_NEEDED={ROOT}/abi/needed/glibc2.17-{machine}.txt",
        f"-DDLBRIDGE_TEST_PREFIX={RELEASES / machine}",
    )


@after_archives_x86_64
def archive_x86_64(session):
    """The tests of units, the corpus, plugins and the ABI with the release archive's library."""
    options = archive_options("x86_64")
    binary = stages.configure(session, "dev", *options, folder="archive-x86_64")
    stages.programs(session, binary, "-L", ABI_TESTS)
    stages.ctest(session, binary, "-L", ABI_TESTS)


@after_archives_x86_64
def archive_x86_64_all(session):
    """All tests that an installed library allows, with that of the release archive."""
    options = archive_options("x86_64")
    binary = stages.build(session, "dev", *options, folder="archive-x86_64")
    stages.ctest(session, binary, "-LE", "interop")


@after_archives
def archive_aarch64(session):
    """The tests that depend on the linkage, with the archive for aarch64, under qemu."""
    options = archive_options("aarch64")
    binary = stages.configure(session, "aarch64", *options, folder="archive-aarch64")
    stages.programs(session, binary, "-L", LINKAGE)
    stages.ctest(session, binary, "-L", LINKAGE, **SLOW)


@after_archives
def archive_aarch64_all(session):
    """All tests that an installed library allows, with that of the archive, under qemu."""
    options = archive_options("aarch64")
    binary = stages.build(session, "aarch64", *options, folder="archive-aarch64")
    stages.ctest(session, binary, **SLOW)


@stage
def foreign(session):
    """The libraries for Windows and macOS."""
    windows = zig_build(session, "x86_64-windows-gnu", "windows", targets=("dlbridge",))
    checked = ("windows", windows / "src/dlbridge.dll")
    stages.checks(session, "python3", "-B", "packaging/check.py", *checked)
    target = "aarch64-macos.11.0"
    macos = zig_build(session, target, "macos", targets=("dlbridge",))
    library = macos / "src/libdlbridge.dylib"
    link = (zig(), "cc", "-target", target, "-Iinclude", "examples/first_import/import.c", library)
    stages.quietly(session, "macos-example", *link, "-o", macos / "first_import")
    checked = ("macos", library)
    stages.checks(session, "python3", "-B", "packaging/check.py", *checked)


@stage
def windows(session):
    """All tests with dlbridge.dll, under wine."""
    options = ("-DDLBRIDGE_BUILD_TESTS=ON", "-DDLBRIDGE_BUILD_EXAMPLES=ON")
    binary = zig_build(session, "x86_64-windows-gnu", "windows", *options)
    # Two tests that start side by side without a prefix would both create it.
    prefix = {"WINEPREFIX": str(binary / "wine"), "WINEDEBUG": "-all"}
    stages.quietly(session, "wine", "/usr/lib/wine/wine64", "wineboot", "--init", **prefix)
    stages.ctest(session, binary)


@after_archives
def faults(session):
    """The checks of the release archives report faults that are put into a copy."""
    stages.checks(session, "python3", "-B", "packaging/faults.py", RELEASES)


@stage
def tools_can_fail(session):
    """The checks of the repository, of the bindings and of the consumers report what they must."""
    python = need_libclang(session)
    stages.quietly(session, "check_repo_test", python, "-B", "tests/lint/check_repo_test.py")
    stages.quietly(session, "stages_test", sys.executable, "-B", "tests/lint/stages_test.py")
    stages.quietly(session, "release_test", python, "-B", "tests/lint/release_test.py")
    need_go(session)
    stages.quietly(session, "adding", python, "-B", "tools/adding.py")
    stages.count(session, passed=4)
    stages.checks(session, sys.executable, "-B", "bench/budget.py", "selftest")
    variables = install_both_kinds(session)
    stages.build(session, "asan", targets=("dlbridge",))
    folders = ("tests/consumers", "packaging", "bindings/cpp", "bindings/python")
    if shutil.which("cargo"):
        need_two_frameworks(session)
        folders += ("tests/languages", "bindings/rust")
    runs = [(name, ("-t", "selftest")) for name in folders]
    # A self-test that is skipped shows nothing.
    stages.noxfiles(session, runs, may_skip=False, **variables)


# -------------------------------------------------------------------------------------------- lint


# Each lists what it would change, or fails.
FORMATTERS = (
    ("clang-format", ("--dry-run", "-Werror"), ("*.c", "*.cc", "*.h", "*.hpp", "*.inc")),
    ("rustfmt", ("--check", "--files-with-diff", "--edition", "2021"), ("*.rs",)),
    ("gofmt", ("-l",), ("*.go",)),
)


@stage
def format(session):
    """clang-format, rustfmt and gofmt, as far as they are installed."""
    for program, arguments, patterns in FORMATTERS:
        names = checkout.files(*patterns)
        if not shutil.which(program):
            session.warn(f"{program} is not installed: {len(names)} files are left out")
            continue
        session.log(f"{program} on {len(names)} files")
        wrong = session.run(
            program, *arguments, *names, silent=True, stderr=None, external=True, log=False
        )
        if wrong:
            session.error(f"{program} would change:\n{wrong}")


@stage
def scripts(session):
    """shellcheck; ruff on Python."""
    session.run("shellcheck", "run", ".ci/run", *checkout.files("*.sh"), external=True)
    ruff = stages.environment(session, "lint-venv", "tests/lint/requirements.txt").parent / "ruff"
    session.run(str(ruff), "check", "--no-cache", ".", external=True)
    session.run(str(ruff), "format", "--no-cache", "--check", ".", external=True)


@stage
def workflows(session):
    """actionlint."""
    need_go(session)
    tool = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
    target = {"GOBIN": str(BUILD / "lint-bin"), "GOFLAGS": "-buildvcs=false"}
    stages.quietly(session, "actionlint", "go", "install", tool, **target)
    session.run(str(BUILD / "lint-bin/actionlint"), external=True)


@stage
def repository(session):
    """The texts of the repository agree with each other."""
    python = need_libclang(session)
    session.run(str(python), "-B", "tests/lint/check_repo.py", external=True)
    stages.quietly(session, "versions_test", sys.executable, "-B", "tests/lint/versions_test.py")


def run_tidy(session, mode):
    need_device_headers(session)
    binary = stages.configure(session, "dev")
    session.run(sys.executable, "-B", "tests/lint/tidy.py", str(binary), mode)


@stage
def tidy(session):
    """clang-tidy on the library, without its static analyzer."""
    run_tidy(session, "library")


@stage
def tidy_deep(session):
    """clang-tidy on the library with the static analyzer, and on the tool."""
    run_tidy(session, "deep")


@stage
def tidy_tests(session):
    """clang-tidy on tests and benchmarks, with all checks that fit tests."""
    run_tidy(session, "tests")


# ----------------------------------------------------------------------------------- documentation


def docs_python(session):
    return stages.environment(session, "docs-venv", "docs/requirements.txt")


@stage
def docs(session):
    """The documentation in build/docs/html; a warning of any generator is a failure."""
    stages.need(session, "doxygen")
    left_out = [] if shutil.which("cargo") else ["rust"]
    left_out += [] if shutil.which("go") and go_is_new_enough() else ["go"]
    for name in left_out:
        session.warn(f"the reference of {name} is left out: its tools are not installed")
    build = ("docs/site/build.py", "--without", ",".join(left_out))
    stages.checks(session, docs_python(session), "-B", *build)


def run_documents(session, *options):
    need_go(session)
    python = docs_python(session)
    runner = ("-B", "tests/documents/run.py")
    stages.quietly(session, "documents-selftest", python, *runner, "selftest")
    session.run(str(python), *runner, "list", external=True)
    clone = BUILD / "documents/clone"
    shutil.rmtree(clone, ignore_errors=True)
    checkout.copy(clone)
    stages.checks(session, python, *runner, "run", clone, *options)


@stage
def documents(session):
    """The commands of README, guides and bindings, in order, from a clean clone; or some pages."""
    run_documents(session, *session.posargs)


@stage
def documents_nightly(session):
    """The commands of `documents`, and of the pages that compile the library once more."""
    run_documents(session, "--all")


# ----------------------------------------------------------------------------------------- by hand


@stage
def bundle(session):
    """One header and one source to copy into a project, in build/bundle; `--prefix PREFIX`."""
    shutil.rmtree(BUILD / "bundle", ignore_errors=True)
    write = (sys.executable, "-B", "packaging/bundle/bundle.py", str(BUILD / "bundle"))
    session.run(*write, *session.posargs, external=True)


@stage
def release(session):
    """All artefacts of a release, checked, in build/dist; `--dry-run` before it has its tag."""
    need_go(session)
    if not {"--check", "-h", "--help"} & set(session.posargs):
        stages.environment(session, "release-venv", "packaging/release-requirements.txt")
    make = (sys.executable, "-B", "packaging/release.py")
    stages.checks(session, *make, *session.posargs)


def build_with_coverage(session):
    """The fuzz targets as replays, in build/coverage, with the counters of llvm-cov."""
    stages.need(session, "clang++", "llvm-cov", "llvm-profdata")
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    flags = "-fprofile-instr-generate -fcoverage-mapping"
    options = ("-DDLBRIDGE_SANITIZE=", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}")
    return stages.build(session, "asan", *options, folder="coverage", targets=("fuzz_targets",))


@stage
def fuzz(session):
    """libFuzzer on all targets of tests/fuzz: SECONDS in total, and the target.

    `--coverage` reports the branches that the seeds take; `--minimise` writes the seeds anew.
    """
    stages.need(session, "clang++")
    words = list(session.posargs) or ["60"]
    script = (sys.executable, "-B", "tests/fuzz/fuzz.py")
    if words[0] == "--coverage":
        checker = (sys.executable, "-B", "tests/fuzz/coverage.py", *(words[1:] or ["check"]))
        session.run(*checker, str(build_with_coverage(session)), external=True)
        return
    # Without CUDA's headers, the targets on its fake driver would be left out.
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    binary = stages.build(session, "fuzz", targets=("fuzz_targets",))
    if words[0] == "--minimise":
        session.run(*script, "minimise", str(binary), *words[1:], external=True)
        return
    stages.checks(session, *script, "run", binary, *words)


@stage
def mutants(session):
    """Faults that the fuzz targets must find, each in a copy of the sources; or those named."""
    stages.need(session, "clang++")
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    script = (sys.executable, "-B", "tests/fuzz/mutants.py")
    stages.checks(session, *script, BUILD / "mutants", *session.posargs)


@stage
def models(session):
    """spin and loom on the models of tests/models, and on models with faults."""
    stages.checks(session, sys.executable, "-B", "tests/models/check.py", "spin", BUILD / "models")
    if not shutil.which("cargo"):
        session.warn("there is no cargo: the memory orders are left out")
        stages.count(session, skipped=1)
        return
    manifest = ROOT / "tests/models/orders/Cargo.toml"
    target = BUILD / "models/orders"
    command = ("cargo", "test", "--release", "--locked", "--quiet")
    files = ("--manifest-path", manifest, "--target-dir", target)
    stages.quietly(session, "models-orders", *command, *files)
    stages.count(session, passed=1)


@stage
def races(session):
    """Each function while another thread changes its structs, under both sanitizers."""
    stages.need(session, "clang++")
    seconds = session.posargs[0] if session.posargs else "60"
    for preset, variables in (("asan", ASAN), ("tsan", TSAN)):
        program = stages.build(session, preset, targets=("race_test",)) / "tests/unit/race_test"
        environment = {"DLBRIDGE_RACE_SECONDS": seconds, **variables}
        session.run(str(program), "--gtest_brief=1", external=True, env=environment)
        stages.count(session, passed=1)


@stage
def soak(session):
    """Long runs; the threads also under ThreadSanitizer."""
    stages.need(session, "clang++")
    environment = {"DLBRIDGE_SOAK_SECONDS": session.posargs[0] if session.posargs else "600"}
    options = ("-DDLBRIDGE_BUILD_BENCH=OFF",)
    for preset, tests, variables in (("dev", "*", {}), ("tsan", "*Threads*", TSAN)):
        binary = stages.build(session, preset, *options, targets=("soak_test",))
        command = (str(binary / "tests/unit/soak_test"), f"--gtest_filter={tests}")
        session.run(*command, external=True, env={**environment, **variables})
        stages.count(session, passed=1)
    # A million altered messages of another process.
    binary = stages.build(session, "asan", *options, targets=("ipc_peers_test",))
    variables = {**ASAN, "DLBRIDGE_TEST_SCALE": "50"}
    session.run(str(binary / "tests/unit/ipc_peers_test"), external=True, env=variables)
    stages.count(session, passed=1)


def released_library(session):
    return {"DLBRIDGE_LIBRARY": str(stages.build(session, *RELEASE) / "src/libdlbridge.so")}


@stage
def demo(session):
    """Real tensors of installed frameworks through dlbridge (under 3 minutes)."""
    python = stages.environment(session, "venv", "tests/interop/requirements.txt")
    command = (str(python), "-B", "examples/demo/demo.py", *session.posargs)
    session.run(*command, external=True, env=released_library(session))


@stage
def budget(session):
    """Instructions of the core and of the C++ binding against bench/budget.json."""
    stages.need(session, "valgrind")
    options = ("-DDLBRIDGE_BUILD_BENCH=ON", "-DDLBRIDGE_BUILD_EXAMPLES=OFF")
    targets = ("core_instructions",)
    binary = stages.build(session, "release", *options, folder="budget", targets=targets)
    stages.checks(session, sys.executable, "-B", "bench/budget.py", "check", binary)


# Lines with a ratio, such as `2.24x` of Rust and Go and `1.02 (1.02 to 1.03) of 945 ns` of Python.
FIGURES = re.compile(r"\d\.\d+ ?x\b|\d\.\d\d (\([\d. to]+\) )?of \d|instructions")


def bench_bindings(session):
    """The benchmarks of the bindings beside their peers, one after the other, as texts."""
    shutil.rmtree(BUILD / "bench-texts", ignore_errors=True)
    (BUILD / "bench-texts").mkdir()
    prefix = BUILD / "bench-prefix"
    stages.build(session, *RELEASE)
    stages.quietly(
        session, "bench-install", "cmake", "--install", BUILD / "release", "--prefix", prefix
    )
    for name in ("rust", "go", "python"):
        command = (sys.executable, "-m", "nox", "-f", f"bindings/{name}/noxfile.py", "-s", "bench")
        environment = {**os.environ, "DLBRIDGE_PREFIX": str(prefix)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        # nox logs to stderr; its lines start with "nox > ".
        lines = [line.removeprefix("nox > ") for line in (done.stderr + done.stdout).splitlines()]
        figures = [line.rstrip() for line in lines if FIGURES.search(line)]
        if done.returncode != 0 or not figures:
            session.log(f"no figures of bindings/{name}: " + "; ".join(lines[-3:]))
            continue
        (BUILD / f"bench-texts/{name}.txt").write_text("\n".join(figures) + "\n")


@stage
def bench(session):
    """Benchmarks beside malloc and other libraries; writes docs/performance.md. `--core`: only the
    core; other options go to the program."""
    need_device_headers(session)
    peers = stages.environment(session, "peers-venv", "bench/requirements-peers.txt")
    plots = stages.environment(session, "bench-venv", "bench/requirements.txt")
    options = (
        "-DDLBRIDGE_BUILD_TESTS=ON",
        "-DDLBRIDGE_BUILD_BENCH=ON",
        f"-DDLBRIDGE_PYTHON={peers}",
    )
    targets = ("benchmarks",)
    binary = stages.build(session, "release", *options, folder="bench", targets=targets)
    if "--core" not in session.posargs:
        bench_bindings(session)
    report = (str(plots), "-B", "bench/report.py", str(binary), *session.posargs)
    session.run(*report, external=True)
    write = (str(plots), "-B", "bench/performance.py", str(binary / "results.json"))
    session.run(*write, external=True)


# ------------------------------------------------------------------------------------ NVIDIA GPUs

GPU = BUILD / "gpu"
GPU_MACHINE = "x86_64"


def zig():
    """The compiler of the archives, which links for an old glibc."""
    return next((BUILD / "zig-venv").glob("lib/python3*/site-packages/ziglang/zig"))


def make_timings(session):
    """The C program of the bundle; it runs with glibc 2.17."""
    program = GPU / "timings"
    command = (zig(), "cc", "-target", f"{GPU_MACHINE}-linux-gnu.2.17", "-std=c99", "-O2", "-s")
    files = (f"-I{ROOT / 'include'}", "tests/gpu/timings.c", "-ldl", "-o", program)
    stages.quietly(session, "gpu-timings", *command, *files)
    return program


def make_wheel(session):
    """The wheel for CPython 3.12 and later, or None where that is not installed."""
    options = ("-f", "bindings/python/noxfile.py", "-s", "wheels")
    nox_command = (sys.executable, "-m", "nox", *options)
    stages.quietly(session, "gpu-wheel", *nox_command, DLBRIDGE_PYTHONS="3.12")
    return next((BUILD / "wheels").glob("*-cp312-abi3-*.whl"), None)


def bundle_parts(session):
    """The library of the release archive, which is unpacked, the C program and the wheel."""
    (library,) = (RELEASES / GPU_MACHINE).glob("*/lib/libdlbridge.so.1")
    GPU.mkdir(parents=True, exist_ok=True)
    return library, make_timings(session), make_wheel(session)


@stage
def gpu(session):
    """tests/gpu on an NVIDIA GPU; `--bundle FILE` only packs them for a machine without a network.

    DLBRIDGE_GPU_PYTHON names the Python that has the frameworks.
    """
    packed = session.posargs[:1] == ["--bundle"]
    if packed and len(session.posargs) != 2:
        session.error("expected --bundle FILE")
    file = pathlib.Path(session.posargs[1] if packed else GPU / "bundle.tar.gz")
    make_archive(session, GPU_MACHINE)
    library, timings, wheel = bundle_parts(session)
    if wheel is None:
        session.error("the wheel needs CPython 3.12 and its Python.h")
    make = ("python3", "-B", "tests/gpu/bundle.py", library, timings, wheel, file)
    session.run(*map(str, make), external=True)
    if packed:
        return
    shutil.rmtree(GPU / "dlbridge-gpu", ignore_errors=True)
    shutil.unpack_archive(file, GPU)
    run_bundle(session, GPU / "dlbridge-gpu/run-gpu.sh", GPU / "results")


def run_bundle(session, script, results):
    """Runs the bundle and counts its checks."""
    status = subprocess.run(("sh", script, results, *session.posargs)).returncode
    if status == 2:
        session.skip(f"there is no GPU: {results}/summary.txt")
    lines = (results / "results.jsonl").read_text().splitlines()
    found = collections.Counter(json.loads(line)["result"] for line in lines)
    stages.count(session, **found)
    if status != 0:
        session.error(f"{found['failed']} checks failed: {results}/summary.txt")


@after_archives_x86_64
def gpu_bundle(session):
    """The bundle for a machine with a GPU, run here without a network and with the fake driver."""
    stages.environment(session, "cuda-venv", "tests/device/requirements.txt")
    binary = stages.build(session, "dev", "-DDLBRIDGE_BUILD_BENCH=OFF", targets=("fake_cuda",))
    fake = binary / "tests/fakes/fake_cuda/libcuda.so.1"
    library, timings, wheel = bundle_parts(session)
    command = ("-B", "tests/gpu/bundle_test.py", library, timings, fake)
    if wheel is None:
        session.warn("CPython 3.12 or its Python.h is missing: the bundle has no package")
        stages.quietly(session, "gpu-bundle", "python3", *command)
    else:
        # The interpreter that built the wheel.
        python = BUILD / "bindings/python/wheels/cp312-abi3-tools/bin/python"
        stages.quietly(session, "gpu-bundle", python, *command, wheel)
    stages.count(session, passed=1)
