// SPDX-License-Identifier: Apache-2.0

// Package sample is a library on dlbridge, with faults that the tests of the kit plant.
package sample

// #cgo pkg-config: dlbridge
// #include <dlbridge/dlbridge.h>
// #include <stdlib.h>
// #include <string.h>
//
// static void fill(DLManagedTensorVersioned* tensor, const void* values, size_t size) {
//   if (size > 0) memcpy((char*)tensor->dl_tensor.data + tensor->dl_tensor.byte_offset, values, size);
// }
//
// static void* at(DLManagedTensorVersioned* tensor) {
//   return (char*)tensor->dl_tensor.data + tensor->dl_tensor.byte_offset;
// }
//
// static DLBridgeStatus allocate(const int64_t* shape, int32_t ndim, DLDataType dtype, uint64_t flags,
//                            DLManagedTensorVersioned** out, DLBridgeError* error) {
//   DLBridgeAllocateSpec spec = dlbridge_allocate_spec_init();
//   spec.shape = shape;
//   spec.ndim = ndim;
//   spec.dtype = dtype;
//   spec.tensor_flags = flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
//   return dlbridge_allocate(&spec, out, error);
// }
//
// static DLBridgeStatus copy_of(DLManagedTensorVersioned* tensor, DLManagedTensorVersioned** out,
//                            size_t* size, DLBridgeError* error) {
//   DLBridgeCopySpec spec = dlbridge_copy_spec_init();
//   DLBridgeLayout layout = dlbridge_layout_init();
//   spec.tensor_flags = tensor->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
//   DLBridgeStatus status = dlbridge_copy(&tensor->dl_tensor, tensor->flags, &spec, out, error);
//   if (status == DLBRIDGE_OK) dlbridge_layout(&(*out)->dl_tensor, (*out)->flags, &layout, NULL);
//   *size = (size_t)layout.packed_bytes;
//   return status;
// }
//
// static DLBridgeStatus export_to(DLManagedTensorVersioned* tensor, int legacy, void** out,
//                                 DLBridgeKind* kind, DLBridgeError* error) {
//   DLPackVersion target = {1, 3};
//   if (legacy) {
//     target.major = 0;
//     target.minor = 8;
//   }
//   return dlbridge_export(tensor, DLBRIDGE_KIND_VERSIONED, target, NULL, out, kind, error);
// }
//
// static DLBridgeStatus import_any(void* tensor, DLBridgeKind kind, DLManagedTensorVersioned** out,
//                              DLBridgeError* error) {
//   DLBridgePolicy policy = dlbridge_policy_init();
//   DLBridgeConvertOptions options = dlbridge_convert_options_init();
//   policy.options = DLBRIDGE_POLICY_REJECT_UNKNOWN_DTYPE | DLBRIDGE_POLICY_REJECT_UNKNOWN_DEVICE;
//   options.policy = &policy;
//   return dlbridge_import(tensor, kind, &options, out, error);
// }
//
// static void label(DLManagedTensorVersioned* tensor, int32_t type, int32_t id) {
//   tensor->dl_tensor.device.device_type = (DLDeviceType)type;
//   tensor->dl_tensor.device.device_id = id;
// }
//
// const void* sample_table(int whole);
//
// static void crash(void) { *(volatile int*)16 = 1; }
import "C"

import (
	"errors"
	"unsafe"

	"dlbridge/bindings/go/conformance"
)

// A Fault is what is wrong with a library.
type Fault int

// The faults.
const (
	None Fault = iota
	LosesReadOnly
	NeverReleases
	Panics
	Hangs
	Crashes
	IgnoresTheConsumer
	ReadsAtOnce
	ReleasesAtOnce
	HasNoStream
)

// A Library is a project, right except for its fault. Its arrays are dlbridge-owned tensors.
type Library struct{ Fault Fault }

type array struct {
	tensor *C.DLManagedTensorVersioned
	queue  *conformance.Queue // of the work that uses it
}

func message(err *C.DLBridgeError) error { return errors.New(C.GoString(&err.message[0])) }

// Make implements conformance.Project.
func (library Library) Make(request *conformance.Request) (conformance.Tensor, any, error) {
	var failure C.DLBridgeError
	var own *C.DLManagedTensorVersioned
	dtype := C.DLDataType{
		code: C.uint8_t(request.DType.Code), bits: C.uint8_t(request.DType.Bits), lanes: C.uint16_t(request.DType.Lanes),
	}
	var shape *C.int64_t
	if len(request.Shape) > 0 {
		shape = (*C.int64_t)(unsafe.Pointer(&request.Shape[0]))
	}
	if C.allocate(shape, C.int32_t(len(request.Shape)), dtype, C.uint64_t(request.Flags), &own, &failure) != 0 {
		return conformance.Tensor{}, nil, message(&failure)
	}
	C.label(own, C.int32_t(request.Device.Type), C.int32_t(request.Device.ID))
	if request.Queue == nil {
		fill(own, request.Values)
	} else {
		library.fillLater(own, request)
	}
	tensor, err := library.export(request, own)
	if err != nil {
		C.dlbridge_release_versioned(own)
		return tensor, nil, err
	}
	return tensor, &array{tensor: own}, nil
}

