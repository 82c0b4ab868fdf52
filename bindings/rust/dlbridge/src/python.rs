// SPDX-License-Identifier: Apache-2.0
//! Tensors of Python objects, and Python objects of tensors, with the crate `pyo3`.

use crate::copy::CopySpec;
use crate::device::{Device, DeviceType};
use crate::error::{Error, Rule, Status};
use crate::export::Exported;
use crate::import::{import, release};
use crate::options::ConvertOptions;
use crate::policy::Policy;
use crate::stream::{HandOff, Stream};
use crate::tensor::Tensor;
use crate::unique::UniqueTensor;
use crate::values::{dlpack_version, Flags, Kind, Version};
use crate::view::{view_methods, TensorView};
use dlbridge_sys as sys;
use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::ffi::{PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_SetName, PyObject};
use pyo3::prelude::{
    pyclass, pymethods, Borrowed, Bound, FromPyObject, IntoPyObject, PyAny, PyAnyMethods,
    PyCapsuleMethods, PyErr, PyResult, PyTypeMethods, Python,
};
use pyo3::types::{PyCapsule, PyDict, PyDictMethods};
use std::ffi::CStr;
use std::fmt;

/// The names of a capsule of each kind: with its tensor, and after the tensor was taken.
const LEGACY: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");
const VERSIONED: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");

/// The newest DLPack before 1.0, for consumers that name no version.
const LEGACY_VERSION: Version = Version::new(0, 8);

/// A validated tensor of a Python object: as an argument of a `#[pyfunction]`, or by `extract`.
/// The object has `__dlpack__`, or is a DLPack capsule. Nothing is copied.
///
/// Python code may write to the memory at any time that it runs, so the elements are reached by
/// [`PyTensor::copy`], or by [`PyTensor::into_tensor`], which is unsafe. A legacy tensor, and
/// one that is flagged so, is read-only. It may be dropped on any thread, with or without the GIL.
///
/// Memory of CUDA and `ROCm` is ready when the conversion returns: it waits for the default stream,
/// before which the producer has ordered its work.
pub struct PyTensor {
    tensor: Tensor,
}

impl PyTensor {
    fn as_view(&self) -> TensorView<'_> {
        self.tensor.as_view()
    }

    view_methods!();

    /// Checks it by another policy.
    ///
    /// # Errors
    ///
    /// The first rule that is broken.
    pub fn check(&self, policy: &Policy<'_>) -> Result<(), Error> {
        self.tensor.validate(policy).map(|_| ())
    }

    /// A copy of its elements, compact and in memory of the host. Python code cannot write to them
    /// during the copy, since the caller holds the GIL.
    ///
    /// # Errors
    ///
    /// A driver's call that fails; no memory.
    pub fn copy(&self, _gil: Python<'_>) -> Result<UniqueTensor, Error> {
        self.as_view().as_borrowed().copy(&CopySpec::new())
    }

    /// The tensor itself, which shares its memory with Python.
    ///
    /// # Safety
    ///
    /// No code writes to the memory while a slice or view of it is in use: no Python code runs
    /// meanwhile (the caller holds the GIL, and the interpreter has one), or the code that runs
    /// does not write. See [Foreign tensors](crate#foreign-tensors).
    #[must_use]
    pub unsafe fn into_tensor(self) -> Tensor {
        self.tensor
    }
}

impl fmt::Debug for PyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PyTensor({:?})", self.tensor)
    }
}

impl<'py> FromPyObject<'_, 'py> for PyTensor {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = object.to_owned();
        let tensor = match given.cast::<PyCapsule>() {
            Ok(capsule) => take(capsule)?,
            Err(_) => take(&ask(&given)?)?,
        };
        let device = tensor.device();
        // Without the GIL: the work may wait for another thread of Python.
        object.py().detach(|| wait_for_producer(device))?;
        Ok(Self { tensor })
    }
}

/// The capsule of the object's `__dlpack__`. `stream` is named since its default in `torch` is -1,
/// which orders nothing, instead of None. Some producers do not know it, older ones not
/// `max_version` either.
fn ask<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = object.py();
    let method = object.getattr("__dlpack__").map_err(|error| without_method(object, error))?;
    let newest = (sys::DLPACK_MAJOR_VERSION, sys::DLPACK_MINOR_VERSION);
    let keywords = PyDict::new(py);
    keywords.set_item("max_version", newest)?;
    keywords.set_item("stream", py.None())?;
    let capsule = loop {
        match method.call((), Some(&keywords)) {
            Err(error) if !keywords.is_empty() && is_unknown_keyword(py, &error) => {
                let next = if keywords.len() > 1 { "stream" } else { "max_version" };
                keywords.del_item(next)?;
            }
            answer => break answer?,
        }
    };
    capsule.cast_into::<PyCapsule>().map_err(|error| {
        let found = type_name(&error.into_inner());
        PyTypeError::new_err(format!("expected a capsule from __dlpack__, found {found}"))
    })
}

