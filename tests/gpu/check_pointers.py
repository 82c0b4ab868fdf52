# SPDX-License-Identifier: Apache-2.0
"""Each kind of memory: what the driver's attributes say, and what the library answers.

The attributes are recorded. The answers of dlbridge_pointer_info, and of validation at the level
DEVICE, follow from the header. Every question is asked with and without a current context.
"""

import concurrent.futures
import ctypes

import memory
from checks import Checks
from cuda_driver import ADDRESS, SIZE, Driver

import bindings as b

# CUpointer_attribute, without P2P_TOKENS: that query changes the memory's behaviour.
ATTRIBUTES = {
    "CONTEXT": 1,
    "MEMORY_TYPE": 2,
    "DEVICE_POINTER": 3,
    "HOST_POINTER": 4,
    "SYNC_MEMOPS": 6,
    "BUFFER_ID": 7,
    "IS_MANAGED": 8,
    "DEVICE_ORDINAL": 9,
    "IS_LEGACY_CUDA_IPC_CAPABLE": 10,
    "RANGE_START_ADDR": 11,
    "RANGE_SIZE": 12,
    "MAPPED": 13,
    "ALLOWED_HANDLE_TYPES": 14,
    "IS_GPU_DIRECT_RDMA_CAPABLE": 15,
    "ACCESS_FLAGS": 16,
    "MEMPOOL_HANDLE": 17,
    "MAPPING_SIZE": 18,
    "MAPPING_BASE_ADDR": 19,
    "MEMORY_BLOCK_ID": 20,
    "IS_HW_DECOMPRESS_CAPABLE": 21,
}
# The answer of dlbridge_pointer_info.
ON_DEVICE = (b.Memory.DEVICE, b.CUDA)
ANSWERS = {
    "managed": (b.Memory.MANAGED, b.MANAGED),
    "pinned": (b.Memory.PINNED, b.PINNED),
    "registered": (b.Memory.PINNED, b.PINNED),
    "host": (b.Memory.HOST, b.CPU),
    "null": (b.Memory.HOST, b.CPU),
}
# The labels of valid tensors: pinned and managed memory is the host's, too.
ACCEPTED = {
    "managed": ("CPU", "CUDA", "CUDAManaged"),
    "pinned": ("CPU", "CUDAHost"),
    "registered": ("CPU", "CUDAHost"),
    "host": ("CPU",),
}
# Ranges in which not every address has memory: tensors of a device on them must be rejected.
ABSENT = ("virtual_reserved", "virtual_partly")
MAPPED = ("virtual", "virtual_with_handles", "virtual_partly")  # whose beginning has memory
LABELS = (b.CPU, b.CUDA, b.PINNED, b.MANAGED)
FILLS = (0x11, 0xEE)


