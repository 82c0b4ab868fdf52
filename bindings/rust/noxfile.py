# SPDX-License-Identifier: Apache-2.0
"""The checks of the Rust bindings, one session each: nox -f bindings/rust/noxfile.py

DLBRIDGE_PREFIX         folder where the shared library is installed
DLBRIDGE_PREFIX_STATIC  the same for the static library; without it `static` is skipped
DLBRIDGE_OUTCOMES_DIR   folder for rust.jsonl, the outcome of each step of the corpus
DLBRIDGE_FUZZ_SECONDS   fuzzing time; without it `fuzz` is skipped

Paths are absolute. All output is in build/bindings/rust.
"""

import functools
import json
import os
import pathlib
import re
import shutil
import sys

import nox

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "build/bindings/rust"
TARGET = SCRATCH / "target"
FEATURES = ("--features", "dlbridge/ndarray,dlbridge/half,dlbridge-sys/runtime")
CRATES = ("-p", "dlbridge-sys", "-p", "dlbridge")
# The conformance kit.
KIT = ("-p", "dlbridge-conformance")
FUZZ_TARGETS = ("import", "program")
STRICT = ("--", "-D", "warnings")
NUMPY = "numpy==2.4.6"
MISUSE = "misuse_does_not_compile"
# Variables of the user that lead to another library or to another build.
IGNORED = ("PKG_CONFIG_LIBDIR", "DLBRIDGE_NO_PKG_CONFIG", "DLBRIDGE_STATIC",
           "DLBRIDGE_LINK_SHARED", "RUSTFLAGS", "RUSTDOCFLAGS", "CARGO_BUILD_TARGET")  # fmt: skip

nox.options.default_venv_backend = "none"
nox.options.envdir = str(SCRATCH / "nox")
nox.options.sessions = [
    "lint", "clippy", "tests", "panics", "instructions", "static", "fuzz",
]  # fmt: skip


