# SPDX-License-Identifier: Apache-2.0
"""The keywords of __dlpack__ and from_dlpack, to the letter of the array API standard."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterator
from typing import Any

from . import answers, capsules, leaks, tensors, values, verdicts
from .forms import FORMS
from .kit import Kit, check, consumed, expected, message, shown
from .outcomes import Failure, Skip

KEYWORDS = ("stream", "max_version", "dl_device", "copy")
# A device type that DLPack never assigned.
UNASSIGNED = (5, 0)


@check("keywords-accepted")
def keywords_accepted(kit: Kit) -> None:
    array, missing = kit.array(), []
    with kit.showing(answers.keywords):
        for keyword in KEYWORDS:
            try:
                kit.ask(array, **{keyword: None})
            except TypeError:
                missing.append(keyword)
            except Exception:
                continue
    if missing:
        found = f"TypeError for {', '.join(missing)}"
        raise Failure("the keywords stream, max_version, dl_device and copy", found)


@check("keywords-none")
def keywords_none(kit: Kit) -> None:
    array = kit.array()
    try:
        with kit.showing(answers.none):
            kit.fresh(kit.ask(array, **dict.fromkeys(KEYWORDS)))
    except TypeError as error:
        raise Failure("a capsule, or BufferError for max_version=None", message(error)) from None
    except BufferError:
        kit.export(array, **{**dict.fromkeys(KEYWORDS), "max_version": capsules.NEWEST})


@check("device-tuple")
def device_tuple(kit: Kit) -> None:
    array = kit.array()
    with kit.showing(verdicts.device):
        _device_is_exported(kit, array)


def _device_is_exported(kit: Kit, array: Any) -> None:
    device = array.__dlpack_device__()
    if not isinstance(device, tuple) or len(device) != 2:
        raise Failure("a tuple of device type and id", repr(device))
    try:
        found = tuple(operator.index(part) for part in device)
    except (TypeError, ValueError):
        raise Failure("a tuple of two integers", repr(device)) from None
    exported = capsules.describe(capsules.look(kit.best(array))).device
    if found != exported:
        raise Failure(f"the exported device {exported}", repr(device), "wrong answer")


def _with_keyword(kit: Kit, array: Any, **keywords: Any) -> Any:
    """Exports; skips the check where the producer lacks the keyword, which is a check itself."""
    try:
        return kit.fresh(kit.ask(array, max_version=capsules.NEWEST, **keywords))
    except TypeError as error:
        raise Skip(f"the producer lacks the keyword: {message(error)}") from None


@check("device-own")
def device_own(kit: Kit) -> None:
    array = kit.array()
    device = array.__dlpack_device__()
    try:
        with kit.showing(answers.own_device):
            capsule = _with_keyword(kit, array, dl_device=device)
    except (BufferError, ValueError, RuntimeError) as error:
        raise Failure(f"a capsule for dl_device={device!r}", message(error)) from None
    found = capsules.describe(capsules.look(capsule)).device
    if found != tuple(map(int, device)):
        raise Failure(f"device {tuple(map(int, device))}", f"device {found}", "wrong answer")


@check("device-cpu")
def device_cpu(kit: Kit) -> None:
    array = kit.array()
    try:
        with kit.showing(verdicts.on_host):
            capsule = _with_keyword(kit, array, dl_device=capsules.CPU)
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure("a capsule of host memory", message(error)) from None
    with consumed(capsule) as struct:
        description = capsules.describe(struct)
        if description.device[0] != 1:
            raise Failure("device type 1", f"device {description.device}", "wrong answer")
        if description.elements() != expected("plain"):
            raise Failure("the values of the array", "other values", "wrong answer")


@check("device-unknown")
def device_unknown(kit: Kit) -> None:
    array = kit.array()
    try:
        with kit.showing(answers.unknown_device):
            capsule = _with_keyword(kit, array, dl_device=UNASSIGNED)
    except BufferError:
        return
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure(f"BufferError for dl_device={UNASSIGNED}", message(error)) from None
    device = capsules.describe(capsules.look(capsule)).device
    raise Failure(f"BufferError for dl_device={UNASSIGNED}", f"a capsule of device {device}")


@check("device-other")
def device_other(kit: Kit) -> None:
    array = kit.array()
    own = capsules.describe(capsules.look(kit.best(array))).device
    for device in answers.OTHER_DEVICES:
        if device == own:
            continue
        try:
            with kit.showing(answers.other_device):
                capsule = _with_keyword(kit, array, dl_device=device)
        except (Skip, Failure):
            raise
        except Exception:
            continue
        found = capsules.describe(capsules.look(capsule)).device
        if found != device:
            wanted = f"a capsule of device {device} for dl_device={device}, or an exception"
            raise Failure(wanted, f"a capsule of device {found}")


@check("copy-true")
def copy_true(kit: Kit) -> None:
    array = kit.array()
    kit.best(array)
    try:
        copies = [_copied(kit, array, "plain")]
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure("a copy", message(error), "deviation") from None
    for how in _copies():
        # Only the plain array must be copied.
        with contextlib.suppress(Skip):
            copies.append(_optional_copy(kit, **how))
    for copy in copies:
        if copy.version and not copy.flags & capsules.IS_COPIED:
            raise Failure("flag IS_COPIED", capsules.flags_text(copy.flags), "deviation")


def _copies() -> Iterator[dict[str, Any]]:
    """The other arrays and capsules that the kit asks for copies of."""
    yield {"form": "plain", "versions": {}}
    for form in FORMS:
        if form not in ("plain", "empty"):
            yield {"form": form}
        if form != "empty":
            yield {"form": form, "read_only": True}


def _optional_copy(
    kit: Kit, form: str, read_only: bool = False, versions: dict[str, Any] | None = None
) -> capsules.Description:
    array = kit.array(form, read_only=read_only)
    try:
        return _copied(kit, array, form, versions)
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Skip(message(error)) from None


def _copied(
    kit: Kit, array: Any, form: str, versions: dict[str, Any] | None = None
) -> capsules.Description:
    """The copy of an array. `versions` is how it is asked for, without keywords for legacy ones."""
    # It stays alive, so that a copy cannot have its memory.
    shared = capsules.look(kit.optional(array))
    if versions is None:
        capsule = _with_keyword(kit, array, copy=True)
    else:
        capsule = kit.fresh(kit.ask(array, copy=True, **versions))
    asked = kit.newest if versions is None else versions
    kit.shows(lambda code, request, newest: verdicts.copy_apart(code, request, asked))
    with consumed(capsule) as struct:
        copy = capsules.describe(struct)
        if not set(copy.places()).isdisjoint(capsules.describe(shared).places()):
            wanted = f"other memory than the array's{_named(form, versions)}"
            raise Failure(wanted, "the array's memory", "corruption")
        if copy.elements() != expected(form):
            asked = {**asked, "copy": True}
            kit.shows(lambda code, request, newest: verdicts.values(code, request, asked))
            wanted = f"the values of the array{_named(form, versions)}: {shown(expected(form))}"
            raise Failure(wanted, shown(copy.elements()))
    return copy


def _named(form: str, versions: dict[str, Any] | None) -> str:
    """A suffix that distinguishes this copy from that of the plain array in a versioned capsule."""
    what = [] if form == "plain" else [form]
    what += ["without max_version"] if versions == {} else []
    return f" ({', '.join(what)})" if what else ""


@check("copy-false")
def copy_false(kit: Kit) -> None:
    _never_copied(kit, kit.array(), "plain")
    for form in ("gaps", "transposed"):
        try:
            array = kit.array(form)
        except Skip:
            continue
        _never_copied(kit, array, form)


def _never_copied(kit: Kit, array: Any, form: str) -> None:
    try:
        shared = kit.optional(array)
        capsule = _with_keyword(kit, array, copy=False)
    except BufferError:
        return
    except (Skip, Failure):
        if form == "plain":
            raise
        return
    except Exception as error:
        raise Failure("shared memory or BufferError", message(error), "deviation") from None
    found = capsules.describe(capsules.look(capsule))
    kit.shows(verdicts.same_memory)
    if found.address != capsules.describe(capsules.look(shared)).address:
        raise Failure(f"the array's memory ({form})", "other memory")
    if found.flags & capsules.IS_COPIED:
        raise Failure("no flag IS_COPIED", capsules.flags_text(found.flags), "deviation")


@check("copy-none")
def copy_none(kit: Kit) -> None:
    array = kit.array()
    try:
        capsule = _with_keyword(kit, array, copy=False)
    except BufferError as error:
        raise Skip(f"the array cannot be shared: {message(error)}") from None
    first = capsules.describe(capsules.look(capsule)).address
    found = capsules.describe(capsules.look(_with_keyword(kit, array, copy=None))).address
    kit.shows(verdicts.same_memory)
    if found != first:
        raise Failure("the array's memory", "other memory")


@check("stream-on-cpu")
def stream_on_cpu(kit: Kit) -> None:
    array = kit.array()
    if int(array.__dlpack_device__()[0]) != 1:
        raise Skip("the array is not on the CPU")
    for stream in answers.STREAMS:
        _is_no_stream(kit, array, stream)


def _is_no_stream(kit: Kit, array: Any, stream: int) -> None:
    try:
        with kit.showing(answers.stream):
            capsule = kit.ask(array, stream=stream)
    except Exception:
        return
    raise Failure(f"an exception for stream={stream}", capsules.label(capsule))


@check("error-then-works")
def error_then_works(kit: Kit) -> None:
    array = kit.array()
    for keywords in ({"dl_device": UNASSIGNED}, {"stream": "no stream"}, {"max_version": "1.0"}):
        with contextlib.suppress(Exception):
            kit.ask(array, **keywords)
            continue
        kit.shows(functools.partial(leaks.rejected_requests, asked=keywords))
        leaks.of_rejections(kit, array, keywords)
    with kit.showing(verdicts.after_errors), consumed(kit.best(array)) as struct:
        if capsules.describe(struct).elements() != expected("plain"):
            raise Failure("the values of the array", "other values", "corruption")


def _kinds() -> Iterator[dict[str, Any]]:
    """The kinds of arrays that the kit asks for."""
    yield from ({"form": form} for form in FORMS)
    yield from ({"dtype": dtype} for dtype in values.DTYPES)
    yield {"read_only": True}


@check("export-error")
def export_error(kit: Kit) -> None:
    rejected = 0
    for kind in _kinds():
        try:
            array = kit.array(**kind)
            with kit.showing(answers.exported_or_rejected):
                kit.fresh(kit.ask(array, **kit.newest))
        except Skip:
            continue
        except BufferError:
            rejected += 1
        except Failure:
            raise
        except Exception as error:
            asked = ", ".join(f"{name}={value}" for name, value in kind.items())
            raise Failure(f"a capsule or BufferError ({asked})", message(error)) from None
    if not rejected:
        raise Skip("every array is exported")


# ------------------------------------------------------------------------------------- consumer


@check("asks-version")
def asks_version(kit: Kit) -> None:
    tensor = tensors.of_form("plain", kind="legacy")
    source = kit.source(tensor, program=answers.without_keywords, keywords=False)
    try:
        array = kit.taken(source)
    except (Skip, Failure):
        raise
    except Exception as error:
        found = f"{message(error)}, after {len(source.requests)} calls of __dlpack__"
        raise Failure("a second call without max_version", found) from None
    kit.compare(array, expected("plain"), (3, 4))


class _Odd(Exception):
    """An error that no library knows."""


@check("passes-errors")
def passes_errors(kit: Kit) -> None:
    for error in (BufferError("cannot be exported"), _Odd("an error of the producer")):
        tensor = kit.tensor()
        try:
            kit.taken(kit.source(tensor, program=verdicts.errors, error=error))
        except type(error):
            tensor.forget()
            continue
        except (Skip, Failure):
            raise
        except Exception as other:
            raise Failure(f"{type(error).__name__} of __dlpack__", message(other)) from None
        raise Failure(f"{type(error).__name__} of __dlpack__", "an array", "wrong answer")


@check("no-protocol")
def no_protocol(kit: Kit) -> None:
    kit.reproducer = answers.no_protocol(kit.adapter.code)
    try:
        array = kit.taken(object())
    except AttributeError:
        return
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure("AttributeError for object()", message(error)) from None
    raise Failure("AttributeError for object()", type(array).__name__, "wrong answer")


class _Copying(tensors.Source):
    """Copies on demand, as a producer must."""

    def __dlpack__(self, **keywords: Any) -> Any:
        if keywords.get("copy") is True:
            flags = self.tensor.fields["flags"] | capsules.IS_COPIED
            self.copy = tensors.of_form("plain", kind=self.tensor.kind, flags=flags)
            self.requests.append(keywords)
            return self.copy.capsule()
        return super().__dlpack__(**keywords)


def _asked(kit: Kit, source: Any, copy: bool) -> Any:
    try:
        return kit.taken(source, copy=copy)
    except TypeError as error:
        raise Failure("a keyword copy of from_dlpack", message(error), "deviation") from None


@check("consumer-copy-true")
def consumer_copy_true(kit: Kit) -> None:
    tensor = kit.tensor()
    kit.source(tensor, program=verdicts.copied)
    try:
        array = _asked(kit, _Copying(tensor), True)
    except (Skip, Failure):
        raise
    except Exception as error:
        raise Failure("a copy", message(error), "deviation") from None
    kit.compare(array, expected("plain"), (3, 4))
    if kit.adapter.address(array) == tensor.memory.address:
        raise Failure("other memory than the producer's", "the producer's memory", "corruption")


@check("consumer-copy-false")
def consumer_copy_false(kit: Kit) -> None:
    tensor = kit.tensor()
    kit.source(tensor, program=verdicts.not_copied)
    try:
        array = _asked(kit, _Copying(tensor), False)
    except (BufferError, ValueError):
        return
    kit.compare(array, expected("plain"), (3, 4))
    if kit.adapter.address(array) != tensor.memory.address:
        raise Failure("the producer's memory, or an exception", "a copy")
