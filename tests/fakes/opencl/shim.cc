// SPDX-License-Identifier: Apache-2.0
// Every function is defined with the vendor's prototype, so a wrong one does not compile. A
// function that dlbridge calls but the shim does not define looks like one that the driver lacks.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "shim.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

struct State {
  std::mutex mutex;
  std::string calls;
  std::string function;  // the function that is to fail
  int code = 0;
  int left = 0;  // its calls until it fails; 0: none
  bool failed = false;
  struct {
    int code;
    int left;  // 0: none
    bool for_good;
    std::string failed;
  } any = {};
  int event_status = 0;  // reported to the next callback; 0: the true one
  int user_event_status = 0;
  ShimLive live = {};
};

// Never destroyed: threads of the driver may outlive main.
State& TheState() {
  static State* state = new State;
  return *state;
}

void* Real(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (symbol == nullptr) {
    std::abort();
  }
  return symbol;
}

// A release would leak. A user event whose status is never set would make its queue wait for ever,
// and no driver refuses the first status of a user event.
bool MustBeForwarded(const char* name) {
  return std::strncmp(name, "clRelease", 9) == 0 || std::strcmp(name, "clSetUserEventStatus") == 0;
}

int MetByAny(const char* name) {
  auto& any = TheState().any;
  if (any.left == 0 || MustBeForwarded(name) || --any.left != 0) {
    return 0;
  }
  any.left = any.for_good ? 1 : 0;
  any.failed.append(name).append(" ");
  return any.code;
}

// Logs a call. Returns 0, or the planned failure.
int Met(const char* name) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.calls += state.calls.empty() ? name : std::string(" ") + name;
  if (const int code = MetByAny(name)) {
    return code;
  }
  if (state.left == 0 || state.function != name || --state.left != 0) {
    return 0;
  }
  state.failed = true;
  return state.code;
}

void Count(int ShimLive::*kind, int by) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.live.*kind += by;
}

template <class Function, class... Arguments>
cl_int Call(const char* name, Function* /*prototype*/, Arguments... arguments) {
  const int code = Met(name);
  return code != 0 ? code : reinterpret_cast<Function*>(Real(name))(arguments...);
}

template <class Function, class... Arguments>
cl_int CallCounted(int ShimLive::*kind, const char* name, Function* function,
                   Arguments... arguments) {
  const cl_int code = Call(name, function, arguments...);
  Count(kind, code == CL_SUCCESS ? 1 : 0);
  return code;
}

// A command that creates an event if `event` is not NULL.
template <class Function, class... Arguments>
cl_int Command(cl_event* event, const char* name, Function* function, Arguments... arguments) {
  const cl_int code = Call(name, function, arguments..., event);
  Count(&ShimLive::events, code == CL_SUCCESS && event != nullptr ? 1 : 0);
  return code;
}

// Releases the object even if the call is planned to fail, so that it does not leak.
template <class Function, class Handle>
cl_int Release(int ShimLive::*kind, const char* name, Function* /*prototype*/, Handle handle) {
  const int failure = Met(name);
  const cl_int code = reinterpret_cast<Function*>(Real(name))(handle);
  Count(kind, code == CL_SUCCESS ? -1 : 0);
  return failure != 0 ? failure : code;
}

template <class Function, class... Arguments>
auto Create(int ShimLive::*kind, cl_int* code, const char* name, Function* /*prototype*/,
            Arguments... arguments)
    -> decltype(reinterpret_cast<Function*>(0)(arguments..., code)) {
  *code = Met(name);
  if (*code != 0) {
    return nullptr;
  }
  auto made = reinterpret_cast<Function*>(Real(name))(arguments..., code);
  Count(kind, *code == CL_SUCCESS ? 1 : 0);
  return made;
}

struct Callback {
  void(CL_CALLBACK* notify)(cl_event, cl_int, void*);
  void* user;
  cl_int status;
};

void CL_CALLBACK Lie(cl_event event, cl_int /*status*/, void* callback) {
  const Callback own = *static_cast<Callback*>(callback);
  delete static_cast<Callback*>(callback);
  own.notify(event, own.status, own.user);
}

int TakeEventStatus() {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  const int status = state.event_status;
  state.event_status = 0;
  return status;
}

clGetMemAllocInfoINTEL_fn g_get_mem_alloc_info;
clEnqueueMemcpyINTEL_fn g_enqueue_memcpy;

cl_int CL_API_CALL GetMemAllocInfo(cl_context context, const void* pointer, cl_mem_info_intel what,
                                   size_t size, void* value, size_t* size_ret) {
  const int code = Met("clGetMemAllocInfoINTEL");
  return code != 0 ? code : g_get_mem_alloc_info(context, pointer, what, size, value, size_ret);
}

