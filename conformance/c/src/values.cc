// SPDX-License-Identifier: Apache-2.0
#include "values.h"

namespace dlbridge_conformance {
namespace {

// Bit patterns: extremes, values that need every bit of the width, signed zeros and infinities.
const uint8_t kBool[] = {1, 0, 0, 1, 1, 0};
const uint8_t kInt8[] = {0x80, 0x7f, 0xff, 0x01, 0x00, 0x55};
const uint16_t kInt16[] = {0x8000, 0x7fff, 0xff7f, 0x0101, 0x0000, 0x5aa5};
const uint32_t kInt32[] = {0x80000000, 0x7fffffff, 0x01000001, 0xfefffffe, 0x00010001, 0x5aa55aa5};
const uint64_t kInt64[] = {0x8000000000000000, 0x7fffffffffffffff, 0x0020000000000001,
                           0xffdfffffffffffff, 0x0000000100000001, 0x5aa55aa55aa55aa5};
const uint64_t kUInt64[] = {0xffffffffffffffff, 0x8000000000000001, 0x0020000000000001,
                            0x7fffffffffffffff, 0x0000000100000001, 0x5aa55aa55aa55aa5};
// 65504, the smallest subnormal, -0, infinity, 1 + 2^-10, -1/3
const uint16_t kFloat16[] = {0x7bff, 0x0001, 0x8000, 0x7c00, 0x3c01, 0xb555};
// 1 + 2^-23, 3.4e38, the smallest subnormal, -0, -infinity, 16777215
const uint32_t kFloat32[] = {0x3f800001, 0x7f7fffff, 0x00000001,
                             0x80000000, 0xff800000, 0x4b7fffff};
// 1 + 2^-52, 1.8e308, the smallest subnormal, -0, 2^53 - 1, -1/3
const uint64_t kFloat64[] = {0x3ff0000000000001, 0x7fefffffffffffff, 0x0000000000000001,
                             0x8000000000000000, 0x433fffffffffffff, 0xbfd5555555555555};
// 1 + 2^-7, 3.4e38, the smallest subnormal, -0, -infinity, 1e-38
const uint16_t kBfloat16[] = {0x3f81, 0x7f7f, 0x0001, 0x8000, 0xff80, 0x006d};
const uint32_t kComplex64[] = {0x3f800001, 0xbf800001, 0x7f7fffff, 0x00000001,
                               0x80000000, 0x00000000, 0x7f800000, 0x3eaaaaab,
                               0x4b7fffff, 0xcb7fffff, 0x00000002, 0x80000001};
const uint64_t kComplex128[] = {0x3ff0000000000001, 0xbff0000000000001, 0x7fefffffffffffff,
                                0x0000000000000001, 0x8000000000000000, 0x0000000000000000,
                                0x433fffffffffffff, 0xc33fffffffffffff, 0x3fd5555555555555,
                                0xbfd5555555555555, 0x0000000000000002, 0x8000000000000001};
// Finite in every float8.
const uint8_t kFloat8[] = {0x01, 0x77, 0x38, 0x39, 0x70, 0x08};
// Six elements 1 to 6 in packed form, the lowest bits first.
const uint8_t kFloat6[] = {0x81, 0x30, 0x10, 0x85, 0x01};
const uint8_t kFloat4[] = {0x21, 0x43, 0x65};

#define DLBRIDGE_SAMPLE(name, code, bits, values) \
  { (name), {(code), (bits), 1}, (values), sizeof(values) }

}  // namespace

const Sample kSamples[] = {
    DLBRIDGE_SAMPLE("float32", kDLFloat, 32, kFloat32),
    DLBRIDGE_SAMPLE("bool", kDLBool, 8, kBool),
    DLBRIDGE_SAMPLE("int8", kDLInt, 8, kInt8),
    DLBRIDGE_SAMPLE("int16", kDLInt, 16, kInt16),
    DLBRIDGE_SAMPLE("int32", kDLInt, 32, kInt32),
    DLBRIDGE_SAMPLE("int64", kDLInt, 64, kInt64),
    DLBRIDGE_SAMPLE("uint8", kDLUInt, 8, kInt8),
    DLBRIDGE_SAMPLE("uint16", kDLUInt, 16, kInt16),
    DLBRIDGE_SAMPLE("uint32", kDLUInt, 32, kInt32),
    DLBRIDGE_SAMPLE("uint64", kDLUInt, 64, kUInt64),
    DLBRIDGE_SAMPLE("float16", kDLFloat, 16, kFloat16),
    DLBRIDGE_SAMPLE("float64", kDLFloat, 64, kFloat64),
    DLBRIDGE_SAMPLE("bfloat16", kDLBfloat, 16, kBfloat16),
    DLBRIDGE_SAMPLE("complex64", kDLComplex, 64, kComplex64),
    DLBRIDGE_SAMPLE("complex128", kDLComplex, 128, kComplex128),
    DLBRIDGE_SAMPLE("float8-e3m4", kDLFloat8_e3m4, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e4m3", kDLFloat8_e4m3, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e4m3fn", kDLFloat8_e4m3fn, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e4m3fnuz", kDLFloat8_e4m3fnuz, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e5m2", kDLFloat8_e5m2, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e5m2fnuz", kDLFloat8_e5m2fnuz, 8, kFloat8),
    DLBRIDGE_SAMPLE("float8-e8m0fnu", kDLFloat8_e8m0fnu, 8, kFloat8),
    DLBRIDGE_SAMPLE("float6-e2m3fn", kDLFloat6_e2m3fn, 6, kFloat6),
    DLBRIDGE_SAMPLE("float6-e3m2fn", kDLFloat6_e3m2fn, 6, kFloat6),
    DLBRIDGE_SAMPLE("float4-e2m1fn", kDLFloat4_e2m1fn, 4, kFloat4),
};
const size_t kSampleDtypes = sizeof kSamples / sizeof *kSamples;

const Sample* FindSample(const char* name) {
  for (const Sample& sample : kSamples) {
    if (strcmp(sample.name, name) == 0) {
      return &sample;
    }
  }
  return nullptr;
}

const Sample& Float32() { return kSamples[0]; }

size_t Unpack(const Sample& sample, unsigned char* out) {
  const auto* packed = static_cast<const unsigned char*>(sample.values);
  const unsigned bits = sample.dtype.bits;
  for (unsigned i = 0; i < kSampleCount; ++i) {
    out[i] = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const unsigned at = i * bits + bit;
      out[i] = static_cast<unsigned char>(out[i] | (((packed[at / 8] >> (at % 8)) & 1U) << bit));
    }
  }
  return kSampleCount;
}

size_t ItemBytes(DLDataType dtype, uint64_t tensor_flags) {
  const size_t bits = static_cast<size_t>(dtype.bits) * dtype.lanes;
  if (bits % 8 != 0 && (tensor_flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) == 0) {
    return 0;
  }
  return (bits + 7) / 8;
}

namespace {

// Advances `index` to the next element in row-major order; false after the last.
bool Next(const DLTensor& tensor, int64_t* index) {
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (++index[axis] < tensor.shape[axis]) {
      return true;
    }
    index[axis] = 0;
  }
  return false;
}

int64_t Offset(const DLTensor& tensor, const int64_t* index) {
  int64_t offset = 0;
  int64_t compact = 1;
  for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    offset += index[axis] * (tensor.strides == nullptr ? compact : tensor.strides[axis]);
    compact *= tensor.shape[axis];
  }
  return offset;
}

}  // namespace

