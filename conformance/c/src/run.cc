// SPDX-License-Identifier: Apache-2.0
// The entry points: arguments, the choice of checks, and what a result means beside the quirks.
#include "run.h"

#include "memory.h"
#include "trial.h"

namespace dlbridge_conformance {

DLBridgeStatus SetError(DLBridgeError* error, DLBridgeStatus status, const Line& message) {
  if (error != nullptr) {
    memset(error, 0, sizeof *error);
    error->status = status;
    error->axis = -1;
    snprintf(error->message, sizeof error->message, "%.*s",
             static_cast<int>(sizeof error->message) - 1, message.text);
  }
  return status;
}

namespace {

constexpr uint32_t kTimeLimit = 10000;
constexpr uint32_t kRounds = 100000;
// Copies a struct of the caller into one of this library, by the rules of growth.
template <typename T>
DLBridgeStatus CopyStruct(const T* given, uint32_t known_options, const char* name, T* out,
                          DLBridgeError* error) {
  memset(out, 0, sizeof *out);
  uint32_t size = 0;
  memcpy(&size, given, sizeof size);
  if (size < sizeof *out || size > 4096) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("%s.struct_size: expected %zu to 4096, found %u", name, sizeof *out, size));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof *out; i < size; ++i) {
    if (bytes[i] != 0) {
      return SetError(error, DLBRIDGE_ERROR_TOO_NEW,
                      Say("%s: byte %zu is set, which this library does not know", name, i));
    }
  }
  memcpy(out, given, sizeof *out);
  return (out->options & ~known_options) == 0
             ? DLBRIDGE_OK
             : SetError(error, DLBRIDGE_ERROR_TOO_NEW,
                        Say("%s.options: 0x%x is not known", name, out->options & ~known_options));
}

DLBridgeStatus CheckProject(DLBridgeConformanceProject* project, DLBridgeError* error) {
  if (project->name == nullptr || project->name[0] == 0) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, Say("project.name is not set"));
  }
  if ((project->dtypes == nullptr) != (project->dtype_count == 0)) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("project.dtypes: expected NULL with a count of 0, or both set"));
  }
  if (project->device.device_type == 0) {
    project->device = {kDLCPU, 0};
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus CheckSettings(DLBridgeConformanceSettings* settings, DLBridgeError* error) {
  if (settings->isolation > DLBRIDGE_CONFORMANCE_ISOLATION_NONE) {
    return SetError(error, DLBRIDGE_ERROR_TOO_NEW,
                    Say("settings.isolation: %u is not known", settings->isolation));
  }
  if ((settings->isolation == DLBRIDGE_CONFORMANCE_ISOLATION_COMMAND) !=
      (settings->command != nullptr && settings->command[0] != nullptr)) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("settings.command: expected with ISOLATION_COMMAND, and only with it"));
  }
  if (settings->quirk_count > 0 && settings->quirks == nullptr) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT, Say("settings.quirks is not set"));
  }
  settings->time_limit_ms = settings->time_limit_ms == 0 ? kTimeLimit : settings->time_limit_ms;
  settings->rounds = settings->rounds == 0 ? kRounds : settings->rounds;
  return DLBRIDGE_OK;
}

DLBridgeStatus Choose(Chosen* chosen, DLBridgeError* error) {
  for (uint32_t i = 0; i < kCheckCount; ++i) {
    const char* only = chosen->settings.only;
    if ((only == nullptr || strstr(kChecks[i].name, only) != nullptr) && !chosen->indices.Add(i)) {
      return SetError(error, DLBRIDGE_ERROR_OUT_OF_MEMORY, Say("no memory"));
    }
  }
  if (chosen->indices.size() == 0) {
    return SetError(error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
                    Say("settings.only: no check has \"%s\" in its name", chosen->settings.only));
  }
  const DLBridgeConformanceIsolation asked = chosen->settings.isolation;
  if (!HasFork() && asked != DLBRIDGE_CONFORMANCE_ISOLATION_DEFAULT &&
      asked != DLBRIDGE_CONFORMANCE_ISOLATION_NONE) {
    return SetError(error, DLBRIDGE_ERROR_UNSUPPORTED,
                    Say("settings.isolation: this system has no fork; use ISOLATION_NONE"));
  }
  chosen->isolation = asked;
  if (asked == DLBRIDGE_CONFORMANCE_ISOLATION_DEFAULT) {
    chosen->isolation = static_cast<DLBridgeConformanceIsolation>(
        HasFork() ? DLBRIDGE_CONFORMANCE_ISOLATION_FORK : DLBRIDGE_CONFORMANCE_ISOLATION_NONE);
  }
  return DLBRIDGE_OK;
}

