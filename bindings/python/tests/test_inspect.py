# SPDX-License-Identifier: Apache-2.0
"""`dlbridge.inspect`: valid tensors, broken ones for every rule, misbehaving producers; and the
picture, whose coordinates are compared with the arithmetic of shape and strides."""

import ctypes
import dataclasses
import gc
import itertools
import json
import random
import re
import weakref
import xml.etree.ElementTree as ElementTree

import dlbridge
import pytest
from checkout import root
from corpus_world import MEMORY, World
from dlbridge import _consumers, _picture, abi, inspect

REAL = _consumers.CONSUMERS
SVG = "{http://www.w3.org/2000/svg}"

# Rules of policies, conversions, views or drivers: no tensor breaks them by itself.
OF_DEMANDS = {
    # [facts/rules.toml]
    "NONE",
    "DTYPE_UNKNOWN",
    "DEVICE_UNKNOWN",
    "FLAGS_UNKNOWN",
    "BUFFER_BOUNDS",
    "CONTIGUITY",
    "ALIGNMENT",
    "DEVICE_REJECTED",
    "DTYPE_REJECTED",
    "NOT_WRITABLE",
    "NEGATIVE_STRIDE",
    "ZERO_STRIDE",
    "SELF_OVERLAP",
    "REQUIRED_VERSION",
    "LEGACY_READ_ONLY",
    "LEGACY_PADDED",
    "LEGACY_DTYPE",
    "LEGACY_DEVICE",
    "OFFSET_FOLD",
    "VIEW_BOUNDS",
    "VIEW_OFFSET",
    "IN_STORAGE",
    "COPY_DEVICE",
    "DEVICE_LABEL",
    "ALLOCATION_BOUNDS",
    "SHAPE_MISMATCH",
    # [/facts]
}
# Rules that are always notes.
NOTES = {
    *("DEVICE_ID_HOST", "DATA_UNALIGNED", "VERSION_LABEL"),
    *("DTYPE_UNKNOWN", "DEVICE_UNKNOWN", "FLAGS_UNKNOWN"),
}

new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAMES = {abi.Kind.LEGACY: b"dltensor", abi.Kind.VERSIONED: b"dltensor_versioned"}


@pytest.fixture(autouse=True)
def consumers(monkeypatch):
    """A table of two consumers that record their calls."""

    class Anything(_consumers.Consumer):
        def takes(self, found):
            return None

    class Contiguous(_consumers.Consumer):
        def takes(self, found):
            return None if found.contiguous["c"] else "not contiguous <at all>"

    flags = {"newest": (1, 3), "honours_read_only": True, "devices": None, "registered": True}
    table = {
        "easy": Anything("easy", "Easy", **flags),
        "picky": Contiguous("picky", "Picky", strides=_consumers.COMPACT, **flags),
    }
    monkeypatch.setattr(_consumers, "CONSUMERS", table)
    return table


@pytest.fixture
def real_consumers(monkeypatch):
    """The package's table."""
    monkeypatch.setattr(_consumers, "CONSUMERS", REAL)
    return REAL


def svg_of(html):
    return ElementTree.fromstring(re.search(r"<svg.*?</svg>", html, re.DOTALL).group())


def exercised(report):
    """Text, HTML and data of a report; none may fail, and the data must be JSON."""
    assert str(report).count("\n") >= 1
    assert repr(report).startswith("<dlbridge.inspect: ")
    data = json.loads(json.dumps(report.as_dict()))
    html = report._repr_html_()
    ElementTree.fromstring(html)
    assert ("<svg" in html) == (data["layout"] is not None and data["shape"] is not None)
    return data


# --------------------------------------------------------------------------------------- the corpus


def corpus():
    cases = root() / "tests" / "conformance" / "cases.json"
    return json.loads(cases.read_text(encoding="utf-8"))["cases"]


def managed_objects():
    for case in corpus():
        for name, spec in case["objects"].items():
            if spec["kind"] in ("LEGACY", "VERSIONED"):
                yield case, name, spec


