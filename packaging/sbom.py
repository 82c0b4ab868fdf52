# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of a release: CycloneDX in JSON, validated against its schema. It lists the
artefacts with their checksums, what third parties wrote that is inside of them, and what users of
the bindings get besides.

sbom.py FOLDER FILE TIME    the artefacts, the file to write, and the time of the commit
"""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import versions  # noqa: E402 needs the path above

# Compiled into the extensions of the Python package.
IN_WHEELS = {"nanobind": "BSD-3-Clause"}


def product(version):
    licence = [LicenseExpression("Apache-2.0")]
    kind = ComponentType.LIBRARY
    return Component(
        name="dlbridge", version=version, type=kind, licenses=licence, bom_ref="dlbridge"
    )


def artefact(path, folder):
    name = str(path.relative_to(folder))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Component(
        name=name, type=ComponentType.FILE, bom_ref=f"file:{name}",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)],
    )  # fmt: skip


def third_party(kind, name, version, licence, scope, why):
    purl = PackageURL(type=kind, name=name, version=version)
    return Component(
        name=name, version=version, type=ComponentType.LIBRARY, scope=scope, purl=purl,
        licenses=[LicenseExpression(licence.replace("/", " OR "))] if licence else [],
        bom_ref=str(purl), properties=[Property(name="dlbridge:use", value=why)],
    )  # fmt: skip


def python_parts():
    text = (ROOT / "bindings/python/pyproject.toml").read_text()
    for name, version in re.findall(r'^  "([\w-]+)==([\d.]+);', text, re.MULTILINE):
        inside = name in IN_WHEELS
        scope = ComponentScope.REQUIRED if inside else ComponentScope.EXCLUDED
        why = "compiled into the wheels" if inside else "builds the wheels"
        yield third_party("pypi", name, version, IN_WHEELS.get(name), scope, why)


def crates():
    """Dependencies of the published crates: optional for features, excluded for build scripts."""
    command = ("cargo", "metadata", "--locked", "--format-version", "1", "--all-features")
    found = subprocess.run(command, cwd=ROOT / "bindings/rust", check=True, capture_output=True)
    graph = json.loads(found.stdout)
    packages = {one["id"]: one for one in graph["packages"]}
    nodes = {one["id"]: one for one in graph["resolve"]["nodes"]}
    own = [one for one in graph["workspace_members"] if packages[one]["publish"] is None]
    reached = {}
    waiting = [(one, ComponentScope.OPTIONAL) for one in own]
    while waiting:
        identity, scope = waiting.pop()
        if reached.get(identity) in (scope, ComponentScope.OPTIONAL):
            continue
        reached[identity] = scope
        for needed in nodes[identity]["deps"]:
            kinds = {kind["kind"] for kind in needed["dep_kinds"]}
            if None in kinds:
                waiting.append((needed["pkg"], scope))
            elif "build" in kinds:
                waiting.append((needed["pkg"], ComponentScope.EXCLUDED))
    for identity, scope in sorted(reached.items()):
        one = packages[identity]
        if one["source"] is not None:
            why = "builds the crates" if scope == ComponentScope.EXCLUDED else "an optional feature"
            yield third_party("cargo", one["name"], one["version"], one["license"], scope, why)


def validate(text):
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        raise SystemExit(f"the bill of materials breaks the schema of CycloneDX 1.6: {error}")


def make(folder, time):
    version = versions.read(ROOT).text
    files = [artefact(path, folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    parts = [*python_parts(), *crates()]
    # The same artefacts give the same bytes.
    name = "".join(str(one.hashes[0].content) for one in files)
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, name), components=[*files, *parts])
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(time, datetime.timezone.utc)
    bom.metadata.component = product(version)
    inside = [one for one in parts if one.scope != ComponentScope.EXCLUDED]
    bom.register_dependency(bom.metadata.component, inside)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main():
    folder, file, time = sys.argv[1:]
    text = make(pathlib.Path(folder), int(time))
    validate(text)
    pathlib.Path(file).write_text(text)


if __name__ == "__main__":
    main()
