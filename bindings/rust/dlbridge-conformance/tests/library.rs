// SPDX-License-Identifier: Apache-2.0
//! A library on dlbridge passes, and planted faults are found. One test: a child has the forking thread
//! only, so no other thread may hold a lock meanwhile.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod table;

use core::ffi::CStr;
use core::mem::zeroed;
use core::ptr::{copy_nonoverlapping, null, null_mut};

use dlbridge_conformance::sys::{
    self, DLBridgeAllocateSpec, DLBridgeConvertOptions, DLBridgeCopySpec, DLBridgeError,
    DLBridgeLayout, DLBridgePolicy, DLBridgeStatus, DLDevice, DLManagedTensorVersioned,
    DLPackExchangeAPIHeader, DLPackVersion, DLBRIDGE_KIND_LEGACY, DLBRIDGE_KIND_VERSIONED,
    DLBRIDGE_OK, DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE, DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE,
    DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
    DLPACK_FLAG_BITMASK_READ_ONLY,
};
use dlbridge_conformance::{
    feature, run, Managed, Offer, Outcome, Project, Queue, Refusal, Report, Request, Settings,
};

/// A dlbridge-owned tensor, and the queue of the work that uses it.
struct Tensor(*mut DLManagedTensorVersioned, Option<Queue>);

impl Drop for Tensor {
    fn drop(&mut self) {
        let tensor = self.0;
        // SAFETY: the tensor is owned, and released once.
        let release = move || unsafe { sys::dlbridge_release_versioned(tensor) };
        match self.1 {
            Some(queue) => queue.submit(release),
            None => release(),
        }
    }
}

impl Tensor {
    fn data(&self) -> *mut u8 {
        // SAFETY: the tensor is live.
        unsafe {
            (*self.0).dl_tensor.data.cast::<u8>().add((*self.0).dl_tensor.byte_offset as usize)
        }
    }
}

/// Calls a function that fills in a tensor.
fn new(
    call: impl FnOnce(*mut *mut DLManagedTensorVersioned, *mut DLBridgeError) -> DLBridgeStatus,
) -> Result<Tensor, Refusal> {
    let mut tensor = null_mut();
    checked(|error| call(&raw mut tensor, error))?;
    Ok(Tensor(tensor, None))
}

fn checked(call: impl FnOnce(*mut DLBridgeError) -> DLBridgeStatus) -> Result<(), Refusal> {
    // SAFETY: an error is integers and text.
    let mut error: DLBridgeError = unsafe { zeroed() };
    if call(&raw mut error) == DLBRIDGE_OK {
        return Ok(());
    }
    // SAFETY: a failing call writes a message with a NUL.
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    Err(Refusal::Rejected(message.to_string_lossy().into_owned()))
}

#[derive(PartialEq)]
enum Fault {
    None,
    LosesReadOnly,
    Leaks,
    Panics,
    Hangs,
    IgnoresTheConsumer,
    ReadsAtOnce,
    ReleasesAtOnce,
    HasNoStream,
}

struct Library(Fault);

impl Library {
    fn export(&self, request: &Request, array: &Tensor) -> Result<Managed, Refusal> {
        let shared = if request.tensor_flags & DLPACK_FLAG_BITMASK_IS_COPIED != 0 {
            copy(array, 0)?
        } else {
            // SAFETY: the array is live.
            new(|out, error| unsafe { sys::dlbridge_share(array.0, out, error) })?
        };
        if self.0 != Fault::LosesReadOnly {
            // SAFETY: the owner may add READ_ONLY.
            unsafe { (*shared.0).flags |= request.tensor_flags & DLPACK_FLAG_BITMASK_READ_ONLY };
        }
        let legacy = request.kind == DLBRIDGE_KIND_LEGACY;
        let (major, minor) = if legacy { (0, 8) } else { (1, 3) };
        let target = DLPackVersion { major, minor };
        let mut managed = Managed { tensor: null_mut(), kind: 0 };
        // SAFETY: the shared tensor is live and versioned.
        checked(|error| unsafe {
            sys::dlbridge_export(
                shared.0.cast(),
                DLBRIDGE_KIND_VERSIONED,
                target,
                null(),
                &raw mut managed.tensor,
                &raw mut managed.kind,
                error,
            )
        })?;
        core::mem::forget(shared);
        Ok(managed)
    }
}

