// SPDX-License-Identifier: Apache-2.0
// The dtypes of the kit, each with six values that change if they pass through a narrower dtype,
// and functions on elements.
#ifndef DLBRIDGE_CONFORMANCE_VALUES_H_
#define DLBRIDGE_CONFORMANCE_VALUES_H_

#include <cstddef>
#include <cstdint>

#include "dlbridge/conformance.h"
#include "text.h"

namespace dlbridge_conformance {

constexpr int64_t kSampleCount = 6;  // the shape [2, 3]

struct Sample {
  const char* name;  // as in the names of checks
  DLDataType dtype;
  const void* values;  // kSampleCount elements, compact and packed
  size_t bytes;
};

extern const Sample kSamples[];
extern const size_t kSampleDtypes;

// The sample of `export-<name>` and `import-<name>`, or NULL.
const Sample* FindSample(const char* name);
// float32 and uint8, the dtypes of all other checks.
const Sample& Float32();

// Writes the elements of a sub-byte dtype's sample, one in each byte. Returns their number of
// bytes.
size_t Unpack(const Sample& sample, unsigned char* out);

// Bytes of one element in memory; 0 for packed elements of less than 8 bits.
size_t ItemBytes(DLDataType dtype, uint64_t tensor_flags);

// Copies the elements of a tensor in row-major order. False if they are packed and not compact, if
// they do not fit into `size`, or if the tensor has no elements to read.
bool Gather(const DLTensor& tensor, uint64_t tensor_flags, void* out, size_t size);

// "{2, 3}", or "NULL".
Line Numbers(const int64_t* values, int64_t count);
// Describes the first byte that differs.
Line Difference(const void* found, const void* expected, size_t size);

}  // namespace dlbridge_conformance

#endif  // DLBRIDGE_CONFORMANCE_VALUES_H_