DLBridgeStatus Prepare(const DLBridgeConformanceProject* project,
                       const DLBridgeConformanceSettings* settings, Chosen* chosen,
                       DLBridgeError* error) {
  const DLBridgeConformanceSettings none = dlbridge_conformance_settings_init();
  DLBridgeStatus status = CopyStruct(project, DLBRIDGE_CONFORMANCE_REJECTION_DELETES, "project",
                                     &chosen->project, error);
  if (status == DLBRIDGE_OK) {
    status =
        CopyStruct(settings == nullptr ? &none : settings, 0, "settings", &chosen->settings, error);
  }
  if (status == DLBRIDGE_OK) {
    status = CheckProject(&chosen->project, error);
  }
  if (status == DLBRIDGE_OK) {
    status = CheckSettings(&chosen->settings, error);
  }
  return status == DLBRIDGE_OK ? Choose(chosen, error) : status;
}

// --------------------------------------------------------------------------------------- results

struct Judge {
  const Chosen* chosen;
  Quirks* quirks;
  Reports* reports;
  DLBridgeConformanceSummary* summary;
};

// The first quirk about the check, or NULL. All of them learn how it ended.
const Quirk* FindQuirk(Quirks* quirks, const char* check, int32_t outcome) {
  const Quirk* found = nullptr;
  for (Quirk& quirk : *quirks) {
    if (outcome != DLBRIDGE_CONFORMANCE_SKIPPED && Concerns(quirk, check)) {
      quirk.judged = true;
      quirk.seen = quirk.seen || outcome == DLBRIDGE_CONFORMANCE_FAILED;
      found = found == nullptr ? &quirk : found;
    }
  }
  return found;
}

void Count(DLBridgeConformanceSummary* summary, int32_t outcome) {
  summary->passed += outcome == DLBRIDGE_CONFORMANCE_PASSED;
  summary->failed += outcome == DLBRIDGE_CONFORMANCE_FAILED;
  summary->known += outcome == DLBRIDGE_CONFORMANCE_KNOWN;
  summary->skipped += outcome == DLBRIDGE_CONFORMANCE_SKIPPED;
  summary->stale += outcome == DLBRIDGE_CONFORMANCE_STALE;
}

void Publish(const Judge& judge, const DLBridgeConformanceResult& result, const char* group) {
  Count(judge.summary, result.outcome);
  judge.reports->Take(result, group);
  if (judge.chosen->settings.report != nullptr) {
    judge.chosen->settings.report(judge.chosen->settings.report_user, &result);
  }
}

DLBridgeConformanceResult ResultOf(const Check& check, int32_t outcome) {
  DLBridgeConformanceResult result;
  memset(&result, 0, sizeof result);
  result.struct_size = static_cast<uint32_t>(sizeof result);
  result.outcome = outcome;
  result.check = check.name;
  result.title = check.title;
  result.specification = check.specification;
  result.expected = result.found = result.reproducer = result.reason = result.link = "";
  return result;
}

bool TakeRecord(void* context, const Record& record) {
  const auto& judge = *static_cast<const Judge*>(context);
  const Check& check = kChecks[judge.chosen->indices[record.index]];
  DLBridgeConformanceResult result = ResultOf(check, record.outcome);
  const Quirk* quirk = FindQuirk(judge.quirks, check.name, record.outcome);
  if (record.outcome != DLBRIDGE_CONFORMANCE_PASSED) {
    result.found = record.found.text;
  }
  if (record.outcome == DLBRIDGE_CONFORMANCE_FAILED) {
    result.severity = record.severity;
    result.expected = record.expected.text;
    result.reproducer = record.reproducer.text;
    if (quirk != nullptr) {
      result.outcome = DLBRIDGE_CONFORMANCE_KNOWN;
      result.reason = quirk->reason.text;
      result.link = quirk->link.text;
    }
  }
  Publish(judge, result, check.group);
  return true;
}