fn without_method(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyAttributeError>(object.py()) {
        return error;
    }
    let found = type_name(object);
    PyTypeError::new_err(format!(
        "expected an object that supports DLPack (__dlpack__, or a DLPack capsule), found {found}"
    ))
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name().map(|name| name.to_string());
    format!("an instance of {}", name.unwrap_or_default())
}

/// Is the error about the keywords of the call? Python raises it before the producer's code runs,
/// so without a traceback; a producer that forwards its arguments adds its frame, and the message
/// still names the keyword.
fn is_unknown_keyword(py: Python<'_>, error: &PyErr) -> bool {
    let message = error.value(py).to_string();
    let forwarded = message.contains("keyword argument")
        && (message.contains("max_version") || message.contains("stream"));
    error.is_instance_of::<PyTypeError>(py)
        && if error.traceback(py).is_none() { message.contains("argument") } else { forwarded }
}

/// Takes the tensor out of a capsule. On failure it stays the capsule's.
fn take(capsule: &Bound<'_, PyCapsule>) -> PyResult<Tensor> {
    let (names, kind) = if capsule.is_valid_checked(Some(VERSIONED.0)) {
        (VERSIONED, Kind::Versioned)
    } else if capsule.is_valid_checked(Some(LEGACY.0)) {
        (LEGACY, Kind::Legacy)
    } else {
        return Err(PyBufferError::new_err(
            "expected a capsule named \"dltensor\" or \"dltensor_versioned\" whose tensor was not \
             taken yet: request another from its producer",
        ));
    };
    let pointer = capsule.pointer_checked(Some(names.0))?;
    // SAFETY: by the protocol, a capsule of that name has a live tensor of that kind. Its elements
    // are reached only by functions that state what their caller guarantees.
    let tensor = unsafe { import(pointer.as_ptr(), kind, &ConvertOptions::DEFAULT) }?;
    // SAFETY: a live capsule; the name is static.
    if unsafe { PyCapsule_SetName(capsule.as_ptr(), names.1.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(tensor)
}

/// Waits until memory of a device is ready. Without a `stream` the producer orders its work before
/// the default stream.
fn wait_for_producer(device: Device) -> Result<(), Error> {
    match device.device_type {
        DeviceType::CUDA | DeviceType::CUDA_MANAGED | DeviceType::ROCM => {
            // SAFETY: the default stream lives as long as its device.
            unsafe { Stream::from_array_api(device, None) }?.synchronize()
        }
        _ => Ok(()),
    }
}

/// A tensor as a Python object with `__dlpack__` and `__dlpack_device__`.
#[pyclass(frozen, name = "Tensor", module = "dlbridge_rust")]
struct Exporter {
    tensor: Tensor,
    read_only: bool,
}

#[pymethods]
impl Exporter {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.accept_device(dl_device)?;
        let made = if copy == Some(true) { self.copied()? } else { self.shared()? };
        order(made.device(), stream)?;
        let target = match max_version {
            Some((major, minor)) if major >= 1 => Version::new(major, minor).min(dlpack_version()),
            _ => LEGACY_VERSION,
        };
        capsule_of(py, made.export(target, &ConvertOptions::DEFAULT)?)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.tensor.device();
        (device.device_type.0, device.id)
    }

    fn __repr__(&self) -> String {
        format!("<dlbridge {:?}>", self.tensor)
    }
}

impl Exporter {
    fn accept_device(&self, wanted: Option<(i32, i32)>) -> PyResult<()> {
        let own = self.__dlpack_device__();
        if wanted.is_none_or(|wanted| wanted == own) {
            return Ok(());
        }
        Err(PyBufferError::new_err(format!(
            "dl_device: expected None or {own:?}, the device of the tensor, found {:?}; copy the \
             tensor before the call",
            wanted.unwrap_or_default()
        )))
    }

    /// Another owner of the memory.
    fn shared(&self) -> Result<Tensor, Error> {
        let shared = self.tensor.share()?;
        if self.read_only {
            // SAFETY: the struct of this owner, which no other code has yet. The owner of a
            // dlbridge-owned struct may add this flag.
            unsafe { (*shared.as_ptr()).flags |= Flags::READ_ONLY.0 };
        }
        Ok(shared)
    }

    /// A copy that the consumer alone owns.
    fn copied(&self) -> Result<Tensor, Error> {
        if !self.tensor.device().device_type.host_accessible() {
            let text =
                "copy: expected memory that the CPU can read; copy the tensor before the call";
            return Err(Error::new(Status::UNSUPPORTED, Rule::COPY_DEVICE, text));
        }
        let copy = self.tensor.as_view().as_borrowed().copy(&CopySpec::new())?;
        Ok(copy.into_shared())
    }
}

/// Orders the consumer's stream after the default stream, on which the memory is ready.
fn order(device: Device, stream: Option<i64>) -> Result<(), Error> {
    let default = sys::DLBRIDGE_ARRAY_API_STREAM_NONE;
    if device.device_type.host_accessible() || matches!(stream, None | Some(-1)) {
        return Ok(());
    }
    // SAFETY: the consumer passes its own live stream.
    let (from, to) = unsafe {
        (Stream::from_array_api(device, Some(default))?, Stream::from_array_api(device, stream)?)
    };
    from.hand_off(&to, HandOff::default())
}

/// A capsule that owns a tensor until a consumer takes it.
fn capsule_of(py: Python<'_>, exported: Exported) -> PyResult<Bound<'_, PyCapsule>> {
    let (pointer, kind) = exported.into_raw();
    let name = if kind == Kind::Legacy { LEGACY.0 } else { VERSIONED.0 };
    // SAFETY: the pointer is a live tensor of the name's kind, which the destructor releases.
    let capsule =
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, pointer, name, Some(destroy)) };
    // SAFETY: without a capsule the tensor is still owned here.
    capsule.inspect_err(|_| drop(unsafe { release(pointer.as_ptr(), kind) }))
}

