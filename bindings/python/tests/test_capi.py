# SPDX-License-Identifier: Apache-2.0
"""The C API for extensions: one probe, built against the installed package as an author would, in
C99 and C++11, with the version-specific and the limited API, does what the header says."""

from __future__ import annotations

import array
import ctypes
import gc
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import weakref

import producers
import pytest
from dlbridge import _build, _core, from_dlpack
from producers import PADDED, READ_ONLY, LegacyProducer, Producer, legacy, tabled_type, versioned

pytestmark = pytest.mark.usefixtures("balanced")

SOURCE = pathlib.Path(__file__).with_name("capi") / "probe.c"
STRICT = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Werror",
    "-Wno-missing-field-initializers",
]
LANGUAGES = {"c99": ["-x", "c", "-std=c99"], "cpp11": ["-x", "c++", "-std=c++11"]}
LIMITED = [
    f"-DPy_LIMITED_API=0x03{minor:02x}0000" for minor in (12, 13) if sys.version_info >= (3, minor)
]
WRITABLE, SKIP_VALIDATION, ADOPT = 1, 2, 4
IF_NEEDED, NEVER, ALWAYS = 0, 1, 2


def compiler():
    """The compiler; CPython's headers as a system's, in which nobody looks for warnings."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    headers = sysconfig.get_path("include")
    if found is None or not pathlib.Path(headers, "Python.h").exists():
        pytest.skip("no C compiler, or no headers of CPython")
    return [found, "-isystem", headers, "-I", _build.get_include(), *STRICT]


def compile_only(folder, *options):
    done = subprocess.run(
        [*compiler(), *options, "-DPROBE=probe", "-c", str(SOURCE), "-o", str(folder / "probe.o")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def build(folder, name, *options):
    library = _build.get_library()
    file = folder / f"{name}.so"
    done = subprocess.run(
        [*compiler(), "-shared", "-fPIC", "-O1", *options, f"-DPROBE={name}", str(SOURCE)]
        + ["-x", "none", library, f"-Wl,-rpath,{_build.get_library_dir()}", "-o", str(file)],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILDS = dict(LANGUAGES)
for flag in LIMITED:
    BUILDS[f"c99_limited_{flag[-8:-4]}"] = [*LANGUAGES["c99"], flag]
if LIMITED:
    BUILDS["cpp11_limited"] = [*LANGUAGES["cpp11"], LIMITED[0]]


@pytest.fixture(scope="module", params=BUILDS)
def probe(request, tmp_path_factory):
    return build(tmp_path_factory.mktemp("probe"), f"probe_{request.param}", *BUILDS[request.param])


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_compiles_for_free_threaded_builds(language, tmp_path):
    if sys.version_info < (3, 13):
        pytest.skip("free-threaded builds came with CPython 3.13")
    compile_only(tmp_path, *LANGUAGES[language], "-DPy_GIL_DISABLED")


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_older_limited_api_is_refused_by_the_compiler(language, tmp_path):
    with pytest.raises(AssertionError, match="limited API of 3.12 or later"):
        compile_only(tmp_path, *LANGUAGES[language], "-DPy_LIMITED_API=0x030a0000")


def test_borrow_makes_no_owner_where_the_table_lends(probe):
    made = versioned()
    lender = probe.make(made.capsule())
    (shape, flags, _, data), owned = probe.borrow(lender, WRITABLE)
    assert (shape, flags, data, owned) == ((2, 3), 0, made.struct.dl_tensor.data, 0)
    assert probe.borrow(lender, 0)[0][1] == READ_ONLY  # nobody knows
    assert probe.borrow(from_dlpack(lender), WRITABLE)[1] == 0
    del lender
    assert made.deleted == 1


def test_borrow_has_an_owner_where_only_flags_say_how_elements_lie(probe):
    """A tensor that is lent has no flags: padded elements would be read as packed ones."""
    tensor = from_dlpack(versioned(dtype=(0, 4, 1), flags=PADDED).capsule())
    (_, flags, _, _), owned = probe.borrow(tensor, 0)
    assert (flags, owned) == (PADDED, 1)


@pytest.mark.parametrize("kind", [Producer, LegacyProducer, tabled_type()])
def test_borrow_of_others_is_given_back(probe, kind):
    x = kind()
    assert probe.borrow(x, 0) == (((2, 3), READ_ONLY if kind is LegacyProducer else 0, (0, 0),
                                   x.made[0].struct.dl_tensor.data), 1)  # fmt: skip
    assert x.deleted == 1


def test_import_by_each_option(probe):
    assert probe.import_(LegacyProducer(), 0, IF_NEEDED, 0, 0)[1] == READ_ONLY
    assert probe.import_(LegacyProducer(), WRITABLE, IF_NEEDED, 0, 0)[1] == 0
    assert probe.import_(Producer(flags=1 << 5), SKIP_VALIDATION, IF_NEEDED, 0, 0)[1] == 1 << 5
    for flags in (0, ADOPT):
        with pytest.raises(BufferError) as caught:
            probe.import_(Producer(flags=1 << 5), flags, IF_NEEDED, 0, 0)
        assert caught.value.rule == "FLAGS_UNKNOWN"
        assert probe.import_(Producer(), flags, IF_NEEDED, 0, 0)[0] == (2, 3)
    assert probe.import_(Producer(), 0, ALWAYS, 0, 0)[1] == producers.IS_COPIED
    assert probe.import_(Producer(), 0, NEVER, 1, 0)[1] == 0
    with pytest.raises(BufferError, match="copy=False"):
        probe.import_(Producer(), 0, NEVER, 2, 0)
    for size in (8, 1000):
        with pytest.raises(ValueError, match="struct_size"):
            probe.import_(Producer(), 0, IF_NEEDED, 0, size)


def test_import_takes_capsules_by_the_rules(probe):
    for make in (versioned, legacy):
        made = make()
        capsule = made.capsule()
        assert probe.import_(capsule, 0, IF_NEEDED, 0, 0)[2] == (1, 3)
        assert made.deleted == 1
        with pytest.raises(BufferError, match="nobody has taken yet"):
            probe.import_(capsule, 0, IF_NEEDED, 0, 0)


VERSIONS = [(None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"),
            ((1, 3), b"dltensor_versioned"), ((2, 0), b"dltensor_versioned")]  # fmt: skip


@pytest.mark.parametrize(("version", "name"), VERSIONS)
def test_wrap_makes_capsules_for_every_consumer(probe, version, name):
    class Owner:
        data = (ctypes.c_double * 4)(0, 1, 2, 3)

    owner = Owner()
    gone = weakref.ref(owner)
    address = ctypes.addressof(Owner.data)
    capsule = probe.wrap(owner, address, 4, 0, version)
    other = probe.wrap(owner, address, 4, 0, version)
    del owner
    assert producers.get_name(capsule) == name
    tensor = from_dlpack(capsule)
    assert memoryview(tensor).tolist() == [0, 1, 2, 3]
    del capsule, tensor
    assert gone() is not None
    del other
    assert gone() is None


def test_wrap_that_is_refused_lets_the_owner_go(probe):
    class Owner:
        pass

    owner = Owner()
    gone = weakref.ref(owner)
    with pytest.raises(BufferError) as caught:
        probe.wrap(owner, 0, 4, 0, None)
    assert caught.value.rule == "DATA_NULL"
    with pytest.raises(BufferError) as caught:
        probe.wrap(owner, 64, 4, READ_ONLY, (0, 8))
    assert caught.value.rule == "LEGACY_READ_ONLY"
    with pytest.raises(TypeError):
        probe.wrap(owner, 64, 4, 0, ("x", 1))
    del caught, owner
    gc.collect()
    assert gone() is None


def test_wrap_buffer_holds_the_buffer(probe):
    data = array.array("B", range(4))
    capsule = probe.wrap_buffer(data, 4, (1, 0))
    with pytest.raises(BufferError, match="export"):
        data.append(4)
    assert memoryview(from_dlpack(capsule)).tolist() == [0, 1, 2, 3]
    del capsule
    data.append(4)
    with pytest.raises(BufferError) as caught:
        probe.wrap_buffer(data, 6, None)
    assert caught.value.rule == "BUFFER_BOUNDS"
    data.append(5)
    assert from_dlpack(probe.wrap_buffer(b"abc", 3, (1, 0))).readonly


def test_a_table_of_ones_own_serves_everybody(probe):
    made = versioned()
    ours = probe.make(made.capsule())
    assert probe.has_table(probe.Array)
    assert not probe.has_table(int)
    assert _core.exchange_versions(probe.Array) == [(1, 3)]
    tensor = from_dlpack(ours)
    again = _core.to_type(tensor, probe.Array)
    assert type(again) is probe.Array
    there = probe.to_type(again, type(tensor))
    assert type(there) is type(tensor)
    assert there.data_ptr == made.struct.dl_tensor.data
    assert type(probe.to_type(Producer(), probe.Array)) is probe.Array
    x = Producer()
    with pytest.raises(TypeError, match="a type with an exchange table"):
        probe.to_type(x, int)
    assert x.deleted == 1
    del ours, tensor, again
    assert made.deleted == 0
    del there
    assert made.deleted == 1
