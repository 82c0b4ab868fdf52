// SPDX-License-Identifier: Apache-2.0
// Streams: the array API's integers, and the driver calls that order two queues.
#include "native/stream.h"

#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/known_values.h"
#include "native/backend.h"
#include "support/text.h"

namespace dlbridge {
namespace {

DLBridgeStream MakeStream(DLBridgeBackend backend, int32_t kind, DLDevice device, uint64_t handle) {
  return {backend, kind, device, handle, 0, 0};
}

DLBridgeStatus CudaStream(DLDevice device, int64_t stream, DLBridgeStream* out,
                          DLBridgeError* error) {
  const int64_t value = stream == DLBRIDGE_ARRAY_API_STREAM_NONE ? 1 : stream;
  if (value == 0) {
    return RejectArgument(
        error, "stream",
        "must not be 0 for CUDA, where it is ambiguous: expected None or 1 for the legacy default "
        "stream, 2 for the per-thread one, a cudaStream_t, or -1 for no synchronization");
  }
  if (value < -1) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "stream",
                       "must be None, -1, 1, 2 or a cudaStream_t for CUDA", stream);
  }
  *out = value == -1 ? MakeStream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_NO_SYNC, device, 0)
                     : MakeStream(DLBRIDGE_BACKEND_CUDA, DLBRIDGE_STREAM_QUEUE, device,
                                  static_cast<uint64_t>(value));
  return DLBRIDGE_OK;
}

DLBridgeStatus RocmStream(DLDevice device, int64_t stream, DLBridgeStream* out,
                          DLBridgeError* error) {
  const int64_t value = stream == DLBRIDGE_ARRAY_API_STREAM_NONE ? 0 : stream;
  if (value < -1 || value == 1 || value == 2) {
    return RejectValue(
        error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "stream",
        "must be None, -1, 0 or a hipStream_t for ROCm, which does not define 1 and 2", stream);
  }
  *out = value == -1 ? MakeStream(DLBRIDGE_BACKEND_HIP, DLBRIDGE_STREAM_NO_SYNC, device, 0)
                     : MakeStream(DLBRIDGE_BACKEND_HIP, DLBRIDGE_STREAM_QUEUE, device,
                                  static_cast<uint64_t>(value));
  return DLBRIDGE_OK;
}

// Devices for which the standard does not define the integers.
DLBridgeStatus OtherStream(DLDevice device, int64_t stream, DLBridgeStream* out,
                           DLBridgeError* error) {
  const int32_t type = TypeOf(device);
  const BackendList list = BackendsOf(type);
  const DLBridgeBackend backend =
      list.count == 1 ? list.backends[0]->id : static_cast<DLBridgeBackend>(DLBRIDGE_BACKEND_NONE);
  if (stream == DLBRIDGE_ARRAY_API_STREAM_NONE) {
    *out = MakeStream(backend, DLBRIDGE_STREAM_HOST, device, 0);
    return DLBRIDGE_OK;
  }
  if (type == kDLCPU) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, "stream",
                       "must be None on the CPU, which has no streams", stream);
  }
  if (stream == -1) {
    *out = MakeStream(backend, DLBRIDGE_STREAM_NO_SYNC, device, 0);
    return DLBRIDGE_OK;
  }
  return RejectValue(error, DLBRIDGE_ERROR_UNSUPPORTED, "stream",
                     "must be None or -1 on this device, where the array API defines no other "
                     "integer: fill a DLBridgeStream with the native queue",
                     stream);
}

