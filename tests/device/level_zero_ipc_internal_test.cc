// SPDX-License-Identifier: Apache-2.0
// Level Zero memory between processes, through the interface of the backends.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "device/level_zero_world.h"
#include "native/backend.h"
#include "support/ipc.h"

namespace {

using dlbridge::IpcHandle;
using dlbridge::IpcMapping;
using dlbridge::kLevelZeroBackend;
using dlbridge_test::Environment;
using dlbridge_test::Error;
using dlbridge_test::InChild;
using dlbridge_test::kDeviceLost;
using dlbridge_test::OneApi;
using dlbridge_test::SetEnvironment;
using dlbridge_test::World;

void Start(World& world) {
  Error error;
  ASSERT_EQ(dlbridge::StartBackend(kLevelZeroBackend, &error), DLBRIDGE_OK) << error.message;
  world.fake.Log();
}

// The payload of the socket message; descriptors travel as ancillary data.
struct Message {
  IpcHandle handle;
};

void Send(int socket, const IpcHandle& handle) {
  Message message = {handle};
  iovec bytes = {&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  if (handle.fd_count == 1) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), handle.fds, sizeof(int));
  }
  EXPECT_EQ(sendmsg(socket, &header, 0), static_cast<ssize_t>(sizeof message));
}

IpcHandle Receive(int socket) {
  Message message = {};
  iovec bytes = {&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  EXPECT_EQ(recvmsg(socket, &header, 0), static_cast<ssize_t>(sizeof message));
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr) {
    std::memcpy(message.handle.fds, CMSG_DATA(rights), sizeof(int));
  }
  return message.handle;
}

DLBridgeStatus Export(const void* address, ze_context_handle_t context, IpcHandle* out,
                      Error* error) {
  return kLevelZeroBackend.ipc_export(dlbridge_buffer_level_zero(address, context), OneApi(0),
                                      {0, 4, nullptr}, out, error);
}

IpcHandle MustExport(const void* address, ze_context_handle_t context) {
  IpcHandle handle = {};
  Error error;
  EXPECT_EQ(Export(address, context, &handle, &error), DLBRIDGE_OK) << error.message;
  return handle;
}

IpcMapping MustImport(const IpcHandle& handle, DLDevice label) {
  IpcMapping mapping = {};
  Error error;
  EXPECT_EQ(kLevelZeroBackend.ipc_import(handle, label, nullptr, &mapping, &error), DLBRIDGE_OK)
      << error.message;
  return mapping;
}

unsigned char* At(const IpcMapping& mapping, uint64_t offset) {
  return reinterpret_cast<unsigned char*>(static_cast<uintptr_t>(mapping.buffer.handle + offset));
}

// The importer is another process: it writes bytes that the exporter then reads.
void ImportAndWrite(int socket) {
  World world;
  Start(world);
  const IpcHandle handle = Receive(socket);
  const IpcMapping mapping = MustImport(handle, OneApi(3));
  EXPECT_EQ(mapping.size, 4096U);
  EXPECT_EQ(mapping.device.device_id, 1);  // not the device id of the tensor
  EXPECT_EQ(*At(mapping, handle.offset), 42);
  *At(mapping, handle.offset + 1) = 43;
  kLevelZeroBackend.ipc_close(mapping);
  if (handle.fd_count == 1) {
    EXPECT_NE(fcntl(handle.fds[0], F_GETFD), -1) << "an import leaves the descriptors";
    close(handle.fds[0]);
  }
  world.kept.contexts = 2;
  EXPECT_EQ(write(socket, "d", 1), 1);
}

void ExportAndRead(int socket, uint32_t fds, size_t handles) {
  World world;
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  unsigned char* memory = world.AllocDevice(context, world.parts[1][1]);
  memory[100] = 42;
  const IpcHandle handle = MustExport(memory + 100, context);
  EXPECT_EQ(handle.fd_count, fds);
  EXPECT_EQ(handle.offset, 100U);
  EXPECT_EQ(handle.size, 4096U);
  EXPECT_EQ(world.fake.fake_ze_live("ipc"), handles);
  Send(socket, handle);
  char done = 0;
  EXPECT_EQ(read(socket, &done, 1), 1);
  EXPECT_EQ(memory[101], 43);
  if (handle.fd_count == 1) {
    EXPECT_EQ(close(handle.fds[0]), 0);
  }
}

