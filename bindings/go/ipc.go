// SPDX-License-Identifier: Apache-2.0
// Tensors between processes of one host.

package dlbridge

// #include "bridge.h"
import "C"

import (
	"os"
	"runtime"
	"unsafe"
)

// ExportIPC describes the tensor for another process: bytes, and files that go with them in their
// order (SCM_RIGHTS, or [os/exec.Cmd.ExtraFiles]) and are the caller's to close. The memory of the
// host must be shareable (AllocateShareable, CopyShareable); a device's memory stays the exporter's,
// which keeps the tensor until the importer is done. Work on the tensor must be finished.
func (t *Tensor) ExportIPC(options IPCOptions) ([]byte, []*os.File, error) {
	if err := t.use(); err != nil {
		return nil, nil, err
	}
	defer t.done()
	bytes := make([]byte, IPCMaxSize)
	var numbers [IPCMaxFDs]C.int32_t
	result := C.godl_ipc_export(t.number(), C.uint32_t(options), unsafe.Pointer(&bytes[0]),
		C.size_t(len(bytes)), &numbers[0], C.size_t(len(numbers)))
	if result.status != C.DLBRIDGE_OK {
		return nil, nil, failure(result)
	}
	files := make([]*os.File, 0, result.extra)
	for _, number := range numbers[:result.extra] {
		files = append(files, os.NewFile(uintptr(number), "dlbridge"))
	}
	return bytes[:result.value], files, nil
}

// ImportIPC makes a tensor of ours of what another process exported: its bytes and its files, which
// stay the caller's in every case. It is validated by policy (nil: the default), and the host's
// memory is checked to be sealed and large enough, so that no peer can make a reader fault.
func ImportIPC(descriptor []byte, files []*os.File, options IPCOptions, policy *Policy) (*Tensor, error) {
	numbers := make([]C.int32_t, 0, IPCMaxFDs)
	for _, file := range files {
		numbers = append(numbers, C.int32_t(file.Fd()))
	}
	given := policy.c()
	result := C.godl_ipc_import(unsafe.Pointer(start(descriptor)), C.size_t(len(descriptor)),
		unsafe.SliceData(numbers), C.size_t(len(numbers)), C.uint32_t(options), &given,
		policy.devices(), policy.dtypes())
	runtime.KeepAlive(files)
	if result.status != C.DLBRIDGE_OK {
		return nil, failure(result)
	}
	return newTensor(result), nil
}
