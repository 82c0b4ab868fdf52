// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

mod allocator;
mod backend;
mod batch;
mod borrowed;
mod builder;
#[cfg(feature = "candle")]
mod candle;
mod context;
mod copy;
#[cfg(feature = "cudarc")]
mod cuda;
mod device;
mod dtype;
mod element;
mod error;
mod export;
mod foreign;
mod import;
#[cfg(unix)]
mod ipc;
mod layout;
mod lend;
mod module;
#[cfg(feature = "ndarray")]
mod nd;
mod negotiate;
mod options;
mod panics;
mod pending;
mod pointer;
mod policy;
#[cfg(feature = "pyo3")]
mod python;
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
pub use backend::{backend_info, Backend, BackendInfo, BackendState};
pub use batch::{try_upgrade_many, upgrade_many, RejectedBatch};
pub use borrowed::BorrowedTensor;
pub use context::{
    context_find, context_retain, context_table, context_unregister, contexts, ContextInfo,
    ContextSpec, Contexts, Registration, RetainedContext,
};
pub use copy::CopySpec;
#[cfg(feature = "cudarc")]
pub use cuda::{CudaTensor, CudaTensorMut};
pub use device::{Device, DeviceType};
pub use dlbridge_sys as sys;
pub use dtype::Dtype;
pub use element::{Bool, Complex, Element};
pub use error::{Error, Rejected, Rule, Status};
pub use export::{export, Exported};
pub use foreign::{LegacyTensor, VersionedTensor};
pub use import::{identify, import, release};
#[cfg(unix)]
pub use ipc::IpcExport;
pub use layout::{Finding, Layout, Severity};
pub use module::module_pin;
pub use negotiate::{negotiate, ExchangeApi};
pub use options::ConvertOptions;
pub use panics::caught_panics;
pub use pending::{collect, CollectOptions, PendingCopy};
pub use pointer::{pointer_info, pointer_info_with, Memory, PointerInfo, PointerOptions};
pub use policy::{Contiguity, Level, Policy};
#[cfg(feature = "pyo3")]
pub use python::PyTensor;
pub use storage::{upgrade_storage_size, Storage, StoredTensor};
pub use stream::{HandOff, Stream};
pub use strided::{Strided, StridedMut};
pub use tensor::{Tensor, ViewSpec};
pub use unique::{AllocateSpec, UninitTensor, UniqueTensor};
pub use values::{
    dlpack_version, function_table, version, version_string, Answer, Flags, Kind, Version,
};
pub use view::TensorView;
pub use wrap::{Buffer, Released, WrapSpec};