func fill(own *C.DLManagedTensorVersioned, values []byte) {
	C.fill(own, unsafe.Pointer(unsafe.SliceData(values)), C.size_t(len(values)))
}

// fillLater writes the values on the request's queue, and orders the consumer after it.
func (library Library) fillLater(own *C.DLManagedTensorVersioned, request *conformance.Request) {
	values := append([]byte{}, request.Values...)
	request.Queue.Submit(func() { fill(own, values) })
	switch {
	case library.Fault == IgnoresTheConsumer:
	case request.Consumer != nil:
		request.Consumer.Wait(request.Queue)
	default:
		request.Queue.Synchronize()
	}
}

func (library Library) export(request *conformance.Request, own *C.DLManagedTensorVersioned) (conformance.Tensor, error) {
	var failure C.DLBridgeError
	var shared *C.DLManagedTensorVersioned
	var size C.size_t
	status := C.DLBridgeStatus(0)
	if request.Flags&conformance.Copied != 0 {
		status = C.copy_of(own, &shared, &size, &failure)
	} else {
		status = C.dlbridge_share(own, &shared, &failure)
	}
	if status != 0 {
		return conformance.Tensor{}, message(&failure)
	}
	if library.Fault != LosesReadOnly {
		shared.flags |= C.uint64_t(request.Flags & conformance.ReadOnly)
	}
	legacy := C.int(0)
	if request.Kind == conformance.Legacy {
		legacy = 1
	}
	var out unsafe.Pointer
	var kind C.DLBridgeKind
	if C.export_to(shared, legacy, &out, &kind, &failure) != 0 {
		C.dlbridge_release_versioned(shared)
		return conformance.Tensor{}, message(&failure)
	}
	return conformance.Tensor{Pointer: out, Kind: conformance.Kind(kind)}, nil
}

// Consume implements conformance.Project.
func (library Library) Consume(offer *conformance.Offer) (any, error) {
	switch library.Fault {
	case Panics:
		panic("planted")
	case Hangs:
		select {}
	case Crashes:
		C.crash()
	}
	var failure C.DLBridgeError
	var own *C.DLManagedTensorVersioned
	if C.import_any(offer.Tensor.Pointer, C.DLBridgeKind(offer.Tensor.Kind), &own, &failure) != 0 {
		return nil, message(&failure)
	}
	made := &array{tensor: own}
	if library.Fault != ReleasesAtOnce {
		made.queue = offer.Queue
	}
	return made, nil
}

// Read implements conformance.Project.
func (library Library) Read(given any) ([]byte, error) {
	if queue := given.(*array).queue; queue != nil && library.Fault != ReadsAtOnce {
		queue.Synchronize()
	}
	C.label(given.(*array).tensor, 1, 0) // the memory is the host's
	var failure C.DLBridgeError
	var copied *C.DLManagedTensorVersioned
	var size C.size_t
	if C.copy_of(given.(*array).tensor, &copied, &size, &failure) != 0 {
		return nil, message(&failure)
	}
	defer C.dlbridge_release_versioned(copied)
	return C.GoBytes(C.at(copied), C.int(size)), nil
}

// Write implements conformance.Writer.
func (library Library) Write(given any, values []byte) error {
	tensor := given.(*array).tensor
	if uint64(tensor.flags)&conformance.ReadOnly != 0 {
		return errors.New("the array is read-only")
	}
	fill(tensor, values)
	return nil
}

// Release implements conformance.Project.
func (library Library) Release(given any) {
	own := given.(*array)
	switch {
	case library.Fault == NeverReleases:
	case own.queue != nil: // work that uses the memory may still be pending
		own.queue.Submit(func() { C.dlbridge_release_versioned(own.tensor) })
	default:
		C.dlbridge_release_versioned(own.tensor)
	}
}

// ExchangeAPI implements conformance.Exchanger.
func (library Library) ExchangeAPI() unsafe.Pointer {
	whole := C.int(1)
	if library.Fault == HasNoStream {
		whole = 0
	}
	return unsafe.Pointer(C.sample_table(whole))
}

//export sampleTensorOf
func sampleTensorOf(object unsafe.Pointer) unsafe.Pointer {
	return unsafe.Pointer(conformance.ArrayOf(object).(*array).tensor)
}

//export sampleObjectOf
func sampleObjectOf(tensor unsafe.Pointer) unsafe.Pointer {
	return conformance.ObjectOf(&array{tensor: (*C.DLManagedTensorVersioned)(tensor)})
}
