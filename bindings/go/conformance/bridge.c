// SPDX-License-Identifier: Apache-2.0
#include "bridge.h"

#include <string.h>

#include "_cgo_export.h"

static DLBridgeConformanceAnswer make(void* user, const DLBridgeConformanceRequest* request,
                                      DLBridgeConformanceExport* out, char* message) {
  uintptr_t array = 0;
  const int32_t answer =
      godlcMake((uintptr_t)user, (void*)request, &out->tensor, &out->kind, &array, message);
  out->array = (void*)array;
  return answer;
}

static DLBridgeConformanceAnswer consume(void* user, const DLBridgeConformanceOffer* offer,
                                         void** array, char* message) {
  uintptr_t made = 0;
  const int32_t answer = godlcConsume((uintptr_t)user, (void*)offer, &made, message);
  *array = (void*)made;
  return answer;
}

static DLBridgeConformanceAnswer read_array(void* user, void* array, void* out, size_t size,
                                            size_t* written, char* message) {
  return godlcRead((uintptr_t)user, (uintptr_t)array, out, size, written, message);
}

static DLBridgeConformanceAnswer write_array(void* user, void* array, const void* values,
                                             size_t size, char* message) {
  return godlcWrite((uintptr_t)user, (uintptr_t)array, (void*)values, size, message);
}

static void release(void* user, void* array) { godlcRelease((uintptr_t)user, (uintptr_t)array); }

static void collect(void* user) { godlcCollect((uintptr_t)user); }

static const DLPackExchangeAPIHeader* exchange_api(void* user) {
  return godlcExchangeAPI((uintptr_t)user);
}

static void work(void* handle) { godlcWork((uintptr_t)handle); }

int32_t godlc_submit(DLBridgeConformanceQueue* queue, uintptr_t handle) {
  return dlbridge_conformance_queue_submit(queue, work, (void*)handle);
}

static int64_t live(void* user) { return godlcLive((uintptr_t)user); }

static void report(void* user, const DLBridgeConformanceResult* result) {
  godlcReport((uintptr_t)user, (void*)result);
}

DLBridgeStatus godlc_start(const godlc_run* run, DLBridgeConformanceSummary* out, char* message) {
  DLBridgeConformanceProject project = dlbridge_conformance_project_init();
  DLBridgeConformanceSettings settings = dlbridge_conformance_settings_init();
  DLBridgeError error;
  project.name = run->name;
  project.user = (void*)run->user;
  project.make = make;
  project.consume = consume;
  project.read = read_array;
  project.write = run->writes ? write_array : NULL;
  project.release = release;
  project.collect = run->collects ? collect : NULL;
  project.live = run->counts ? live : NULL;
  project.exchange_api = run->exchanges ? exchange_api : NULL;
  project.queue_device = run->queue_device;
  project.dtypes = run->dtypes;
  project.dtype_count = run->dtype_count;
  project.unsupported = run->unsupported;
  settings.isolation = run->isolation;
  settings.command = run->command;
  settings.rounds = run->rounds;
  settings.time_limit_ms = run->time_limit_ms;
  settings.only = run->only;
  settings.tap_path = run->tap_path;
  settings.junit_path = run->junit_path;
  settings.quirks_path = run->quirks_path;
  settings.report = report;
  settings.report_user = (void*)run->user;
  *out = dlbridge_conformance_summary_init();
  const DLBridgeStatus status = dlbridge_conformance_run(&project, &settings, out, &error);
  if (status != DLBRIDGE_OK) memcpy(message, error.message, sizeof error.message);
  return status;
}
