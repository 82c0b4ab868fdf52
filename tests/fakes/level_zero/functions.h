// SPDX-License-Identifier: Apache-2.0
// The functions of the fake driver, each with the table member that it fills. They are defined with
// the vendor's prototypes: a wrong signature does not compile.
#ifndef DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FUNCTIONS_H_
#define DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FUNCTIONS_H_

#include <level_zero/ze_api.h>

#define FAKE_ZE_GLOBAL(X) X(Init, zeInit)
#define FAKE_ZE_DRIVER(X)                 \
  X(Get, zeDriverGet)                     \
  X(GetApiVersion, zeDriverGetApiVersion) \
  X(GetProperties, zeDriverGetProperties)
#define FAKE_ZE_DEVICE(X)                 \
  X(Get, zeDeviceGet)                     \
  X(GetSubDevices, zeDeviceGetSubDevices) \
  X(GetProperties, zeDeviceGetProperties) \
  X(CanAccessPeer, zeDeviceCanAccessPeer)
#define FAKE_ZE_CONTEXT(X)   \
  X(Create, zeContextCreate) \
  X(Destroy, zeContextDestroy)
#define FAKE_ZE_MEM(X)                           \
  X(AllocShared, zeMemAllocShared)               \
  X(AllocDevice, zeMemAllocDevice)               \
  X(AllocHost, zeMemAllocHost)                   \
  X(Free, zeMemFree)                             \
  X(GetAllocProperties, zeMemGetAllocProperties) \
  X(GetAddressRange, zeMemGetAddressRange)       \
  X(GetIpcHandle, zeMemGetIpcHandle)             \
  X(OpenIpcHandle, zeMemOpenIpcHandle)           \
  X(CloseIpcHandle, zeMemCloseIpcHandle)
#define FAKE_ZE_COMMAND_QUEUE(X)                            \
  X(Create, zeCommandQueueCreate)                           \
  X(Destroy, zeCommandQueueDestroy)                         \
  X(ExecuteCommandLists, zeCommandQueueExecuteCommandLists) \
  X(Synchronize, zeCommandQueueSynchronize)
#define FAKE_ZE_COMMAND_LIST(X)                                  \
  X(Create, zeCommandListCreate)                                 \
  X(CreateImmediate, zeCommandListCreateImmediate)               \
  X(Destroy, zeCommandListDestroy)                               \
  X(Close, zeCommandListClose)                                   \
  X(AppendBarrier, zeCommandListAppendBarrier)                   \
  X(AppendMemoryCopy, zeCommandListAppendMemoryCopy)             \
  X(AppendMemoryCopyRegion, zeCommandListAppendMemoryCopyRegion) \
  X(AppendMemoryCopyFromContext, zeCommandListAppendMemoryCopyFromContext)
#define FAKE_ZE_EVENT_POOL(X)  \
  X(Create, zeEventPoolCreate) \
  X(Destroy, zeEventPoolDestroy)
#define FAKE_ZE_EVENT(X)                     \
  X(Create, zeEventCreate)                   \
  X(Destroy, zeEventDestroy)                 \
  X(HostSignal, zeEventHostSignal)           \
  X(HostSynchronize, zeEventHostSynchronize) \
  X(QueryStatus, zeEventQueryStatus)         \
  X(HostReset, zeEventHostReset)

#define FAKE_ZE_FUNCTIONS(X) \
  FAKE_ZE_GLOBAL(X)          \
  FAKE_ZE_DRIVER(X)          \
  FAKE_ZE_DEVICE(X)          \
  FAKE_ZE_CONTEXT(X)         \
  FAKE_ZE_MEM(X)             \
  FAKE_ZE_COMMAND_QUEUE(X)   \
  FAKE_ZE_COMMAND_LIST(X)    \
  FAKE_ZE_EVENT_POOL(X)      \
  FAKE_ZE_EVENT(X)

#endif  // DLBRIDGE_TESTS_FAKES_LEVEL_ZERO_FUNCTIONS_H_
