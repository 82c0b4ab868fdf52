// SPDX-License-Identifier: Apache-2.0
//! The members of a table of functions.
//!
//! Generated from the C headers by tools/facts.py; do not edit.
use super::{MissingFunction, Table};
#[allow(clippy::wildcard_imports)]
use crate::mirrors::*;
use core::ffi::{c_char, c_void};

impl Table {
    /// `dlbridge_version`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn version(self) -> Result<unsafe extern "C" fn() -> u32, MissingFunction> {
        member!(self, version)
    }

    /// `dlbridge_version_string`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn version_string(
        self,
    ) -> Result<unsafe extern "C" fn() -> *const c_char, MissingFunction> {
        member!(self, version_string)
    }

    /// `dlbridge_dlpack_version`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn dlpack_version(
        self,
    ) -> Result<unsafe extern "C" fn() -> DLPackVersion, MissingFunction> {
        member!(self, dlpack_version)
    }

    /// `dlbridge_status_name`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn status_name(
        self,
    ) -> Result<unsafe extern "C" fn(DLBridgeStatus) -> *const c_char, MissingFunction> {
        member!(self, status_name)
    }

    /// `dlbridge_status_text`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn status_text(
        self,
    ) -> Result<unsafe extern "C" fn(DLBridgeStatus) -> *const c_char, MissingFunction> {
        member!(self, status_text)
    }

    /// `dlbridge_rule_name`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn rule_name(
        self,
    ) -> Result<unsafe extern "C" fn(DLBridgeRule) -> *const c_char, MissingFunction> {
        member!(self, rule_name)
    }

    /// `dlbridge_rule_text`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn rule_text(
        self,
    ) -> Result<unsafe extern "C" fn(DLBridgeRule) -> *const c_char, MissingFunction> {
        member!(self, rule_text)
    }

    /// `dlbridge_layout`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn layout(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut DLBridgeLayout,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, layout)
    }

    /// `dlbridge_dtype_format`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn dtype_format(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLDataType,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, dtype_format)
    }

    /// `dlbridge_dtype_parse`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn dtype_parse(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const c_char,
            usize,
            *mut DLDataType,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, dtype_parse)
    }

    /// `dlbridge_device_format`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn device_format(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLDevice,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, device_format)
    }

    /// `dlbridge_device_parse`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn device_parse(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const c_char,
            usize,
            *mut DLDevice,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, device_parse)
    }

    /// `dlbridge_tensor_format`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn tensor_format(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut c_char,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, tensor_format)
    }

    /// `dlbridge_host_accessible`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn host_accessible(
        self,
    ) -> Result<unsafe extern "C" fn(i32, *mut DLBridgeAnswer) -> i32, MissingFunction> {
        member!(self, host_accessible)
    }

    /// `dlbridge_import_tensor`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn import_tensor(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, import_tensor)
    }

    /// `dlbridge_export_tensor`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn export_tensor(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            DLPackVersion,
            *const DLBridgeConvertOptions,
            *mut *mut c_void,
            *mut DLBridgeKind,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, export_tensor)
    }

    /// `dlbridge_release`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn release(
        self,
    ) -> Result<unsafe extern "C" fn(*mut c_void, DLBridgeKind) -> DLBridgeStatus, MissingFunction>
    {
        member!(self, release)
    }

    /// `dlbridge_release_legacy`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn release_legacy(
        self,
    ) -> Result<unsafe extern "C" fn(*mut DLManagedTensor), MissingFunction> {
        member!(self, release_legacy)
    }

    /// `dlbridge_release_versioned`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn release_versioned(
        self,
    ) -> Result<unsafe extern "C" fn(*mut DLManagedTensorVersioned), MissingFunction> {
        member!(self, release_versioned)
    }

    /// `dlbridge_validate`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn validate(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, validate)
    }

    /// `dlbridge_validate_legacy`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn validate_legacy(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensor,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, validate_legacy)
    }

    /// `dlbridge_validate_versioned`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn validate_versioned(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgePolicy,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, validate_versioned)
    }

    /// `dlbridge_diagnose`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn diagnose(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const c_void,
            DLBridgeKind,
            u64,
            *const DLBridgePolicy,
            *mut DLBridgeFinding,
            usize,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, diagnose)
    }

    /// `dlbridge_upgrade`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn upgrade(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut DLManagedTensor,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, upgrade)
    }

    /// `dlbridge_upgrade_storage_size`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn upgrade_storage_size(
        self,
    ) -> Result<unsafe extern "C" fn(i32) -> usize, MissingFunction> {
        member!(self, upgrade_storage_size)
    }

    /// `dlbridge_upgrade_into`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn upgrade_into(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut DLManagedTensor,
            *const DLBridgeConvertOptions,
            *const DLBridgeStorage,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, upgrade_into)
    }

    /// `dlbridge_upgrade_many`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn upgrade_many(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const *mut DLManagedTensor,
            usize,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensorVersioned,
            *mut usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, upgrade_many)
    }

    /// `dlbridge_downgrade`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn downgrade(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut DLManagedTensorVersioned,
            *const DLBridgeConvertOptions,
            *mut *mut DLManagedTensor,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, downgrade)
    }

    /// `dlbridge_share`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn share(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, share)
    }

    /// `dlbridge_view`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn view(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeViewSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, view)
    }

    /// `dlbridge_allocate`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn allocate(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeAllocateSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, allocate)
    }

    /// `dlbridge_required_version`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn required_version(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *mut DLPackVersion,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, required_version)
    }

    /// `dlbridge_negotiate`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn negotiate(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLPackVersion,
            DLPackVersion,
            *mut DLBridgeKind,
            *mut DLPackVersion,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, negotiate)
    }

    /// `dlbridge_exchange_api_find`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn exchange_api_find(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLPackExchangeAPIHeader,
            DLPackVersion,
            *mut *const DLPackExchangeAPI,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, exchange_api_find)
    }

    /// `dlbridge_identify`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn identify(
        self,
    ) -> Result<unsafe extern "C" fn(*const c_void) -> DLBridgeKind, MissingFunction> {
        member!(self, identify)
    }

    /// `dlbridge_module_pin`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn module_pin(
        self,
    ) -> Result<
        unsafe extern "C" fn(*const c_void, *mut DLBridgeError) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, module_pin)
    }

    /// `dlbridge_backend_info`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn backend_info(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLBridgeBackend,
            *mut DLBridgeBackendInfo,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, backend_info)
    }

    /// `dlbridge_pointer_info`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn pointer_info(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeBuffer,
            DLDevice,
            *mut DLBridgePointerInfo,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, pointer_info)
    }

    /// `dlbridge_wrap`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn wrap(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeWrapSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, wrap)
    }

    /// `dlbridge_wrap_legacy`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn wrap_legacy(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeWrapSpec,
            *mut *mut DLManagedTensor,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, wrap_legacy)
    }

    /// `dlbridge_stream_from_array_api`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn stream_from_array_api(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLDevice,
            i64,
            *mut DLBridgeStream,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, stream_from_array_api)
    }

    /// `dlbridge_stream_handoff`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn stream_handoff(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeStream,
            *const DLBridgeStream,
            u32,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, stream_handoff)
    }

    /// `dlbridge_stream_synchronize`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn stream_synchronize(
        self,
    ) -> Result<
        unsafe extern "C" fn(*const DLBridgeStream, *mut DLBridgeError) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, stream_synchronize)
    }

    /// `dlbridge_context_register`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_register(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeContextEntry,
            *mut u64,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, context_register)
    }

    /// `dlbridge_context_find`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_find(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            DLDevice,
            u64,
            *mut DLBridgeContextEntry,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, context_find)
    }

    /// `dlbridge_context_next`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_next(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut u64,
            *mut DLBridgeContextEntry,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, context_next)
    }

    /// `dlbridge_context_retain`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_retain(
        self,
    ) -> Result<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus, MissingFunction>
    {
        member!(self, context_retain)
    }

    /// `dlbridge_context_release`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_release(
        self,
    ) -> Result<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus, MissingFunction>
    {
        member!(self, context_release)
    }

    /// `dlbridge_context_unregister`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_unregister(
        self,
    ) -> Result<unsafe extern "C" fn(u64, *mut DLBridgeError) -> DLBridgeStatus, MissingFunction>
    {
        member!(self, context_unregister)
    }

    /// `dlbridge_context_table_v1`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn context_table_v1(
        self,
    ) -> Result<unsafe extern "C" fn() -> *const DLBridgeContextTable, MissingFunction> {
        member!(self, context_table_v1)
    }

    /// `dlbridge_copy`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn copy(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLTensor,
            u64,
            *const DLBridgeCopySpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, copy)
    }

    /// `dlbridge_ipc_export`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn ipc_export(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeIpcExportSpec,
            *mut DLBridgeIpcSizes,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, ipc_export)
    }

    /// `dlbridge_ipc_import`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn ipc_import(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLBridgeIpcImportSpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, ipc_import)
    }

    /// `dlbridge_copy_async`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn copy_async(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *const DLManagedTensorVersioned,
            *const DLBridgeCopySpec,
            *mut *mut DLManagedTensorVersioned,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, copy_async)
    }

    /// `dlbridge_release_after`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn release_after(
        self,
    ) -> Result<
        unsafe extern "C" fn(
            *mut c_void,
            DLBridgeKind,
            *const DLBridgeStream,
            usize,
            *mut DLBridgeError,
        ) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, release_after)
    }

    /// `dlbridge_collect`.
    ///
    /// # Errors
    ///
    /// The library is older and lacks it.
    pub fn collect(
        self,
    ) -> Result<
        unsafe extern "C" fn(u32, *mut usize, *mut DLBridgeError) -> DLBridgeStatus,
        MissingFunction,
    > {
        member!(self, collect)
    }
}
