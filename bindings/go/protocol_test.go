// SPDX-License-Identifier: Apache-2.0
// Errors, names, negotiation, devices, streams and processes.

package dlbridge_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

func TestErrorSaysAll(t *testing.T) {
	bad := ctest.New(ctest.Spec{DeviceType: 1, NDim: 2, Code: 2, Bits: 32, Lanes: 1,
		Shape: []int64{2, -3}, Strides: []int64{1, 1}})
	defer bad.Free()
	err := dlbridge.Borrow(bad.Bare(), 0).Validate(nil)
	var refusal *dlbridge.Error
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	want := dlbridge.Error{Status: dlbridge.StatusInvalidTensor, Rule: dlbridge.RuleDimNegative, Axis: 1,
		Message: refusal.Message}
	if *refusal != want || !strings.Contains(err.Error(), "(DIM_NEGATIVE, axis 1)") {
		t.Errorf("%+v: %v", refusal, err)
	}
	if errors.Is(err, dlbridge.StatusPolicy) || errors.Is(err, dlbridge.RuleNone) ||
		errors.Is(err, os.ErrNotExist) {
		t.Error("is what it is not")
	}
	if dlbridge.StatusPolicy.String() != "ERROR_POLICY" || dlbridge.StatusPolicy.Error() == "" ||
		dlbridge.Status(999).String() != "UNKNOWN_STATUS" || dlbridge.Rule(999).String() != "UNKNOWN_RULE" ||
		dlbridge.RuleAlignment.Error() == "" {
		t.Error("names")
	}
}

func TestBareTensor(t *testing.T) {
	p := ctest.Float32([]float32{1, 2, 3, 4}, 2, 2)
	defer p.Free()
	bare := dlbridge.Borrow(p.Bare(), dlbridge.FlagReadOnly)
	if layout := must(bare.Layout())(t); layout.PackedBytes != 16 || layout.ItemBits != 32 {
		t.Errorf("%+v", layout)
	}
	if version := must(bare.RequiredVersion())(t); version.String() != "1.0" {
		t.Error(version)
	}
	if text := bare.String(); !strings.HasPrefix(text, "float32") {
		t.Error(text)
	}
	if findings := must(bare.Diagnose(nil))(t); len(findings) != 0 {
		t.Error(findings)
	}
	duplicate := must(bare.Copy(dlbridge.CopySpec{}))(t)
	if duplicate.String() == "" {
		t.Error("no text")
	}
	_ = duplicate.Close()
	isError(t, dlbridge.Borrow(nil, 0).Validate(nil), dlbridge.StatusInvalidArgument)
}

// More findings than the first look has room for.
func TestDiagnoseMany(t *testing.T) {
	shape, strides := make([]int64, 20), make([]int64, 20)
	for i := range shape {
		shape[i] = -1
	}
	p := ctest.New(ctest.Spec{DeviceType: 1, NDim: 20, Code: 2, Bits: 32, Lanes: 1, Shape: shape,
		Strides: strides})
	defer p.Free()
	findings := must(dlbridge.Borrow(p.Bare(), 0).Diagnose(&dlbridge.Policy{}))(t)
	if len(findings) < 20 || findings[19].Axis != 19 || findings[19].Found != "-1" {
		t.Errorf("%d findings, %+v", len(findings), findings)
	}
	_, err := dlbridge.Borrow(p.Bare(), 0).Diagnose(&dlbridge.Policy{Level: 99})
	isError(t, err, dlbridge.StatusInvalidArgument)
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
	if dlbridge.DeviceCUDA.HostAccessible() != dlbridge.AnswerNo {
		t.Error("the CPU reads CUDA's memory")
	}
}

func TestLibrary(t *testing.T) {
	if dlbridge.LibraryVersionNumber() < 200 || dlbridge.LibraryVersion() == "" || dlbridge.API() == nil {
		t.Error(dlbridge.LibraryVersionNumber(), dlbridge.LibraryVersion())
	}
}

func TestImportAny(t *testing.T) {
	legacy := must(dlbridge.ImportAny(producer(t).Legacy()))(t)
	if _, is := legacy.(*dlbridge.Legacy); !is {
		t.Errorf("%T", legacy)
	}
	tensor := must(dlbridge.Convert(legacy, dlbridge.Version{Major: 1}, nil))(t).(*dlbridge.Tensor)
	again := must(dlbridge.ImportAny(must(tensor.Detach())(t)))(t)
	if _, is := again.(*dlbridge.Foreign); !is {
		t.Errorf("%T", again)
	}
	_ = again.Close()
	_, err := dlbridge.ImportAny(nil)
	isError(t, err, dlbridge.StatusUnknownCode)
}

func TestRoundTripHandsBackTheOriginal(t *testing.T) {
	p := producer(t)
	foreign := dlbridge.ImportVersioned(p.Versioned())
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
	where := must(dlbridge.QueryPointer(dlbridge.Buffer{Handle: uint64(memory)}, dlbridge.CPU))(t)
	if where.Memory != dlbridge.MemoryHost || where.NativeDevice != -1 {
		t.Errorf("%+v", where)
	}
	host := must(dlbridge.StreamFromArrayAPI(dlbridge.CPU, dlbridge.ArrayAPIStreamNone))(t)
	if err := errors.Join(dlbridge.Handoff(host, host, 0), host.Synchronize()); err != nil {
		t.Error(err)
	}
	if err := dlbridge.PinModule(uintptr(dlbridge.API())); err != nil {
		t.Error(err)
	}
	isError(t, dlbridge.PinModule(memory), dlbridge.StatusNotFound)
}

// What a child process is told beside the descriptor.
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

func TestExportOfWhatCannotBeShared(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]int8{1}, dlbridge.LendSpec{}))(t)
	defer tensor.Close()
	_, _, err := tensor.ExportIPC(0)
	isError(t, err, dlbridge.StatusUnsupported)
}
