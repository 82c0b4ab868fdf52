// SPDX-License-Identifier: Apache-2.0
// Describes a tensor in one line, including an invalid one.
#include "describe/boundary.h"
#include "describe/device.h"
#include "describe/dtype.h"
#include "describe/output.h"
#include "support/load.h"

namespace dlbridge {
namespace {

constexpr int32_t kMaxShown = 64;

void WriteAxes(const char* name, int32_t ndim, const int64_t* entries, TextWriter* text) {
  text->Character(' ').String(name).Character('=');
  if (entries == nullptr) {
    text->String(ndim > 0 ? "NULL" : "[]");
    return;
  }
  text->Character('[');
  for (int32_t i = 0; i < ndim && i < kMaxShown; ++i) {
    text->String(i != 0 ? ", " : "").Signed(Load(entries + i));
  }
  text->String(ndim > kMaxShown ? ", ...]" : "]");
}

void WriteFlags(uint64_t flags, TextWriter* text) {
  constexpr struct {
    uint64_t bit;
    const char* name;
  } kNames[] = {{kReadOnly, " READ_ONLY"}, {kCopied, " IS_COPIED"}, {kPadded, " PADDED"}};
  for (const auto& flag : kNames) {
    if ((flags & flag.bit) != 0) {
      text->String(flag.name);
    }
  }
  if ((flags & ~kAllFlags) != 0) {
    text->String(" flags=").Hex(flags & ~kAllFlags);
  }
}

void WriteTensor(const DLTensor& tensor, uint64_t flags, TextWriter* text) {
  WriteDtype(tensor.dtype, text);
  if (tensor.ndim < 0) {
    text->String(" ndim=").Signed(tensor.ndim);
  } else {
    WriteAxes("shape", tensor.ndim, tensor.shape, text);
    WriteAxes("strides", tensor.ndim, tensor.strides, text);
  }
  text->Character(' ');
  WriteDevice(tensor.device, text);
  text->String(" data=");
  if (tensor.data == nullptr) {
    text->String("NULL");
  } else {
    text->Hex(reinterpret_cast<uintptr_t>(tensor.data));
  }
  text->String(" byte_offset=").Unsigned(tensor.byte_offset);
  WriteFlags(flags, text);
}

}  // namespace
}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_tensor_format(const DLTensor* tensor, uint64_t tensor_flags, char* buffer,
                                      size_t size, size_t* length, DLBridgeError* error) {
  DLBRIDGE_REQUIRE(tensor);
  return dlbridge::FormatText(buffer, size, length, error, [&](dlbridge::TextWriter* text) {
    dlbridge::WriteTensor(dlbridge::LoadTensor(*tensor), tensor_flags, text);
  });
}

}  // extern "C"
