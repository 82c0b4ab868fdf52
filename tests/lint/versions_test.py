# SPDX-License-Identifier: Apache-2.0
"""Each place of the version in tools/versions.py is compared with the header, and written."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import versions  # noqa: E402 needs the path above

OTHER = "9.8.7"


def files():
    known = {str(path.relative_to(ROOT)) for place in versions.PLACES
             for path in ROOT.glob(place.path)}  # fmt: skip
    return sorted(known | {"CHANGELOG.md", "debian/changelog"})


class Versions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in files():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        version = versions.read(ROOT)
        (self.root / f"abi/{version.abi}/{version.text}").mkdir(parents=True)

    def found(self):
        return list(versions.disagreements(self.root))

    def assert_reports(self, words):
        self.assertIn(words, "\n".join(self.found()))

    def test_the_repository_agrees(self):
        self.assertEqual(self.found(), [])

    def test_each_place_is_compared(self):
        for place in versions.PLACES:
            for path, matched in versions.matches(self.root, place):
                with self.subTest(f"{place.path}: {place.pattern}"):
                    text = path.read_text()
                    self.assertTrue(matched, "no version is found there")
                    for one in (matched[0], matched[-1]):
                        changed = text[: one.start(1)] + OTHER + text[one.end(1) :]
                        path.write_text(changed)
                        self.assert_reports(f"found {OTHER}")
                    path.write_text(re.sub(place.pattern, "", text, flags=re.MULTILINE))
                    self.assert_reports(f"{place.path}: expected")
                    path.write_text(text)

    def test_each_place_of_another_header_is_found_and_written(self):
        path = self.root / versions.HEADER
        old = versions.read(ROOT).text
        major, minor, _ = OTHER.split(".")
        text = path.read_text().replace(f'"{old}"', f'"{OTHER}"')
        for name, value in (("MAJOR", major), ("MINOR", minor), ("PATCH", OTHER[-1])):
            text = re.sub(rf"(_VERSION_{name}) \d+", rf"\1 {value}", text)
        path.write_text(text)
        self.assertGreaterEqual(len(self.found()), len(versions.PLACES) - 3)
        log = self.root / "CHANGELOG.md"
        log.write_text(
            log.read_text().replace("## ", f"## {OTHER} (unreleased)\n\n- New.\n\n## ", 1)
        )
        (self.root / f"abi/{versions.read(self.root).abi}/{OTHER}").mkdir()
        command = (sys.executable, "-B", ROOT / "tools/versions.py", "write", "--root", self.root)
        subprocess.run(command, capture_output=True)
        left = [line for line in self.found() if "facts.py" not in line]
        self.assertEqual(left, [])
        self.assertIn(
            f"dlbridge ({OTHER}-1) UNRELEASED;", (self.root / "debian/changelog").read_text()
        )

    def test_the_date_of_a_release_is_repeated(self):
        log = self.root / "CHANGELOG.md"
        log.write_text(log.read_text().replace(" (unreleased)", ", 2030-01-02", 1))
        self.assert_reports("debian/changelog: does not repeat")
        self.assert_reports("2030-01-02, found")
        versions.write(self.root)
        self.assertEqual(self.found(), [])
        self.assertIn("Wed, 02 Jan 2030", (self.root / "debian/changelog").read_text())

    def test_a_version_without_a_record_is_found(self):
        version = versions.read(self.root)
        (self.root / f"abi/{version.abi}/{version.text}").rmdir()
        self.assert_reports("./run abi record")


if __name__ == "__main__":
    unittest.main()
