# SPDX-License-Identifier: Apache-2.0
"""to: converts an array of any framework to one of another."""

import importlib
import types
from typing import Any

from . import _arrays, _consumers, _core
from ._adapt import Adapted, Considered, Options, Rejection


def to(x: Any, target: Any, /, **options: Any) -> Any:
    """dlbridge.to, whose documentation is in _core, for arrays and options of every kind."""
    chosen = Options.of("to", options)
    framework, table = _resolved(target)
    if framework is not None:
        if chosen.consumer not in (None, framework.name):
            raise ValueError(
                f"expected the target's consumer, {framework.name!r}, or none, found "
                f"consumer={chosen.consumer!r}"
            )
        chosen = chosen.for_consumer(framework.name)
    array = Adapted(x, chosen)
    if table is not None:
        result = _through_table(framework, table, array, chosen)
    else:
        assert framework is not None
        result = _import(framework, array)
    if isinstance(target, type) and not isinstance(result, target):
        title = framework.title if framework is not None else "its exchange table"
        raise TypeError(
            f"expected the type that {title} imports, found {target!r}; it makes {type(result)!r}"
        )
    return result


def _through_table(
    framework: _consumers.Consumer | None, table: type, array: Adapted, options: Options
) -> Any:
    stranger = _consumers.ITSELF if table is _core.Tensor else _consumers.STRANGER
    tensor, drop = array.tensor_for(framework or stranger, table)
    try:
        return _core.to_type(tensor, table, drop_read_only=drop)
    except BufferError as error:
        if drop or not tensor.readonly or getattr(error, "status", None) != "POLICY":
            raise
    rejection = Rejection(
        f"expected a target that keeps READ_ONLY for a read-only array, found {table!r}, which "
        "does not",
        "readonly='drop'",
        readonly="copy",
    )
    raise rejection.beside(options)


def _resolved(target: Any) -> tuple[_consumers.Consumer | None, type | None]:
    """The framework of a target, and the type whose exchange table leads to it."""
    if not isinstance(target, (str, types.ModuleType, type)):
        raise TypeError(
            "expected a type, a framework's module or its name, found an instance of "
            f"{type(target)!r}"
        )
    table = target if isinstance(target, type) and _core.exchange_versions(target) else None
    framework = _consumers.by_module(_origin(target))
    if table is not None and not (framework is not None and framework.registered):
        framework = _consumers.by_module(_owner_of_table(table).__module__)
    if table is None and framework is None:
        known = ", ".join(_consumers.CONSUMERS)
        raise ValueError(
            f"expected a type with an exchange table, or a target out of {known}, found {target!r}"
        )
    if table is None and framework is not None and framework.exchange_type:
        table = _below(_module_of(framework), framework.exchange_type)
    return framework, table


def _owner_of_table(kind: type) -> type:
    """The class that has the exchange table of a type: its framework makes the objects.

    The module of a subclass, such as one of torch.Tensor in a package of JAX, does not name it.
    """
    return next((one for one in kind.__mro__ if "__dlpack_c_exchange_api__" in vars(one)), kind)


def _module_of(framework: _consumers.Consumer) -> Any:
    """The framework's module; ImportError with its package's name if it is not installed."""
    try:
        return importlib.import_module(framework.name)
    except ModuleNotFoundError as error:
        if error.name != framework.name:
            raise
        package = framework.distribution or framework.name
        raise ModuleNotFoundError(
            f"expected {framework.title} to be installed, found no module {framework.name!r}; "
            f"run pip install {package}",
            name=error.name,
        ) from None


def _below(owner: Any, path: str) -> Any:
    for name in path.split("."):
        owner = _attribute(owner, name)
    return owner


def _origin(target: Any) -> str:
    if isinstance(target, str):
        return target
    return target.__module__ if isinstance(target, type) else target.__name__


def _import(framework: _consumers.Consumer, array: Adapted) -> Any:
    """Imports with the framework's own function, or through NumPy if that supports more."""
    module = _module_of(framework)
    if framework.name == "numpy":
        return _arrays.numpy_array(array)
    if _goes_through_numpy(framework, array):
        return module.array(_arrays.numpy_array(array))
    importer = _below(module, framework.importer)
    return importer(array.__dlpack__() if framework.capsules else array)


def _goes_through_numpy(framework: _consumers.Consumer, array: Adapted) -> bool:
    """dpnp's import rejects scalars, empty arrays and most strides in host memory.

    Through NumPy it also makes a copy on its device.
    """
    return framework.name == "dpnp" and array.device_pair[0] == _consumers.CPU


def rejection_by(framework: _consumers.Consumer, array: Considered) -> str | None:
    """Why `to` would reject an array that was adapted without options; None if it would not.

    Does not import the framework.
    """
    try:
        if framework.name == "numpy" or _goes_through_numpy(framework, array):
            _arrays.check(array)
        else:
            array.export_for(framework, None, framework.newest, None, None)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        return str(error)
    return None


def _attribute(owner: Any, name: str) -> Any:
    if not hasattr(owner, name) and isinstance(owner, types.ModuleType):
        return importlib.import_module(f"{owner.__name__}.{name}")
    return getattr(owner, name)
