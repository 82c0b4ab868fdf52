// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The constants of dlbridge.h and dlpack.h.

package dlbridge

const (
	// Success.
	StatusOK Status = 0
	// The caller's fault: a nil that is not allowed, a struct_size out of range, an option outside its
	// range, a changed dlbridge-owned struct. The message names the argument.
	StatusInvalidArgument Status = 1
	// The caller is newer than the library: it asks for an option, value or field that this library
	// does not know. Such a request is never ignored.
	StatusTooNew Status = 2
	// The allocator, the system's or the caller's, returned NULL.
	StatusOutOfMemory Status = 3
	// The producer's fault: the tensor breaks DLPack itself; `rule` names the rule.
	StatusInvalidTensor Status = 4
	// Wrong major version, or the tensor needs a newer DLPack than the consumer reads.
	StatusVersion Status = 5
	// A legal tensor that the policy of this consumer rejects; `rule` names the demand.
	StatusPolicy Status = 6
	// The target cannot represent what the source records, and the options do not allow the loss.
	StatusUnrepresentable Status = 7
	// A dtype code, device type or flag bit that the consumer's DLPack release does not know, where
	// knowing it matters.
	StatusUnknownCode Status = 8
	// The function works on dlbridge-owned tensors only: call [Import] first.
	StatusForeignTensor Status = 9
	// Legal, but this build cannot do it, such as copying memory that the CPU cannot read.
	StatusUnsupported Status = 10
	// The caller's buffer or storage is too small; the message has the needed size.
	StatusBufferTooSmall Status = 11
	// A text is not the name of a dtype or device.
	StatusParse Status = 12
	// Nothing suitable was found, such as a table in an exchange API chain.
	StatusNotFound Status = 13
	// A view would leave the elements of its parent.
	StatusBounds Status = 14
	// The process was forked after the backend had been started; start it in the child only.
	StatusForked Status = 15
	// No driver for the device, or none of its devices; [QueryBackend] reports the reason.
	StatusUnavailable Status = 16
	// A driver's call failed; the message has its name, `native_code` its code.
	StatusDriver Status = 17
	// The context table has another entry of that device or context.
	StatusExists Status = 18
	// A stream is capturing a graph, where that is not allowed.
	StatusCapture Status = 19
	// The bytes or file descriptors that another process sent are not an export.
	StatusDescriptor Status = 20
	// The kind of a managed tensor was not given and cannot be decided: pass its kind.
	StatusAmbiguous Status = 21
)