void BetweenProcesses(const Environment& environment, uint32_t fds, size_t handles) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  const pid_t importer = fork();
  if (importer == 0) {
    close(sockets[0]);
    SetEnvironment(environment);
    ImportAndWrite(sockets[1]);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(sockets[1]);
  EXPECT_TRUE(InChild([&] {
    SetEnvironment(environment);
    ExportAndRead(sockets[0], fds, handles);
  }));
  close(sockets[0]);
  int status = -1;
  EXPECT_EQ(waitpid(importer, &status, 0), importer);
  EXPECT_EQ(status, 0) << "the importer failed";
}

TEST(LevelZeroIpc, Descriptor) { BetweenProcesses({}, 1, 1); }

TEST(LevelZeroIpc, DescriptorThatIsPut) {
  BetweenProcesses({{"DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER}}, 1, 0);
}

// The importer's driver fetches the descriptor itself, so the exporter must keep it open.
TEST(LevelZeroIpc, ProcessInHandle) {
  BetweenProcesses({{"DLBRIDGE_LIBZE", FAKE_LEVEL_ZERO_LOADER}, {"FAKE_ZE_IPC", "process"}}, 0, 1);
}

TEST(LevelZeroIpc, Bytes) { BetweenProcesses({{"FAKE_ZE_IPC", "bytes"}}, 0, 1); }

LEVEL_ZERO_TEST(LevelZeroIpc, IntoRegisteredContext) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  ze_context_handle_t other = world.MakeContext();
  const IpcHandle handle = MustExport(world.AllocDevice(context, world.devices[0]), context);
  world.Register(5, 0, context);
  world.Register(6, 0, other);
  const IpcMapping by_label = MustImport(handle, OneApi(6));
  EXPECT_EQ(by_label.buffer.context, reinterpret_cast<uintptr_t>(other));
  EXPECT_EQ(by_label.device.device_id, 6);
  const IpcMapping by_device = MustImport(handle, OneApi(17));
  EXPECT_EQ(by_device.buffer.context, reinterpret_cast<uintptr_t>(context));
  EXPECT_EQ(by_device.device.device_id, 5);
  kLevelZeroBackend.ipc_close(by_label);
  kLevelZeroBackend.ipc_close(by_device);
  close(handle.fds[0]);
  world.kept.contexts = 2;
}

// The context of mapped memory lives until the mapping is closed.
LEVEL_ZERO_TEST(LevelZeroIpc, AMappingKeepsItsContextEntry) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const IpcHandle handle = MustExport(world.AllocDevice(context, world.devices[0]), context);
  int released = 0;
  DLBridgeContextEntry entry =
      dlbridge_context_entry_level_zero(0, world.drivers[0], world.devices[0], context);
  entry.release = [](void* user, const DLBridgeContextEntry* /*entry*/) {
    ++*static_cast<int*>(user);
  };
  entry.release_context = &released;
  uint64_t id = 0;
  ASSERT_EQ(dlbridge_context_register(&entry, &id, nullptr), DLBRIDGE_OK);
  const IpcMapping mapping = MustImport(handle, OneApi(0));
  EXPECT_EQ(dlbridge_context_unregister(id, nullptr), DLBRIDGE_OK);
  EXPECT_EQ(released, 0);
  // In a forked child closing has no effect.
  EXPECT_TRUE(InChild([&] {
    world.fake.Log();
    kLevelZeroBackend.ipc_close(mapping);
    EXPECT_EQ(world.fake.Log(), "");
    EXPECT_EQ(released, 0);
  }));
  kLevelZeroBackend.ipc_close(mapping);
  EXPECT_EQ(released, 1);
  close(handle.fds[0]);
}

LEVEL_ZERO_TEST(LevelZeroIpc, NotExportable) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  int on_stack = 0;
  for (const void* address :
       {static_cast<const void*>(world.AllocShared(context, world.devices[0])),
        static_cast<const void*>(world.AllocHost(context)), static_cast<const void*>(&on_stack)}) {
    IpcHandle handle = {};
    Error error;
    EXPECT_EQ(Export(address, context, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
    EXPECT_TRUE(error.Says("is not device USM")) << error.message;
    EXPECT_EQ(handle.length, 0U);
  }
  world.kept.contexts = 2;  // the library enumerated, to ask them for the address on the stack
}

// Each context of the label; an export must use the one that allocated the memory.
struct TwoContexts {
  explicit TwoContexts(World* world) : other(world->MakeContext()), own(world->MakeContext()) {
    world->Register(0, 0, other);
    world->Register(0, 0, own);
    memory = world->AllocDevice(own, world->devices[0]);
  }
  ze_context_handle_t other;  // the label's default
  ze_context_handle_t own;
  unsigned char* memory;
};

DLManagedTensorVersioned* MustWrap(const DLBridgeBuffer& buffer) {
  const int64_t shape = 16;
  DLBridgeWrapSpec spec = DLBRIDGE_WRAP_SPEC_INIT;
  spec.buffer = buffer;
  spec.device = OneApi(0);
  spec.dtype = {kDLUInt, 8, 1};
  spec.ndim = 1;
  spec.shape = &shape;
  DLManagedTensorVersioned* made = nullptr;
  Error error;
  EXPECT_EQ(dlbridge_wrap(&spec, &made, &error), DLBRIDGE_OK) << error.message;
  return made;
}

// Exports a tensor and releases it.
void ExportTensor(DLManagedTensorVersioned* tensor) {
  uint8_t bytes[dlbridge_test::kIpcBytes];
  int32_t fds[dlbridge_test::kIpcFds];
  size_t length = 0;
  size_t fd_count = 0;
  Error error;
  EXPECT_EQ(dlbridge_test::IpcExport(tensor, 0,
                                     {bytes, sizeof bytes, fds, dlbridge_test::kIpcFds, nullptr},
                                     &length, &fd_count, &error),
            DLBRIDGE_OK)
      << error.message;
  for (size_t i = 0; i < fd_count; ++i) {
    EXPECT_EQ(close(fds[i]), 0);
  }
  tensor->deleter(tensor);
}

// Any context of Intel's driver knows the memory of all, but memory is only for the context that
// allocated it.
void ExportShareAndUpgrade(World& world) {
  const TwoContexts contexts(&world);
  DLManagedTensorVersioned* tensor =
      MustWrap(dlbridge_buffer_level_zero(contexts.memory, contexts.own));
  DLManagedTensorVersioned* share = nullptr;
  ASSERT_EQ(dlbridge_share(tensor, &share, nullptr), DLBRIDGE_OK);
  ExportTensor(tensor);
  EXPECT_EQ(world.fake.Violation(), "");
  // Through a legacy tensor and back, the memory is still that of the wrapped tensor.
  DLManagedTensor* legacy = nullptr;
  DLManagedTensorVersioned* upgraded = nullptr;
  ASSERT_EQ(dlbridge_downgrade(share, nullptr, &legacy, nullptr), DLBRIDGE_OK);
  ASSERT_EQ(dlbridge_upgrade(legacy, nullptr, &upgraded, nullptr), DLBRIDGE_OK);
  ExportTensor(upgraded);
  EXPECT_EQ(world.fake.Violation(), "");
}
TEST(LevelZeroIpc, ExportsInTheContextOfTheTensor) {
  EXPECT_TRUE(
      dlbridge_test::InNextWorld(Environment{{"FAKE_ZE_TABLE", "driver"}}, ExportShareAndUpgrade));
}

// A copy to the caller's memory keeps the context that the caller named.
void ExportCopy(World& world) {
  const TwoContexts contexts(&world);
  uint8_t bytes[16] = {};
  int64_t shape = 16;
  const DLTensor source = {bytes, {kDLCPU, 0}, 1, {kDLUInt, 8, 1}, &shape, nullptr, 0};
  DLBridgeCopySpec spec = DLBRIDGE_COPY_SPEC_INIT;
  spec.device = OneApi(0);
  spec.target = dlbridge_buffer_level_zero(contexts.memory, contexts.own);
  spec.target_size = sizeof bytes;
  DLManagedTensorVersioned* copy = nullptr;
  Error error;
  ASSERT_EQ(dlbridge_copy(&source, 0, &spec, &copy, &error), DLBRIDGE_OK) << error.message;
  ExportTensor(copy);
  world.kept.pools = 1;
}
TEST(LevelZeroIpc, ExportsACopyInTheContextOfItsTarget) {
  EXPECT_TRUE(dlbridge_test::InNextWorld(Environment{{"FAKE_ZE_TABLE", "driver"}}, ExportCopy));
}

// The owner of a tensor may change its data to memory of another context.
LEVEL_ZERO_TEST(LevelZeroIpc, ChangedDataIsFoundInItsContext) {
  const TwoContexts contexts(&world);
  DLManagedTensorVersioned* tensor =
      MustWrap(dlbridge_buffer_level_zero(contexts.memory, contexts.own));
  tensor->dl_tensor.data = world.AllocDevice(contexts.other, world.devices[0]);
  ExportTensor(tensor);
}

// The message of another process may contain anything.
LEVEL_ZERO_TEST(LevelZeroIpc, Altered) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const IpcHandle good = MustExport(world.AllocDevice(context, world.devices[0]), context);
  world.Register(0, 0, context);
  const auto refused = [&](const IpcHandle& handle, DLBridgeStatus status, const char* text) {
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(kLevelZeroBackend.ipc_import(handle, OneApi(0), nullptr, &mapping, &error), status);
    EXPECT_TRUE(error.Says(text)) << error.message;
    EXPECT_EQ(mapping.buffer.handle, 0U);
  };
  IpcHandle handle = good;
  handle.length = 87;
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "must have 88 bytes");
  handle = good;
  handle.format = 2;
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "format 1");
  handle = good;
  handle.bytes[84] |= 4;
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "flag that this version does not know");
  handle = good;
  handle.fd_count = 0;
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "number of file descriptors");
  handle = good;
  handle.bytes[64] ^= 1;
  refused(handle, DLBRIDGE_ERROR_UNAVAILABLE, "not visible in this process");
  handle = good;
  handle.bytes[80] ^= 1;
  refused(handle, DLBRIDGE_ERROR_UNAVAILABLE, "not visible in this process");
  handle = good;
  handle.size = 4097;
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "a larger size than the memory");
  // A handle without a descriptor that names a descriptor of the importer.
  handle = good;
  handle.bytes[84] &= 0xfd;
  handle.fd_count = 0;
  handle.bytes[0] = static_cast<uint8_t>(good.fds[0]);
  refused(handle, DLBRIDGE_ERROR_DESCRIPTOR, "refers to a file descriptor of this process");
  handle = good;
  handle.fds[0] = -1;
  refused(handle, DLBRIDGE_ERROR_DRIVER, "zeMemOpenIpcHandle");
  close(good.fds[0]);
  world.kept.contexts = 0;
}

