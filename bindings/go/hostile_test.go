// SPDX-License-Identifier: Apache-2.0
// What a hostile program can do without the package unsafe: zero and nil values, absurd arguments,
// callbacks that misbehave, loops that close what they read. It gets errors or panics of Go; no memory is
// damaged, also not under the race detector and checkptr.

package dlbridge_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// pointer is in the signature of allocators.
type pointer = unsafe.Pointer

// attemptCall makes a call, of which only a panic of Go may come back, and no crash. It closes what the
// call has made.
func attemptCall(method reflect.Value, arguments []reflect.Value) {
	defer func() { _ = recover() }()
	call := method.Call
	if method.Type().IsVariadic() {
		call = method.CallSlice
	}
	for _, result := range call(arguments) {
		if made, is := result.Interface().(io.Closer); is && !result.IsNil() {
			_ = made.Close()
		}
	}
}

// absurd is a value of a type: with 0 the zero value, else extreme numbers and lists of them.
func absurd(of reflect.Type, how int) reflect.Value {
	value := reflect.New(of).Elem()
	if how != 0 {
		fill(value, how, 3)
	}
	return value
}

func fill(value reflect.Value, how, depth int) {
	if !value.CanSet() || depth == 0 {
		return
	}
	numbers := []int64{-1, math.MinInt64, math.MaxInt64, 65, 1 << 31}
	number := numbers[how%len(numbers)]
	switch value.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		value.SetInt(number >> (64 - value.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		value.SetUint(uint64(number) >> (64 - value.Type().Bits()))
	case reflect.String:
		value.SetString("\x00\xff%s")
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), how%70, how%70))
		for i := range value.Len() {
			fill(value.Index(i), how+i, depth-1)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			fill(value.Field(i), how+i, depth)
		}
	case reflect.Pointer:
		made := reflect.New(value.Type().Elem())
		fill(made.Elem(), how, depth-1)
		value.Set(made)
	}
}

// hostileArguments are arguments of a method; false if it takes memory or a callback.
func hostileArguments(method reflect.Type, how int) ([]reflect.Value, bool) {
	var arguments []reflect.Value
	for i := range method.NumIn() {
		in := method.In(i)
		if in.Kind() == reflect.UnsafePointer || (in.Kind() == reflect.Func && how != 0) {
			return nil, false
		}
		arguments = append(arguments, absurd(in, how))
	}
	return arguments, true
}

// attack calls every method of a value and returns their number.
func attack(value reflect.Value) int {
	count := 0
	for i := range value.NumMethod() {
		for how := range 7 {
			if arguments, possible := hostileArguments(value.Method(i).Type(), how); possible {
				attemptCall(value.Method(i), arguments)
				count++
			}
		}
	}
	return count
}

// Every method of a value that no function of the package has made.
func TestZeroAndNilValues(t *testing.T) {
	values := []any{&dlbridge.Tensor{}, &dlbridge.Foreign{}, &dlbridge.Legacy{}, &dlbridge.Borrowed{},
		&dlbridge.Batch{}, &dlbridge.Allocator{}, &dlbridge.Storage{}, &dlbridge.ExchangeAPI{},
		&dlbridge.Elements[float32]{}, &dlbridge.MutableElements[uint8]{}, &dlbridge.Elements[complex128]{},
		&dlbridge.Error{}, &dlbridge.BatchError{}, &dlbridge.Policy{}, &dlbridge.Handle{},
		&dlbridge.PointerInfo{}, &dlbridge.Layout{}, &dlbridge.DType{}, &dlbridge.Device{},
		&dlbridge.Stream{}, &dlbridge.Buffer{}, &dlbridge.Finding{}, &dlbridge.ContextEntry{}}
	count := 0
	for _, value := range values {
		count += attack(reflect.ValueOf(value))
		count += attack(reflect.Zero(reflect.TypeOf(value))) // nil
	}
	if count < 800 {
		t.Errorf("only %d calls", count)
	}
}

// Every method of a live tensor with absurd arguments. What it still owns is released at the end.
func TestAbsurdArguments(t *testing.T) {
	for i := range reflect.TypeFor[*dlbridge.Tensor]().NumMethod() {
		for how := range 7 {
			tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
			method := reflect.ValueOf(tensor).Method(i)
			name := reflect.TypeOf(tensor).Method(i).Name
			arguments, possible := hostileArguments(method.Type(), how)
			// The results of these two have no owner.
			if possible && name != "Detach" && name != "Export" {
				attemptCall(method, arguments)
			}
			_ = tensor.Close()
		}
	}
}