def test_every_tensor_of_the_corpus_is_described_and_unchanged():
    broken, notes, count = set(), set(), 0
    for _, name, spec in managed_objects():
        world = World({name: spec})
        producer = world.producers[name]
        before = bytes(producer.struct)
        capsule = new_capsule(producer.address, NAMES[producer.kind], None)
        report = inspect(capsule)
        data = exercised(report)
        assert data["kind"] == producer.kind.name.lower()
        found = abi.diagnose(producer.address, producer.kind)
        assert [one["rule"] for one in data["findings"]] == [one["rule"] for one in found]
        broken |= {one["rule"] for one in data["findings"] if one["broken"]}
        notes |= {one["rule"] for one in data["findings"] if not one["broken"]}
        assert all(one["rule"] in str(report) for one in data["findings"])
        assert bytes(producer.struct) == before
        assert abi.capsule(capsule)[0].encode() == NAMES[producer.kind]
        assert producer.deletes == 0
        assert world.finish() == []
        count += 1
    assert count > 1000
    every = {rule.name for rule in abi.Rule}
    assert broken == every - OF_DEMANDS - NOTES
    assert notes >= NOTES


def test_findings_have_what_validation_rejects():
    """A case that validates with the default policy names the rule that must be found."""
    seen = 0
    for case, name, spec in managed_objects():
        step = case["steps"][0]
        if not step["call"].startswith("validate") or step["in"] != name or "policy" in step:
            continue
        if case.get("abi"):
            continue
        world = World({name: spec})
        producer = world.producers[name]
        report = inspect(new_capsule(producer.address, NAMES[producer.kind], None))
        if step["expect"]["status"] == "OK":
            assert report.broken == [], case["name"]
        else:
            first = report.broken[0]
            axis = -1 if first["axis"] is None else first["axis"]
            assert first["rule"] == step["expect"]["rule"], case["name"]
            assert axis == step["expect"]["axis"], case["name"]
            assert report.consumers == {}
            seen += 1
    assert seen > 50


def test_the_layout_equals_the_librarys():
    seen = 0
    for case in corpus():
        for step in case["steps"]:
            if step["call"] != "layout" or "layout" not in step["expect"] or case.get("abi"):
                continue
            spec = case["objects"][step["in"]]
            if spec["ndim"] > 64:
                continue  # more axes than inspect reads and validation accepts
            bare = World({step["in"]: spec}).producers[step["in"]]
            wanted = step["expect"]["layout"]
            managed = abi.DLManagedTensorVersioned(flags=bare.flags, dl_tensor=tensor_of(bare))
            managed.version = abi.DLPackVersion(1, 3)
            capsule = new_capsule(ctypes.addressof(managed), b"dltensor_versioned", None)
            found = inspect(capsule).layout
            assert found["item_bits"] == wanted["item_bits"]
            for key, name in (("elements", "element_count"), ("begin", "begin"), ("end", "end")):
                assert str(found[key]) == wanted[name], case["name"]
            for axes in ("broadcast_axes", "negative_axes"):
                assert str(sum(1 << axis for axis in found[axes])) == wanted[axes]
            assert found["c_contiguous"] == ("C_CONTIGUOUS" in wanted["properties"])
            assert found["overlap"].upper() == wanted["self_overlap"]
            seen += 1
    assert seen > 50


def test_the_real_table_accepts_every_report_of_the_corpus(real_consumers):
    known = real_consumers
    taken, rejected = set(), set()
    for _, name, spec in managed_objects():
        producer = World({name: spec}).producers[name]
        report = inspect(new_capsule(producer.address, NAMES[producer.kind], None))
        if not report.broken:
            assert set(report.consumers) == set(known)
        for consumer, reason in report.consumers.items():
            assert reason is None or isinstance(reason, str)
            (taken if reason is None else rejected).add(consumer)
    assert taken == rejected == set(known)


def test_the_real_table_accepts_a_plain_array(np, real_consumers):
    for dtype, rejecting in (
        (np.float32, ["cupy"]),
        (np.float64, ["jax", "cupy"]),
        (np.int64, ["jax", "cupy"]),
    ):
        # TensorFlow rejects an array that is not aligned, as NumPy's are by chance.
        report = inspect(np.from_dlpack(dlbridge.from_dlpack(np.zeros((3, 4), dtype)).copy()))
        assert [name for name, reason in report.consumers.items() if reason] == rejecting, dtype
        assert [name for name, reason in report.bridged.items() if reason] == rejecting, dtype


