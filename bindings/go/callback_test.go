// SPDX-License-Identifier: Apache-2.0
// Callbacks of Go's: on any thread, and never with a panic into C.

package dlbridge_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// panics collects what OnPanic is told during a test.
func panics(t *testing.T) func() []any {
	var mutex sync.Mutex
	var values []any
	dlbridge.OnPanic(func(value any) {
		mutex.Lock()
		defer mutex.Unlock()
		values = append(values, value)
	})
	t.Cleanup(func() { dlbridge.OnPanic(nil) })
	return func() []any {
		mutex.Lock()
		defer mutex.Unlock()
		return values
	}
}

func wrapped(t *testing.T, release func(dlbridge.Buffer)) *dlbridge.Tensor {
	memory := ctest.Malloc(64)
	t.Cleanup(func() { ctest.Free(memory) })
	return must(dlbridge.Wrap(dlbridge.WrapSpec{
		Buffer:  dlbridge.Buffer{Kind: dlbridge.BufferAddress, Handle: uint64(memory)},
		Shape:   []int64{16},
		DType:   dlbridge.DTypeOf[float32](),
		Release: release,
	}))(t)
}

func TestReleaseRunsOnceOnAnyThread(t *testing.T) {
	var runs atomic.Int32
	tensor := wrapped(t, func(dlbridge.Buffer) { runs.Add(1) })
	share := must(tensor.Share())(t)
	_ = tensor.Close()
	ctest.ReleaseOnThread(must(share.Detach())(t), ctest.Versioned)
	if runs.Load() != 1 {
		t.Errorf("the release callback ran %d times", runs.Load())
	}
}

func TestReleaseThatPanics(t *testing.T) {
	told := panics(t)
	_ = wrapped(t, func(dlbridge.Buffer) { panic("mine") }).Close()
	ctest.ReleaseOnThread(must(wrapped(t, func(dlbridge.Buffer) { panic("other") }).Detach())(t),
		ctest.Versioned)
	if values := told(); len(values) != 2 || values[0] != "mine" || values[1] != "other" {
		t.Errorf("%v", values)
	}
}

func TestHandlerThatPanics(t *testing.T) {
	dlbridge.OnPanic(func(any) { panic("again") })
	defer dlbridge.OnPanic(nil)
	_ = wrapped(t, func(dlbridge.Buffer) { panic("mine") }).Close()
}

// A callback may use the package, also to close what it belongs to.
func TestReleaseThatUsesThePackage(t *testing.T) {
	inner := must(dlbridge.ImportLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	_ = wrapped(t, func(dlbridge.Buffer) { _ = inner.Close() }).Close()
}

func TestReleaseIsNotCalledOnRefusal(t *testing.T) {
	_, err := dlbridge.Wrap(dlbridge.WrapSpec{
		Shape:   []int64{-1},
		DType:   dlbridge.DTypeOf[float32](),
		Release: func(dlbridge.Buffer) { t.Error("called") },
	})
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleDimNegative)
	_, err = dlbridge.WrapLegacy(dlbridge.WrapSpec{
		DType:   dlbridge.DTypeOf[float32](),
		Version: dlbridge.Version{Major: 1},
		Release: func(dlbridge.Buffer) { t.Error("called") },
	})
	isError(t, err, dlbridge.StatusInvalidArgument)
}

func TestAllocatorThatPanics(t *testing.T) {
	told := panics(t)
	allocator := must(dlbridge.NewAllocator(
		func(dlbridge.Device, uint64, uint64) uintptr { panic("no") },
		func(dlbridge.Device, uintptr, uint64, uint64) {}))(t)
	_, err := dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{4},
		DType: dlbridge.DTypeOf[int32](), Allocator: allocator})
	isError(t, err, dlbridge.StatusOutOfMemory)
	if len(told()) != 1 || allocator.Blocks() != 0 {
		t.Error(told(), allocator.Blocks())
	}
}

func TestDeallocateThatPanics(t *testing.T) {
	told := panics(t)
	allocator := must(dlbridge.NewAllocator(
		func(_ dlbridge.Device, size, alignment uint64) uintptr { return ctest.AlignedAlloc(alignment, size) },
		func(_ dlbridge.Device, memory uintptr, _, _ uint64) {
			ctest.Free(memory)
			panic("late")
		}))(t)
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{4},
		DType: dlbridge.DTypeOf[int32](), Allocator: allocator}))(t)
	_ = tensor.Close()
	if len(told()) != 1 || allocator.Blocks() != 0 {
		t.Error(told(), allocator.Blocks())
	}
}

