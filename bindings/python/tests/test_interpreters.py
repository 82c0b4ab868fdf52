# SPDX-License-Identifier: Apache-2.0
"""The end of interpreters, sub-interpreters and fork: programs in new processes, which must succeed
and print nothing unexpected."""

from __future__ import annotations

import sys
import sysconfig

import producers
import pytest

SHARED = """
import array, atexit, ctypes, gc, os, sys, threading
import dlbridge, producers
from dlbridge import _core, from_dlpack

class Owner:
    def __init__(self):
        self.data = array.array("d", range(6))
    def tensor(self):
        return _core.wrap(self, self.data.buffer_info()[0], (6,), "float64")
"""


def run(program):
    return producers.run(SHARED + program)


# --- The end of the interpreter -------------------------------------------------------------------

# Daemon threads that call a function until the interpreter ends.
DAEMONS = """
import time
def start(call):
    def work(started):
        started.set()
        while True:
            call()
    for _ in range(3):
        started = threading.Event()
        threading.Thread(target=work, args=(started,), daemon=True).start()
        started.wait()
    time.sleep(0.05)
"""

ENDS = {
    "globals": "tensor = Owner().tensor(); made = tensor.__dlpack__(), memoryview(tensor)",
    "foreign_globals": """
made = producers.versioned(deleter=None)
tensor = from_dlpack(made.capsule(destructor=False)); other = tensor.view((6,))
""",
    "cycle": """
class Node: pass
node = Node(); node.self = node; node.tensor = Owner().tensor(); node.view = memoryview(node.tensor)
del node
""",
    "owner_cycle": """
owner = Owner(); owner.tensor = owner.tensor(); del owner
""",
    "modules": """
for module in (sys, gc, threading, atexit, dlbridge, _core):
    module.kept_to_the_end = Owner().tensor()
""",
    "atexit_before": """
tensors = [Owner().tensor()]
import atexit
atexit.register(tensors.clear)
""",
    "del_at_the_end": """
class Late:
    def __init__(self): self.tensor = Owner().tensor(); self.ask = from_dlpack
    def __del__(self):
        self.tensor.__dlpack__(max_version=(1, 0)); self.tensor.copy()
        self.ask(self.tensor).view((2, 3))
late = Late(); sys.late = Late(); late_cycle = Late(); late_cycle.self = late_cycle
""",
    "in_a_daemon_thread": """
def work(started, tensor):
    started.set()
    while True:
        from_dlpack(tensor); memoryview(Owner().tensor())
for _ in range(3):
    started = threading.Event()
    threading.Thread(target=work, args=(started, Owner().tensor()), daemon=True).start()
    started.wait()
""",
    "held_by_c": """
addresses = [producers.take(Owner().tensor().__dlpack__(max_version=(1, 0))) for _ in range(10)]
made = producers.versioned(deleter=None)
view = from_dlpack(made.capsule()).view((6,))
addresses.append(producers.take(view.__dlpack__(max_version=(1, 0))))
del view
sys.held_by_c = made
""",
    "released_by_c_after_the_end": """
# An exit handler of the C library releases the tensor after Python has ended.
address = producers.take(Owner().tensor().__dlpack__(max_version=(1, 0)))
release = ctypes.cast(producers.library().dlbridge_release_versioned, ctypes.c_void_p)
process = ctypes.CDLL(None)
process.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
assert process.__cxa_atexit(release, address, None) == 0
""",
    "threads_that_release_to_the_end": """
addresses = [producers.take(Owner().tensor().__dlpack__(max_version=(1, 0))) for _ in range(2000)]
release = producers.library().dlbridge_release_versioned
started = threading.Barrier(4)
def work(part):
    started.wait()
    for address in part: release(address)
for i in range(3): threading.Thread(target=work, args=(addresses[i::3],), daemon=True).start()
started.wait()
""",
    "an_allocator_in_a_daemon_thread": f"""
from dlbridge import abi
blocks = {{}}
def allocate(device, size, alignment, stream):
    block = (ctypes.c_char * (size + alignment))()
    address = -(-ctypes.addressof(block) // alignment) * alignment
    blocks[address] = block
    return address
def deallocate(device, address, *rest):
    del blocks[address]
allocator = abi.Allocator(allocate, deallocate)
{DAEMONS}
start(lambda: abi.release(abi.allocate([4], (2, 32, 1), allocator=allocator), 2))
""",
    "no_atexit": "tensor = Owner().tensor(); atexit._clear()",
    "system_exit": "tensor = Owner().tensor(); sys.exit(0)",
    "os_exit": "tensor = Owner().tensor(); os._exit(0)",
    "by_function_of_a_cleared_module": """
capsule = Owner().tensor().__dlpack__(max_version=(1, 0))
sys.kept = [capsule, from_dlpack, _core.wrap, Owner]
""",
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_the_interpreter_is_quiet(name):
    assert run(ENDS[name]) == ""


# CPython before 3.14 ends these threads by pthread_exit, which unwinds their stack.
CALLS_THAT_RELEASE_THE_GIL = {
    "share": "abi.release(abi.share(pointer), abi.Kind.VERSIONED)",
    "last owner": "abi.release(abi.allocate([4], (2, 32, 1)), abi.Kind.VERSIONED)",
    "an owner in Python": """abi.release(producers.take(
        Owner().tensor().__dlpack__(max_version=(1, 0))), abi.Kind.VERSIONED)""",
    "backend": "abi.backend_info(abi.Backend.CPU)",
    "diagnose": "abi.diagnose(pointer, abi.Kind.VERSIONED)",
    "inspect": "dlbridge.inspect(tensor)",
}


@pytest.mark.parametrize("name", CALLS_THAT_RELEASE_THE_GIL)
def test_daemon_threads_may_be_in_the_c_api_at_the_end(name):
    program = f"""
from dlbridge import abi
tensor = Owner().tensor(); pointer = tensor.managed_ptr
{DAEMONS}
start(lambda: {CALLS_THAT_RELEASE_THE_GIL[name]})
"""
    for _ in range(2):
        assert run(program) == ""


def test_destructors_may_call_a_module_that_is_being_cleared():
    """The package is cleared while the interpreter lives, together with an object whose destructor
    calls it. The call fails; nothing else does."""
    program = """
def scene():
    kept = []
    space = {"calls": [from_dlpack, _core.wrap, _core.export, _core.to_type, _core.capsule_kind,
                       _core.exchange_versions], "Owner": Owner, "said": said}
    exec('''
class Last:
    __slots__ = ()
    def __del__(self):
        for call in calls:
            for given in ((Owner,), (Owner, 64, (1,), "int8"), (Owner, int)):
                for named in ({}, {"copy": True}):
                    try:
                        call(*given, **named)
                    except Exception as error:
                        said.append(type(error).__name__)
''', space)
    kept.append(space["Last"]())
    kept.append(kept)
    space["kept"] = kept
said = []
scene()
for name in [name for name in sys.modules if name.startswith("dlbridge")] + ["producers"]:
    del sys.modules[name]
del dlbridge, _core, from_dlpack, producers, Owner.tensor
gc.collect(); gc.collect()
expected = {"TypeError", "NoDLPackError", "RuntimeError", "ValueError", "NameError"}
assert said and set(said) <= expected, said
print(len(said) > 10)
"""
    assert run(program) == "True\n"


# --- Fork -----------------------------------------------------------------------------------------


def test_a_forked_child_works():
    program = """
import warnings
warnings.simplefilter("ignore")
tensor = Owner().tensor()
address = producers.take(Owner().tensor().__dlpack__(max_version=(1, 0)))
child = os.fork()
if child == 0:
    assert memoryview(from_dlpack(tensor)).tolist() == [0, 1, 2, 3, 4, 5]
    producers.release(address)
    other = Owner().tensor()
    del tensor, other
    gc.collect()
    capsule = Owner().tensor().__dlpack__(max_version=(1, 0))
    producers.release_on_c_threads([producers.take(capsule)])
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
producers.release(address)
assert memoryview(tensor).tolist() == [0, 1, 2, 3, 4, 5]
"""
    assert run(program) == ""


# --- Sub-interpreters -----------------------------------------------------------------------------

# Without ctypes, which some interpreters cannot import.
INNER = """
import array, gc, sys
import dlbridge
from dlbridge import _core, from_dlpack
alive = 0
class Owner:
    def __init__(self):
        global alive
        alive += 1
        self.data = array.array("d", range(6))
    def __del__(self):
        global alive
        alive -= 1
    def tensor(self):
        return _core.wrap(self, self.data.buffer_info()[0], (6,), "float64")
class Speaks:
    def __init__(self): self.tensor = Owner().tensor()
    def __dlpack__(self, *, max_version=None):
        return self.tensor.__dlpack__(max_version=max_version)
"""
EXCHANGE = """
for _ in range(20):
    tensor = Owner().tensor()
    other = from_dlpack(Speaks())
    for one in (from_dlpack(tensor), other):
        assert memoryview(one).tolist() == [0, 1, 2, 3, 4, 5]
    assert from_dlpack(tensor.__dlpack__(max_version=(1, 0))).view((2, 3)).shape == (2, 3)
    assert tensor.copy().copied
    try: from_dlpack(3)
    except TypeError as error: assert error.status == "INVALID_ARGUMENT"
    else: raise AssertionError
del tensor, other, one
gc.collect()
from_dlpack(Owner().tensor())  # releases waiting owners
assert alive <= 1, alive
kept = Owner().tensor(); capsule = kept.__dlpack__(); sys.kept = kept  # to the end
"""

OUTER = """
import sys, threading
try:
    import _interpreters as interpreters
    def create(own): return interpreters.create("isolated" if own else "legacy")
    def execute(made, code):
        failed = interpreters.exec(made, code)
        assert failed is None, failed
except ImportError:
    import _xxsubinterpreters as interpreters
    def create(own): return interpreters.create(isolated=own)
    execute = interpreters.run_string
destroy = interpreters.destroy
"""

OWN = pytest.mark.parametrize(
    "own",
    [
        False,
        pytest.param(
            True,
            marks=pytest.mark.skipif(
                sys.version_info < (3, 12), reason="a GIL of its own came with CPython 3.12"
            ),
        ),
    ],
    ids=["shared_gil", "own_gil"],
)


def inner(text):
    """Programs for a sub-interpreter, and the programs that run them."""
    return f"INNER = {INNER!r}\nEXCHANGE = {EXCHANGE!r}\n{OUTER}\n{text}"


@OWN
def test_a_sub_interpreter_exchanges_and_ends(own):
    program = f"""
made = create({own})
execute(made, INNER + EXCHANGE)
destroy(made)
"""
    assert producers.run(inner(program)) == ""


@OWN
def test_the_main_interpreter_uses_the_package_too(own):
    program = f"""
import dlbridge
exec(INNER)
tensor = Owner().tensor()
made = create({own})
execute(made, INNER + EXCHANGE)
assert memoryview(from_dlpack(tensor)).tolist() == [0, 1, 2, 3, 4, 5]
destroy(made)
assert memoryview(from_dlpack(tensor)).tolist() == [0, 1, 2, 3, 4, 5]
del tensor
assert alive == 0
"""
    assert producers.run(inner(program)) == ""


@OWN
def test_many_sub_interpreters_are_created_and_destroyed(own):
    program = f"""
for _ in range(12):
    made = [create({own}) for _ in range(2)]
    for one in made: execute(one, INNER + EXCHANGE)
    for one in made: destroy(one)
"""
    assert producers.run(inner(program)) == ""


@OWN
def test_sub_interpreters_work_in_parallel(own):
    program = f"""
made = [create({own}) for _ in range(4)]
failures = []
def work(one):
    try: execute(one, INNER + EXCHANGE)
    except BaseException as error: failures.append(error)
threads = [threading.Thread(target=work, args=(one,)) for one in made]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
for one in made: destroy(one)
"""
    assert producers.run(inner(program)) == ""


@OWN
def test_a_sub_interpreter_that_is_never_destroyed(own):
    """An interpreter that is never destroyed ends with the process."""
    program = f"made = create({own}); execute(made, INNER + EXCHANGE)"
    with_kept = inner(program)
    if sys.version_info >= (3, 12):
        with_kept += "\ndestroy(made)"
    assert producers.run(with_kept) == ""


def test_a_tensor_of_a_sub_interpreter_is_released_by_the_main_one():
    """The tensor is passed by address, as through C code. The releasing thread must not touch the
    owner, which waits for its interpreter."""
    program = """
import os, producers
read, write = os.pipe()
made = create(False)
execute(made, INNER + "import os\\n" + '''
tensor = Owner().tensor()
managed = _core.from_dlpack(tensor)
os.write(%d, str(managed.managed_ptr).encode())
sys.kept = [managed]
del tensor
''' % write)
address = int(os.read(read, 64))
# One more owner, made and released here without the interpreter.
import ctypes
library = producers.library()
library.dlbridge_share.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
shared = ctypes.c_void_p()
assert library.dlbridge_share(address, ctypes.byref(shared), None) == 0
execute(made, "del managed, sys.kept; gc.collect(); assert alive == 1")
producers.release_on_c_threads([shared.value])
execute(made, '''
from_dlpack(Owner().tensor())
gc.collect()
assert alive <= 1, alive
''')
destroy(made)
"""
    assert producers.run(inner(program)) == ""


USES = """
import array, dlbridge
tensor = dlbridge.from_buffer(array.array("f", [1.0, 2.0]))
assert dlbridge.from_dlpack(dlbridge.adapt(tensor)).shape == (2,)
"""


@pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="this build has no GIL to share"
)
def test_inspect_and_abi_work_where_the_gil_is_shared():
    used = (
        USES
        + """
from dlbridge import abi
assert abi.dtype_parse("float32") == (2, 32, 1)
assert "float32" in str(dlbridge.inspect(tensor))
"""
    )
    program = f"""
made = create(False)
execute(made, {used!r})
destroy(made)
exec({used!r})
"""
    assert producers.run(inner(program)) == ""


