# SPDX-License-Identifier: Apache-2.0
"""The programs that show a failure make the array or the tensor of the check, and judge right
libraries as right. tests/interop has the frameworks that are not installed here."""

from __future__ import annotations

import pytest
from conformance_runs import no_sanitizers, one_run, shown
from dlbridge.conformance import answers, bundled, engine, tensors, verdicts
from dlbridge.conformance.adapters import Chosen, Request
from dlbridge.conformance.forms import FORMS

pytest.importorskip("numpy")
pytestmark = [no_sanitizers, one_run]


def finds(file, name, expected):
    """The reproducer of a check of an adapter file, and what it prints."""
    [found] = engine.run(Chosen(file=str(file)), [name], rounds=100).failures
    status, text = shown(found.reproducer)
    assert (status, expected in text) == (1, True), text
    return found


@pytest.mark.parametrize(
    ("changed", "name", "text"),
    [
        (".astype('float32')", "import-float64", "FAULT: the array differs from the tensor"),
        (".view('int64')", "import-uint64", "FAULT: the array has another dtype than the tensor"),
        (".astype('uint8')", "import-bool", "FAULT: the array has another dtype than the tensor"),
    ],
)
def test_the_program_of_an_import_shows_values_and_dtype(tmp_path, changed, name, text):
    file = tmp_path / "narrows.py"
    file.write_text(
        "import numpy\n"
        f"def consume(source): return numpy.from_dlpack(source){changed}\n"
        "def dtype(array): return str(array.dtype)\n"
    )
    finds(file, name, text)


def test_a_producer_of_two_dotted_names_is_asked_for_what_the_check_asked_for():
    """For an array of no elements, and of the dtype."""
    adapter = Chosen(producer="numpy.array", consumer="numpy.from_dlpack").load()
    request = Request("int8", FORMS["empty"])
    program = answers.empty(adapter.code_of(request), request, {})
    assert "base[:0]" in program and "dtype=numpy.int8" in program
    status, text = shown(program)
    assert status == 0 and "fine: " in text, text


def code_of(framework, request):
    """Without an import of the framework."""
    kind = bundled.KNOWN[framework]
    return kind.code_of(object.__new__(kind), request)


def test_the_lines_of_programs_fit_into_a_report():
    """All programs of answers: those that a check has, whatever its library answers."""
    programs = [one for one in vars(answers).values() if getattr(one, "__name__", "") == "program"]
    assert len(programs) > 12
    texts = [one("", Request(), {"max_version": (1, 3)}) for one in programs]
    tensor = tensors.of_form("negative", version=(1, 99), flags=1 << 63)
    consumers = (answers.arrives, answers.arrives_or_is_rejected, answers.rejects, answers.foreign)
    consumers += (answers.renamed, answers.is_writable, answers.shares, answers.without_keywords)
    texts += [one("", tensor) for one in consumers]
    texts += [answers.own("", Request()), answers.not_a_capsule(""), answers.no_protocol("")]
    wide = {line for text in texts for line in text.splitlines() if len(line) > 76}
    assert not wide


# Framework and dtype -> what its arrays of a dtype are made by, where NumPy has no array for it.
MADE = {
    ("onnxruntime", "float8_e4m3fn"): "_with_onnx_type(\n    base, 17)  # float8_e4m3fn",
    ("pyarrow", "bool"): "array = pyarrow.array(base.ravel())",
    ("numpy", "bfloat16"): "import ml_dtypes",
}


@pytest.mark.parametrize(("framework", "dtype"), MADE)
def test_the_program_of_a_dtype_makes_an_array_of_it(framework, dtype):
    code = code_of(framework, Request(dtype))
    assert MADE[framework, dtype] in code
    pytest.importorskip(framework)
    pytest.importorskip("ml_dtypes")
    program = answers.exported(code, Request(dtype), {})
    status, text = shown(program)
    assert "__dlpack__ with no keywords" in text and status == 1, text


@pytest.mark.parametrize(
    ("framework", "answer"),
    [("numpy", "'flags': 1"), ("pyarrow", "'flags': 1"), ("dlbridge", "BufferError(")],
)
def test_the_program_of_a_read_only_array_makes_one(framework, answer):
    pytest.importorskip(framework)
    request = Request(read_only=True)
    program = answers.read_only(code_of(framework, request), request, {"max_version": (1, 3)})
    status, text = shown(program)
    assert status == 0 and answer in text, text


@pytest.mark.long
def test_the_program_of_another_layout_reads_where_the_tensor_is():
    """With a consumer that is right."""
    code = "import numpy\nconsume = numpy.from_dlpack\n"
    made = [*((form, "float32") for form in FORMS), ("negative", "complex128"), ("plain", "bool")]
    for form, dtype in made:
        program = answers.arrives(code, tensors.of_form(form, dtype), dtype)
        status, text = shown(program)
        assert status == 0 and "fine: " in text, (form, dtype, text)


# An adapter that uses all that README.md says of a request.
DOCUMENTED = """\
import numpy
def make(request):
    memory = numpy.frombuffer(bytearray(request.bits), request.dtype)
    assert (numpy.array(request.values, request.dtype).ravel() == memory).all()
    assert request.base_shape == (3, 4) and request.device == (1, 0)
    assert request.view(memory.reshape(3, 4)).shape == request.shape == request.form.shape
    assert request.strides == request.form.strides and not request.read_only
    places = [request.form.start]
    for extent, stride in zip(request.form.shape, request.strides):
        places = [place + i * stride for place in places for i in range(extent)]
    return memory[places].reshape(request.shape)
"""


@pytest.mark.parametrize(("form", "dtype"), [("negative", "complex64"), ("gaps", "float32")])
def test_the_request_of_a_program_has_what_is_documented(tmp_path, form, dtype):
    (tmp_path / "documented.py").write_text(DOCUMENTED)
    adapter = Chosen(file=str(tmp_path / "documented.py")).load()
    program = verdicts.values(adapter.code, Request(dtype, FORMS[form]), {})
    assert max(map(len, program.replace(str(tmp_path), "").splitlines())) <= 76
    status, text = shown(program)
    assert status == 0 and "fine: " in text, text


def test_an_array_that_cannot_be_made_is_no_fault_of_its_deleter():
    code = "import types\ndef make(request): raise KeyError(request.dtype)\n"
    status, text = shown(verdicts.after_exit(code, Request(), {}))
    assert status and "KeyError" in text and "no verdict: " in text and "FAULT" not in text


def test_the_extents_of_a_program_fit_into_its_lines():
    tensor = tensors.of_form("plain", shape=(1,) * 64, strides=(-(2**40),) * 64)
    assert max(map(len, answers.rejects("", tensor).splitlines())) <= 76