const (
	// No rule is broken.
	RuleNone Rule = 0
	// version.major is 1; of another major nothing after `flags` is read (DLPack).
	RuleVersionMajor Rule = 1
	// ndim >= 0 (DLPack).
	RuleNDimNegative Rule = 2
	// ndim <= [MaxNDim] and within the limits of the policy (dlbridge, policy).
	RuleNDimLimit Rule = 3
	// shape is given where ndim > 0 (DLPack).
	RuleShapeNull Rule = 4
	// strides are given where ndim > 0 and the tensor's version is 1.2 or later (DLPack 1.2).
	RuleStridesNull Rule = 5
	// bits >= 1 (dlbridge).
	RuleDTypeBitsZero Rule = 6
	// lanes >= 1 (dlbridge).
	RuleDTypeLanesZero Rule = 7
	// lanes < 0x8000: more is a scalable vector in TVM, whose size is not known (dlbridge).
	RuleDTypeLanesScalable Rule = 8
	// bool and float8 have 8 bits, float6 6, float4 4, bfloat 16 (DLPack).
	RuleDTypeBitsFixed Rule = 9
	// The dtype code is known to the consumer's version (policy, conversions).
	RuleDTypeUnknown Rule = 10
	// The device type is known to the consumer's version (policy, conversions).
	RuleDeviceUnknown Rule = 11
	// All flag bits are known to the consumer's version (policy, conversions).
	RuleFlagsUnknown Rule = 12
	// device_id >= 0 (dlbridge).
	RuleDeviceIDNegative Rule = 13
	// device_id is 0 on host-like memory; only a note, since producers differ (DLPack).
	RuleDeviceIDHost Rule = 14
	// Each extent >= 0 (DLPack).
	RuleExtentNegative Rule = 15
	// The number of elements fits 63 bits (dlbridge).
	RuleCountOverflow Rule = 16
	// The packed size in bytes fits 63 bits (dlbridge).
	RuleSizeOverflow Rule = 17
	// Offsets of the first and last byte touched fit 63 bits and a sign (dlbridge).
	RuleOffsetOverflow Rule = 18
	// data is not NULL unless the tensor is empty (DLPack).
	RuleDataNull Rule = 19
	// data + byte_offset + bytes touched stays inside the address space (dlbridge).
	RuleAddressRange Rule = 20
	// On an opaque handle no element lies before its start (dlbridge).
	RuleHandleRange Rule = 21
	// All elements lie inside `buffer_size` bytes from `data` (policy).
	RuleBufferBounds Rule = 22
	// The required contiguity (policy).
	RuleContiguity Rule = 23
	// The required alignment of element (0,...,0) (policy).
	RuleAlignment Rule = 24
	// The device is one of those that the policy lists (policy).
	RuleDeviceRejected Rule = 25
	// The dtype is one of those that the policy lists (policy).
	RuleDTypeRejected Rule = 26
	// The tensor may be written to (policy).
	RuleNotWritable Rule = 27
	// No negative strides (policy).
	RuleNegativeStride Rule = 28
	// No zero strides on axes longer than 1 (policy).
	RuleZeroStride Rule = 29
	// No two elements share memory, where the policy demands a writable tensor (policy).
	RuleSelfOverlap Rule = 30
	// Element (0,...,0) is aligned to its lane's size; only a note (dlbridge).
	RuleDataUnaligned Rule = 31
	// The version that a tensor carries knows all that it uses; only a note (DLPack).
	RuleVersionLabel Rule = 32
	// The consumer's version can describe the tensor (conversions).
	RuleRequiredVersion Rule = 33
	// The tensor is not READ_ONLY, which a legacy tensor cannot record (downgrade).
	RuleLegacyReadOnly Rule = 34
	// Sub-byte elements are not padded, which a legacy tensor cannot record (downgrade).
	RuleLegacyPadded Rule = 35
	// The legacy version knows the dtype code: those up to bool (downgrade).
	RuleLegacyDType Rule = 36
	// The legacy version knows the device type: those up to Hexagon (downgrade).
	RuleLegacyDevice Rule = 37
	// byte_offset is folded only where `data` is an address (conversions).
	RuleOffsetFold Rule = 38
	// The elements of a view are elements of its parent's range (views).
	RuleViewBounds Rule = 39
	// A view of packed sub-byte elements starts at a whole byte (views).
	RuleViewOffset Rule = 40
	// The tensor does not live in the caller's storage (upgrade_into), which cannot have a second
	// owner (owners).
	RuleInStorage Rule = 41
	// The CPU can read the memory to copy (copies).
	RuleCopyDevice Rule = 42
	// The memory is where the device label says, as the driver reports it (level DEVICE).
	RuleDeviceLabel Rule = 43
	// All elements lie inside the allocation, as the driver reports it (level DEVICE).
	RuleAllocationBounds Rule = 44
	// Each extent is the one that the policy's shape gives (policy).
	RuleShapeMismatch Rule = 45
)

// Kind is the struct that a pointer refers to. Values that are not listed may come from a newer
// library.
type Kind int32

const (
	// As an argument: decide by the bytes. As the answer of [Identify]: neither kind fits.
	KindUnknown Kind = 0
	// A DLManagedTensor.
	KindLegacy Kind = 1
	// A DLManagedTensorVersioned.
	KindVersioned Kind = 2
	// A DLTensor, which has no owner ([Tensor.Diagnose]).
	KindBorrowed Kind = 3
	// Only ever an answer: the bytes can be both managed kinds.
	KindAmbiguous Kind = 4
)

// Answer is the answer to a question that cannot always be answered. Values that are not listed may
// come from a newer library.
type Answer int32

const (
	// No.
	AnswerNo Answer = 0
	// Yes.
	AnswerYes Answer = 1
	// It cannot be decided.
	AnswerUndecided Answer = 2
)