LEVEL_ZERO_TEST(LevelZeroIpc, AStreamIsRejected) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  DLBridgeStream stream = DLBRIDGE_STREAM_INIT;
  stream.backend = DLBRIDGE_BACKEND_LEVEL_ZERO;
  stream.kind = DLBRIDGE_STREAM_QUEUE;
  IpcHandle handle = {};
  Error error;
  EXPECT_EQ(kLevelZeroBackend.ipc_export(dlbridge_buffer_level_zero(memory, context), OneApi(0),
                                         {0, 4, &stream}, &handle, &error),
            DLBRIDGE_ERROR_UNSUPPORTED);
  EXPECT_TRUE(error.Says("dlbridge_stream_synchronize")) << error.message;
  EXPECT_EQ(handle.length, 0U);
}

LEVEL_ZERO_TEST(LevelZeroIpc, EachExportCallFails) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  for (const char* call :
       {"zeMemGetAllocProperties", "zeMemGetAddressRange", "zeMemGetIpcHandle"}) {
    world.fake.fake_ze_fail(call, kDeviceLost, 1);
    IpcHandle handle = {};
    Error error;
    EXPECT_EQ(Export(memory, context, &handle, &error), DLBRIDGE_ERROR_DRIVER) << call;
    EXPECT_TRUE(error.Says(call)) << error.message;
    EXPECT_EQ(handle.length, 0U);
  }
}

