// SPDX-License-Identifier: Apache-2.0
// Drivers: their state, and the memory that they know.

package dlbridge

// #include "bridge.h"
import "C"

// BackendInfo describes a backend.
type BackendInfo struct {
	Backend        Backend
	State          State
	DeviceCount    int    // Devices of this process; 0 unless StateReady.
	DriverCode     int    // What the driver's initialisation returned; 0 if none was called.
	DriverVersion  string // Empty if unknown.
	RuntimeVersion string // Of the loader or runtime; empty if there is none.
	File           string // The library in use; empty if StateAbsent.
	Reason         string // Why it is not ready: each path tried, or the driver's call and code.
}

// QueryBackend starts a backend unless that was tried before, and reports its state. An absent driver
// is not an error.
func QueryBackend(backend Backend) (BackendInfo, error) {
	var out C.DLBridgeBackendInfo
	result := C.godl_backend_info(C.DLBridgeBackend(backend), &out)
	if result.status != C.DLBRIDGE_OK {
		return BackendInfo{}, failure(result)
	}
	return BackendInfo{
		Backend:        Backend(out.backend),
		State:          State(out.state),
		DeviceCount:    int(out.device_count),
		DriverCode:     int(out.driver_code),
		DriverVersion:  C.GoString(&out.driver_version[0]),
		RuntimeVersion: C.GoString(&out.runtime_version[0]),
		File:           C.GoString(&out.file[0]),
		Reason:         C.GoString(&out.reason[0]),
	}, nil
}

// PointerInfo describes the memory that a pointer refers to.
type PointerInfo struct {
	Backend      Backend // The driver that knows it; BackendCPU if none does.
	Device       Device  // As DLPack labels it.
	Memory       Memory
	NativeDevice int // Index of the driver's device for it; -1 if there is none.
	Properties   PointerProperties
	Base         uint64 // Start of the allocation; 0 for a cl_mem and if unknown.
	Size         uint64 // Bytes of the allocation; 0: unknown.
	Context      Handle // CUcontext, ze_context_handle_t or cl_context; zero if none is known.
	// Peers has bit i if device i of the backend can access the memory, directly or once peer access is
	// enabled; at most 64 devices. Valid with PointerPeersKnown.
	Peers uint64
}

// AccessibleFrom reports whether device id of the backend can access the memory, directly or once peer
// access is enabled. It is false also if the driver was not asked ([PointerInfoPeers]) or cannot tell.
func (i PointerInfo) AccessibleFrom(id int) bool {
	return i.Properties&PointerPeersKnown != 0 && id >= 0 && id < 64 && i.Peers>>id&1 != 0
}

// QueryPointer asks the driver what memory a buffer is; it may point inside an allocation. device is
// its label; the CPU and the zero value assume nothing. Memory that no driver knows is MemoryHost. The
// options are combined.
func QueryPointer(buffer Buffer, device Device, options ...PointerOptions) (PointerInfo, error) {
	var out C.DLBridgePointerInfo
	var bits PointerOptions
	for _, option := range options {
		bits |= option
	}
	result := C.godl_pointer_info(buffer.c(), device.c(), C.uint32_t(bits), &out)
	if result.status != C.DLBRIDGE_OK {
		return PointerInfo{}, failure(result)
	}
	return PointerInfo{
		Backend:      Backend(out.backend),
		Device:       deviceOf(out.device),
		Memory:       Memory(out.memory),
		NativeDevice: int(out.native_device),
		Properties:   PointerProperties(out.properties),
		Base:         uint64(out.base),
		Size:         uint64(out.size),
		Context:      Handle{uint64(out.context)},
		Peers:        uint64(out.peers),
	}, nil
}
