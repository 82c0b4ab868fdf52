// SPDX-License-Identifier: Apache-2.0
// What OpenCL knows of memory: cl_mem handles, and addresses where the driver has USM.
#include "describe/boundary.h"
#include "describe/device.h"
#include "device/opencl_driver.h"
#include "native/table.h"

namespace dlbridge {
namespace {

template <class T>
DLBridgeStatus AskMem(const DLBridgeBuffer& buffer, uint32_t what, T* out, DLBridgeError* error) {
  const size_t size = sizeof(T);  // NOLINT(bugprone-sizeof-expression): handles are answers
  const int32_t code =
      g_opencl.call.clGetMemObjectInfo(ClHandle<ClMem>(buffer.handle), what, size, out, nullptr);
  return CheckCl(code, "clGetMemObjectInfo", error);
}

DLBridgeStatus CheckType(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  uint32_t type = 0;
  DLBRIDGE_TRY(AskMem(buffer, kClMemType, &type, error));
  return type == kClMemObjectBuffer
             ? DLBRIDGE_OK
             : RefuseArgument(
                   error, "buffer.handle",
                   "is a cl_mem of another type: expected a buffer, not an image or pipe");
}

DLBridgeStatus AskSvm(const DLBridgeBuffer& buffer, DLBridgePointerInfo* out,
                      DLBridgeError* error) {
  uint32_t svm = 0;
  // Drivers before OpenCL 2.0 refuse the question: they have no SVM.
  if (AskMem(buffer, kClMemUsesSvmPointer, &svm, nullptr) != DLBRIDGE_OK || svm == 0) {
    return DLBRIDGE_OK;
  }
  void* host = nullptr;
  DLBRIDGE_TRY(AskMem(buffer, kClMemHostPointer, &host, error));
  out->memory = DLBRIDGE_MEMORY_SVM;
  out->base = ClNumber(host);
  return DLBRIDGE_OK;
}

// Which of its context's devices a cl_mem is on, nobody can say: the one of the label, if it is
// among them.
DLBridgeStatus PlaceMem(ClContext context, DLDevice label, DLBridgePointerInfo* out,
                        DLBridgeError* error) {
  ClDeviceList list;
  DLBRIDGE_TRY(ContextDevices(context, &list, error));
  const NamedDevice named(label);
  const bool fits = HasDevice(list, named.device());
  ClDevice first = list.count != 0 ? list.devices[0] : nullptr;
  FreeDevices(&list);
  ClDevice device = fits ? named.device() : first;
  out->native_device = DeviceIndex(device);
  const bool lies = named.registered() && !fits;
  const bool labelled = TypeOf(label) == kDLOpenCL;
  out->device = MakeDevice(
      kDLOpenCL, labelled && !lies ? label.device_id : IdOfDevice(kDLOpenCL, device, label));
  return DLBRIDGE_OK;
}

DLBridgeStatus MemInfo(const DLBridgeBuffer& buffer, DLDevice label, DLBridgePointerInfo* out,
                       DLBridgeError* error) {
  size_t size = 0;
  ClContext context = nullptr;
  DLBRIDGE_TRY(CheckType(buffer, error));
  DLBRIDGE_TRY(AskMem(buffer, kClMemSize, &size, error));
  DLBRIDGE_TRY(AskMem(buffer, kClMemContext, &context, error));
  out->backend = DLBRIDGE_BACKEND_OPENCL;
  out->memory = DLBRIDGE_MEMORY_CL_MEM;
  out->size = size;
  out->context = ClNumber(context);
  DLBRIDGE_TRY(AskSvm(buffer, out, error));
  return PlaceMem(context, label, out, error);
}

}  // namespace

DLBridgeStatus OpenClPointerInfo(const DLBridgeBuffer& buffer, DLDevice label,
                                 DLBridgePointerInfo* out, DLBridgeError* error) {
  return buffer.kind == DLBRIDGE_BUFFER_CL_MEM ? MemInfo(buffer, label, out, error)
                                               : UsmInfo(buffer, label, out, error);
}

DLBridgeStatus MemContext(const DLBridgeBuffer& buffer, ClContext* out, DLBridgeError* error) {
  *out = nullptr;
  return AskMem(buffer, kClMemContext, out, error);
}

DLBridgeStatus CheckClMem(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  ClContext context = nullptr;
  DLBRIDGE_TRY(CheckType(buffer, error));
  DLBRIDGE_TRY(MemContext(buffer, &context, error));
  if (buffer.context == 0 || buffer.context == ClNumber(context)) {
    return DLBRIDGE_OK;
  }
  char problem[120];
  TextWriter(problem, sizeof problem)
      .String("is not the context of this cl_mem: expected ")
      .Hex(ClNumber(context))
      .String(", found ")
      .Hex(buffer.context);
  return RefuseArgument(error, "buffer.context", problem);
}

DLBridgeStatus RetainClMem(const DLBridgeBuffer& buffer, DLBridgeError* error) {
  return CheckCl(g_opencl.call.clRetainMemObject(ClHandle<ClMem>(buffer.handle)),
                 "clRetainMemObject", error);
}

void ReleaseClMem(const DLBridgeBuffer& buffer) {
  if (IsStarted(kOpenClBackend)) {
    g_opencl.call.clReleaseMemObject(ClHandle<ClMem>(buffer.handle));
  }
}

}  // namespace dlbridge
