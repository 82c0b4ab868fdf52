// SPDX-License-Identifier: Apache-2.0
// Negotiation, identification, and the version of the library.

package dlbridge

/*
#cgo noescape godl_negotiate
#cgo nocallback godl_negotiate
#include "bridge.h"
*/
import "C"

import "unsafe"

// LibraryVersion is the version of the C library that is loaded, such as "0.3.0".
func LibraryVersion() string { return C.GoString(C.dlbridge_version_string()) }

// LibraryVersionNumber is the same as major * 10000 + minor * 100 + patch.
func LibraryVersionNumber() uint32 { return uint32(C.dlbridge_version()) }

// NewestVersion is the newest DLPack release that the library knows.
func NewestVersion() Version { return versionOf(C.dlbridge_dlpack_version()) }

// API is the library's table of functions, a DLBridgeApi, for C code; nil if the
// library has another ABI than this package was built with.
func API() unsafe.Pointer { return unsafe.Pointer(C.godl_api()) }

// Negotiate returns what a producer of DLPack up to one version exports to a consumer up to another:
// KindLegacy or KindVersioned, and the version.
func Negotiate(producer, consumer Version) (Kind, Version, error) {
	var version C.DLPackVersion
	result := C.godl_negotiate(producer.c(), consumer.c(), &version)
	if result.status != C.DLBRIDGE_OK {
		return KindUnknown, Version{}, failure(result)
	}
	return Kind(result.extra), versionOf(version), nil
}

// Identify distinguishes legacy and versioned tensors by their first 64 bytes alone: KindAmbiguous if
// they can be both, KindUnknown if they can be neither, and for nil. The memory
// must be C memory, or pinned. [Import] with KindUnknown calls it.
func Identify(tensor unsafe.Pointer) Kind {
	return Kind(C.godl_identify(C.uintptr_t(uintptr(tensor))))
}

// ModulePin keeps the module (shared library, plugin) that holds an address loaded until the process
// ends, so that a deleter inside it outlives its dlclose.
func ModulePin(address uintptr) error {
	return check(C.godl_module_pin(C.uintptr_t(address)))
}

// ExchangeAPI is a DLPackExchangeAPI, borrowed from the Python type that offers it.
type ExchangeAPI struct {
	pointer unsafe.Pointer
}

// FindExchangeAPI finds the newest table of a chain that a consumer understands and that has all
// mandatory functions. chain is a DLPackExchangeAPI in C memory, or pinned.
func FindExchangeAPI(chain unsafe.Pointer, consumer Version) (ExchangeAPI, error) {
	result := C.godl_exchange_api_find(C.uintptr_t(uintptr(chain)), consumer.c())
	if result.status != C.DLBRIDGE_OK {
		return ExchangeAPI{}, failure(result)
	}
	return ExchangeAPI{pointerOf(result.value)}, nil
}

// Pointer is the table itself, for C code that calls its functions.
func (e ExchangeAPI) Pointer() unsafe.Pointer { return e.pointer }

// Version is the version of the table.
func (e ExchangeAPI) Version() Version {
	return versionOf((*C.DLPackExchangeAPI)(e.pointer).header.version)
}
