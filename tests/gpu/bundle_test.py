# SPDX-License-Identifier: Apache-2.0
"""The bundle runs on a machine without a network, packages or compilers, here with the fake driver.

bundle_test.py LIBRARY TIMINGS FAKE [WHEEL]    FAKE: the fake libcuda.so.1
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import bundle
import captures
import check_conformance
import runner

LIBRARY, TIMINGS, FAKE, WHEEL = (*sys.argv[1:], "")[:4]
# Programs that must not be called; each is there and records that it was.
FORBIDDEN = ["apt", "apt-get", "cc", "c++", "clang", "gcc", "g++", "ld", "make", "nvcc", "pip"]
KEYS = {"module", "check", "result", "reason", "measured", "seconds"}
PLANTED = {
    "crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "hang": "import time\ntime.sleep(600)\n",
    "silent": "import os\nos._exit(0)\n",
    "broken": "raise RuntimeError('planted')\n",
    "late": """import os
from checks import Checks
class Late(Checks):
    def test_a(self):
        with self.check("passes") as measured:
            measured["value"] = 1
        with self.check("fails"):
            self.assertEqual(1, 2)
        with self.check("is left out"):
            self.skipTest("there is a reason")
    def test_b(self):
        os.abort()
""",
}


def without_network():
    """The command that runs another one without a network, where the system allows it."""
    for options in (("-n",), ("-rn",)):
        command = [shutil.which("unshare") or "false", *options]
        if subprocess.run([*command, "true"], check=False).returncode == 0:
            return command
    print("unshare is not permitted here: the network stays", file=sys.stderr)
    return []


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.archive = cls.folder / "bundle.tar.gz"
        bundle.make(LIBRARY, TIMINGS, WHEEL, cls.archive)
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.folder)
        cls.bundle = cls.folder / bundle.NAME
        cls.path = cls.make_path()
        cls.network = without_network()

    @classmethod
    def make_path(cls):
        """A folder with sh, python3 and the forbidden programs."""
        path = cls.folder / "path"
        path.mkdir()
        (path / "sh").symlink_to(shutil.which("sh"))
        # A script: the interpreter finds its library by its own name.
        python = path / "python3"
        python.write_text(f'#!{shutil.which("sh")}\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        for name in FORBIDDEN:
            (path / name).write_text(
                f"#!{shutil.which('sh')}\necho {name} >>{cls.folder}/called\nexit 1\n"
            )
            (path / name).chmod(0o755)
        return path

    def run_bundle(self, *arguments, **variables):
        """The exit status, the lines of the results, and the summary."""
        results = self.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        environment = {"PATH": str(self.path), "HOME": str(self.folder), **variables}
        command = [*self.network, self.path / "sh", self.bundle / "run-gpu.sh", results, *arguments]
        done = subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )
        print(done.stdout, done.stderr, file=sys.stderr)
        if done.returncode != 0:
            print((results / "log.txt").read_text()[-8000:], file=sys.stderr)
        lines = [json.loads(line) for line in (results / "results.jsonl").read_text().splitlines()]
        return done.returncode, lines, (results / "summary.txt").read_text()

    def with_fake(self, *arguments, **variables):
        folder = {"LD_LIBRARY_PATH": str(pathlib.Path(FAKE).parent)}
        return self.run_bundle(*arguments, **folder, **variables)

    @unittest.skipUnless(WHEEL, "a build with debug information may be larger")
    def test_size(self):
        self.assertLessEqual(self.archive.stat().st_size, bundle.MOST_BYTES)

    def test_every_driver_call_has_a_recipe(self):
        calls = bundle.driver_calls()
        self.assertGreater(len(calls), 30)
        known = captures.CALLS.keys() | captures.ON_THE_STREAM.keys()
        self.assertEqual(sorted(set(calls) - known), [])

    def test_adapters(self):
        """Each library of the conformance kit has its adapter, and each file its library."""
        folder = self.bundle / bundle.ADAPTERS
        found = {path.stem.removeprefix("for_") for path in folder.glob("for_*.py")}
        known = {path.stem for path in folder.glob("quirks/*.toml")}
        self.assertEqual(found, set(check_conformance.LIBRARIES))
        self.assertLessEqual(known, found)

    def test_all_modules(self):
        status, lines, summary = self.with_fake()
        self.assertEqual([line for line in lines if line["result"] == "failed"], [])
        self.assertEqual(status, 0)
        self.assertEqual({frozenset(line) for line in lines}, {frozenset(KEYS)})
        self.assertEqual(list(dict.fromkeys(line["module"] for line in lines)), [*runner.MODULES])
        self.assertLessEqual(max(map(len, summary.splitlines())), runner.WIDTH)
        self.judge_skipped([line for line in lines if line["result"] == "skipped"])
        self.assertFalse((self.folder / "called").exists())

    def judge_skipped(self, skipped):
        """Checks are skipped only for things that this machine lacks."""
        allowed = (
            r"(torch|cupy|jax|numba|cuda.core|compute-sanitizer) is not installed",
            r"(numpy|cuda.bindings|tvm_ffi|rich|tomli) is not installed",
            r"the driver has no cu\w+",
            r"the device has \d+ MiB free, .*",
            r"the host has \d+ MiB free",
            r"another process .*|the other process .*",
            r"the library knows no size|not all of the range has memory",
            *(() if WHEEL else (r"Python .* cannot import the package dlbridge: .*",)),
        )
        for line in skipped:
            self.assertRegex(line["reason"], re.compile(f"^({'|'.join(allowed)})$"), line)

    def test_no_driver(self):
        status, lines, summary = self.run_bundle(DLBRIDGE_LIBCUDA="/nonexistent/libcuda.so.1")
        self.assertEqual(status, 2)
        driver = next(line for line in lines if line["check"] == "driver")
        self.assertEqual(driver["result"], "failed")
        self.assertIn("failed: backend_info, driver: ", summary)
        self.assertEqual({line["module"] for line in lines}, set(runner.MODULES))

    def test_no_device(self):
        status, lines, _ = self.with_fake("backend_info", FAKE_CUDA_INIT="100")
        self.assertEqual(status, 2)

    def test_no_python(self):
        done = subprocess.run(
            [self.path / "sh", self.bundle / "run-gpu.sh"],
            env={"PATH": str(self.path), "DLBRIDGE_GPU_PYTHON": "no-such-python"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("no-such-python", done.stderr)

    def test_a_module_that_breaks_off(self):
        for name, text in PLANTED.items():
            path = self.bundle / f"tests/gpu/check_{name}.py"
            path.write_text(text)
            self.addCleanup(path.unlink)
        chosen = (*PLANTED, "backend_info")
        status, lines, summary = self.with_fake(*chosen, DLBRIDGE_GPU_LIMIT="20")
        self.assertEqual(status, 1)
        found = {(line["module"], line["check"]): line for line in lines}
        reasons = {name: found[name, "process"]["reason"] for name in PLANTED}
        self.assertEqual(
            reasons,
            {
                "crash": "ended by SIGSEGV",
                "hang": "did not end within 20 seconds",
                "silent": "reported no check",
                "broken": "ended with status 1 but reported no failed check",
                "late": "ended by SIGABRT",
            },
        )
        self.assertEqual({found[name, "process"]["result"] for name in PLANTED}, {"failed"})
        self.assertEqual(found["late", "passes"]["measured"], {"value": 1})
        self.assertEqual(found["late", "fails"]["result"], "failed")
        self.assertEqual(found["late", "is left out"]["reason"], "there is a reason")
        self.assertEqual(found["backend_info", "driver"]["result"], "passed")
        self.assertIn("failed: hang, process: did not end within 20 seconds", summary)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