def tensor_of(producer):
    assert producer.kind != MEMORY
    kinds = {abi.Kind.BORROWED: lambda struct: struct}
    return kinds.get(producer.kind, lambda struct: struct.dl_tensor)(producer.struct)


# ----------------------------------------------------------------------------------- real producers


@pytest.fixture
def np():
    return pytest.importorskip("numpy")


def test_an_array(np):
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, ::-1]
    report = inspect(array)
    data = exercised(report)
    assert data["type"] == "numpy.ndarray"
    assert (data["shape"], data["strides"]) == ([2, 3, 4], [12, -4, 1])
    assert (data["dtype"], data["dtype_triple"]) == ("float32", [2, 32, 1])
    assert (data["device"], data["device_id"]) == ("cpu:0", [1, 0])
    assert data["memory"]["memory"] == "HOST"
    assert data["data"] + data["byte_offset"] == array.ctypes.data
    layout = data["layout"]
    assert (layout["begin"], layout["end"]) == (-32, 64)
    assert layout["negative_axes"] == [1] and layout["overlap"] == "no"
    assert data["findings"] == []
    assert data["consumers"] == {"easy": None, "picky": "not contiguous <at all>"}
    assert "not by     picky: not contiguous <at all>" in str(report)
    assert "taken by   easy" in str(report)


def test_frameworks_that_are_not_installed_are_named_as_such(np, consumers):
    replace = dataclasses.replace
    consumers["nowhere"] = replace(consumers["easy"], name="nowhere", registered=False)
    consumers["picky"] = replace(consumers["picky"], registered=False)
    report = inspect(np.zeros((2, 3), dtype=np.int32)[:, ::2])
    lines = str(report).splitlines()
    assert "  taken by   easy" in lines
    assert "  taken by   not installed: nowhere" in lines
    assert "  not by     picky (not installed): not contiguous <at all>" in lines


def test_a_tensor_of_this_package(np):
    import dlbridge

    tensor = dlbridge.from_dlpack(np.arange(3))
    data = inspect(tensor).as_dict()
    answers = [(ask["asked"], ask["kind"]) for ask in data["speaks"]["asks"]]
    assert answers == [("__dlpack__(max_version=(1, 3))", "versioned"), ("__dlpack__()", "legacy")]
    assert data["speaks"]["exchange_tables"] == [{"version": [1, 3], "missing": []}]
    assert data["speaks"]["exchange_error"] is None
    assert data["speaks"]["device"] == "cpu:0"


def test_arrays_that_never_change_are_a_caution(np):
    kind = type("ArrayImpl", (Producer,), {"__module__": "jaxlib._jax"})
    report = inspect(kind(lambda **_: np.arange(3).__dlpack__()))
    assert (report.framework, report.immutable, report.readonly) == ("jax", True, None)
    assert "caution    jax expects no writes" in str(report)
    assert report.as_dict()["immutable"] is True
    plain = inspect(np.arange(3))
    assert plain.immutable is False and "caution" not in str(plain)


def test_a_read_only_array_rejects_a_legacy_request(np):
    array = np.arange(3)
    array.flags.writeable = False
    data = exercised(inspect(array))
    assert data["readonly"] is True and data["flags"] == ["READ_ONLY"]
    legacy = data["speaks"]["asks"][1]
    assert legacy["kind"] is None and legacy["answer"].startswith("BufferError: ")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda np: np.zeros((0, 3)), {"empty": True, "elements": 0}),
        (lambda np: np.array(7.0), {"elements": 1, "begin": 0, "end": 8}),
        (
            lambda np: np.lib.stride_tricks.as_strided(np.arange(3.0), (2, 3), (0, 8)),
            {"broadcast_axes": [0], "overlap": "yes", "elements": 6, "end": 24},
        ),
        (lambda np: np.arange(6.0).reshape(2, 3).T, {"f_contiguous": True, "c_contiguous": False}),
    ],
)
def test_layouts(np, make, expected):
    layout = exercised(inspect(make(np)))["layout"]
    assert {key: layout[key] for key in expected} == expected


