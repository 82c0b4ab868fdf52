# SPDX-License-Identifier: Apache-2.0
"""tests/stages.py counts skipped sessions as their caller demands, names a full disk; needs nox."""

import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import stages

NOXFILE = """\
import nox

nox.options.default_venv_backend = "none"


@nox.session
def good(session):
    pass


@nox.session
def left_out(session):
    session.skip("the machine lacks it")
"""


class Session:
    name = "outer"

    def __init__(self):
        self.errors = []

    def error(self, text):
        self.errors.append(text)


class SkippedSessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        self.addCleanup(vars(stages).update, {k: getattr(stages, k) for k in PLACES})
        stages.ROOT, stages.LOG, stages.REPORTS = root, root / "log", root / "reports"
        for place in (root / "inner", stages.LOG, stages.REPORTS):
            place.mkdir()
        (root / "inner/noxfile.py").write_text(NOXFILE)

    def errors(self, **options):
        session = Session()
        stages.noxfiles(session, [("inner", ())], **options)
        return session.errors

    def test_they_are_allowed_by_default(self):
        self.assertEqual(self.errors(), [])

    def test_they_fail_where_none_may_be_skipped(self):
        self.assertEqual(self.errors(may_skip=False), ["1 of 2 sessions failed"])


class FullDisk(unittest.TestCase):
    def line(self, free):
        usage = unittest.mock.Mock(free=free)
        with unittest.mock.patch("shutil.disk_usage", return_value=usage):
            return stages.full_disk()

    def test_it_is_named(self):
        self.assertIn("the disk of build/ is full (12 MiB are free)", self.line(12 << 20))

    def test_free_space_is_not_mentioned(self):
        self.assertEqual(self.line(1 << 30), "")


PLACES = ("ROOT", "LOG", "REPORTS")


if __name__ == "__main__":
    unittest.main()
