# SPDX-License-Identifier: Apache-2.0
"""`dlbridge.abi`: the C ABI, its structs and constants, its errors and callbacks."""

import contextlib
import ctypes
import gc
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import weakref

import pytest
from checkout import root
from dlbridge import _structs, abi

FLOAT32 = (2, 32, 1)

# Prefix of names in the header -> enumeration.
ENUMERATIONS = {
    "RULE": abi.Rule,
    "KIND": abi.Kind,
    "LAYOUT": abi.LayoutProperty,
    "LEVEL": abi.Level,
    "POLICY": abi.PolicyOption,
    "CONTIGUITY": abi.Contiguity,
    "SEVERITY": abi.Severity,
    "CONVERT": abi.ConvertOption,
    "ALLOCATE": abi.AllocateOption,
    "BACKEND": abi.Backend,
    "STATE": abi.State,
    "BUFFER": abi.BufferKind,
    "MEMORY": abi.Memory,
    "POINTER": abi.PointerProperty,
    "POINTER_INFO": abi.PointerOption,
    "WRAP": abi.WrapOption,
    "STREAM": abi.StreamKind,
    "HANDOFF": abi.HandoffOption,
    "CONTEXT": abi.ContextProperty,
    "COPY": abi.CopyOption,
    "COLLECT": abi.CollectOption,
    "IPC": abi.IpcOption,
    "ERROR": abi.Status,
}
ALONE = {
    "DLBRIDGE_OK": abi.Status.OK,
    "DLBRIDGE_NO": abi.Answer.NO,
    "DLBRIDGE_YES": abi.Answer.YES,
    "DLBRIDGE_UNDECIDED": abi.Answer.UNDECIDED,
}
DLPACK = {abi.DeviceType: "kDL", abi.DtypeCode: "kDL", abi.TensorFlag: "DLPACK_FLAG_BITMASK_"}


def mirrored_structs():
    """Every ctypes mirror of a struct: those of the package and those of the tests."""
    path = root() / "tests/support/structs.py"
    spec = importlib.util.spec_from_file_location("structs", path)
    support = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(support)
    found = [one for module in (_structs, support) for one in vars(module).values()]
    return [one for one in found if hasattr(one, "_fields_") and one is not ctypes.Structure]


def expected_constants():
    """Name in C -> its value in Python."""
    found = {name: int(value) for name, value in ALONE.items()}
    for prefix, kind in ENUMERATIONS.items():
        for name, value in kind.__members__.items():
            if value != abi.Status.OK or kind is not abi.Status:
                found[f"DLBRIDGE_{prefix}_{name}"] = int(value)
    return found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The C compiler's values: `constant NAME VALUE`, `size STRUCT N`, `offset STRUCT FIELD N`."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler to compare the mirrored structs with")
    lines = [f'printf("constant {n} %lld\\n", (long long){n});' for n in expected_constants()]
    for kind, prefix in DLPACK.items():
        for name in kind.__members__:
            lines.append(f'printf("constant {prefix}{name} %lld\\n", (long long){prefix}{name});')
    for struct in mirrored_structs():
        name = struct.__name__
        lines.append(f'printf("size {name} %zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("offset {name} {field} %zu\\n", offsetof({name}, {field}));')
    folder = tmp_path_factory.mktemp("mirror")
    body = '#include <stdio.h>\n#include "dlbridge/dlbridge.h"\nint main(void) {\n'
    (folder / "mirror.c").write_text(body + "\n".join(lines) + "\nreturn 0;\n}\n")
    build = [compiler, "-I", root() / "include", folder / "mirror.c", "-o", folder / "mirror"]
    subprocess.run(build, check=True)
    said = subprocess.run([folder / "mirror"], check=True, capture_output=True, text=True).stdout
    return {tuple(line.split()[:-1]): int(line.split()[-1]) for line in said.splitlines()}


def test_constants_are_those_of_c(compiled):
    for name, value in expected_constants().items():
        assert compiled["constant", name] == value, name
    for kind, prefix in DLPACK.items():
        for name, value in kind.__members__.items():
            assert compiled["constant", prefix + name] == value, name


