# SPDX-License-Identifier: Apache-2.0
"""README shows the examples and what they print.

examples_test.py FOLDER    (of the compiled examples)
"""

import pathlib
import re
import subprocess
import sys
import unittest

BINDING = pathlib.Path(__file__).resolve().parents[1]
README = (BINDING / "README.md").read_text()


def blocks(fence):
    return re.findall(rf"^```{fence}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def source(name):
    return (BINDING / "examples" / f"{name}.cc").read_text()


def printed(name):
    program = pathlib.Path(sys.argv[1]) / f"cpp_example_{name}"
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


class Examples(unittest.TestCase):
    maxDiff = None

    def test_readme_shows_the_examples(self):
        host = re.search(r"// host: begin\n(.*?)// host: end", source("plugin_host"), re.DOTALL)[1]
        self.assertEqual(blocks("cpp")[:3], [host, source("argument"), source("first")])
        self.assertLessEqual(len(host.splitlines()), 8)

    def test_readme_shows_what_they_print(self):
        self.assertEqual(blocks("text")[:2], [printed("argument"), printed("first")])

    def test_the_plugin_host_rejects_one_tensor_and_releases_the_other_once(self):
        lines = printed("plugin_host").splitlines()
        self.assertEqual(lines.count("released"), 1)
        self.assertTrue([line for line in lines if re.match("rejected: axis 1: .*found -3", line)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