cl_int CL_API_CALL EnqueueMemcpy(cl_command_queue queue, cl_bool blocking, void* to,
                                 const void* from, size_t size, cl_uint count,
                                 const cl_event* events, cl_event* event) {
  const int code = Met("clEnqueueMemcpyINTEL");
  return code != 0 ? code : g_enqueue_memcpy(queue, blocking, to, from, size, count, events, event);
}

template <class Function>
void* Interpose(void* real, Function* mine, Function** slot) {
  if (real == nullptr) {
    return nullptr;
  }
  *slot = reinterpret_cast<Function*>(real);
  return reinterpret_cast<void*>(mine);
}

}  // namespace

extern "C" {

void shim_fail(const char* function, int code, int nth) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.function = function;
  state.code = code;
  state.left = nth;
  state.failed = false;
}

void shim_reset(void) {
  State& state = TheState();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.calls.clear();
  state.left = 0;
  state.failed = false;
  state.event_status = 0;
}

void shim_fail_any(int code, int nth, int for_good, char* failed, unsigned long size) {
  auto& any = TheState().any;
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  std::strncpy(failed, any.failed.c_str(), size - 1);
  failed[size - 1] = '\0';
  any.failed.clear();
  any.code = code;
  any.left = nth;
  any.for_good = for_good != 0;
}

void shim_fail_event(int status) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  TheState().event_status = status;
}

int shim_user_event_status(void) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  return TheState().user_event_status;
}

int shim_failed(void) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  return TheState().failed ? 1 : 0;
}

void shim_calls(char* out, unsigned long size) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  std::strncpy(out, TheState().calls.c_str(), size - 1);
  out[size - 1] = '\0';
}

