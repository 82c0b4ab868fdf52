// SPDX-License-Identifier: Apache-2.0
// Typed elements, and Go slices that are lent.

package dlbridge_test

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// panicked is the value that call panics with, or nil.
func panicked(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

func TestReadOfAView(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	defer tensor.Close()
	// The transpose, seen backwards along its second axis.
	view := must(tensor.View(dlbridge.ViewSpec{Shape: []int64{3, 2}, Strides: []int64{1, -3}, Offset: 3}))(t)
	defer view.Close()
	look := must(dlbridge.Read[float32](view))(t)
	defer look.Close()
	want := []float32{3, 0, 4, 1, 5, 2}
	var seen []float32
	for i, value := range look.All() {
		if look.Index(i) != value || look.At(i/2, i%2) != value {
			t.Error(i, value, look.Index(i), look.At(i/2, i%2))
		}
		seen = append(seen, value)
	}
	copied := make([]float32, 9)
	if !slices.Equal(seen, want) || look.CopyTo(copied) != 6 || !slices.Equal(copied[:6], want) {
		t.Error(seen, copied)
	}
	if look.Contiguous() || look.Len() != 6 || look.NDim() != 2 || look.Dim(1) != 2 {
		t.Error("wrong shape")
	}
	for range look.All() {
		break
	}
}

func TestReadPanicsOutOfRange(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	defer tensor.Close()
	look := must(dlbridge.Read[float32](tensor))(t)
	for name, call := range map[string]func(){
		"at":    func() { look.At(2, 0) },
		"under": func() { look.At(-1, 0) },
		"few":   func() { look.At(1) },
		"index": func() { look.Index(6) },
		"minus": func() { look.Index(-1) },
	} {
		if panicked(call) == nil {
			t.Error(name, "did not panic")
		}
	}
	_ = look.Close()
	_ = look.Close()
	if value, is := panicked(func() { look.At(0, 0) }).(error); !is || !errors.Is(value, dlbridge.ErrClosed) {
		t.Error(value)
	}
	for name, call := range map[string]func(){
		"index": func() { look.Index(0) },
		"copy":  func() { look.CopyTo(make([]float32, 1)) },
	} {
		if panicked(call) != dlbridge.ErrClosed {
			t.Errorf("%s: %v", name, panicked(call))
		}
	}
	for range look.All() {
		t.Error("elements after Close")
	}
	if look.Len() != 0 || look.NDim() != 0 {
		t.Error("elements after Close")
	}
}

func TestReadRejections(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	defer tensor.Close()
	_, err := dlbridge.Read[int32](tensor)
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleDTypeRejected)
	_, err = dlbridge.Write[float32](tensor) // legacy does not record whether it may be written to
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleNotWritable)

	p := ctest.New(ctest.Spec{Data: 4096, DeviceType: 2, NDim: 1, Code: 2, Bits: 32, Lanes: 1,
		Shape: []int64{4}, Strides: []int64{1}})
	defer p.Free()
	device := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	defer device.Close()
	_, err = dlbridge.Read[float32](device)
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleDeviceRejected)

	odd := ctest.New(ctest.Spec{Bytes: make([]byte, 16), Data: 1, DeviceType: 1, NDim: 1, Code: 2,
		Bits: 32, Lanes: 1, Shape: []int64{2}, Strides: []int64{1}})
	defer odd.Free()
	unaligned := must(dlbridge.TakeLegacy(odd.Legacy()).Upgrade(nil))(t)
	defer unaligned.Close()
	_, err = dlbridge.Read[float32](unaligned)
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleAlignment)

	overlapping := must(dlbridge.FromSlice(make([]float32, 4), dlbridge.LendSpec{
		Shape: []int64{2, 4}, Strides: []int64{0, 1}}))(t)
	defer overlapping.Close()
	_, err = dlbridge.Write[float32](overlapping)
	isError(t, err, dlbridge.StatusPolicy, dlbridge.RuleSelfOverlap)
}

// No method for reading gives a slice or a pointer, through which memory could be written.
func TestReadReturnsNothingWritable(t *testing.T) {
	read := reflect.TypeFor[*dlbridge.Elements[float32]]()
	for i := range read.NumMethod() {
		method := read.Method(i)
		for j := range method.Type.NumOut() {
			switch method.Type.Out(j).Kind() {
			case reflect.Slice, reflect.Pointer, reflect.UnsafePointer, reflect.Uintptr:
				t.Errorf("%s gives %v", method.Name, method.Type.Out(j))
			}
		}
	}
	for _, name := range []string{"Slice", "Set", "SetIndex"} {
		if _, has := read.MethodByName(name); has {
			t.Errorf("Elements has %s", name)
		}
	}
	if read.NumMethod() < 8 {
		t.Error("its methods were not found")
	}
}