// LayoutProperties are the bits of [Layout.Properties].
type LayoutProperties uint32

const (
	// An extent is 0.
	LayoutEmpty LayoutProperties = 1 << 0
	// Compact, last axis fastest; always so if empty.
	LayoutCContiguous LayoutProperties = 1 << 1
	// Compact, first axis fastest; always so if empty.
	LayoutFContiguous LayoutProperties = 1 << 2
	// Some axis longer than 1 has stride 0.
	LayoutBroadcast LayoutProperties = 1 << 3
	// Some axis longer than 1 has a negative stride.
	LayoutNegativeStrides LayoutProperties = 1 << 4
	// Elements of less than a byte fill a whole one.
	LayoutPadded LayoutProperties = 1 << 5
	// `data` is a handle, not an address.
	LayoutOpaque LayoutProperties = 1 << 6
)

// Level says how much a validation reads. Values that are not listed may come from a newer library.
type Level int32

const (
	// METADATA.
	LevelDefault Level = 0
	// The struct itself: version, ndim, dtype, device, flags, which pointers are NULL.
	LevelStruct Level = 1
	// Also the `ndim` entries of shape and strides.
	LevelMetadata Level = 2
	// Also asks the driver where `data` lies (a handle: what it is), which may start it. Rejects a
	// device label that is wrong, elements outside the allocation, and what cannot be asked
	// (UNAVAILABLE, UNSUPPORTED). kDLCPU is checked against the drivers that have been started
	// already; memory whose size no driver knows is not checked against a size.
	LevelDevice Level = 3
)

// PolicyOptions are the bits of [Policy.Options].
type PolicyOptions uint32

const (
	// Rejects dtype codes that `version` does not know.
	PolicyRejectUnknownDType PolicyOptions = 1 << 8
	// Rejects device types that `version` does not know.
	PolicyRejectUnknownDevice PolicyOptions = 1 << 9
	// Rejects flag bits that `version` does not know.
	PolicyRejectUnknownFlags PolicyOptions = 1 << 10
	// Rejects negative strides.
	PolicyRejectNegativeStrides PolicyOptions = 1 << 11
	// Rejects zero strides on axes longer than 1.
	PolicyRejectZeroStrides PolicyOptions = 1 << 12
	// Accepts NULL strides also on tensors of version 1.2 or later.
	PolicyAllowNullStrides PolicyOptions = 1 << 13
	// Accepts lanes >= 0x8000, taken at face value.
	PolicyAllowScalableLanes PolicyOptions = 1 << 14
	// Rejects READ_ONLY tensors, and tensors with elements that overlap.
	PolicyRequireWritable PolicyOptions = 1 << 15
	// The caller knows that a legacy or borrowed tensor may be written to; READ_ONLY still binds.
	PolicyVouchWritable PolicyOptions = 1 << 16
	// Accepts elements that overlap even where a writable tensor is required.
	PolicyAllowSelfOverlap PolicyOptions = 1 << 17
	// `min_ndim` and `max_ndim` count.
	PolicyLimitNDim PolicyOptions = 1 << 18
	// `buffer_size` counts.
	PolicyLimitBuffer PolicyOptions = 1 << 19
)

// Contiguity is the contiguity that a policy demands. Values that are not listed may come from a
// newer library.
type Contiguity int32

const (
	// Any layout.
	ContiguityAny Contiguity = 0
	// Compact, last axis fastest.
	ContiguityC Contiguity = 1
	// Compact, first axis fastest.
	ContiguityF Contiguity = 2
	// Either of the two.
	ContiguityCOrF Contiguity = 3
)

// Severity says how bad a finding is. Values that are not listed may come from a newer library.
type Severity int32

const (
	// [Tensor.Validate] would reject the tensor for it.
	SeverityBroken Severity = 1
	// For information only.
	SeverityNote Severity = 2
)

// ConvertBits are the bits of [ConvertOptions.Options].
type ConvertBits uint32

