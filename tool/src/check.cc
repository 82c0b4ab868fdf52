// SPDX-License-Identifier: Apache-2.0
// `dlbridge check`: the tensors of a file, their layouts, and the rules that they break.
#include "commands.h"
#include "corpus.h"
#include "descriptor.h"
#include "facts_table.h"
#include "input.h"
#include "json.h"
#include "judge.h"
#include "picture.h"

namespace dlbridge::tool {

namespace {

std::string VersionText(DLPackVersion version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

template <size_t kCount>
std::vector<std::string> NamesOfBits(const Named (&names)[kCount], uint64_t bits) {
  std::vector<std::string> words;
  for (const Named& one : names) {
    if ((bits & one.value) != 0) {
      words.emplace_back(one.name);
      bits &= ~uint64_t{one.value};
    }
  }
  for (int bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1) != 0) {
      words.push_back("bit " + std::to_string(bit));
    }
  }
  return words;
}

std::string Hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Tuple(const std::optional<std::vector<int64_t>>& numbers) {
  if (!numbers) {
    return "NULL";
  }
  std::vector<std::string> words;
  for (const int64_t number : *numbers) {
    words.push_back(std::to_string(number));
  }
  return "(" + Join(words, ", ") + ")";
}

// -------------------------------------------------------------------------------------------
// fields

void WriteFields(const Tensor& tensor, Page* page) {
  page->Row("dtype", DtypeName(tensor.dtype));
  page->Row("device", DeviceName(tensor.device_type, tensor.device_id));
  page->Row("ndim", std::to_string(tensor.ndim));
  page->Row("shape", Tuple(tensor.shape));
  page->Row("strides", Tuple(tensor.strides));
  const std::string assumed = tensor.data_assumed ? " (assumed: the file has no address)" : "";
  page->Row("data", tensor.data == 0 ? "NULL" : Hex(tensor.data) + assumed);
  page->Row("byte_offset", std::to_string(tensor.byte_offset));
  if (tensor.kind == DLBRIDGE_KIND_VERSIONED) {
    page->Row("version", VersionText(tensor.version));
  }
  if (tensor.kind != DLBRIDGE_KIND_LEGACY) {
    const std::string names = Join(NamesOfBits(kFlags, tensor.flags), ", ");
    page->Row("flags", names.empty() ? "none" : names);
  }
  if (tensor.kind != DLBRIDGE_KIND_BORROWED) {
    page->Row("deleter", tensor.has_deleter ? "yes" : "NULL");
  }
}

std::string Overlap(const DLBridgeLayout& layout) {
  return layout.self_overlap == DLBRIDGE_YES         ? "elements share memory"
         : layout.self_overlap == DLBRIDGE_UNDECIDED ? "undecided whether elements share memory"
                                                     : "";
}

std::string LayoutText(const DLBridgeLayout& layout) {
  std::vector<std::string> words = {
      Count(static_cast<uint64_t>(layout.element_count), "element"),
      Count(static_cast<uint64_t>(layout.packed_bytes), "byte") + " if compact"};
  if (layout.begin != layout.end) {
    words.push_back("touches bytes " + std::to_string(layout.begin) + " to " +
                    std::to_string(layout.end));
  }
  return Join(words, ", ");
}

std::string PropertiesText(const DLBridgeLayout& layout) {
  std::vector<std::string> words = NamesOfBits(kLayoutProperties, layout.properties);
  if (!Overlap(layout).empty()) {
    words.push_back(Overlap(layout));
  }
  return words.empty() ? "strided" : Join(words, ", ");
}

void WriteLayout(const Tensor& tensor, const Judgement& judgement, Page* page) {
  if (!judgement.layout) {
    page->Row("layout", "none: " + judgement.why_no_layout);
    return;
  }
  page->Row("layout", LayoutText(*judgement.layout));
  page->Row("", PropertiesText(*judgement.layout));
  page->Row("alignment",
            judgement.layout->alignment == 0 ? "" : Count(judgement.layout->alignment, "byte"));
  if (judgement.layout->begin != judgement.layout->end) {
    DrawLayout(tensor, *judgement.layout, page);
  }
}

// -----------------------------------------------------------------------------------------
// findings

void WriteFinding(const Finding& finding, Page* page) {
  std::string head = finding.broken ? "BROKEN" : "note";
  head.resize(8, ' ');
  const std::string rule = finding.rule == 0 ? "" : "  (rule " + std::to_string(finding.rule) + ")";
  page->Line("  " + page->Paint(finding.broken ? Style::kBad : Style::kNote, head) +
             page->Paint(Style::kTitle, finding.name) + rule);
  const auto more = [&](const char* label, const std::string& text) {
    if (!text.empty()) {
      page->Wrapped(20, std::string(10, ' ') + label, text);
    }
  };
  more("what", finding.what);
  more("axis", finding.axis < 0 ? "" : std::to_string(finding.axis));
  more("expected", finding.expected);
  more("found", finding.found);
  more("remedy", finding.remedy);
}

std::string Verdict(const Judgement& judgement) {
  uint64_t broken = judgement.findings.size() - judgement.notes();
  const std::string notes =
      judgement.notes() == 0 ? "" : ", with " + Count(judgement.notes(), "note");
  return broken == 0 ? "fine" + notes : "breaks " + Count(broken, "rule") + notes;
}

void WriteVerdict(const Judgement& judgement, Page* page) {
  for (const Finding& finding : judgement.findings) {
    page->Line();
    WriteFinding(finding, page);
  }
  page->Line();
  const Style style = judgement.broken() ? Style::kBad : Style::kGood;
  page->Line("  verdict       " + page->Paint(style, Verdict(judgement)));
}

// "fine    validate/plain/legacy t", "BROKEN  ... NDIM_NEGATIVE, DATA_NULL".
void WriteBrief(const Tensor& tensor, const Judgement& judgement, Page* page) {
  std::vector<std::string> rules;
  for (const Finding& finding : judgement.findings) {
    rules.push_back((finding.broken ? "" : "note ") + finding.name);
  }
  const bool broken = judgement.broken();
  page->Line(page->Paint(broken ? Style::kBad : Style::kGood, broken ? "BROKEN" : "fine  ") + "  " +
             Printable(tensor.name, 200) + (rules.empty() ? "" : ": " + Join(rules, ", ")));
}

// ---------------------------------------------------------------------------------------------
// JSON

Json ToJson(const DLBridgeLayout& layout) {
  const char* overlap = layout.self_overlap == DLBRIDGE_YES  ? "YES"
                        : layout.self_overlap == DLBRIDGE_NO ? "NO"
                                                             : "UNDECIDED";
  return {{"properties", NamesOfBits(kLayoutProperties, layout.properties)},
          {"item_bits", layout.item_bits},
          {"element_count", std::to_string(layout.element_count)},
          {"packed_bytes", std::to_string(layout.packed_bytes)},
          {"begin", std::to_string(layout.begin)},
          {"end", std::to_string(layout.end)},
          {"alignment", std::to_string(layout.alignment)},
          {"self_overlap", overlap}};
}

Json ToJson(const Finding& finding) {
  return {{"rule", finding.name},
          {"number", finding.rule},
          {"axis", finding.axis < 0 ? Json(nullptr) : Json(finding.axis)},
          {"severity", finding.broken ? "BROKEN" : "NOTE"},
          {"status", finding.broken ? Json(finding.status) : Json(nullptr)},
          {"what", finding.what},
          {"expected", finding.expected},
          {"found", finding.found},
          {"remedy", finding.remedy}};
}

Json ToJson(const Tensor& tensor, const Judgement& judgement) {
  const auto list = [](const auto& numbers) { return numbers ? Strings(*numbers) : Json(nullptr); };
  Json json = {
      {"name", tensor.name},
      {"kind", KindName(tensor.kind)},
      {"dtype", DtypeName(tensor.dtype)},
      {"device", DeviceName(tensor.device_type, tensor.device_id)},
      {"ndim", tensor.ndim},
      {"shape", list(tensor.shape)},
      {"strides", list(tensor.strides)},
      {"data", std::to_string(tensor.data)},
      {"byte_offset", std::to_string(tensor.byte_offset)},
      {"version",
       tensor.kind == DLBRIDGE_KIND_VERSIONED ? Json(VersionText(tensor.version)) : Json(nullptr)},
      {"flags", NamesOfBits(kFlags, tensor.flags)},
      {"deleter", tensor.has_deleter},
      {"layout", judgement.layout ? ToJson(*judgement.layout) : Json(nullptr)}};
  return json;
}

void AddVerdict(const Judgement& judgement, Json* json) {
  (*json)["findings"] = Json::array();
  for (const Finding& finding : judgement.findings) {
    (*json)["findings"].push_back(ToJson(finding));
  }
  (*json)["verdict"] = judgement.broken() ? "broken" : "fine";
}

// ------------------------------------------------------------------------------------------
// reports

struct Report {
  const CheckOptions& options;
  const DLBridgePolicy policy;
  Page* page;
  Json* json;
  uint64_t tensors = 0;
  uint64_t broken = 0;

