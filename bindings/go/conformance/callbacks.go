// SPDX-License-Identifier: Apache-2.0
// The functions that the kit calls, through bridge.c. No panic leaves them.

package conformance

// #include "bridge.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"unsafe"
)

const (
	done        = 0
	rejected    = 1
	unsupported = 2
)

func projectOf(user C.uintptr_t) Project { return cgo.Handle(user).Value().(*run).project }

// answer writes the reason of an error to the message of the kit.
func answer(message *C.char, err error) C.int32_t {
	if err == nil {
		return done
	}
	out := unsafe.Slice((*byte)(unsafe.Pointer(message)), C.DLBRIDGE_CONFORMANCE_MESSAGE_SIZE)
	copy(out[:len(out)-1], err.Error())
	var reason Unsupported
	if errors.As(err, &reason) {
		return unsupported
	}
	return rejected
}

// guarded turns a panic into an error.
func guarded(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return work()
}

func requestOf(given *C.DLBridgeConformanceRequest) *Request {
	ndim := int(given.ndim)
	request := &Request{
		Kind:     Kind(given.kind),
		Shape:    append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(given.shape)), ndim)...),
		DType:    DType{uint8(given.dtype.code), uint8(given.dtype.bits), uint16(given.dtype.lanes)},
		Device:   Device{int32(given.device.device_type), int32(given.device.device_id)},
		Flags:    uint64(given.tensor_flags),
		Queue:    queueOf(given.queue),
		Consumer: queueOf(given.consumer),
		Features: uint32(given.features),
		Values:   unsafe.Slice((*byte)(given.values), int(given.value_bytes)),
	}
	if given.strides != nil {
		strides := unsafe.Slice((*int64)(unsafe.Pointer(given.strides)), ndim)
		request.Strides = append([]int64{}, strides...)
	}
	return request
}

//export godlcMake
func godlcMake(user C.uintptr_t, request unsafe.Pointer, tensor *unsafe.Pointer, kind *C.int32_t, array *C.uintptr_t, message *C.char) C.int32_t {
	return answer(message, guarded(func() error {
		made, own, err := projectOf(user).Make(requestOf((*C.DLBridgeConformanceRequest)(request)))
		if err != nil {
			return err
		}
		*tensor, *kind = made.Pointer, C.int32_t(made.Kind)
		if own != nil {
			*array = C.uintptr_t(cgo.NewHandle(own))
		}
		return nil
	}))
}

//export godlcConsume
func godlcConsume(user C.uintptr_t, offer unsafe.Pointer, array *C.uintptr_t, message *C.char) C.int32_t {
	return answer(message, guarded(func() error {
		given := (*C.DLBridgeConformanceOffer)(offer)
		own, err := projectOf(user).Consume(&Offer{
			Tensor:   Tensor{given.tensor, Kind(given.kind)},
			Features: uint32(given.features),
			Queue:    queueOf(given.queue),
		})
		if err == nil && own != nil {
			*array = C.uintptr_t(cgo.NewHandle(own))
		}
		return err
	}))
}

//export godlcRead
func godlcRead(user, array C.uintptr_t, out unsafe.Pointer, size C.size_t, written *C.size_t, message *C.char) C.int32_t {
	return answer(message, guarded(func() error {
		values, err := projectOf(user).Read(cgo.Handle(array).Value())
		*written = C.size_t(len(values))
		copy(unsafe.Slice((*byte)(out), int(size)), values)
		return err
	}))
}

//export godlcWrite
func godlcWrite(user, array C.uintptr_t, values unsafe.Pointer, size C.size_t, message *C.char) C.int32_t {
	return answer(message, guarded(func() error {
		writer := projectOf(user).(Writer)
		return writer.Write(cgo.Handle(array).Value(), unsafe.Slice((*byte)(values), int(size)))
	}))
}

//export godlcRelease
func godlcRelease(user, array C.uintptr_t) {
	handle := cgo.Handle(array)
	own := handle.Value()
	handle.Delete()
	projectOf(user).Release(own)
}

//export godlcCollect
func godlcCollect(user C.uintptr_t) { projectOf(user).(Collector).Collect() }

//export godlcExchangeAPI
func godlcExchangeAPI(user C.uintptr_t) unsafe.Pointer {
	return projectOf(user).(Exchanger).ExchangeAPI()
}

//export godlcLive
func godlcLive(user C.uintptr_t) C.int64_t { return C.int64_t(projectOf(user).(Counter).Live()) }

//export godlcReport
func godlcReport(user C.uintptr_t, given unsafe.Pointer) {
	result := (*C.DLBridgeConformanceResult)(given)
	report := &cgo.Handle(user).Value().(*run).report
	report.Results = append(report.Results, Result{
		Check:         C.GoString(result.check),
		Specification: C.GoString(result.specification),
		Expected:      C.GoString(result.expected),
		Found:         C.GoString(result.found),
		Reproducer:    C.GoString(result.reproducer),
		Outcome:       Outcome(result.outcome),
		Severity:      int32(result.severity),
	})
}
