// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The names by which cases of the corpus state values and bits. A field that is not set has the
// name "" if its enumeration has no 0.

package dlbridge_test

import dlbridge "dlbridge/bindings/go"

// named is the name of a value or of a bit.
type named struct {
	name  string
	value uint32
}

var kindNames = []named{
	{"UNKNOWN", uint32(dlbridge.KindUnknown)},
	{"LEGACY", uint32(dlbridge.KindLegacy)},
	{"VERSIONED", uint32(dlbridge.KindVersioned)},
	{"BORROWED", uint32(dlbridge.KindBorrowed)},
	{"AMBIGUOUS", uint32(dlbridge.KindAmbiguous)},
}

var answerNames = []named{
	{"NO", uint32(dlbridge.AnswerNo)},
	{"YES", uint32(dlbridge.AnswerYes)},
	{"UNDECIDED", uint32(dlbridge.AnswerUndecided)},
}

var layoutNames = []named{
	{"EMPTY", uint32(dlbridge.LayoutEmpty)},
	{"C_CONTIGUOUS", uint32(dlbridge.LayoutCContiguous)},
	{"F_CONTIGUOUS", uint32(dlbridge.LayoutFContiguous)},
	{"BROADCAST", uint32(dlbridge.LayoutBroadcast)},
	{"NEGATIVE_STRIDES", uint32(dlbridge.LayoutNegativeStrides)},
	{"PADDED", uint32(dlbridge.LayoutPadded)},
	{"OPAQUE", uint32(dlbridge.LayoutOpaque)},
}

var levelNames = []named{
	{"DEFAULT", uint32(dlbridge.LevelDefault)},
	{"STRUCT", uint32(dlbridge.LevelStruct)},
	{"METADATA", uint32(dlbridge.LevelMetadata)},
	{"DEVICE", uint32(dlbridge.LevelDevice)},
}

var policyNames = []named{
	{"REJECT_UNKNOWN_DTYPE", uint32(dlbridge.PolicyRejectUnknownDType)},
	{"REJECT_UNKNOWN_DEVICE", uint32(dlbridge.PolicyRejectUnknownDevice)},
	{"REJECT_UNKNOWN_FLAGS", uint32(dlbridge.PolicyRejectUnknownFlags)},
	{"REJECT_NEGATIVE_STRIDES", uint32(dlbridge.PolicyRejectNegativeStrides)},
	{"REJECT_ZERO_STRIDES", uint32(dlbridge.PolicyRejectZeroStrides)},
	{"ALLOW_NULL_STRIDES", uint32(dlbridge.PolicyAllowNullStrides)},
	{"ALLOW_SCALABLE_LANES", uint32(dlbridge.PolicyAllowScalableLanes)},
	{"REQUIRE_WRITABLE", uint32(dlbridge.PolicyRequireWritable)},
	{"VOUCH_WRITABLE", uint32(dlbridge.PolicyVouchWritable)},
	{"ALLOW_SELF_OVERLAP", uint32(dlbridge.PolicyAllowSelfOverlap)},
	{"LIMIT_NDIM", uint32(dlbridge.PolicyLimitNDim)},
	{"LIMIT_BUFFER", uint32(dlbridge.PolicyLimitBuffer)},
}

var contiguityNames = []named{
	{"ANY", uint32(dlbridge.ContiguityAny)},
	{"C", uint32(dlbridge.ContiguityC)},
	{"F", uint32(dlbridge.ContiguityF)},
	{"C_OR_F", uint32(dlbridge.ContiguityCOrF)},
}

var convertNames = []named{
	{"SKIP_VALIDATION", uint32(dlbridge.ConvertSkipValidation)},
	{"VOUCH_WRITABLE", uint32(dlbridge.ConvertVouchWritable)},
	{"ALLOW_UNKNOWN", uint32(dlbridge.ConvertAllowUnknown)},
	{"CANONICAL", uint32(dlbridge.ConvertCanonical)},
	{"FOLD_BYTE_OFFSET", uint32(dlbridge.ConvertFoldByteOffset)},
	{"COPY", uint32(dlbridge.ConvertCopy)},
	{"DROP_READ_ONLY", uint32(dlbridge.ConvertDropReadOnly)},
	{"DROP_PADDED", uint32(dlbridge.ConvertDropPadded)},
	{"ALLOW_NEWER_CODES", uint32(dlbridge.ConvertAllowNewerCodes)},
	{"PIN_PRODUCER", uint32(dlbridge.ConvertPinProducer)},
}

