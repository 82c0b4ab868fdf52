// SPDX-License-Identifier: Apache-2.0
// Errors, names, negotiation, devices, streams and processes.

package dlbridge_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

func TestErrorHasEverything(t *testing.T) {
	bad := ctest.New(ctest.Spec{DeviceType: 1, NDim: 2, Code: 2, Bits: 32, Lanes: 1,
		Shape: []int64{2, -3}, Strides: []int64{1, 1}})
	defer bad.Free()
	err := dlbridge.Borrow(bad.Borrowed(), 0).Validate(nil)
	var failure *dlbridge.Error
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	want := dlbridge.Error{Status: dlbridge.StatusInvalidTensor, Rule: dlbridge.RuleExtentNegative, Axis: 1,
		Message: failure.Message}
	if *failure != want || !strings.Contains(err.Error(), "(EXTENT_NEGATIVE, axis 1)") {
		t.Errorf("%+v: %v", failure, err)
	}
	if errors.Is(err, dlbridge.StatusPolicy) || errors.Is(err, dlbridge.RuleNone) ||
		errors.Is(err, os.ErrNotExist) {
		t.Error("matches another error")
	}
	if dlbridge.StatusPolicy.String() != "ERROR_POLICY" || dlbridge.StatusPolicy.Error() == "" ||
		dlbridge.Status(999).String() != "UNKNOWN_STATUS" || dlbridge.Rule(999).String() != "UNKNOWN_RULE" ||
		dlbridge.RuleAlignment.Error() == "" {
		t.Error("names")
	}
}

func TestBorrowedTensor(t *testing.T) {
	p := ctest.Float32([]float32{1, 2, 3, 4}, 2, 2)
	defer p.Free()
	borrowed := dlbridge.Borrow(p.Borrowed(), dlbridge.FlagReadOnly)
	if layout := must(borrowed.Layout())(t); layout.PackedBytes != 16 || layout.ItemBits != 32 {
		t.Errorf("%+v", layout)
	}
	if version := must(borrowed.RequiredVersion())(t); version.String() != "1.0" {
		t.Error(version)
	}
	if text := borrowed.String(); !strings.HasPrefix(text, "float32") {
		t.Error(text)
	}
	if findings := must(borrowed.Diagnose(nil))(t); len(findings) != 0 {
		t.Error(findings)
	}
	duplicate := must(borrowed.Copy(dlbridge.CopySpec{}))(t)
	if duplicate.String() == "" {
		t.Error("no text")
	}
	_ = duplicate.Close()
	isError(t, dlbridge.Borrow(nil, 0).Validate(nil), dlbridge.StatusInvalidArgument)
}

// More findings than fit into the buffer of the first call.
func TestDiagnoseMany(t *testing.T) {
	shape, strides := make([]int64, 20), make([]int64, 20)
	for i := range shape {
		shape[i] = -1
	}
	p := ctest.New(ctest.Spec{DeviceType: 1, NDim: 20, Code: 2, Bits: 32, Lanes: 1, Shape: shape,
		Strides: strides})
	defer p.Free()
	findings := must(dlbridge.Borrow(p.Borrowed(), 0).Diagnose(&dlbridge.Policy{}))(t)
	if len(findings) < 20 || findings[19].Axis != 19 || findings[19].Found != "-1" {
		t.Errorf("%d findings, %+v", len(findings), findings)
	}
	_, err := dlbridge.Borrow(p.Borrowed(), 0).Diagnose(&dlbridge.Policy{Level: 99})
	isError(t, err, dlbridge.StatusTooNew)
}

func TestNames(t *testing.T) {
	for _, name := range []string{"float32", "bfloat16x4", "float8_e4m3fn", "dtype(99,8,1)"} {
		if got := must(dlbridge.ParseDType(name))(t).String(); got != name {
			t.Error(got)
		}
	}
	if got := must(dlbridge.ParseDevice("cuda"))(t).String(); got != "cuda:0" {
		t.Error(got)
	}
	_, err := dlbridge.ParseDType("")
	isError(t, err, dlbridge.StatusParse)
	_, err = dlbridge.ParseDevice("nowhere:1")
	isError(t, err, dlbridge.StatusParse)
	for device, want := range map[dlbridge.DeviceType]dlbridge.Answer{dlbridge.DeviceCUDA: dlbridge.AnswerNo,
		dlbridge.DeviceCPU: dlbridge.AnswerYes, dlbridge.DeviceOneAPI: dlbridge.AnswerUndecided} {
		if device.HostAccess() != want || device.HostAccessible() != (want == dlbridge.AnswerYes) {
			t.Error(device, device.HostAccess(), device.HostAccessible())
		}
	}
}

