// SPDX-License-Identifier: Apache-2.0
// Runs checks in children with a time limit. A child writes one record for each check to a pipe. If
// it ends before the record of a check, that check has failed, and the next child goes on after it.
#include "run.h"

#if !defined(_WIN32)
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#endif

#include "memory.h"
#include "trial.h"

#if !defined(_WIN32)
extern "C" char** environ;
#endif

namespace dlbridge_conformance {
namespace {

DLBridgeStatus RunInProcess(const Chosen& chosen, const Sink& sink) {
  for (uint32_t i = 0; i < chosen.indices.size(); ++i) {
    sink.take(sink.context, RunHere(chosen, i, false));
  }
  return DLBRIDGE_OK;
}

}  // namespace

#if defined(_WIN32)

bool HasFork() { return false; }
bool RunIfChild(const Chosen&) { return false; }

DLBridgeStatus RunAll(const Chosen& chosen, const Sink& sink, DLBridgeError*) {
  return RunInProcess(chosen, sink);
}

#else

bool HasFork() { return true; }

namespace {

constexpr char kVariable[] = "DLBRIDGE_CONFORMANCE_CHILD";
// A callback that hoards memory fails instead of driving the system into swapping.
constexpr rlim_t kMoreMemory = rlim_t{8} << 30;
// Time for a command to start, in milliseconds.
constexpr int64_t kStart = 20000;
constexpr int kHighDescriptor = 200;
// The exit status of a child that has reported a failure and wants the next checks to start afresh.
constexpr int kStartAgain = 97;

int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
}

void Nap() {
  const timespec millisecond = {0, 1000000};
  nanosleep(&millisecond, nullptr);
}

// ----------------------------------------------------------------------------------- in the child

// What the fault handler needs. Only a child that runs one check at a time has it.
struct Watched {
  int descriptor;
  uint32_t index;
  struct sigaction before[NSIG];
};
Watched watched;

void WriteRecord(int descriptor, const Record& record) {
  ssize_t written = 0;
  do {
    written = write(descriptor, &record, sizeof record);
  } while (written < 0 && errno == EINTR);
}

// Tells the parent what runs next, once for each reproducer: rounds repeat it.
void AnnounceToParent(const Snippet& reproducer) {
  static Record record;
  if (record.magic == kMagic && record.index == watched.index &&
      strcmp(record.reproducer.text, reproducer.text) == 0) {
    return;
  }
  record.magic = kMagic;
  record.index = watched.index;
  record.outcome = kAnnounced;
  record.reproducer = reproducer;
  WriteRecord(watched.descriptor, record);
}

// An access that a region explains is reported; every other one is left to the handler before.
void OnFault(int signal, siginfo_t* info, void*) {
  static Record record;
  Access allowed = Access::kWrite;
  if (Explain(info->si_addr, &record.found, &allowed)) {
    record.magic = kMagic;
    record.index = watched.index;
    record.outcome = DLBRIDGE_CONFORMANCE_FAILED;
    record.severity =
        allowed == Access::kWrite ? DLBRIDGE_CONFORMANCE_CRASH : DLBRIDGE_CONFORMANCE_CORRUPTION;
    record.expected.Add("no access outside of what the tensor describes");
    WriteRecord(watched.descriptor, record);
    _exit(0);
  }
  sigaction(signal, &watched.before[signal], nullptr);
}

void WatchFaults(int descriptor) {
  static unsigned char stack[65536];
  stack_t own;
  memset(&own, 0, sizeof own);
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  stack_t current;
  // A runtime that has a stack for signals keeps it.
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0) {
    sigaltstack(&own, nullptr);
  }
  watched.descriptor = descriptor;
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &watched.before[SIGSEGV]);
  sigaction(SIGBUS, &action, &watched.before[SIGBUS]);
}

rlim_t AddressSpace() {
  unsigned long long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == nullptr) {
    return 0;
  }
  const int numbers = fscanf(file, "%llu", &pages);
  fclose(file);
  return numbers == 1 ? static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void LimitChild() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const rlim_t now = AddressSpace();
  rlimit space;
  if (now != 0 && getrlimit(RLIMIT_AS, &space) == 0 &&
      (space.rlim_cur == RLIM_INFINITY || space.rlim_cur > now + kMoreMemory)) {
    space.rlim_cur = now + kMoreMemory;
    setrlimit(RLIMIT_AS, &space);
  }
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

// The standard output belongs to the reports: what callbacks print goes to the standard error.
void SetUpChild(int descriptor) {
  dup2(2, 1);
  LimitChild();
  WatchFaults(descriptor);
}