  void Add(const Judgement& judgement, Json entry) {
    AddVerdict(judgement, &entry);
    (*json)["tensors"].push_back(std::move(entry));
    ++tensors;
    broken += judgement.broken() ? 1 : 0;
  }
};

void CheckTensor(const Tensor& tensor, Report* report) {
  const Judgement judgement = Judge(tensor, report->policy);
  report->Add(judgement, ToJson(tensor, judgement));
  Page* page = report->page;
  if (report->options.brief) {
    WriteBrief(tensor, judgement, page);
    return;
  }
  if (report->tensors > 1) {
    page->Line();
  }
  page->Wrapped(0, "", Printable(tensor.name, 200) + ": " + KindName(tensor.kind));
  page->Line();
  WriteFields(tensor, page);
  WriteLayout(tensor, judgement, page);
  WriteVerdict(judgement, page);
}

void CheckCorpus(const std::string& bytes, Report* report) {
  const Corpus corpus = ReadCorpus(bytes, report->options.case_text);
  if (corpus.tensors.empty()) {
    throw Failure(kUnreadable,
                  "no tensor" + (report->options.case_text.empty()
                                     ? std::string(" in it")
                                     : " in a case whose name contains '" +
                                           Printable(report->options.case_text, 60) + "'"));
  }
  for (const Tensor& tensor : corpus.tensors) {
    CheckTensor(tensor, report);
  }
  (*report->json)["left_out"] = corpus.left_out;
  if (corpus.tensors.size() > 1) {
    report->page->Line();
    report->page->Line(Count(report->tensors, "tensor") + ": " +
                       std::to_string(report->tensors - report->broken) + " fine, " +
                       std::to_string(report->broken) + " broken");
  }
}

const char* MemoryText(uint32_t memory) {
  static constexpr const char* kTexts[] = {"none", "a memory file of the host",
                                           "a handle of a driver"};
  return memory < 3 ? kTexts[memory] : "an unknown kind";
}

std::string BackendText(int32_t backend) {
  for (const Named& one : kBackends) {
    if (static_cast<int32_t>(one.value) == backend) {
      return one.name;
    }
  }
  return std::to_string(backend);
}

Json ToJson(const Descriptor& descriptor) {
  return {{"format", descriptor.format},
          {"memory", descriptor.memory},
          {"backend", BackendText(descriptor.backend)},
          {"size", std::to_string(descriptor.size)},
          {"data_offset", std::to_string(descriptor.data_offset)},
          {"handle_bytes", descriptor.handle_length},
          {"file_descriptors", descriptor.fd_count}};
}

void WriteMemory(const Descriptor& descriptor, Page* page) {
  page->Row("format", std::to_string(descriptor.format));
  page->Row("memory", std::string(MemoryText(descriptor.memory)) + ", backend " +
                          BackendText(descriptor.backend));
  page->Row("size", Count(descriptor.size, "byte") + ", `data` at byte " +
                        std::to_string(descriptor.data_offset));
  page->Row("sent with it", Count(descriptor.fd_count, "file descriptor") + ", a handle of " +
                                Count(descriptor.handle_length, "byte"));
}

void CheckDescriptor(const std::string& bytes, Report* report) {
  Descriptor descriptor = ReadDescriptor(bytes);
  Judgement judgement;
  Json entry = Json::object();
  if (descriptor.tensor) {
    // The importer decides where the memory starts.
    judgement = Judge(*descriptor.tensor, report->policy);
    entry = ToJson(*descriptor.tensor, judgement);
    if (judgement.layout) {
      CheckBounds(*judgement.layout, &descriptor);
    }
  }
  judgement.findings.insert(judgement.findings.begin(), descriptor.faults.begin(),
                            descriptor.faults.end());
  entry["descriptor"] = ToJson(descriptor);
  report->Add(judgement, std::move(entry));
  Page* page = report->page;
  if (report->options.brief) {
    WriteBrief(descriptor.tensor ? *descriptor.tensor : Tensor{}, judgement, page);
    return;
  }
  page->Line("descriptor of dlbridge_ipc_export, " + Count(bytes.size(), "byte"));
  page->Line();
  if (descriptor.tensor) {
    WriteMemory(descriptor, page);
    WriteFields(*descriptor.tensor, page);
    WriteLayout(*descriptor.tensor, judgement, page);
  }
  WriteVerdict(judgement, page);
}

}  // namespace

ExitStatus CheckBytes(const std::string& bytes, const CheckOptions& options, Page* page,
                      Json* json) {
  *json = {{"schema", kJsonSchema}, {"file", options.file}, {"tensors", Json::array()}};
  Report report = {options, PolicyOf(options), page, json};
  (IsDescriptor(bytes) ? CheckDescriptor : CheckCorpus)(bytes, &report);
  (*json)["verdict"] = report.broken != 0 ? "broken" : "fine";
  return report.broken != 0 ? kBroken : kFine;
}

ExitStatus Check(const CheckOptions& options, Page* page, Json* json) {
  const std::string bytes = ReadInput(options.file);
  try {
    return CheckBytes(bytes, options, page, json);
  } catch (const Failure& failure) {
    if (failure.status() != kUnreadable) {
      throw;
    }
    throw Failure(kUnreadable, InputName(options.file) + ": " + failure.what());
  }
}

}  // namespace dlbridge::tool
