# SPDX-License-Identifier: Apache-2.0
"""`python -m dlbridge doctor`: the library, the drivers, the installed frameworks, and how each
pair exchanges arrays. It imports no framework, since some crash together in one process."""

import argparse
import importlib.metadata
import itertools
import json
import platform
import sys
from types import SimpleNamespace
from typing import Any

from . import _consumers, _producers, abi

CLASHES = ((("tensorflow", "paddle"), "crash when both are imported into one process"),)
# Results of pairs that do not follow from their facts: (producer, consumer) -> result.
PAIRS = {("paddle", "jax"): "JAX rejects the (1, None) that Paddle's __dlpack_device__ returns"}


class Hands(SimpleNamespace):
    """A framework's export of a plain float32 array, with the attributes of a report of inspect."""

    def __init__(self, framework: str, **facts: Any):
        plain = {
            "framework": framework,
            "legacy": True,
            "versioned": True,
            "version": (1, 3),
            "keywords": True,
            "readonly": False,
            "immutable": False,
            "shape": [3, 4],
            "strides": [4, 1],
            "ndim": 2,
            "dtype": "float32",
            "dtype_triple": (2, 32, 1),
            "device": (1, 0),
            "device_name": "cpu:0",
            "byte_offset": 0,
            "contiguous": {"c": True, "f": False},
            "empty": False,
            "broadcast": False,
            "negative": False,
            "alignment": 64,
            **facts,
        }
        plain["kind"] = "versioned" if plain["versioned"] else "legacy"
        if not plain["versioned"]:
            plain.update(version=None, readonly=None)
        plain["flags"] = None if not plain["versioned"] else int(bool(plain["readonly"]))
        super().__init__(**plain)


def names() -> list[str]:
    """The frameworks of the tables, by the names of their modules."""
    return list(dict.fromkeys((*_producers.PRODUCERS, *_consumers.CONSUMERS)))


def hands_out(framework: str, version: str) -> Hands:
    """The facts about the exports of a version of a framework."""
    since_versions = _at_least(version, (2, 1))
    facts: dict[str, dict[str, Any]] = {
        "numpy": {"versioned": since_versions, "keywords": since_versions, "version": (1, 0)},
        "jax": {"keywords": _at_least(version, (0, 4, 31))},
        "onnxruntime": {"keywords": False, "strides": None},
    }
    return Hands(framework, **{**_of_table(framework), **facts.get(framework, {})})


def _of_table(framework: str) -> dict[str, Any]:
    producer = _producers.PRODUCERS.get(framework)
    if producer is None:
        return {}
    device = (producer.device, 0)
    return {
        "versioned": producer.versioned,
        "immutable": producer.immutable,
        "device": device,
        "device_name": abi.device_format(device),
    }


def _at_least(version, wanted):
    parts = []
    for part in version.split(".")[: len(wanted)]:
        digits = "".join(c for c in part if c.isdigit())
        parts.append(int(digits or 0))
    return tuple(parts) >= wanted


# ----------------------------------------------------------------------------------- looking around


def library() -> dict[str, Any]:
    return {
        "version": abi.version_string(),
        "abi": abi.ABI,
        "dlpack": ".".join(map(str, abi.dlpack_version())),
        "file": abi.library_file(),
        "package": _version_of("dlbridge"),
        "python": platform.python_version(),
    }


def backends() -> list[dict[str, Any]]:
    """The result of starting each driver."""
    found = []
    for backend in list(abi.Backend)[1:]:
        try:
            info = abi.backend_info(backend)
        except (RuntimeError, BufferError) as error:
            found.append({"backend": backend.name, "state": "UNKNOWN", "reason": str(error)})
            continue
        info.update(backend=backend.name, state=abi.name_of(abi.State, info["state"]))
        found.append(info)
    return found


def _version_of(distribution):
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def frameworks() -> dict[str, str]:
    """Framework -> version, "" if its package does not state one. Nothing is imported."""
    distributions = importlib.metadata.packages_distributions()
    found = {}
    for name in names():
        if _consumers.is_installed(name):
            versions = [_version_of(one) for one in distributions.get(name, [])]
            found[name] = next((version for version in versions if version), "")
    return found


def pairs(found: dict[str, str]) -> list[dict[str, Any]]:
    """The result of each pair of frameworks, without dlbridge, for a plain array: `rejection` is
    None if the consumer accepts it as it is, `warning` is None if that does no harm."""
    consumers = _consumers.CONSUMERS
    return [
        _pair(hands_out(producer, version), consumers[consumer], consumer)
        for producer, version in found.items()
        for consumer in found
        if consumer in consumers
    ]