const (
	// Skip validation: the caller knows that the tensor is valid. Only ndim and a nil shape are
	// checked. The policy must be nil. A COPY is validated all the same, since it reads by the layout.
	ConvertSkipValidation ConvertBits = 1 << 8
	// The caller knows that a legacy source may be written to. Without it the result is READ_ONLY.
	// Does not lift a READ_ONLY that is recorded.
	ConvertVouchWritable ConvertBits = 1 << 9
	// Accept dtype codes, device types and flag bits that the consumer's version does not know. A
	// versioned source then keeps its version, since an unknown bit may change the layout.
	ConvertAllowUnknown ConvertBits = 1 << 10
	// Write the result in canonical form: compact strides on empty tensors and on axes of extent 1,
	// NULL data where empty, device id 0 on host-like memory.
	ConvertCanonical ConvertBits = 1 << 11
	// Add byte_offset to data. Rejected where `data` is not an address.
	ConvertFoldByteOffset ConvertBits = 1 << 12
	// Copy the data (memory that the CPU reads only) to compact memory of the allocator. The result
	// may be written to and carries IS_COPIED where it has flags; the source is released. A copy loses
	// nothing that a downgrade would reject. Unknown flag bits are always rejected, since they may
	// change the layout.
	ConvertCopy ConvertBits = 1 << 13
	// To legacy: READ_ONLY may be lost.
	ConvertDropReadOnly ConvertBits = 1 << 14
	// To legacy: the padded flag may be lost.
	ConvertDropPadded ConvertBits = 1 << 15
	// To legacy: accept dtype codes and device types newer than the legacy version.
	ConvertAllowNewerCodes ConvertBits = 1 << 16
	// Keep the module of the producer's deleter loaded, as [ModulePin] does: for producers in plugins.
	// For a dlbridge-owned tensor it is the deleter of its source, or the `deallocate` of its memory.
	// It is done last: a source that is rejected for another reason pins nothing (of a batch, modules
	// pinned before the failing one stay pinned). A NULL deleter and a COPY have nothing to pin.
	ConvertPinProducer ConvertBits = 1 << 17
)

// AllocateOptions are the bits of [AllocateSpec.Options].
type AllocateOptions uint32

const (
	// Memory that [Tensor.ExportIPC] can share with other processes: an anonymous memory file, sealed
	// against changes of its size. On the CPU and without an allocator.
	AllocateShareable AllocateOptions = 1 << 8
)

// Backend is the driver that knows a device. Values that are not listed may come from a newer
// library.
type Backend int32

const (
	// Not set: the backend that the device implies.
	BackendNone Backend = 0
	// The host.
	BackendCPU Backend = 1
	// CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged.
	BackendCUDA Backend = 2
	// HIP runtime: kDLROCM, kDLROCMHost.
	BackendHIP Backend = 3
	// Level Zero: kDLOneAPI.
	BackendLevelZero Backend = 4
	// OpenCL: kDLOpenCL, and kDLOneAPI where SYCL runs on it.
	BackendOpenCL Backend = 5
)

// State is the outcome of starting a backend. Values that are not listed may come from a newer
// library.
type State int32

const (
	// Loaded, initialised, at least one device.
	StateReady State = 1
	// No driver library could be loaded.
	StateAbsent State = 2
	// Loaded, but it does not initialise or has no device.
	StateUnusable State = 3
)

// BufferKind says what the handle of a [Buffer] is. Values that are not listed may come from a
// newer library.
type BufferKind int32

const (
	// The kind that the device implies: CL_MEM for kDLOpenCL, HANDLE for kDLVulkan, kDLMetal,
	// kDLWebGPU and kDLVPI, else ADDRESS.
	BufferDefault BufferKind = 0
	// An address: host memory, CUdeviceptr, HIP, USM or SVM pointer, pinned or managed memory.
	BufferAddress BufferKind = 1
	// A cl_mem, which is a handle: nothing is ever added to it.
	BufferCLMem BufferKind = 2
	// Another opaque handle: of Vulkan, Metal, WebGPU, VPI. No driver is asked about it.
	BufferHandle BufferKind = 3
)

// Memory is a kind of memory, as a driver reports it. Values that are not listed may come from a
// newer library.
type Memory int32

