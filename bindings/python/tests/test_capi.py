# SPDX-License-Identifier: Apache-2.0
"""The C API for extensions: a probe, built against the installed package in C99 and C++11, with the
version-specific and the limited API, behaves as the header states."""

from __future__ import annotations

import array
import ctypes
import gc
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import weakref

import producers
import pytest
from dlbridge import _build, _core, from_dlpack, register_producer
from producers import (
    IS_COPIED,
    PADDED,
    READ_ONLY,
    LegacyProducer,
    Producer,
    legacy,
    tabled_type,
    versioned,
)

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
VOUCH_WRITABLE, SKIP_VALIDATION, OWNED, NEVER, ALWAYS, STREAM = (1 << bit for bit in range(8, 14))
SIZE = 32  # of DLBridgePyImportOptions


def compiler():
    """The compiler command; CPython's headers are system headers, to ignore their warnings."""
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
def test_an_older_limited_api_is_rejected_by_the_compiler(language, tmp_path):
    with pytest.raises(AssertionError, match="limited API of 3.12 or later"):
        compile_only(tmp_path, *LANGUAGES[language], "-DPy_LIMITED_API=0x030a0000")


def test_borrow_makes_no_owner_if_the_table_can_borrow(probe):
    made = versioned()
    lender = probe.make_plain(made.capsule())
    (shape, flags, _, data), owned = probe.borrow(lender, VOUCH_WRITABLE)
    assert (shape, flags, data, owned) == ((2, 3), 0, made.struct.dl_tensor.data, 0)
    assert probe.borrow(lender, 0)[0][1] == READ_ONLY  # unknown
    assert probe.borrow(from_dlpack(lender), VOUCH_WRITABLE)[1] == 0
    del lender
    assert made.deleted == 1


@pytest.mark.parametrize("options", [0, VOUCH_WRITABLE])
def test_a_table_for_consumers_that_keep_read_only_lends_writable_tensors_only(probe, options):
    made = versioned()
    for lender in (probe.make(made.capsule()), from_dlpack(versioned().capsule())):
        assert probe.borrow(lender, options)[0][1] == 0
        assert probe.borrow(lender, options)[1] == 0
    frozen = versioned(flags=READ_ONLY)
    for lender in (probe.make(frozen.capsule()), from_dlpack(versioned(flags=READ_ONLY).capsule())):
        (_, flags, _, _), owned = probe.borrow(lender, options)
        assert (flags, owned) == (READ_ONLY, 1)


def test_the_usual_table_does_not_export_read_only_tensors(probe):
    """Not even to dlbridge, which cannot ask for the other table."""
    lender = probe.make_plain(versioned(flags=READ_ONLY).capsule())
    for take in (from_dlpack, lambda x: probe.borrow(x, 0), lambda x: imported(probe, x)):
        with pytest.raises(BufferError, match="known to keep READ_ONLY") as caught:
            take(lender)
        assert caught.value.status == "POLICY"


def test_dlpack_of_an_extension_protects_read_only_memory(probe):
    lender = probe.make(versioned(flags=READ_ONLY).capsule())
    for asked in ({"max_version": (1, 3)}, {"max_version": (1, 0), "copy": False}, {}):
        with pytest.raises(BufferError, match="known to keep READ_ONLY"):
            lender.__dlpack__(**asked)
    for asked in ({"max_version": (1, 3), "copy": True}, {"copy": True}):
        assert not from_dlpack(lender.__dlpack__(**asked), writable=True).readonly
    kept = from_dlpack(lender)
    assert kept.readonly
    assert imported(probe, kept)[1] == READ_ONLY
    assert imported(probe, lender, stream=0)[3] == kept.data_ptr


def test_dlpack_of_an_extension_reads_its_arguments(probe):
    lender = probe.make(versioned().capsule())
    assert from_dlpack(lender.__dlpack__(stream=None, dl_device=(1, 0), copy=None), writable=True)
    for asked in ({"max_version": 1}, {"copy": 1}, {"dl_device": "cpu"}, {"stream": "1"}, {"x": 1}):
        with pytest.raises(TypeError):
            lender.__dlpack__(**asked)
    for asked in ({"max_version": (2**40, 0)}, {"dl_device": (2**40, 0)}, {"stream": 2**80}):
        with pytest.raises(ValueError, match="expected"):
            lender.__dlpack__(**asked)
    with pytest.raises(BufferError, match="copy=False"):
        lender.__dlpack__(dl_device=(2, 0), copy=False)


def test_to_type_of_the_c_api_rejects_read_only_tensors(probe):
    for kind in (tabled_type(), type(probe.make_plain(Producer()))):
        frozen = versioned(flags=READ_ONLY)
        capsule = frozen.capsule()
        with pytest.raises(BufferError, match="readonly='copy'"):
            probe.to_type(capsule, kind)
        assert frozen.deleted == 1
    capsule = versioned(flags=READ_ONLY).capsule()
    assert from_dlpack(probe.to_type(capsule, probe.Array)).readonly