@pytest.mark.skipif(sys.version_info < (3, 13), reason="no ctypes there before CPython 3.13")
def test_inspect_and_abi_name_the_remedy_where_the_gil_is_not_shared():
    """nanobind's modules do not support such interpreters. The interpreter stays usable."""
    used = (
        USES
        + """
for use in (lambda: dlbridge.inspect(tensor), lambda: __import__("dlbridge.abi")):
    try: use()
    except ImportError as error: assert "call them in the main interpreter" in str(error), error
    else: raise AssertionError
assert dlbridge.to(tensor, dlbridge.Tensor).shape == (2,)
"""
    )
    program = f"""
made = create(True)
execute(made, {used!r})
destroy(made)
from dlbridge import abi
assert abi.dtype_parse("float32") == (2, 32, 1)
"""
    assert producers.run(inner(program)) == ""


RELEASE = """
import ctypes
release = ctypes.%s(%r).dlbridge_release_versioned
release.argtypes, release.restype = [ctypes.c_void_p], None
for address in %r: release(address)
"""


@OWN
@pytest.mark.parametrize("hold", ["CDLL", "PyDLL"])
def test_a_tensor_of_the_main_interpreter_is_released_inside_another(own, hold):
    """A thread in another interpreter, with or without its GIL, must not touch the owner, which
    waits for its own interpreter."""
    if own and sys.version_info < (3, 13):
        pytest.skip("ctypes cannot be imported with a GIL of its own before 3.13")
    program = f"""
import gc, producers
exec(INNER)
addresses = [producers.take(Owner().tensor().__dlpack__(max_version=(1, 0))) for _ in range(10)]
gc.collect()
assert alive == 10
RELEASE = {RELEASE!r}
made = create({own})
execute(made, RELEASE % ({hold!r}, producers.library()._name, addresses))
from_dlpack(Owner().tensor())
assert alive == 0, alive
destroy(made)
"""
    assert producers.run(inner(program)) == ""