func TestLibrary(t *testing.T) {
	if dlbridge.LibraryVersionNumber() < 300 || dlbridge.LibraryVersion() == "" || dlbridge.API() == nil {
		t.Error(dlbridge.LibraryVersionNumber(), dlbridge.LibraryVersion())
	}
}

func TestImportOfAnyKind(t *testing.T) {
	tensor := must(dlbridge.Import(producer(t).Legacy(), dlbridge.KindUnknown, nil))(t)
	pointer, kind, err := tensor.Export(dlbridge.Version{Major: 1}, nil)
	if err != nil || kind != dlbridge.KindVersioned || dlbridge.Identify(pointer) != dlbridge.KindVersioned {
		t.Fatal(kind, err)
	}
	again := must(dlbridge.Import(pointer, dlbridge.KindUnknown, nil))(t)
	_ = must(again.Share())(t).Close()
	_ = again.Close()
	_, err = dlbridge.Import(nil, dlbridge.KindUnknown, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	if dlbridge.Identify(nil) != dlbridge.KindUnknown {
		t.Error(dlbridge.Identify(nil))
	}
}

// An error leaves the tensor to the caller, who may correct it and call again.
func TestImportThatFails(t *testing.T) {
	p := producer(t)
	p.SetNDim(-1)
	_, err := dlbridge.Import(p.Legacy(), dlbridge.KindLegacy, &dlbridge.ConvertOptions{})
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleNDimNegative)
	p.SetNDim(2)
	_, err = dlbridge.Import(p.Legacy(), dlbridge.KindLegacy, &dlbridge.ConvertOptions{
		Options: dlbridge.ConvertDropReadOnly})
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.Import(p.Legacy(), dlbridge.KindBorrowed, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	if p.Deletes() != 0 {
		t.Error("a failed call released its source")
	}
	_ = must(dlbridge.Import(p.Legacy(), dlbridge.KindLegacy, nil))(t).Close()
}

func TestExportAndRelease(t *testing.T) {
	p := producer(t)
	_, _, err := dlbridge.Export(p.Legacy(), dlbridge.KindLegacy, dlbridge.Version{}, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	legacy := dlbridge.TakeLegacy(p.Legacy())
	_, _, err = legacy.Export(dlbridge.Version{}, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	must(legacy.Detach())(t) // the failed call left it there
	pointer, kind, err := dlbridge.Export(p.Legacy(), dlbridge.KindLegacy, dlbridge.Version{Minor: 8}, nil)
	if err != nil || pointer != p.Legacy() || kind != dlbridge.KindLegacy {
		t.Fatal(pointer, kind, err)
	}
	pointer, kind, err = dlbridge.Export(pointer, kind, dlbridge.Version{Major: 1, Minor: 1}, nil)
	if err != nil || kind != dlbridge.KindVersioned {
		t.Fatal(kind, err)
	}
	for _, wrong := range []dlbridge.Kind{dlbridge.KindUnknown, dlbridge.KindBorrowed, dlbridge.KindAmbiguous, 9} {
		isError(t, dlbridge.Release(pointer, wrong), dlbridge.StatusInvalidArgument)
	}
	if p.Deletes() != 0 {
		t.Error("released by a wrong kind")
	}
	if err := dlbridge.Release(pointer, kind); err != nil || dlbridge.Release(nil, kind) != nil {
		t.Error(err)
	}
}

func TestPolicyOfShape(t *testing.T) {
	p := producer(t)
	defer dlbridge.TakeLegacy(p.Legacy()).Close()
	borrowed := dlbridge.Borrow(p.Borrowed(), 0)
	for _, policy := range []dlbridge.Policy{
		{Shape: []int64{2, 3}}, {Shape: []int64{-1, 3}},
		{Options: dlbridge.PolicyLimitNDim, MaxNDim: 2},
		{Options: dlbridge.PolicyLimitNDim, MinNDim: 2, MaxNDim: 2, Shape: []int64{2, -1}},
		{Options: dlbridge.PolicyLimitBuffer, BufferSize: 24},
	} {
		if err := borrowed.Validate(&policy); err != nil {
			t.Errorf("%+v: %v", policy, err)
		}
	}
	err := borrowed.Validate(&dlbridge.Policy{Shape: []int64{2, 4}})
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleShapeMismatch)
	for _, policy := range []dlbridge.Policy{{Shape: []int64{}}, {Shape: []int64{2, 3, 1}},
		{Options: dlbridge.PolicyLimitNDim, MaxNDim: 1}} {
		isError(t, borrowed.Validate(&policy), dlbridge.StatusPolicy, dlbridge.RuleNDimLimit)
	}
	// Rejected: a limit without its option, limits that differ from the shape, and empty lists.
	for _, policy := range []dlbridge.Policy{{MaxNDim: 2}, {BufferSize: 24}, {Shape: make([]int64, 65)},
		{Options: dlbridge.PolicyLimitNDim, Shape: []int64{2, 3}}, {MaxNDim: 3, Shape: []int64{2, 3}},
		{Devices: []dlbridge.Device{}}, {DTypes: []dlbridge.DType{}},
		{Options: dlbridge.PolicyOptions(dlbridge.FlagReadOnly)}} {
		isError(t, borrowed.Validate(&policy), dlbridge.StatusInvalidArgument)
		_, err := borrowed.Diagnose(&policy)
		isError(t, err, dlbridge.StatusInvalidArgument)
		_, err = dlbridge.Import(p.Legacy(), dlbridge.KindLegacy, &dlbridge.ConvertOptions{Policy: &policy})
		isError(t, err, dlbridge.StatusInvalidArgument)
		_, err = borrowed.Copy(dlbridge.CopySpec{Policy: &policy})
		isError(t, err, dlbridge.StatusInvalidArgument)
	}
}

// The zero value of each spec is its default, or is rejected with the name of the field.
func TestZeroValues(t *testing.T) {
	_, err := dlbridge.Wrap(dlbridge.WrapSpec{DType: dlbridge.DTypeOf[int8]()})
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.Wrap(dlbridge.WrapSpec{Device: dlbridge.CPU})
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.Allocate(dlbridge.AllocateSpec{})
	isError(t, err, dlbridge.StatusInvalidArgument)
	isError(t, dlbridge.Stream{}.Synchronize(), dlbridge.StatusInvalidArgument)
	scalar := must(dlbridge.Allocate(dlbridge.AllocateSpec{DType: dlbridge.DTypeOf[int8]()}))(t)
	defer scalar.Close()
	if info := must(scalar.Info())(t); len(info.Shape) != 0 || info.Device != dlbridge.CPU ||
		info.Version != (dlbridge.Version{Major: 1, Minor: 3}) {
		t.Errorf("%+v", info)
	}
	_ = must(scalar.View(dlbridge.ViewSpec{}))(t).Close()
	_ = must(scalar.Copy(dlbridge.CopySpec{}))(t).Close()
	if err := scalar.Validate(&dlbridge.Policy{}); err != nil {
		t.Error(err)
	}
	_ = must(scalar.Import(&dlbridge.ConvertOptions{}))(t).Close()
}

func TestViewOfAnotherDType(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]int32{-1, 1}, dlbridge.LendSpec{}))(t)
	defer tensor.Close()
	view := must(tensor.View(dlbridge.ViewSpec{DType: dlbridge.DTypeOf[uint32](), Shape: []int64{2}}))(t)
	defer view.Close()
	elements := must(dlbridge.Read[uint32](view))(t)
	defer elements.Close()
	if elements.Index(0) != 1<<32-1 {
		t.Error(elements.Index(0))
	}
	_, err := tensor.View(dlbridge.ViewSpec{DType: dlbridge.DTypeOf[int8](), Shape: []int64{2}})
	isError(t, err, dlbridge.StatusInvalidArgument)
}

