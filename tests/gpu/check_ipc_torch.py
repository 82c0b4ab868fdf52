# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch's allocators, shared with another process, each in a process of its own."""

import ipc_peer
from checks import Checks

import bindings as b

CONFIGURATIONS = {
    "default": "",
    "expandable segments": "expandable_segments:True",
    "asynchronous pool": "backend:cudaMallocAsync",
}


class IpcTorch(Checks):
    def test_allocators(self):
        b.need_device()
        b.need_module("torch")
        for name, text in CONFIGURATIONS.items():
            with self.check(f"torch: {name}") as measured:
                measured |= ipc_peer.ask("torch", PYTORCH_CUDA_ALLOC_CONF=text)
                self.assertEqual(measured["exit"], 0)
                self.assertIn(measured["export"], ("OK", "UNSUPPORTED"))
                if measured["export"] == "OK":
                    self.assertEqual(measured["peer"].get("seen"), True)