func TestLendAndWrite(t *testing.T) {
	values := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	released := 0
	tensor := must(dlbridge.FromSlice(values, dlbridge.LendSpec{Shape: []int64{3, 2}, Offset: 2,
		Release: func() { released++ }}))(t)
	info := must(tensor.Info())(t)
	if info.DType != dlbridge.DTypeOf[int64]() || info.Device != dlbridge.CPU ||
		!slices.Equal(info.Shape, []int64{3, 2}) || !slices.Equal(info.Strides, []int64{2, 1}) ||
		info.Flags != 0 || info.Version != dlbridge.NewestVersion() {
		t.Errorf("%+v", info)
	}
	look := must(dlbridge.Write[int64](tensor))(t)
	look.Set(40, 1, 0)
	look.SetIndex(3, 50)
	must(look.Slice())(t)[5] = 70
	runtime.GC() // the slice is pinned, and found by the collector
	_, _ = look.Close(), tensor.Close()
	if !slices.Equal(values, []int64{0, 1, 2, 3, 40, 50, 6, 70}) || released != 1 {
		t.Error(values, released)
	}
	if _, err := look.Slice(); !errors.Is(err, dlbridge.ErrClosed) {
		t.Error(err)
	}
}

func TestLendReadOnly(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]uint8{1, 2}, dlbridge.LendSpec{TensorFlags: dlbridge.FlagReadOnly}))(t)
	defer tensor.Close()
	_, err := dlbridge.Write[uint8](tensor)
	isError(t, err, dlbridge.RuleNotWritable)
	_, err = tensor.Downgrade(nil)
	isError(t, err, dlbridge.StatusUnrepresentable, dlbridge.RuleLegacyReadOnly)
	look := must(dlbridge.Read[uint8](tensor))(t)
	if look.Index(1) != 2 {
		t.Error(look.Index(1))
	}
	_ = look.Close()
}

func TestLendRejections(t *testing.T) {
	never := dlbridge.LendSpec{Shape: []int64{9}, Release: func() { t.Error("released") }}
	_, err := dlbridge.FromSlice(make([]float32, 8), never)
	isError(t, err, dlbridge.RuleBufferBounds)
	_, err = dlbridge.FromSliceLegacy(make([]float32, 8), never)
	isError(t, err, dlbridge.RuleBufferBounds)
	never.Shape, never.Strides = []int64{2, 2}, []int64{1}
	_, err = dlbridge.FromSlice(make([]float32, 8), never)
	isError(t, err, dlbridge.StatusInvalidArgument)
	for _, offset := range []int64{-1, 9, math.MaxInt64} {
		_, err = dlbridge.FromSlice(make([]float32, 8), dlbridge.LendSpec{Offset: offset})
		isError(t, err, dlbridge.StatusBounds)
	}
	_, err = dlbridge.FromSliceLegacy(make([]float32, 8), dlbridge.LendSpec{Offset: -1})
	isError(t, err, dlbridge.StatusBounds)
	_, err = dlbridge.FromSlice(make([]float32, 8), dlbridge.LendSpec{Shape: []int64{2},
		Strides: []int64{-1}})
	isError(t, err, dlbridge.RuleBufferBounds)
}

func TestLendNothing(t *testing.T) {
	for _, values := range [][]float64{nil, {}, make([]float64, 0, 8)} {
		tensor := must(dlbridge.FromSlice(values, dlbridge.LendSpec{}))(t)
		look := must(dlbridge.Write[float64](tensor))(t)
		if slice := must(look.Slice())(t); len(slice) != 0 || look.Len() != 0 {
			t.Error(slice)
		}
		_, _ = look.Close(), tensor.Close()
	}
}

// A round trip of each type of element keeps its dtype.
func TestElementTypes(t *testing.T) {
	roundTrip(t, "int8", int8(-3))
	roundTrip(t, "int16", int16(-300))
	roundTrip(t, "int32", int32(math.MinInt32))
	roundTrip(t, "int64", int64(math.MinInt64))
	roundTrip(t, "uint8", uint8(200))
	roundTrip(t, "uint16", uint16(60000))
	roundTrip(t, "uint32", uint32(math.MaxUint32))
	roundTrip(t, "uint64", uint64(math.MaxUint64))
	roundTrip(t, "float32", float32(1.5))
	roundTrip(t, "float64", math.Pi)
	roundTrip(t, "complex64", complex64(complex(1, -2)))
	roundTrip(t, "complex128", complex(3, -4))
	roundTrip(t, "bool", dlbridge.Bool8(1))
	roundTrip(t, "float16", dlbridge.Float16(0x3c00))
	roundTrip(t, "bfloat16", dlbridge.BFloat16(0x3f80))
}

func roundTrip[T dlbridge.Element](t *testing.T, name string, value T) {
	t.Helper()
	if got := dlbridge.DTypeOf[T]().String(); got != name {
		t.Errorf("%s is called %s", name, got)
	}
	tensor := must(dlbridge.FromSlice([]T{value, value}, dlbridge.LendSpec{}))(t)
	defer tensor.Close()
	look := must(dlbridge.Read[T](tensor))(t)
	defer look.Close()
	if look.At(1) != value {
		t.Errorf("%s: %v became %v", name, value, look.At(1))
	}
}