func TestRoundTripReturnsTheOriginal(t *testing.T) {
	p := producer(t)
	foreign := dlbridge.TakeVersioned(p.Versioned())
	legacy := must(foreign.Downgrade(nil))(t)
	tensor := must(legacy.Upgrade(nil))(t)
	if tensor.Pointer() != p.Versioned() {
		t.Error("another tensor")
	}
	_ = tensor.Close()
}

func TestExchangeAPI(t *testing.T) {
	chain := ctest.Chain([]ctest.Table{{Major: 2}, {Major: 1, Minor: 3, Missing: 1}, {Major: 1, Minor: 2}}, false)
	defer ctest.FreeChain(chain)
	found := must(dlbridge.FindExchangeAPI(chain, dlbridge.NewestVersion()))(t)
	if found.Version() != (dlbridge.Version{Major: 1, Minor: 2}) {
		t.Error(found.Version())
	}
	_, err := dlbridge.FindExchangeAPI(nil, dlbridge.NewestVersion())
	isError(t, err, dlbridge.StatusInvalidArgument)
}

func TestDevicesOfTheHost(t *testing.T) {
	info := must(dlbridge.QueryBackend(dlbridge.BackendCPU))(t)
	if info.State != dlbridge.StateReady || info.DeviceCount != 1 {
		t.Errorf("%+v", info)
	}
	memory := ctest.Malloc(8)
	defer ctest.Free(memory)
	where := must(dlbridge.QueryPointer(dlbridge.AddressOf(memory), dlbridge.CPU))(t)
	if where.Memory != dlbridge.MemoryHost || where.NativeDevice != -1 {
		t.Errorf("%+v", where)
	}
	host := must(dlbridge.StreamFromArrayAPI(dlbridge.CPU, dlbridge.ArrayAPIStreamNone))(t)
	if err := errors.Join(dlbridge.StreamHandoff(host, host, 0), host.Synchronize()); err != nil {
		t.Error(err)
	}
	if err := dlbridge.ModulePin(uintptr(dlbridge.API())); err != nil {
		t.Error(err)
	}
	isError(t, dlbridge.ModulePin(uintptr(memory)), dlbridge.StatusNotFound)
}

