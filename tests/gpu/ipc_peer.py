# SPDX-License-Identifier: Apache-2.0
"""The other process of check_ipc.py and check_ipc_torch.py. It prints what it saw as JSON.

ipc_peer.py import DESCRIPTOR [FD...]    imports a tensor of the pattern and reads it
ipc_peer.py wait DESCRIPTOR [FD...]      the same on a stream; prints "imported" before it reads
ipc_peer.py export                       exports a tensor and ends
ipc_peer.py torch                        exports a tensor of PyTorch to another `import`
"""

import json
import os
import subprocess
import sys

import memory
from cuda_driver import Driver

import bindings as b

PATTERN = bytes(i % 251 for i in range(4096))


def ask(task, *arguments, fds=(), **variables):
    """What another process prints, as JSON, and how it ended."""
    command = (sys.executable, "-B", __file__, task, *arguments)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        pass_fds=fds,
        timeout=50,
        env={**os.environ, **variables},
        check=False,
    )
    print(done.stderr, file=sys.stderr)
    try:
        printed = json.loads(done.stdout.strip().rpartition("\n")[2])
    except json.JSONDecodeError:
        printed = {"output": done.stdout[-500:], "errors": done.stderr[-500:]}
    return printed | {"exit": done.returncode}


def start(task, *arguments, fds=()):
    """Another process whose output the caller reads."""
    command = (sys.executable, "-B", __file__, task, *arguments)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=fds)


def imported(descriptor, *fds):
    library, driver = b.load(), Driver()
    try:
        managed = library.ipc_import(bytes.fromhex(descriptor), [int(fd) for fd in fds])
    except b.Rejected as error:
        return {"import": error.status, "import_message": error.message}
    what = managed.contents.dl_tensor
    if what.device.device_type == b.DeviceType.CUDA:
        library.validate(what)
        driver.use_primary_context()
        seen = driver.read(b.address_of(managed), len(PATTERN), driver.make_stream())
    else:
        seen = b.content(managed)
    library.release(managed)
    return {"import": "OK", "seen": seen == PATTERN}


def waiting(descriptor, *fds):
    library, driver = b.load(), Driver()
    driver.use_primary_context()
    stream = driver.make_stream()
    queue = b.stream_of(stream)
    managed = library.ipc_import(bytes.fromhex(descriptor), [int(fd) for fd in fds], queue)
    print("imported", flush=True)
    seen = driver.read(b.address_of(managed), len(PATTERN), stream)
    library.release(managed)
    return {"seen": seen == PATTERN}


def exported(library, address):
    """The result of an export, in a form for JSON; the file descriptors stay open."""
    managed = library.wrap(address, b.CUDA, [len(PATTERN)])
    try:
        descriptor, fds = library.ipc_export(managed)
    except b.Rejected as error:
        return {"export": error.status, "message": error.message}
    return {"export": "OK", "descriptor": descriptor.hex(), "fds": fds}


def export():
    library, driver = b.load(), Driver()
    driver.use_primary_context()
    return exported(library, memory.alloc(driver).address)


def torch():
    module = b.need_module("torch")
    array = module.tensor(list(PATTERN), dtype=module.uint8, device="cuda")
    module.cuda.synchronize()
    result = exported(b.load(), array.data_ptr())
    result["backend"] = module.cuda.get_allocator_backend()
    if result["export"] == "OK":
        numbers = [str(fd) for fd in result["fds"]]
        result["peer"] = ask("import", result["descriptor"], *numbers, fds=result["fds"])
    return result


TASKS = {"import": imported, "wait": waiting, "export": export, "torch": torch}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])), flush=True)
