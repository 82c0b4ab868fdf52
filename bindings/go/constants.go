// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The constants of dlbridge.h and dlpack.h.

package dlbridge

const (
	// Success.
	StatusOK Status = iota
	// The caller's fault: a nil that is not allowed, a struct_size or option out of range, or a
	// changed dlbridge-owned struct. The message names the argument.
	StatusInvalidArgument
	// The caller is newer than the library: it asks for an option, value or field that this library
	// does not know. Such a request is never ignored.
	StatusTooNew
	// The allocator of the system or of the caller returned NULL.
	StatusOutOfMemory
	// The producer's fault: the tensor breaks a rule of DLPack; `rule` names it.
	StatusInvalidTensor
	// Wrong major version, or the tensor needs a newer DLPack version than the consumer reads.
	StatusVersion
	// The tensor is legal, but the policy of this consumer rejects it; `rule` names the demand.
	StatusPolicy
	// The source has a property that the target cannot represent, and the options do not allow the
	// loss.
	StatusUnrepresentable
	// The consumer's DLPack release does not know a dtype code, device type or flag bit that it needs
	// to know.
	StatusUnknownCode
	// The function works on dlbridge-owned tensors only: call [Import] first.
	StatusForeignTensor
	// The request is legal, but this build cannot do it. Example: copying memory that the CPU cannot
	// read.
	StatusUnsupported
	// The caller's buffer or storage is too small; the message has the needed size.
	StatusBufferTooSmall
	// A text is not the name of a dtype or device.
	StatusParse
	// Nothing suitable was found, such as a table in an exchange API chain.
	StatusNotFound
	// A view would leave the elements of its parent.
	StatusBounds
	// The process was forked after the backend had been started; start it in the child only.
	StatusForked
	// There is no driver for the device, or the driver has no device; [QueryBackend] reports the
	// reason.
	StatusUnavailable
	// A driver call failed; the message has its name, `native_code` its code.
	StatusDriver
	// The context table has another entry for that device or context.
	StatusExists
	// A stream is capturing a graph, which the call does not allow.
	StatusCapture
	// The bytes or file descriptors from another process are not a valid export.
	StatusDescriptor
	// The kind of a managed tensor was not given, and its bytes do not decide it: pass its kind.
	StatusAmbiguous
)

const (
	// No rule is broken.
	RuleNone Rule = iota
	// version.major is 1; with another major no field after `flags` is read (DLPack).
	RuleVersionMajor
	// ndim >= 0 (DLPack).
	RuleNDimNegative
	// ndim <= [MaxNDim] and within the limits of the policy (dlbridge, policy).
	RuleNDimLimit
	// shape is not NULL if ndim > 0 (DLPack).
	RuleShapeNull
	// strides are not NULL if ndim > 0 and the tensor's version is 1.2 or later (DLPack 1.2).
	RuleStridesNull
	// bits >= 1 (dlbridge).
	RuleDTypeBitsZero
	// lanes >= 1 (dlbridge).
	RuleDTypeLanesZero
	// lanes < 0x8000: more is a scalable vector in TVM, whose size is not known (dlbridge).
	RuleDTypeLanesScalable
	// bool and float8 have 8 bits, float6 6, float4 4, bfloat 16 (DLPack).
	RuleDTypeBitsFixed
	// The dtype code is known to the consumer's version (policy, conversions).
	RuleDTypeUnknown
	// The device type is known to the consumer's version (policy, conversions).
	RuleDeviceUnknown
	// All flag bits are known to the consumer's version (policy, conversions).
	RuleFlagsUnknown
	// device_id >= 0 (dlbridge).
	RuleDeviceIDNegative
	// device_id is 0 on host-like memory; only a note, since producers differ (DLPack).
	RuleDeviceIDHost
	// Each extent >= 0 (DLPack).
	RuleExtentNegative
	// The number of elements fits 63 bits (dlbridge).
	RuleCountOverflow
	// The packed size in bytes fits 63 bits (dlbridge).
	RuleSizeOverflow
	// The offsets of the first and last element, and of their bytes, fit 63 bits and a sign
	// (dlbridge).
	RuleOffsetOverflow
	// data is not NULL unless the tensor is empty (DLPack).
	RuleDataNull
	// All bytes from data + byte_offset lie inside the address space (dlbridge).
	RuleAddressRange
	// No element lies before the start of an opaque handle (dlbridge).
	RuleHandleRange
	// All elements lie inside `buffer_size` bytes from `data` (policy).
	RuleBufferBounds
	// The layout has the required contiguity (policy).
	RuleContiguity
	// Element (0,...,0) has the required alignment (policy).
	RuleAlignment
	// The policy lists the device (policy).
	RuleDeviceRejected
	// The policy lists the dtype (policy).
	RuleDTypeRejected
	// The tensor may be written to (policy).
	RuleNotWritable
	// No negative strides (policy).
	RuleNegativeStride
	// No zero strides on axes longer than 1 (policy).
	RuleZeroStride
	// No two elements share memory if the policy demands a writable tensor (policy).
	RuleSelfOverlap
	// Element (0,...,0) is aligned to the size of its lane; only a note (dlbridge).
	RuleDataUnaligned
	// The version that a tensor carries has all codes and flags that it uses; only a note (DLPack).
	RuleVersionLabel
	// The consumer's version can describe the tensor (conversions).
	RuleRequiredVersion
	// The tensor is not READ_ONLY, which a legacy tensor cannot record (downgrade).
	RuleLegacyReadOnly
	// Sub-byte elements are not padded, which a legacy tensor cannot record (downgrade).
	RuleLegacyPadded
	// The legacy version knows the dtype code: codes up to bool (downgrade).
	RuleLegacyDType
	// The legacy version knows the device type: types up to Hexagon (downgrade).
	RuleLegacyDevice
	// byte_offset is folded only if `data` is an address (conversions).
	RuleOffsetFold
	// All elements of a view lie inside the range of its parent (views).
	RuleViewBounds
	// A view of packed sub-byte elements starts at a whole byte (views).
	RuleViewOffset
	// The tensor does not live in the caller's storage (upgrade_into), which cannot have a second
	// owner (owners).
	RuleInStorage
	// The CPU can read the memory to copy (copies).
	RuleCopyDevice
	// The driver reports the memory on the device that the label names (level DEVICE).
	RuleDeviceLabel
	// All elements lie inside the allocation that the driver reports (level DEVICE).
	RuleAllocationBounds
	// Each extent equals the one in the policy's shape (policy).
	RuleShapeMismatch
)

