// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

mod allocator;
mod backend;
mod bare;
mod batch;
mod context;
mod copy;
mod device;
mod dtype;
mod element;
mod error;
mod export;
mod foreign;
#[cfg(unix)]
mod ipc;
mod layout;
#[cfg(feature = "ndarray")]
mod nd;
mod negotiate;
mod options;
mod panics;
mod plugin;
mod policy;
mod storage;
mod stream;
mod strided;
mod tensor;
mod text;
mod unique;
mod values;
mod view;
mod wrap;

pub use allocator::{Allocator, AllocatorHook};
pub use backend::{
    backend_info, pointer_info, Backend, BackendInfo, BackendState, Memory, PointerInfo,
};
pub use bare::BareTensor;
pub use batch::{upgrade_many, RefusedBatch};
pub use context::{
    context_table, contexts, lookup_context, retain_context, unregister_context, ContextInfo,
    ContextSpec, Contexts, Registration, RetainedContext,
};
pub use copy::CopySpec;
pub use device::{Device, DeviceType};
pub use dlbridge_sys as sys;
pub use dtype::Dtype;
pub use element::{Bool, Complex, Element};
pub use error::{Error, Refused, Rule, Status};
pub use foreign::{identify, Converted, Foreign, LegacyTensor, VersionedTensor};
#[cfg(unix)]
pub use ipc::Exported;
pub use layout::{Finding, Layout, Severity};
pub use negotiate::{negotiate, ExchangeApi};
pub use options::ConvertOptions;
pub use panics::caught_panics;
pub use plugin::pin_module;
pub use policy::{Contiguity, Level, Policy};
pub use storage::{upgrade_storage_size, Storage, StoredTensor};
pub use stream::{HandOff, Stream};
pub use strided::{Strided, StridedMut};
pub use tensor::{Tensor, ViewSpec};
pub use unique::{AllocateSpec, UninitTensor, UniqueTensor};
pub use values::{
    dlpack_version, function_table, version, version_string, Answer, Flags, Kind, Version,
};
pub use view::TensorView;
pub use wrap::{Buffer, WrapSpec};