def test_borrow_makes_an_owner_if_flags_define_the_layout(probe):
    """A borrowed tensor has no flags: padded elements would be read as packed ones."""
    tensor = from_dlpack(versioned(dtype=(0, 4, 1), flags=PADDED).capsule())
    (_, flags, _, _), owned = probe.borrow(tensor, 0)
    assert (flags, owned) == (PADDED, 1)


@pytest.mark.parametrize("kind", [Producer, LegacyProducer, tabled_type()])
def test_borrow_of_other_objects_is_released(probe, kind):
    x = kind()
    assert probe.borrow(x, 0) == (((2, 3), READ_ONLY if kind is LegacyProducer else 0, (0, 0),
                                   x.made[0].struct.dl_tensor.data), 1)  # fmt: skip
    assert x.deleted == 1


def imported(probe, x, options=0, device=0, size=0, tail=0, stream=0):
    """(shape, flags, version, address) of the result of dlbridge_py_import."""
    return probe.import_(x, options, device, size, tail, stream)


@pytest.mark.usefixtures("registry")
def test_arrays_of_a_registered_immutable_producer(probe):
    """Their exports do not record it. A registration counts for types that were seen before too."""

    class Copying(Producer):
        def __dlpack__(self, **keywords):
            return self.hand_out(versioned(flags=IS_COPIED if keywords.get("copy") else 0))

    Mine = type("Mine", (Copying,), {"__module__": "mine.arrays"})
    lenders = [make(versioned().capsule()) for make in (probe.make, probe.make_plain)]
    before = [probe.borrow(one, VOUCH_WRITABLE)[0][1] for one in (*lenders, Mine())]
    assert (before, imported(probe, Mine())[1]) == ([0, 0, 0], 0)
    register_producer("mine", immutable=True)
    register_producer("probe", immutable=True)
    for one in (*lenders, Mine()):
        assert probe.borrow(one, VOUCH_WRITABLE)[0][1] == READ_ONLY
    for options in (0, OWNED, NEVER):
        assert imported(probe, Mine(), options)[1] == READ_ONLY
    assert imported(probe, Mine(), ALWAYS)[1] == IS_COPIED, "a copy has one owner"
    assert imported(probe, Producer())[1] == 0
    register_producer("mine", replace=True)
    assert imported(probe, Mine())[1] == 0


def test_import_by_each_option(probe):
    assert imported(probe, LegacyProducer())[1] == READ_ONLY
    assert imported(probe, LegacyProducer(), VOUCH_WRITABLE)[1] == 0
    assert imported(probe, Producer(flags=1 << 5), SKIP_VALIDATION)[1] == 1 << 5
    for options in (0, OWNED):
        with pytest.raises(BufferError) as caught:
            imported(probe, Producer(flags=1 << 5), options)
        assert caught.value.rule == "FLAGS_UNKNOWN"
        assert str(caught.value).endswith("; clear the bit")
        assert imported(probe, Producer(), options)[0] == (2, 3)
    assert imported(probe, Producer(), ALWAYS)[1] == producers.IS_COPIED
    assert imported(probe, Producer(), NEVER, device=1)[1] == 0
    with pytest.raises(BufferError, match="copy=False"):
        imported(probe, Producer(), NEVER, device=2)
    for stream in (0, 7):
        x = Producer()
        imported(probe, x, STREAM, stream=stream)
        assert x.asked == [{"stream": stream, "max_version": (1, 3)}]


@pytest.mark.parametrize(
    ("given", "status", "message"),
    [
        ({"size": 8}, "INVALID_ARGUMENT", "struct_size: expected 32 to 4096, found 8"),
        ({"size": 5000}, "INVALID_ARGUMENT", "struct_size: expected 32 to 4096, found 5000"),
        ({"size": SIZE + 8, "tail": 1 << 8}, "TOO_NEW", "byte 33 is set"),
        ({"options": 1}, "INVALID_ARGUMENT", "DLPACK_FLAG_BITMASK_READ_ONLY"),
        ({"options": 2}, "INVALID_ARGUMENT", "DLPACK_FLAG_BITMASK_IS_COPIED"),
        ({"options": 4}, "INVALID_ARGUMENT", "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"),
        ({"options": 1 << 7}, "INVALID_ARGUMENT", "a bit below 8"),
        ({"options": 1 << 14 | OWNED}, "TOO_NEW", "the bits 0x4000,"),
        ({"options": NEVER | ALWAYS}, "INVALID_ARGUMENT", "found both"),
        (
            {"stream": 7},
            "INVALID_ARGUMENT",
            "stream: expected 0 without DLBRIDGE_PY_STREAM, found 7",
        ),
    ],
)
def test_meaningless_options_are_rejected(probe, given, status, message):
    x = Producer()
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        imported(probe, x, **given)
    assert (caught.value.status, caught.value.rule, caught.value.axis) == (status, None, None)
    assert x.made == []