// Kind is the struct that a pointer refers to. Values that are not listed may come from a newer
// library.
type Kind int32

const (
	// As an argument: the bytes decide. As the answer of [Identify]: the bytes fit neither kind.
	KindUnknown Kind = iota
	// A DLManagedTensor.
	KindLegacy
	// A DLManagedTensorVersioned.
	KindVersioned
	// A DLTensor, which has no owner ([Tensor.Diagnose]).
	KindBorrowed
	// Only an answer, never an argument: the bytes fit both managed kinds.
	KindAmbiguous
)

// Answer is the answer to a question that cannot always be answered. Values that are not listed may
// come from a newer library.
type Answer int32

const (
	// No.
	AnswerNo Answer = iota
	// Yes.
	AnswerYes
	// It cannot be decided.
	AnswerUndecided
)

// LayoutProperties are the bits of [Layout.Properties].
type LayoutProperties uint32

const (
	// An extent is 0.
	LayoutEmpty LayoutProperties = 1 << iota
	// Compact, last axis fastest; always set if empty.
	LayoutCContiguous
	// Compact, first axis fastest; always set if empty.
	LayoutFContiguous
	// Some axis longer than 1 has stride 0.
	LayoutBroadcast
	// Some axis longer than 1 has a negative stride.
	LayoutNegativeStrides
	// Sub-byte elements are padded to whole bytes.
	LayoutPadded
	// `data` is a handle, not an address.
	LayoutOpaque
)

// Level is how much a validation reads. Values that are not listed may come from a newer library.
type Level int32

const (
	// METADATA.
	LevelDefault Level = iota
	// The struct itself: version, ndim, dtype, device, flags, and which pointers are NULL.
	LevelStruct
	// Also the `ndim` entries of shape and strides.
	LevelMetadata
	// Also asks the driver about `data`, which may start the driver. Rejects a wrong device label,
	// elements outside the allocation or the mapped memory, a writable tensor of memory that kernels
	// must not write to, and memory that no driver can be asked about (UNAVAILABLE, UNSUPPORTED). For
	// kDLCPU only drivers that are already started are asked. The size is not checked if no driver
	// knows it.
	LevelDevice
)

// PolicyOptions are the bits of [Policy.Options].
type PolicyOptions uint32

