// SPDX-License-Identifier: Apache-2.0
// Callbacks that lie, hang, crash, leak or return the wrong type fail their check with a message,
// and the run goes on.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support.h"

namespace conformance_test {
namespace {

using Project = DLBridgeConformanceProject;
using Request = DLBridgeConformanceRequest;
using Export = DLBridgeConformanceExport;
using Offer = DLBridgeConformanceOffer;
using Answer = DLBridgeConformanceAnswer;

const Project right = array_project();

Answer Make(const Request* request, Export* out, char* message) {
  return right.make(nullptr, request, out, message);
}

// ----------------------------------------------------------------------------- ways to end a check

void Hang() {
  for (;;) {
    usleep(1000);
  }
}
void Crash() { raise(SIGSEGV); }
void Abort() { abort(); }
void Exit() { exit(0); }
void ExitAtOnce() { _exit(3); }
void Throw() { throw std::runtime_error("thrown through C"); }
void Stop() { raise(SIGSTOP); }
void EndGroup() { kill(0, SIGTERM); }
void NullCall() {
  void (*volatile nothing)() = nullptr;
  nothing();
}

int Deep(volatile int* before, int depth) {
  volatile int here[1024];
  here[0] = *before;
  return depth == 0 ? 0 : Deep(here, depth - 1) + here[0];
}
void Overflow() {
  volatile int start = 1;
  Deep(&start, 1 << 30);
}

void CloseAll() {
  for (int i = 0; i < 1024; ++i) {
    close(i);
  }
}

// A process that outlives the check and holds its pipe.
void LeaveProcess() {
  if (fork() == 0) {
    sleep(2);
    _exit(0);
  }
  abort();
}

void Scribble() {
  for (int i = 3; i < 1024; ++i) {
    if (fcntl(i, F_GETFD) != -1 && write(i, "garbage", 7) < 0) {
      continue;
    }
  }
}

// More memory than a child may have.
void Hoard() {
  const size_t bytes = size_t{64} << 30;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    abort();
  }
  Hang();
}

template <void (*kEnd)()>
Answer EndingMake(void*, const Request*, Export*, char*) {
  kEnd();
  return DLBRIDGE_CONFORMANCE_DONE;
}

template <void (*kEnd)()>
Answer EndingConsume(void*, const Offer*, void**, char*) {
  kEnd();
  return DLBRIDGE_CONFORMANCE_DONE;
}

template <void (*kEnd)()>
Answer EndingRead(void*, void*, void*, size_t, size_t*, char*) {
  kEnd();
  return DLBRIDGE_CONFORMANCE_DONE;
}

template <void (*kEnd)()>
void EndingRelease(void*, void*) {
  kEnd();
}

template <void (*kEnd)()>
void Plant(Project* project, int callback) {
  switch (callback) {
    case 0:
      project->make = EndingMake<kEnd>;
      break;
    case 1:
      project->consume = EndingConsume<kEnd>;
      break;
    case 2:
      project->read = EndingRead<kEnd>;
      break;
    default:
      project->release = EndingRelease<kEnd>;
  }
}

struct Ending {
  const char* name;
  const char* found;
  void (*plant)(Project*, int);
};

const Ending kEndings[] = {
    {"Hang", "no end within", Plant<Hang>},
    {"Crash", "", Plant<Crash>},
    {"Abort", "", Plant<Abort>},
    {"Exit", "ended with status 0", Plant<Exit>},
    {"ExitAtOnce", "ended with status 3", Plant<ExitAtOnce>},
    {"Throw", "", Plant<Throw>},
    {"Stop", "no end within", Plant<Stop>},
    {"EndGroup", "", Plant<EndGroup>},
    {"NullCall", "", Plant<NullCall>},
    {"Overflow", "", Plant<Overflow>},
    {"CloseAll", "", Plant<CloseAll>},
    {"LeaveProcess", "", Plant<LeaveProcess>},
    {"Scribble", "", Plant<Scribble>},
    {"Hoard", "", Plant<Hoard>},
};

class HostileEnding : public testing::TestWithParam<Ending> {};

// `deleter-once` is a check of the consumer and `values` one of the producer; the other must still
// pass.
TEST_P(HostileEnding, FailsItsCheckOnly) {
  // Two callbacks are sufficient where a check waits for its time limit.
  const int callbacks = strstr(GetParam().found, "no end") != nullptr ? 2 : 4;
  for (int callback = 0; callback < callbacks; ++callback) {
    Project project = right;
    GetParam().plant(&project, callback);
    DLBridgeConformanceSettings settings = Quick();
    settings.time_limit_ms = 300;
    const bool producer = callback == 0;
    settings.only = producer ? "export-int8" : "import-int8";
    const Ran ran = RunAll(project, settings);
    ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
    ASSERT_EQ(ran.results.size(), 1U);
    const Result& result = ran.results.begin()->second;
    EXPECT_EQ(result.outcome, DLBRIDGE_CONFORMANCE_FAILED);
    EXPECT_NE(result.found, "");
    EXPECT_NE(result.found.find(GetParam().found), std::string::npos) << result.found;
    if (strcmp(GetParam().found, "") != 0) {
      EXPECT_EQ(result.severity, DLBRIDGE_CONFORMANCE_CRASH);
      EXPECT_NE(result.reproducer, "");
    }
    settings.time_limit_ms = Quick().time_limit_ms;
    settings.only = producer ? "import-int8" : "export-int8";
    EXPECT_EQ(RunAll(producer ? project : right, settings).summary.passed, 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, HostileEnding, testing::ValuesIn(kEndings),
                         [](const auto& info) { return std::string(info.param.name); });

// -------------------------------------------------------------------------------------------- lies

Answer NothingDone(void*, const Request*, Export*, char*) { return DLBRIDGE_CONFORMANCE_DONE; }
Answer StrangeAnswer(void*, const Request*, Export*, char*) { return 77; }
Answer LongMessage(void*, const Request*, Export*, char* message) {
  memset(message, 'x', DLBRIDGE_CONFORMANCE_MESSAGE_SIZE);
  return DLBRIDGE_CONFORMANCE_REJECTED;
}
Answer SilentRejection(void*, const Request*, Export*, char*) {
  return DLBRIDGE_CONFORMANCE_REJECTED;
}
Answer NotDeclared(void*, const Request*, Export*, char*) {
  return DLBRIDGE_CONFORMANCE_UNSUPPORTED;
}
Answer StrangeKind(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  out->kind = 9;
  return answer;
}
Answer WildTensor(void*, const Request* request, Export* out, char*) {
  out->kind = request->kind;
  out->tensor = reinterpret_cast<void*>(0x10);
  return DLBRIDGE_CONFORMANCE_DONE;
}
Answer WildShape(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  static_cast<DLManagedTensorVersioned*>(out->tensor)->dl_tensor.shape =
      reinterpret_cast<int64_t*>(0x10);
  return answer;
}
Answer WildData(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  static_cast<DLManagedTensorVersioned*>(out->tensor)->dl_tensor.data = out;
  static_cast<DLManagedTensorVersioned*>(out->tensor)->dl_tensor.byte_offset = uint64_t{1} << 50;
  return answer;
}
Answer HugeNdim(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  static_cast<DLManagedTensorVersioned*>(out->tensor)->dl_tensor.ndim = INT32_MAX;
  return answer;
}
Answer WildDeleter(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  static_cast<DLManagedTensorVersioned*>(out->tensor)->deleter =
      reinterpret_cast<void (*)(DLManagedTensorVersioned*)>(0x10);
  return answer;
}
Answer WildArray(void*, const Request* request, Export* out, char* message) {
  const Answer answer = Make(request, out, message);
  out->array = reinterpret_cast<void*>(0x10);
  return answer;
}

struct Lie {
  const char* name;
  Answer (*make)(void*, const Request*, Export*, char*);
};

const Lie kLies[] = {
    {"NothingDone", NothingDone}, {"StrangeAnswer", StrangeAnswer},
    {"LongMessage", LongMessage}, {"SilentRejection", SilentRejection},
    {"NotDeclared", NotDeclared}, {"StrangeKind", StrangeKind},
    {"WildTensor", WildTensor},   {"WildShape", WildShape},
    {"WildData", WildData},       {"HugeNdim", HugeNdim},
    {"WildDeleter", WildDeleter}, {"WildArray", WildArray},
};

class HostileLie : public testing::TestWithParam<Lie> {};

TEST_P(HostileLie, IsNotBelieved) {
  Project project = right;
  project.make = GetParam().make;
  const Ran ran = RunOnly(project, "values");
  ASSERT_EQ(ran.status, DLBRIDGE_OK) << ran.error.message;
  ASSERT_EQ(ran.results.size(), 1U);
  EXPECT_EQ(ran.results.at("values").outcome, DLBRIDGE_CONFORMANCE_FAILED);
  EXPECT_NE(ran.results.at("values").found, "");
}

INSTANTIATE_TEST_SUITE_P(Each, HostileLie, testing::ValuesIn(kLies),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Hostile, AWildTableIsNotBelieved) {
  Project project = right;
  project.exchange_api = [](void*) {
    return reinterpret_cast<const DLPackExchangeAPIHeader*>(0x10);
  };
  const Ran ran = RunOnly(project, "table-");
  for (const auto& [name, result] : ran.results) {
    const bool concerned = name.rfind("table-", 0) == 0;
    EXPECT_EQ(result.outcome, concerned ? DLBRIDGE_CONFORMANCE_FAILED : DLBRIDGE_CONFORMANCE_PASSED)
        << name;
  }
}

TEST(Hostile, ACountOfArraysMayHang) {
  Project project = right;
  project.live = [](void*) -> int64_t {
    Hang();
    return 0;
  };
  DLBridgeConformanceSettings settings = Quick();
  settings.only = "deleter-releases";
  settings.time_limit_ms = 300;
  EXPECT_EQ(RunAll(project, settings).results.at("deleter-releases").found, "no end within 300 ms");
}

// A message that the callback does not end, and a request that it overwrites.
TEST(Hostile, TheKitsMemoryIsNotTrustedAfterwards) {
  Project project = right;
  project.make = [](void*, const Request* request, Export*, char* message) -> Answer {
    memset(const_cast<Request*>(request), 0xff, sizeof *request);
    memset(message, 'x', DLBRIDGE_CONFORMANCE_MESSAGE_SIZE);
    return DLBRIDGE_CONFORMANCE_REJECTED;
  };
  const Ran ran = RunOnly(project, "kind-versioned");
  EXPECT_EQ(ran.results.at("kind-versioned").outcome, DLBRIDGE_CONFORMANCE_FAILED);
  EXPECT_NE(ran.results.at("kind-versioned").found.find("xxxx"), std::string::npos);
}

TEST(Hostile, AnArrayOfNothingIsNotBelieved) {
  Project project = right;
  project.consume = [](void*, const Offer*, void**, char*) -> Answer {
    return DLBRIDGE_CONFORMANCE_DONE;
  };
  const Ran ran = RunOnly(project, "layout-plain");
  EXPECT_EQ(ran.results.at("layout-plain").found, "NULL");
}

TEST(Hostile, ACountOfBytesIsNotBelieved) {
  Project project = right;
  project.read = [](void* user, void* array, void* out, size_t size, size_t* written,
                    char* message) -> Answer {
    const Answer answer = right.read(user, array, out, size, written, message);
    *written = SIZE_MAX;
    return answer;
  };
  const Ran ran = RunOnly(project, "layout-plain");
  EXPECT_EQ(ran.results.at("layout-plain").outcome, DLBRIDGE_CONFORMANCE_FAILED);
}

TEST(Hostile, AWriteBeyondTheBufferIsFound) {
  Project project = right;
  project.read = [](void*, void*, void* out, size_t size, size_t* written, char*) -> Answer {
    memset(out, 0, size + 1);
    *written = size;
    return DLBRIDGE_CONFORMANCE_DONE;
  };
  const Ran ran = RunOnly(project, "layout-plain");
  EXPECT_EQ(ran.results.at("layout-plain").found,
            "an access outside of the buffer for values: byte 24 of 24");
}

// An adapter that supports nothing checks nothing, which is no success.
TEST(Hostile, NothingIsNoSuccess) {
  Project project = dlbridge_conformance_project_init();
  project.name = "nothing";
  const Ran ran = RunAll(project);
  EXPECT_EQ(ran.summary.skipped, dlbridge_conformance_check_count());
  EXPECT_EQ(dlbridge_conformance_exit_status(&ran.summary), 1);
}

TEST(Hostile, OutputOfCallbacksIsNotInTheReport) {
  Project project = right;
  project.make = [](void*, const Request* request, Export* out, char* message) -> Answer {
    printf("not ok 1 - planted\n");
    fflush(stdout);
    return Make(request, out, message);
  };
  testing::internal::CaptureStdout();
  DLBridgeConformanceSettings settings = Quick();
  settings.only = "scalar";
  settings.tap_path = "-";
  const Ran ran = RunAll(project, settings);
  const std::string output = testing::internal::GetCapturedStdout();
  EXPECT_EQ(output.find("planted"), std::string::npos) << output;
  EXPECT_NE(output.find("ok 1 - scalar\n"), std::string::npos) << output;
}

// A thread that the callback has left behind ends with the check.
TEST(Hostile, AThreadThatGoesOnEndsWithItsCheck) {
  Project project = right;
  project.make = [](void*, const Request* request, Export* out, char* message) -> Answer {
    std::thread(Hang).detach();
    return Make(request, out, message);
  };
  EXPECT_EQ(RunOnly(project, "device-id").summary.passed, 1U);
}

}  // namespace
}  // namespace conformance_test
