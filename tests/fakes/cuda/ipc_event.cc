// SPDX-License-Identifier: Apache-2.0
// Interprocess events of the fake. Processes share a counter of records and of those that are
// complete. A record is complete when the exporter's stream has run up to it, which only a wait in
// the exporter brings about.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "state.h"

namespace fake_cuda {
namespace {

struct EventHandle {
  char magic[8];
  int pid;
  int file;
};
static_assert(sizeof(EventHandle) <= sizeof(CUipcEventHandle), "a handle of CUDA has 64 bytes");

constexpr char kMagic[8] = "fakeevt";

SharedEvent* Map(int file) {
  return file < 0 ? nullptr : static_cast<SharedEvent*>(MapFile(file, sizeof(SharedEvent)));
}

// Opens the file of a handle. The handle is foreign: the file may be any of that process.
int OpenFile(const EventHandle& handle) {
  char path[64];
  char name[64] = {};
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.pid, handle.file);
  const bool known = readlink(path, name, sizeof name - 1) > 0 &&
                     std::strncmp(name, "/memfd:fake_cuda_event ", 23) == 0;
  return known ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

}  // namespace

void MakeShared(Event* event) {
  event->file = memfd_create("fake_cuda_event", MFD_CLOEXEC);
  if (ftruncate(event->file, sizeof(SharedEvent)) == 0) {
    event->shared = Map(event->file);
  }
}

void RecordShared(Event* event, Stream* stream) {
  SharedEvent* shared = event->shared;
  if (shared != nullptr) {
    const uint64_t record = ++shared->recorded;
    stream->work.push_back({nullptr, nullptr, [=] { shared->done = record; }});
  }
}

void WaitForShared(SharedEvent* shared, uint64_t record) {
  while (shared->done < record) {
    usleep(1000);
  }
}

}  // namespace fake_cuda

using fake_cuda::Current;
using fake_cuda::Event;
using fake_cuda::TheState;

extern "C" {

CUresult CUDAAPI cuIpcGetEventHandle(CUipcEventHandle* out, CUevent handle) {
  FAKE_CALL("cuIpcGetEventHandle", kContext);
  FAKE_UNSAFE("cuIpcGetEventHandle");
  Event* event = fake_cuda::FindEvent(handle, "cuIpcGetEventHandle");
  if (event == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(event->shared != nullptr && !event->imported, CUDA_ERROR_INVALID_HANDLE,
               "cuIpcGetEventHandle of an event without CU_EVENT_INTERPROCESS");
  fake_cuda::EventHandle text = {};
  std::memcpy(text.magic, fake_cuda::kMagic, sizeof text.magic);
  text.pid = getpid();
  text.file = event->file;
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &text, sizeof text);
  event->exported = true;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle in) {
  FAKE_CALL("cuIpcOpenEventHandle", kContext);
  FAKE_UNSAFE("cuIpcOpenEventHandle");
  fake_cuda::EventHandle text;
  std::memcpy(&text, &in, sizeof text);
  if (std::memcmp(text.magic, fake_cuda::kMagic, sizeof text.magic) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  FAKE_REQUIRE(text.pid != getpid(), CUDA_ERROR_INVALID_DEVICE,
               "cuIpcOpenEventHandle in the process that exported");
  const int file = fake_cuda::OpenFile(text);
  fake_cuda::SharedEvent* shared = fake_cuda::Map(file);
  if (shared == nullptr) {
    return CUDA_ERROR_MAP_FAILED;
  }
  close(file);
  TheState().events.emplace_back();
  Event* event = &TheState().events.back();
  event->context = Current();
  event->shared = shared;
  event->imported = true;
  *out = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}

#ifndef FAKE_CUDA_OLD
CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long* id) {
  FAKE_CALL("cuStreamGetId", kContext);
  FAKE_UNSAFE("cuStreamGetId");
  fake_cuda::Stream* stream = fake_cuda::FindStream(handle, "cuStreamGetId");
  if (stream == nullptr) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  stream->id = stream->id != 0 ? stream->id : TheState().next_id++;
  *id = stream->id;
  return CUDA_SUCCESS;
}
#endif
}