/// Releases the tensor of a capsule, unless a consumer has taken it and renamed the capsule.
unsafe extern "C" fn destroy(capsule: *mut PyObject) {
    for (names, kind) in [(LEGACY, Kind::Legacy), (VERSIONED, Kind::Versioned)] {
        // SAFETY: a live capsule, whose tensor is of the kind that its name states.
        unsafe {
            if PyCapsule_IsValid(capsule, names.0.as_ptr()) != 0 {
                let _ = release(PyCapsule_GetPointer(capsule, names.0.as_ptr()), kind);
            }
        }
    }
}

/// An object with `__dlpack__` over the same memory, which is flagged `READ_ONLY`: this tensor may
/// have other owners that read it. A consumer of legacy tensors gets a `BufferError`, since those
/// have no flags. A consumer that ignores the flag can write: give it a [`UniqueTensor`].
impl<'py> IntoPyObject<'py> for Tensor {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        object_of(py, self, true)
    }
}

/// An object with `__dlpack__` over the same memory, which Python may write to, since no other
/// owner exists, unless the tensor is `READ_ONLY`.
impl<'py> IntoPyObject<'py> for UniqueTensor {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        object_of(py, self.into_shared(), false)
    }
}

/// The tensor as Python gave it, with the flags that it had.
impl<'py> IntoPyObject<'py> for PyTensor {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        object_of(py, self.tensor, false)
    }
}

fn object_of(py: Python<'_>, tensor: Tensor, read_only: bool) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, Exporter { tensor, read_only })?.into_any())
}

/// The exception that the Python package raises for the same status, with the attributes `status`,
/// `rule`, `axis` and `native_code`.
impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        let exception = match error.status().0 {
            // [facts/statuses.toml]
            sys::DLBRIDGE_ERROR_INVALID_ARGUMENT
            | sys::DLBRIDGE_ERROR_TOO_NEW
            | sys::DLBRIDGE_ERROR_BUFFER_TOO_SMALL
            | sys::DLBRIDGE_ERROR_PARSE
            | sys::DLBRIDGE_ERROR_NOT_FOUND
            | sys::DLBRIDGE_ERROR_BOUNDS
            | sys::DLBRIDGE_ERROR_EXISTS
            | sys::DLBRIDGE_ERROR_DESCRIPTOR
            | sys::DLBRIDGE_ERROR_AMBIGUOUS => PyValueError::new_err(text),
            sys::DLBRIDGE_ERROR_OUT_OF_MEMORY => PyMemoryError::new_err(text),
            sys::DLBRIDGE_ERROR_FORKED
            | sys::DLBRIDGE_ERROR_UNAVAILABLE
            | sys::DLBRIDGE_ERROR_DRIVER
            | sys::DLBRIDGE_ERROR_CAPTURE => PyRuntimeError::new_err(text),
            // [/facts]
            _ => PyBufferError::new_err(text),
        };
        Python::attach(|py| {
            let value = exception.value(py);
            let rule = (error.rule() != Rule::NONE).then(|| error.rule().name());
            let native = (error.native_code() != 0).then(|| error.native_code());
            // Without memory for an attribute the exception stays as it is.
            let _ = value.setattr("status", error.status().name());
            let _ = value.setattr("rule", rule);
            let _ = value.setattr("axis", error.axis());
            let _ = value.setattr("native_code", native);
        });
        exception
    }
}
