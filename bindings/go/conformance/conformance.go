// SPDX-License-Identifier: Apache-2.0

// Package conformance checks how a library produces and consumes DLPack tensors. It runs the kit for C,
// whose archive pkg-config finds as dlbridge-conformance.
//
// Implement [Project] for the library and call [Test] from a test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Test(t, myProject{}, conformance.Settings{Name: "mine"})
//	}
//
// The checks run in processes of their own, which start the test binary again, so that a crash or a hang
// fails one check only. The kit's documentation, docs/conformance_c.md, describes checks, severities and
// the file of known deviations.
package conformance

// #cgo pkg-config: dlbridge-conformance
// #include "bridge.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/cgo"
	"testing"
	"time"
	"unsafe"
)

// A Kind is the struct that a managed tensor is.
type Kind int32

const (
	Legacy    Kind = 1 // DLManagedTensor
	Versioned Kind = 2 // DLManagedTensorVersioned
)

// Flags of a request.
const (
	ReadOnly uint64 = 1 << 0 // of an immutable array
	Copied   uint64 = 1 << 1 // export a copy
	Padded   uint64 = 1 << 2 // elements of less than 8 bits are padded
)

// Features that a library may lack.
const (
	FeatureLegacy uint32 = 1 << iota
	FeatureVersioned
	FeatureStrides
	FeatureNegativeStrides
	FeatureZeroStrides
	FeatureByteOffset
	FeatureScalar
	FeatureEmpty
	FeatureReadOnly
	FeatureCopy
	FeatureSubByte
	FeaturePadded
	FeatureUnaligned
	FeatureSharing
	FeatureNullDeleter
	FeatureExchangeObjects
)

// A Device is a DLDevice.
type Device struct{ Type, ID int32 }

// A DType is a DLDataType.
type DType struct {
	Code, Bits uint8
	Lanes      uint16
}

// A Request is a tensor that the project is to make.
type Request struct {
	Kind     Kind
	Shape    []int64
	Strides  []int64 // in elements; nil: compact, last axis fastest
	DType    DType
	Flags    uint64
	Device   Device
	Features uint32 // those that the request needs
	Values   []byte // the elements in row-major order without gaps; valid during the call
	// Queue is nil, or the queue on which the project has to write the values, as a device would.
	Queue *Queue
	// Consumer is, with Queue, the consumer's queue, whose later work must see the values. Nil: the
	// values must be there at return.
	Consumer *Queue
}

// An Offer is a tensor for the project to consume.
type Offer struct {
	Tensor   Tensor
	Features uint32 // those that the tensor needs
	// Queue is nil, or the queue on which the project has to read. Work on it sees the values, and the
	// memory must live until that work is done.
	Queue *Queue
}

// A Tensor is a managed tensor in C memory.
type Tensor struct {
	Pointer unsafe.Pointer
	Kind    Kind
}

// An Unsupported error states that the library lacks a feature, which Settings has to declare. Other
// errors reject the tensor or the request.
type Unsupported string

func (reason Unsupported) Error() string { return string(reason) }

// A Project is a library to check. A panic rejects the tensor or the request.
type Project interface {
	// Make makes an array, which may be nil, and a managed tensor of it that the kit owns.
	Make(request *Request) (Tensor, any, error)
	// Consume takes a tensor over. After an error it is untouched, and the kit's.
	Consume(offer *Offer) (any, error)
	// Read returns the elements in row-major order without gaps.
	Read(array any) ([]byte, error)
	// Release ends an array of Make or Consume.
	Release(array any)
}

// A Writer is a Project that overwrites the elements of an array.
type Writer interface {
	Write(array any, values []byte) error
}

// A Counter is a Project that counts its live arrays.
type Counter interface {
	Live() int64
}

// A Collector is a Project that frees later what Release has left.
type Collector interface {
	Collect()
}

// An Exchanger is a Project with a table of the C exchange API. ExchangeAPI returns the newest
// DLPackExchangeAPIHeader, which lives as long as the process. The table's objects are arrays here, see
// [ArrayOf] and [ObjectOf]. A table that needs Python's objects declares FeatureExchangeObjects.
type Exchanger interface {
	ExchangeAPI() unsafe.Pointer
}

// ArrayOf returns the array that an object of the table is.
func ArrayOf(object unsafe.Pointer) any { return cgo.Handle(uintptr(object)).Value() }

// ObjectOf makes an object of the table, which owns the array until the kit releases it.
func ObjectOf(array any) unsafe.Pointer { return C.godlc_object(C.uintptr_t(cgo.NewHandle(array))) }

// Settings say how to run the checks.
type Settings struct {
	Name        string        // of the library, for the reports
	Only        string        // run the checks whose names contain this text
	Rounds      uint32        // of the checks for leaks; 0: 100,000
	TimeLimit   time.Duration // for each check; 0: 10 seconds
	TAP         string        // write TAP 14 to this file
	JUnit       string        // write JUnit XML to this file
	Quirks      string        // a file of known deviations
	Unsupported uint32        // features that the library lacks
	DTypes      []DType       // supported dtypes; nil: all
	QueueDevice Device        // of the queues, in host memory; {}: the order of work is not checked
	// Command starts this program so that it calls Run with the same project again. Without it, the
	// checks run in this process, and a crash ends it. Test sets it.
	Command []string
}

// An Outcome is the outcome of a check.
type Outcome int32

