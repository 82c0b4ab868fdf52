# SPDX-License-Identifier: Apache-2.0
"""`python -m dlbridge`: its findings, output and exit status; it imports no framework."""

import json
import os
import subprocess
import sys
import types

import pytest
from dlbridge import _doctor, abi


def run(*arguments, path=()):
    """Runs `python -m dlbridge ...` with more folders to import from."""
    folders = [*map(str, path), *filter(None, sys.path)]
    return subprocess.run(
        [sys.executable, "-m", "dlbridge", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        check=False,
    )


@pytest.fixture
def fake_frameworks(tmp_path):
    """Packages that look installed but cannot be imported."""
    for module, distribution, version in (
        ("tensorflow", "tensorflow-cpu", "2.21.0"),
        ("paddle", "paddlepaddle", "3.3.1"),
        ("dpnp", "dpnp", "0.20.0"),
    ):
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").write_text("raise SystemExit('was imported')\n")
        about = tmp_path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        about.mkdir()
        about.joinpath("METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        )
        about.joinpath("top_level.txt").write_text(module + "\n")
    return tmp_path


def test_without_a_command_it_prints_its_usage():
    ran = run()
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "doctor" in ran.stderr
    assert run("cure").returncode == 2
    for ask in ("-h", "--help"):
        ran = run(ask)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith("usage: python -m dlbridge")


def test_unknown_options_are_rejected():
    ran = run("doctor", "--colour")
    assert ran.returncode == 2 and "--colour" in ran.stderr


def test_data_and_text_agree(fake_frameworks):
    ran = run("doctor", "--json", path=[fake_frameworks])
    assert (ran.returncode, ran.stderr) == (0, "")
    seen = json.loads(ran.stdout)
    assert seen["library"]["version"] == abi.version_string()
    assert seen["library"]["abi"] == abi.ABI
    assert os.path.samefile(seen["library"]["file"], abi.library_file())
    assert [one["backend"] for one in seen["backends"]] == [one.name for one in abi.Backend][1:]
    for one in seen["backends"]:
        assert one["state"] in abi.State.__members__
        assert (one["state"] == "READY") == (one["reason"] == "")
    text = run("doctor", path=[fake_frameworks]).stdout
    assert f"dlbridge {abi.version_string()}, ABI {abi.ABI}" in text
    for name, version in seen["frameworks"].items():
        assert f"  {name:<12} {version}\n" in text
    for one in seen["backends"]:
        assert f"  {one['backend']:<12} {one['state'].lower()}" in text


def test_frameworks_are_found_by_their_distributions_and_not_imported(fake_frameworks):
    """The packages raise SystemExit when imported."""
    seen = json.loads(run("doctor", "--json", path=[fake_frameworks]).stdout)
    assert seen["frameworks"]["tensorflow"] == "2.21.0"
    assert seen["frameworks"]["paddle"] == "3.3.1"
    assert seen["frameworks"]["dpnp"] == "0.20.0"
    assert any("tensorflow and paddle" in problem for problem in seen["problems"])


def test_installed_frameworks_are_not_imported():
    program = (
        "import sys\n"
        "from dlbridge import _doctor\n"
        "seen = _doctor.examine()\n"
        "print([name for name in _doctor.names() if name in sys.modules])\n"
    )
    folders = os.pathsep.join(filter(None, sys.path))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": folders},
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "[]\n", "")


def test_pairs_come_from_the_table_and_the_facts(monkeypatch):
    class Cautious:
        """A consumer that accepts versioned tensors only."""

        immutable = honours_read_only = False

        def takes(self, found):
            return None if found.versioned else f"{found.framework} is {found.kind}"

    table = {"torch": Cautious(), "jax": Cautious()}
    monkeypatch.setattr(_doctor._consumers, "CONSUMERS", table)
    found = {"numpy": "1.26.4", "torch": "2.15.0", "jax": "0.10.2"}
    pairs = {(one["producer"], one["consumer"]): one["rejection"] for one in _doctor.pairs(found)}
    assert pairs == {
        ("numpy", "torch"): "numpy is legacy",
        ("numpy", "jax"): "numpy is legacy",
        ("torch", "torch"): None,
        ("torch", "jax"): None,
        ("jax", "torch"): "jax is legacy",
        ("jax", "jax"): "jax is legacy",
    }
    text = _doctor.in_words(
        {
            "library": _doctor.library(),
            "backends": [],
            "frameworks": found,
            "pairs": _doctor.pairs(found),
            "narrowing": {},
            "problems": ["something"],
        }
    )
    assert "  torch        -> torch, jax\n" in text
    assert "  numpy        -> none\n" in text
    assert "               -> torch: no: numpy is legacy\n" in text
    assert text.endswith("problems\n  something")


def test_narrowing_consumers_are_reported(monkeypatch):
    found = {"numpy": "2.4.6", "jax": "0.10.2"}
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)
    narrowing = _doctor.narrowing(found)
    assert narrowing.keys() == {"jax"}
    assert narrowing["jax"]["dtypes"]["int64"] == "int32"
    text = "\n".join(_doctor._narrowing_lines(narrowing))
    assert "int64 to int32" in text and "jax_enable_x64" in text
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert _doctor.narrowing(found) == {}