def test_structs_are_those_of_c(compiled):
    for struct in mirrored_structs():
        name = struct.__name__
        assert compiled["size", name] == ctypes.sizeof(struct), name
        for field, *_ in struct._fields_:
            assert compiled["offset", name, field] == getattr(struct, field).offset, field


def test_every_exported_function_is_available():
    symbols = (root() / "abi" / "symbols.txt").read_text()
    names = [line.split("@@")[0] for line in symbols.splitlines() if line]
    assert len(names) >= 50
    for name in names:
        function = name.removeprefix("dlbridge_")
        function = {"import": "import_tensor", "export": "export_tensor"}.get(function, function)
        assert callable(getattr(abi, function, None)), name
        assert function in abi.__all__, name


def test_names_of_statuses_and_rules_equal_the_librarys():
    for status in abi.Status:
        prefix = "DLBRIDGE_" if status == abi.Status.OK else "DLBRIDGE_ERROR_"
        assert abi.status_name(status) == prefix + status.name
        assert abi.status_text(status).endswith(".")
    for rule in abi.Rule:
        assert abi.rule_name(rule) == rule.name
        assert abi.rule_text(rule)
    assert abi.status_name(1234) == "UNKNOWN_STATUS"
    assert abi.rule_name(1234) == "UNKNOWN_RULE"


def test_names_of_bits_and_values():
    assert abi.names_of(abi.TensorFlag, 0b1011) == ["READ_ONLY", "IS_COPIED", "8"]
    assert abi.name_of(abi.State, 2) == "ABSENT"
    assert abi.name_of(abi.State, -7) == "-7"


# ------------------------------------------------------------------------------------------- errors


def rejection(kind, function, *arguments, **keywords):
    with pytest.raises(kind) as caught:
        function(*arguments, **keywords)
    assert type(caught.value) is kind
    return caught.value


def test_errors_have_status_rule_and_axis():
    error = rejection(BufferError, abi.allocate, [2, -3], FLOAT32)
    assert (error.status, error.rule, error.axis) == ("INVALID_TENSOR", "EXTENT_NEGATIVE", 1)
    assert "found -3" in str(error)
    error = rejection(ValueError, abi.validate, 0)
    assert (error.status, error.rule, error.axis) == ("INVALID_ARGUMENT", None, None)
    assert error.native_code is None
    error = rejection(ValueError, abi.dtype_parse, "floaty32")
    assert (error.status, error.rule) == ("PARSE", None)
    error = rejection(ValueError, abi.context_next, 2**63)
    assert error.status == "NOT_FOUND"


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (abi.validate, ("address",)),
        (abi.validate, (-1,)),
        (abi.validate, (2**64,)),
        (abi.validate, (1.5,)),
        (abi.layout, (None,)),
        (abi.dtype_format, ((2, 32),)),
        (abi.dtype_format, ((2, 256, 1),)),
        (abi.device_format, ((2**31, 0),)),
        (abi.dtype_parse, (b"float32",)),
        (abi.allocate, (["3"], FLOAT32)),
        (abi.allocate, ([2**63], FLOAT32)),
        (abi.upgrade, (0, {"options": 1})),
        (abi.import_tensor, (0, "LEGACY")),
        (abi.release, (0,)),
        (abi.upgrade_many, ([None],)),
        (abi.Allocator, (None, None)),
        (abi.capsule, (3,)),
        (abi.ipc_import, ("text", [])),
        (abi.rule_name, ("NONE",)),
    ],
)
def test_arguments_of_the_wrong_kind_are_type_errors(function, arguments):
    with pytest.raises(TypeError):
        function(*arguments)


def test_options_of_the_wrong_kind_are_type_errors():
    for keywords in ({"policy": 3}, {"allocator": "system"}, {"options": -1}, {"flags": 1}):
        with pytest.raises(TypeError):
            abi.ConvertOptions(**keywords)


def test_a_list_shorter_than_the_axes_is_rejected_before_it_is_read():
    tensor = abi.allocate([2, 3], FLOAT32)
    for keywords in ({"strides": [1]}, {"strides": [3, 1], "ndim": 3}):
        assert "entry for each axis" in str(
            rejection(ValueError, abi.view, tensor, [2, 3], **keywords)
        )
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, 4096)
    rejection(ValueError, abi.wrap, buffer, [2, 3], FLOAT32, strides=[1])
    rejection(ValueError, abi.allocate, [2], FLOAT32, ndim=2)
    assert "max_ndim entries" in str(rejection(ValueError, abi.Policy, shape=[2], max_ndim=2))
    abi.release_versioned(tensor)