// Requires a backend that has queues, and no NULL where the driver would dereference it or where,
// in CUDA, its meaning depends on how a program was compiled.
DLBridgeStatus CheckQueue(const DLBridgeStream& stream, const char* argument,
                          DLBridgeError* error) {
  const Backend* backend = FindBackend(stream.backend);
  if (backend == nullptr || backend->synchronize == nullptr) {
    return RejectEnum(error, argument, "must have the backend of its queue: " DLBRIDGE_LIST_DRIVER,
                      stream.backend, kLastBackend);
  }
  const bool list = stream.kind == DLBRIDGE_STREAM_IMMEDIATE_LIST;
  if (list && stream.backend != DLBRIDGE_BACKEND_LEVEL_ZERO) {
    return RejectValue(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, argument,
                       "is an immediate list, which only the backend LEVEL_ZERO (4) has",
                       stream.backend);
  }
  if (stream.handle == 0 && stream.backend == DLBRIDGE_BACKEND_CUDA) {
    return RejectArgument(error, argument,
                          "has no handle: expected 1 for CUDA's legacy default stream, 2 for the "
                          "per-thread one, or a CUstream");
  }
  if (stream.handle == 0 && stream.backend != DLBRIDGE_BACKEND_HIP) {
    return RejectArgument(error, argument, "has no handle: expected a queue of the driver");
  }
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus CheckStream(const DLBridgeStream& stream, const char* argument,
                           DLBridgeError* error) {
  DLBRIDGE_TRY(CheckReserved(stream.reserved, argument, error));
  if (stream.kind == 0) {
    return RejectArgument(error, argument, "is not set: its kind is 0");
  }
  if (stream.kind == DLBRIDGE_STREAM_HOST || stream.kind == DLBRIDGE_STREAM_NO_SYNC) {
    return DLBRIDGE_OK;
  }
  if (!IsQueue(stream)) {
    return RejectValue(error,
                       stream.kind < 0 ? DLBRIDGE_ERROR_INVALID_ARGUMENT : DLBRIDGE_ERROR_TOO_NEW,
                       argument, "must be of kind " DLBRIDGE_LIST_STREAM, stream.kind);
  }
  return CheckQueue(stream, argument, error);
}

namespace {

DLBridgeStatus Synchronize(const DLBridgeStream& stream, DLBridgeError* error) {
  const Backend& backend = *FindBackend(stream.backend);
  DLBRIDGE_TRY(StartDriver(backend, error));
  return backend.synchronize(stream, error);
}

// Hands a queue over to itself. A queue that is in order needs nothing.
DLBridgeStatus Barrier(const DLBridgeStream& stream, DLBridgeError* error) {
  const Backend& backend = *FindBackend(stream.backend);
  if (backend.barrier == nullptr) {
    return DLBRIDGE_OK;
  }
  DLBRIDGE_TRY(StartDriver(backend, error));
  return backend.barrier(stream, error);
}

DLBRIDGE_COLD DLBridgeStatus RejectTwoBackends(DLBridgeBackend producer, DLBridgeBackend consumer,
                                               DLBridgeError* error) {
  char problem[160];
  TextWriter(problem, sizeof problem)
      .String("are queues of two backends, ")
      .Signed(producer)
      .String(" and ")
      .Signed(consumer)
      .String(
          ", which no driver can order: set DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT to let the host wait");
  return RejectStatus(error, DLBRIDGE_ERROR_UNSUPPORTED, "producer and consumer", problem);
}

DLBridgeStatus Handoff(const DLBridgeStream& producer, const DLBridgeStream& consumer,
                       uint32_t options, DLBridgeError* error) {
  if (producer.backend == consumer.backend) {
    const Backend& backend = *FindBackend(producer.backend);
    DLBRIDGE_TRY(StartDriver(backend, error));
    return backend.handoff(producer, consumer, options, error);
  }
  if ((options & DLBRIDGE_HANDOFF_ALLOW_HOST_WAIT) == 0) {
    return RejectTwoBackends(producer.backend, consumer.backend, error);
  }
  return Synchronize(producer, error);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_stream_from_array_api(DLDevice device, int64_t stream, DLBridgeStream* out,
                                              DLBridgeError* error) {
  DLBRIDGE_REQUIRE(out);
  switch (dlbridge::TypeOf(device)) {
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLCUDAManaged:
      return dlbridge::CudaStream(device, stream, out, error);
    case kDLROCM:
    case kDLROCMHost:
      return dlbridge::RocmStream(device, stream, out, error);
    default:
      return dlbridge::OtherStream(device, stream, out, error);
  }
}

DLBridgeStatus dlbridge_stream_handoff(const DLBridgeStream* producer,
                                       const DLBridgeStream* consumer, uint32_t options,
                                       DLBridgeError* error) {
  DLBRIDGE_REQUIRE(producer);
  DLBRIDGE_REQUIRE(consumer);
  DLBRIDGE_TRY(dlbridge::CheckOptionBits(options, dlbridge::kKnownHandoffBits, "options", error));
  DLBRIDGE_TRY(dlbridge::CheckStream(*producer, "producer", error));
  DLBRIDGE_TRY(dlbridge::CheckStream(*consumer, "consumer", error));
  if (!dlbridge::IsQueue(*producer) || consumer->kind == DLBRIDGE_STREAM_NO_SYNC) {
    return DLBRIDGE_OK;
  }
  if (dlbridge::IsSameStream(*producer, *consumer)) {
    return dlbridge::Barrier(*producer, error);
  }
  if (consumer->kind == DLBRIDGE_STREAM_HOST) {
    return dlbridge::Synchronize(*producer, error);
  }
  return dlbridge::Handoff(*producer, *consumer, options, error);
}

DLBridgeStatus dlbridge_stream_synchronize(const DLBridgeStream* stream, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(stream);
  if (stream->kind == DLBRIDGE_STREAM_NO_SYNC) {
    return dlbridge::RejectArgument(error, "stream",
                                    "is of kind NO_SYNC, which names no queue to wait for: "
                                    "expected HOST (1), QUEUE (3) or IMMEDIATE_LIST (4)");
  }
  DLBRIDGE_TRY(dlbridge::CheckStream(*stream, "stream", error));
  return dlbridge::IsQueue(*stream) ? dlbridge::Synchronize(*stream, error) : DLBRIDGE_OK;
}

}  // extern "C"
