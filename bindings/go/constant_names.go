// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The names of the constants in constants.go.

package dlbridge

// String is the name of the constant, such as "KindUnknown".
func (v Kind) String() string {
	return valueName("Kind", uint64(v), []named{
		{uint64(KindUnknown), "KindUnknown"},
		{uint64(KindLegacy), "KindLegacy"},
		{uint64(KindVersioned), "KindVersioned"},
		{uint64(KindBorrowed), "KindBorrowed"},
		{uint64(KindAmbiguous), "KindAmbiguous"},
	})
}

// String is the name of the constant, such as "AnswerNo".
func (v Answer) String() string {
	return valueName("Answer", uint64(v), []named{
		{uint64(AnswerNo), "AnswerNo"},
		{uint64(AnswerYes), "AnswerYes"},
		{uint64(AnswerUndecided), "AnswerUndecided"},
	})
}

// String has the names of the bits, such as "LayoutEmpty", joined by "|".
func (v LayoutProperties) String() string {
	return bitNames("LayoutProperties", uint64(v), []named{
		{uint64(LayoutEmpty), "LayoutEmpty"},
		{uint64(LayoutCContiguous), "LayoutCContiguous"},
		{uint64(LayoutFContiguous), "LayoutFContiguous"},
		{uint64(LayoutBroadcast), "LayoutBroadcast"},
		{uint64(LayoutNegativeStrides), "LayoutNegativeStrides"},
		{uint64(LayoutPadded), "LayoutPadded"},
		{uint64(LayoutOpaque), "LayoutOpaque"},
	})
}

// String is the name of the constant, such as "LevelDefault".
func (v Level) String() string {
	return valueName("Level", uint64(v), []named{
		{uint64(LevelDefault), "LevelDefault"},
		{uint64(LevelStruct), "LevelStruct"},
		{uint64(LevelMetadata), "LevelMetadata"},
		{uint64(LevelDevice), "LevelDevice"},
	})
}

// String has the names of the bits, such as "PolicyRejectUnknownDType", joined by "|".
func (v PolicyOptions) String() string {
	return bitNames("PolicyOptions", uint64(v), []named{
		{uint64(PolicyRejectUnknownDType), "PolicyRejectUnknownDType"},
		{uint64(PolicyRejectUnknownDevice), "PolicyRejectUnknownDevice"},
		{uint64(PolicyRejectUnknownFlags), "PolicyRejectUnknownFlags"},
		{uint64(PolicyRejectNegativeStrides), "PolicyRejectNegativeStrides"},
		{uint64(PolicyRejectZeroStrides), "PolicyRejectZeroStrides"},
		{uint64(PolicyAllowNullStrides), "PolicyAllowNullStrides"},
		{uint64(PolicyAllowScalableLanes), "PolicyAllowScalableLanes"},
		{uint64(PolicyRequireWritable), "PolicyRequireWritable"},
		{uint64(PolicyVouchWritable), "PolicyVouchWritable"},
		{uint64(PolicyAllowSelfOverlap), "PolicyAllowSelfOverlap"},
		{uint64(PolicyLimitNDim), "PolicyLimitNDim"},
		{uint64(PolicyLimitBuffer), "PolicyLimitBuffer"},
	})
}

// String is the name of the constant, such as "ContiguityAny".
func (v Contiguity) String() string {
	return valueName("Contiguity", uint64(v), []named{
		{uint64(ContiguityAny), "ContiguityAny"},
		{uint64(ContiguityC), "ContiguityC"},
		{uint64(ContiguityF), "ContiguityF"},
		{uint64(ContiguityCOrF), "ContiguityCOrF"},
	})
}

// String is the name of the constant, such as "SeverityBroken".
func (v Severity) String() string {
	return valueName("Severity", uint64(v), []named{
		{uint64(SeverityBroken), "SeverityBroken"},
		{uint64(SeverityNote), "SeverityNote"},
	})
}

// String has the names of the bits, such as "ConvertSkipValidation", joined by "|".
func (v ConvertBits) String() string {
	return bitNames("ConvertBits", uint64(v), []named{
		{uint64(ConvertSkipValidation), "ConvertSkipValidation"},
		{uint64(ConvertVouchWritable), "ConvertVouchWritable"},
		{uint64(ConvertAllowUnknown), "ConvertAllowUnknown"},
		{uint64(ConvertCanonical), "ConvertCanonical"},
		{uint64(ConvertFoldByteOffset), "ConvertFoldByteOffset"},
		{uint64(ConvertCopy), "ConvertCopy"},
		{uint64(ConvertDropReadOnly), "ConvertDropReadOnly"},
		{uint64(ConvertDropPadded), "ConvertDropPadded"},
		{uint64(ConvertAllowNewerCodes), "ConvertAllowNewerCodes"},
		{uint64(ConvertPinProducer), "ConvertPinProducer"},
	})
}