bool Gather(const DLTensor& tensor, uint64_t tensor_flags, void* out, size_t size) {
  const auto* first = static_cast<const unsigned char*>(tensor.data) + tensor.byte_offset;
  const size_t item = ItemBytes(tensor.dtype, tensor_flags);
  if (tensor.data == nullptr || tensor.ndim < 0 || tensor.ndim > 8) {
    return false;
  }
  if (item == 0) {
    DLBridgeLayout layout = dlbridge_layout_init();
    if (dlbridge_layout(&tensor, tensor_flags, &layout, nullptr) != DLBRIDGE_OK ||
        (layout.properties & DLBRIDGE_LAYOUT_C_CONTIGUOUS) == 0) {
      return false;
    }
    memcpy(out, first, size);
    return true;
  }
  int64_t index[8] = {0};
  size_t at = 0;
  do {
    if (at + item > size) {
      return false;
    }
    memcpy(static_cast<unsigned char*>(out) + at,
           first + Offset(tensor, index) * static_cast<int64_t>(item), item);
    at += item;
  } while (Next(tensor, index));
  return at == size;
}

Line Numbers(const int64_t* values, int64_t count) {
  Line line;
  if (values == nullptr) {
    line.Add("NULL");
    return line;
  }
  line.Add("{");
  for (int64_t i = 0; i < count && i < 8; ++i) {
    line.Add(i == 0 ? "%lld" : ", %lld", static_cast<long long>(values[i]));
  }
  line.Add(count > 8 ? ", ...}" : "}");
  return line;
}

Line Difference(const void* found, const void* expected, size_t size) {
  const auto* a = static_cast<const unsigned char*>(found);
  const auto* b = static_cast<const unsigned char*>(expected);
  for (size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) {
      return Say("0x%02x at byte %zu of the values, expected 0x%02x", a[i], i, b[i]);
    }
  }
  return Say("the same values");
}

}  // namespace dlbridge_conformance
