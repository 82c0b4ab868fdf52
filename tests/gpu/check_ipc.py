# SPDX-License-Identifier: Apache-2.0
"""Each kind of memory, shared with another process: what works, and how the rest is rejected.

A rejection must be UNSUPPORTED and name a remedy; the driver's own answers are recorded beside it.
"""

import ctypes
import json
import os
import time

import ipc_peer
import memory
from checks import Checks
from cuda_driver import ADDRESS, HANDLE, Driver, IpcHandle, out
from gate import Gates

import bindings as b

# Memory that the library must share; it may reject other kinds.
SHARED = ("alloc", "inside")
LEGACY_CAPABLE, ALLOWED_HANDLES = 10, 14


class Ipc(Checks):
    @classmethod
    def setUpClass(cls):
        cls.library = b.need_device()
        cls.driver = Driver()
        cls.driver.use_primary_context()
        cls.stream = cls.driver.make_stream()

    def filled(self, made):
        if made.size:
            size = min(made.size, len(ipc_peer.PATTERN))
            self.driver.write(made.address, ipc_peer.PATTERN[:size], self.stream)
            self.driver.synchronize(self.stream)

    def share(self, address, device, measured):
        """The status of the export and, if it works, what the other process saw."""
        managed = self.library.wrap(address, device, [len(ipc_peer.PATTERN)])
        try:
            descriptor, fds = self.library.ipc_export(managed)
        except b.Rejected as error:
            measured |= {"export": error.status, "message": error.message}
        else:
            measured |= {"export": "OK", "bytes": len(descriptor), "fds": len(fds)}
            numbers = [str(fd) for fd in fds]
            measured |= ipc_peer.ask("import", descriptor.hex(), *numbers, fds=fds)
            for fd in fds:
                os.close(fd)
        self.library.release(managed)

    def judge(self, name, measured):
        if measured["export"] == "OK":
            self.assertEqual((measured.get("seen"), measured["exit"]), (True, 0), measured)
        else:
            self.assertEqual(measured["export"], "UNSUPPORTED", measured.get("message"))
            self.assertNotIn(name, SHARED)

    def test_kinds(self):
        labels = {"managed": b.MANAGED, "pinned": b.PINNED, "registered": b.PINNED}
        left_out = ("virtual_reserved", "virtual_partly", "host", "null")
        for maker in memory.MAKERS:
            name = maker.__name__
            if name not in left_out:
                with self.check(f"dlbridge: {name}") as measured:
                    made = maker(self.driver)
                    if name in labels:
                        # The host fills it; the device's functions need no special case then.
                        ctypes.memmove(made.address, ipc_peer.PATTERN, len(ipc_peer.PATTERN))
                    else:
                        self.filled(made)
                    self.share(made.address, labels.get(name, b.CUDA), measured)
                    self.judge(name, measured)

    def test_driver(self):
        """The driver's ways to share, tried on each kind."""
        for maker in memory.MAKERS:
            with self.check(f"driver: {maker.__name__}") as measured:
                address = maker(self.driver).address
                place = ADDRESS(address)
                for number in (LEGACY_CAPABLE, ALLOWED_HANDLES):
                    value, reference = out(ctypes.c_uint64)
                    code = self.driver.result("cuPointerGetAttribute", reference, number, place)
                    measured[f"attribute {number}"] = [code, value.value]
                handle = ctypes.byref(IpcHandle())
                measured["cuIpcGetMemHandle"] = self.result("cuIpcGetMemHandle", handle, place)
                name = "cuMemPoolExportPointer"
                measured[name] = self.result(name, handle, place)
                measured["cuMemExportToShareableHandle"] = self.exported(address)

    def result(self, name, *arguments):
        return self.driver.result(name, *arguments) if self.driver.has(name) else "absent"

    def exported(self, address):
        """The codes of retaining an allocation's handle and of exporting it."""
        if not self.driver.has("cuMemExportToShareableHandle"):
            return "absent"
        handle, reference = out(ctypes.c_uint64)
        codes = [self.driver.result("cuMemRetainAllocationHandle", reference, HANDLE(address))]
        if codes[0] == 0:
            fd, place = out(ctypes.c_int)
            fd.value = -1
            zero = ctypes.c_uint64(0)
            name = "cuMemExportToShareableHandle"
            codes.append(self.driver.result(name, place, handle, memory.FILE_DESCRIPTOR, zero))
            if fd.value >= 0:
                os.close(fd.value)
        return codes

    def test_order(self):
        """The importer's stream waits for work of the exporter that a gate holds back."""
        if not self.driver.has("cuIpcGetEventHandle"):
            self.skipTest("the driver has no cuIpcGetEventHandle")
        makers = (memory.alloc, memory.pool_with_handles, memory.virtual_with_handles)
        for maker in makers:
            with self.check(f"ordered: {maker.__name__}") as measured:
                self.ordered(maker(self.driver), measured)

    def ordered(self, made, measured):
        size = len(ipc_peer.PATTERN)
        new, gates = memory.alloc(self.driver), Gates(self.driver, seconds=20)
        self.filled(new)
        gate = gates.close(self.stream)
        self.addCleanup(gate.open)
        self.driver.copy_on_device(made.address, new.address, size, self.stream)
        managed = self.library.wrap(made.address, b.CUDA, [size])
        descriptor, fds = self.library.ipc_export(managed, b.stream_of(self.stream))
        measured |= {"bytes": len(descriptor), "fds": len(fds)}
        with ipc_peer.start("wait", descriptor.hex(), *map(str, fds), fds=fds) as peer:
            self.assertEqual(peer.stdout.readline(), "imported\n")
            self.assertTrue(gate.held(), "the host waited for the exporter's work")
            time.sleep(0.2)  # the importer's read is waiting now
            gate.open()
            self.driver.synchronize(self.stream)
            self.assertEqual(json.loads(peer.stdout.read()), {"seen": True})
        self.library.release(managed)
        for fd in fds:
            os.close(fd)

    def test_the_exporters_own_process(self):
        made = memory.alloc(self.driver)
        self.filled(made)
        managed = self.library.wrap(made.address, b.CUDA, [len(ipc_peer.PATTERN)])
        descriptor, fds = self.library.ipc_export(managed)
        try:
            self.library.release(self.library.ipc_import(descriptor, fds))
            self.measured["import"] = "OK"
        except b.Rejected as error:
            self.measured |= {"import": error.status, "message": error.message}
        self.library.release(managed)

    def test_an_exporter_that_has_ended(self):
        """The importer gets an error or old bytes, and does not crash."""
        exported = ipc_peer.ask("export")
        self.measured |= {"exporter": exported}
        if exported.get("export") == "OK" and not exported["fds"]:
            self.measured["importer"] = ipc_peer.ask("import", exported["descriptor"])
            self.assertEqual(self.measured["importer"]["exit"], 0)