def test_texts_are_written_to_the_callers_buffer():
    memory = bytearray(b"#" * 10)
    assert abi.dtype_format(FLOAT32, memory) == 7
    assert memory == b"float32\0##"
    error = rejection(ValueError, abi.dtype_format, FLOAT32, bytearray(3))
    assert (error.status, error.length) == ("BUFFER_TOO_SMALL", 7)
    with pytest.raises(BufferError):
        abi.dtype_format(FLOAT32, b"read-only bytes")


# --------------------------------------------------------------------------------------- importing


def legacy_struct(deleted, **fields):
    """A DLManagedTensor of two floats at an address that nothing reads."""
    struct = abi.DLManagedTensor(deleter=abi.DLManagedTensor.Deleter(deleted.append))
    tensor = struct.dl_tensor
    struct.shape = (ctypes.c_int64 * 1)(2)
    tensor.data, tensor.ndim = 4096, 1
    tensor.device, tensor.dtype = abi.DLDevice(1, 0), abi.DLDataType(*FLOAT32)
    tensor.shape = ctypes.cast(struct.shape, type(tensor.shape))
    for name, value in fields.items():
        setattr(tensor, name, value)
    return struct


def test_import_makes_a_tensor_that_can_be_shared():
    for kind in (abi.Kind.LEGACY, abi.Kind.UNKNOWN):
        deleted = []
        struct = legacy_struct(deleted)
        tensor = abi.import_tensor(ctypes.addressof(struct), kind)
        other = abi.share(tensor)
        assert abi.tensor_at(other, abi.Kind.VERSIONED).flags == abi.TensorFlag.READ_ONLY
        abi.release(tensor, abi.Kind.VERSIONED)
        assert deleted == []
        abi.release(other, abi.Kind.VERSIONED)
        assert deleted == [ctypes.addressof(struct)]


def test_import_of_an_unknown_kind_reports_the_broken_rule():
    deleted = []
    struct = legacy_struct(deleted, ndim=-1)
    error = rejection(BufferError, abi.import_tensor, ctypes.addressof(struct), abi.Kind.UNKNOWN)
    assert (error.status, error.rule, deleted) == ("INVALID_TENSOR", "NDIM_NEGATIVE", [])


def test_export_makes_the_kind_that_the_consumer_reads():
    deleted = []
    struct = legacy_struct(deleted)
    tensor = abi.import_tensor(ctypes.addressof(struct), abi.Kind.LEGACY)
    error = rejection(BufferError, abi.export_tensor, tensor, abi.Kind.VERSIONED, (0, 8))
    assert error.rule == "LEGACY_READ_ONLY"
    rejection(ValueError, abi.export_tensor, tensor, abi.Kind.VERSIONED, (0, 0))
    options = abi.ConvertOptions(options=abi.ConvertOption.DROP_READ_ONLY)
    out, kind = abi.export_tensor(tensor, abi.Kind.VERSIONED, (0, 8), options)
    assert kind == abi.Kind.LEGACY
    out, kind = abi.export_tensor(out, kind, (1, 1))
    assert (kind, abi.tensor_at(out, kind).version) == (abi.Kind.VERSIONED, (1, 1))
    abi.release(out, kind)
    assert len(deleted) == 1


@pytest.mark.parametrize("kind", [abi.Kind.UNKNOWN, abi.Kind.BORROWED, abi.Kind.AMBIGUOUS, 99])
def test_release_of_another_kind_calls_nothing(kind):
    deleted = []
    struct = legacy_struct(deleted)
    error = rejection(ValueError, abi.release, ctypes.addressof(struct), kind)
    assert (error.status, deleted) == ("INVALID_ARGUMENT", [])
    assert f"found {int(kind)}" in str(error)
    abi.release(0, abi.Kind.LEGACY)