// String has the names of the bits, such as "AllocateShareable", joined by "|".
func (v AllocateOptions) String() string {
	return bitNames("AllocateOptions", uint64(v), []named{
		{uint64(AllocateShareable), "AllocateShareable"},
	})
}

// String is the name of the constant, such as "BackendNone".
func (v Backend) String() string {
	return valueName("Backend", uint64(v), []named{
		{uint64(BackendNone), "BackendNone"},
		{uint64(BackendCPU), "BackendCPU"},
		{uint64(BackendCUDA), "BackendCUDA"},
		{uint64(BackendHIP), "BackendHIP"},
		{uint64(BackendLevelZero), "BackendLevelZero"},
		{uint64(BackendOpenCL), "BackendOpenCL"},
	})
}

// String is the name of the constant, such as "StateReady".
func (v State) String() string {
	return valueName("State", uint64(v), []named{
		{uint64(StateReady), "StateReady"},
		{uint64(StateAbsent), "StateAbsent"},
		{uint64(StateUnusable), "StateUnusable"},
	})
}

// String is the name of the constant, such as "BufferDefault".
func (v BufferKind) String() string {
	return valueName("BufferKind", uint64(v), []named{
		{uint64(BufferDefault), "BufferDefault"},
		{uint64(BufferAddress), "BufferAddress"},
		{uint64(BufferCLMem), "BufferCLMem"},
		{uint64(BufferHandle), "BufferHandle"},
	})
}

// String is the name of the constant, such as "MemoryHost".
func (v Memory) String() string {
	return valueName("Memory", uint64(v), []named{
		{uint64(MemoryHost), "MemoryHost"},
		{uint64(MemoryDevice), "MemoryDevice"},
		{uint64(MemoryPinned), "MemoryPinned"},
		{uint64(MemoryManaged), "MemoryManaged"},
		{uint64(MemoryUSMHost), "MemoryUSMHost"},
		{uint64(MemoryUSMDevice), "MemoryUSMDevice"},
		{uint64(MemoryUSMShared), "MemoryUSMShared"},
		{uint64(MemorySVM), "MemorySVM"},
		{uint64(MemoryCLMem), "MemoryCLMem"},
	})
}

// String has the names of the bits, such as "PointerContextAssumed", joined by "|".
func (v PointerProperties) String() string {
	return bitNames("PointerProperties", uint64(v), []named{
		{uint64(PointerContextAssumed), "PointerContextAssumed"},
		{uint64(PointerPeersKnown), "PointerPeersKnown"},
	})
}

// String has the names of the bits, such as "PointerInfoPeers", joined by "|".
func (v PointerOptions) String() string {
	return bitNames("PointerOptions", uint64(v), []named{
		{uint64(PointerInfoPeers), "PointerInfoPeers"},
	})
}

// String has the names of the bits, such as "WrapSkipValidation", joined by "|".
func (v WrapOptions) String() string {
	return bitNames("WrapOptions", uint64(v), []named{
		{uint64(WrapSkipValidation), "WrapSkipValidation"},
		{uint64(WrapPinProducer), "WrapPinProducer"},
		{uint64(WrapRetain), "WrapRetain"},
		{uint64(WrapLimitBuffer), "WrapLimitBuffer"},
		{uint64(WrapReleaseOnStream), "WrapReleaseOnStream"},
	})
}

// String is the name of the constant, such as "StreamHost".
func (v StreamKind) String() string {
	return valueName("StreamKind", uint64(v), []named{
		{uint64(StreamHost), "StreamHost"},
		{uint64(StreamNoSync), "StreamNoSync"},
		{uint64(StreamQueue), "StreamQueue"},
		{uint64(StreamImmediateList), "StreamImmediateList"},
	})
}

// String has the names of the bits, such as "HandoffAllowHostWait", joined by "|".
func (v HandoffOptions) String() string {
	return bitNames("HandoffOptions", uint64(v), []named{
		{uint64(HandoffAllowHostWait), "HandoffAllowHostWait"},
		{uint64(HandoffAllowCapture), "HandoffAllowCapture"},
	})
}

// String has the names of the bits, such as "ContextDefault", joined by "|".
func (v ContextProperties) String() string {
	return bitNames("ContextProperties", uint64(v), []named{
		{uint64(ContextDefault), "ContextDefault"},
		{uint64(ContextReplace), "ContextReplace"},
		{uint64(ContextEnumerated), "ContextEnumerated"},
		{uint64(ContextPrivate), "ContextPrivate"},
	})
}

