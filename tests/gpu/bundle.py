# SPDX-License-Identifier: Apache-2.0
"""Packs all that the tests on a GPU need into one archive: nothing is installed or compiled there.

bundle.py LIBRARY TIMINGS WHEEL FILE    FILE: a .tar.gz; WHEEL: of the package, or "" for none

It unpacks to dlbridge-gpu/, where `sh run-gpu.sh` runs the tests.
"""

import gzip
import pathlib
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/gpu"
ADAPTERS = "tests/interop/conformance/gpu"
NAME = "dlbridge-gpu"
MOST_BYTES = 2 << 20
# These stay in the repository.
BUILDERS = ("bundle.py", "bundle_test.py")


def driver_calls():
    """The driver's functions that the library uses, from its tables."""
    text = (ROOT / "src/device/cuda/driver.h").read_text()
    return re.findall(r"^\s*ROW\(\w+, (cu\w+),", text, re.MULTILINE)


def put(source, target, executable=False):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if executable else 0o644)


def put_adapters(folder):
    """The adapters of the libraries that the conformance kit checks, and known deviations."""
    for pattern in ("*.py", "quirks/*.toml"):
        for path in (ROOT / ADAPTERS).glob(pattern):
            put(path, folder / path.relative_to(ROOT))


def fill(folder, library, timings, wheel):
    """The folder as it will be on the other machine. But for lib/ and bin/, its paths are those of
    the repository."""
    put(library, folder / "lib/libdlbridge.so.1")
    put(timings, folder / "bin/timings", executable=True)
    put(HERE / "run-gpu.sh", folder / "run-gpu.sh", executable=True)
    put(ROOT / "LICENSE", folder / "LICENSE")
    put(ROOT / "tests/support/structs.py", folder / "tests/support/structs.py")
    for path in HERE.glob("*.py"):
        if path.name not in BUILDERS:
            put(path, folder / "tests/gpu" / path.name)
    put_adapters(folder)
    (folder / "tests/gpu/driver_calls.txt").write_text("\n".join(driver_calls()) + "\n")
    package = folder / "bindings/python"
    if wheel:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(package)
    else:
        # The files of the package that the tests read without importing it.
        for name in ("_structs.py", "_constants.py", "conformance/gates.py"):
            put(ROOT / "bindings/python/dlbridge" / name, package / "dlbridge" / name)


def plain(member):
    """Nothing in the archive depends on the machine that packs it."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


def pack(folder, file):
    with (
        open(file, "wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        archive.add(folder, NAME, filter=plain)


def make(library, timings, wheel, file):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / NAME
        fill(folder, library, timings, wheel)
        pack(folder, file)
    return pathlib.Path(file).stat().st_size


def main():
    file = sys.argv[4]
    size = make(*sys.argv[1:])
    print(f"{file}: {size} bytes")
    if size > MOST_BYTES:
        sys.exit(f"bundle.py: expected at most {MOST_BYTES} bytes, found {size}")


if __name__ == "__main__":
    main()