def required(session, *programs):
    """Skips the session if a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            session.skip(f"{program} is not installed")


def prefix(session, variable="DLBRIDGE_PREFIX"):
    """The folder where the library is installed."""
    if not os.environ.get(variable):
        session.error(f"{variable} must name the folder where the library is installed")
    return pathlib.Path(os.environ[variable])


def use(session, folder, target):
    """Lets cargo find the library in `folder` only, and build in `target`."""
    session.env.update(dict.fromkeys(IGNORED))
    session.env["PKG_CONFIG_PATH"] = str(folder / "lib/pkgconfig")
    session.env["LD_LIBRARY_PATH"] = str(folder / "lib")
    session.env["CARGO_TARGET_DIR"] = str(target)
    session.env["CARGO_INCREMENTAL"] = "0"


def cache(session, compiler):
    """Compiles the bundled source with ccache, if it is installed."""
    if shutil.which("ccache") is not None:
        session.env["CXX"] = f"ccache {compiler}"


def check(function=None, tags=()):
    """A session that uses the shared library; it is skipped without cargo."""
    if function is None:
        return functools.partial(check, tags=tags)

    @functools.wraps(function)
    def run(session):
        required(session, "cargo")
        use(session, prefix(session), TARGET)
        SCRATCH.mkdir(parents=True, exist_ok=True)
        function(session)

    return nox.session(run, tags=list(tags))


def needs_only_c(session, program):
    """The program loads neither dlbridge nor the C++ runtime."""
    needed = session.run("readelf", "--dynamic", str(program), external=True, silent=True)
    if re.search(r"NEEDED.*(dlbridge|stdc\+\+)", needed):
        session.error(f"{program} needs more than the C library:\n{needed}")


@check
def lint(session):
    """No modules depend on each other in a cycle, and no function is forgotten."""
    session.run("python3", "-B", "tools/modules.py", "dlbridge/src", "dlbridge-sys/src")
    source = "".join(path.read_text() for path in HERE.glob("dlbridge/src/*.rs"))
    for name in re.findall(r"^\w+", (ROOT / "abi/symbols.txt").read_text(), re.MULTILINE):
        if not re.search(rf"\bsys::{name}\b", source):
            session.error(f"dlbridge/src never calls {name}")
    readme = (HERE / "dlbridge/README.md").read_text()
    for name in re.findall(r"^ *pub (?:const )?unsafe fn (\w+)", source, re.MULTILINE):
        if not re.search(rf"[`:]{name}`", readme):
            session.error(f"dlbridge/README.md must state what the caller of {name} guarantees")


@check
def clippy(session):
    """Clippy, with every set of features that the crates are used with."""
    lint = functools.partial(session.run, "cargo", "clippy", "--locked")
    lint("--workspace", "--all-targets", *FEATURES, *STRICT)
    lint("-p", "dlbridge", *STRICT)
    lint("-p", "dlbridge-sys", "--no-default-features", "--features", "runtime", *STRICT)
    lint("--no-default-features", "--manifest-path", "fuzz/Cargo.toml", *STRICT)


@check(tags=["nightly"])
def documentation(session):
    """The documentation builds without warnings, also of features that the website leaves out."""
    session.env["RUSTDOCFLAGS"] = "-D warnings"
    session.run("cargo", "doc", "--locked", "--no-deps", *CRATES, *KIT, *FEATURES)


def hooks(session):
    """Builds the library that makes calls of the C library fail; its path."""
    library = SCRATCH / "faults.so"
    source = ROOT / "tests/faults/hooks.c"
    session.run("cc", "-std=c11", "-shared", "-fPIC", "-O1", str(source), "-ldl", "-o",
                str(library), external=True)  # fmt: skip
    return str(library)


@check
def tests(session):
    """Unit tests, behaviour, corpus, fuzz corpus, layout, loading, and all examples; the corpus
    while calls of the library fail. `-- core` leaves out the conformance kit."""
    session.env["DLBRIDGE_FAULTS"] = hooks(session)
    outcomes = pathlib.Path(os.environ.get("DLBRIDGE_OUTCOMES_DIR") or SCRATCH) / "rust.jsonl"
    outcomes.parent.mkdir(parents=True, exist_ok=True)
    outcomes.unlink(missing_ok=True)
    session.env["DLBRIDGE_OUTCOMES"] = str(outcomes)
    session.env["DLBRIDGE_LIBRARY"] = str(prefix(session) / "lib/libdlbridge.so")
    # `misuse` runs that test.
    crates = CRATES if "core" in session.posargs else (*CRATES, *KIT)
    session.run("cargo", "test", "--locked", *crates, *FEATURES, "--", "--skip", MISUSE)
    if not outcomes.exists():
        session.error("the corpus did not run")


@check(tags=["nightly"])
def misuse(session):
    """What the types forbid does not compile; each case is two runs of the compiler."""
    session.run("cargo", "test", "--locked", "-p", "dlbridge", *FEATURES, "--test", "compile_fail")


def install_numpy(session):
    """NumPy for the interpreter that the program embeds; the folder of its packages."""
    folder = SCRATCH / "numpy"
    session.run(sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target",
                str(folder), NUMPY)  # fmt: skip
    return folder


@check(tags=["nightly"])
def frameworks(session):
    """Tensors of Python objects, of candle and of cudarc: their crates take minutes to compile. The
    tests of cudarc need a CUDA device, and are skipped without one."""
    session.env["PYO3_PYTHON"] = sys.executable
    session.env["CUDARC_CUDA_VERSION"] = "12000"
    session.env["PYTHONPATH"] = str(install_numpy(session))
    session.env["DLBRIDGE_NUMPY"] = "1"
    crate = ("-p", "dlbridge", "--features", "pyo3,candle,cudarc")
    session.run("cargo", "clippy", "--locked", "--all-targets", *crate, *STRICT)
    tests = ("--test", "python", "--test", "candle", "--test", "cuda")
    session.run("cargo", "test", "--locked", *crate, *tests)


def run_programs(session, *runner, **environment):
    """Runs the test programs that exercise the library, each under `runner`."""
    # A forked child has none of the threads that own memory, which valgrind reports as lost. The
    # others leak: a tensor without a deleter, and the payload of a panic in the drop of a payload.
    left_out = ("a_drop_after_a_fork", "a_null_deleter_is_legal", "payloads_and_owners_that_panic")
    options = ("--quiet", *(word for name in left_out for word in ("--skip", name)))
    names = ("behaviour", "conformance", "fuzz_corpus")
    executable = r'"executable":"([^"]*/(?:' + "|".join(names) + r')-\w+)"'
    tests = [word for name in names for word in ("--test", name)]
    command = ("cargo", "test", "--locked", *CRATES, *FEATURES, *tests)
    built = session.run(*command, "--no-run", "--message-format", "json", silent=True, stderr=None)
    programs = re.findall(executable, built)
    if len(programs) != len(names):
        session.error(f"expected {len(names)} programs, found {programs}")
    for program in programs:
        session.run(*runner, program, *options, external=True, env=environment)


@check(tags=["nightly"])
def valgrind(session):
    """The tests under valgrind: what the library reads of Rust's memory, and what leaks."""
    required(session, "valgrind")
    options = (
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--child-silent-after-fork=yes",
        "--errors-for-leak-kinds=definite,indirect",
        "--show-leak-kinds=definite,indirect",
    )
    run_programs(session, "valgrind", *options)


