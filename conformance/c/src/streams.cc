// SPDX-License-Identifier: Apache-2.0
// Checks of the order of asynchronous work, on queues whose work runs only when somebody waits for
// it.
#include "offered.h"
#include "queue.h"
#include "trial.h"

namespace dlbridge_conformance {
namespace {

bool HasQueues(Trial* trial) {
  return trial->project.queue_device.device_type != 0 ||
         trial->Skip(Say("the project has no queue_device"));
}

// Copies bytes when its turn comes.
struct CopyWork {
  const DLTensor* tensor;
  unsigned char found[24];
};

void ReadTensor(void* given) {
  auto* work = static_cast<CopyWork*>(given);
  Gather(*work->tensor, 0, work->found, sizeof work->found);
}

// The tensor as its consumer reads it: by work on the consumer's queue, or at once.
void ReadAsConsumer(Trial* trial, const Made& made, DLBridgeConformanceQueue* consumer) {
  CopyWork work = {made.tensor, {0}};
  if (consumer == nullptr) {
    ReadTensor(&work);
  } else {
    dlbridge_conformance_queue_submit(consumer, ReadTensor, &work);
    dlbridge_conformance_queue_synchronize(consumer);
  }
  const Sample& sample = Float32();
  if (memcmp(work.found, sample.values, sizeof work.found) != 0) {
    trial->Fail(DLBRIDGE_CONFORMANCE_WRONG_ANSWER,
                Say("the values, written before the consumer reads them"),
                Difference(work.found, sample.values, sizeof work.found));
  }
}

void Export(Trial* trial, bool with_consumer) {
  DLBridgeConformanceQueue queue;
  DLBridgeConformanceQueue consumer;
  Wanted wanted;
  wanted.device = trial->project.queue_device;
  wanted.queue = &queue;
  wanted.consumer = with_consumer ? &consumer : nullptr;
  Made made;
  if (!HasQueues(trial) || !Make(trial, wanted, &made) || !CheckShape(trial, wanted, made)) {
    return;
  }
  ReadAsConsumer(trial, made, wanted.consumer);
  // What is left runs before its memory is freed, as on a device.
  dlbridge_conformance_queue_synchronize(&queue);
  Drop(trial, made);
}

void StreamExport(Trial* trial) { Export(trial, true); }
void StreamExportHost(Trial* trial) { Export(trial, false); }

// ------------------------------------------------------------------------------------- consumers

void WriteValues(void* given) {
  auto* offered = static_cast<Offered*>(given);
  memcpy(offered->memory->start, Float32().values, Float32().bytes);
}

// A tensor whose values are written late, on a queue that `queue` waits for.
bool OfferLate(Trial* trial, DLBridgeConformanceQueue* producer, DLBridgeConformanceQueue* queue,
               Offered* offered) {
  static const unsigned char nothing[24] = {0};
  Plan plan = PlanOf(Float32());
  plan.device = trial->project.queue_device;
  plan.memory = nothing;
  plan.queue = queue;
  plan.features = DLBRIDGE_CONFORMANCE_VERSIONED;
  if (!MakeOffered(plan, trial->isolated, offered)) {
    return trial->Fail(DLBRIDGE_CONFORMANCE_CRASH, Say("memory for the check"), Say("none"));
  }
  return dlbridge_conformance_queue_submit(producer, WriteValues, offered) == 0 &&
         dlbridge_conformance_queue_wait(queue, producer) == 0;
}

void StreamImport(Trial* trial) {
  DLBridgeConformanceQueue producer;
  DLBridgeConformanceQueue queue;
  Offered offered;
  void* array = nullptr;
  if (HasQueues(trial) && OfferLate(trial, &producer, &queue, &offered) &&
      Consume(trial, &offered, Rejection::kFails, &array) &&
      CheckArray(trial, array, Float32().values, Float32().bytes)) {
    Release(trial, array);
    dlbridge_conformance_queue_synchronize(&queue);
    Finish(trial, &offered, nullptr);
  }
}

// The consumer releases the array while its own work is pending: after the work, or once it is
// done, the deleter runs; work that reads deleted memory ends the process.
void StreamRelease(Trial* trial) {
  DLBridgeConformanceQueue producer;
  DLBridgeConformanceQueue queue;
  Offered offered;
  void* array = nullptr;
  if (!HasQueues(trial) || !OfferLate(trial, &producer, &queue, &offered) ||
      !Consume(trial, &offered, Rejection::kFails, &array)) {
    return;
  }
  Release(trial, array);
  dlbridge_conformance_queue_synchronize(&queue);
  if (trial->project.collect != nullptr) {
    trial->project.collect(trial->project.user);
  }
  Finish(trial, &offered, nullptr);
}

const Entry kEntries[] = {
    {"stream-export", DLBRIDGE_CONFORMANCE_VERSIONED, StreamExport},
    {"stream-export-host", DLBRIDGE_CONFORMANCE_VERSIONED, StreamExportHost},
    {"stream-import", DLBRIDGE_CONFORMANCE_VERSIONED, StreamImport},
    {"stream-release", DLBRIDGE_CONFORMANCE_VERSIONED, StreamRelease},
};

}  // namespace

bool RunStreamCheck(Trial* trial) {
  return RunEntry(trial, kEntries, sizeof kEntries / sizeof *kEntries);
}

}  // namespace dlbridge_conformance