LEVEL_ZERO_TEST(LevelZeroIpc, EachImportCallFails) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const IpcHandle handle = MustExport(world.AllocDevice(context, world.devices[0]), context);
  for (const char* call : {"zeContextCreate", "zeMemOpenIpcHandle", "zeMemGetAddressRange"}) {
    world.fake.fake_ze_fail(call, kDeviceLost, 1);
    IpcMapping mapping = {};
    Error error;
    EXPECT_EQ(kLevelZeroBackend.ipc_import(handle, OneApi(0), nullptr, &mapping, &error),
              DLBRIDGE_ERROR_DRIVER);
    EXPECT_TRUE(error.Says(call)) << error.message;
  }
  close(handle.fds[0]);
  world.kept.contexts = 2;
}

// No descriptor is free for the duplicate of the driver's descriptor.
LEVEL_ZERO_TEST(LevelZeroIpc, NoDescriptorFree) {
  Start(world);
  ze_context_handle_t context = world.MakeContext();
  const unsigned char* memory = world.AllocDevice(context, world.devices[0]);
  const IpcHandle first = MustExport(memory, context);  // the driver keeps its descriptor open
  std::vector<int> taken;
  for (int fd = dup(0); fd != -1; fd = dup(0)) {
    taken.push_back(fd);
  }
  IpcHandle handle = {};
  Error error;
  EXPECT_EQ(Export(memory, context, &handle, &error), DLBRIDGE_ERROR_UNSUPPORTED);
  for (const int fd : taken) {
    close(fd);
  }
  EXPECT_TRUE(error.Says("cannot be duplicated")) << error.message;
  close(first.fds[0]);
}

}  // namespace
