// SPDX-License-Identifier: Apache-2.0
#include "corpus.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "exit_status.h"
#include "json.h"
#include "page.h"

namespace dlbridge::tool {

namespace {

constexpr int kMaxDepth = 32;
constexpr int kSchema = 2;
// Where memory of a case is assumed to start: the runner of the corpus allocates it.
constexpr uint64_t kAddressOfBytes = 1 << 12;

// A value in the file and the path to it, for messages.
class Node {
 public:
  Node(const Json& value, std::string path) : value_(value), path_(std::move(path)) {}

  const Json& value() const { return value_; }

  [[noreturn]] void Reject(const std::string& expected) const {
    const std::string shown = value_.dump(-1, ' ', false, Json::error_handler_t::replace);
    throw Failure(kUnreadable, (path_.empty() ? "" : path_ + ": ") + "expected " + expected +
                                   ", found " + Printable(shown, 60));
  }
  bool Has(const char* key) const { return value_.is_object() && value_.contains(key); }
  Node At(const std::string& key) const {
    return {value_.at(key), (path_.empty() ? "" : path_ + ".") + Printable(key, 80)};
  }
  Node Need(const char* key) const {
    if (!Has(key)) {
      throw Failure(kUnreadable, (path_.empty() ? "" : path_ + ": ") + "expected a field '" + key +
                                     "', found none");
    }
    return At(key);
  }
  Node At(size_t i) const { return {value_.at(i), path_ + "[" + std::to_string(i) + "]"}; }

  const Json& Object() const {
    if (!value_.is_object()) {
      Reject("an object");
    }
    return value_;
  }
  size_t ListSize() const {
    if (!value_.is_array()) {
      Reject("a list");
    }
    return value_.size();
  }
  std::string Text() const {
    if (!value_.is_string()) {
      Reject("a string");
    }
    return value_.get<std::string>();
  }
  bool Bool() const {
    if (!value_.is_boolean()) {
      Reject("true or false");
    }
    return value_.get<bool>();
  }

  // An integer, or a string of one.
  template <typename Number>
  Number Integer() const {
    Number number = 0;
    if (value_.is_string()) {
      const auto text = value_.get<std::string>();
      const char* end = text.data() + text.size();
      const auto [last, error] = std::from_chars(text.data(), end, number);
      if (error == std::errc() && last == end && !text.empty()) {
        return number;
      }
    } else if (value_.is_number_unsigned()) {
      const auto found = value_.get<uint64_t>();
      if (found <= static_cast<uint64_t>(std::numeric_limits<Number>::max())) {
        return static_cast<Number>(found);
      }
    } else if (value_.is_number_integer() && std::is_signed_v<Number>) {
      const auto found = value_.get<int64_t>();
      if (found >= static_cast<int64_t>(std::numeric_limits<Number>::min())) {
        return static_cast<Number>(found);  // negative, since it is not unsigned
      }
    }
    Reject("an integer from " + std::to_string(std::numeric_limits<Number>::min()) + " to " +
           std::to_string(std::numeric_limits<Number>::max()));
  }