const (
	// Ordinary host memory: no driver knows it.
	MemoryHost Memory = 1
	// Device memory of CUDA or HIP.
	MemoryDevice Memory = 2
	// Host memory that CUDA or HIP has pinned or registered.
	MemoryPinned Memory = 3
	// Managed memory of CUDA or HIP.
	MemoryManaged Memory = 4
	// Host USM of Level Zero or OpenCL.
	MemoryUSMHost Memory = 5
	// Device USM.
	MemoryUSMDevice Memory = 6
	// Shared USM.
	MemoryUSMShared Memory = 7
	// OpenCL shared virtual memory (under a cl_mem).
	MemorySVM Memory = 8
	// An OpenCL buffer object.
	MemoryCLMem Memory = 9
)

// PointerProperties are the bits of [PointerInfo.Properties].
type PointerProperties uint32

const (
	// A context that was neither registered nor named knew the memory; on Level Zero any context of a
	// driver may answer, so it need not be the one that allocated.
	PointerContextAssumed PointerProperties = 1 << 0
)

// WrapOptions are the bits of [WrapSpec.Options].
type WrapOptions uint32

const (
	// Skip validation: the caller knows that the layout is valid. Only what a node needs is checked,
	// and an empty tensor stays as it was given. `policy` must be nil and LIMIT_BUFFER not set.
	WrapSkipValidation WrapOptions = 1 << 8
	// Keep the module of `release` loaded, as [ModulePin] does.
	WrapPinProducer WrapOptions = 1 << 9
	// CL_MEM: the tensor holds a reference of its own to the cl_mem (clRetainMemObject), which keeps
	// its context too.
	WrapRetain WrapOptions = 1 << 10
	// `buffer_size` counts.
	WrapLimitBuffer WrapOptions = 1 << 11
)

// StreamKind says what the handle of a [Stream] is. Values that are not listed may come from a
// newer library.
type StreamKind int32

const (
	// No queue: work is done when a call returns.
	StreamHost StreamKind = 1
	// The consumer orders its work itself.
	StreamNoSync StreamKind = 2
	// CUstream (1 and 2 are CUDA's special ones, 0 is not used), hipStream_t (0: the default),
	// cl_command_queue, ze_command_queue_handle_t.
	StreamQueue StreamKind = 3
	// Level Zero: an immediate ze_command_list_handle_t.
	StreamImmediateList StreamKind = 4
)

// HandoffOptions are the bits of the options of [StreamHandoff].
type HandoffOptions uint32

const (
	// Allow the host to wait where no driver can order the two queues: queues of two backends, or of
	// two Level Zero contexts.
	HandoffAllowHostWait HandoffOptions = 1 << 8
	// Allow a wait that draws the consumer's stream into the graph that the producer's stream is
	// capturing. The caller must join the streams again.
	HandoffAllowCapture HandoffOptions = 1 << 9
)

// ContextProperties are the bits of [ContextEntry.Properties].
type ContextProperties uint32

const (
	// In: becomes the default of its device. The first entry of a device is the default anyway.
	ContextDefault ContextProperties = 1 << 0
	// In: removes entries of the same device with another native device.
	ContextReplace ContextProperties = 1 << 1
	// A library found the device itself; an application's registration takes precedence.
	ContextEnumerated ContextProperties = 1 << 2
	// The context was made for the table: no other library uses it unless it asks the table.
	ContextPrivate ContextProperties = 1 << 3
)

// CopyOptions are the bits of [CopySpec.Options].
type CopyOptions uint32

const (
	// Layouts that need more than 4096 copies of the driver, and copies between two backends, may go
	// through host memory.
	CopyAllowStaging CopyOptions = 1 << 8
	// Copy into memory that [Tensor.ExportIPC] can share; on the host, without target or allocator.
	CopyShareable CopyOptions = 1 << 9
)

// IPCOptions are the bits of the options of [Tensor.ExportIPC] and [ImportIPC].
type IPCOptions uint32

const (
	// Export: the importer gets no right to write, and on the host a process of another user cannot
	// gain it. Import: do not ask for it. A READ_ONLY tensor is always exported so.
	IPCReadOnly IPCOptions = 1 << 8
)

// DeviceType is the kind of device that memory belongs to. Foreign code may pass any integer.
type DeviceType int32