def test_host_accessible_is_true_for_a_clear_yes_only():
    said = {kind: abi.host_accessible(kind) for kind in abi.DeviceType}
    assert said[abi.DeviceType.CPU] is True and said[abi.DeviceType.CUDAHost] is True
    assert said[abi.DeviceType.CUDA] is False and said[abi.DeviceType.OneAPI] is False
    assert abi.host_accessible_answer(abi.DeviceType.OneAPI) == abi.Answer.UNDECIDED
    for kind, yes in said.items():
        assert yes == (abi.host_accessible_answer(kind) == abi.Answer.YES)


def test_a_policy_limits_ndim_and_shape():
    tensor = abi.allocate([2, 3], FLOAT32)
    limit = abi.PolicyOption.LIMIT_NDIM
    for policy, rule, axis in (
        (abi.Policy(options=limit, min_ndim=1, max_ndim=2), None, None),
        (abi.Policy(options=limit, min_ndim=2, max_ndim=2, shape=[-1, 3]), None, None),
        (abi.Policy(options=limit), "NDIM_LIMIT", None),
        (abi.Policy(options=limit, min_ndim=2, max_ndim=2, shape=[2, 0]), "SHAPE_MISMATCH", 1),
    ):
        if rule is None:
            abi.validate_versioned(tensor, policy)
        else:
            error = rejection(BufferError, abi.validate_versioned, tensor, policy)
            assert (error.status, error.rule, error.axis) == ("POLICY", rule, axis)
    error = rejection(ValueError, abi.validate_versioned, tensor, abi.Policy(max_ndim=2))
    assert "LIMIT_NDIM" in str(error)
    abi.release_versioned(tensor)


def test_a_view_under_another_dtype_of_the_same_size():
    tensor = abi.allocate([2, 3], FLOAT32)
    view = abi.view(tensor, [6], dtype=(0, 32, 1))
    fields = abi.tensor_at(view, abi.Kind.VERSIONED)
    assert (fields.dtype, fields.shape) == ((0, 32, 1), [6])
    rejection(ValueError, abi.view, tensor, [6], dtype=(0, 16, 1))
    abi.release_versioned(view)
    abi.release_versioned(tensor)


# ---------------------------------------------------------------------------------------- callbacks


class Memory:
    """Allocates memory and counts live blocks."""

    def __init__(self):
        self.blocks = {}

    def allocate(self, device, size, alignment, stream):
        assert stream is None
        block = ctypes.create_string_buffer(size + alignment)
        address = ctypes.addressof(block) + -ctypes.addressof(block) % alignment
        self.blocks[address] = (block, device, size, alignment)
        return address

    def deallocate(self, device, address, size, alignment, stream):
        assert stream is None
        assert self.blocks.pop(address)[1:] == (device, size, alignment)


def test_an_allocator_lives_as_long_as_its_blocks():
    memory = Memory()
    tensor = abi.allocate([4], FLOAT32, allocator=abi.Allocator(memory.allocate, memory.deallocate))
    known, blocks = weakref.ref(memory), memory.blocks
    del memory
    assert known() is not None and len(blocks) == 1
    abi.release_versioned(tensor)
    assert known() is None and not blocks


def test_errors_of_an_allocator_pass_through():
    def allocate(*_):
        raise LookupError("no memory of that kind")

    allocator = abi.Allocator(allocate, print)
    with pytest.raises(LookupError, match="no memory of that kind"):
        abi.allocate([4], FLOAT32, allocator=allocator)
    for nothing in (lambda *_: None, lambda *_: 0):
        error = rejection(
            MemoryError, abi.allocate, [4], FLOAT32, allocator=abi.Allocator(nothing, print)
        )
        assert error.status == "OUT_OF_MEMORY"
    with pytest.raises(TypeError, match="address"):
        abi.allocate([4], FLOAT32, allocator=abi.Allocator(lambda *_: "4096", print))


def wrapped(released, shape=(4,)):
    memory = ctypes.create_string_buffer(64)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(memory))
    return memory, abi.wrap(buffer, list(shape), FLOAT32, release=released)


def test_release_is_called_once_by_the_last_owner_on_its_thread():
    calls = []
    memory, tensor = wrapped(lambda *given: calls.append((*given, threading.get_ident())))
    other = abi.share(tensor)
    abi.release_versioned(tensor)
    assert calls == []
    thread = threading.Thread(target=abi.release_versioned, args=(other,))
    thread.start()
    ident = thread.ident
    thread.join()
    address = ctypes.addressof(memory)
    assert calls == [((abi.Backend.NONE, abi.BufferKind.ADDRESS, address, 0), None, ident)]


