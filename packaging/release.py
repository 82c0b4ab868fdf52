# SPDX-License-Identifier: Apache-2.0
"""Makes all artefacts of a release from the last commit, and checks them. Nothing is published: the
commands that do that are printed.

The programs' output is in build/log/release-PART.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT / "tools")]

import notes  # noqa: E402 needs the path above
import pack  # noqa: E402
import refusals  # noqa: E402
import source  # noqa: E402
import versions  # noqa: E402

BUILD = ROOT / "build"
OUT = BUILD / "dist"
PYTHON = BUILD / "release-venv/bin/python"
CRATES = ("dlbridge-sys", "dlbridge", "dlbridge-conformance")  # each after those that it needs
PACKAGES = [word for crate in CRATES for word in ("-p", crate)]


class Failed(Exception):
    """An artefact that could not be made, or that a check rejects."""


class Part:
    """Runs the programs of one part of the release; their output goes to a log."""

    def __init__(self, name):
        self.name, self.version = name, versions.read(ROOT).text
        self.log = BUILD / f"log/release-{name}"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")

    def run(self, *command, folder=ROOT, **environment):
        words = list(map(str, command))
        with self.log.open("a") as file:
            done = subprocess.run(
                words, cwd=folder, stdout=file, stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
            )  # fmt: skip
        if done.returncode != 0:
            tail = self.log.read_text(errors="replace").splitlines()[-40:]
            raise Failed("\n".join([f"failed: {' '.join(words)}", *tail]))

    def nox(self, session, *options, file="noxfile.py", **environment):
        command = (sys.executable, "-m", "nox", "-f", file, "-s", session, *options)
        self.run(*command, **environment)

    def keep(self, paths, folder=""):
        """Copies artefacts; each name states the version."""
        paths = sorted(paths)
        if not paths:
            raise Failed("nothing was made")
        (OUT / folder).mkdir(parents=True, exist_ok=True)
        for path in paths:
            if self.version not in path.name:
                raise Failed(f"{path.name}: expected the version {self.version} in its name")
            shutil.copy2(path, OUT / folder / path.name)

    def pack(self, folder, name):
        """An archive of a folder, with the same bytes for the same files."""
        with tempfile.TemporaryDirectory() as scratch:
            tree = pathlib.Path(scratch) / f"dlbridge-{self.version}-{name}"
            shutil.copytree(folder, tree)
            with self.log.open("a") as file, contextlib.redirect_stdout(file):
                pack.pack(tree, OUT / f"{tree.name}.tar.gz", source.commit_time(ROOT))


def make_source(part):
    """The source archive; a second one has the same bytes."""
    path = OUT / f"dlbridge-{part.version}.tar.gz"
    source.archive(ROOT, path)
    again = BUILD / "release-again.tar.gz"
    source.archive(ROOT, again)
    if again.read_bytes() != path.read_bytes():
        raise Failed("a second archive has other bytes")
    again.unlink()


def make_recipes(part):
    """Recipes of conda, Homebrew, Meson and vcpkg for the source archive, where it will be."""
    archive = OUT / f"dlbridge-{part.version}.tar.gz"
    if not archive.exists():
        make_source(part)
    watched = (ROOT / "debian/watch").read_text()
    (place,) = re.findall(r"^(https://\S+/) dlbridge@", watched, re.MULTILINE)
    home = "/".join(place.split("/")[:3])
    write = (sys.executable, "-B", "packaging/recipes/write.py")
    part.run(*write, home, place + archive.name, archive, OUT / "recipes")


def make_archives(part):
    """The library for Linux, x86_64 and aarch64, with debug information and conformance kit."""
    part.nox("archives")
    part.keep((BUILD / "package").glob("*.tar.gz"))


def make_debian(part):
    """Debian's source package and its packages for this machine, checked with lintian."""
    folder = BUILD / "release-debian"
    shutil.rmtree(folder, ignore_errors=True)
    part.run(sys.executable, "-B", "packaging/debian.py", ROOT, folder)
    part.keep((path for path in folder.iterdir() if path.suffix != ".log"), "debian")


def make_python(part):
    """Wheels and source distribution, checked as an index does."""
    part.nox("wheels", file="bindings/python/noxfile.py")
    files = list((BUILD / "wheels").iterdir())
    part.run(PYTHON, "-m", "twine", "check", "--strict", *files)
    part.keep(files, "python")


def make_rust(part):
    """The crates, each built from what its package carries; no installed library is used."""
    target = BUILD / "release-crates"
    shutil.rmtree(target / "package", ignore_errors=True)
    cargo = {"CARGO_TARGET_DIR": str(target), "DLBRIDGE_NO_PKG_CONFIG": "1"}
    folder = ROOT / "bindings/rust"
    part.run("cargo", "publish", "--dry-run", "--locked", *PACKAGES, folder=folder, **cargo)
    # A dry run leaves the packages in folders of its own.
    part.run("cargo", "package", "--no-verify", "--locked", *PACKAGES, folder=folder, **cargo)
    part.keep(target.glob(f"package/*-{part.version}.crate"), "rust")
    made = {path.name.removesuffix(f"-{part.version}.crate") for path in OUT.glob("rust/*")}
    if made != set(CRATES):
        raise Failed(f"expected the crates {sorted(CRATES)}, found {sorted(made)}")