const (
	// Rejects dtype codes that `version` does not know.
	PolicyRejectUnknownDType PolicyOptions = 1 << (iota + 8)
	// Rejects device types that `version` does not know.
	PolicyRejectUnknownDevice
	// Rejects flag bits that `version` does not know.
	PolicyRejectUnknownFlags
	// Rejects negative strides.
	PolicyRejectNegativeStrides
	// Rejects zero strides on axes longer than 1.
	PolicyRejectZeroStrides
	// Accepts NULL strides also on tensors of version 1.2 or later.
	PolicyAllowNullStrides
	// Accepts lanes >= 0x8000 as that many lanes.
	PolicyAllowScalableLanes
	// Rejects READ_ONLY tensors, and tensors with elements that overlap.
	PolicyRequireWritable
	// The caller knows that a legacy or borrowed tensor is writable; READ_ONLY still binds.
	PolicyVouchWritable
	// Accepts elements that overlap, even if a writable tensor is required.
	PolicyAllowSelfOverlap
	// `min_ndim` and `max_ndim` are read.
	PolicyLimitNDim
	// `buffer_size` is read.
	PolicyLimitBuffer
)

// Contiguity is the contiguity that a policy demands. Values that are not listed may come from a
// newer library.
type Contiguity int32

const (
	// Any layout.
	ContiguityAny Contiguity = iota
	// Compact, last axis fastest.
	ContiguityC
	// Compact, first axis fastest.
	ContiguityF
	// Either of the two.
	ContiguityCOrF
)

// Severity is the severity of a finding. Values that are not listed may come from a newer library.
type Severity int32

const (
	// A broken rule, for which [Tensor.Validate] rejects the tensor.
	SeverityBroken Severity = iota + 1
	// For information only.
	SeverityNote
)

// ConvertBits are the bits of [ConvertOptions.Options].
type ConvertBits uint32

const (
	// Skip validation: the caller knows that the tensor is valid. Only ndim and a nil shape are
	// checked. The policy must be nil. A COPY is validated nevertheless, since it depends on the
	// layout.
	ConvertSkipValidation ConvertBits = 1 << (iota + 8)
	// The caller knows that a legacy source is writable. Without this bit the result is READ_ONLY. A
	// recorded READ_ONLY stays.
	ConvertVouchWritable
	// Accept dtype codes, device types and flag bits that the consumer's version does not know. A
	// versioned source then keeps its version, since an unknown bit may change the layout.
	ConvertAllowUnknown
	// Write the result in canonical form: compact strides on empty tensors and on axes of extent 1,
	// NULL data if empty, device id 0 on host-like memory.
	ConvertCanonical
	// Add byte_offset to data. Rejected if `data` is not an address.
	ConvertFoldByteOffset
	// Copy the data to compact memory of the allocator; the CPU must be able to read it. The result is
	// writable; a versioned result has IS_COPIED. The source is released. A downgrade with COPY also
	// accepts READ_ONLY and padded tensors. Unknown flag bits are always rejected, since they may
	// change the layout.
	ConvertCopy
	// To legacy: READ_ONLY may be lost.
	ConvertDropReadOnly
	// To legacy: the padded flag may be lost.
	ConvertDropPadded
	// To legacy: accept dtype codes and device types newer than the legacy version.
	ConvertAllowNewerCodes
	// Keep the module of the producer's deleter loaded, as [ModulePin] does: for producers in plugins.
	// For a dlbridge-owned tensor this is the module of its source's deleter, or of the `deallocate`
	// of its memory. This is the last step: a source that is rejected for another reason pins nothing.
	// In a batch, modules pinned before the failing one stay pinned. Nothing is pinned for a nil
	// deleter or a COPY.
	ConvertPinProducer
)

// AllocateOptions are the bits of [AllocateSpec.Options].
type AllocateOptions uint32

const (
	// Allocate memory that [Tensor.ExportIPC] can share with other processes: an anonymous memory
	// file, sealed against changes of its size. Only on the CPU and without an allocator.
	AllocateShareable AllocateOptions = 1 << 8
)

// Backend is the driver of a device. Values that are not listed may come from a newer library.
type Backend int32

const (
	// Not set: the backend that the device implies.
	BackendNone Backend = iota
	// The host.
	BackendCPU
	// CUDA driver API: kDLCUDA, kDLCUDAHost, kDLCUDAManaged.
	BackendCUDA
	// HIP runtime: kDLROCM, kDLROCMHost.
	BackendHIP
	// Level Zero: kDLOneAPI.
	BackendLevelZero
	// OpenCL: kDLOpenCL, and kDLOneAPI if SYCL uses OpenCL.
	BackendOpenCL
)

// State is the outcome of starting a backend. Values that are not listed may come from a newer
// library.
type State int32

