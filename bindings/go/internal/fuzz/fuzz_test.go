// SPDX-License-Identifier: Apache-2.0

// Package fuzz_test has the fuzz targets: no input of foreign code causes undefined behaviour. The seeds
// run as tests. It is a separate package, since fuzzing compiles the package and its dependencies again.
package fuzz_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// rejected checks what every error of the library must have.
func rejected(t *testing.T, err error) {
	t.Helper()
	var failure *dlbridge.Error
	if !errors.As(err, &failure) || failure.Status == dlbridge.StatusOK || failure.Message == "" {
		t.Errorf("%#v", err)
	}
}

// int64s reads numbers, at most 70 of them; a short rest is dropped.
func int64s(bytes []byte) []int64 {
	list := make([]int64, 0, 8)
	for len(bytes) >= 8 && len(list) < 70 {
		list = append(list, int64(binary.LittleEndian.Uint64(bytes)))
		bytes = bytes[8:]
	}
	return list
}

func bytesOf(list ...int64) []byte {
	var bytes []byte
	for _, value := range list {
		bytes = binary.LittleEndian.AppendUint64(bytes, uint64(value))
	}
	return bytes
}

func FuzzForeign(f *testing.F) {
	f.Add(int32(1), int32(0), int32(2), uint8(0), uint8(8), uint16(1), bytesOf(2, 3), bytesOf(3, 1), uint64(0), uint32(1), uint32(3), uint64(0), uint32(0))
	f.Add(int32(1), int32(0), int32(2), uint8(2), uint8(32), uint16(1), bytesOf(2, 3), bytesOf(-3, 1), uint64(12), uint32(1), uint32(0), uint64(1), uint32(1))
	f.Add(int32(2), int32(7), int32(-1), uint8(9), uint8(0), uint16(0xffff), bytesOf(), bytesOf(), uint64(1<<63), uint32(2), uint32(9), uint64(1<<63), uint32(32))
	f.Add(int32(1), int32(0), int32(3), uint8(0), uint8(8), uint16(1), bytesOf(1<<40, 1<<40, 0), []byte{}, uint64(3), uint32(1), uint32(1), uint64(4), uint32(511))
	f.Add(int32(4), int32(0), int32(1), uint8(17), uint8(4), uint16(2), bytesOf(64), bytesOf(0), uint64(63), uint32(1), uint32(3), uint64(6), uint32(16))
	f.Fuzz(func(t *testing.T, device, id, ndim int32, code, bits uint8, lanes uint16, shape, strides []byte,
		offset uint64, major, minor uint32, flags uint64, options uint32) {
		spec := ctest.Spec{Bytes: make([]byte, 64), DeviceType: device, DeviceID: id, Code: code, Bits: bits,
			Lanes: lanes, Shape: int64s(shape), Strides: int64s(strides), ByteOffset: offset, Major: major,
			Minor: minor, Flags: flags, Deleter: true}
		spec.NDim = min(ndim, int32(len(spec.Shape)))
		if len(spec.Strides) < len(spec.Shape) {
			spec.Strides = nil
		}
		if repeatsTooMuch(spec) {
			t.Skip("a copy of it takes too long")
		}
		inBuffer := &dlbridge.Policy{BufferSize: 64,
			Options: dlbridge.PolicyOptions(options>>10&0x3ff<<8) | dlbridge.PolicyLimitBuffer}
		convert := &dlbridge.ConvertOptions{Options: dlbridge.ConvertBits(options & 0x3e << 8), Policy: inBuffer,
			TensorFlags: dlbridge.TensorFlags(flags)}
		for _, legacy := range []bool{false, true} {
			p := ctest.New(spec)
			tensor := admit(t, p, legacy, convert)
			if tensor != nil {
				useTensor(t, tensor, spec)
				_ = tensor.Close()
			}
			if p.Deletes() != 1 {
				t.Errorf("the deleter ran %d times", p.Deletes())
			}
			p.Free()
		}
	})
}