// The environment variable with the descriptor for the child process.
const importerVariable = "DLBRIDGE_TEST_IMPORTER"

func TestBetweenProcesses(t *testing.T) {
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{2, 2},
		DType: dlbridge.DTypeOf[int32](), Options: dlbridge.AllocateShareable}))(t)
	defer tensor.Close()
	look := must(dlbridge.Write[int32](tensor))(t)
	defer look.Close()
	look.Set(42, 1, 1)
	descriptor, files, err := tensor.ExportIPC(0)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(must(os.Executable())(t), "-test.run=TestImporter")
	command.Env = append(os.Environ(), importerVariable+"="+string(must(json.Marshal(descriptor))(t)))
	command.ExtraFiles = files
	if output, err := command.CombinedOutput(); err != nil {
		t.Error(err, string(output))
	}
	for _, file := range files {
		_ = file.Close()
	}
	if look.At(0, 0) != 43 {
		t.Error("the importer wrote nothing:", look.At(0, 0))
	}
	_, err = dlbridge.ImportIPC(descriptor, files, 0, nil) // closed files
	isError(t, err, dlbridge.StatusDescriptor)
	_, err = dlbridge.ImportIPC(nil, nil, 0, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
}

// TestImporter is the child of TestBetweenProcesses.
func TestImporter(t *testing.T) {
	text := os.Getenv(importerVariable)
	if text == "" {
		t.Skip("runs as the child of TestBetweenProcesses")
	}
	var descriptor []byte
	if err := json.Unmarshal([]byte(text), &descriptor); err != nil {
		t.Fatal(err)
	}
	tensor := must(dlbridge.ImportIPC(descriptor, []*os.File{os.NewFile(3, "tensor")}, 0,
		&dlbridge.Policy{Contiguity: dlbridge.ContiguityC}))(t)
	defer tensor.Close()
	look := must(dlbridge.Write[int32](tensor))(t)
	defer look.Close()
	look.Set(look.At(1, 1)+1, 0, 0)
}

// A descriptor that is larger than the first buffer.
func TestExportOfManyAxes(t *testing.T) {
	shape := slices.Repeat([]int64{1}, dlbridge.MaxNDim)
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: shape, DType: dlbridge.DTypeOf[int8](),
		Options: dlbridge.AllocateShareable}))(t)
	defer tensor.Close()
	descriptor, files, err := tensor.ExportIPC(dlbridge.IPCReadOnly)
	if err != nil || len(descriptor) <= 512 || len(files) != 1 {
		t.Fatal(len(descriptor), files, err)
	}
	imported := must(dlbridge.ImportIPC(descriptor, files, dlbridge.IPCReadOnly, nil))(t)
	defer imported.Close()
	_ = files[0].Close()
	if got := must(imported.Shape())(t); !slices.Equal(got, shape) {
		t.Error(got)
	}
}

func TestExportOfUnshareableMemory(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]int8{1}, dlbridge.LendSpec{}))(t)
	defer tensor.Close()
	_, _, err := tensor.ExportIPC(0)
	isError(t, err, dlbridge.StatusUnsupported)
}