void PublishStale(const Judge& judge) {
  for (const Quirk& quirk : *judge.quirks) {
    if (quirk.judged && !quirk.seen) {
      DLBridgeConformanceResult result =
          ResultOf({quirk.check.text, "quirks", "a quirk in the list still occurs", "", 0, false},
                   DLBRIDGE_CONFORMANCE_STALE);
      result.severity = DLBRIDGE_CONFORMANCE_DEVIATION;
      result.expected = "the known deviation";
      result.found = "the check passes: remove the quirk";
      result.reason = quirk.reason.text;
      result.link = quirk.link.text;
      Publish(judge, result, "quirks");
    }
  }
}

DLBridgeStatus RunChosen(const Chosen& chosen, DLBridgeConformanceSummary* summary,
                         DLBridgeError* error) {
  Quirks quirks;
  Reports reports;
  DLBridgeStatus status = ReadQuirks(chosen.settings, &quirks, error);
  if (status == DLBRIDGE_OK) {
    status = reports.Open(chosen, error);
  }
  if (status != DLBRIDGE_OK) {
    return status;
  }
  Judge judge = {&chosen, &quirks, &reports, summary};
  status = RunAll(chosen, {TakeRecord, &judge}, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  PublishStale(judge);
  return reports.Close(*summary, error);
}

}  // namespace

Record RunHere(const Chosen& chosen, uint32_t index, bool isolated) {
  Trial trial(chosen.project, kChecks[chosen.indices[index]], isolated, chosen.settings.rounds,
              chosen.settings.time_limit_ms);
  if (!RunHostileCheck(&trial) && !RunProducerCheck(&trial) && !RunConsumerCheck(&trial) &&
      !RunExchangeCheck(&trial) && !RunStreamCheck(&trial)) {
    trial.Fail(0, Say("a function for the check"), Say("none: the table is newer than the kit"));
  }
  FreeAllRegions();
  Record record;
  memset(static_cast<void*>(&record), 0, sizeof record);
  record.magic = kMagic;
  record.index = index;
  record.outcome = trial.outcome;
  record.severity = trial.severity;
  record.expected = trial.expected;
  record.found = trial.found;
  record.reproducer = trial.reproducer;
  return record;
}

}  // namespace dlbridge_conformance

using namespace dlbridge_conformance;  // NOLINT(google-build-using-namespace)

extern "C" {

DLBridgeStatus dlbridge_conformance_run(const DLBridgeConformanceProject* project,
                                        const DLBridgeConformanceSettings* settings,
                                        DLBridgeConformanceSummary* out, DLBridgeError* error) {
  if (project == nullptr || out == nullptr) {
    return SetError(
        error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
        Say("%s: expected a pointer, found NULL", project == nullptr ? "project" : "out"));
  }
  if (out->struct_size < sizeof *out || out->struct_size > 4096) {
    return SetError(
        error, DLBRIDGE_ERROR_INVALID_ARGUMENT,
        Say("out.struct_size: expected %zu to 4096, found %u", sizeof *out, out->struct_size));
  }
  Chosen chosen;
  const DLBridgeStatus status = Prepare(project, settings, &chosen, error);
  if (status != DLBRIDGE_OK) {
    return status;
  }
  DLBridgeConformanceSummary summary = dlbridge_conformance_summary_init();
  summary.isolation = chosen.isolation;
  const DLBridgeStatus ran = RunIfChild(chosen) ? DLBRIDGE_OK : RunChosen(chosen, &summary, error);
  if (ran == DLBRIDGE_OK) {
    memcpy(out, &summary, sizeof summary);
  }
  return ran;
}

int dlbridge_conformance_exit_status(const DLBridgeConformanceSummary* summary) {
  return summary != nullptr && summary->failed == 0 && summary->stale == 0 && summary->passed > 0
             ? 0
             : 1;
}

size_t dlbridge_conformance_check_count(void) { return kCheckCount; }

const char* dlbridge_conformance_check_name(size_t index) {
  return index < kCheckCount ? kChecks[index].name : nullptr;
}

const char* dlbridge_conformance_check_title(size_t index) {
  return index < kCheckCount ? kChecks[index].title : nullptr;
}

}  // extern "C"