func TestAbsurdSpecs(t *testing.T) {
	for how := range 40 {
		_, err := dlbridge.Allocate(absurd(reflect.TypeFor[dlbridge.AllocateSpec](), how).Interface().(dlbridge.AllocateSpec))
		if err == nil && how != 0 {
			t.Errorf("an allocation of absurd values, %d", how)
		}
		spec := absurd(reflect.TypeFor[dlbridge.LendSpec](), how).Interface().(dlbridge.LendSpec)
		if tensor, err := dlbridge.FromSlice([]float32{1, 2}, spec); err == nil {
			_ = tensor.Close()
		}
		if tensor, err := dlbridge.FromSliceLegacy([]dlbridge.Bool8{2}, spec); err == nil {
			_ = tensor.Close()
		}
		_, _ = dlbridge.QueryBackend(dlbridge.Backend(-how))
		_, _ = dlbridge.NewStorage(-how - 1)
		_, _ = dlbridge.ParseDevice(string(bytes.Repeat([]byte{byte(how)}, how*50)))
		_ = dlbridge.ContextRelease(uint64(how))
		_ = dlbridge.ContextUnregister(math.MaxUint64 - uint64(how))
		_, _, _ = dlbridge.ContextNext(math.MaxUint64 - uint64(how))
	}
}

// The library reads as many extents of a policy as its limits state.
func TestLimitsThatContradictAShape(t *testing.T) {
	tensor := upgraded(t)
	for _, limits := range [][2]int32{{64, 64}, {2, 2}, {1, 64}, {-1, -1}, {0, 64}, {math.MaxInt32, math.MaxInt32}} {
		policy := &dlbridge.Policy{Shape: []int64{-1}, MinNDim: limits[0], MaxNDim: limits[1],
			Options: dlbridge.PolicyLimitNDim}
		isError(t, tensor.Validate(policy), dlbridge.StatusInvalidArgument)
		_, err := tensor.Diagnose(policy)
		isError(t, err, dlbridge.StatusInvalidArgument)
		_, err = tensor.Copy(dlbridge.CopySpec{Policy: policy})
		isError(t, err, dlbridge.StatusInvalidArgument)
	}
}

// Loops that close what they read get a panic, and not another tensor's memory.
func TestLoopsThatCloseWhatTheyRead(t *testing.T) {
	tensor := upgraded(t)
	look := must(dlbridge.Read[float32](tensor))(t)
	func() {
		defer func() {
			if value := recover(); value != dlbridge.ErrClosed {
				t.Errorf("%v", value)
			}
		}()
		for range look.All() {
			_ = look.Close()
		}
	}()
	write := must(dlbridge.FromSlice(make([]int32, 3), dlbridge.LendSpec{}))(t)
	elements := must(dlbridge.Write[int32](write))(t)
	first, second := must(elements.Slice())(t), must(elements.Slice())(t)
	first[1] = 7
	if second[1] != 7 || elements.ReadOnly().At(1) != 7 || cap(first) != 3 {
		t.Error(first, second)
	}
	_ = elements.Close()
	if _, err := elements.Slice(); !errors.Is(err, dlbridge.ErrClosed) {
		t.Error(err)
	}
	_ = write.Close()
}

// Copies of elements share one state; a copy of the struct closes the others.
func TestElementsAreCopiedAndExchanged(t *testing.T) {
	a, b := upgraded(t), upgraded(t)
	one := must(dlbridge.Read[float32](a))(t)
	two := must(dlbridge.Read[float32](b))(t)
	kept := *one
	*one = *two
	*two = kept
	_ = one.Close()
	_ = two.Close()
	_ = kept.Close()
	_ = one.Close()
	for _, look := range []*dlbridge.Elements[float32]{one, two, &kept} {
		if look.Len() != 0 {
			t.Error("not closed")
		}
	}
}

// releases that do everything that they can.
func TestReleasesThatMisbehave(t *testing.T) {
	var runs atomic.Int32
	var self *dlbridge.Tensor
	self = wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) {
		runs.Add(1)
		_ = self.Close()
		if _, err := self.Share(); !errors.Is(err, dlbridge.ErrClosed) {
			t.Error(err)
		}
		inner := must(dlbridge.FromSlice([]uint8{1}, dlbridge.LendSpec{Release: func() { runs.Add(1) }}))(t)
		copied := must(inner.Copy(dlbridge.CopySpec{}))(t)
		_ = inner.Close()
		_ = copied.Close()
		_, _ = dlbridge.Collect(dlbridge.CollectWait)
		runtime.GC()
	})
	_ = self.Close()
	if runs.Load() != 2 {
		t.Errorf("%d callbacks ran", runs.Load())
	}
}

// Each callback closes the next tensor.
func TestReleasesThatReleaseOthers(t *testing.T) {
	var runs atomic.Int32
	last := wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) { runs.Add(1) })
	for range 200 {
		next := last
		last = wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) {
			runs.Add(1)
			_ = next.Close()
		})
	}
	_ = last.Close()
	if runs.Load() != 201 {
		t.Errorf("%d callbacks ran", runs.Load())
	}
}