def narrowing(found: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Consumers that silently change dtypes now: {name: {dtypes, remedy}}."""
    result = {}
    for name in found:
        consumer = _consumers.CONSUMERS.get(name)
        if consumer is not None and consumer.narrows:
            changed = {
                old: new
                for old, new in consumer.narrows
                if _consumers.narrowed(consumer, old) is not None
            }
            if changed:
                result[name] = {"dtypes": changed, "remedy": consumer.keeps_by}
    return result


def _pair(hands, consumer, name):
    rejection = PAIRS.get((hands.framework, name)) or consumer.takes(hands)
    # A consumer that supports READ_ONLY imports legacy tensors as read-only.
    careful = consumer.immutable or consumer.honours_read_only
    warning = None
    if rejection is None and hands.immutable and not careful:
        warning = f"its arrays are writable there, which {hands.framework} does not expect"
    return {
        "producer": hands.framework,
        "consumer": name,
        "rejection": rejection,
        "warning": warning,
    }


def problems(seen: dict[str, Any]) -> list[str]:
    """Problems of the installation, as texts."""
    words = []
    own, package = seen["library"]["version"], seen["library"]["package"]
    if package is not None and package != own:
        words.append(f"the package is version {package}, but the library that it loaded is {own}")
    for names, what in CLASHES:
        if all(name in seen["frameworks"] for name in names):
            words.append(f"{' and '.join(names)} {what}")
    return words


def examine() -> dict[str, Any]:
    """The whole examination, as plain values."""
    found = frameworks()
    seen: dict[str, Any] = {
        "library": library(),
        "backends": backends(),
        "frameworks": found,
        "pairs": pairs(found),
        "narrowing": narrowing(found),
    }
    seen["problems"] = problems(seen)
    return seen


# ----------------------------------------------------------------------------------------- in words


def _library_lines(own):
    yield "library"
    yield f"  dlbridge {own['version']}, ABI {own['abi']}, DLPack up to {own['dlpack']}"
    yield f"  {own['file']}"
    yield f"  CPython {own['python']}, package {own['package'] or 'not installed, run in place'}"


def _backend_lines(found):
    yield "backends"
    for one in found:
        if one["state"] == "READY":
            detail = f"{one['device_count']} devices"
            detail += f", driver {one['driver_version']}" if one["driver_version"] else ""
            detail += f", {one['file']}" if one["file"] else ""
        else:
            detail = one["reason"]
        yield f"  {one['backend']:<12} {one['state'].lower():<9} {detail}"


def _pair_words(pair):
    if pair["rejection"] is not None:
        return f"no: {pair['rejection']}"
    return f"accepts it, but {pair['warning']}" if pair["warning"] else "accepts it"


def _pair_lines(found):
    yield "pairs, without dlbridge, for a plain float32 array"
    for producer, group in itertools.groupby(found, key=lambda one: one["producer"]):
        words = {one["consumer"]: _pair_words(one) for one in group}
        plainly = [name for name, said in words.items() if said == "accepts it"]
        yield f"  {producer:<12} -> {', '.join(plainly) or 'none'}"
        for name, said in words.items():
            if name not in plainly:
                yield f"  {'':<12} -> {name}: {said}"
    if found:
        yield "  dlbridge.adapt and dlbridge.to serve the rest"
    else:
        yield "  none"


def _narrowing_lines(found):
    for name, what in found.items():
        changed = ", ".join(f"{old} to {new}" for old, new in what["dtypes"].items())
        remedy = f": {what['remedy']}" if what["remedy"] else ""
        yield f"  {name:<12} changes {changed}{remedy}"


def in_words(seen: dict[str, Any]) -> str:
    lines = [*_library_lines(seen["library"]), "", *_backend_lines(seen["backends"]), ""]
    lines.append("frameworks")
    lines += [f"  {name:<12} {version}" for name, version in seen["frameworks"].items()]
    lines += ["  none"] * (not seen["frameworks"])
    lines += ["", *_pair_lines(seen["pairs"])]
    if seen["narrowing"]:
        lines += ["", "values lost without dlbridge", *_narrowing_lines(seen["narrowing"])]
    if seen["problems"]:
        lines += ["", "problems", *(f"  {problem}" for problem in seen["problems"])]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dlbridge doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="write data instead of text")
    chosen = parser.parse_args(argv)
    seen = examine()
    print(json.dumps(seen, indent=2) if chosen.json else in_words(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
