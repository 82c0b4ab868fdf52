# SPDX-License-Identifier: Apache-2.0
"""The binding's headers have no include cycles."""

import pathlib
import re
import unittest

BINDING = pathlib.Path(__file__).resolve().parents[1]
ROOT = BINDING.parents[1]
INCLUDE = BINDING / "include"


def includes(path):
    """The binding's headers that a header includes."""
    names = re.findall(r'^#\s*include\s*["<](dlbridge/.*?)[">]', path.read_text(), re.MULTILINE)
    return [name for name in names if (INCLUDE / name).exists()]


def find_cycle(graph):
    """The nodes of a cycle of a graph (node to its successors), or None."""
    done = set()

    def visit(node, path):
        if node in path:
            return path[path.index(node) :]
        if node in done:
            return None
        done.add(node)
        return next(filter(None, (visit(other, [*path, node]) for other in graph[node])), None)

    return next(filter(None, (visit(node, []) for node in graph)), None)


class Headers(unittest.TestCase):
    def test_no_include_cycle(self):
        headers = sorted(INCLUDE.rglob("*.hpp"))
        graph = {str(path.relative_to(INCLUDE)): includes(path) for path in headers}
        self.assertGreater(sum(map(len, graph.values())), 20)
        self.assertIsNone(find_cycle(graph))

    def test_a_cycle_is_found(self):
        self.assertIsNone(find_cycle({"a": ["b", "c"], "b": ["c"], "c": []}))
        self.assertEqual(find_cycle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c"])


if __name__ == "__main__":
    unittest.main()