@check(tags=["nightly"])
def address_sanitizer(session):
    """The tests over a library that was built with AddressSanitizer and UndefinedBehaviorSanitizer,
    which also watch Rust's heap. The preset asan must have been built."""
    required(session, "clang")
    library = ROOT / "build/asan/src"
    if not (library / "libdlbridge.so").exists():
        session.skip("the preset asan is not built")
    files = (("clang", "libclang_rt.asan-x86_64.so"), ("g++", "libstdc++.so.6"))
    preload = [session.run(compiler, f"-print-file-name={file}", silent=True, external=True).strip()
               for compiler, file in files]  # fmt: skip
    run_programs(
        session,
        LD_PRELOAD=" ".join(preload),
        LD_LIBRARY_PATH=str(library),
        ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:strict_string_checks=1",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
    )


@check
def panics(session):
    """A panic in a callback is caught, or aborts a program that was built to abort."""
    panic = ("cargo", "run", "--locked", "-p", "programs", "--bin", "panic_abort")
    session.run(*panic)
    session.run(*panic, "--profile", "aborting", success_codes=[-6])  # SIGABRT


def counted(session, program):
    """The instructions of one upgrade and its release: 1000 more calls, without the start."""
    totals = []
    for count in ("1000", "2000"):
        file = f"--callgrind-out-file={SCRATCH}/callgrind.out"
        log = session.run("valgrind", "--tool=callgrind", file, str(program), count,
                          external=True, silent=True)  # fmt: skip
        totals.append(int(re.search(r"Collected : (\d+)", log)[1]))
    return (totals[1] - totals[0]) / 1000


def count_instructions(session):
    """Compares the hot path in Rust with the same in C."""
    session.run("cargo", "build", "--locked", "--release", "-p", "programs", "--bin", "hot_path")
    folder, in_c = prefix(session), SCRATCH / "hot_path_c"
    session.run("cc", "-O2", f"-I{folder}/include", "tools/hot_path.c", "-o", str(in_c),
                f"-L{folder}/lib", "-ldlbridge", external=True)  # fmt: skip
    c, rust = counted(session, in_c), counted(session, TARGET / "release/hot_path")
    session.log(f"instructions of a validated upgrade and drop, ndim 4: C {c}, Rust {rust}")
    # Far fewer than C's would mean that the work was optimised away.
    if not c / 2 < rust <= c + 15:
        session.error("expected at most 15 more than in C")
    task = "record-section" if "record" in session.posargs else "compare"
    budget = ("python3", "-B", str(ROOT / "bench/budget.py"), task, "rust")
    session.run(*budget, f"upgrade_drop/4={rust}", f"upgrade_drop_in_c/4={c}")


@check
def instructions(session):
    """The hot path costs at most 15 instructions more than in C, and fits bench/budget.json;
    `-- record` records it."""
    required(session, "valgrind")
    count_instructions(session)


@check
def static(session):
    """A program with the static library needs no other file."""
    if not os.environ.get("DLBRIDGE_PREFIX_STATIC"):
        session.skip("DLBRIDGE_PREFIX_STATIC is not set")
    use(session, prefix(session, "DLBRIDGE_PREFIX_STATIC"), SCRATCH / "static")
    session.run("cargo", "run", "--locked", "-p", "programs", "--bin", "hot_path", "10")
    needs_only_c(session, SCRATCH / "static/debug/hot_path")