// No lock of the library or of this package is held while a callback waits for others.
func TestReleaseThatWaits(t *testing.T) {
	inside, done := make(chan bool), make(chan bool)
	tensor := wrapped(t, func(dlbridge.Buffer, dlbridge.Stream) {
		inside <- true
		<-done
	})
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		_ = tensor.Close()
	}()
	<-inside
	other := upgraded(t)
	_ = must(other.Share())(t).Close()
	_ = must(other.Copy(dlbridge.CopySpec{}))(t).Close()
	id := must(dlbridge.ContextRegister(dlbridge.ContextEntry{Backend: dlbridge.BackendCUDA,
		Device: dlbridge.Device{Type: dlbridge.DeviceCUDA}, NativeDevice: dlbridge.UnsafeHandle(1),
		Context: dlbridge.UnsafeHandle(4711)}))(t)
	if err := dlbridge.ContextUnregister(id); err != nil {
		t.Error(err)
	}
	_, _ = dlbridge.Collect(0)
	done <- true
	group.Wait()
}

// An allocator that closes its own tensor, itself and the source in the middle of a copy.
func TestAllocatorThatClosesEverything(t *testing.T) {
	source := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	var allocator *dlbridge.Allocator
	blocks := 0
	allocator = must(dlbridge.NewAllocator(
		func(_ dlbridge.Device, size, alignment uint64, _ dlbridge.Stream) (memory pointer) {
			_ = source.Close()
			_ = allocator.Close()
			blocks++
			return ctest.AlignedAlloc(alignment, size)
		},
		func(_ dlbridge.Device, memory pointer, _, _ uint64, _ dlbridge.Stream) {
			blocks--
			ctest.Free(memory)
		}))(t)
	copied := must(source.Copy(dlbridge.CopySpec{Allocator: allocator}))(t)
	look := must(dlbridge.Read[float32](copied))(t)
	if look.Index(5) != 5 {
		t.Error("not copied")
	}
	_ = look.Close()
	_ = copied.Close()
	if blocks != 0 {
		t.Errorf("%d blocks", blocks)
	}
	if _, err := source.Share(); !errors.Is(err, dlbridge.ErrClosed) {
		t.Error(err)
	}
}

// Messages that are cut, altered, or come with other files.
func TestMessagesThatAreForged(t *testing.T) {
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{3}, DType: dlbridge.DTypeOf[float32](),
		Options: dlbridge.AllocateShareable}))(t)
	message, files, err := tensor.ExportIPC(0)
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	closed := must(os.Open(os.DevNull))(t)
	_ = closed.Close()
	for _, others := range [][]*os.File{nil, {nil}, {closed}, {reader}, {writer, reader}, slices.Repeat(files, 100)} {
		if made, err := dlbridge.ImportIPC(message, others, 0, nil); err == nil {
			t.Errorf("%d files were accepted", len(others))
			_ = made.Close()
		}
	}
	for i := range message {
		altered := bytes.Clone(message)
		altered[i] ^= 0x81
		if made, err := dlbridge.ImportIPC(altered, files, 0, nil); err == nil {
			if look, err := dlbridge.Read[float32](made); err == nil {
				for range look.All() {
				}
				_ = look.Close()
			}
			_ = made.Close()
		}
		if _, err := dlbridge.ImportIPC(message[:i], files, 0, nil); err == nil {
			t.Errorf("%d bytes were accepted", i)
		}
	}
	for _, file := range append(files, reader, writer) {
		_ = file.Close()
	}
	_ = tensor.Close()
}

// Extents of an empty tensor may have any product.
func TestEmptyTensorsOfManyElements(t *testing.T) {
	for _, shape := range [][]int64{{0, 1 << 62, 1 << 62}, {1 << 62, 0, 1 << 62}, {1 << 62, 1 << 62, 0}} {
		tensor, err := dlbridge.FromSlice([]float64{1}, dlbridge.LendSpec{Shape: shape})
		if err != nil {
			continue
		}
		look := must(dlbridge.Read[float64](tensor))(t)
		if look.Len() != 0 || look.CopyTo(make([]float64, 10)) != 0 {
			t.Errorf("%v has %d elements", shape, look.Len())
		}
		for range look.All() {
			t.Error("an element")
		}
		_ = look.Close()
		_ = tensor.Close()
	}
}

// Slices of all kinds, and their parts.
func TestSlicesThatOverlap(t *testing.T) {
	numbers := []uint16{0, 1, 2, 3, 4, 5}
	var tensors []*dlbridge.Tensor
	for _, part := range [][]uint16{nil, {}, numbers[:0], numbers[6:], numbers[2:4:4], numbers[2:4]} {
		tensors = append(tensors, must(dlbridge.FromSlice(part, dlbridge.LendSpec{}))(t))
		if _, err := dlbridge.FromSlice(part, dlbridge.LendSpec{Shape: []int64{int64(len(part)) + 1}}); err == nil {
			t.Error("beyond the length, inside the capacity")
		}
	}
	look := must(dlbridge.Read[uint16](tensors[5]))(t)
	numbers[3] = 99
	if look.At(1) != 99 {
		t.Error("a copy")
	}
	_ = look.Close()
	runtime.GC()
	for _, tensor := range tensors {
		_ = tensor.Close()
	}
}