const (
	Passed  Outcome = 0
	Failed  Outcome = 1
	Known   Outcome = 2 // failed, as the quirks say
	Skipped Outcome = 3
	Stale   Outcome = 4 // a quirk that no longer occurs
)

// A Result is the result of a check. Severity is 1 crash, 2 corruption, 3 leak, 4 wrong answer or
// 5 deviation; 0 unless it failed.
type Result struct {
	Check, Specification, Expected, Found, Reproducer string
	Outcome                                           Outcome
	Severity                                          int32
}

// A Report has one result for each check. It has none in a process that [Settings.Command] has started
// for another project.
type Report struct {
	Results []Result
}

// Success reports whether no check failed and at least one passed.
func (report *Report) Success() bool {
	passed := false
	for _, result := range report.Results {
		if result.Outcome == Failed || result.Outcome == Stale {
			return false
		}
		passed = passed || result.Outcome == Passed
	}
	return passed
}

type run struct {
	project Project
	report  Report
}

// Run runs the checks. Its error is about the settings, not about what the checks find.
func Run(project Project, settings Settings) (*Report, error) {
	if project == nil || settings.Name == "" {
		return nil, errors.New("conformance: expected a project and Settings.Name")
	}
	state := &run{project: project}
	handle := cgo.NewHandle(state)
	defer handle.Delete()
	arguments, free := arguments(&settings)
	defer free()
	arguments.user = C.uintptr_t(handle)
	_, writes := project.(Writer)
	_, counts := project.(Counter)
	_, collects := project.(Collector)
	_, exchanges := project.(Exchanger)
	arguments.exchanges = flag(exchanges)
	arguments.writes, arguments.counts, arguments.collects = flag(writes), flag(counts), flag(collects)
	var summary C.DLBridgeConformanceSummary
	message := (*C.char)(C.calloc(1, 256))
	defer C.free(unsafe.Pointer(message))
	if C.godlc_start(arguments, &summary, message) != 0 {
		return nil, fmt.Errorf("conformance: %s", C.GoString(message))
	}
	return &state.report, nil
}

// Test runs the checks, with a subtest for each. It must be called by the test function itself, not by a
// subtest, and only once: its processes run that test function again.
func Test(t *testing.T, project Project, settings Settings) {
	t.Helper()
	settings.Command = []string{os.Args[0], "-test.run=^" + regexp.QuoteMeta(t.Name()) + "$", "-test.count=1"}
	report, err := Run(project, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Results {
		t.Run(result.Check, func(t *testing.T) { result.judge(t) })
	}
}

func (result Result) judge(t *testing.T) {
	switch result.Outcome {
	case Skipped, Known:
		t.Skip(result.Found)
	case Failed, Stale:
		t.Errorf("expected %s, found %s\n%s\n%s", result.Expected, result.Found, result.Specification,
			result.Reproducer)
	}
}

func flag(set bool) C.int32_t {
	if set {
		return 1
	}
	return 0
}

// arguments returns the settings in C memory, and a function that frees it.
func arguments(settings *Settings) (*C.godlc_run, func()) {
	var blocks []unsafe.Pointer
	keep := func(block unsafe.Pointer) unsafe.Pointer {
		blocks = append(blocks, block)
		return block
	}
	text := func(value string) *C.char {
		if value == "" {
			return nil
		}
		return (*C.char)(keep(unsafe.Pointer(C.CString(value))))
	}
	out := (*C.godlc_run)(keep(C.calloc(1, C.size_t(unsafe.Sizeof(C.godlc_run{})))))
	out.name, out.only = text(settings.Name), text(settings.Only)
	out.tap_path, out.junit_path = text(settings.TAP), text(settings.JUnit)
	out.quirks_path = text(settings.Quirks)
	out.rounds = C.uint32_t(settings.Rounds)
	out.time_limit_ms = C.uint32_t(settings.TimeLimit.Milliseconds())
	out.unsupported = C.uint32_t(settings.Unsupported)
	out.queue_device.device_type = C.DLDeviceType(settings.QueueDevice.Type)
	out.queue_device.device_id = C.int32_t(settings.QueueDevice.ID)
	out.isolation = C.DLBRIDGE_CONFORMANCE_ISOLATION_NONE
	if count := len(settings.Command); count > 0 {
		words := keep(C.calloc(C.size_t(count+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
		for i, word := range settings.Command {
			unsafe.Slice((**C.char)(words), count)[i] = text(word)
		}
		out.command = (**C.char)(words)
		out.queue_device.device_type = C.DLDeviceType(settings.QueueDevice.Type)
		out.queue_device.device_id = C.int32_t(settings.QueueDevice.ID)
		out.isolation = C.DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND
	}
	if count := len(settings.DTypes); count > 0 {
		dtypes := keep(C.calloc(C.size_t(count), C.size_t(unsafe.Sizeof(C.DLDataType{}))))
		for i, dtype := range settings.DTypes {
			unsafe.Slice((*C.DLDataType)(dtypes), count)[i] = C.DLDataType{
				code: C.uint8_t(dtype.Code), bits: C.uint8_t(dtype.Bits), lanes: C.uint16_t(dtype.Lanes),
			}
		}
		out.dtypes, out.dtype_count = (*C.DLDataType)(dtypes), C.size_t(count)
	}
	return out, func() {
		for _, block := range blocks {
			C.free(block)
		}
	}
}
