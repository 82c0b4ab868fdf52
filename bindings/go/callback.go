// SPDX-License-Identifier: Apache-2.0
// What C calls: release callbacks and allocators of Go's. They come on any thread, also on threads
// that Go did not create, and no panic leaves them.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync/atomic"
)

// PanicHandler is told of each panic of a callback, with the value of the panic. It runs on the
// goroutine of the callback; what it panics itself is dropped.
type PanicHandler func(value any)

var panicHandler atomic.Pointer[PanicHandler]

// errExit stands for the value of a panic where a callback called runtime.Goexit.
var errExit = errors.New("dlbridge: a callback called runtime.Goexit")

// OnPanic sets who is told when a callback panics; nil, the default: nobody. A panic never crosses into
// C: a release callback then counts as having run, an allocator as having no memory.
//
// A callback runs in place, on the thread that C calls it on. [runtime.Goexit], which nothing can stop,
// must not be called there (nor testing's FailNow, which does): it would leave C's frames behind. The
// handler is told of it, with an error as its value.
func OnPanic(handler PanicHandler) {
	if handler == nil {
		panicHandler.Store(nil)
		return
	}
	panicHandler.Store(&handler)
}

// guard runs a callback of the user's, and lets no panic out of it.
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
func dlbridgeGoAllocate(number C.uintptr_t, device C.DLDevice, bytes, alignment C.uint64_t) C.uintptr_t {
	hooks := cgo.Handle(number).Value().(*Allocator)
	var memory uintptr
	guard(func() {
		memory = hooks.allocate(deviceOf(device), uint64(bytes), uint64(alignment))
	})
	if memory != 0 {
		hooks.count(1)
	}
	return C.uintptr_t(memory)
}

//export dlbridgeGoDeallocate
func dlbridgeGoDeallocate(number C.uintptr_t, device C.DLDevice, memory C.uintptr_t,
	bytes, alignment C.uint64_t) {
	hooks := cgo.Handle(number).Value().(*Allocator)
	guard(func() {
		hooks.deallocate(deviceOf(device), uintptr(memory), uint64(bytes), uint64(alignment))
	})
	hooks.count(-1)
}

// releaser is what a release callback is registered as: no code of the user's in it may panic.
type releaser interface {
	released(buffer Buffer)
}

//export dlbridgeGoRelease
func dlbridgeGoRelease(number C.uintptr_t, buffer C.DLBridgeBuffer) {
	handle := cgo.Handle(number)
	hook := handle.Value().(releaser)
	handle.Delete()
	hook.released(bufferOf(buffer))
}

// releaseHook is a release callback of the user's.
type releaseHook func(Buffer)

func (hook releaseHook) released(buffer Buffer) {
	guard(func() { hook(buffer) })
}