def test_null_strides_are_reported_and_computed():
    shape = (ctypes.c_int64 * 2)(2, 3)
    memory = ctypes.create_string_buffer(24)
    managed = abi.DLManagedTensor()
    managed.dl_tensor.data = ctypes.addressof(memory)
    managed.dl_tensor.device = abi.DLDevice(1, 0)
    managed.dl_tensor.dtype = abi.DLDataType(2, 32, 1)
    managed.dl_tensor.ndim = 2
    managed.dl_tensor.shape = ctypes.cast(shape, type(managed.dl_tensor.shape))
    report = inspect(new_capsule(ctypes.addressof(managed), b"dltensor", None))
    assert (report.strides, report.strides_null) == ([3, 1], True)
    assert report.readonly is None and report.flags is None
    assert "(NULL)" in str(report)


# ---------------------------------------------------------------------------- misbehaving producers


class Producer:
    """A producer with given results."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **keywords):
        return self.answer(**keywords)

    def __dlpack_device__(self):
        return (1, None)


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no text")


def raising(error):
    def answer(**_):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (raising(ValueError("not today")), "ValueError: not today"),
        (raising(Unprintable()), "Unprintable"),
        (raising(RecursionError("deep")), "RecursionError: deep"),
        (lambda **_: None, "no capsule but an instance of NoneType"),
        (lambda **_: 4096, "no capsule but an instance of int"),
        (lambda **_: new_capsule(4096, b"tensor", None), "a capsule 'tensor', of no DLPack name"),
        (lambda **_: new_capsule(4096, None, None), "a capsule None, of no DLPack name"),
        (
            lambda **_: new_capsule(4096, b"used_dltensor_versioned", None),
            "a capsule 'used_dltensor_versioned', used already",
        ),
        (
            lambda **_: new_capsule(4096, b"\xff\xfe", None),
            "a capsule '\\\\xff\\\\xfe', of no DLPack name",
        ),
    ],
)
def test_errors_of_a_producer_are_reported(answer, words):
    report = inspect(Producer(answer))
    data = exercised(report)
    assert [ask["answer"] for ask in data["speaks"]["asks"]] == [words, words]
    assert data["kind"] is None and data["consumers"] == {}
    assert "(1, None), which is not a (type, id) of integers" in str(report)


class Unshown:
    def __getitem__(self, place):
        raise IndexError(place)

    def __repr__(self):
        raise ValueError("no repr")


def test_a_device_without_a_repr_is_reported():
    producer = Producer(raising(ValueError()))
    kind = type("Odd", (Producer,), {"__dlpack_device__": lambda _: Unshown()})
    assert "ValueError: no repr, which is not a (type, id)" in str(inspect(kind(producer.answer)))


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        inspect(Producer(raising(KeyboardInterrupt())))


class Rude(type):
    def __getattr__(cls, name):
        raise RuntimeError(f"no {name} for you")


class OfRude(metaclass=Rude):
    def __getattr__(self, name):
        raise RuntimeError(f"no {name} here")


def test_an_object_without_dlpack_is_reported():
    for x in (3, None, object(), "text", type, OfRude(), OfRude):
        report = inspect(x)
        data = exercised(report)
        assert data["speaks"]["asks"] == [] and data["kind"] is None
        assert "no __dlpack__" in str(report)


def test_a_used_capsule_is_not_read(np):
    capsule = np.arange(3).__dlpack__()
    ctypes.pythonapi.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    assert inspect(capsule).kind == "legacy"
    ctypes.pythonapi.PyCapsule_SetName(capsule, b"used_dltensor")
    report = inspect(capsule)
    assert report.kind is None and "used already" in str(report)
    ctypes.pythonapi.PyCapsule_SetName(capsule, b"dltensor")  # frees its tensor


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        (lambda: 3, "TypeError: not a capsule"),
        (lambda: new_capsule(4096, b"other", None), "its capsule is named 'other'"),
    ],
)
def test_an_invalid_exchange_api_is_reported(chain, words):
    kind = type("Strange", (), {"__dlpack_c_exchange_api__": chain()})
    assert words in inspect(kind()).as_dict()["speaks"]["exchange_error"]


def test_the_source_is_released(np):
    class Counted:
        def __init__(self):
            self.array = np.arange(5)

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

    source = Counted()
    known = weakref.ref(source.array)
    report = inspect(source)
    assert report.shape == [5]
    del source
    gc.collect()
    assert known() is None, "the report keeps what it described"
    exercised(report)


def test_unused_capsules_run_their_destructor_once():
    runs = []
    destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(runs.append)
    shape = (ctypes.c_int64 * 1)(2)
    managed = abi.DLManagedTensorVersioned(version=abi.DLPackVersion(1, 1))
    managed.dl_tensor.shape = ctypes.cast(shape, type(managed.dl_tensor.shape))
    managed.dl_tensor.ndim = 1

    def answer(**_):
        address = ctypes.cast(destructor, ctypes.c_void_p)
        return new_capsule(ctypes.addressof(managed), b"dltensor_versioned", address)

    report = inspect(Producer(answer))
    assert len(runs) == 2, "one capsule for each question"
    assert {"DTYPE_BITS_ZERO", "DATA_NULL"} & {one["rule"] for one in report.broken}


# -------------------------------------------------------------------------------------- the picture


def drawn(shape, strides, byte_offset=0, bits=32):
    """(cells by index, slots in reading order), as attributes of their rectangles."""
    root = ElementTree.fromstring(_picture.draw(shape, strides, bits, byte_offset))
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    boxes = [one.attrib for one in root.iter(SVG + "rect") if "data-offset" in one.attrib]
    for box in boxes:
        assert float(box["x"]) >= 0 and float(box["x"]) + float(box["width"]) <= width
        assert float(box["y"]) >= 0 and float(box["y"]) + float(box["height"]) <= height
    places = [(float(box["x"]), float(box["y"])) for box in boxes]
    assert len(set(places)) == len(places), "two boxes in one place"
    cells = {box["data-index"]: box for box in boxes if "data-index" in box}
    slots = [box for box in boxes if "data-count" in box]
    return cells, sorted(slots, key=lambda box: (float(box["y"]), float(box["x"])))


def check_picture(shape, strides, byte_offset=0):
    cells, slots = drawn(shape, strides, byte_offset)
    limits = [_picture.MAX_SLICES] * (len(shape) - 2)
    limits += [_picture.MAX_ROWS, _picture.MAX_COLUMNS][2 - min(2, len(shape)) :]
    if len(shape) < 3:
        ranges = [range(min(*pair)) for pair in zip(shape, limits, strict=True)]
        assert set(cells) == {",".join(map(str, index)) for index in itertools.product(*ranges)}
    offsets = {}
    for text, box in cells.items():
        index = [int(one) for one in text.split(",")] if text else []
        offset = sum(i * stride for i, stride in zip(index, strides, strict=True))
        assert int(box["data-offset"]) == offset, (shape, strides, index)
        assert box["fill"] == offsets.setdefault(offset, box["fill"]), "one place, two colours"
        if len(index) >= 2:
            assert_neighbours(cells, index, box)
    check_slots(slots, cells, offsets)


def assert_neighbours(cells, index, box):
    """Rows go right, columns go down, slices are side by side."""
    right = cells.get(",".join(map(str, [*index[:-1], index[-1] + 1])))
    below = cells.get(",".join(map(str, [*index[:-2], index[-2] + 1, index[-1]])))
    x, y = float(box["x"]), float(box["y"])
    if right is not None:
        assert (float(right["x"]), float(right["y"])) == (x + _picture.CELL, y)
    if below is not None:
        assert (float(below["x"]), float(below["y"])) == (x, y + _picture.CELL)


def check_slots(slots, cells, colour):
    """The slots are in ascending order, show every gap, and count every cell."""
    touched = {}
    for box in cells.values():
        offset = int(box["data-offset"])
        touched[offset] = touched.get(offset, 0) + 1
    at = [int(box["data-offset"]) for box in slots]
    assert at == sorted(set(at))
    counted = {offset: int(box["data-count"]) for offset, box in zip(at, slots, strict=True)}
    assert {offset: n for offset, n in counted.items() if n} == touched
    for offset, box in zip(at, slots, strict=True):
        assert box["fill"] == (colour[offset] if counted[offset] else "#eeeeee")
    lowest = min(float(box["y"]) for box in slots)
    assert all(float(box["y"]) + _picture.CELL < lowest for box in cells.values())
    framed = [box for box in [*cells.values(), *slots] if box["stroke"] == "#000000"]
    assert [box["data-offset"] for box in framed] == ["0", "0"]
    assert len({box["fill"] for box in slots if int(box["data-count"])}) == len(touched)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ([], []),
        ([5], [1]),
        ([5], [-1]),
        ([4], [0]),
        ([1], [2**62]),
        ([2, 3], [3, 1]),
        ([3, 2], [1, 3]),
        ([3, 2], [-2, -1]),
        ([3, 4], [0, 1]),
        ([3, 4], [0, 0]),
        ([3, 2], [1, 1]),
        ([2, 3, 4], [12, 4, 1]),
        ([2, 3, 4], [12, -4, 1]),
        ([4, 1, 3], [100, 7, -9]),
        ([100, 100], [100, 1]),
        ([2, 2, 2, 2, 2], [16, 8, 4, 2, 1]),
        ([1] * 64, [5] * 64),
        ([2**40], [2**20]),
    ],
)
def test_the_picture_follows_shape_and_strides(shape, strides):
    check_picture(shape, strides)
    check_picture(shape, strides, byte_offset=16)
    check_picture(shape, strides, byte_offset=6)


def test_pictures_of_random_layouts():
    chance = random.Random(7)
    for _ in range(200):
        ndim = chance.randint(0, 4)
        shape = [chance.randint(1, 9) for _ in range(ndim)]
        strides = [chance.randint(-12, 12) for _ in range(ndim)]
        check_picture(shape, strides, chance.choice([0, 4, 5, 4000]))


def test_the_data_pointer_is_drawn_before_an_offset():
    _, slots = drawn([3], [1], byte_offset=8)
    assert [(box["data-offset"], box["data-count"]) for box in slots[:3]] == [
        ("-2", "0"),
        ("-1", "0"),
        ("0", "1"),
    ]
    _, far = drawn([3], [1], byte_offset=4000)
    assert [box["data-offset"] for box in far] == ["-1000", "-999", "0", "1", "2"]
    assert "999" in _picture.draw([3], [1], 32, 4000)


def test_colours_follow_the_address():
    cells, _ = drawn([4], [-1])
    back, _ = drawn([4], [1])
    fills = [cells[str(i)]["fill"] for i in range(4)]
    assert len(set(fills)) == 4
    assert fills == [back[str(3 - i)]["fill"] for i in range(4)]


def test_an_empty_tensor_has_a_picture_without_elements():
    for shape in ([0], [3, 0], [0, 2**62]):
        assert drawn(shape, [1] * len(shape)) == ({}, [])
        assert "empty" in _picture.draw(shape, [1] * len(shape), 8)


def test_omitted_parts_of_a_picture_are_named():
    text = _picture.draw([5, 100, 100], [10000, 100, 1], 32)
    assert "3 of 5 slices, 6 of 100 rows, 8 of 100 columns" in text
    assert "drawn:" not in _picture.draw([3, 6, 8], [48, 8, 1], 32)
    huge = _picture.draw([2**50, 2**40, 2, 3], [0, 0, 3, 1], 32)
    assert f"3 of {2**90} slices" in huge and len(huge) < 20000


def test_texts_of_a_producer_are_escaped():
    report = inspect(Producer(raising(ValueError("<script>&"))))
    html = report._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;&amp;" in html


def test_the_picture_of_a_report_shows_its_tensor(np):
    report = inspect(np.arange(12, dtype=np.int16).reshape(3, 4).T)
    root = svg_of(report._repr_html_())
    offsets = [one.get("data-offset") for one in root.iter(SVG + "rect") if one.get("data-index")]
    assert [int(one) for one in offsets] == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    assert "16 bits a place" in "".join(root.itertext())