// repeatsTooMuch: strides of 0 make a tensor of any size from the 64 bytes of the buffer.
func repeatsTooMuch(spec ctest.Spec) bool {
	const most = 1 << 24 // elements
	elements := int64(1)
	for _, extent := range spec.Shape[:max(spec.NDim, 0)] {
		if extent <= 0 || elements > math.MaxInt64/extent {
			return false // rejected, or without elements
		}
		elements *= extent
	}
	return elements > most && slices.Contains(spec.Strides, 0)
}

// admit imports a producer's tensor, or releases it if it is rejected.
func admit(t *testing.T, p *ctest.Producer, legacy bool, options *dlbridge.ConvertOptions) *dlbridge.Tensor {
	borrowed := dlbridge.Borrow(p.Borrowed(), 0)
	if borrowed.String() == "" {
		t.Error("no text")
	}
	if _, err := borrowed.Diagnose(options.Policy); err != nil {
		rejected(t, err)
	}
	pointer, kind := p.Versioned(), dlbridge.KindVersioned
	if legacy {
		pointer, kind = p.Legacy(), dlbridge.KindLegacy
	}
	tensor, err := dlbridge.Import(pointer, dlbridge.KindUnknown, options)
	if errors.Is(err, dlbridge.StatusAmbiguous) {
		tensor, err = dlbridge.Import(pointer, kind, options)
	}
	if err != nil {
		rejected(t, err)
		if err := dlbridge.Release(pointer, kind); err != nil {
			t.Error(err)
		}
		return nil
	}
	return tensor
}

// useTensor uses a tensor that was validated to lie in its buffer.
func useTensor(t *testing.T, tensor *dlbridge.Tensor, spec ctest.Spec) {
	layout, err := tensor.Layout()
	if err != nil {
		t.Error(err) // it was validated
	}
	if _, err := tensor.Info(); err != nil {
		t.Error(err)
	}
	if share, err := tensor.Share(); err != nil {
		rejected(t, err)
	} else {
		_ = share.Close()
	}
	if view, err := tensor.View(dlbridge.ViewSpec{Shape: spec.Shape[:min(len(spec.Shape), 3)],
		Offset: int64(spec.ByteOffset)}); err != nil {
		rejected(t, err)
	} else {
		_ = view.Close()
	}
	if layout.ElementCount > 1<<12 {
		return
	}
	if look, err := dlbridge.Read[uint8](tensor); err != nil {
		rejected(t, err)
	} else {
		total := 0
		for i, value := range look.All() {
			total += int(value) + int(look.Index(i))
		}
		if total != 0 {
			t.Error("read from elsewhere")
		}
		_ = look.Close()
	}
	if look, err := dlbridge.Write[float32](tensor); err != nil {
		rejected(t, err)
	} else {
		for i := range look.Len() {
			look.SetIndex(i, 0)
		}
		_ = look.Close()
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"float32", "bfloat16x4", "dtype(99,8,1)", "cuda:1", "device(99):0", "", "\x00", "cpu:-1"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if dtype, err := dlbridge.ParseDType(name); err != nil {
			rejected(t, err)
		} else if again, err := dlbridge.ParseDType(dtype.String()); err != nil || again != dtype {
			t.Errorf("%q is %v, then %v (%v)", name, dtype, again, err)
		}
		if device, err := dlbridge.ParseDevice(name); err != nil {
			rejected(t, err)
		} else if again, err := dlbridge.ParseDevice(device.String()); err != nil || again != device {
			t.Errorf("%q is %v, then %v (%v)", name, device, again, err)
		}
	})
}

func FuzzDescriptor(f *testing.F) {
	f.Add([]byte("DLBR"))
	f.Add(make([]byte, 200))
	f.Fuzz(func(t *testing.T, descriptor []byte) {
		tensor, err := dlbridge.ImportIPC(descriptor, nil, 0, nil)
		if err != nil {
			rejected(t, err)
			return
		}
		_ = tensor.Close()
	})
}