def test_a_failed_call_keeps_no_callback():
    def released(*_):
        raise AssertionError("released what was never taken")

    known = weakref.ref(released)
    memory = ctypes.create_string_buffer(64)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(memory))
    rejection(BufferError, abi.wrap, buffer, [-1], FLOAT32, release=released)
    del released
    gc.collect()  # the traceback of the failure
    assert known() is None


def test_errors_of_a_callback_are_unraisable_and_harmless(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: seen.append(event.exc_value))
    error = KeyError("in a release")

    def released(*_):
        raise error

    _, tensor = wrapped(released)
    abi.release_versioned(tensor)
    assert seen == [error]


def test_storage_is_released_after_the_deleter():
    order = []

    def delete(_):
        order.append("deleter")

    source = abi.DLManagedTensor(deleter=abi.DLManagedTensor.Deleter(delete))
    source.dl_tensor.device = abi.DLDevice(1, 0)
    source.dl_tensor.dtype = abi.DLDataType(*FLOAT32)
    source.dl_tensor.data = 4096
    size = abi.upgrade_storage_size(0)
    room = ctypes.create_string_buffer(size + 16)
    memory = ctypes.addressof(room) + -ctypes.addressof(room) % 16
    tensor = abi.upgrade_into(ctypes.addressof(source), memory, size, order.append)
    assert tensor == memory and order == []
    abi.release_versioned(tensor)
    assert order == ["deleter", memory]


def test_rejected_calls_leak_nothing():
    memory = ctypes.create_string_buffer(64)
    buffer = abi.Buffer(0, abi.BufferKind.ADDRESS, ctypes.addressof(memory))

    def rejected(times):
        for _ in range(times):
            for call in (
                lambda: abi.dtype_parse("floaty"),
                lambda: abi.wrap(buffer, [-1], FLOAT32, release=print),
                lambda: abi.upgrade_many([0]),
                lambda: abi.dtype_format(FLOAT32, bytearray(2)),
                lambda: abi.ConvertOptions(policy=abi.Policy(devices=[(1, 0)]), options="none"),
            ):
                with contextlib.suppress(ValueError, BufferError, TypeError):
                    pytest.fail(f"a call that must fail returned {call()}")
        gc.collect()
        return sys.getallocatedblocks()

    rejected(1000)
    before = rejected(1)
    assert rejected(1000) < before + 500, "rejected calls leak memory"


def in_a_process(program, **environment):
    """Runs a program, which must print nothing to stderr; returns its output."""
    path = os.pathsep.join(filter(None, [*map(str, sys.path)]))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path, **environment},
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran
    return ran.stdout


def test_callbacks_are_not_called_after_the_interpreter():
    """A C handler of atexit runs after Python's end and releases tensors with Python callbacks."""
    in_a_process(
        "import ctypes\n"
        "from dlbridge import abi\n"
        "memory = ctypes.create_string_buffer(64)\n"
        "buffer = abi.Buffer(0, 1, ctypes.addressof(memory))\n"
        "tensor = abi.wrap(buffer, [4], (2, 32, 1), release=print)\n"
        "libc = ctypes.CDLL(None)\n"
        "library = ctypes.CDLL(abi.library_file())\n"
        "release = ctypes.cast(library.dlbridge_release_versioned, ctypes.c_void_p)\n"
        "libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3\n"
        "assert libc.__cxa_atexit(release, tensor, None) == 0\n"
    )


def test_release_runs_without_the_gil():
    """The deleter is sem_wait on the struct, whose first 16 bytes are a semaphore of glibc. It
    returns only if another thread can run and posts."""
    libc = ctypes.CDLL(None)
    if not sys.platform.startswith("linux") or not hasattr(libc, "gnu_get_libc_version"):
        pytest.skip("needs the semaphores of glibc")
    said = in_a_process(
        "import ctypes, threading\n"
        "from dlbridge import abi\n"
        "libc = ctypes.CDLL(None)\n"
        "managed = abi.DLManagedTensorVersioned()\n"
        "address = ctypes.addressof(managed)\n"
        "libc.sem_wait.argtypes = libc.sem_post.argtypes = [ctypes.c_void_p]\n"
        "managed.deleter = ctypes.cast(libc.sem_wait, abi.DLManagedTensor.Deleter)\n"
        "def post():\n"
        "    while not managed.version.minor:  # how many wait\n"
        "        pass\n"
        "    libc.sem_post(address)\n"
        "thread = threading.Thread(target=post)\n"
        "thread.start()\n"
        "abi.release_versioned(address)\n"
        "thread.join()\n"
        "print('both ran')\n"
    )
    assert said == "both ran\n"