// String has the names of the bits, such as "CopyAllowStaging", joined by "|".
func (v CopyOptions) String() string {
	return bitNames("CopyOptions", uint64(v), []named{
		{uint64(CopyAllowStaging), "CopyAllowStaging"},
		{uint64(CopyShareable), "CopyShareable"},
	})
}

// String has the names of the bits, such as "CollectWait", joined by "|".
func (v CollectOptions) String() string {
	return bitNames("CollectOptions", uint64(v), []named{
		{uint64(CollectWait), "CollectWait"},
	})
}

// String has the names of the bits, such as "IPCReadOnly", joined by "|".
func (v IPCOptions) String() string {
	return bitNames("IPCOptions", uint64(v), []named{
		{uint64(IPCReadOnly), "IPCReadOnly"},
	})
}

// String is the name of the constant, such as "DeviceCPU".
func (v DeviceType) String() string {
	return valueName("DeviceType", uint64(v), []named{
		{uint64(DeviceCPU), "DeviceCPU"},
		{uint64(DeviceCUDA), "DeviceCUDA"},
		{uint64(DeviceCUDAHost), "DeviceCUDAHost"},
		{uint64(DeviceOpenCL), "DeviceOpenCL"},
		{uint64(DeviceVulkan), "DeviceVulkan"},
		{uint64(DeviceMetal), "DeviceMetal"},
		{uint64(DeviceVPI), "DeviceVPI"},
		{uint64(DeviceROCM), "DeviceROCM"},
		{uint64(DeviceROCMHost), "DeviceROCMHost"},
		{uint64(DeviceExtDev), "DeviceExtDev"},
		{uint64(DeviceCUDAManaged), "DeviceCUDAManaged"},
		{uint64(DeviceOneAPI), "DeviceOneAPI"},
		{uint64(DeviceWebGPU), "DeviceWebGPU"},
		{uint64(DeviceHexagon), "DeviceHexagon"},
		{uint64(DeviceMAIA), "DeviceMAIA"},
		{uint64(DeviceTrn), "DeviceTrn"},
		{uint64(DeviceTPU), "DeviceTPU"},
		{uint64(DeviceTPUHost), "DeviceTPUHost"},
		{uint64(DeviceAscend), "DeviceAscend"},
	})
}

// String is the name of the constant, such as "CodeInt".
func (v DTypeCode) String() string {
	return valueName("DTypeCode", uint64(v), []named{
		{uint64(CodeInt), "CodeInt"},
		{uint64(CodeUInt), "CodeUInt"},
		{uint64(CodeFloat), "CodeFloat"},
		{uint64(CodeOpaqueHandle), "CodeOpaqueHandle"},
		{uint64(CodeBfloat), "CodeBfloat"},
		{uint64(CodeComplex), "CodeComplex"},
		{uint64(CodeBool), "CodeBool"},
		{uint64(CodeFloat8E3M4), "CodeFloat8E3M4"},
		{uint64(CodeFloat8E4M3), "CodeFloat8E4M3"},
		{uint64(CodeFloat8E4M3B11FNUZ), "CodeFloat8E4M3B11FNUZ"},
		{uint64(CodeFloat8E4M3FN), "CodeFloat8E4M3FN"},
		{uint64(CodeFloat8E4M3FNUZ), "CodeFloat8E4M3FNUZ"},
		{uint64(CodeFloat8E5M2), "CodeFloat8E5M2"},
		{uint64(CodeFloat8E5M2FNUZ), "CodeFloat8E5M2FNUZ"},
		{uint64(CodeFloat8E8M0FNU), "CodeFloat8E8M0FNU"},
		{uint64(CodeFloat6E2M3FN), "CodeFloat6E2M3FN"},
		{uint64(CodeFloat6E3M2FN), "CodeFloat6E3M2FN"},
		{uint64(CodeFloat4E2M1FN), "CodeFloat4E2M1FN"},
		{uint64(CodeBcomplex), "CodeBcomplex"},
	})
}

// String has the names of the bits, such as "FlagReadOnly", joined by "|".
func (v TensorFlags) String() string {
	return bitNames("TensorFlags", uint64(v), []named{
		{uint64(FlagReadOnly), "FlagReadOnly"},
		{uint64(FlagIsCopied), "FlagIsCopied"},
		{uint64(FlagIsSubbyteTypePadded), "FlagIsSubbyteTypePadded"},
	})
}
