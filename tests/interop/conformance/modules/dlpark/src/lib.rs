// SPDX-License-Identifier: Apache-2.0
//! Arrays that dlpark exports and imports.

use std::sync::Arc;

use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::metadata::Dynamic;
use dlpark::python::{self, DlpackExporter, ExportRequest, ImportedDlpack};
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An array that the library makes.
#[pyclass(weakref)]
struct Made {
    memory: Arc<Vec<u64>>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    start: usize,
    dtype: DLDataType,
    read_only: bool,
}

impl Made {
    fn tensor<M: ManagedTensorBase>(&self) -> PyResult<Managed<M>> {
        let memory = Arc::clone(&self.memory);
        let data = memory.as_ptr().wrapping_byte_add(self.start) as *mut std::ffi::c_void;
        let layout = Dynamic::new(self.shape.clone(), self.strides.clone());
        let mut made = layout
            .initialize_as::<M>(memory)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        made.set_data(data);
        made.set_dtype(self.dtype);
        made.set_device(DLDevice::CPU);
        // SAFETY: the flags, the layout and the memory are those of the array.
        unsafe {
            made.set_flags_unchecked(self.flags());
            Ok(made.finish())
        }
    }
}

impl DlpackExporter for Made {
    fn device(&self) -> DLDevice {
        DLDevice::CPU
    }

    fn flags(&self) -> DlpackFlags {
        if self.read_only {
            DlpackFlags::READ_ONLY
        } else {
            DlpackFlags::empty()
        }
    }

    fn prepare_export(&self, _: Python<'_>, request: &ExportRequest<'_>) -> PyResult<()> {
        match request.stream() {
            None => Ok(()),
            Some(_) => Err(PyBufferError::new_err("stream must be None on the CPU")),
        }
    }

    fn export_legacy(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensor>> {
        self.tensor()
    }

    fn export_versioned(&self, _: Python<'_>) -> PyResult<Managed<DLManagedTensorVersioned>> {
        self.tensor()
    }
}

#[pymethods]
impl Made {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        content: &[u8],
        shape: Vec<i64>,
        strides: Vec<i64>,
        start: usize,
        code: u8,
        bits: u8,
        read_only: bool,
    ) -> Self {
        let words = content.chunks(8).map(|part| {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            u64::from_ne_bytes(word)
        });
        let dtype = DLDataType { code: dlpark::ffi::DLDataTypeCode(code), bits, lanes: 1 };
        Self { memory: Arc::new(words.collect()), shape, strides, start, dtype, read_only }
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(u32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let stream = stream.cloned();
        let request = ExportRequest::parse(stream.as_ref(), max_version, dl_device, copy)?;
        python::export_dlpack(self, py, request)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }
}

/// An imported array.
#[pyclass(weakref)]
struct Held {
    tensor: ImportedDlpack,
}

// SAFETY: the tensor is only read, and dlpark releases it on any thread.
unsafe impl Sync for Held {}

#[pymethods]
impl Held {
    #[getter]
    fn shape(&self) -> PyResult<Vec<i64>> {
        Ok(self.view()?.shape().to_vec())
    }

    #[getter]
    fn triple(&self) -> PyResult<(u8, u8, u16)> {
        let dtype = self.view()?.dtype();
        Ok((dtype.code.0, dtype.bits, dtype.lanes))
    }

    #[getter]
    fn address(&self) -> PyResult<usize> {
        Ok(self.first()? as usize)
    }

    /// The elements in C order; packed ones below a byte as they are in memory.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let view = self.view()?;
        let strides = view.strides_or_compact().map_err(wrong)?;
        let bits = usize::from(view.dtype().bits);
        if bits < 8 && !self.is_padded() {
            return self.packed(py, bits);
        }
        let size = bits.div_ceil(8);
        let mut places = vec![0_i64];
        for (extent, stride) in view.shape().iter().zip(strides.iter()) {
            let steps =
                places.iter().flat_map(|place| (0..*extent).map(move |i| place + i * stride));
            places = steps.collect();
        }
        let first = self.first()?;
        let mut out = Vec::with_capacity(places.len() * size);
        for place in places {
            let element = first.wrapping_offset(place as isize * size as isize);
            // SAFETY: dlpark has validated the tensor.
            out.extend_from_slice(unsafe { std::slice::from_raw_parts(element, size) });
        }
        Ok(PyBytes::new(py, &out))
    }
}

impl Held {
    fn view(&self) -> PyResult<dlpark::TensorRef<'_>> {
        self.tensor.validate().map_err(wrong)
    }

    fn is_padded(&self) -> bool {
        let flags = self.tensor.flags();
        flags.contains(DlpackFlags::IS_SUBBYTE_TYPE_PADDED)
    }

    fn packed<'py>(&self, py: Python<'py>, bits: usize) -> PyResult<Bound<'py, PyBytes>> {
        let view = self.view()?;
        if !view.is_compact().map_err(wrong)? {
            return Err(PyValueError::new_err("a view of packed elements"));
        }
        let size = (view.num_elements() * bits).div_ceil(8);
        // SAFETY: dlpark has validated the tensor, whose elements follow each other.
        let out = unsafe { std::slice::from_raw_parts(self.first()?, size) };
        Ok(PyBytes::new(py, out))
    }

    /// The address of the first element.
    fn first(&self) -> PyResult<*const u8> {
        let view = self.view()?;
        Ok(view.data_ptr().cast::<u8>().wrapping_add(view.byte_offset() as usize))
    }
}

fn wrong(error: dlpark::tensor::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pyfunction]
#[pyo3(signature = (source, copy=None))]
fn consume(source: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Held> {
    let tensor = python::from_dlpack(source.as_borrowed(), None, copy)?;
    tensor.validate().map_err(wrong)?;
    Ok(Held { tensor })
}

#[pymodule]
fn dlpark_arrays(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Made>()?;
    module.add_class::<Held>()?;
    module.add_function(wrap_pyfunction!(consume, module)?)
}
