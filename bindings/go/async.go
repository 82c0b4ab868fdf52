// SPDX-License-Identifier: Apache-2.0
// Copies and releases that streams order: the host does not wait, and the library holds what a stream
// still uses.

package dlbridge

/*
#cgo noescape godl_release_after
#include "bridge.h"
*/
import "C"

import "unsafe"

// CopyAsync is [Tensor.Copy], but it returns as soon as the copy is enqueued on spec.Stream, a queue of
// the one driver that copies; with StreamHost the copy is complete. The library holds the tensor's data
// and the copy until the stream has done the work, so both may be closed at once. Later work on that
// stream may use the copy; other streams need [StreamHandoff]. Until [Stream.Synchronize], the elements
// of a copy on the host must not be read, nor those of a tensor on the host be written. The tensor must
// be dlbridge-owned, and CopyAllowStaging is rejected. On any error Release was not called.
func (t *Tensor) CopyAsync(spec CopySpec) (*Tensor, error) {
	if err := t.use(); err != nil {
		return nil, err
	}
	defer t.done()
	return spec.run(func(given C.godl_copy_spec) C.godl_result {
		return C.godl_copy_async(t.number(), given, spec.Policy.lists())
	})
}

// ReleaseAfter closes the tensor when the work that is on the streams now is over; the host does not
// wait. It is for a consumer that has enqueued work on a tensor and no longer needs it. On success the
// library holds the tensor, every further use returns [ErrClosed], and its deleter runs in a later
// CopyAsync, ReleaseAfter or [Collect], in the goroutine of that call; with StreamHost alone it runs
// now. On any error, such as a stream that captures a graph (StatusCapture), the tensor is untouched:
// it must still be closed, after the work on it is over. [ErrInUse] is returned while elements of it are
// open.
func (o *owner) ReleaseAfter(streams ...Stream) error {
	if err := o.take(); err != nil {
		return err
	}
	var few [4]C.DLBridgeStream
	list := few[:0]
	for _, stream := range streams {
		list = append(list, stream.c())
	}
	result := C.godl_release_after(o.number(), C.DLBridgeKind(o.kind), unsafe.SliceData(list),
		C.size_t(len(list)))
	if result.status != C.DLBRIDGE_OK {
		o.cancelTake()
		return failure(result)
	}
	return nil
}

// Collect releases the tensors that the library holds for streams and whose work is over, in this
// goroutine. left is the number that is still held, also with an error. CollectWait waits for the work
// of all tensors that are held now. Call it where a tensor's memory is needed again, or now and then.
func Collect(options CollectOptions) (left int, err error) {
	result := C.godl_collect(C.uint32_t(options))
	return int(result.value), check(result)
}