[[noreturn]] void RunChild(const Chosen& chosen, int descriptor, uint32_t first, uint32_t last) {
  SetUpChild(descriptor);
  announce = AnnounceToParent;
  watched.index = first;
  AnnounceToParent(Snippet());
  for (uint32_t i = first; i < last; ++i) {
    watched.index = i;
    const Record record = RunHere(chosen, i, true);
    WriteRecord(descriptor, record);
    // What a failed check has left behind must not disturb the next one.
    if (record.outcome == DLBRIDGE_CONFORMANCE_FAILED && i + 1 < last) {
      _exit(kStartAgain);
    }
  }
  fflush(nullptr);
  _exit(0);
}

// ---------------------------------------------------------------------------------- in the parent

struct Child {
  pid_t process;
  int descriptor;
  int64_t deadline;
  int64_t limit;
  uint32_t next;  // the check whose record is awaited
  bool late;
  bool started;
  int status;
  Snippet reproducer;  // of what the child runs
};

enum class Input { kRecord, kNothing, kEnd };

Input ReadRecord(const Chosen& chosen, Child* child, Record* record) {
  const ssize_t got = read(child->descriptor, static_cast<void*>(record), sizeof *record);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return Input::kNothing;
  }
  // Anything else in the pipe comes from a callback that writes to a descriptor that is not its
  // own.
  if (got != static_cast<ssize_t>(sizeof *record)) {
    return got <= 0 ? Input::kEnd : Input::kNothing;
  }
  const bool mine = record->magic == kMagic && record->index == child->next &&
                    record->index < chosen.indices.size() && record->outcome >= kAnnounced &&
                    record->outcome <= DLBRIDGE_CONFORMANCE_SKIPPED;
  if (!mine) {
    return Input::kNothing;
  }
  record->expected.text[sizeof record->expected.text - 1] = 0;
  record->found.text[sizeof record->found.text - 1] = 0;
  record->reproducer.text[sizeof record->reproducer.text - 1] = 0;
  if (record->outcome == kAnnounced) {
    child->reproducer = record->reproducer;
    // The time for a command to start is over.
    child->deadline = child->started ? child->deadline : Now() + child->limit;
    child->started = true;
    return Input::kNothing;
  }
  if (record->reproducer.text[0] == 0) {
    record->reproducer = child->reproducer;
  }
  return Input::kRecord;
}

bool HasInput(const Child& child, int milliseconds) {
  pollfd more = {child.descriptor, POLLIN, 0};
  return poll(&more, 1, milliseconds) > 0 && (more.revents & POLLIN) != 0;
}

void PassOn(const Sink& sink, Child* child, const Record& record) {
  sink.take(sink.context, record);
  ++child->next;
  child->deadline = Now() + child->limit;
  child->reproducer = Snippet();
}

// Passes the records on that are there. False at the end of the pipe.
bool Drain(const Chosen& chosen, const Sink& sink, Child* child) {
  Record record;
  Input input = ReadRecord(chosen, child, &record);
  while (input == Input::kRecord || (input == Input::kNothing && HasInput(*child, 0))) {
    if (input == Input::kRecord) {
      PassOn(sink, child, record);
    }
    input = ReadRecord(chosen, child, &record);
  }
  return input != Input::kEnd;
}

// Waits until the child ends by itself or by the time limit.
void Await(const Chosen& chosen, const Sink& sink, Child* child) {
  bool open = true;
  while (waitpid(child->process, &child->status, WNOHANG) == 0) {
    if (Now() > child->deadline) {
      child->late = true;
      kill(-child->process, SIGKILL);
      kill(child->process, SIGKILL);
      waitpid(child->process, &child->status, 0);
      break;
    }
    if (!open) {
      Nap();
      continue;
    }
    HasInput(*child, 50);
    open = Drain(chosen, sink, child);
  }
  Drain(chosen, sink, child);
  // What the child has started ends with it.
  kill(-child->process, SIGKILL);
  close(child->descriptor);
}

Record Ended(const Child& child) {
  Record record;
  memset(static_cast<void*>(&record), 0, sizeof record);
  record.index = child.next;
  record.outcome = DLBRIDGE_CONFORMANCE_FAILED;
  record.severity = DLBRIDGE_CONFORMANCE_CRASH;
  record.reproducer = child.reproducer;
  record.expected.Add("callbacks that return");
  if (child.late) {
    record.found.Add("no end within %lld ms", static_cast<long long>(child.limit));
  } else if (WIFSIGNALED(child.status)) {
    record.found.Add("signal %d (%s) ended the process", WTERMSIG(child.status),
                     strsignal(WTERMSIG(child.status)));
  } else {
    record.found.Add("the process ended with status %d", WEXITSTATUS(child.status));
  }
  return record;
}

