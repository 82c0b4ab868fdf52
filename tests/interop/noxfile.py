# SPDX-License-Identifier: Apache-2.0
"""Exchanges tensors between every pair of frameworks, natively and through dlbridge.

nox -f tests/interop/noxfile.py                 the small frameworks and the tests of the engine
nox -f tests/interop/noxfile.py -s whole old    all frameworks and old consumers (under 25 minutes)
nox -f tests/interop/noxfile.py -s conformance  all frameworks by the conformance kit
nox -f tests/interop/noxfile.py -s adapted      the same for libraries with an adapter file
nox -f tests/interop/noxfile.py -s bugs         public bug reports that the kit reproduces
nox -f tests/interop/noxfile.py -s columns      columns of data frames, and buffers
nox -f tests/interop/noxfile.py -s record       records what `whole` and `old` measured:
                                                results.json and docs/interop.md

Results are written to build/interop. The package is the wheel of bindings/python.
"""

import pathlib
import sys

import nox

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python/tools"))

from sessions import ROOT, build_wheels, configure, install_pinned, install_wheel  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SCRATCH = ROOT / "build/interop"
BINDING = ROOT / "bindings/python"
README = BINDING / "README.md"
TESTS = BINDING / "requirements/tests.txt"
RECORDED = HERE / "results.json"
DOCUMENT = ROOT / "docs/interop.md"
CHECKED = ("numpy", "torch", "jax", "tensorflow", "paddle", "tvm_ffi", "onnxruntime", "pyarrow")
CHECKED += ("dpnp", "dlbridge")
# Libraries with an adapter in conformance/adapters.
ADAPTED = ("warp", "mlx", "nanobind", "pybind11", "dlpark")
SMALL = ("numpy", "jax", "tvm_ffi", "onnxruntime", "pyarrow")

nox.options.sessions = ["engine", "small", "columns"]
configure("interop")


def prepare(session, *requirements):
    """Installs pinned packages and the wheel of dlbridge, which is built if it is not current."""
    build_wheels(session)
    install_pinned(session, *requirements)
    install_wheel(session)
    SCRATCH.joinpath("tmp").mkdir(parents=True, exist_ok=True)
    session.env.update(TMPDIR=str(SCRATCH / "tmp"), PYTHONPATH=str(HERE))


def matrix(session, *arguments, **options):
    return session.run("python", "-m", "matrix", *map(str, arguments), **options)


@nox.session(python="3.11")
def engine(session):
    """The matrix reports faults, survives crashes and demands proofs."""
    prepare(session, TESTS)
    tests = str(HERE / "matrix/test_engine.py")
    session.run("pytest", "-q", "-p", "no:cacheprovider", *session.posargs, tests)


def measure(session, name, *arguments):
    """Measures, and compares with the results on record."""
    out = SCRATCH / f"{name}.json"
    matrix(session, "measure", out, *arguments)
    if name != "old":  # these use what NumPy before 2.1 and JAX 0.4 lack
        matrix(session, "recipes", README)
        protect(session)
    matrix(session, "compare", out, RECORDED, "main" if name == "small" else name)
    matrix(session, "document", RECORDED, DOCUMENT)


def protect(session):
    """No framework of this environment writes to immutable memory, JAX changes no dtype, and every
    value of ml_dtypes arrives."""
    names = ("test_immutable.py", "test_values.py", "test_ml_dtypes.py")
    tests = [str(BINDING / "tests" / name) for name in names]
    session.run("pytest", "-q", "-p", "no:cacheprovider", *tests)


@nox.session(python="3.11")
def small(session):
    """The frameworks whose packages are small."""
    prepare(session, TESTS, HERE / "requirements-small.txt")
    measure(session, "small", *SMALL)
    check(session, "numpy", "--rounds", "2000")
    # Programs of frameworks that the package's own tests lack.
    programs = str(BINDING / "tests/test_conformance_programs.py")
    session.run("pytest", "-q", "-p", "no:cacheprovider", "-k", "makes", programs)
    for page in ("page.py", "known.py"):
        session.run("python", "-B", str(HERE / "conformance" / page), "check")


