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
	Platform     uint64 // ze_driver_handle_t or cl_platform_id; else 0.
	NativeDevice uint64 // ze_device_handle_t, cl_device_id, or the ordinal in CUDA and HIP.
	Context      uint64 // CUcontext (0: the primary), ze_context_handle_t, cl_context; HIP: 0.
	Queue        uint64 // Default queue, borrowed; 0: none.
	QueueKind    StreamKind
	Flags        ContextFlags
	UUID         [16]byte // Of the device; zero where unknown.
	// Release, when registering, is called once when the entry is unregistered and nobody keeps it,
	// on any thread; nil: the handles are borrowed and must outlive their use. A panic in it goes to
	// [OnPanic]. In an entry that was looked up it is nil.
	Release func(ContextEntry)
}

func (e *ContextEntry) c() C.godl_context {
	entry := C.godl_context{
		backend:       C.DLBridgeBackend(e.Backend),
		device:        e.Device.c(),
		queue_kind:    C.int32_t(e.QueueKind),
		flags:         C.uint32_t(e.Flags),
		id:            C.uint64_t(e.ID),
		platform:      C.uint64_t(e.Platform),
		native_device: C.uint64_t(e.NativeDevice),
		context:       C.uint64_t(e.Context),
		queue:         C.uint64_t(e.Queue),
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
		Platform:     uint64(entry.platform),
		NativeDevice: uint64(entry.native_device),
		Context:      uint64(entry.context),
		Queue:        uint64(entry.queue),
		QueueKind:    StreamKind(entry.queue_kind),
		Flags:        ContextFlags(entry.flags),
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

// RegisterDevice adds an entry to the table of the process and gives its id. On any error nothing is
// kept and Release will not be called.
func RegisterDevice(entry ContextEntry) (uint64, error) {
	var hook C.uintptr_t
	if entry.Release != nil {
		hook = C.uintptr_t(cgo.NewHandle(contextHook(entry.Release)))
	}
	result := C.godl_device_register(entry.c(), hook)
	if result.status != C.DLBRIDGE_OK {
		if hook != 0 {
			cgo.Handle(hook).Delete()
		}
		return 0, failure(result)
	}
	return uint64(result.value), nil
}

// LookupDevice finds the entry of device with context, or its default where context is 0. It may
// start the backend of the device. Keep the entry's handles alive by [RetainDevice].
func LookupDevice(device Device, context uint64) (ContextEntry, error) {
	return contextAnswer(C.godl_device_lookup(device.c(), C.uint64_t(context)))
}

func contextAnswer(answer C.godl_context_result) (ContextEntry, error) {
	if answer.result.status != C.DLBRIDGE_OK {
		return ContextEntry{}, failure(answer.result)
	}
	return contextOf(answer.entry), nil
}

// NextDevice is the entry that follows cursor in the table (0: the first), and the cursor of the one
// after it; StatusNotFound behind the last. Entries that come or go meanwhile are met or not; no entry
// is met twice.
func NextDevice(cursor uint64) (ContextEntry, uint64, error) {
	answer := C.godl_device_next(C.uint64_t(cursor))
	entry, err := contextAnswer(answer)
	return entry, uint64(answer.result.value), err
}

// Devices goes through the table, as [NextDevice] does.
func Devices() iter.Seq[ContextEntry] {
	return func(yield func(ContextEntry) bool) {
		entry, cursor, err := NextDevice(0)
		for err == nil && yield(entry) {
			entry, cursor, err = NextDevice(cursor)
		}
	}
}

// RetainDevice keeps entry id from being released; StatusNotFound where it is no longer registered.
func RetainDevice(id uint64) error {
	return check(C.godl_device_retain(C.uint64_t(id)))
}

// ReleaseDevice ends one [RetainDevice]; the last, of an entry that was unregistered, runs its Release.
func ReleaseDevice(id uint64) error {
	return check(C.godl_device_release(C.uint64_t(id)))
}

// UnregisterDevice takes entry id out of look-ups at once; its Release runs when the last that keeps
// it lets go, which may be now.
func UnregisterDevice(id uint64) error {
	return check(C.godl_device_unregister(C.uint64_t(id)))
}

// ContextTable is this library's own table, a DLBridgeContextTable, for C code that wants it.
func ContextTable() unsafe.Pointer {
	return unsafe.Pointer(C.dlbridge_context_table_v1())
}
