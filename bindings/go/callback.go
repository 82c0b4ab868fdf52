// SPDX-License-Identifier: Apache-2.0
// Callbacks from C: release callbacks and allocators. They run on any thread, also on threads that Go
// did not create, and no panic leaves them.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync/atomic"
	"unsafe"
)

// PanicHandler gets the value of each panic of a callback. It runs on the goroutine of the callback; a
// panic of the handler itself is ignored.
type PanicHandler func(value any)

var panicHandler atomic.Pointer[PanicHandler]

// errExit is the reported value if a callback called runtime.Goexit.
var errExit = errors.New("dlbridge: a callback called runtime.Goexit")

// OnPanic sets the handler of panics in callbacks; nil, the default: none. A panic never crosses into C:
// a release callback then counts as having run, an allocator as having no memory.
//
// A callback runs on the thread that C calls it on. It must not call [runtime.Goexit], which cannot be
// stopped and would skip C frames. FailNow of package testing calls it. The handler then gets an error
// as the value.
func OnPanic(handler PanicHandler) {
	if handler == nil {
		panicHandler.Store(nil)
		return
	}
	panicHandler.Store(&handler)
}

// guard runs a callback and stops its panics.
func guard(call func()) {
	returned := false
	defer func() {
		value := recover()
		if !returned && value == nil {
			value = errExit
		}
		if value != nil {
			report(value)
		}
	}()
	call()
	returned = true
}

func report(value any) {
	defer func() { _ = recover() }()
	if handler := panicHandler.Load(); handler != nil {
		(*handler)(value)
	}
}

//export dlbridgeGoAllocate
func dlbridgeGoAllocate(number C.uintptr_t, device C.DLDevice, bytes, alignment C.uint64_t,
	stream C.DLBridgeStream) C.uintptr_t {
	hooks := cgo.Handle(number).Value().(*Allocator)
	var memory unsafe.Pointer
	guard(func() {
		memory = hooks.allocate(deviceOf(device), uint64(bytes), uint64(alignment), streamOf(stream))
	})
	if memory != nil {
		hooks.count(1)
	}
	return C.uintptr_t(uintptr(memory))
}

//export dlbridgeGoDeallocate
func dlbridgeGoDeallocate(number C.uintptr_t, device C.DLDevice, memory C.uintptr_t,
	bytes, alignment C.uint64_t, stream C.DLBridgeStream) {
	hooks := cgo.Handle(number).Value().(*Allocator)
	guard(func() {
		hooks.deallocate(deviceOf(device), pointerOf(memory), uint64(bytes), uint64(alignment),
			streamOf(stream))
	})
	hooks.count(-1)
}

// releaser is a registered release callback; it stops panics itself.
type releaser interface {
	released(buffer Buffer, stream Stream)
}

//export dlbridgeGoRelease
func dlbridgeGoRelease(number C.uintptr_t, buffer C.DLBridgeBuffer, stream C.DLBridgeStream) {
	handle := cgo.Handle(number)
	hook := handle.Value().(releaser)
	handle.Delete()
	hook.released(bufferOf(buffer), streamOf(stream))
}

// ReleaseFunc is called once after the last owner of a tensor is released, on any thread, with the
// wrapped buffer. Work on stream may still use the memory; with the zero Stream none does, as always
// without WrapReleaseOnStream. It may use this package. A panic in it goes to [OnPanic].
type ReleaseFunc func(buffer Buffer, stream Stream)

func (hook ReleaseFunc) released(buffer Buffer, stream Stream) {
	guard(func() { hook(buffer, stream) })
}