def check(session, library, *arguments, **options):
    """Runs the conformance kit on a library and writes its report. A failure that its file of known
    deviations does not name, or one that no longer occurs, fails the session."""
    known = HERE / f"conformance/quirks/{library}.toml"
    if known.exists():
        arguments = (*arguments, "--quirks", str(known))
    out = SCRATCH / f"conformance-{library}.json"
    how = ("--framework", library)
    if library in ADAPTED:
        how = ("--adapter", str(HERE / f"conformance/adapters/for_{library}.py"))
    program = ("python", "-B", "-m", "dlbridge.conformance", *how)
    session.run(*program, "--json", str(out), *arguments, **options)
    return out


def check_all(session, names):
    """The reports. What is to be recorded may fail in new ways."""
    codes = (0, 1) if "record" in session.posargs else (0,)
    return [check(session, name, success_codes=codes) for name in names]


def record_reports(session, found):
    """Records reports, and completes the files of known deviations."""
    folder = HERE / "conformance"
    session.run("python", "-B", str(folder / "page.py"), "record", *map(str, found))
    session.run("python", "-B", str(folder / "known.py"), "write")


@nox.session(python="3.11")
def conformance(session):
    """All frameworks by the conformance kit; `-- record` records their reports, and names of
    frameworks choose some."""
    prepare(session, TESTS, HERE / "requirements-matrix.txt")
    names = [name for name in session.posargs if name != "record"] or CHECKED
    found = check_all(session, names)
    if "record" in session.posargs:
        record_reports(session, found)


@nox.session(python="3.11")
def adapted(session):
    """Libraries with an adapter file by the conformance kit; `-- record` records their reports, and
    names of libraries choose some."""
    prepare(session, TESTS, HERE / "requirements-adapted.txt")
    built = SCRATCH / "modules"
    program = ("python", "-B", str(HERE / "conformance/build.py"), str(built))
    session.run(*program, "nanobind", "pybind11", "dlpark")
    session.env["PYTHONPATH"] = str(built)
    found = check_all(session, [name for name in session.posargs if name != "record"] or ADAPTED)
    if "record" in session.posargs:
        record_reports(session, found)


@nox.session(python="3.11")
def bugs(session):
    """Old versions fail the check that shows a public report, and fixed versions pass it; names of
    libraries choose some."""
    prepare(session, TESTS, HERE / "requirements-bugs.txt")
    program = ("python", "-B", str(HERE / "conformance/bugs.py"), str(SCRATCH / "bugs"))
    session.run(*program, *session.posargs)


@nox.session(python="3.11")
def whole(session):
    """All frameworks."""
    prepare(session, TESTS, HERE / "requirements-matrix.txt")
    measure(session, "main")


@nox.session(python="3.11")
def columns(session):
    """Buffers and columns of pandas, polars and PyArrow, and the examples that use them."""
    prepare(session, HERE / "requirements-columns.txt")
    tests = str(BINDING / "tests/test_foreign.py")
    session.run("pytest", "-q", "-p", "no:cacheprovider", *session.posargs, tests)
    matrix(session, "recipes", README)


# CPython 3.11 is the newest version that the old packages have wheels for.
@nox.session(python="3.11")
def old(session):
    """Consumers from the time before versioned tensors."""
    prepare(session, TESTS, HERE / "requirements-old.txt")
    measure(session, "old", "--no-facts")


@nox.session(python="3.11")
def record(session):
    """Records the results that `whole` and `old` wrote."""
    prepare(session, HERE / "requirements-small.txt")
    sources = [f"{name}={SCRATCH / name}.json" for name in ("main", "old")]
    matrix(session, "record", RECORDED, *sources)
    DOCUMENT.write_text(matrix(session, "document", RECORDED, silent=True), encoding="utf-8")
