// SPDX-License-Identifier: Apache-2.0
// Names of dtypes and devices, one-line descriptions of tensors, versions and kinds, against the
// tables of model/codes.h.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/model/identify.h"
#include "fuzz/model/policy.h"
#include "fuzz/model/tensor.h"
#include "fuzz/support/error.h"
#include "support/last_numbers.h"

namespace dlbridge_fuzz {
namespace {

GuardedMemory& Memory() {
  static GuardedMemory memory;
  return memory;
}

// ---------------------------------------------------------------------------------------- names

std::string Numbers(DLDataType dtype) {
  return "dtype(" + std::to_string(dtype.code) + "," + std::to_string(dtype.bits) + "," +
         std::to_string(dtype.lanes) + ")";
}

std::string NameOf(DLDataType dtype) {
  const DtypeRow& row = RowOf(kDtypeRows, dtype.code);
  if (row.name == nullptr || dtype.bits == 0 || dtype.lanes == 0 ||
      (row.bits != 0 && row.bits != dtype.bits)) {
    return Numbers(dtype);
  }
  std::string name = row.name;
  const bool has_width = row.bits == 0 || name == "bfloat";
  name += has_width ? std::to_string(dtype.bits) : "";
  return name + (dtype.lanes == 1 ? "" : "x" + std::to_string(dtype.lanes));
}

std::string TypeName(int32_t type) {
  const char* name = RowOf(kDeviceRows, type).name;
  return name != nullptr ? name : "device(" + std::to_string(type) + ")";
}
std::string NameOf(int32_t type, int32_t id) { return TypeName(type) + ":" + std::to_string(id); }

// -------------------------------------------------------------------------------------- formats

// Calls `format`, which has to write `expected`, with a buffer of any size.
template <class Format>
void CheckFormat(Input* input, const std::string& expected, Format format) {
  const size_t size = input->OneIn(2) ? input->Below(expected.size() + 4) : 600;
  auto* buffer = reinterpret_cast<char*>(Memory().Take(size));
  size_t length = 9999;
  DLBridgeError* error = NewError(&Memory());
  const bool asks = size == 0 && input->Flag();
  const DLBridgeStatus status = format(asks ? nullptr : buffer, size, &length, error);
  CheckError(status, error);
  CheckEqual("length of a text", expected.size(), length);
  // A call with a size of 0 only asks for the length.
  const bool fits = size > expected.size() || size == 0;
  CheckEqual("status of a text", fits ? DLBRIDGE_OK : DLBRIDGE_ERROR_BUFFER_TOO_SMALL, status);
  if (size != 0) {
    Check("NUL after the text", std::memchr(buffer, 0, size) != nullptr);
    CheckEqual("the text, as much as fits", expected.substr(0, size - 1), std::string(buffer));
  }
}

// A text that ends at an unreadable page.
const char* Place(const std::string& text) {
  uint8_t* bytes = Memory().Take(text.size());
  std::copy(text.begin(), text.end(), bytes);
  return reinterpret_cast<const char*>(bytes);
}

// Any text, most often one that is nearly a name.
std::string TakeText(Input* input, std::string text) {
  for (uint64_t edits = input->Below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = input->Below(text.size());
    switch (input->Below(4)) {
      case 0:
        text[at] = static_cast<char>(input->Byte());
        break;
      case 1:
        text.erase(at, 1 + input->Below(3));
        break;
      case 2:
        text.insert(at, 1, "0123456789x:,()-_ \0"[input->Below(19)]);
        break;
      default:
        // Again, or followed by what is nearly the end of a name.
        text += input->Flag() ? text.substr(at)
                              : input->Pick<const char*>({"x1", "x0", "x01", "x2", "x65536", ":0",
                                                          ":-1", ":01", ",0)", ",01)", " "});
        break;
    }
  }
  return text.substr(0, 400);
}

void TestDtype(Input* input) {
  const DLDataType dtype = TakeDtype(input);
  const std::string name = NameOf(dtype);
  CheckFormat(input, name, [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_dtype_format(dtype, buffer, size, length, error);
  });
  const std::string text = TakeText(input, input->OneIn(4) ? Numbers(dtype) : name);
  DLDataType out = {77, 77, 77};
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status = dlbridge_dtype_parse(Place(text), text.size(), &out, error);
  CheckError(status, error);
  if (status == DLBRIDGE_OK) {
    Check([&] { return "the dtype of " + Text(text); },
          text == NameOf(out) || text == Numbers(out));
    return;
  }
  CheckEqual("status of a text without a dtype", DLBRIDGE_ERROR_PARSE, status);
  Check([&] { return "a dtype is read: " + Text(text); }, text != name && text != Numbers(dtype));
  CheckEqual("out after a failure", 77, +out.code);
}

void TestDevice(Input* input) {
  int32_t type = 0;
  int32_t id = 0;
  TakeDevice(input, &type, &id);
  const std::string name = NameOf(type, id);
  CheckFormat(input, name, [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
    return dlbridge_device_format(ToDevice(type, id), buffer, size, length, error);
  });
  const std::string text = TakeText(input, input->OneIn(4) ? TypeName(type) : name);
  const auto is_name = [&](int32_t of_type, int32_t of_id) {
    const std::string numbers = "device(" + std::to_string(of_type) + "):" + std::to_string(of_id);
    const std::string type_numbers = "device(" + std::to_string(of_type) + ")";
    return text == NameOf(of_type, of_id) || text == numbers ||
           (of_id == 0 && (text == TypeName(of_type) || text == type_numbers));
  };
  DLDevice out = ToDevice(77, 77);
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status = dlbridge_device_parse(Place(text), text.size(), &out, error);
  CheckError(status, error);
  if (status == DLBRIDGE_OK) {
    Check([&] { return "the device of " + Text(text); }, is_name(TypeOf(out), out.device_id));
    return;
  }
  CheckEqual("status of a text without a device", DLBRIDGE_ERROR_PARSE, status);
  Check([&] { return "a device is read: " + Text(text); }, !is_name(type, id));
  CheckEqual("out after a failure", 77, TypeOf(out));
}

// ----------------------------------------------------------------------------------- one line

std::string Axes(const char* name, const DLTensor& tensor, const int64_t* entries) {
  std::string text = std::string(" ") + name + "=";
  if (entries == nullptr) {
    return text + (tensor.ndim > 0 ? "NULL" : "[]");
  }
  text += "[";
  for (int32_t i = 0; i < tensor.ndim && i < 64; ++i) {
    text += (i != 0 ? ", " : "") + std::to_string(entries[i]);
  }
  return text + (tensor.ndim > 64 ? ", ...]" : "]");
}

std::string Hexadecimal(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string LineOf(const DLTensor& tensor, uint64_t flags) {
  std::string line = NameOf(tensor.dtype);
  if (tensor.ndim < 0) {
    line += " ndim=" + std::to_string(tensor.ndim);
  } else {
    line += Axes("shape", tensor, tensor.shape) + Axes("strides", tensor, tensor.strides);
  }
  line += " " + NameOf(TypeOf(tensor.device), tensor.device.device_id) + " data=";
  const auto data = reinterpret_cast<uintptr_t>(tensor.data);
  line += data == 0 ? "NULL" : Hexadecimal(data);
  line += " byte_offset=" + std::to_string(tensor.byte_offset);
  line += (flags & kReadOnly) != 0 ? " READ_ONLY" : "";
  line += (flags & kCopied) != 0 ? " IS_COPIED" : "";
  line += (flags & kPadded) != 0 ? " PADDED" : "";
  return line + ((flags & ~kKnownFlags) != 0 ? " flags=" + Hexadecimal(flags & ~kKnownFlags) : "");
}

void TestTensor(Input* input) {
  DLTensor tensor = {};
  int32_t type = 0;
  int32_t id = 0;
  TakeDevice(input, &type, &id);
  tensor.device = ToDevice(type, id);
  tensor.dtype = TakeDtype(input);
  tensor.data = reinterpret_cast<void*>(input->OneIn(3) ? 0 : input->Any<uint64_t>());
  tensor.byte_offset = static_cast<uint64_t>(input->Number());
  tensor.ndim = input->OneIn(8) ? input->Pick({-1, INT32_MIN, 64, 65, INT32_MAX, 1000})
                                : static_cast<int32_t>(input->Below(5));
  // Exactly as many entries as may be read.
  const auto entries = static_cast<size_t>(std::clamp(tensor.ndim, 0, 64));
  for (int64_t** array : {&tensor.shape, &tensor.strides}) {
    if (!input->OneIn(6)) {
      *array = Memory().Take<int64_t>(entries);
      std::generate(*array, *array + entries, [&] { return input->Number(); });
    }
  }
  const uint64_t flags = TakeFlags(input);
  const auto* placed = Memory().Copy(tensor);
  CheckFormat(input, LineOf(tensor, flags),
              [&](char* buffer, size_t size, size_t* length, DLBridgeError* error) {
                return dlbridge_tensor_format(placed, flags, buffer, size, length, error);
              });
  DLPackVersion version = {77, 77};
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status = dlbridge_required_version(placed, flags, &version, error);
  CheckError(status, error);
  const uint64_t needed = NeededRelease(tensor.dtype.code, type, flags);
  CheckEqual("status of the required version",
             needed == kNever ? DLBRIDGE_ERROR_UNKNOWN_CODE : DLBRIDGE_OK, status);
  CheckEqual("required version", needed == kNever ? Release(77, 77) : needed,
             Release(version.major, version.minor));
}

// ------------------------------------------------------------------------- versions and kinds

DLPackVersion TakeVersion(Input* input) {
  return {input->OneIn(8) ? input->Any<uint32_t>() : static_cast<uint32_t>(input->Below(3)),
          input->OneIn(8) ? input->Any<uint32_t>() : static_cast<uint32_t>(input->Below(12))};
}

// A pair is older if its major is, or its minor where the majors are equal.
bool IsOlder(DLPackVersion a, DLPackVersion b) {
  return a.major < b.major || (a.major == b.major && a.minor < b.minor);
}

void TestNegotiate(Input* input) {
  const DLPackVersion producer = TakeVersion(input);
  const DLPackVersion consumer = TakeVersion(input);
  DLBridgeKind kind = 77;
  DLPackVersion version = {77, 77};
  DLBridgeError* error = NewError(&Memory());
  const DLBridgeStatus status = dlbridge_negotiate(producer, consumer, &kind, &version, error);
  CheckError(status, error);
  const DLPackVersion first_versioned = {1, 0};
  const bool legacy = IsOlder(producer, first_versioned) || IsOlder(consumer, first_versioned);
  if (!legacy && producer.major > consumer.major) {
    CheckEqual("status of majors that do not meet", DLBRIDGE_ERROR_VERSION, status);
    Check("outputs after a failure", kind == 77 && version.major == 77 && version.minor == 77);
    return;
  }
  CheckEqual("status of dlbridge_negotiate", DLBRIDGE_OK, status);
  DLPackVersion smaller = IsOlder(producer, consumer) ? producer : consumer;
  const DLPackVersion last_legacy = {0, 8};
  if (legacy && IsOlder(last_legacy, smaller)) {
    smaller = last_legacy;
  }
  CheckEqual("kind", legacy ? DLBRIDGE_KIND_LEGACY : DLBRIDGE_KIND_VERSIONED, kind);
  CheckEqual("major", smaller.major, version.major);
  CheckEqual("minor", smaller.minor, version.minor);
}

// 64 bytes of small numbers and pointers, then an unreadable page.
void TestIdentify(Input* input) {
  auto* words = Memory().Take<uint64_t>(8);
  for (size_t i = 0; i < 8; ++i) {
    const uint64_t low = input->Pick<uint64_t>({0, 1, 2, 255, 256, 4095, 4096, 0xffffffff});
    const uint64_t high = input->Pick<uint64_t>({0, 1, 255, 256, 0x00012001, 0x7fff, 0xffffffff});
    words[i] = input->OneIn(4) ? input->Any<uint64_t>() : high << 32 | low;
  }
  CheckEqual("dlbridge_identify", FirstBytes(words).Kind(), dlbridge_identify(words));
}

void TestNumbers(Input* input) {
  const int32_t number = input->OneIn(2) ? input->Any<int32_t>() : input->Byte() % 64;
  const bool status = number >= 0 && number <= dlbridge_test::kLastStatus;
  const bool rule = number >= 0 && number <= dlbridge_test::kLastRule;
  CheckEqual("a status has a name", status,
             std::strcmp(dlbridge_status_name(number), "UNKNOWN_STATUS") != 0);
  CheckEqual("a rule has a name", rule,
             std::strcmp(dlbridge_rule_name(number), "UNKNOWN_RULE") != 0);
  Check("texts are not empty",
        dlbridge_status_text(number)[0] != 0 && dlbridge_rule_text(number)[0] != 0);
  DLBridgeAnswer answer = 77;
  const int32_t readable = dlbridge_host_accessible(number, &answer);
  CheckEqual("host_accessible", IsHostLike(number) ? 1 : 0, readable);
  CheckEqual("its answer", RowOf(kDeviceRows, number).readable, answer);
  CheckEqual("storage size of an illegal ndim", number < 0 || number > 64,
             dlbridge_upgrade_storage_size(number) == 0);
}

}  // namespace
}  // namespace dlbridge_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using dlbridge_fuzz::Input;
  static constexpr void (*kTests[])(Input*) = {
      dlbridge_fuzz::TestDtype,     dlbridge_fuzz::TestDevice,   dlbridge_fuzz::TestTensor,
      dlbridge_fuzz::TestNegotiate, dlbridge_fuzz::TestIdentify, dlbridge_fuzz::TestNumbers};
  Input input(data, size);
  kTests[input.Below(std::size(kTests))](&input);
  dlbridge_fuzz::Memory().Reset();
  return 0;
}