var allocateNames = []named{
	{"SHAREABLE", uint32(dlbridge.AllocateShareable)},
}

var backendNames = []named{
	{"NONE", uint32(dlbridge.BackendNone)},
	{"CPU", uint32(dlbridge.BackendCPU)},
	{"CUDA", uint32(dlbridge.BackendCUDA)},
	{"HIP", uint32(dlbridge.BackendHIP)},
	{"LEVEL_ZERO", uint32(dlbridge.BackendLevelZero)},
	{"OPENCL", uint32(dlbridge.BackendOpenCL)},
}

var stateNames = []named{
	{"", 0},
	{"READY", uint32(dlbridge.StateReady)},
	{"ABSENT", uint32(dlbridge.StateAbsent)},
	{"UNUSABLE", uint32(dlbridge.StateUnusable)},
}

var bufferNames = []named{
	{"DEFAULT", uint32(dlbridge.BufferDefault)},
	{"ADDRESS", uint32(dlbridge.BufferAddress)},
	{"CL_MEM", uint32(dlbridge.BufferCLMem)},
	{"HANDLE", uint32(dlbridge.BufferHandle)},
}

var memoryNames = []named{
	{"", 0},
	{"HOST", uint32(dlbridge.MemoryHost)},
	{"DEVICE", uint32(dlbridge.MemoryDevice)},
	{"PINNED", uint32(dlbridge.MemoryPinned)},
	{"MANAGED", uint32(dlbridge.MemoryManaged)},
	{"USM_HOST", uint32(dlbridge.MemoryUSMHost)},
	{"USM_DEVICE", uint32(dlbridge.MemoryUSMDevice)},
	{"USM_SHARED", uint32(dlbridge.MemoryUSMShared)},
	{"SVM", uint32(dlbridge.MemorySVM)},
	{"CL_MEM", uint32(dlbridge.MemoryCLMem)},
}

var wrapNames = []named{
	{"SKIP_VALIDATION", uint32(dlbridge.WrapSkipValidation)},
	{"PIN_PRODUCER", uint32(dlbridge.WrapPinProducer)},
	{"RETAIN", uint32(dlbridge.WrapRetain)},
	{"LIMIT_BUFFER", uint32(dlbridge.WrapLimitBuffer)},
	{"RELEASE_ON_STREAM", uint32(dlbridge.WrapReleaseOnStream)},
}

var streamNames = []named{
	{"", 0},
	{"HOST", uint32(dlbridge.StreamHost)},
	{"NO_SYNC", uint32(dlbridge.StreamNoSync)},
	{"QUEUE", uint32(dlbridge.StreamQueue)},
	{"IMMEDIATE_LIST", uint32(dlbridge.StreamImmediateList)},
}

var handoffNames = []named{
	{"ALLOW_HOST_WAIT", uint32(dlbridge.HandoffAllowHostWait)},
	{"ALLOW_CAPTURE", uint32(dlbridge.HandoffAllowCapture)},
}

var contextNames = []named{
	{"DEFAULT", uint32(dlbridge.ContextDefault)},
	{"REPLACE", uint32(dlbridge.ContextReplace)},
	{"ENUMERATED", uint32(dlbridge.ContextEnumerated)},
	{"PRIVATE", uint32(dlbridge.ContextPrivate)},
}

var copyNames = []named{
	{"ALLOW_STAGING", uint32(dlbridge.CopyAllowStaging)},
	{"SHAREABLE", uint32(dlbridge.CopyShareable)},
}

var collectNames = []named{
	{"WAIT", uint32(dlbridge.CollectWait)},
}