// Closed while its memory is in use, an allocator still takes that memory back.
func TestAllocatorClosedFirst(t *testing.T) {
	var out atomic.Int32
	allocator := must(dlbridge.NewAllocator(
		func(_ dlbridge.Device, size, alignment uint64) uintptr {
			out.Add(1)
			return ctest.AlignedAlloc(alignment, size)
		},
		func(_ dlbridge.Device, memory uintptr, _, _ uint64) {
			out.Add(-1)
			ctest.Free(memory)
		}))(t)
	spec := dlbridge.AllocateSpec{Shape: []int64{2, 2}, DType: dlbridge.DTypeOf[float64](), Allocator: allocator}
	tensor := must(dlbridge.Allocate(spec))(t)
	_, _ = allocator.Close(), allocator.Close()
	_, err := dlbridge.Allocate(spec)
	isError(t, err, dlbridge.ErrClosed)
	if allocator.Blocks() != 1 {
		t.Error(allocator.Blocks())
	}
	ctest.ReleaseOnThread(must(tensor.Detach())(t), ctest.Versioned)
	if out.Load() != 0 || allocator.Blocks() != 0 {
		t.Error(out.Load(), allocator.Blocks())
	}
	spec.Allocator = new(dlbridge.Allocator)
	_, err = dlbridge.Allocate(spec)
	isError(t, err, dlbridge.StatusInvalidArgument)
	if err := spec.Allocator.Close(); err != nil {
		t.Error(err)
	}
	_, err = dlbridge.NewAllocator(nil, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
}

// A copy releases its source within the call, whose deleter may be Go's.
func TestUpgradeThatCopiesCallsBack(t *testing.T) {
	released := false
	legacy := must(dlbridge.FromSliceLegacy([]int16{1, 2, 3}, dlbridge.LendSpec{
		Release: func() { released = true }}))(t)
	tensor := must(legacy.Upgrade(&dlbridge.ConvertOptions{Flags: dlbridge.ConvertCopy}))(t)
	if !released {
		t.Error("the source was not released")
	}
	look := must(dlbridge.Write[int16](tensor))(t)
	if values := must(look.Slice())(t); len(values) != 3 || values[2] != 3 {
		t.Error(values)
	}
	_, _ = look.Close(), tensor.Close()
}

func TestContextTable(t *testing.T) {
	device := dlbridge.Device{Type: dlbridge.DeviceOneAPI, ID: 4711}
	var released []uint64
	entry := dlbridge.ContextEntry{Backend: dlbridge.BackendLevelZero, Device: device, Platform: 1,
		NativeDevice: 2, Context: 3, Queue: 4, QueueKind: dlbridge.StreamQueue, UUID: [16]byte{9},
		Release: func(gone dlbridge.ContextEntry) { released = append(released, gone.Context) }}
	id := must(dlbridge.RegisterDevice(entry))(t)
	_, err := dlbridge.RegisterDevice(entry)
	isError(t, err, dlbridge.StatusExists)
	found := must(dlbridge.LookupDevice(device, 0))(t)
	if found.ID != id || found.Queue != 4 || found.UUID != entry.UUID || found.Release != nil {
		t.Errorf("%+v", found)
	}
	met := 0
	for one := range dlbridge.Devices() {
		if one.ID == id {
			met++
		}
	}
	if met != 1 {
		t.Errorf("met %d times", met)
	}
	if err := dlbridge.RetainDevice(id); err != nil {
		t.Error(err)
	}
	if err := dlbridge.UnregisterDevice(id); err != nil || len(released) != 0 {
		t.Error(err, released)
	}
	if err := dlbridge.ReleaseDevice(id); err != nil || len(released) != 1 || released[0] != 3 {
		t.Error(err, released)
	}
	isError(t, dlbridge.ReleaseDevice(id), dlbridge.StatusNotFound)
	isError(t, dlbridge.UnregisterDevice(id), dlbridge.StatusNotFound)
	if dlbridge.ContextTable() == nil {
		t.Error("no table")
	}
}

func TestCopyToOwnMemory(t *testing.T) {
	released := 0
	memory := ctest.Malloc(64)
	defer ctest.Free(memory)
	tensor := must(dlbridge.ImportLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	spec := dlbridge.CopySpec{
		Target:     dlbridge.AddressOf(*(*unsafe.Pointer)(unsafe.Pointer(&memory))),
		TargetSize: 64,
		Release:    func(dlbridge.Buffer) { released++ },
	}
	spec.TargetSize = 4
	_, err := tensor.Copy(spec)
	isError(t, err, dlbridge.StatusBufferTooSmall)
	spec.TargetSize = 64
	duplicate := must(tensor.Copy(spec))(t)
	_ = tensor.Close()
	look := must(dlbridge.Write[float32](duplicate))(t)
	if look.At(1, 2) != 5 {
		t.Error(look.At(1, 2))
	}
	_, _ = look.Close(), duplicate.Close()
	if released != 1 {
		t.Error(released)
	}
}