# ---------------------------------------------------------------------------------- reading structs


def test_a_tensor_of_another_major_is_not_read():
    managed = abi.DLManagedTensorVersioned(flags=5)
    managed.version = abi.DLPackVersion(2, 0)
    managed.dl_tensor.ndim = 3
    fields = abi.tensor_at(ctypes.addressof(managed), abi.Kind.VERSIONED)
    assert (fields.version, fields.flags, fields.tensor) == ((2, 0), 5, 0)
    assert fields[4:] == (None,) * 7


@pytest.mark.parametrize("ndim", [-1, -(2**31), 65, 2**31 - 1])
def test_axes_of_an_impossible_ndim_are_not_read(ndim):
    tensor = abi.DLTensor(ndim=ndim)
    one = (ctypes.c_int64 * 1)(7)
    tensor.shape = ctypes.cast(one, type(tensor.shape))
    fields = abi.tensor_at(ctypes.addressof(tensor), abi.Kind.BORROWED)
    assert (fields.ndim, fields.shape, fields.strides) == (ndim, None, None)


def test_null_is_rejected():
    with pytest.raises(ValueError, match="NULL"):
        abi.tensor_at(0, abi.Kind.LEGACY)
    with pytest.raises(ValueError, match="kind"):
        abi.tensor_at(4096, abi.Kind.AMBIGUOUS)


def test_a_cyclic_chain_ends_and_missing_functions_are_named():
    tables = (abi.DLPackExchangeAPI * 3)()
    for i, table in enumerate(tables):
        table.header.version = abi.DLPackVersion(1 + i % 2, 3 - i)
        table.header.prev_api = ctypes.pointer(tables[(i + 1) % 3].header)
        table.managed_tensor_allocator = 1
    found = abi.exchange_tables(ctypes.addressof(tables))
    assert [one.version for one in found] == [(1, 3), (2, 2), (1, 1)]
    assert found[0].missing == [name for name, _ in abi.DLPackExchangeAPI._fields_[2:]]
    assert found[1].missing is None
    assert abi.exchange_tables(0) == []


# --------------------------------------------------------------------------------------- and beyond


def test_a_tensor_travels_by_descriptor():
    tensor = abi.allocate([4], FLOAT32, options=abi.AllocateOption.SHAREABLE)
    data = abi.tensor_at(tensor, abi.Kind.VERSIONED).data
    ctypes.memmove(data, b"sixteen bytes ok", 16)
    descriptor, fds = abi.ipc_export(tensor, abi.IpcOption.READ_ONLY)
    try:
        other = abi.ipc_import(descriptor, fds)
        damaged = rejection(ValueError, abi.ipc_import, descriptor[:-1], fds)
        assert damaged.status == "DESCRIPTOR"
    finally:
        for fd in fds:
            os.close(fd)
    fields = abi.tensor_at(other, abi.Kind.VERSIONED)
    assert fields.data != data
    assert fields.flags == abi.TensorFlag.READ_ONLY
    assert ctypes.string_at(fields.data, 16) == b"sixteen bytes ok"
    abi.release_versioned(other)
    abi.release_versioned(tensor)


def test_the_function_table_is_the_librarys():
    address = abi.get_api()
    size, number = (ctypes.c_uint32 * 2).from_address(address)
    assert size >= 8 * 40 and number == abi.ABI
    assert abi.get_api(abi.ABI + 1) == 0
    assert abi.context_table_v1() != 0


def test_the_library_is_the_packages():
    assert pathlib.Path(abi.library_file()).name.startswith("libdlbridge")
    text = abi.version_string()
    major, minor, patch = map(int, text.split("."))
    assert abi.version() == major * 10000 + minor * 100 + patch
