# SPDX-License-Identifier: Apache-2.0
"""The conformance kit, as an outside project runs it: a right producer is green, eight faults are
found, and a hostile adapter fails its tests only."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from conformance_runs import (
    SCRATCH,
    command,
    newer_numpy,
    no_sanitizers,
    plugin_options,
    whole_run,
)
from dlbridge.conformance import __main__ as main
from dlbridge.conformance import (
    catalogue,
    checks,
    engine,
    kit,
    processes,
    quirks,
    report,
    reproducers,
    tensors,
    worker,
)
from dlbridge.conformance.adapters import Chosen
from dlbridge.conformance.outcomes import FAILED, PASSED, SKIPPED, Outcome

# Fault of scratchlib.Faulty -> the checks that find it.
FAULTS = {
    "1: exports before the work is done": ("export-waits",),
    "2: versioned for consumers of legacy capsules": ("version-legacy",),
    "3: never released": ("deleter-releases",),
    "4: copy=True does not copy": ("copy-true", "copy-apart"),
    "5: READ_ONLY is lost": ("read-only-flag",),
    "6: a device id of host memory": ("device-id", "device-tuple"),
    "7: unsigned as signed": ("export-uint8", "export-uint64"),
    "8: wrong strides": ("values",),
}
ROUNDS = "300"
# Seconds to load a library whose checks have a short limit: the machine may do much else.
LOADING = 100
pytestmark = no_sanitizers


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The child processes import the scratch package."""
    path = os.pathsep.join([str(SCRATCH), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
    monkeypatch.syspath_prepend(str(SCRATCH))


def cli(tmp_path, *arguments):
    """Runs the command and returns it with its report."""
    out = tmp_path / "report.json"
    done = command("dlbridge.conformance", *arguments, "--json", out, cwd=tmp_path)
    assert out.exists(), done.stderr
    return done, {row["name"]: row for row in json.loads(out.read_text())["checks"]}


def test_the_plugin_loads_nothing_until_it_is_used():
    """pytest imports it in every project of an environment with dlbridge."""
    program = "import sys, dlbridge.conformance.plugin; print(*sys.modules)"
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "dlbridge.conformance.plugin" in loaded, done.stderr
    assert not loaded & {"numpy", "rich", "jinja2", "dlbridge.conformance.catalogue"}


def test_every_check_is_implemented_and_listed():
    assert set(kit.CHECKS) == set(checks())
    assert worker.CHECKS is kit.CHECKS
    for check in checks().values():
        assert check.severity in catalogue.severities()
        assert check.url.startswith("https://")


@whole_run
def test_a_right_producer_is_green(tmp_path):
    """By pytest's plugin, with names that -k selects."""
    options = ("-rs", "-p", "no:cacheprovider", "-p", "dlbridge.conformance.plugin")
    adapter = ("--dlpack-adapter", SCRATCH / "right.py", "--dlpack-rounds", ROUNDS)
    chosen = ("-k", "capsule or keywords or versions or struct or memory or streams or dtypes")
    done = command("pytest", *plugin_options(options), *adapter, *chosen, tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout and "passed" in done.stdout
    found = re.search(r"collected (\d+) items / (\d+) deselected / (\d+) selected", done.stdout)
    assert found, done.stdout
    collected, deselected, selected = map(int, found.groups())
    assert collected == len(checks()) == deselected + selected and deselected


@whole_run
@newer_numpy
def test_eight_faults_are_found(tmp_path):
    pytest.importorskip("rich")
    pytest.importorskip("jinja2")
    page, badge = tmp_path / "report.html", tmp_path / "badge.svg"
    arguments = ("--adapter", SCRATCH / "faulty.py", "--rounds", ROUNDS, "--jobs", "1")
    done, rows = cli(tmp_path, *arguments, "--html", page, "--badge", badge)
    assert done.returncode == 1, done.stderr
    for fault, names in FAULTS.items():
        for name in names:
            row = rows[name]
            assert row["status"] == FAILED, (fault, row)
            assert row["expected"] and row["found"] and row["url"], row
            assert row["severity"] in catalogue.severities()
            assert name in done.stdout and name in page.read_text()
    assert badge.read_text().startswith("<svg")
    assert rows["read-only-flag"]["severity"] == "corruption"
    right = [name for name, row in rows.items() if row["status"] == PASSED]
    assert {"capsule-destructor", "keywords-none", "copy-none", "export-float32"} <= set(right)


ON_A_GPU = """
from dlbridge.conformance.handmade import Export

class Array(Export):
    shape = property(lambda self: self.tensor["shape"])

def make(request):
    if request.dtype != "float32" or request.read_only:
        return NotImplemented
    layout = {"shape": request.shape, "strides": request.strides}
    fields = {"data": 4096, "byte_offset": 0, "device": (2, 0), "dtype": (2, 32, 1)}
    return Array(None, {**fields, **layout})
"""


def test_memory_of_a_device_is_not_read(tmp_path):
    """The CPU cannot: the process would crash, which would accuse the library."""
    file = tmp_path / "adapter.py"
    file.write_text(ON_A_GPU)
    chosen = ["struct", "layouts", "keywords", "shares", "seen", "copy-apart"]
    report = engine.run(Chosen(file=str(file)), chosen)
    crashed = [row for row in report.failures if "died" in row.found]
    assert not crashed
    reason = "the kit does not read memory of device (2, 0)"
    unread = [name for name, row in report.outcomes.items() if row.reason == reason]
    assert {"shares", "seen", "copy-apart", "values"} <= set(unread), unread
    assert report.outcomes["device-tuple"].status == PASSED


def test_the_right_consumer_is_checked(tmp_path):
    """NumPy rejects most broken tensors; those that it takes are its own deviations."""
    chosen = Chosen(consumer="numpy.from_dlpack")
    patterns = ["layouts", "version-major-2", "hostile-ndim-*", "deleter-*", "hostile-dim-*"]
    report = engine.run(chosen, patterns, rounds=300, jobs=1)
    assert report.good, [outcome.data() for outcome in report.failures]
    assert report.count(PASSED) > 20


@pytest.mark.long
def test_a_hostile_adapter_fails_its_tests_only(tmp_path):
    """It lies, hangs, crashes, exits, and returns things of the wrong type."""
    names = ["copy-false", "copy-true", "device-unknown", "version-old", "device-tuple"]
    names += ["read-only-flag", "export-int8", "export-int16", "layout-plain", "capsule-name"]
    chosen = Chosen(file=str(SCRATCH / "hostile.py"))
    report = engine.run(chosen, names, rounds=100, limit=4, loading=LOADING, jobs=1)
    assert set(report.outcomes) == set(names)
    found = {name: (one.status, one.found) for name, one in report.outcomes.items()}
    assert found["capsule-name"] == (PASSED, "")
    for name, text in {
        "copy-false": "int",
        "copy-true": "ended with status 0",
        "device-unknown": "ran for more than 4 s",
        "device-tuple": "cuda:0",
        "export-int16": "KeyboardInterrupt",
        "layout-plain": "SystemExit: no shape",
    }.items():
        assert found[name][0] == FAILED, found
        assert text in found[name][1], found
    assert report.outcomes["version-old"].severity == "crash"
    assert "__dlpack__" in report.outcomes["version-old"].reproducer
    assert found["export-int8"][0] == found["read-only-flag"][0] == SKIPPED


def test_an_adapter_that_harms_its_process_fails_its_tests_only():
    """It forks, closes files, ignores signals, and prints what is not text."""
    dtypes = ("int8", "int16", "int32", "int64", "uint8", "uint16", "float32")
    names = [f"export-{dtype}" for dtype in dtypes] + ["hostile-ndim-negative-legacy"]
    chosen = Chosen(file=str(SCRATCH / "rude.py"))
    report = engine.run(chosen, names, rounds=100, limit=10, loading=LOADING, jobs=1)
    assert report.title == "7" and set(report.outcomes) == set(names)
    found = {name: (one.status, one.found) for name, one in report.outcomes.items()}
    assert found["export-int8"][1].startswith("Odd: from both (in ")
    assert found["export-int16"] == (FAILED, "the process ended with status 1")
    assert found["export-int32"] == (PASSED, "")
    where = "in make, scratch/rude.py line 31"
    assert found["export-int64"] == (FAILED, f"the process died of SIGABRT {where}")
    assert found["export-uint8"][1].startswith("SystemExit: an exit (in make, scratch/rude.py line")
    assert found["export-uint16"][0] != PASSED
    assert found["export-float32"] == (PASSED, "")
    assert found["hostile-ndim-negative-legacy"] == (PASSED, "")


@pytest.mark.parametrize("value", ["'negative'", "[1]", "7"])
def test_a_list_of_unsupported_names_is_checked(tmp_path, value):
    file = tmp_path / "listed.py"
    file.write_text(f"unsupported = {value}\ndef make(request): ...\n")
    with pytest.raises(SystemExit, match="unsupported is a list of names"):
        Chosen(file=str(file)).load()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("numbers.py", "def make(request): ...", "its name hides the module numbers"),
        ("pytest.py", "def make(request): ...", "its name hides the module pytest"),
        ("adapter", "def make(request): ...", "whose name ends with .py"),
        ("adapter.py", "make = 3", "make is a function, not 3"),
        ("adapter.py", "raise SystemExit(0)", r"SystemExit\(0\) while the library was loaded"),
        ("adapter.py", "raise OSError('\\x1b]0;')", r"OSError: \?\]0;"),
    ],
)
def test_a_mistake_of_an_adapter_is_named(tmp_path, name, text, message):
    file = tmp_path / name
    file.write_text(text + "\n")
    [outcome] = engine.run(Chosen(file=str(file)), ["values"]).outcomes.values()
    assert outcome.status == "unstarted" and re.search(message, outcome.reason), outcome.reason


def test_a_folder_is_no_adapter(tmp_path):
    with pytest.raises(SystemExit, match="is a folder: name a file of Python"):
        Chosen(file=str(tmp_path)).check()


# NumPy, whose arrays are all immutable.
IMMUTABLE = """\
import numpy as np

title = "a\\x1bb"

def make(request):
    base = np.frombuffer(request.bits, request.dtype).reshape(request.base_shape).copy()
    return frozen(request.view(base))

def frozen(array):
    array.flags.writeable = False
    return array

def consume(source, **keywords):
    return frozen(np.from_dlpack(source, **keywords).view())

def read(array): return array.tobytes()
def writable(array): return array.flags.writeable
def shape(array): return [np.int64(extent) for extent in array.shape]
"""


def test_a_library_of_immutable_arrays_is_not_accused(tmp_path):
    pytest.importorskip("numpy", "2.1")
    file = tmp_path / "frozen.py"
    file.write_text(IMMUTABLE)
    names = ["read-only-flag", "import-float32", "import-int8", "consumer-stays"]
    names += ["consumer-copy-true", "consumer-copy-false", "layout-plain"]
    found = engine.run(Chosen(file=str(file)), names)
    assert found.title == "a?b"
    assert {one.name: one.found for one in found.outcomes.values() if one.status != PASSED} == {}


def test_a_shape_that_is_none_is_a_mistake_of_the_adapter(tmp_path):
    pytest.importorskip("numpy")
    file = tmp_path / "wrong.py"
    file.write_text(IMMUTABLE + "def shape(array): return 'ab'\n")
    [outcome] = engine.run(Chosen(file=str(file)), ["layout-plain"]).outcomes.values()
    assert outcome.expected == "a sequence of integers from shape(array) of the adapter", outcome


def test_an_adapter_that_cannot_be_loaded_is_an_error(tmp_path):
    pytest.importorskip("rich")
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module\ndef make(request): ...\n")
    done, rows = cli(tmp_path, "--adapter", broken, "--checks", "struct")
    assert done.returncode == 2
    assert done.stdout.startswith("not run: before its first step the process ended with status 1:")
    lines = [
        f'    File "{broken}", line 1, in <module>',
        "      import no_such_module",
        "  ModuleNotFoundError: No module named 'no_such_module'",
        f"0 passed, 0 failed, {len(rows)} not run, 0 skipped",
    ]
    # Nothing but the reason: no frame is the kit's own.
    assert done.stdout.splitlines()[1:] == lines
    assert {row["status"] for row in rows.values()} == {"unstarted"}


@pytest.mark.parametrize(
    ("option", "value"),
    [("--limit", "0"), ("--limit", "nan"), ("--load-limit", "-1"), ("--jobs", "0")]
    + [("--rounds", "0"), ("--rounds", "-3"), ("--rounds", "1.5")],
)
def test_a_number_that_makes_no_run_is_refused(capsys, option, value):
    with pytest.raises(SystemExit) as error:
        main.main(["--framework", "numpy", option, value])
    last = capsys.readouterr().err.splitlines()[-1]
    assert error.value.code == 2 and f"argument {option}: expected a " in last
    assert last.endswith(f"found {value!r}")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("rounds", "0", "--dlpack-rounds: expected a whole number from 1 on, found '0'"),
        ("html", "nowhere/report.html", "nowhere/report.html: there is no such folder"),
    ],
)
def test_an_option_of_pytest_is_refused_too(tmp_path, option, value, message):
    options = ("-p", "no:cacheprovider", "-p", "dlbridge.conformance.plugin")
    asked = ("--dlpack-framework", "numpy", f"--dlpack-{option}", value)
    done = command("pytest", *plugin_options(options), *asked, tmp_path, cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert message in done.stderr


def test_an_adapter_that_does_not_exist_is_named_at_once(tmp_path):
    done = command("dlbridge.conformance", "--adapter", "nosuch.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "no such adapter: nosuch.py\n"


@pytest.mark.long
def test_a_library_that_does_not_load_is_waited_for_aloud(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "PATIENCE_SECONDS", 0.1)
    file = tmp_path / "sleeps.py"
    file.write_text("import time\ntime.sleep(1000)\n")
    lines = []
    found = engine.run(
        Chosen(file=str(file)), ["values", "copy-true"], waiting=lines.append, limit=3
    )
    assert lines == [f"waiting for {file} to be loaded, for at most 3 s"]
    reason = found.outcomes["values"].reason
    assert reason.startswith("before its first step the process ran for more than 3 s:\nFatal")
    assert f'File "{file}", line 2 in <module>' in reason


@pytest.mark.parametrize(
    ("given", "least"), [(["--limit", "1"], 1), (["--limit", "100", "--load-limit", "2"], 2)]
)
def test_the_limit_binds_loading_too(tmp_path, given, least):
    pytest.importorskip("rich")
    file = tmp_path / "sleeps.py"
    file.write_text("import time\ntime.sleep(1000)\n")
    done, rows = cli(tmp_path, "--adapter", file, "--checks", "values", *given)
    # On a slow machine the process may not have begun to load, so that it has no stack to show.
    text = f"not run: before its first step the process ran for more than {least} s"
    assert done.returncode == 2 and done.stdout.startswith(text)
    assert rows["values"]["status"] == "unstarted"


@pytest.mark.long
def test_a_library_may_have_more_time_to_load_than_a_check(tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(
        "import time\ntime.sleep(3)\n"
        "def make(request): time.sleep(1000)\n"
        "def consume(source): raise TypeError\n"
    )
    found = engine.run(Chosen(file=str(file)), ["values", "no-protocol"], limit=2, loading=LOADING)
    assert "ran for more than 2 s in make, " in found.outcomes["values"].found
    assert found.outcomes["no-protocol"].found == "TypeError"


def test_a_run_that_checks_nothing_is_not_green(tmp_path):
    file = tmp_path / "skips.py"
    file.write_text("def make(request): return NotImplemented\n")
    report = engine.run(Chosen(file=str(file)), ["struct"], rounds=100)
    assert report.count(SKIPPED) == len(report.outcomes) and not report.good


def test_a_library_that_makes_no_array_passes_no_check(tmp_path):
    file = tmp_path / "none.py"
    file.write_text("def make(request): raise TypeError\n")
    chosen = ["shape-and-strides", "values", "alignment", "legacy-same", "struct-valid"]
    report = engine.run(Chosen(file=str(file)), chosen, rounds=100)
    assert report.count(PASSED) == 0 and not report.good


# A library that has read-only arrays; its imports are NumPy's, writable if the flag is dropped.
READS_FLAGS = """\
import ctypes, numpy
def shared(array):
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array
    return numpy.frombuffer(memory, array.dtype).reshape(array.shape)
def make(request):
    array = numpy.zeros(request.shape, request.dtype)
    array.flags.writeable = not request.read_only
    return array
def consume(source):
    return {imported}
def writable(array):
    return array.flags.writeable
"""


@pytest.mark.parametrize(
    ("imported", "status"),
    [
        ("numpy.from_dlpack(source)", PASSED),
        ("shared(numpy.from_dlpack(source))", FAILED),
        # A copy is not the tensor's memory.
        ("numpy.from_dlpack(source).copy()", SKIPPED),
    ],
)
def test_a_consumer_that_drops_read_only_is_found(tmp_path, imported, status):
    numpy = pytest.importorskip("numpy")
    if numpy.lib.NumpyVersion(numpy.__version__) < "2.1.0":
        pytest.skip("NumPy asks for legacy capsules")
    file = tmp_path / "flags.py"
    file.write_text(READS_FLAGS.format(imported=imported))
    report = engine.run(Chosen(file=str(file)), ["immutable-stays"])
    assert report.outcomes["immutable-stays"].status == status


# A library that writes the number of its process, and then hangs.
HANGS = """\
import os, pathlib, time

def make(request):
    pathlib.Path("new").write_text(str(os.getpid()))
    os.rename("new", {begun!r})
    time.sleep(1000)
"""


def heed_signals():
    """A test runner in the background, or under nohup, may ignore them, which children inherit."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def hanging(tmp_path):
    """Starts the command with a library that hangs; returns it and the library's process."""
    file, begun, folder = tmp_path / "hangs.py", tmp_path / "begun", tmp_path / "files"
    file.write_text(HANGS.format(begun=str(begun)))
    folder.mkdir()
    line = (sys.executable, "-B", "-m", "dlbridge.conformance", "--adapter", str(file))
    run = subprocess.Popen(
        [*line, "--checks", "values", "--checks", "copy-true"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    while not begun.exists() and run.poll() is None:
        time.sleep(0.05)
    return run, int(begun.read_text())


def ends(process):
    """Whether the process is gone, or will be soon."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        status = pathlib.Path(f"/proc/{process}/stat")
        if not status.exists() or " Z " in status.read_text():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_processes_and_removes_their_files(tmp_path, number):
    pytest.importorskip("rich")
    run, process = hanging(tmp_path)
    assert list((tmp_path / "files").iterdir())
    run.send_signal(number)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 128 + number
    assert said == f"stopped by {number.name}: there is no report\n"
    assert not list((tmp_path / "files").iterdir())
    assert ends(process)


@pytest.mark.skipif(sys.platform != "linux", reason="the system has no signal for it")
def test_a_process_ends_with_a_kit_that_is_killed(tmp_path):
    pytest.importorskip("rich")
    run, process = hanging(tmp_path)
    run.kill()
    run.communicate()
    assert ends(process)


@pytest.mark.long
def test_a_report_that_nobody_reads_changes_nothing(tmp_path):
    pytest.importorskip("rich")
    kit_line = f"{sys.executable} -B -m dlbridge.conformance"
    line = f"{kit_line} --adapter {SCRATCH / 'right.py'} --checks copy-none --json report.json"
    for script in (
        f"set -o pipefail; {line} | true",
        f"{line} >&-",
        f"{line} > /dev/full",
        f"{line} <&-",
        f"{line} 2>&-",
        f"set -o pipefail; {kit_line} --list | true",
    ):
        (tmp_path / "report.json").unlink(missing_ok=True)
        run = ("bash", "-c", script)
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, (script, done)
        assert "Traceback" not in done.stderr and "Exception" not in done.stderr, (script, done)
        assert (tmp_path / "report.json").exists() == ("--json" in script), script


def test_an_error_without_a_text_has_its_name():
    class Silent(BaseException):
        def __str__(self):
            raise ValueError

    assert kit.message(Silent()) == "Silent: its text cannot be made"


def test_texts_of_a_library_are_made_printable():
    assert processes.printable("a\x1b[31m\udc80\nb") == "a?[31m?\nb"
    assert worker.printable("a\x1b[31m\udc80\nb" + "c" * 10000).startswith("a?[31m?\nbc")
    assert len(worker.printable("c" * 100000)) == worker.LONGEST


# --------------------------------------------------------------------------------------- quirks


def outcomes(**statuses):
    return {
        name.replace("_", "-"): Outcome(name.replace("_", "-"), status, severity="deviation")
        for name, status in statuses.items()
    }


def report_of(found):
    return engine.Report("title", "1", "2026-01-01", 1, found)


QUIRK = {"check": "copy-*", "reason": "not implemented", "link": "https://example.org/1"}


def test_a_known_deviation_is_green_until_it_no_longer_occurs():
    found = outcomes(copy_true=FAILED, copy_false=PASSED)
    quirks.enter(found, [QUIRK])
    assert report_of(found).good and not report_of(found).stale
    found = outcomes(copy_true=PASSED, copy_false=PASSED)
    quirks.enter(found, [QUIRK])
    assert not report_of(found).good
    stale = report_of(found).stale
    assert [one.name for one in stale["copy-*"]] == ["copy-true", "copy-false"]


@whole_run
@pytest.mark.parametrize(
    ("fault", "counts"),
    [("", "1 failed, 1 passed"), ("any-device", "1 passed, ")],
    ids=["both pass", "one fails"],
)
def test_a_pattern_whose_checks_all_pass_is_one_failure_of_pytest(
    tmp_path, monkeypatch, fault, counts
):
    """The two checks are of different groups."""
    monkeypatch.setenv("PLANTED", fault)
    known = tmp_path / "quirks.toml"
    row = {**QUIRK, "check": "device-[iu][dn]*"}
    known.write_text("[[quirk]]\n" + "".join(f"{key} = '{row[key]}'\n" for key in row))
    options = ("-p", "no:cacheprovider", "-p", "dlbridge.conformance.plugin")
    adapter = ("--dlpack-adapter", SCRATCH / "planted.py", "--dlpack-quirks", known)
    chosen = ("-k", "device-id or device-unknown", tmp_path)
    done = command("pytest", *plugin_options(options), *adapter, *chosen, cwd=tmp_path)
    assert counts in done.stdout.splitlines()[-1], done.stdout
    line = "device-[iu][dn]* passes now in 2 checks: device-unknown, device-id; remove its quirk"
    assert (line in " ".join(done.stdout.split())) == (not fault)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[quirk]]\ncheck = 'copy-true'\nreason = 'why'\n", "lacks link"),
        ("[[quirk]]\ncheck = 'copy-tru'\nreason = 'why'\nlink = 'x'\n", "no check is named"),
        ("[[quirk]\n", "Expected"),
        ("[[quirks]]\ncheck = 'copy-true'\n", "expected tables .* alone, found quirks"),
        ("quirk = 'copy-true'\n", "found quirk = 'copy-true'"),
        ("[[quirk]]\ncheck='a'\nreason='b'\nlink='c'\nexpires='d'\n", "has expires, which means"),
        ("[[quirk]]\ncheck = ['a']\nreason = 'why'\nlink = 'x'\n", "check of a quirk is no text"),
    ],
)
def test_a_wrong_file_of_quirks_is_rejected(tmp_path, text, message):
    file = tmp_path / "quirks.toml"
    file.write_text(text)
    with pytest.raises(SystemExit, match=message):
        quirks.read(str(file), checks())


def test_what_the_options_name_and_cannot_be_loaded_ends_with_status_2(tmp_path):
    pytest.importorskip("rich")
    malformed = tmp_path / "quirks.toml"
    malformed.write_text("[[quirk]\n")
    latin, known = tmp_path / "latin.toml", tmp_path / "known.toml"
    latin.write_bytes(b"# caf\xe9\n")
    known.write_text("")
    library = ("dlbridge.conformance", "--consumer", "numpy.from_dlpack")
    for options, text in (
        (("--quirks", malformed), "Expected"),
        (("--quirks", "nowhere.toml"), "No such file"),
        (("--quirks", latin), "codec can't decode byte 0xe9"),
        (("--checks", "nosuch*"), "no check or group matches 'nosuch*'"),
        (("--checks", "copy-true", "--checks", "copy-ture"), "matches 'copy-ture'"),
        (("--json", "nowhere/report.json"), "nowhere/report.json: there is no such folder"),
        (("--html", "."), ". is a folder"),
        (("--html", "same", "--json", "./same"), "./same: another option names this file too"),
        (("--quirks", known, "--badge", known), "another option names this file too"),
        (("--checks", "values", "--json", "/dev/full"), "/dev/full: No space left on device"),
    ):
        done = command(*library, *options, cwd=tmp_path)
        assert done.returncode == 2 and text in done.stderr, done
        assert "Traceback" not in done.stderr


@newer_numpy
def test_known_failures_are_marked_and_rows_without_a_failure_are_named(tmp_path, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("PLANTED", "shared-extents no-destructor")
    file = tmp_path / "quirks.toml"
    row = "[[quirk]]\ncheck = '{}'\nreason = 'the reason'\nlink = 'https://x'\n"
    rows = ("capsule-many", "capsule-na*", "deleter-after-*", "capsule-used")
    file.write_text("".join(map(row.format, rows)))
    options = ("--adapter", SCRATCH / "planted.py", "--quirks", file, "--rounds", "100")
    names = ("capsule-many", "capsule-name", "capsule-destructor", "table-current-stream")
    checks = (part for name in names for part in ("--checks", name))
    done, _ = cli(tmp_path, *options, *checks)
    assert done.stderr.splitlines() == ["failed capsule-destructor", "failed capsule-many, known"]
    line = "capsule-na* passes now in 1 check: capsule-name; remove its quirk: the reason"
    assert line in done.stdout.splitlines()
    found = report_of(outcomes(copy_true=SKIPPED, copy_false=SKIPPED))
    quirks.enter(found.outcomes, [QUIRK])
    line = "known: copy-* names no failure, but 2 skipped checks: copy-true, copy-false"
    assert line in report.notes(found, 100)


# ---------------------------------------------------------------------------------- reproducers


def test_a_reproducer_needs_no_dlbridge():
    """A consumer's program shows a broken tensor, a producer's the fields of an export."""
    tensor = tensors.of_form("plain", shape=(2, -3))
    code = "import numpy\nconsume = numpy.from_dlpack\n"
    for program, text in (
        (reproducers.consumer(code, tensor), "ValueError"),
        (reproducers.consumer(code, tensors.of_form("plain")), "imported: <class 'numpy.ndarray'>"),
        (
            reproducers.producer("import numpy\narray = numpy.arange(3.0)\n", None, {"copy": True}),
            'capsule object "dltensor"',
        ),
    ):
        assert "dlbridge" not in program
        done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True)
        assert text in done.stdout + done.stderr, program + done.stderr


def test_a_check_that_never_returns_is_killed_with_its_children(tmp_path):
    file = tmp_path / "sleeps.py"
    file.write_text("import time\ndef consume(source): time.sleep(100)\n")
    report = engine.run(Chosen(file=str(file)), ["layout-plain"], limit=2, loading=LOADING)
    assert "ran for more than 2 s" in report.outcomes["layout-plain"].found


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="the system has no /proc")
def test_a_process_that_has_left_the_session_is_killed(tmp_path):
    file = tmp_path / "leaves.py"
    file.write_text(
        "import os, time\n"
        "def consume(source):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "        time.sleep(1000)\n"
        "    time.sleep(1000)\n"
    )
    report = engine.run(Chosen(file=str(file)), ["layout-plain"], limit=2, loading=LOADING)
    assert "ran for more than 2 s" in report.outcomes["layout-plain"].found
    state = pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text()}/status")
    # A killed process is there until the system has ended it, and until its new parent waits.
    for _ in range(200):
        try:
            if "zombie" in state.read_text():
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("the process still runs")


@whole_run
def test_each_form_of_a_capsule_and_of_a_view_is_checked(tmp_path):
    """A legacy capsule without a destructor leaks; copy=False of a view must not copy."""
    file = tmp_path / "forms.py"
    file.write_text(
        "import ctypes, numpy\n"
        "clear = ctypes.pythonapi.PyCapsule_SetDestructor\n"
        "clear.argtypes = [ctypes.py_object, ctypes.c_void_p]\n"
        "class Array:\n"
        "    def __init__(self, values): self.values, self.shape = values, values.shape\n"
        "    def __dlpack_device__(self): return (1, 0)\n"
        "    def __dlpack__(self, *, max_version=None, copy=None, **rest):\n"
        "        if copy is False and not self.values.flags.c_contiguous: copy = True\n"
        "        capsule = self.values.__dlpack__(max_version=max_version, copy=copy)\n"
        "        if max_version is None: clear(capsule, None)\n"
        "        return capsule\n"
        "def make(request):\n"
        "    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)\n"
        "    return Array(request.view(memory.reshape(request.base_shape)))\n"
    )
    names = ["capsule-destructor", "copy-false", "capsule-name"]
    found = engine.run(Chosen(file=str(file)), names, rounds=10).outcomes
    assert found["capsule-name"].status == PASSED
    assert found["capsule-destructor"].expected == "a capsule named dltensor, with a destructor"
    assert found["copy-false"].found == "other memory"


def test_garbage_in_the_file_of_the_answers_is_ignored(tmp_path):
    """A library writes to every descriptor that it finds."""
    file = tmp_path / "garbage.py"
    file.write_text(
        "import os, numpy\n"
        "LINES = [b'7', b'{', b'{\"end\": 3}', b'{\"end\": [\"layout-plain\"]}', b'\\xff\\x00',\n"
        "         b'{\"versions\": 5}', b'[]', b'{\"begin\": [7]}']\n"
        "def consume(source):\n"
        "    for place in range(3, 20):\n"
        "        try: os.write(place, b'\\n'.join(LINES) + b'\\n')\n"
        "        except OSError: pass\n"
        "    return numpy.from_dlpack(source)\n"
    )
    report = engine.run(Chosen(file=str(file)), ["layout-plain", "layout-gaps"])
    assert [one.status for one in report.outcomes.values()] == [PASSED, PASSED]


@pytest.mark.parametrize("harm", ["shutil.rmtree(one)", "shutil.rmtree(folder)"])
def test_a_library_that_empties_the_folder_of_temporary_files_is_checked(
    tmp_path, monkeypatch, harm
):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    file = tmp_path / "empties.py"
    file.write_text(
        "import os, pathlib, shutil, numpy\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "def make(request):\n"
        f"    for one in folder.glob('*'): {harm}\n"
        "    if request.form.name == 'gaps': os._exit(3)\n"
        "    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)\n"
        "    return request.view(memory.reshape(request.base_shape))\n"
    )
    names = ["scalar", "values", "shape-and-strides", "empty", "capsule-name"]
    found = engine.run(Chosen(file=str(file)), names, rounds=10, jobs=1).outcomes
    assert found["values"].found.startswith("the process ended with status 3")
    right = [found[name].status for name in ("scalar", "empty", "capsule-name")]
    assert right == [PASSED] * 3
