// SPDX-License-Identifier: Apache-2.0
// Go callbacks: on any thread, and never with a panic into C.

package dlbridge_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// panics collects the values that the panic handler gets during a test.
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

func wrapped(t *testing.T, release dlbridge.ReleaseFunc) *dlbridge.Tensor {
	memory := ctest.Malloc(64)
	t.Cleanup(func() { ctest.Free(memory) })
	return must(dlbridge.Wrap(dlbridge.WrapSpec{
		Buffer:  dlbridge.AddressOf(memory),
		Shape:   []int64{16},
		DType:   dlbridge.DTypeOf[float32](),
		Device:  dlbridge.CPU,
		Release: release,
	}))(t)
}

func TestReleaseRunsOnceOnAnyThread(t *testing.T) {
	var runs atomic.Int32
	tensor := wrapped(t, func(buffer dlbridge.Buffer, stream dlbridge.Stream) {
		if buffer.Kind != dlbridge.BufferAddress || buffer.Handle == (dlbridge.Handle{}) ||
			stream != (dlbridge.Stream{}) {
			t.Error(buffer, stream)
		}
		runs.Add(1)
	})
	share := must(tensor.Share())(t)
	_ = tensor.Close()
	ctest.ReleaseOnThread(must(share.Detach())(t), ctest.Versioned)
	if runs.Load() != 1 {
		t.Errorf("the release callback ran %d times", runs.Load())
	}
}

func TestReleaseThatPanics(t *testing.T) {
	values := panics(t)
	_ = wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) { panic("mine") }).Close()
	ctest.ReleaseOnThread(must(wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) { panic("other") }).Detach())(t),
		ctest.Versioned)
	if got := values(); len(got) != 2 || got[0] != "mine" || got[1] != "other" {
		t.Errorf("%v", got)
	}
}

func TestHandlerThatPanics(t *testing.T) {
	dlbridge.OnPanic(func(any) { panic("again") })
	defer dlbridge.OnPanic(nil)
	_ = wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) { panic("mine") }).Close()
}

// A callback may use the package, also to close what it belongs to.
func TestReleaseThatUsesThePackage(t *testing.T) {
	inner := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	_ = wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) { _ = inner.Close() }).Close()
}

func TestReleaseIsNotCalledOnError(t *testing.T) {
	_, err := dlbridge.Wrap(dlbridge.WrapSpec{
		Shape:   []int64{-1},
		DType:   dlbridge.DTypeOf[float32](),
		Device:  dlbridge.CPU,
		Release: func(dlbridge.Buffer, dlbridge.Stream) { t.Error("called") },
	})
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleExtentNegative)
	_, err = dlbridge.WrapLegacy(dlbridge.WrapSpec{
		DType:   dlbridge.DTypeOf[float32](),
		Device:  dlbridge.CPU,
		Version: dlbridge.Version{Major: 1},
		Release: func(dlbridge.Buffer, dlbridge.Stream) { t.Error("called") },
	})
	isError(t, err, dlbridge.StatusInvalidArgument)
}

func TestAllocatorThatPanics(t *testing.T) {
	values := panics(t)
	allocator := must(dlbridge.NewAllocator(
		func(dlbridge.Device, uint64, uint64, dlbridge.Stream) unsafe.Pointer { panic("no") },
		func(dlbridge.Device, unsafe.Pointer, uint64, uint64, dlbridge.Stream) {}))(t)
	_, err := dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{4},
		DType: dlbridge.DTypeOf[int32](), Allocator: allocator})
	isError(t, err, dlbridge.StatusOutOfMemory)
	if len(values()) != 1 || allocator.Blocks() != 0 {
		t.Error(values(), allocator.Blocks())
	}
}

func TestDeallocateThatPanics(t *testing.T) {
	values := panics(t)
	allocator := must(dlbridge.NewAllocator(
		func(_ dlbridge.Device, size, alignment uint64, _ dlbridge.Stream) unsafe.Pointer {
			return ctest.AlignedAlloc(alignment, size)
		},
		func(_ dlbridge.Device, memory unsafe.Pointer, _, _ uint64, _ dlbridge.Stream) {
			ctest.Free(memory)
			panic("late")
		}))(t)
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{4},
		DType: dlbridge.DTypeOf[int32](), Allocator: allocator}))(t)
	_ = tensor.Close()
	if len(values()) != 1 || allocator.Blocks() != 0 {
		t.Error(values(), allocator.Blocks())
	}
}

// An allocator that is closed while its memory is in use still deallocates it.
func TestAllocatorClosedFirst(t *testing.T) {
	var out atomic.Int32
	allocator := must(dlbridge.NewAllocator(
		func(device dlbridge.Device, size, alignment uint64, stream dlbridge.Stream) unsafe.Pointer {
			if device != dlbridge.CPU || size != 32 || alignment != 256 || stream != (dlbridge.Stream{}) {
				t.Error(device, size, alignment, stream)
			}
			out.Add(1)
			return ctest.AlignedAlloc(alignment, size)
		},
		func(_ dlbridge.Device, memory unsafe.Pointer, _, _ uint64, _ dlbridge.Stream) {
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
	tensor := must(legacy.Upgrade(&dlbridge.ConvertOptions{Options: dlbridge.ConvertCopy}))(t)
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
	handle := dlbridge.UnsafeHandle
	entry := dlbridge.ContextEntry{Backend: dlbridge.BackendLevelZero, Device: device, Platform: handle(1),
		NativeDevice: handle(2), Context: handle(3), Queue: handle(4), QueueKind: dlbridge.StreamQueue,
		UUID:    [16]byte{9},
		Release: func(gone dlbridge.ContextEntry) { released = append(released, gone.Context.Number()) }}
	id := must(dlbridge.ContextRegister(entry))(t)
	_, err := dlbridge.ContextRegister(entry)
	isError(t, err, dlbridge.StatusExists)
	found := must(dlbridge.ContextFind(device, dlbridge.Handle{}))(t)
	if found.ID != id || found.Queue != handle(4) || found.UUID != entry.UUID || found.Release != nil {
		t.Errorf("%+v", found)
	}
	met := 0
	for one := range dlbridge.Contexts() {
		if one.ID == id {
			met++
		}
	}
	if met != 1 {
		t.Errorf("met %d times", met)
	}
	if err := dlbridge.ContextRetain(id); err != nil {
		t.Error(err)
	}
	if err := dlbridge.ContextUnregister(id); err != nil || len(released) != 0 {
		t.Error(err, released)
	}
	if err := dlbridge.ContextRelease(id); err != nil || len(released) != 1 || released[0] != 3 {
		t.Error(err, released)
	}
	isError(t, dlbridge.ContextRelease(id), dlbridge.StatusNotFound)
	isError(t, dlbridge.ContextUnregister(id), dlbridge.StatusNotFound)
	if dlbridge.ContextTable() == nil {
		t.Error("no table")
	}
}

func TestCopyToOwnMemory(t *testing.T) {
	released := 0
	memory := ctest.Malloc(64)
	defer ctest.Free(memory)
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	spec := dlbridge.CopySpec{
		Target:     dlbridge.AddressOf(memory),
		TargetSize: 64,
		Release:    func(dlbridge.Buffer, dlbridge.Stream) { released++ },
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
