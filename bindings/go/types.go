// SPDX-License-Identifier: Apache-2.0
// Versions, dtypes and devices: DLPack's small values and their names.

package dlbridge

/*
#cgo noescape godl_dtype_format
#cgo nocallback godl_dtype_format
#cgo noescape godl_dtype_parse
#cgo nocallback godl_dtype_parse
#cgo noescape godl_device_format
#cgo nocallback godl_device_format
#cgo noescape godl_device_parse
#cgo nocallback godl_device_parse
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// MaxNDim is the largest ndim that any function accepts; no policy raises it.
const MaxNDim = C.DLBRIDGE_MAX_NDIM

// Version is a version of DLPack. In the structs of this package the zero value means 1.3; a newer
// version must be given explicitly.
type Version struct {
	Major, Minor uint32
}

// String is such as "1.3".
func (v Version) String() string {
	return fmt.Sprintf("%d.%d", v.Major, v.Minor)
}

func (v Version) c() C.DLPackVersion {
	return C.DLPackVersion{major: C.uint32_t(v.Major), minor: C.uint32_t(v.Minor)}
}

func versionOf(v C.DLPackVersion) Version {
	return Version{uint32(v.major), uint32(v.minor)}
}

// Device is a device of DLPack. Foreign code may pass any integers.
type Device struct {
	Type DeviceType
	ID   int32
}

// CPU is the host.
var CPU = Device{Type: DeviceCPU}

func (d Device) c() C.DLDevice {
	return C.DLDevice{device_type: C.DLDeviceType(d.Type), device_id: C.int32_t(d.ID)}
}

func deviceOf(d C.DLDevice) Device {
	return Device{DeviceType(d.device_type), int32(d.device_id)}
}

// DType is the type of one element: Lanes values of Bits bits each.
type DType struct {
	Code  DTypeCode
	Bits  uint8
	Lanes uint16
}

func (d DType) c() C.DLDataType {
	return C.DLDataType{code: C.uint8_t(d.Code), bits: C.uint8_t(d.Bits), lanes: C.uint16_t(d.Lanes)}
}

func dtypeOf(d C.DLDataType) DType {
	return DType{DTypeCode(d.code), uint8(d.bits), uint16(d.lanes)}
}

// String is the name, such as "float32"; see [ParseDType].
func (d DType) String() string {
	return text(d.Format)
}

// Format writes the name and a NUL to buffer and returns the length of the name. If that does not fit,
// the text is cut and the error is StatusBufferTooSmall.
func (d DType) Format(buffer []byte) (int, error) {
	result := C.godl_dtype_format(d.c(), start(buffer), C.size_t(len(buffer)))
	return int(result.value), check(result)
}

// ParseDType reads a name such as "float32", "bfloat16x4" or "dtype(99,8,1)".
func ParseDType(name string) (DType, error) {
	var out C.DLDataType
	result := C.godl_dtype_parse((*C.char)(unsafe.Pointer(textData(name))), C.size_t(len(name)), &out)
	if result.status != C.DLBRIDGE_OK {
		return DType{}, failure(result)
	}
	return dtypeOf(out), nil
}

// String is the name, such as "cuda:1"; see [ParseDevice].
func (d Device) String() string {
	return text(d.Format)
}

// Format writes the name and a NUL to buffer, as [DType.Format] does.
func (d Device) Format(buffer []byte) (int, error) {
	result := C.godl_device_format(d.c(), start(buffer), C.size_t(len(buffer)))
	return int(result.value), check(result)
}

// ParseDevice reads a name such as "cuda:1"; "cuda" means "cuda:0".
func ParseDevice(name string) (Device, error) {
	var out C.DLDevice
	result := C.godl_device_parse((*C.char)(unsafe.Pointer(textData(name))), C.size_t(len(name)), &out)
	if result.status != C.DLBRIDGE_OK {
		return Device{}, failure(result)
	}
	return deviceOf(out), nil
}

// HostAccessible reports whether the CPU can certainly read memory of this device type.
func (t DeviceType) HostAccessible() bool {
	return C.dlbridge_host_accessible(C.int32_t(t), nil) == 1
}

// HostAccess is the full answer: AnswerUndecided if it depends on the allocation, and for device
// types that no DLPack release defines.
func (t DeviceType) HostAccess() Answer {
	var answer C.DLBridgeAnswer
	C.dlbridge_host_accessible(C.int32_t(t), &answer)
	return Answer(answer)
}

// start is the address of a buffer; nil if it is empty.
func start(buffer []byte) *C.char {
	if len(buffer) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(buffer)))
}

// textData is the address of a text, never nil: C rejects NULL.
func textData(text string) *byte {
	if text == "" {
		return &noText
	}
	return unsafe.StringData(text)
}

var noText byte

// text calls a Format until the buffer is large enough.
func text(format func([]byte) (int, error)) string {
	var few [128]byte
	buffer := few[:]
	for {
		length, err := format(buffer)
		if err == nil {
			return string(buffer[:length])
		}
		if !errors.Is(err, StatusBufferTooSmall) {
			return err.Error()
		}
		buffer = make([]byte, length+1)
	}
}
