// SPDX-License-Identifier: Apache-2.0
#include "describe/device.h"

#include "describe/boundary.h"
#include "describe/output.h"
#include "support/parse.h"

namespace dlbridge {
namespace {

// Reads a 32-bit integer. It may be negative: invalid types and ids are written as `device(-3)` and
// `cpu:-1`.
bool TakeInteger(TextReader* text, int32_t* out) {
  const bool negative = text->Take("-");
  uint64_t magnitude = 0;
  if (!text->TakeNumber(negative ? 2147483648U : 2147483647U, &magnitude) ||
      (negative && magnitude == 0)) {
    return false;
  }
  const auto value = static_cast<int64_t>(magnitude);
  *out = static_cast<int32_t>(negative ? -value : value);
  return true;
}

// Reads the text after the type: nothing, or a colon and the id.
bool ParseId(TextReader text, int32_t type, DLDevice* out) {
  int32_t id = 0;
  if (!text.AtEnd() && !(text.Take(":") && TakeInteger(&text, &id))) {
    return false;
  }
  if (!text.AtEnd()) {
    return false;
  }
  *out = MakeDevice(type, id);
  return true;
}

bool ParseDevice(TextReader text, DLDevice* out) {
  for (uint32_t code = 0; code < kDeviceTypeCount; ++code) {
    TextReader rest = text;
    // A name may be a prefix of another (cuda, cuda_host): the text after it decides.
    if (kDeviceTypes[code].name != nullptr && rest.Take(kDeviceTypes[code].name) &&
        ParseId(rest, static_cast<int32_t>(code), out)) {
      return true;
    }
  }
  int32_t type = 0;
  return text.Take("device(") && TakeInteger(&text, &type) && text.Take(")") &&
         ParseId(text, type, out);
}

}  // namespace

void WriteDeviceType(int32_t code, TextWriter* text) {
  const char* name = DeviceTypeOf(code).name;
  if (name != nullptr) {
    text->String(name);
  } else {
    text->String("device(").Signed(code).Character(')');
  }
}

void WriteDevice(const DLDevice& device, TextWriter* text) {
  WriteDeviceType(TypeOf(device), text);
  text->Character(':').Signed(device.device_id);
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_device_format(DLDevice device, char* buffer, size_t size, size_t* length,
                                      DLBridgeError* error) {
  return dlbridge::FormatText(buffer, size, length, error, [&](dlbridge::TextWriter* text) {
    dlbridge::WriteDevice(device, text);
  });
}

DLBridgeStatus dlbridge_device_parse(const char* text, size_t length, DLDevice* out,
                                     DLBridgeError* error) {
  DLBRIDGE_REQUIRE(text);
  DLBRIDGE_REQUIRE(out);
  if (dlbridge::ParseDevice(dlbridge::TextReader(text, length), out)) {
    return DLBRIDGE_OK;
  }
  return dlbridge::RejectText(error,
                              "is not a device: expected a name such as cpu:0, cuda:1 or "
                              "device(type):id",
                              text, length);
}

}  // extern "C"
