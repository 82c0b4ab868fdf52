// SPDX-License-Identifier: Apache-2.0
// The context table: DLDevice <-> native device, context, default queue.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"iter"
	"runtime/cgo"
	"unsafe"
)

// ContextEntry is one context of one device.
type ContextEntry struct {
	Backend      Backend
	Device       Device
	ID           uint64 // Of the entry, above 0 and never used again; 0 when registering.
	Platform     Handle // ze_driver_handle_t or cl_platform_id; else zero.
	NativeDevice Handle // ze_device_handle_t, cl_device_id, or the ordinal in CUDA and HIP.
	Context      Handle // CUcontext (zero: the primary), ze_context_handle_t, cl_context; HIP: zero.
	Queue        Handle // Default queue, borrowed; zero: none.
	QueueKind    StreamKind
	Properties   ContextProperties
	UUID         [16]byte // Of the device; zero if unknown.
	// Release, when registering, is called once after the entry is unregistered and no tensor retains
	// it, on any thread; nil: the handles are borrowed and must outlive their use. A panic in it goes to
	// [OnPanic]. In an entry that was found it is nil.
	Release func(ContextEntry)
}

func (e *ContextEntry) c() C.godl_context {
	entry := C.godl_context{
		backend:       C.DLBridgeBackend(e.Backend),
		device:        e.Device.c(),
		queue_kind:    C.int32_t(e.QueueKind),
		properties:    C.uint32_t(e.Properties),
		id:            C.uint64_t(e.ID),
		platform:      C.uint64_t(e.Platform.number),
		native_device: C.uint64_t(e.NativeDevice.number),
		context:       C.uint64_t(e.Context.number),
		queue:         C.uint64_t(e.Queue.number),
	}
	for i, value := range e.UUID {
		entry.uuid[i] = C.uint8_t(value)
	}
	return entry
}

func contextOf(entry C.godl_context) ContextEntry {
	e := ContextEntry{
		Backend:      Backend(entry.backend),
		Device:       deviceOf(entry.device),
		ID:           uint64(entry.id),
		Platform:     Handle{uint64(entry.platform)},
		NativeDevice: Handle{uint64(entry.native_device)},
		Context:      Handle{uint64(entry.context)},
		Queue:        Handle{uint64(entry.queue)},
		QueueKind:    StreamKind(entry.queue_kind),
		Properties:   ContextProperties(entry.properties),
	}
	for i, value := range entry.uuid {
		e.UUID[i] = byte(value)
	}
	return e
}

// contextHook is the release callback of an entry.
type contextHook func(ContextEntry)

//export dlbridgeGoContext
func dlbridgeGoContext(number C.uintptr_t, entry C.godl_context) {
	handle := cgo.Handle(number)
	hook := handle.Value().(contextHook)
	handle.Delete()
	guard(func() { hook(contextOf(entry)) })
}

// ContextRegister adds an entry to the table of the process and returns its id. On any error the table
// is unchanged and Release is not called.
func ContextRegister(entry ContextEntry) (uint64, error) {
	var hook C.uintptr_t
	if entry.Release != nil {
		hook = C.uintptr_t(cgo.NewHandle(contextHook(entry.Release)))
	}
	result := C.godl_context_register(entry.c(), hook)
	if result.status != C.DLBRIDGE_OK {
		if hook != 0 {
			cgo.Handle(hook).Delete()
		}
		return 0, failure(result)
	}
	return uint64(result.value), nil
}

// ContextFind finds the entry of device with context, or its default if context is zero. It may start
// the backend of the device. Keep the entry's handles alive with [ContextRetain].
func ContextFind(device Device, context Handle) (ContextEntry, error) {
	return contextAnswer(C.godl_context_find(device.c(), C.uint64_t(context.number)))
}

func contextAnswer(answer C.godl_context_result) (ContextEntry, error) {
	if answer.result.status != C.DLBRIDGE_OK {
		return ContextEntry{}, failure(answer.result)
	}
	return contextOf(answer.entry), nil
}

// ContextNext is the entry that follows cursor in the table (0: the first), and the next cursor;
// StatusNotFound after the last. An entry that is added or removed meanwhile may be skipped; no entry is
// returned twice.
func ContextNext(cursor uint64) (ContextEntry, uint64, error) {
	answer := C.godl_context_next(C.uint64_t(cursor))
	entry, err := contextAnswer(answer)
	return entry, uint64(answer.result.value), err
}

// Contexts iterates over the table, as [ContextNext] does.
func Contexts() iter.Seq[ContextEntry] {
	return func(yield func(ContextEntry) bool) {
		entry, cursor, err := ContextNext(0)
		for err == nil && yield(entry) {
			entry, cursor, err = ContextNext(cursor)
		}
	}
}

// ContextRetain keeps entry id from being released; StatusNotFound if it is no longer registered.
func ContextRetain(id uint64) error {
	return check(C.godl_context_retain(C.uint64_t(id)))
}

// ContextRelease ends one [ContextRetain]. The last one of an unregistered entry runs its Release.
func ContextRelease(id uint64) error {
	return check(C.godl_context_release(C.uint64_t(id)))
}

// ContextUnregister removes entry id from the table. Its Release runs when the entry is no longer
// retained, which may be now.
func ContextUnregister(id uint64) error {
	return check(C.godl_context_unregister(C.uint64_t(id)))
}

// ContextTable is this library's own table, a DLBridgeContextTable, for C code.
func ContextTable() unsafe.Pointer {
	return unsafe.Pointer(C.dlbridge_context_table_v1())
}
