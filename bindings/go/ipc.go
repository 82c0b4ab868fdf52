// SPDX-License-Identifier: Apache-2.0
// Tensors between processes of one host.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"errors"
	"os"
	"runtime"
	"unsafe"
)

// ExportIPC describes the tensor for another process: bytes, and files that are sent with
// them in order (SCM_RIGHTS, or [os/exec.Cmd.ExtraFiles]) and that the caller closes. Host memory must
// be shareable (AllocateShareable, CopyShareable). Device memory still belongs to the exporter, which
// keeps the tensor until the importer no longer uses it. Work on the tensor must be finished; see
// [Tensor.ExportIPCAfter].
func (t *Tensor) ExportIPC(options IPCOptions) ([]byte, []*os.File, error) {
	return t.exportIPCAfter(options, nil)
}

// ExportIPCAfter is ExportIPC while work on the tensor may still be on a stream: the importer waits for
// the work that is on it now.
func (t *Tensor) ExportIPCAfter(stream Stream, options IPCOptions) ([]byte, []*os.File, error) {
	after := stream.c()
	return t.exportIPCAfter(options, &after)
}

func (t *Tensor) exportIPCAfter(options IPCOptions, after *C.DLBridgeStream) ([]byte, []*os.File, error) {
	if err := t.use(); err != nil {
		return nil, nil, err
	}
	defer t.done()
	descriptor, numbers := make([]byte, 512), make([]C.int32_t, 4)
	sizes, err := t.exportIPC(options, after, descriptor, numbers)
	if errors.Is(err, StatusBufferTooSmall) {
		descriptor = make([]byte, int(sizes.buffer_size))
		numbers = make([]C.int32_t, int(sizes.fd_count))
		sizes, err = t.exportIPC(options, after, descriptor, numbers)
	}
	if err != nil {
		return nil, nil, err
	}
	return descriptor[:sizes.buffer_size], filesOf(numbers[:sizes.fd_count]), nil
}

func (t *Tensor) exportIPC(options IPCOptions, after *C.DLBridgeStream, descriptor []byte,
	numbers []C.int32_t) (C.DLBridgeIpcSizes, error) {
	var sizes C.DLBridgeIpcSizes
	result := C.godl_ipc_export(t.number(), C.uint32_t(options), after, unsafe.Pointer(start(descriptor)),
		C.size_t(len(descriptor)), startOf(numbers), C.size_t(len(numbers)), &sizes)
	return sizes, check(result)
}

// startOf is the address of a list; nil if it is empty.
func startOf(numbers []C.int32_t) *C.int32_t {
	if len(numbers) == 0 {
		return nil
	}
	return &numbers[0]
}

func filesOf(numbers []C.int32_t) []*os.File {
	files := make([]*os.File, 0, len(numbers))
	for _, number := range numbers {
		files = append(files, os.NewFile(uintptr(number), "dlbridge"))
	}
	return files
}

// ImportIPC makes a dlbridge-owned tensor of what another process exported: its bytes and its files,
// which the caller still owns in every case. It is validated by policy (nil: the default), and the
// host memory is checked to be sealed and large enough, so that no other process can cause a bus
// error here. If the export named a stream, the call waits for the exporter's work; see [ImportIPCOn].
func ImportIPC(descriptor []byte, files []*os.File, options IPCOptions, policy *Policy) (*Tensor, error) {
	return importIPC(descriptor, files, options, policy, nil)
}

// ImportIPCOn is ImportIPC, but a stream waits for the exporter's work, and the host does not.
func ImportIPCOn(stream Stream, descriptor []byte, files []*os.File, options IPCOptions,
	policy *Policy) (*Tensor, error) {
	on := stream.c()
	return importIPC(descriptor, files, options, policy, &on)
}

func importIPC(descriptor []byte, files []*os.File, options IPCOptions, policy *Policy,
	on *C.DLBridgeStream) (*Tensor, error) {
	if err := policy.valid(); err != nil {
		return nil, err
	}
	numbers := make([]C.int32_t, 0, len(files))
	for _, file := range files {
		numbers = append(numbers, C.int32_t(file.Fd()))
	}
	given := policy.c()
	result := C.godl_ipc_import(unsafe.Pointer(start(descriptor)), C.size_t(len(descriptor)),
		startOf(numbers), C.size_t(len(numbers)), C.uint32_t(options), on, &given, policy.lists())
	runtime.KeepAlive(files)
	if result.status != C.DLBRIDGE_OK {
		return nil, failure(result)
	}
	return newTensor(result), nil
}