def make_go(part):
    """The modules, which `go get` and `go vet` take from a module proxy."""
    prefix = BUILD / "release-prefix"
    part.run("cmake", "--preset", "release")
    part.run("cmake", "--build", BUILD / "release")
    install = ("cmake", "--install", BUILD / "release", "--prefix", prefix)
    part.run(*install)
    part.run(*install, "--component", "conformance")
    part.nox("hosted", file="bindings/go/noxfile.py", DLBRIDGE_PREFIX=str(prefix))
    proxy = BUILD / "bindings/go/hosted/proxy"
    for path in sorted(proxy.rglob("*.zip")):
        name = str(path.relative_to(proxy).parent.parent).replace("/", "-")
        (OUT / "go").mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, OUT / "go" / f"{name}-{path.name}")
    if len(list(OUT.glob(f"go/*-v{part.version}.zip"))) != 2:
        raise Failed("expected the modules of the binding and of the conformance kit")


def make_bundle(part):
    """The library as one header and one source."""
    part.nox("bundle")
    part.pack(BUILD / "bundle", "bundle")


def make_docs(part):
    """The documentation site."""
    part.nox("docs")
    part.pack(BUILD / "docs/html", "docs")


def files_made():
    return sorted(path for path in OUT.rglob("*") if path.is_file())


def make_sbom(part):
    """The bill of materials, valid CycloneDX."""
    path = OUT / f"dlbridge-{part.version}.cdx.json"
    when = source.commit_time(ROOT)
    part.run(PYTHON, "-B", "packaging/sbom.py", OUT, BUILD / path.name, when)
    shutil.move(BUILD / path.name, path)


def make_notes(part):
    """The notes of the release."""
    text = notes.make(ROOT, OUT, files_made())
    (OUT / "RELEASE_NOTES.md").write_text(text)


def make_sums(part):
    """SHA256SUMS of everything else."""
    (OUT / "SHA256SUMS").unlink(missing_ok=True)
    names = [str(path.relative_to(OUT)) for path in files_made()]
    done = subprocess.run(("sha256sum", *names), cwd=OUT, check=True, capture_output=True)
    (OUT / "SHA256SUMS").write_bytes(done.stdout)
    part.run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", folder=OUT)


# The last three describe what the others made.
PARTS = {
    "source": make_source,
    "recipes": make_recipes,
    "archives": make_archives,
    "debian": make_debian,
    "python": make_python,
    "rust": make_rust,
    "go": make_go,
    "bundle": make_bundle,
    "docs": make_docs,
    "sbom": make_sbom,
    "notes": make_notes,
    "sums": make_sums,
}
LAST = ("sbom", "notes", "sums")

PUBLISH = """\
git tag --sign bindings/go/v{version}
git tag --sign bindings/go/conformance/v{version}
git push ORIGIN --tags
gpg --armor --detach-sign build/dist/SHA256SUMS
twine upload build/dist/python/*
(cd bindings/rust && cargo publish --locked \\
  {packages})
debsign build/dist/debian/*.changes
dput HOST build/dist/debian/*.changes
upload build/dist/* to the page of the release, with RELEASE_NOTES.md"""


def say(text, first="", then="  "):
    print(textwrap.fill(text, 80, initial_indent=first, subsequent_indent=then), flush=True)


def judge(dry):
    """Prints why the commit cannot be released; whether the run goes on."""
    hard, soft = list(refusals.always(ROOT)), list(refusals.before_release(ROOT))
    refused = hard if dry else hard + soft
    for reason in refused:
        say(f"FAILED refused: {reason}")
    for reason in soft if dry else ():
        say(f"would refuse: {reason}")
    return not refused


def make(name):
    began = time.monotonic()
    try:
        PARTS[name](Part(name))
    except (Failed, subprocess.CalledProcessError, OSError) as error:
        print(f"FAILED {name}: {error}", flush=True)
        return False
    what = PARTS[name].__doc__.split(";")[0].strip().rstrip(".")
    say(f"passed {name}, {time.monotonic() - began:.0f} s: {what}")
    return True


def parse():
    parser = argparse.ArgumentParser(prog="./run release", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--dry-run", action="store_true", help="go on where only the date, the tag or a host lacks"
    )
    parser.add_argument("--check", action="store_true", help="only say what would be refused")
    parser.add_argument(
        "--only", nargs="+", metavar="PART", choices=[*PARTS],
        help=f"only these parts, in a dry run: {', '.join(name for name in PARTS)}",
    )  # fmt: skip
    options = parser.parse_args()
    if options.only and not options.dry_run:
        parser.error("a release has all parts: expected --dry-run with --only")
    return options


def main():
    options = parse()
    if not judge(options.dry_run):
        return 1
    if options.check:
        print("passed: the commit can be released" if not options.dry_run else "passed: dry run")
        return 0
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    chosen = [name for name in PARTS if not options.only or name in (*options.only, *LAST)]
    failed = [name for name in chosen if not make(name)]
    if failed:
        say(f"no release: {', '.join(failed)} failed; see build/log/release-PART")
        return 1
    print(f"{len(files_made())} files in build/dist. Nothing was published.")
    print("A release would go on with:" if options.dry_run else "To publish them:")
    version = versions.read(ROOT).text
    print(textwrap.indent(PUBLISH.format(version=version, packages=" ".join(PACKAGES)), "  "))
    return 0


if __name__ == "__main__":
    sys.exit(main())
