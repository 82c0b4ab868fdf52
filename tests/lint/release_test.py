# SPDX-License-Identifier: Apache-2.0
"""Each reason to refuse a release is found, in a copy of the repository, a fault at a time."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_repo
import checkout

sys.path.insert(0, str(check_repo.ROOT / "tools"))

import versions  # noqa: E402 needs the path above

VERSION = versions.read(check_repo.ROOT).text
NOT_COPIED = ("tests/fuzz/seeds/", "bindings/rust/fuzz/corpus/")
# What a person decides before a release.
LEFT = ("has no date", f"no tag v{VERSION}", "begins with a host", ".invalid")
HOSTED = (
    ("bindings/go/go.mod", "module dlbridge/", "module example.org/dlbridge/"),
    ("debian/control", ".invalid", ".example"),
    ("debian/copyright", ".invalid", ".example"),
    ("debian/watch", ".invalid", ".example"),
    ("tools/changelog.py", ".invalid", ".example"),
    ("CHANGELOG.md", " (unreleased)", ", 2030-01-02"),
)


class Release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        checkout.copy(cls.root, without=NOT_COPIED)
        cls.git("init", "--quiet")
        cls.commit()
        cls.first = cls.git("rev-parse", "HEAD")

    def setUp(self):
        self.git("reset", "--quiet", "--hard", self.first)

    @classmethod
    def git(cls, *words):
        name = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        command = ("git", "-C", cls.root, *name, *words)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    @classmethod
    def commit(cls):
        cls.git("add", "--all")
        cls.git("commit", "--quiet", "--message", "test")

    def edit(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new))

    def check(self, *options):
        """Exit status of `./run release --check`, and what it prints, without line breaks."""
        command = (sys.executable, "-B", self.root / "packaging/release.py", "--check", *options)
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stderr)
        return done.returncode, " ".join(done.stdout.split())

    def assert_refused(self, reason, *options):
        status, printed = self.check(*options)
        self.assertEqual(status, 1, printed)
        self.assertIn("FAILED refused:", printed)
        self.assertIn(reason, printed)

    def test_a_dry_run_names_what_is_left(self):
        status, printed = self.check("--dry-run")
        self.assertEqual(status, 0, printed)
        self.assertNotIn("refused:", printed)
        for reason in LEFT:
            self.assertIn(reason, printed)

    def test_a_release_is_refused_for_it(self):
        for reason in LEFT:
            self.assert_refused(reason)

    def test_a_changed_tree_is_refused(self):
        (self.root / "more").write_text("more\n")
        self.assert_refused("the tree is not clean", "--dry-run")
        (self.root / "more").unlink()
        self.edit("README.md", "dlbridge", "dlbridges")
        self.assert_refused("the tree is not clean", "--dry-run")

    def test_each_other_version_is_refused(self):
        places = {str(path.relative_to(self.root)): matched for place in versions.PLACES
                  for path, matched in versions.matches(self.root, place)}  # fmt: skip
        for name, matched in {**places, "debian/changelog": None}.items():
            with self.subTest(name):
                old = matched[0][0] if matched else f"({VERSION}-1)"
                value = matched[0][1] if matched else VERSION
                self.edit(name, old, old.replace(value, "9.8.7"))
                self.commit()
                self.assert_refused(f"refused: {name.split('/')[0]}", "--dry-run")
            self.git("reset", "--quiet", "--hard", self.first)

    def test_a_tag_on_another_commit_is_refused(self):
        self.git("tag", f"v{VERSION}")
        self.git("commit", "--quiet", "--allow-empty", "--message", "later")
        self.assert_refused("names another commit")
        self.git("tag", "--delete", f"v{VERSION}")

    def test_a_complete_release_is_not_refused(self):
        for name, old, new in HOSTED:
            self.edit(name, old, new)
        command = (sys.executable, "-B", self.root / "tools/versions.py", "write")
        subprocess.run(command, check=True, capture_output=True)
        self.commit()
        self.git("tag", f"v{VERSION}")
        status, printed = self.check()
        self.git("tag", "--delete", f"v{VERSION}")
        self.assertEqual((status, printed), (0, "passed: the commit can be released"))

    def test_a_release_has_all_parts(self):
        command = (sys.executable, "-B", self.root / "packaging/release.py", "--only", "source")
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected --dry-run with --only", done.stderr)


if __name__ == "__main__":
    unittest.main()