def unpack_packages(session):
    """Packages the crates and unpacks them as one workspace, which replaces the registry."""
    crates = (*CRATES, *KIT)
    # What `cargo publish` would upload; `packages` builds it below.
    session.run(
        "cargo", "publish", "--dry-run", "--locked", "--allow-dirty", "--no-verify", *crates
    )  # fmt: skip
    session.run("cargo", "package", "--locked", "--allow-dirty", "--no-verify", *crates)
    version = re.search(r'^version = "(.*)"', (HERE / "Cargo.toml").read_text(), re.MULTILINE)[1]
    folder = SCRATCH / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = [f"{crate}-{version}" for crate in crates[1::2]]
    for name in names:
        # Cargo compares dates, and those in a package never change: --touch sets them to now.
        session.run("tar", "--extract", "--touch", "--directory", str(folder), "--file",
                    f"{SCRATCH}/package/package/{name}.crate", external=True)  # fmt: skip
    patch = f'[patch.crates-io]\ndlbridge-sys = {{ path = "{names[0]}" }}\n'
    workspace = f'[workspace]\nresolver = "2"\nmembers = {json.dumps(names)}\n'
    (folder / "Cargo.toml").write_text(workspace + patch)
    shutil.copy(HERE / "Cargo.lock", folder)
    return folder


@check(tags=["nightly"])
def packages(session):
    """The packages build the library that they carry, and pass examples and layout tests."""
    # An installed library of another ABI is not used.
    other = SCRATCH / "other_abi/lib/pkgconfig/dlbridge.pc"
    other.parent.mkdir(parents=True, exist_ok=True)
    installed = (prefix(session) / "lib/pkgconfig/dlbridge.pc").read_text()
    other.write_text(re.sub("(?m)^abi=.*", "abi=99", installed))
    use(session, SCRATCH / "other_abi", SCRATCH / "package")
    cache(session, "c++")
    with session.chdir(unpack_packages(session)):
        session.run("cargo", "test", "--doc", "-p", "dlbridge", *KIT)
        layout = ("cargo", "test", "-p", "dlbridge-sys", "--test", "layout")
        session.run(*layout)
        messages = session.run(*layout, "--no-run", "--message-format", "json", silent=True)
        needs_only_c(session, re.search(r'"executable":"([^"]*)"', messages)[1])


@check
def fuzz(session):
    """Fuzzes with clang's libFuzzer and the library under sanitizers, on a stable compiler."""
    if not os.environ.get("DLBRIDGE_FUZZ_SECONDS"):
        session.skip("DLBRIDGE_FUZZ_SECONDS is not set")
    required(session, "clang++")
    host = session.run("rustc", "--print", "host-tuple", silent=True).strip()
    seconds = int(os.environ["DLBRIDGE_FUZZ_SECONDS"]) // len(FUZZ_TARGETS)
    session.env["CARGO_TARGET_DIR"] = str(SCRATCH / "fuzz/target")
    cache(session, "clang++")
    # A deleter of the corpus may be NULL, so the target counts leaks itself.
    session.env["ASAN_OPTIONS"] = "detect_leaks=0"
    for target in FUZZ_TARGETS:
        found = SCRATCH / "fuzz/corpus" / target
        found.mkdir(parents=True, exist_ok=True)
        with session.chdir("fuzz"):
            session.run(
                "cargo", "run", "--config", "libfuzzer.toml", "--locked", "--release",
                "--no-default-features", "--bin", target, "--target", host, "--",
                f"-max_total_time={max(1, seconds)}", "-max_len=128",
                f"-artifact_prefix={SCRATCH}/fuzz/{target}-", str(found), f"corpus/{target}",
            )  # fmt: skip


def must_reject(session, tool, *arguments):
    """The tool fails."""
    session.run("python3", "-B", f"tools/{tool}", *map(str, arguments), success_codes=[1])


@check(tags=["selftest"])
def modules_can_fail(session):
    """tools/modules.py reports a cycle."""
    source = SCRATCH / "cycle"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / "dlbridge/src", source)
    with (source / "borrowed.rs").open("a") as file:
        file.write("use crate::TensorView;\n")
    must_reject(session, "modules.py", source)


@check(tags=["bench"])
def bench(session):
    """Times beside the C functions and dlpark, as multiples of malloc and free; instructions."""
    with session.chdir("bench"):
        session.run("cargo", "clippy", "--locked", "--all-targets", *STRICT)
        session.run("cargo", "bench", "--locked", "--bench", "upgrade", "--", "--noplot")
    estimates = TARGET.glob("criterion/upgrade/*/new/estimates.json")
    medians = {path.parents[1].name: json.loads(path.read_text())["median"]["point_estimate"]
               for path in estimates}  # fmt: skip
    for name, median in sorted(medians.items(), key=lambda item: item[1]):
        each = median / 64 if name.endswith("_64") else median
        session.log(f"{name:20} {each:8.1f} ns {each / medians['malloc_free_128']:6.2f}x")
    count_instructions(session)
