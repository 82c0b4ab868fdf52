# SPDX-License-Identifier: Apache-2.0
"""to: converts an array of any framework to one of another."""

import dataclasses
import importlib
import types
from typing import Any

from . import _consumers, _core, _producers
from ._adapt import Adapted, Options

# Types of frameworks that have an exchange table.
_TABLE_TYPES = {"torch": "Tensor"}


def to(x: Any, target: Any, /, **options: Any) -> Any:
    """Converts `x` for `target`: a type (torch.Tensor), a framework's module, or its name.

    `options` and rejections are those of adapt. A type with an exchange table gets the tensor
    through the table, other frameworks through their own import. For NumPy, the dtypes of the
    package ml_dtypes are used if it is installed.
    """
    if not options and isinstance(target, type):
        # Fast path for arrays that need no permission. Its rejections are explained below.
        try:
            result = _core.to_type(x, target)
        except (BufferError, RuntimeError, ValueError):
            result = None
        if result is not None:
            return result
    return _to(x, target, options)


def _to(x: Any, target: Any, options: dict[str, Any]) -> Any:
    framework, table = _resolved(target)
    if framework is not None and options.get("consumer") is None:
        options = {**options, "consumer": framework.name}
    array = Adapted(x, Options(**options))
    if table is not None:
        tensor, drop = array.tensor_for(framework or _consumers.STRANGER)
        return _core.to_type(tensor, table, drop_read_only=drop)
    assert framework is not None
    result = _import(framework, array)
    if isinstance(target, type) and not isinstance(result, target):
        raise TypeError(
            f"expected the type that {framework.title} imports, found {target!r}; it makes "
            f"{type(result)!r}"
        )
    return result


def _resolved(target: Any) -> tuple[_consumers.Consumer | None, type | None]:
    """The framework of a target, and the type whose exchange table leads to it."""
    if not isinstance(target, (str, types.ModuleType, type)):
        raise TypeError(
            "expected a type, a framework's module or its name, found an instance of "
            f"{type(target)!r}"
        )
    framework = _consumers.by_module(_origin(target))
    table = target if isinstance(target, type) and _core.exchange_versions(target) else None
    if table is None and framework is None:
        known = ", ".join(_consumers.CONSUMERS)
        raise ValueError(
            f"expected a type with an exchange table, or a target out of {known}, found {target!r}"
        )
    if table is None and framework is not None and framework.name in _TABLE_TYPES:
        table = getattr(importlib.import_module(framework.name), _TABLE_TYPES[framework.name])
    return framework, table


def _origin(target: Any) -> str:
    if isinstance(target, str):
        return target
    return target.__module__ if isinstance(target, type) else target.__name__


def _import(framework: _consumers.Consumer, array: Adapted) -> Any:
    """Imports with the framework's own function, or through NumPy if that supports more."""
    module = importlib.import_module(framework.name)
    if framework.name == "numpy" and not _consumers.takes_dtype(framework, array.dtype):
        return _as_ml_dtype(module, array)
    if framework.name == "dpnp" and array.__dlpack_device__()[0] == _consumers.CPU:
        # dpnp's import rejects scalars, empty arrays and most strides in host memory. Through NumPy
        # it also makes a copy on its device.
        numpy = importlib.import_module("numpy")
        return module.array(numpy.from_dlpack(array.tensor_for(_consumers.by_name("numpy"))[0]))
    importer: Any = module
    for name in framework.importer.split("."):
        importer = _attribute(importer, name)
    return importer(array.__dlpack__() if framework.capsules else array)


def _attribute(owner: Any, name: str) -> Any:
    if not hasattr(owner, name) and isinstance(owner, types.ModuleType):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)


def _as_ml_dtype(numpy: Any, array: Adapted) -> Any:
    """A NumPy array of a dtype of ml_dtypes; its bits are exchanged as unsigned integers."""
    framework = _consumers.by_name("numpy")
    try:
        dtype = getattr(importlib.import_module("ml_dtypes"), array.dtype, None)
    except ImportError:
        dtype = None
    if dtype is None:
        array.tensor_for(framework)  # rejects the dtype
    tensor, _ = array.tensor_for(dataclasses.replace(framework, lacks=()))
    bits = f"uint{tensor.dtype_triple[1]}"
    return numpy.from_dlpack(_producers.relabelled(tensor, bits)).view(dtype)
