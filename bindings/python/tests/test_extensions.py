# SPDX-License-Identifier: Apache-2.0
"""Extensions and programs that are built against the installed package with CMake and pkg-config:
the examples of the documentation, and a package in a moved folder with a space in its name.

`nox -s extensions` runs them; other sessions leave them out, since they build for minutes."""

from __future__ import annotations

import array
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import dlbridge
import numpy as np
import pytest
from checkout import root

pytestmark = pytest.mark.skipif(
    "DLBRIDGE_EXTENSIONS" not in os.environ, reason="built by nox -s extensions only"
)

EXAMPLES = ("c", "cpp", "pybind11", "nanobind")
SHORT = ("cpp", "pybind11", "nanobind")  # at most so many lines:
MOST_LINES = 16


def example(name):
    return root() / "bindings/python/examples" / name


def source(name):
    [file] = example(name).glob("summing.c*")
    return file.read_text()


def run(*command, **options):
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(folder, build_folder, *options):
    run("cmake", "-G", "Ninja", "-S", folder, "-B", build_folder, *options)
    return run("cmake", "--build", build_folder, "--parallel", "2")


def code_lines(text):
    """Lines that are neither empty nor comments."""
    without = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [line for line in without.splitlines() if line.split("//")[0].strip()]


@pytest.fixture(scope="module", params=EXAMPLES)
def summing(request, tmp_path_factory):
    """The example, built as its readers build it."""
    folder = tmp_path_factory.mktemp(f"example of {request.param}")
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    printed = build(example(request.param), folder, *options)
    assert "warning" not in printed, printed
    [file] = folder.glob("summing.*.so")
    spec = importlib.util.spec_from_file_location("summing", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_example_takes_points_and_names_what_is_wrong(summing):
    points = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert summing.sum(points) == summing.sum(points[::-1]) == 15
    points.flags.writeable = False
    assert summing.sum(points) == 15
    for wrong, rule, found in (
        (points.astype(np.float64), "DTYPE_REJECTED", "expected float32, found float64"),
        (points.T, "SHAPE_MISMATCH", "expected 3, found 2"),
        (points[0], "NDIM_LIMIT", "found 1"),
    ):
        with pytest.raises(BufferError, match=found) as caught:
            summing.sum(wrong)
        assert caught.value.rule == rule
    for wrong in (None, "text", [[1.0, 2.0, 3.0]]):
        with pytest.raises(TypeError):
            summing.sum(wrong)
    assert summing.sum.__doc__.strip().endswith("Adds the coordinates of points.")


def test_an_example_takes_buffers(summing):
    flat = memoryview(array.array("f", range(6))).cast("B")
    assert summing.sum(flat.cast("f", (2, 3))) == 15


@pytest.mark.parametrize("name", SHORT)
def test_an_example_is_short(name):
    assert len(code_lines(source(name))) <= MOST_LINES


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_shows_the_example(name):
    page = (root() / "docs/python_extensions.md").read_text()
    shown = re.findall(r"```(?:C|cpp)\n(.*?)```", page, re.DOTALL)
    assert source(name).partition("\n")[2].strip() in [text.strip() for text in shown]
    lines = len(code_lines(source(name)))
    assert f"[{name}](../bindings/python/examples/{name}) | {lines} |" in page


def test_the_other_code_of_the_page_compiles(tmp_path):
    page = (root() / "docs/python_extensions.md").read_text()
    shown = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    examples = [source(name).partition("\n")[2].strip() for name in SHORT]
    others = [text for text in shown if text.strip() not in examples]
    assert len(others) == 2
    file = tmp_path / "page.cc"
    file.write_text("#include <dlbridge/python.hpp>\n#include <vector>\n" + "\n".join(others))
    headers = ["-isystem", sysconfig.get_path("include"), "-isystem", dlbridge.get_include()]
    run("c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *headers, file)


def test_the_readme_shows_the_example_of_nanobind():
    text = (root() / "bindings/python/README.md").read_text()
    assert source("nanobind").partition("\n")[2].strip() in text


def test_the_page_shows_the_cmake_project():
    page = (root() / "docs/python_extensions.md").read_text()
    project = (example("nanobind") / "CMakeLists.txt").read_text().partition("\n")[2].strip()
    assert project in page


# ------------------------------------------------------------------------------ a moved package


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A copy of the installed package, as in an environment that was moved."""
    folder = tmp_path_factory.mktemp("an environment") / "moved here"
    shutil.copytree(pathlib.Path(dlbridge.get_include()).parent, folder / "dlbridge")
    return folder


def asked(moved, name):
    """What a function of the copy returns, in another process."""
    code = f"import dlbridge; print(dlbridge.{name}())"
    return run(sys.executable, "-c", code, env={**os.environ, "PYTHONPATH": str(moved)}).strip()


PROGRAM = """
#include <dlbridge/dlbridge.h>
#include <stdio.h>
int main(void) { return puts(dlbridge_version_string()) < 0; }
"""
PROGRAM_CXX = """
#include <dlbridge/dlbridge.hpp>
#include <cstdio>
int main() { std::puts(dlbridge::library_version_string()); }
"""
PROJECT = """
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C CXX)
find_package(dlbridge 0.3 REQUIRED COMPONENTS shared abi1)
add_executable(program program.c)
target_link_libraries(program PRIVATE dlbridge::dlbridge)
add_executable(program_cxx program.cc)
target_link_libraries(program_cxx PRIVATE dlbridge::cpp)
"""


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "a consumer"
    folder.mkdir()
    for name, text in (
        ("program.c", PROGRAM),
        ("program.cc", PROGRAM_CXX),
        ("CMakeLists.txt", PROJECT),
    ):
        (folder / name).write_text(textwrap.dedent(text))
    return folder


def test_find_package_in_a_moved_package(moved, sources):
    folder = asked(moved, "get_cmake_dir")
    assert folder.startswith(str(moved))
    build(sources, sources / "build", f"-Ddlbridge_DIR={folder}")
    for name in ("program", "program_cxx"):
        assert run(sources / "build" / name).strip() == dlbridge.__version__


def test_find_package_rejects_another_version(moved, sources):
    project = sources / "CMakeLists.txt"
    project.write_text(project.read_text().replace("0.3", "99.0"))
    folder = asked(moved, "get_cmake_dir")
    command = [
        "cmake",
        "-S",
        str(sources),
        "-B",
        str(sources / "build"),
        f"-Ddlbridge_DIR={folder}",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"version: {dlbridge.__version__}" in done.stderr


def test_pkg_config_in_a_moved_package(moved, sources):
    environment = {**os.environ, "PKG_CONFIG_PATH": asked(moved, "get_pkgconfig_dir")}
    assert run("pkg-config", "--modversion", "dlbridge", env=environment).strip() == (
        dlbridge.__version__
    )
    for compiler, name in (("cc", "program.c"), ("c++ -std=c++17", "program.cc")):
        # As on the page. eval, since pkg-config escapes the spaces.
        command = f'eval "{compiler} {name} $(pkg-config --cflags --libs dlbridge) '
        command += '-Wl,-rpath,$(pkg-config --variable=libdir dlbridge) -o program"'
        run("sh", "-c", command, cwd=sources, env=environment)
        assert run(sources / "program").strip() == dlbridge.__version__


def test_a_compiler_alone(moved, sources):
    include, library = asked(moved, "get_include"), asked(moved, "get_library_dir")
    paths = ["-I", include, "-L", library, f"-Wl,-rpath,{library}"]
    run("cc", sources / "program.c", *paths, "-ldlbridge", "-o", sources / "program")
    assert run(sources / "program").strip() == dlbridge.__version__
    needed = run("readelf", "-d", sources / "program")
    assert f"[{pathlib.Path(dlbridge.get_library()).name}]" in needed


def test_the_folders_exist():
    for name in ("get_include", "get_library_dir", "get_cmake_dir", "get_pkgconfig_dir"):
        assert pathlib.Path(getattr(dlbridge, name)()).is_dir()
    assert pathlib.Path(dlbridge.get_library()).is_file()
