// SPDX-License-Identifier: Apache-2.0
//! The context table, streams, and pointer information on a machine without drivers.

use crate::producer::Runs;
use dlbridge::{
    context_find, context_table, contexts, function_table, sys, Backend, BackendState, Buffer,
    ContextSpec, Device, DeviceType, HandOff, Memory, Status, Stream,
};

const DEVICE: Device = Device::new(DeviceType::CUDA, 7);

#[test]
fn a_registration_ends_with_its_owner() {
    let runs = Runs::default();
    let spec = ContextSpec::new(Backend::CUDA, DEVICE, 7, 0x1234).queue(0x99).uuid([1; 16]);
    let counted = runs.clone();
    // SAFETY: no driver uses the handles.
    let registration = unsafe { spec.register(move |_| counted.add()) }.unwrap();
    // SAFETY: as above.
    let again = unsafe { spec.register(|_| unreachable!()) };
    assert_eq!(again.unwrap_err().status(), Status::EXISTS);
    let info = context_find(DEVICE, 0).unwrap();
    assert_eq!((info.id(), info.context(), info.queue()), (registration.id(), 0x1234, 0x99));
    assert!(info.is_default() && !info.is_enumerated() && !info.is_private());
    assert!(contexts().any(|entry| entry.unwrap().id() == info.id()));
    let kept = info.retain().unwrap();
    drop(registration);
    assert_eq!(runs.get(), 0);
    assert!(contexts().all(|entry| entry.unwrap().id() != info.id()));
    kept.release().unwrap();
    assert_eq!(runs.get(), 1);
    assert_eq!(info.retain().unwrap_err().status(), Status::NOT_FOUND);
    assert_eq!(dlbridge::context_unregister(info.id()).unwrap_err().status(), Status::NOT_FOUND);
}

#[test]
fn tables_are_there() {
    assert_eq!(context_table().version, 1);
    let table = function_table().unwrap();
    assert_eq!(table.abi, sys::DLBRIDGE_ABI);
    // SAFETY: no preconditions.
    assert_eq!(unsafe { table.version.unwrap()() }, dlbridge::version());
    assert_eq!(dlbridge::version_string(), sys::DLBRIDGE_VERSION_STRING.to_str().unwrap());
    assert!(dlbridge::dlpack_version() >= dlbridge::Version::new(1, 3));
}

#[test]
fn streams_without_a_driver() {
    Stream::HOST.synchronize().unwrap();
    let no_sync = Stream::no_sync(Backend::CUDA, DEVICE);
    Stream::HOST.hand_off(&no_sync, HandOff::new().allow_host_wait().allow_capture()).unwrap();
    assert_eq!(no_sync.synchronize().unwrap_err().status(), Status::INVALID_ARGUMENT);
    // SAFETY: no driver uses it.
    let stream = unsafe { Stream::from_array_api(Device::CPU, None) }.unwrap();
    assert_eq!(stream.as_raw().kind, sys::DLBRIDGE_STREAM_HOST);
    // SAFETY: as above.
    let error = unsafe { Stream::from_array_api(DEVICE, Some(0)) }.unwrap_err();
    assert_eq!(error.status(), Status::INVALID_ARGUMENT);
}

#[test]
fn host_memory_is_the_hosts() {
    let info = dlbridge::backend_info(Backend::CPU).unwrap();
    assert_eq!((info.state, info.device_count), (BackendState::Ready, 1));
    let byte = 1_u8;
    // SAFETY: an address.
    let info = unsafe { dlbridge::pointer_info(Buffer::address(&raw const byte), Device::CPU) };
    assert_eq!(info.unwrap().memory(), Memory::HOST);
    // SAFETY: this program stays loaded.
    unsafe { dlbridge::module_pin(dlbridge::version as fn() -> u32 as *const _) }.unwrap();
}
