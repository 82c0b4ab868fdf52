// Code generated from facts/ by tools/facts.py. DO NOT EDIT.
// SPDX-License-Identifier: Apache-2.0
// The names of the constants in constants.go.

package dlbridge

// String is the name of the constant, such as "KindUnknown".
func (v Kind) String() string {
	return valueName(v, namesOfKind)
}

var namesOfKind = []string{
	"KindUnknown",
	"KindLegacy",
	"KindVersioned",
	"KindBorrowed",
	"KindAmbiguous",
}

// String is the name of the constant, such as "AnswerNo".
func (v Answer) String() string {
	return valueName(v, namesOfAnswer)
}

var namesOfAnswer = []string{
	"AnswerNo",
	"AnswerYes",
	"AnswerUndecided",
}

// String has the names of the bits, such as "LayoutEmpty", joined by "|".
func (v LayoutProperties) String() string {
	return bitNames(v, namesOfLayoutProperties)
}

var namesOfLayoutProperties = []string{
	"LayoutEmpty",
	"LayoutCContiguous",
	"LayoutFContiguous",
	"LayoutBroadcast",
	"LayoutNegativeStrides",
	"LayoutPadded",
	"LayoutOpaque",
}

// String is the name of the constant, such as "LevelDefault".
func (v Level) String() string {
	return valueName(v, namesOfLevel)
}

var namesOfLevel = []string{
	"LevelDefault",
	"LevelStruct",
	"LevelMetadata",
	"LevelDevice",
}

// String has the names of the bits, such as "PolicyRejectUnknownDType", joined by "|".
func (v PolicyOptions) String() string {
	return bitNames(v, namesOfPolicyOptions)
}

var namesOfPolicyOptions = []string{
	8: "PolicyRejectUnknownDType",
	"PolicyRejectUnknownDevice",
	"PolicyRejectUnknownFlags",
	"PolicyRejectNegativeStrides",
	"PolicyRejectZeroStrides",
	"PolicyAllowNullStrides",
	"PolicyAllowScalableLanes",
	"PolicyRequireWritable",
	"PolicyVouchWritable",
	"PolicyAllowSelfOverlap",
	"PolicyLimitNDim",
	"PolicyLimitBuffer",
}

// String is the name of the constant, such as "ContiguityAny".
func (v Contiguity) String() string {
	return valueName(v, namesOfContiguity)
}

var namesOfContiguity = []string{
	"ContiguityAny",
	"ContiguityC",
	"ContiguityF",
	"ContiguityCOrF",
}

// String is the name of the constant, such as "SeverityBroken".
func (v Severity) String() string {
	return valueName(v, namesOfSeverity)
}

var namesOfSeverity = []string{
	1: "SeverityBroken",
	"SeverityNote",
}

// String has the names of the bits, such as "ConvertSkipValidation", joined by "|".
func (v ConvertBits) String() string {
	return bitNames(v, namesOfConvertBits)
}

var namesOfConvertBits = []string{
	8: "ConvertSkipValidation",
	"ConvertVouchWritable",
	"ConvertAllowUnknown",
	"ConvertCanonical",
	"ConvertFoldByteOffset",
	"ConvertCopy",
	"ConvertDropReadOnly",
	"ConvertDropPadded",
	"ConvertAllowNewerCodes",
	"ConvertPinProducer",
}

// String has the names of the bits, such as "AllocateShareable", joined by "|".
func (v AllocateOptions) String() string {
	return bitNames(v, namesOfAllocateOptions)
}

var namesOfAllocateOptions = []string{
	8: "AllocateShareable",
}

// String is the name of the constant, such as "BackendNone".
func (v Backend) String() string {
	return valueName(v, namesOfBackend)
}

var namesOfBackend = []string{
	"BackendNone",
	"BackendCPU",
	"BackendCUDA",
	"BackendHIP",
	"BackendLevelZero",
	"BackendOpenCL",
}

// String is the name of the constant, such as "StateReady".
func (v State) String() string {
	return valueName(v, namesOfState)
}

var namesOfState = []string{
	1: "StateReady",
	"StateAbsent",
	"StateUnusable",
}

// String is the name of the constant, such as "BufferDefault".
func (v BufferKind) String() string {
	return valueName(v, namesOfBufferKind)
}

var namesOfBufferKind = []string{
	"BufferDefault",
	"BufferAddress",
	"BufferCLMem",
	"BufferHandle",
}

// String is the name of the constant, such as "MemoryHost".
func (v Memory) String() string {
	return valueName(v, namesOfMemory)
}

var namesOfMemory = []string{
	1: "MemoryHost",
	"MemoryDevice",
	"MemoryPinned",
	"MemoryManaged",
	"MemoryUSMHost",
	"MemoryUSMDevice",
	"MemoryUSMShared",
	"MemorySVM",
	"MemoryCLMem",
}