fn copy(array: &Tensor, flags: u64) -> Result<Tensor, Refusal> {
    let spec = DLBridgeCopySpec { tensor_flags: flags, ..DLBridgeCopySpec::INIT };
    // SAFETY: the array is live.
    new(|out, error| unsafe {
        sys::dlbridge_copy(
            &raw const (*array.0).dl_tensor,
            (*array.0).flags,
            &raw const spec,
            out,
            error,
        )
    })
}

impl Project for Library {
    type Array = Tensor;

    fn name(&self) -> &'static str {
        "dlbridge in Rust"
    }

    fn make(&self, request: &Request) -> Result<(Managed, Option<Tensor>), Refusal> {
        let spec = DLBridgeAllocateSpec {
            shape: request.shape.as_ptr(),
            ndim: request.shape.len() as i32,
            dtype: request.dtype,
            tensor_flags: request.tensor_flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED,
            ..DLBridgeAllocateSpec::INIT
        };
        // SAFETY: the shape has `ndim` entries.
        let array =
            new(|out, error| unsafe { sys::dlbridge_allocate(&raw const spec, out, error) })?;
        // SAFETY: the owner may change the label of the device.
        unsafe { (*array.0).dl_tensor.device = request.device };
        let (values, data) = (request.values.to_vec(), array.data());
        // SAFETY: the tensor is compact and as large as the values, and lives longer than the work.
        let write = move || unsafe { copy_nonoverlapping(values.as_ptr(), data, values.len()) };
        let Some(queue) = request.queue else {
            if !request.values.is_empty() {
                write();
            }
            return Ok((self.export(request, &array)?, Some(array)));
        };
        let made = self.export(request, &array)?;
        queue.submit(write);
        match request.consumer {
            _ if self.0 == Fault::IgnoresTheConsumer => {}
            Some(consumer) => consumer.wait(&queue),
            None => queue.synchronize(),
        }
        Ok((made, Some(array)))
    }

    fn consume(&self, offer: &Offer) -> Result<Tensor, Refusal> {
        let tensor = offer.managed;
        assert!(self.0 != Fault::Panics, "planted");
        if self.0 == Fault::Hangs {
            std::thread::sleep(std::time::Duration::from_secs(1000));
        }
        let policy = DLBridgePolicy {
            options: DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE,
            ..DLBridgePolicy::INIT
        };
        let options =
            DLBridgeConvertOptions { policy: &raw const policy, ..DLBridgeConvertOptions::INIT };
        // SAFETY: the tensor is live.
        let mut imported = new(|out, error| unsafe {
            sys::dlbridge_import(tensor.tensor, tensor.kind, &raw const options, out, error)
        })?;
        if self.0 == Fault::Leaks {
            // SAFETY: one more owner, which is forgotten.
            core::mem::forget(new(|out, error| unsafe {
                sys::dlbridge_share(imported.0, out, error)
            }));
        }
        imported.1 = offer.queue.filter(|_| self.0 != Fault::ReleasesAtOnce);
        Ok(imported)
    }

    fn read(&self, array: &Tensor) -> Result<Vec<u8>, Refusal> {
        if let Some(queue) = array.1.filter(|_| self.0 != Fault::ReadsAtOnce) {
            queue.synchronize();
        }
        let label = DLDevice { device_type: sys::kDLCPU, device_id: 0 };
        // SAFETY: the memory is the host's, whatever the label is.
        unsafe { (*array.0).dl_tensor.device = label };
        // SAFETY: the array is live.
        let padded = unsafe { (*array.0).flags } & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
        let copied = copy(array, padded)?;
        let mut layout = DLBridgeLayout::INIT;
        // SAFETY: the copy is live and compact.
        unsafe {
            checked(|error| {
                sys::dlbridge_layout(
                    &raw const (*copied.0).dl_tensor,
                    padded,
                    &raw mut layout,
                    error,
                )
            })?;
            let size = layout.packed_bytes as usize;
            let mut values = vec![0; size];
            if size > 0 {
                copy_nonoverlapping(copied.data(), values.as_mut_ptr(), size);
            }
            Ok(values)
        }
    }

    fn write(&self, array: &mut Tensor, values: &[u8]) -> Result<(), Refusal> {
        // SAFETY: the array is live.
        if unsafe { (*array.0).flags } & DLPACK_FLAG_BITMASK_READ_ONLY != 0 {
            return Err(Refusal::Rejected("read-only".into()));
        }
        // SAFETY: the kit writes to compact arrays only.
        unsafe { copy_nonoverlapping(values.as_ptr(), array.data(), values.len()) };
        Ok(())
    }

    fn unsupported(&self) -> u32 {
        feature::STRIDES
    }

    fn queue_device(&self) -> Option<DLDevice> {
        Some(DLDevice { device_type: sys::kDLExtDev, device_id: 0 })
    }

    fn exchange_api(&self) -> *const DLPackExchangeAPIHeader {
        let lacks = self.0 == Fault::HasNoStream;
        let table = if lacks { &table::WITHOUT_STREAM } else { &table::WHOLE };
        &raw const table.0.header
    }
}