def consumer(**facts):
    return types.SimpleNamespace(takes=lambda found: None, **facts)


def test_an_immutable_producer_without_read_only_is_a_warning(monkeypatch):
    table = {
        "torch": consumer(immutable=False, honours_read_only=False),
        "numpy": consumer(immutable=False, honours_read_only=True),
        "jax": consumer(immutable=True, honours_read_only=False),
    }
    monkeypatch.setattr(_doctor._consumers, "CONSUMERS", table)
    found = {"jax": "0.10.2", "torch": "2.15.0", "numpy": "2.4.6", "paddle": "3.3.1"}
    pairs = _doctor.pairs(found)
    warned = {(one["producer"], one["consumer"]) for one in pairs if one["warning"]}
    assert warned == {("jax", "torch")}
    rejected = {(one["producer"], one["consumer"]) for one in pairs if one["rejection"]}
    assert rejected == {("paddle", "jax")}
    assert _doctor._pair_words(pairs[1]).startswith("accepts it, but its arrays are writable there")


def test_facts_depend_on_the_version():
    assert _doctor.hands_out("numpy", "2.4.6").version == (1, 0)
    old = _doctor.hands_out("numpy", "1.26.4")
    assert (old.kind, old.version, old.readonly, old.keywords) == ("legacy", None, None, False)
    assert _doctor.hands_out("numpy", "2.1rc1").versioned
    assert _doctor.hands_out("numpy", "").versioned is False
    arrow = _doctor.hands_out("pyarrow", "26.0.0")
    assert (arrow.kind, arrow.readonly, arrow.flags) == ("versioned", False, 0)
    assert _doctor.hands_out("onnxruntime", "1.31.1").strides is None
    assert _doctor.hands_out("dpnp", "0.20.0").device == (14, 0)
    assert abi.device_parse(_doctor.hands_out("dpnp", "0.20.0").device_name) == (14, 0)


def test_another_version_of_the_library_is_a_problem():
    seen = {"library": {"version": "0.2.0", "package": "0.3.0"}, "frameworks": {}}
    expected = "the package is version 0.3.0, but the library that it loaded is 0.2.0"
    assert _doctor.problems(seen) == [expected]
    seen["library"]["package"] = "0.2.0"
    assert _doctor.problems(seen) == []


def test_the_facts_describe_the_real_producers():
    """The doctor's facts equal inspect's report on a plain array of each installed framework."""
    np = pytest.importorskip("numpy")
    from dlbridge._inspect import inspect

    real = inspect(np.zeros((3, 4), np.float32))
    facts = _doctor.hands_out("numpy", np.__version__)
    for fact in (
        "framework",
        "kind",
        "version",
        "legacy",
        "versioned",
        "keywords",
        "readonly",
        "immutable",
    ):
        assert getattr(real, fact) == getattr(facts, fact), fact
    for fact in ("shape", "strides", "ndim", "dtype", "dtype_triple", "device", "device_name"):
        assert getattr(real, fact) == getattr(facts, fact), fact
    assert real.contiguous == facts.contiguous and real.flags == facts.flags
    assert (real.empty, real.broadcast, real.negative) == (False, False, False)
