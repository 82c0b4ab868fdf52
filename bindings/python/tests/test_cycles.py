# SPDX-License-Identifier: Apache-2.0
"""tools/cycles.py finds cycles of includes and of imports."""

import runpy

from checkout import root

cycles = runpy.run_path(str(root() / "bindings/python/tools/cycles.py"))


def write(folder, files):
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_cycle_of_includes_is_found(tmp_path):
    files = {
        "one.h": "",
        "one.c": '#include "one.h"\n#include "two.h"\n',
        "two.h": '#include "three.h"\n',
        "three.h": "#include <one.h>\n",
        "three.c": '#include "three.h"\n',
    }
    graph = cycles["include_graph"](write(tmp_path / "good", files))
    assert graph == {"one": {"two"}, "two": {"three"}, "three": set()}
    assert cycles["cycle"](graph) is None
    files["three.c"] += '#include "one.h"\n'
    found = cycles["cycle"](cycles["include_graph"](write(tmp_path / "bad", files)))
    assert set(found) == {"one", "two", "three"}


def test_a_cycle_of_imports_is_found(tmp_path):
    files = {
        "one.py": "import os\nfrom . import two\n",
        "two.py": "def late():\n    from .three import name\n",
        "three.py": "import other.one\n",
    }
    graph = cycles["import_graph"](write(tmp_path / "good", files))
    assert graph == {"one": {"two"}, "two": {"three"}, "three": set()}
    assert cycles["cycle"](graph) is None
    files["three.py"] = "from bad.one import name\n"
    found = cycles["cycle"](cycles["import_graph"](write(tmp_path / "bad", files)))
    assert set(found) == {"one", "two", "three"}
