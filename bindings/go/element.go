// SPDX-License-Identifier: Apache-2.0
// Go types of the elements of tensors.

package dlbridge

import (
	"math"
	"unsafe"
)

// Element is a Go type with the memory layout of an element of a tensor. int and uint are excluded,
// since their size depends on the machine; bool is, since foreign memory may hold bytes that are
// neither true nor false in Go: see [Bool8].
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128 | Bool8 | Float16 | BFloat16
}

// Bool8 is a boolean in one byte: 0 is false, every other value is true.
type Bool8 uint8

// Bool is the value.
func (b Bool8) Bool() bool { return b != 0 }

// Float16 holds the bits of an IEEE 754 binary16.
type Float16 uint16

// Float32 is the value, exactly.
func (f Float16) Float32() float32 {
	sign := uint32(f&0x8000) << 16
	exponent := uint32(f>>10) & 0x1f
	fraction := uint32(f & 0x3ff)
	switch exponent {
	case 0: // Zero, or a subnormal number, which is fraction * 2^-24.
		value := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(value))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// BFloat16 holds the upper half of the bits of a float32.
type BFloat16 uint16

// Float32 is the value, exactly.
func (f BFloat16) Float32() float32 { return math.Float32frombits(uint32(f) << 16) }

// DTypeOf is the dtype of elements of type T.
func DTypeOf[T Element]() DType {
	var zero T
	return DType{codeOf(any(zero)), uint8(8 * unsafe.Sizeof(zero)), 1}
}

func codeOf(value any) DTypeCode {
	switch value.(type) {
	case int8, int16, int32, int64:
		return CodeInt
	case uint8, uint16, uint32, uint64:
		return CodeUInt
	case complex64, complex128:
		return CodeComplex
	case Bool8:
		return CodeBool
	case BFloat16:
		return CodeBfloat
	}
	return CodeFloat
}