def without_context(function, *arguments):
    """Calls a function on a new thread, which has no current context."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def with_context(function, *arguments):
    return function(*arguments)


CONTEXTS = {"with a context": with_context, "without a context": without_context}


def filled_with(driver, number, address, fill):
    """The code, and the bytes that the driver wrote over a place full of `fill`."""
    place = (ctypes.c_uint8 * 16)(*[fill] * 16)
    code = driver.result("cuPointerGetAttribute", place, number, ADDRESS(address))
    return code, bytes(place)


def attribute(driver, number, address):
    """The code, the value, and how many bytes of it the driver writes."""
    (code, first), (_, second) = (filled_with(driver, number, address, one) for one in FILLS)
    width = sum(1 for x, y in zip(first, second, strict=True) if x == y)
    return [code, int.from_bytes(first[:width], "little"), width]


def attributes(driver, address):
    """The single query of each attribute, and the plural one that the library uses."""
    found = {name: attribute(driver, number, address) for name, number in ATTRIBUTES.items()}
    base, size = ADDRESS(), SIZE()
    references = ctypes.byref(base), ctypes.byref(size)
    code = driver.result("cuMemGetAddressRange_v2", *references, ADDRESS(address))
    return found | {"address_range": [code, base.value, size.value], "address": address}


class Pointers(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.driver = Driver()
        cls.driver.use_primary_context()
        cls.made = {}

    def make(self, maker):
        """The memory of a maker, made once."""
        name = maker.__name__
        if name not in self.made:
            self.made[name] = maker(self.driver)
        return self.made[name]

    def rows(self, question, ask):
        for maker in memory.MAKERS:
            for context, how in CONTEXTS.items():
                with self.check(f"{question}: {maker.__name__}, {context}") as measured:
                    ask(maker.__name__, self.make(maker), how, measured)

    @classmethod
    def tearDownClass(cls):
        if "imported" in cls.made:
            cls.made["imported"].keep.end()

    def test_attributes(self):
        self.rows("attributes", self.ask_attributes)

    def ask_attributes(self, name, made, how, measured):
        measured |= how(attributes, self.driver, made.address)

    def test_pointer_info(self):
        self.rows("pointer_info", self.ask_pointer_info)

    def ask_pointer_info(self, name, made, how, measured):
        try:
            info = how(self.library.pointer_info, made.address)
        except b.Rejected as error:
            measured |= {"status": error.status, "message": error.message}
            self.assertIn(name, ABSENT)
            return
        device = (info.device.device_type, info.device.device_id)
        fields = ("base", "size", "context", "native_device", "properties", "memory")
        measured |= {field: getattr(info, field) for field in fields}
        measured |= {"device": device, "address": made.address}
        if name not in ABSENT:
            self.assertEqual((info.memory, device), ANSWERS.get(name, ON_DEVICE))
            self.assertTrue(not info.base or 0 <= made.address - info.base < info.size)

    def answer(self, what):
        try:
            self.library.validate(what)
        except b.Rejected as error:
            return error.rule
        return "accepted"

    def test_labels(self):
        self.rows("validate", self.ask_labels)

    def ask_labels(self, name, made, how, measured):
        for label in LABELS:
            what = b.tensor(made.address, label, [made.size])
            measured[label[0].name] = how(self.answer, what)
        if name in ABSENT:
            self.assertNotEqual(measured["CUDA"], "accepted")
        elif name != "null":
            found = {label for label, answer in measured.items() if answer == "accepted"}
            self.assertEqual(found, set(ACCEPTED.get(name, ("CUDA",))))

    def test_bounds(self):
        self.rows("bounds", self.ask_bounds)

    def ask_bounds(self, name, made, how, measured):
        """The rest of the allocation, and one byte more. A tensor may reach into mapped memory that
        follows without a gap, where the driver has put the reservation of another maker."""
        if name in ABSENT:
            self.skipTest("not all of the range has memory")
        info = how(self.library.pointer_info, made.address)
        if not info.size:
            self.skipTest("the library knows no size")
        rest = info.base + info.size - made.address
        label = ANSWERS.get(name, ON_DEVICE)[1]
        for more in (0, 1):
            measured[more] = how(self.answer, b.tensor(made.address, label, [rest + more]))
        mapped = [self.made[one].address for one in MAPPED if one in self.made]
        goes_on = name in MAPPED and info.base + info.size in mapped
        beyond = "accepted" if goes_on else "ALLOCATION_BOUNDS"
        self.assertEqual(measured, {0: "accepted", 1: beyond})

    def test_peers(self):
        """Bit i: device i can access the memory."""
        made = self.make(memory.alloc)
        info = self.library.pointer_info(made.address, options=b.PointerOption.PEERS)
        self.measured |= {"peers": info.peers, "properties": info.properties}
        self.assertTrue(info.properties & b.PointerProperty.PEERS_KNOWN)
        self.assertEqual(info.peers & 1, 1)
        self.assertEqual(info.peers >> self.library.backend_info().device_count, 0)

    def test_another_device(self):
        made = self.make(memory.alloc)
        device = (b.DeviceType.CUDA, self.library.backend_info().device_count)
        self.measured["answer"] = self.answer(b.tensor(made.address, device, [1]))
        self.assertNotEqual(self.measured["answer"], "accepted")
