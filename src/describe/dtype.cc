// SPDX-License-Identifier: Apache-2.0
#include "describe/dtype.h"

#include <cstring>

#include "describe/boundary.h"
#include "describe/output.h"
#include "support/parse.h"

namespace dlbridge {
namespace {

// True if the table has a name for the code and the name can express the width.
bool HasName(DLDataType dtype) {
  if (dtype.code >= kDtypeCodeCount || dtype.bits == 0 || dtype.lanes == 0) {
    return false;
  }
  const unsigned fixed = FixedBits(dtype.code);
  return fixed == 0 || fixed == dtype.bits;
}

// True if the width is written after the name: "float32", "bfloat16". Names such as "bool" and
// "float8_e4m3" imply it.
bool SpellsBits(unsigned code) {
  return FixedBits(static_cast<uint8_t>(code)) == 0 || code == kDLBfloat;
}

// Reads `before` and the number after it.
bool TakeField(TextReader* text, const char* before, uint64_t maximum, uint64_t* out) {
  return text->Take(before) && text->TakeNumber(maximum, out);
}

bool ParseNumbers(TextReader text, DLDataType* out) {
  uint64_t code = 0;
  uint64_t bits = 0;
  uint64_t lanes = 0;
  if (!TakeField(&text, "dtype(", UINT8_MAX, &code) || !TakeField(&text, ",", UINT8_MAX, &bits) ||
      !TakeField(&text, ",", UINT16_MAX, &lanes) || !text.Take(")") || !text.AtEnd()) {
    return false;
  }
  *out = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  return true;
}

bool ParseNamed(TextReader text, unsigned code, DLDataType* out) {
  if (!text.Take(kDtypeCodes[code].name)) {
    return false;
  }
  uint64_t bits = FixedBits(static_cast<uint8_t>(code));
  if (SpellsBits(code) && !text.TakeNumber(UINT8_MAX, &bits)) {
    return false;
  }
  uint64_t lanes = 1;
  if (!text.AtEnd() && (!TakeField(&text, "x", UINT16_MAX, &lanes) || lanes < 2)) {
    return false;
  }
  const DLDataType dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                            static_cast<uint16_t>(lanes)};
  if (!text.AtEnd() || !HasName(dtype)) {
    return false;
  }
  *out = dtype;
  return true;
}

}  // namespace

uint64_t NaturalAlignment(DLDataType dtype) {
  uint64_t bits = dtype.bits;
  if (dtype.code == kDLComplex || dtype.code == kDLBcomplex) {
    bits /= 2;
  }
  return bits >= 8 && IsPowerOfTwo(bits) ? bits / 8 : 1;
}

void WriteDtype(DLDataType dtype, TextWriter* text) {
  if (!HasName(dtype)) {
    text->String("dtype(").Unsigned(dtype.code).Character(',').Unsigned(dtype.bits);
    text->Character(',').Unsigned(dtype.lanes).Character(')');
    return;
  }
  text->String(kDtypeCodes[dtype.code].name);
  if (SpellsBits(dtype.code)) {
    text->Unsigned(dtype.bits);
  }
  if (dtype.lanes != 1) {
    text->Character('x').Unsigned(dtype.lanes);
  }
}

}  // namespace dlbridge

extern "C" {

DLBridgeStatus dlbridge_dtype_format(DLDataType dtype, char* buffer, size_t size, size_t* length,
                                     DLBridgeError* error) {
  return dlbridge::FormatText(buffer, size, length, error, [&](dlbridge::TextWriter* text) {
    dlbridge::WriteDtype(dtype, text);
  });
}

DLBridgeStatus dlbridge_dtype_parse(const char* text, size_t length, DLDataType* out,
                                    DLBridgeError* error) {
  DLBRIDGE_REQUIRE(text);
  DLBRIDGE_REQUIRE(out);
  const dlbridge::TextReader reader(text, length);
  if (dlbridge::ParseNumbers(reader, out)) {
    return DLBRIDGE_OK;
  }
  for (unsigned code = 0; code < dlbridge::kDtypeCodeCount; ++code) {
    if (dlbridge::ParseNamed(reader, code, out)) {
      return DLBRIDGE_OK;
    }
  }
  return dlbridge::RejectText(error,
                              "is not a dtype: expected a name such as float32, bfloat16x4 or "
                              "dtype(code,bits,lanes)",
                              text, length);
}

}  // extern "C"