// The writing end of the pipe is moved away from the descriptors that callbacks use.
bool OpenPipe(int* ends) {
  if (pipe(ends) != 0) {
    return false;
  }
  const int high = fcntl(ends[1], F_DUPFD, kHighDescriptor);
  if (high >= 0) {
    close(ends[1]);
    ends[1] = high;
  }
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return true;
}

// Only calls that are safe after a fork of a process with threads.
[[noreturn]] void StartCommand(const Chosen& chosen, char* const* environment) {
  dup2(2, 1);
  environ = const_cast<char**>(environment);
  execvp(chosen.settings.command[0], const_cast<char* const*>(chosen.settings.command));
  _exit(127);
}

// The environment of this process and one more variable. The array is the caller's.
char** EnvironmentWith(char* variable) {
  size_t count = 0;
  while (environ[count] != nullptr) {
    ++count;
  }
  auto* made = static_cast<char**>(malloc((count + 2) * sizeof(char*)));
  if (made != nullptr) {
    made[0] = variable;
    memcpy(static_cast<void*>(made + 1), static_cast<const void*>(environ),
           (count + 1) * sizeof(char*));
  }
  return made;
}

pid_t Start(const Chosen& chosen, const int* ends, uint32_t first, char** environment) {
  fflush(nullptr);
  const pid_t process = fork();
  if (process != 0) {
    return process;
  }
  setpgid(0, 0);
  if (environment != nullptr) {
    StartCommand(chosen, environment);
  }
  close(ends[0]);
  RunChild(chosen, ends[1], first, first + 1);
}

DLBridgeStatus RunFrom(const Chosen& chosen, const Sink& sink, uint32_t* next,
                       DLBridgeError* error) {
  const bool command = chosen.isolation == DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND;
  int ends[2];
  if (!OpenPipe(ends)) {
    return SetError(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, Say("no pipe: %s", strerror(errno)));
  }
  Text<512> variable;
  variable.Add("%s=%d %u %s", kVariable, ends[1], *next, chosen.project.name);
  char** environment = command ? EnvironmentWith(variable.text) : nullptr;
  const int64_t limit = chosen.settings.time_limit_ms;
  Child child = {-1, ends[0], Now() + limit + (command ? kStart : 0), limit, *next, false, false,
                 0,  {}};
  if (!command || environment != nullptr) {
    child.process = Start(chosen, ends, *next, environment);
  }
  close(ends[1]);
  free(static_cast<void*>(environment));
  if (child.process < 0) {
    close(ends[0]);
    return SetError(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, Say("no process: %s", strerror(errno)));
  }
  setpgid(child.process, child.process);
  Await(chosen, sink, &child);
  const uint32_t last = command ? static_cast<uint32_t>(chosen.indices.size()) : *next + 1;
  const bool again = !child.late && WIFEXITED(child.status) &&
                     WEXITSTATUS(child.status) == kStartAgain && child.next > *next;
  if (child.next < last && !again) {
    sink.take(sink.context, Ended(child));
    ++child.next;
  }
  *next = child.next;
  return DLBRIDGE_OK;
}

}  // namespace

DLBridgeStatus RunAll(const Chosen& chosen, const Sink& sink, DLBridgeError* error) {
  if (chosen.isolation == DLBRIDGE_CONFORMANCE_ISOLATION_NONE) {
    return RunInProcess(chosen, sink);
  }
  DLBridgeStatus status = DLBRIDGE_OK;
  for (uint32_t next = 0; next < chosen.indices.size() && status == DLBRIDGE_OK;) {
    status = RunFrom(chosen, sink, &next, error);
  }
  return status;
}

bool RunIfChild(const Chosen& chosen) {
  const char* given = getenv(kVariable);
  int descriptor = -1;
  unsigned first = 0;
  int length = 0;
  if (given == nullptr || chosen.isolation != DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND ||
      sscanf(given, "%d %u %n", &descriptor, &first, &length) != 2) {
    return false;
  }
  if (strcmp(given + length, chosen.project.name) != 0) {
    return true;
  }
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  RunChild(chosen, descriptor, first, static_cast<uint32_t>(chosen.indices.size()));
}

#endif

}  // namespace dlbridge_conformance