const (
	// Host memory.
	DeviceCPU DeviceType = 1
	// NVIDIA GPU memory.
	DeviceCUDA DeviceType = 2
	// Host memory pinned by CUDA.
	DeviceCUDAHost DeviceType = 3
	// An OpenCL cl_mem, a handle.
	DeviceOpenCL DeviceType = 4
	// Vulkan buffer handle; since 0.3.
	DeviceVulkan DeviceType = 7
	// Metal buffer handle.
	DeviceMetal DeviceType = 8
	// Simulator buffer handle.
	DeviceVPI DeviceType = 9
	// AMD GPU memory.
	DeviceROCM DeviceType = 10
	// Host memory pinned by ROCm; since 0.6.
	DeviceROCMHost DeviceType = 11
	// Reserved for extension devices; since 0.3.
	DeviceExtDev DeviceType = 12
	// CUDA managed memory, host and device; since 0.6.
	DeviceCUDAManaged DeviceType = 13
	// Unified shared memory of oneAPI; since 0.7.
	DeviceOneAPI DeviceType = 14
	// WebGPU buffer handle; since 0.7.
	DeviceWebGPU DeviceType = 15
	// Qualcomm Hexagon; since 0.7.
	DeviceHexagon DeviceType = 16
	// Microsoft MAIA; since 1.0.
	DeviceMAIA DeviceType = 17
	// AWS Trainium; since 1.2.
	DeviceTrn DeviceType = 18
	// Google TPU; in no release yet.
	DeviceTPU DeviceType = 19
	// Host memory pinned for TPU; in no release yet.
	DeviceTPUHost DeviceType = 20
	// Huawei Ascend; in no release yet.
	DeviceAscend DeviceType = 21
)

// DTypeCode is the kind of one lane of an element. Foreign code may pass any byte.
type DTypeCode uint8

const (
	// Signed integer, two's complement.
	CodeInt DTypeCode = 0
	// Unsigned integer.
	CodeUInt DTypeCode = 1
	// IEEE 754 binary.
	CodeFloat DTypeCode = 2
	// Opaque handle; since 0.4.
	CodeOpaqueHandle DTypeCode = 3
	// Bfloat16; since 0.3.
	CodeBfloat DTypeCode = 4
	// Complex: `bits` is both parts together; since 0.4.
	CodeComplex DTypeCode = 5
	// Boolean in one byte; since 0.8.
	CodeBool DTypeCode = 6
	// Eight bits; since 1.1.
	CodeFloat8E3M4 DTypeCode = 7
	// Eight bits; since 1.1.
	CodeFloat8E4M3 DTypeCode = 8
	// Eight bits; since 1.1.
	CodeFloat8E4M3B11FNUZ DTypeCode = 9
	// Eight bits; since 1.1.
	CodeFloat8E4M3FN DTypeCode = 10
	// Eight bits; since 1.1.
	CodeFloat8E4M3FNUZ DTypeCode = 11
	// Eight bits; since 1.1.
	CodeFloat8E5M2 DTypeCode = 12
	// Eight bits; since 1.1.
	CodeFloat8E5M2FNUZ DTypeCode = 13
	// Eight bits; since 1.1.
	CodeFloat8E8M0FNU DTypeCode = 14
	// Six bits, packed unless flagged as padded; since 1.1.
	CodeFloat6E2M3FN DTypeCode = 15
	// Six bits, packed unless flagged as padded; since 1.1.
	CodeFloat6E3M2FN DTypeCode = 16
	// Four bits, packed unless flagged as padded; since 1.1.
	CodeFloat4E2M1FN DTypeCode = 17
	// Complex of two bfloats; in no release yet.
	CodeBcomplex DTypeCode = 18
)

// TensorFlags are DLPack's flags of a tensor. Foreign code may pass any bit.
type TensorFlags uint64

const (
	// The tensor must not be written to.
	FlagReadOnly TensorFlags = 1 << 0
	// The producer has made a copy for this consumer.
	FlagIsCopied TensorFlags = 1 << 1
	// Elements of less than a byte fill a whole one.
	FlagIsSubbyteTypePadded TensorFlags = 1 << 2
)