const (
	// Loaded and initialised, with at least one device.
	StateReady State = iota + 1
	// No driver library could be loaded.
	StateAbsent
	// Loaded, but it does not initialise or has no device.
	StateUnusable
)

// BufferKind is the kind of handle of a [Buffer]. Values that are not listed may come from a newer
// library.
type BufferKind int32

const (
	// The kind that the device implies: CL_MEM for kDLOpenCL, HANDLE for kDLVulkan, kDLMetal,
	// kDLWebGPU and kDLVPI, else ADDRESS.
	BufferDefault BufferKind = iota
	// An address: host memory, CUdeviceptr, HIP, USM or SVM pointer, pinned or managed memory.
	BufferAddress
	// A cl_mem, which is a handle: no offset is ever added to it.
	BufferCLMem
	// Another opaque handle: Vulkan, Metal, WebGPU, VPI. No driver is asked about it.
	BufferHandle
)

// Memory is a kind of memory, as a driver reports it. Values that are not listed may come from a
// newer library.
type Memory int32

const (
	// Ordinary host memory: no driver knows it.
	MemoryHost Memory = iota + 1
	// Device memory of CUDA or HIP.
	MemoryDevice
	// Host memory that CUDA or HIP has pinned or registered.
	MemoryPinned
	// Managed memory of CUDA or HIP.
	MemoryManaged
	// Host USM of Level Zero or OpenCL.
	MemoryUSMHost
	// Device USM.
	MemoryUSMDevice
	// Shared USM.
	MemoryUSMShared
	// OpenCL shared virtual memory (under a cl_mem).
	MemorySVM
	// An OpenCL buffer object.
	MemoryCLMem
)

// PointerProperties are the bits of [PointerInfo.Properties].
type PointerProperties uint32

const (
	// The context that knows the memory was neither registered nor named by the caller. On Level Zero
	// any context of a driver may know the memory, so it need not be the one that allocated it.
	PointerContextAssumed PointerProperties = 1 << iota
	// `peers` has the driver's answer: it was asked for, the memory is on a device, and the driver can
	// tell.
	PointerPeersKnown
)

// PointerOptions are the bits of the options of [QueryPointer].
type PointerOptions uint32

const (
	// Ask the driver for `peers`, by one call per device.
	PointerInfoPeers PointerOptions = 1 << 8
)

// WrapOptions are the bits of [WrapSpec.Options].
type WrapOptions uint32

const (
	// Skip validation: the caller knows that the layout is valid. Of the layout only ndim and a nil
	// shape are checked, and an empty tensor is not changed. `policy` must be nil and LIMIT_BUFFER not
	// set.
	WrapSkipValidation WrapOptions = 1 << (iota + 8)
	// Keep the module of `release` loaded, as [ModulePin] does.
	WrapPinProducer
	// CL_MEM: the tensor holds its own reference to the cl_mem (clRetainMemObject), which also keeps
	// its context.
	WrapRetain
	// `buffer_size` is read.
	WrapLimitBuffer
	// `release` orders the end of the memory after the work of the stream that it receives, for
	// instance by freeing it on that stream: dlbridge_release_after may call it before that work is
	// over.
	WrapReleaseOnStream
)

// StreamKind is the kind of handle of a [Stream]. Values that are not listed may come from a newer
// library.
type StreamKind int32

const (
	// No queue: the work of a call is complete when it returns.
	StreamHost StreamKind = iota + 1
	// The consumer orders its work itself.
	StreamNoSync
	// CUstream (1 and 2 are CUDA's special streams, 0 is rejected), hipStream_t (0: the default
	// stream, 2: that of the calling thread, 1 from HIP 6.4: the legacy one), cl_command_queue,
	// ze_command_queue_handle_t.
	StreamQueue
	// Level Zero: an immediate ze_command_list_handle_t.
	StreamImmediateList
)

// HandoffOptions are the bits of the options of [StreamHandoff].
type HandoffOptions uint32

const (
	// Allow the host to wait if no driver can order the two queues: queues of two backends, or of two
	// Level Zero contexts.
	HandoffAllowHostWait HandoffOptions = 1 << (iota + 8)
	// Allow a wait that adds the consumer's stream to the graph that the producer's stream is
	// capturing. The caller must join the streams again.
	HandoffAllowCapture
)

// ContextProperties are the bits of [ContextEntry.Properties].
type ContextProperties uint32

const (
	// In: the entry becomes the default of its device. The first entry of a device always is.
	ContextDefault ContextProperties = 1 << iota
	// In: removes entries of the same device with another native device.
	ContextReplace
	// A library found the device itself. A registration by an application takes precedence.
	ContextEnumerated
	// The context was made for the table: no other library uses it unless it asks the table.
	ContextPrivate
)

