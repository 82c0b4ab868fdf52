# SPDX-License-Identifier: Apache-2.0
"""Builds the source distribution and one wheel per ABI tag, for the session `wheels`."""

import hashlib
import os
import pathlib
import shutil
import subprocess

from sessions import HERE, NATIVE, ROOT, install_pinned, stages

REQUIREMENTS = HERE / "requirements"
MACHINE = "x86_64"
# The interpreters that build a wheel, and the tags of these wheels. The wheel of 3.12 serves later
# versions, except free-threaded builds, which have no limited API before 3.15.
ALL_TAGS = {
    "3.11": "cp311-cp311",
    "3.12": "cp312-abi3",
    "3.10": "cp310-cp310",
    "3.13t": "cp313-cp313t",
    "3.14t": "cp314-cp314t",
    "3.15t": "cp315-cp315t",
}
# DLBRIDGE_PYTHONS limits the versions, such as "3.11 3.12".
CHOSEN = os.environ.get("DLBRIDGE_PYTHONS", "3.10 3.11 3.12 3.13").split()
TAGS = {version: tag for version, tag in ALL_TAGS.items() if version in CHOSEN}


def interpreter(version):
    """The file of CPython `version` with its headers, or None."""
    ask = "import os, sys, sysconfig; print(sys.executable, sysconfig.get_path('include'))"
    command = (f"python{version}", "-c", ask)
    if not shutil.which(command[0]):
        return None
    answer = subprocess.run(command, capture_output=True, text=True).stdout.split()
    return answer[0] if answer and pathlib.Path(answer[1], "Python.h").exists() else None


def digest(*parts):
    """A hash of texts and of the contents of files."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.read_bytes() if isinstance(part, pathlib.Path) else part.encode())
    return found.hexdigest()


def need_zig(session):
    """Installs the compiler of the release archives, which links for an old glibc."""
    python = stages.environment(session, "zig-venv", "packaging/requirements.txt")
    return next(python.parents[1].glob("lib/python3*/site-packages/ziglang/zig"))


def compilers(folder, zig, target=f"{MACHINE}-linux-gnu.2.17"):
    """One program per language, as ccache expects compilers. Their text decides cache hits."""
    folder.mkdir(parents=True, exist_ok=True)
    for language in ("cc", "c++"):
        program = folder / language
        program.write_text(f'#!/bin/sh\nexec "{zig}" {language} -target {target} "$@"\n')
        program.chmod(0o755)
    cache = str(ROOT / "build/zig-cache")
    return {
        "DLBRIDGE_ZIG_PROGRAMS": str(folder),
        "CCACHE_COMPILERTYPE": "clang",
        "CCACHE_COMPILERCHECK": "content",
        "ZIG_GLOBAL_CACHE_DIR": cache,
        "ZIG_LOCAL_CACHE_DIR": cache,
    }


def backend(session, python, folder):
    """An environment of an interpreter with the build backend.

    Its path is fixed, unlike that of an isolated build of pip, so ccache finds what it compiled.
    """
    found = folder / "bin/python"
    if not found.exists():
        session.run(python, "-m", "venv", "--without-pip", str(folder), external=True)
    pip = ("python", "-m", "pip", "--python", str(found), "install", "--quiet", "--no-deps")
    session.run(*pip, "-r", str(REQUIREMENTS / "build.txt"))
    return str(found)


def make_wheel(session, python, source, work, folder):
    """Builds one wheel of unpacked sources; a release's is named after the glibc that it needs."""
    if NATIVE:
        compile_wheel(session, python, source, work, folder)
        return
    settings, environment = old_glibc(session, work)
    compile_wheel(session, python, source, work, work / "plain", settings, environment)
    [plain] = (work / "plain").glob("*.whl")
    platform = f"manylinux_2_17_{MACHINE}"
    session.run("auditwheel", "repair", "--plat", platform, "--wheel-dir", str(folder), str(plain))


def compile_wheel(session, python, source, work, folder, settings=None, environment=None):
    python = backend(session, python, work.with_name(f"{work.name}-tools"))
    shutil.rmtree(work, ignore_errors=True)
    settings = {
        "build-dir": work / "build",
        "cmake.define.DLBRIDGE_WERROR": "ON",
        **(settings or {}),
    }
    pip = ("python", "-m", "pip", "--python", python, "wheel", "--quiet", "--no-deps")
    options = ["--no-build-isolation", *(f"-C{name}={value}" for name, value in settings.items())]
    session.run(*pip, *options, "--wheel-dir", str(folder), str(source), env=environment)


def old_glibc(session, work):
    """The settings and the variables of a build by zig, which links for an old glibc."""
    zig = need_zig(session)
    settings = {
        "cmake.define.CMAKE_TOOLCHAIN_FILE": HERE / "cmake/zig.cmake",
        "cmake.define.DLBRIDGE_ZIG": zig,
        "cmake.define.DLBRIDGE_ZIG_TARGET": f"{MACHINE}-linux-gnu.2.17",
    }
    return settings, compilers(work.with_name("programs"), zig)


def build_wheels(session, folder, work):
    """Builds the source distribution and the wheels in `folder` that are not current there."""
    install_pinned(session, REQUIREMENTS / "wheels.txt")
    folder.mkdir(parents=True, exist_ok=True)
    with stages.locked("-".join(work.relative_to(stages.BUILD).parts)):
        build_missing(session, folder, work)


def replace(files, made, folder):
    """Moves the one file in the folder `made` to `folder`, in the place of `files`.

    Another session that reads them side by side finds the old one or the new one.
    """
    [new] = made.iterdir()
    os.replace(new, folder / new.name)
    for old in files:
        if old.name != new.name:
            old.unlink()
    return folder / new.name


def build_missing(session, folder, work):
    """Wheels are identified by a hash of their sources and of the tools that build them."""
    made = work / "made"
    shutil.rmtree(made, ignore_errors=True)
    build = ("python", "-m", "build", "--no-isolation", "--sdist", "--outdir")
    session.run(*build, str(made), str(HERE), silent=True)
    source = replace(list(folder.glob("*.tar.gz")), made, folder)
    shutil.rmtree(work / "source", ignore_errors=True)
    shutil.unpack_archive(source, work / "source")
    [unpacked] = (work / "source").iterdir()
    recipe = (pathlib.Path(__file__), HERE / "cmake/zig.cmake", ROOT / "cmake/toolchains/zig.cmake")
    recipe += (REQUIREMENTS / "build.txt", REQUIREMENTS / "wheels.txt")
    recipe += (ROOT / "packaging/requirements.txt",)
    for version, tag in TAGS.items():
        python = interpreter(version)
        if not python:
            session.warn(f"no wheel for CPython {version}: the interpreter or Python.h is missing")
            continue
        stamp = work / f"{tag}.stamp"
        current = digest(source, *recipe, python)
        built = list(folder.glob(f"*-{tag}-*.whl"))
        if built and stamp.exists() and stamp.read_text() == current:
            continue
        make_wheel(session, python, unpacked, work / tag, made)
        replace(built, made, folder)
        stamp.write_text(current)