 private:
  const Json& value_;
  std::string path_;
};

std::optional<std::vector<int64_t>> Numbers(const Node& list) {
  if (list.value().is_null()) {
    return std::nullopt;
  }
  const size_t count = list.ListSize();
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < std::min<size_t>(count, DLBRIDGE_MAX_NDIM); ++i) {  // no more are read
    numbers.push_back(list.At(i).Integer<int64_t>());
  }
  return numbers;
}

Node Exactly(const Node& list, size_t count, const char* content) {
  if (list.ListSize() != count) {
    list.Reject(content);
  }
  return list;
}

DLBridgeKind ReadKind(const Node& node) {
  const std::string name = node.Text();
  for (const DLBridgeKind kind :
       {DLBRIDGE_KIND_LEGACY, DLBRIDGE_KIND_VERSIONED, DLBRIDGE_KIND_BORROWED}) {
    if (KindName(kind) == name) {
      return kind;
    }
  }
  node.Reject("LEGACY, VERSIONED, BORROWED or MEMORY");
}

// With `bytes`, `data` is an offset in memory that the runner of the corpus allocates.
uint64_t ReadData(const Node& object) {
  const Node data = object.Need("data");
  if (!object.Has("bytes")) {
    return data.Integer<uint64_t>();
  }
  const std::string hex = object.At("bytes").Text();
  const bool digits = hex.find_first_not_of("0123456789abcdefABCDEF") == hex.npos;
  if (!digits || hex.size() % 2 != 0) {
    object.At("bytes").Reject("pairs of hexadecimal digits");
  }
  const auto offset = data.Integer<uint64_t>();
  if (!hex.empty() && offset > hex.size() / 2) {
    data.Reject("an offset in the " + Count(hex.size() / 2, "byte") + " of 'bytes'");
  }
  return hex.empty() ? offset : kAddressOfBytes + offset;
}

Tensor ReadTensor(const Node& object, DLBridgeKind kind) {
  Tensor tensor;
  tensor.kind = kind;
  if (kind == DLBRIDGE_KIND_VERSIONED) {
    const Node version = Exactly(object.Need("version"), 2, "[major, minor]");
    tensor.version = {version.At(size_t{0}).Integer<uint32_t>(), version.At(1).Integer<uint32_t>()};
  }
  if (kind != DLBRIDGE_KIND_LEGACY && object.Has("flags")) {
    tensor.flags = object.At("flags").Integer<uint64_t>();
  }
  tensor.has_deleter = object.Has("deleter") && object.At("deleter").Bool();
  tensor.data = ReadData(object);
  tensor.data_assumed = object.Has("bytes");
  const Node device = Exactly(object.Need("device"), 2, "[type, id]");
  tensor.device_type = device.At(size_t{0}).Integer<int32_t>();
  tensor.device_id = device.At(1).Integer<int32_t>();
  const Node dtype = Exactly(object.Need("dtype"), 3, "[code, bits, lanes]");
  tensor.dtype = {dtype.At(size_t{0}).Integer<uint8_t>(), dtype.At(1).Integer<uint8_t>(),
                  dtype.At(2).Integer<uint16_t>()};
  tensor.ndim = object.Need("ndim").Integer<int32_t>();
  tensor.shape = Numbers(object.Need("shape"));
  tensor.strides = Numbers(object.Need("strides"));
  tensor.byte_offset = object.Need("byte_offset").Integer<uint64_t>();
  return tensor;
}

void ReadObject(const Node& object, const std::string& name, Corpus* corpus) {
  object.Object();
  const Node kind = object.Need("kind");
  if (kind.value() == "MEMORY") {
    ++corpus->left_out;
    return;
  }
  corpus->tensors.push_back(ReadTensor(object, ReadKind(kind)));
  corpus->tensors.back().name = name;
}

std::string CaseName(const Node& one, const std::string& fallback) {
  return one.Has("name") ? one.At("name").Text() : fallback;
}

void ReadCase(const Node& one, const std::string& fallback, const std::string& case_text,
              Corpus* corpus) {
  one.Object();
  const std::string name = CaseName(one, fallback);
  if (name.find(case_text) == name.npos) {
    return;
  }
  const Node objects = one.Need("objects");
  for (const auto& [key, unused] : objects.Object().items()) {
    ReadObject(objects.At(key), (name.empty() ? "" : name + " ") + key, corpus);
  }
}

void ReadCases(const Node& cases, const std::string& case_text, Corpus* corpus) {
  for (size_t i = 0; i < cases.ListSize(); ++i) {
    ReadCase(cases.At(i), "case " + std::to_string(i), case_text, corpus);
  }
}

// The largest number of open brackets outside of strings.
int DepthOf(const std::string& text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
      deepest = std::max(deepest, depth);
    }
  }
  return deepest;
}

// The depth is not limited by a callback of the parser, which then takes quadratic time.
Json Parse(const std::string& text) {
  if (DepthOf(text) > kMaxDepth) {
    throw Failure(kUnreadable, "not a tensor: the JSON is nested more than " +
                                   std::to_string(kMaxDepth) + " levels deep");
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string what = error.what();
    const size_t start = what.find("] ");
    throw Failure(
        kUnreadable,
        "not JSON: " + Printable(start == what.npos ? what : what.substr(start + 2), 300));
  }
}

}  // namespace

Corpus ReadCorpus(const std::string& text, const std::string& case_text) {
  const Json document = Parse(text);
  const Node root(document, "");
  Corpus corpus;
  if (document.is_array()) {
    ReadCases(root, case_text, &corpus);
  } else if (root.Has("cases")) {
    if (root.Has("schema") && root.At("schema").Integer<uint64_t>() != kSchema) {
      root.At("schema").Reject(std::to_string(kSchema));
    }
    ReadCases(root.At("cases"), case_text, &corpus);
  } else if (root.Has("objects")) {
    ReadCase(root, "", case_text, &corpus);
  } else if (root.Has("kind")) {
    ReadObject(root, CaseName(root, "tensor"), &corpus);
  } else {
    root.Reject("a document with 'cases', a case with 'objects' or a tensor with 'kind'");
  }
  return corpus;
}

}  // namespace dlbridge::tool