fn found(fault: Fault, check: &str) -> Report {
    let settings = Settings {
        only: Some(check.into()),
        rounds: 100,
        time_limit_ms: 2000,
        ..Settings::default()
    };
    run(&Library(fault), &settings).unwrap()
}

#[test]
fn the_library_passes_and_faults_are_found() {
    let settings = Settings { rounds: 500, time_limit_ms: 60_000, ..Settings::default() };
    let report = run(&Library(Fault::None), &settings).unwrap();
    report.assert_success();
    let passed = report.results.iter().filter(|one| one.outcome == Outcome::Passed).count();
    assert!(passed > 100, "only {passed} checks passed");
    for name in ["stream-export", "stream-import", "stream-release", "table-import"] {
        let result = report.results.iter().find(|one| one.check == name).unwrap();
        assert_eq!(result.outcome, Outcome::Passed, "{name}: {}", result.found);
    }

    for (fault, check, severity, text) in [
        (Fault::LosesReadOnly, "read-only-flag", 2, "0"),
        (Fault::Leaks, "deleter-once", 3, "0"),
        (Fault::Panics, "layout-plain", 4, "a rejection: \"panic: planted\""),
        (Fault::Hangs, "layout-plain", 1, "no end within 2000 ms"),
        (Fault::IgnoresTheConsumer, "stream-export-host", 4, ""),
        (Fault::ReadsAtOnce, "stream-import", 4, ""),
        (Fault::ReleasesAtOnce, "stream-release", 2, ""),
        (Fault::HasNoStream, "table-members", 1, "NULL"),
    ] {
        let report = found(fault, check);
        assert!(!report.is_success());
        let result = &report.results[0];
        assert_eq!((result.check.as_str(), result.outcome), (check, Outcome::Failed));
        assert_eq!(result.severity, severity, "{check}: {}", result.found);
        assert!(text.is_empty() || result.found == text, "{check}: {}", result.found);
        let program = result.reproducer.contains("DLManagedTensorVersioned");
        assert!(program || check == "table-members", "{}", result.reproducer);
    }
    let wrong = Settings { only: Some("no such check".into()), ..Settings::default() };
    assert!(run(&Library(Fault::None), &wrong).unwrap_err().contains("no such check"));
}