def test_newer_options_that_are_zero_are_accepted(probe):
    assert imported(probe, Producer(), size=SIZE + 8)[0] == (2, 3)
    assert imported(probe, Producer(), tail=1)[0] == (2, 3)  # past struct_size: not read


def test_import_takes_capsules_by_the_rules(probe):
    for make in (versioned, legacy):
        made = make()
        capsule = made.capsule()
        assert imported(probe, capsule)[2] == (1, 3)
        assert made.deleted == 1
        with pytest.raises(BufferError, match="was not taken yet"):
            imported(probe, capsule)


def test_import_of_a_capsule_rejects_unsupported_options(probe):
    for make in (versioned, legacy):
        made = make()
        capsule = made.capsule()
        for options in (NEVER, ALWAYS, STREAM):
            with pytest.raises(ValueError, match="no device, copy or stream"):
                probe.import_capsule(capsule, options, False)
        with pytest.raises(ValueError, match="no device, copy or stream"):
            probe.import_capsule(capsule, 0, True)
        with pytest.raises(ValueError, match="DLPACK_FLAG_BITMASK_READ_ONLY"):
            probe.import_capsule(capsule, 1, False)
        assert made.deleted == 0
        assert probe.import_capsule(capsule, OWNED, False)[0] == (2, 3)
        assert made.deleted == 1
    with pytest.raises(TypeError, match="an instance of <class 'int'>"):
        probe.import_capsule(3, 0, False)


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


def test_a_rejected_wrap_releases_the_owner(probe):
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


def test_buffers_are_imported_and_borrowed(probe):
    """Objects without DLPack; the buffer is released with the tensor."""
    data = array.array("h", range(6))
    (shape, flags, version, address) = imported(probe, data)
    assert (shape, flags, version) == ((6,), 0, (1, 3))
    assert address == data.buffer_info()[0]
    data.append(6)
    view = memoryview(bytes(24)).cast("i", (2, 3))[::-1]
    (shape, flags, *_), owned = probe.borrow(view, 0)
    assert (shape, flags, owned) == ((2, 3), READ_ONLY, 1)
    kept = probe.make(data)
    with pytest.raises(BufferError, match="export"):
        data.append(7)
    tensor = from_dlpack(kept)
    assert memoryview(tensor).tolist() == list(range(7))
    del kept, tensor
    data.append(7)


@pytest.mark.parametrize(
    ("source", "dtype"),
    [
        (array.array("b", [1]), "int8"),
        (array.array("B", [1]), "uint8"),
        (array.array("l", [1]), "int64"),
        (array.array("Q", [1]), "uint64"),
        (array.array("f", [1]), "float32"),
        (array.array("d", [1]), "float64"),
        ((ctypes.c_bool * 2)(), "bool"),
        ((ctypes.c_int16 * 2)(), "int16"),
        ((ctypes.c_uint8.__ctype_be__ * 2)(), "uint8"),
        (memoryview(b"ab").cast("b"), "int8"),
    ],
)
def test_formats_of_buffers(probe, source, dtype):
    assert from_dlpack(probe.make(source)).dtype == dtype


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint8), ("second", ctypes.c_uint8)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (memoryview(b"ab").cast("c"), "'c' of 1 bytes"),
        ((ctypes.c_uint16.__ctype_be__ * 2)(), "'>H' of 2 bytes"),
        ((ctypes.c_longdouble * 2)(), "of 16 bytes"),
        ((ctypes.c_char_p * 2)(), "of 8 bytes"),
        ((Pair * 2)(), "of 2 bytes"),
    ],
)
def test_buffers_of_no_dtype_are_rejected(probe, source, found):
    references = sys.getrefcount(source)
    with pytest.raises(BufferError, match=found) as caught:
        imported(probe, source)
    assert caught.value.rule == "DTYPE_REJECTED"
    assert "from_buffer(x, dtype=...)" in str(caught.value)
    del caught
    gc.collect()
    assert sys.getrefcount(source) == references


def test_an_object_with_dlpack_is_not_taken_by_its_buffer(probe):
    class Both(bytearray):
        def __dlpack__(self, **keywords):
            raise TypeError("of the producer")

    with pytest.raises(TypeError, match="of the producer"):
        imported(probe, Both(4))
    with pytest.raises(TypeError, match="supports DLPack"):
        imported(probe, "text")


def test_plain_bytes_of_a_read_only_tensor(probe):
    """Only a consumer that was told that the memory is read-only does not get them."""
    frozen = from_dlpack(b"immutable")
    with pytest.raises(BufferError, match="after writable memory was rejected.*copy"):
        probe.plain_bytes(frozen)
    assert probe.plain_bytes(frozen.copy()) == 9
    assert probe.plain_bytes(b"immutable") == 9


def test_an_extensions_own_table_serves_every_consumer(probe):
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
