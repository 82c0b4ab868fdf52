// SPDX-License-Identifier: Apache-2.0
// Streams: queues of work, and order between them.

package dlbridge

/*
#cgo noescape godl_stream_from_array_api
#cgo nocallback godl_stream_from_array_api
#include "bridge.h"
*/
import "C"

// Stream is a queue of work, borrowed. The zero value is no stream.
type Stream struct {
	Backend Backend
	Kind    StreamKind
	Device  Device // Device that it runs on.
	Handle  Handle // The queue.
	Context Handle // Level Zero: the ze_context_handle_t of the queue. Else zero.
}

// ArrayAPIStreamNone is the value for Python's None among the array API's integers.
const ArrayAPIStreamNone int64 = C.DLBRIDGE_ARRAY_API_STREAM_NONE

func (s Stream) c() C.DLBridgeStream {
	return C.DLBridgeStream{
		backend: C.DLBridgeBackend(s.Backend),
		kind:    C.int32_t(s.Kind),
		device:  s.Device.c(),
		handle:  C.uint64_t(s.Handle.number),
		context: C.uint64_t(s.Context.number),
	}
}

func streamOf(s C.DLBridgeStream) Stream {
	return Stream{Backend(s.backend), StreamKind(s.kind), deviceOf(s.device),
		Handle{uint64(s.handle)}, Handle{uint64(s.context)}}
}

// StreamFromArrayAPI turns the `stream` of the Python array API's __dlpack__ into a stream, exactly as
// that standard defines. No driver is called. A number above 2 is a native stream, which must be live.
func StreamFromArrayAPI(device Device, number int64) (Stream, error) {
	var out C.DLBridgeStream
	result := C.godl_stream_from_array_api(device.c(), C.int64_t(number), &out)
	if result.status != C.DLBRIDGE_OK {
		return Stream{}, failure(result)
	}
	return streamOf(out), nil
}

// StreamHandoff makes work that was put on producer happen before work that is put on consumer from now
// on; the host does not wait, unless the consumer is StreamHost.
func StreamHandoff(producer, consumer Stream, options HandoffOptions) error {
	return check(C.godl_stream_handoff(producer.c(), consumer.c(), C.uint32_t(options)))
}

// Synchronize waits until all work that was put on the stream is done.
func (s Stream) Synchronize() error {
	return check(C.godl_stream_synchronize(s.c()))
}