void shim_live(ShimLive* out) {
  const std::lock_guard<std::mutex> lock(TheState().mutex);
  *out = TheState().live;
}

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* out, cl_uint* found) {
  return Call("clGetPlatformIDs", clGetPlatformIDs, count, out, found);
}
cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* value,
                         size_t* size_ret) {
  return Call("clGetPlatformInfo", clGetPlatformInfo, platform, what, size, value, size_ret);
}
cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count,
                      cl_device_id* out, cl_uint* found) {
  return Call("clGetDeviceIDs", clGetDeviceIDs, platform, type, count, out, found);
}
cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* value,
                       size_t* size_ret) {
  return Call("clGetDeviceInfo", clGetDeviceInfo, device, what, size, value, size_ret);
}
void* clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  Met("clGetExtensionFunctionAddressForPlatform");
  void* real = reinterpret_cast<decltype(&clGetExtensionFunctionAddressForPlatform)>(
      Real("clGetExtensionFunctionAddressForPlatform"))(platform, name);
  if (std::strcmp(name, "clGetMemAllocInfoINTEL") == 0) {
    return Interpose(real, GetMemAllocInfo, &g_get_mem_alloc_info);
  }
  if (std::strcmp(name, "clEnqueueMemcpyINTEL") == 0) {
    return Interpose(real, EnqueueMemcpy, &g_enqueue_memcpy);
  }
  return real;
}
cl_context clCreateContext(const cl_context_properties* properties, cl_uint count,
                           const cl_device_id* devices,
                           void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                           void* user, cl_int* code) {
  return Create(&ShimLive::contexts, code, "clCreateContext", clCreateContext, properties, count,
                devices, notify, user);
}
cl_int clReleaseContext(cl_context context) {
  return Release(&ShimLive::contexts, "clReleaseContext", clReleaseContext, context);
}
cl_int clGetContextInfo(cl_context context, cl_context_info what, size_t size, void* value,
                        size_t* size_ret) {
  return Call("clGetContextInfo", clGetContextInfo, context, what, size, value, size_ret);
}
cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int* code) {
  return Create(&ShimLive::queues, code, "clCreateCommandQueue", clCreateCommandQueue, context,
                device, properties);
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
  return Release(&ShimLive::queues, "clReleaseCommandQueue", clReleaseCommandQueue, queue);
}
cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t size,
                             void* value, size_t* size_ret) {
  return Call("clGetCommandQueueInfo", clGetCommandQueueInfo, queue, what, size, value, size_ret);
}
cl_int clFlush(cl_command_queue queue) { return Call("clFlush", clFlush, queue); }
cl_int clFinish(cl_command_queue queue) { return Call("clFinish", clFinish, queue); }
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* code) {
  return Create(&ShimLive::mems, code, "clCreateBuffer", clCreateBuffer, context, flags, size,
                host);
}
cl_int clSetMemObjectDestructorCallback(cl_mem mem, void(CL_CALLBACK* notify)(cl_mem, void*),
                                        void* user) {
  return Call("clSetMemObjectDestructorCallback", clSetMemObjectDestructorCallback, mem, notify,
              user);
}
cl_int clGetMemObjectInfo(cl_mem mem, cl_mem_info what, size_t size, void* value,
                          size_t* size_ret) {
  return Call("clGetMemObjectInfo", clGetMemObjectInfo, mem, what, size, value, size_ret);
}
cl_int clRetainMemObject(cl_mem mem) {
  return CallCounted(&ShimLive::mems, "clRetainMemObject", clRetainMemObject, mem);
}
cl_int clReleaseMemObject(cl_mem mem) {
  return Release(&ShimLive::mems, "clReleaseMemObject", clReleaseMemObject, mem);
}
cl_event clCreateUserEvent(cl_context context, cl_int* code) {
  return Create(&ShimLive::events, code, "clCreateUserEvent", clCreateUserEvent, context);
}
cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  {
    const std::lock_guard<std::mutex> lock(TheState().mutex);
    TheState().user_event_status = status;
  }
  return Call("clSetUserEventStatus", clSetUserEventStatus, event, status);
}
cl_int clSetEventCallback(cl_event event, cl_int type,
                          void(CL_CALLBACK* notify)(cl_event, cl_int, void*), void* user) {
  const int status = TakeEventStatus();
  if (status == 0) {
    return Call("clSetEventCallback", clSetEventCallback, event, type, notify, user);
  }
  auto* callback = new Callback{notify, user, status};
  return Call("clSetEventCallback", clSetEventCallback, event, type, Lie,
              static_cast<void*>(callback));
}
cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t size, void* value,
                      size_t* size_ret) {
  return Call("clGetEventInfo", clGetEventInfo, event, what, size, value, size_ret);
}
cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
  return Call("clWaitForEvents", clWaitForEvents, count, events);
}
cl_int clReleaseEvent(cl_event event) {
  return Release(&ShimLive::events, "clReleaseEvent", clReleaseEvent, event);
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* events,
                                   cl_event* event) {
  return Command(event, "clEnqueueMarkerWithWaitList", clEnqueueMarkerWithWaitList, queue, count,
                 events);
}
cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event* events,
                                    cl_event* event) {
  return Command(event, "clEnqueueBarrierWithWaitList", clEnqueueBarrierWithWaitList, queue, count,
                 events);
}
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                           size_t size, void* to, cl_uint count, const cl_event* events,
                           cl_event* event) {
  return Command(event, "clEnqueueReadBuffer", clEnqueueReadBuffer, queue, mem, blocking, offset,
                 size, to, count, events);
}
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset,
                            size_t size, const void* from, cl_uint count, const cl_event* events,
                            cl_event* event) {
  return Command(event, "clEnqueueWriteBuffer", clEnqueueWriteBuffer, queue, mem, blocking, offset,
                 size, from, count, events);
}
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint count, const cl_event* events,
                           cl_event* event) {
  return Command(event, "clEnqueueCopyBuffer", clEnqueueCopyBuffer, queue, from, to, from_offset,
                 to_offset, size, count, events);
}
cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                               const size_t* origin, const size_t* host_origin,
                               const size_t* region, size_t row, size_t slice, size_t host_row,
                               size_t host_slice, void* to, cl_uint count, const cl_event* events,
                               cl_event* event) {
  return Command(event, "clEnqueueReadBufferRect", clEnqueueReadBufferRect, queue, mem, blocking,
                 origin, host_origin, region, row, slice, host_row, host_slice, to, count, events);
}
cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem mem, cl_bool blocking,
                                const size_t* origin, const size_t* host_origin,
                                const size_t* region, size_t row, size_t slice, size_t host_row,
                                size_t host_slice, const void* from, cl_uint count,
                                const cl_event* events, cl_event* event) {
  return Command(event, "clEnqueueWriteBufferRect", clEnqueueWriteBufferRect, queue, mem, blocking,
                 origin, host_origin, region, row, slice, host_row, host_slice, from, count,
                 events);
}
cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
                               const size_t* from_origin, const size_t* to_origin,
                               const size_t* region, size_t from_row, size_t from_slice,
                               size_t to_row, size_t to_slice, cl_uint count,
                               const cl_event* events, cl_event* event) {
  return Command(event, "clEnqueueCopyBufferRect", clEnqueueCopyBufferRect, queue, from, to,
                 from_origin, to_origin, region, from_row, from_slice, to_row, to_slice, count,
                 events);
}

}  // extern "C"
