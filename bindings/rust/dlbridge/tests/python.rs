// SPDX-License-Identifier: Apache-2.0
//! The feature `pyo3`: tensors of Python objects and Python objects of tensors.
//!
//! Tests with `NumPy` need it in the interpreter (`PYTHONPATH`). If `DLBRIDGE_NUMPY` is set they fail
//! without it.
#![cfg(feature = "pyo3")]

use dlbridge::{Dtype, Flags, Policy, PyTensor, Rule, Tensor, UniqueTensor};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

fn six() -> UniqueTensor {
    UniqueTensor::from_vec(vec![0_i32, 1, 2, 3, 4, 5], &[2, 3]).unwrap()
}

/// Memory that counts how often it is freed.
struct Counted(Arc<AtomicUsize>, Vec<f32>);
impl AsRef<[f32]> for Counted {
    fn as_ref(&self) -> &[f32] {
        &self.1
    }
}
impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Runs Python code with `tensor` as a variable and returns its variable `result`.
fn run<'py>(
    py: Python<'py>,
    tensor: impl IntoPyObject<'py>,
    code: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let locals = PyDict::new(py);
    locals.set_item("tensor", tensor)?;
    let code = std::ffi::CString::new(code).unwrap();
    py.run(&code, Some(&locals), Some(&locals))?;
    Ok(locals.get_item("result")?.unwrap_or_else(|| py.None().into_bound(py)))
}

fn attached<R>(test: impl for<'py> FnOnce(Python<'py>) -> R) -> R {
    Python::initialize();
    Python::attach(test)
}