// CopyOptions are the bits of [CopySpec.Options].
type CopyOptions uint32

const (
	// Allow a copy through host memory for layouts that need more than 4096 driver copies, and between
	// two backends.
	CopyAllowStaging CopyOptions = 1 << (iota + 8)
	// Copy into memory that [Tensor.ExportIPC] can share. Only on the host, without target or
	// allocator.
	CopyShareable
)

// CollectOptions are the bits of the options of [Collect].
type CollectOptions uint32

const (
	// First wait for the work of all tensors that are held now.
	CollectWait CollectOptions = 1 << 8
)

// IPCOptions are the bits of the options of [Tensor.ExportIPC] and [ImportIPC].
type IPCOptions uint32

const (
	// Export: the importer gets no right to write, and on the host a process of another user cannot
	// gain it. Import: do not ask for that right. A READ_ONLY tensor is always exported this way.
	IPCReadOnly IPCOptions = 1 << 8
)

// DeviceType is the kind of device that memory belongs to. Foreign code may pass any integer.
type DeviceType int32

const (
	// Host memory.
	DeviceCPU DeviceType = iota + 1
	// NVIDIA GPU memory.
	DeviceCUDA
	// Host memory pinned by CUDA.
	DeviceCUDAHost
	// An OpenCL cl_mem, a handle.
	DeviceOpenCL
	// Vulkan buffer handle; since 0.3.
	DeviceVulkan DeviceType = iota + 3
	// Metal buffer handle.
	DeviceMetal
	// Simulator buffer handle.
	DeviceVPI
	// AMD GPU memory.
	DeviceROCM
	// Host memory pinned by ROCm; since 0.6.
	DeviceROCMHost
	// Reserved for extension devices; since 0.3.
	DeviceExtDev
	// CUDA managed memory, host and device; since 0.6.
	DeviceCUDAManaged
	// Unified shared memory of oneAPI; since 0.7.
	DeviceOneAPI
	// WebGPU buffer handle; since 0.7.
	DeviceWebGPU
	// Qualcomm Hexagon; since 0.7.
	DeviceHexagon
	// Microsoft MAIA; since 1.0.
	DeviceMAIA
	// AWS Trainium; since 1.2.
	DeviceTrn
	// Google TPU; in no release yet.
	DeviceTPU
	// Host memory pinned for TPU; in no release yet.
	DeviceTPUHost
	// Huawei Ascend; in no release yet.
	DeviceAscend
)

// DTypeCode is the kind of one lane of an element. Foreign code may pass any byte.
type DTypeCode uint8

const (
	// Signed integer, two's complement.
	CodeInt DTypeCode = iota
	// Unsigned integer.
	CodeUInt
	// IEEE 754 binary.
	CodeFloat
	// Opaque handle; since 0.4.
	CodeOpaqueHandle
	// Bfloat16; since 0.3.
	CodeBfloat
	// Complex: `bits` counts both parts; since 0.4.
	CodeComplex
	// Boolean in one byte; since 0.8.
	CodeBool
	// Eight bits; since 1.1.
	CodeFloat8E3M4
	// Eight bits; since 1.1.
	CodeFloat8E4M3
	// Eight bits; since 1.1.
	CodeFloat8E4M3B11FNUZ
	// Eight bits; since 1.1.
	CodeFloat8E4M3FN
	// Eight bits; since 1.1.
	CodeFloat8E4M3FNUZ
	// Eight bits; since 1.1.
	CodeFloat8E5M2
	// Eight bits; since 1.1.
	CodeFloat8E5M2FNUZ
	// Eight bits; since 1.1.
	CodeFloat8E8M0FNU
	// Six bits, packed unless flagged as padded; since 1.1.
	CodeFloat6E2M3FN
	// Six bits, packed unless flagged as padded; since 1.1.
	CodeFloat6E3M2FN
	// Four bits, packed unless flagged as padded; since 1.1.
	CodeFloat4E2M1FN
	// Complex of two bfloats; in no release yet.
	CodeBcomplex
)

// TensorFlags are DLPack's flags of a tensor. Foreign code may pass any bit.
type TensorFlags uint64

const (
	// The tensor must not be written to.
	FlagReadOnly TensorFlags = 1 << iota
	// The producer has made a copy for this consumer.
	FlagIsCopied
	// Sub-byte elements are padded to whole bytes.
	FlagIsSubbyteTypePadded
)