func TestHalves(t *testing.T) {
	for bits, want := range map[dlbridge.Float16]float32{
		0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: 1.0 / (1 << 24), 0x83ff: -1023.0 / (1 << 24),
		0x0400: 1.0 / (1 << 14), 0x7c00: float32(math.Inf(1)), 0xfc00: float32(math.Inf(-1)), 0x3555: 0.33325195,
	} {
		if got := bits.Float32(); got != want {
			t.Errorf("%#x: %v, not %v", uint16(bits), got, want)
		}
	}
	if value := dlbridge.Float16(0x7e00).Float32(); value == value {
		t.Error(value)
	}
	if got := dlbridge.Float16(0x8000).Float32(); got != 0 || !math.Signbit(float64(got)) {
		t.Error(got)
	}
	if got := dlbridge.BFloat16(0xc049).Float32(); got != -3.140625 {
		t.Error(got)
	}
	if !dlbridge.Bool8(255).Bool() || dlbridge.Bool8(0).Bool() {
		t.Error("booleans")
	}
}

// A tensor without strides: only an accepted one can have none.
func TestReadWithoutStrides(t *testing.T) {
	p := ctest.New(ctest.Spec{Bytes: []byte{1, 2, 3, 4, 5, 6}, DeviceType: 1, NDim: 2, Code: 1, Bits: 8,
		Lanes: 1, Shape: []int64{2, 3}, Major: 1, Minor: 1, Deleter: true})
	defer p.Free()
	tensor := must(dlbridge.TakeVersioned(p.Versioned()).Accept(nil))(t)
	if info := must(tensor.Info())(t); info.Strides != nil {
		t.Error(info.Strides)
	}
	look := must(dlbridge.Write[uint8](tensor))(t)
	if look.At(1, 0) != 4 || !look.Contiguous() {
		t.Error(look.At(1, 0))
	}
	_, _ = look.Close(), tensor.Close()
}

func TestReadOfAScalar(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]float32{7}, dlbridge.LendSpec{Shape: []int64{}}))(t)
	defer tensor.Close()
	look := must(dlbridge.Read[float32](tensor))(t)
	defer look.Close()
	if look.At() != 7 || look.Index(0) != 7 || look.NDim() != 0 || look.Len() != 1 {
		t.Error("a scalar is one element")
	}
}

// Copies of an Elements are closed together, and end the use of the tensor once.
func TestCopiesOfElementsCloseOnce(t *testing.T) {
	tensor := must(dlbridge.FromSlice([]int32{1, 2}, dlbridge.LendSpec{}))(t)
	defer tensor.Close()
	write := must(dlbridge.Write[int32](tensor))(t)
	other := must(dlbridge.Read[int32](tensor))(t)
	read := write.ReadOnly()
	_, _, _ = read.Close(), write.Close(), read.Close()
	if panicked(func() { write.Set(1, 0) }) != dlbridge.ErrClosed {
		t.Error("open still")
	}
	_, err := tensor.Downgrade(nil)
	isError(t, err, dlbridge.ErrInUse) // by the other elements
	_ = tensor.Close()
	if other.At(1) != 2 {
		t.Error("released while it was read")
	}
	_ = other.Close()
}

// A slice keeps the collector from closing its tensor, which nothing else refers to. The elements are
// never closed, so the tensor is never released.
func TestAutoCloseKeepsWhatIsSliced(t *testing.T) {
	var released atomic.Bool
	values := func() []int32 {
		tensor := must(dlbridge.Wrap(dlbridge.WrapSpec{
			Buffer: dlbridge.AddressOf(ctest.Malloc(64)), Shape: []int64{4},
			DType: dlbridge.DTypeOf[int32](), Device: dlbridge.CPU,
			Release: func(dlbridge.Buffer, dlbridge.Stream) { released.Store(true) }}))(t)
		_ = tensor.AutoClose()
		return must(must(dlbridge.Write[int32](tensor))(t).Slice())(t)
	}()
	collectOnce(t)
	values[3] = 1
	if released.Load() {
		t.Error("closed while its slice was used")
	}
}

func TestReadRejectsUnknownFlags(t *testing.T) {
	p := ctest.New(ctest.Spec{Bytes: make([]byte, 8), DeviceType: 1, NDim: 1, Code: 1, Bits: 8, Lanes: 1,
		Shape: []int64{8}, Strides: []int64{1}, Major: 1, Minor: 3, Flags: 1 << 40, Deleter: true})
	defer p.Free()
	tensor := must(dlbridge.TakeVersioned(p.Versioned()).Accept(nil))(t)
	defer tensor.Close()
	_, err := dlbridge.Read[uint8](tensor)
	isError(t, err, dlbridge.RuleFlagsUnknown)
}