#[test]
fn a_tensor_goes_out_and_comes_back() {
    attached(|py| {
        let object = six().into_pyobject(py).unwrap();
        let back: PyTensor = object.extract().unwrap();
        assert_eq!((back.shape(), back.dtype()), (&[2_i64, 3][..], Dtype::I32));
        assert!(!back.flags().contains(Flags::READ_ONLY));
        back.check(&Policy::new().shape(&[-1, 3])).unwrap();
        let error = back.check(&Policy::new().shape(&[-1, 4])).unwrap_err();
        assert_eq!(error.rule(), Rule::SHAPE_MISMATCH);
        assert_eq!(back.copy(py).unwrap().as_slice::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
        // SAFETY: no Python code runs while the elements are read.
        let tensor = unsafe { back.into_tensor() };
        assert_eq!(tensor.as_slice::<i32>().unwrap()[5], 5);
    });
}

#[test]
fn read_only_is_kept() {
    attached(|py| {
        // A shared tensor may be read here, so Python must not write to it.
        let object = six().into_shared().into_pyobject(py).unwrap();
        let back: PyTensor = object.extract().unwrap();
        assert!(back.flags().contains(Flags::READ_ONLY));
        // A consumer of legacy tensors would not know that.
        let error = object.call_method0("__dlpack__").unwrap_err();
        assert!(error.is_instance_of::<PyBufferError>(py), "{error}");
        let rule: String = error.value(py).getattr("rule").unwrap().extract().unwrap();
        assert_eq!(rule, "LEGACY_READ_ONLY");
        // A copy is the consumer's own.
        let copied = run(py, object, "result = tensor.__dlpack__(copy=True)").unwrap();
        let copied: PyTensor = copied.extract().unwrap();
        assert_eq!(copied.copy(py).unwrap().as_slice::<i32>().unwrap()[1], 1);
    });
}

#[test]
fn older_producers_are_asked_again() {
    attached(|py| {
        let code = "
class Old:
    def __dlpack__(self):
        return tensor.__dlpack__()
class Forwards:
    def __dlpack__(self, **keywords):
        return Old().__dlpack__(**keywords)
result = [Old(), Forwards()]
";
        let objects = run(py, six(), code).unwrap();
        let old: PyTensor = objects.get_item(0).unwrap().extract().unwrap();
        assert_eq!(old.shape(), [2, 3]);
        // Legacy does not record that it may be written to, but dlbridge recognises its own tensor.
        assert!(!old.flags().contains(Flags::READ_ONLY));
        let forwards: PyTensor = objects.get_item(1).unwrap().extract().unwrap();
        assert_eq!(forwards.dtype(), Dtype::I32);
    });
}

#[test]
fn what_is_no_tensor_is_rejected() {
    attached(|py| {
        let extract = |code: &str| run(py, six(), code).unwrap().extract::<PyTensor>().unwrap_err();
        let error = extract("result = 7");
        assert!(error.is_instance_of::<PyTypeError>(py) && error.to_string().contains("int"));
        // The producer's own errors pass through.
        let code = "
class Fails:
    def __dlpack__(self, max_version=None):
        raise TypeError('mine')
result = Fails()
";
        assert!(extract(code).to_string().contains("mine"));
        let error = extract(
            "
class Lies:
    def __dlpack__(self, max_version=None):
        return 3
result = Lies()
",
        );
        assert!(error.to_string().contains("expected a capsule"), "{error}");
        // A capsule gives its tensor once.
        let capsule = run(py, six(), "result = tensor.__dlpack__(max_version=(1, 3))").unwrap();
        capsule.extract::<PyTensor>().unwrap();
        let error = capsule.extract::<PyTensor>().unwrap_err();
        assert!(error.is_instance_of::<PyBufferError>(py), "{error}");
        let error = run(py, six(), "tensor.__dlpack__(dl_device=(2, 0))").unwrap_err();
        assert!(error.to_string().contains("dl_device"), "{error}");
        let tensor = UniqueTensor::from_vec(vec![1_u8], &[1]).unwrap().into_shared();
        let error = PyErr::from(tensor.validate(&Policy::new().max_ndim(100)).unwrap_err());
        assert!(error.is_instance_of::<PyValueError>(py));
    });
}

#[test]
fn memory_is_freed_once_by_either_side_on_any_thread() {
    let freed = Arc::new(AtomicUsize::new(0));
    let count = || freed.load(Ordering::SeqCst);
    let made = || Tensor::from_owner(Counted(freed.clone(), vec![1.0, 2.0]), &[2]).unwrap();
    attached(|py| {
        // An unused capsule, a used one, and the object itself.
        let unused = run(py, made(), "result = tensor.__dlpack__(max_version=(1, 0))").unwrap();
        drop(unused);
        assert_eq!(count(), 1);
        let tensor: PyTensor = made().into_pyobject(py).unwrap().extract().unwrap();
        assert_eq!(count(), 1);
        py.detach(|| std::thread::spawn(move || drop(tensor)).join().unwrap());
        assert_eq!(count(), 2);
    });
}

#[test]
fn numpy_both_ways() {
    attached(|py| {
        if py.import("numpy").is_err() {
            assert!(std::env::var_os("DLBRIDGE_NUMPY").is_none(), "NumPy is not installed");
            eprintln!("skipped: NumPy is not installed");
            return;
        }
        let code = "
import numpy
array = numpy.from_dlpack(tensor)
array[1, 2] = 50
result = [array, numpy.arange(4.0)[::-1], numpy.arange(3)]
result[2].flags.writeable = False
";
        let arrays = run(py, six(), code).unwrap();
        let seen: PyTensor = arrays.get_item(0).unwrap().extract().unwrap();
        assert_eq!(seen.copy(py).unwrap().as_slice::<i32>().unwrap()[5], 50);
        let turned: PyTensor = arrays.get_item(1).unwrap().extract().unwrap();
        assert_eq!(turned.copy(py).unwrap().as_slice::<f64>().unwrap(), [3.0, 2.0, 1.0, 0.0]);
        let fixed: PyTensor = arrays.get_item(2).unwrap().extract().unwrap();
        assert!(fixed.flags().contains(Flags::READ_ONLY));
        let code = "
import numpy
result = numpy.from_dlpack(tensor).flags.writeable
";
        let writable: bool = run(py, six().into_shared(), code).unwrap().extract().unwrap();
        assert!(!writable);
        // The array is released on a thread without the GIL.
        py.detach(|| std::thread::spawn(move || drop((seen, turned, fixed))).join().unwrap());
    });
}