// String has the names of the bits, such as "PointerContextAssumed", joined by "|".
func (v PointerProperties) String() string {
	return bitNames(v, namesOfPointerProperties)
}

var namesOfPointerProperties = []string{
	"PointerContextAssumed",
	"PointerPeersKnown",
}

// String has the names of the bits, such as "PointerInfoPeers", joined by "|".
func (v PointerOptions) String() string {
	return bitNames(v, namesOfPointerOptions)
}

var namesOfPointerOptions = []string{
	8: "PointerInfoPeers",
}

// String has the names of the bits, such as "WrapSkipValidation", joined by "|".
func (v WrapOptions) String() string {
	return bitNames(v, namesOfWrapOptions)
}

var namesOfWrapOptions = []string{
	8: "WrapSkipValidation",
	"WrapPinProducer",
	"WrapRetain",
	"WrapLimitBuffer",
	"WrapReleaseOnStream",
}

// String is the name of the constant, such as "StreamHost".
func (v StreamKind) String() string {
	return valueName(v, namesOfStreamKind)
}

var namesOfStreamKind = []string{
	1: "StreamHost",
	"StreamNoSync",
	"StreamQueue",
	"StreamImmediateList",
}

// String has the names of the bits, such as "HandoffAllowHostWait", joined by "|".
func (v HandoffOptions) String() string {
	return bitNames(v, namesOfHandoffOptions)
}

var namesOfHandoffOptions = []string{
	8: "HandoffAllowHostWait",
	"HandoffAllowCapture",
}

// String has the names of the bits, such as "ContextDefault", joined by "|".
func (v ContextProperties) String() string {
	return bitNames(v, namesOfContextProperties)
}

var namesOfContextProperties = []string{
	"ContextDefault",
	"ContextReplace",
	"ContextEnumerated",
	"ContextPrivate",
}

// String has the names of the bits, such as "CopyAllowStaging", joined by "|".
func (v CopyOptions) String() string {
	return bitNames(v, namesOfCopyOptions)
}

var namesOfCopyOptions = []string{
	8: "CopyAllowStaging",
	"CopyShareable",
}

// String has the names of the bits, such as "CollectWait", joined by "|".
func (v CollectOptions) String() string {
	return bitNames(v, namesOfCollectOptions)
}

var namesOfCollectOptions = []string{
	8: "CollectWait",
}

// String has the names of the bits, such as "IPCReadOnly", joined by "|".
func (v IPCOptions) String() string {
	return bitNames(v, namesOfIPCOptions)
}

var namesOfIPCOptions = []string{
	8: "IPCReadOnly",
}

// String is the name of the constant, such as "DeviceCPU".
func (v DeviceType) String() string {
	return valueName(v, namesOfDeviceType)
}

var namesOfDeviceType = []string{
	1: "DeviceCPU",
	"DeviceCUDA",
	"DeviceCUDAHost",
	"DeviceOpenCL",
	7: "DeviceVulkan",
	"DeviceMetal",
	"DeviceVPI",
	"DeviceROCM",
	"DeviceROCMHost",
	"DeviceExtDev",
	"DeviceCUDAManaged",
	"DeviceOneAPI",
	"DeviceWebGPU",
	"DeviceHexagon",
	"DeviceMAIA",
	"DeviceTrn",
	"DeviceTPU",
	"DeviceTPUHost",
	"DeviceAscend",
}

// String is the name of the constant, such as "CodeInt".
func (v DTypeCode) String() string {
	return valueName(v, namesOfDTypeCode)
}

var namesOfDTypeCode = []string{
	"CodeInt",
	"CodeUInt",
	"CodeFloat",
	"CodeOpaqueHandle",
	"CodeBfloat",
	"CodeComplex",
	"CodeBool",
	"CodeFloat8E3M4",
	"CodeFloat8E4M3",
	"CodeFloat8E4M3B11FNUZ",
	"CodeFloat8E4M3FN",
	"CodeFloat8E4M3FNUZ",
	"CodeFloat8E5M2",
	"CodeFloat8E5M2FNUZ",
	"CodeFloat8E8M0FNU",
	"CodeFloat6E2M3FN",
	"CodeFloat6E3M2FN",
	"CodeFloat4E2M1FN",
	"CodeBcomplex",
}

// String has the names of the bits, such as "FlagReadOnly", joined by "|".
func (v TensorFlags) String() string {
	return bitNames(v, namesOfTensorFlags)
}

var namesOfTensorFlags = []string{
	"FlagReadOnly",
	"FlagIsCopied",
	"FlagIsSubbyteTypePadded",
}
