// SPDX-License-Identifier: Apache-2.0
// Benchmarks; noxfile.py prints the figures as multiples of MallocFree.

package dlbridge_test

import (
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// static is a tensor of four axes without a deleter, so that it can be imported again and again.
func static(t testing.TB) *ctest.Producer {
	p := newStatic()
	t.Cleanup(p.Free)
	return p
}

func newStatic() *ctest.Producer {
	return ctest.New(ctest.Spec{Bytes: make([]byte, 4*120), DeviceType: 1, NDim: 4, Code: 2, Bits: 32,
		Lanes: 1, Shape: []int64{2, 3, 4, 5}, Strides: []int64{60, 20, 5, 1}, Major: 1, Minor: 3})
}

func upgraded(t testing.TB) *dlbridge.Tensor {
	tensor := must(dlbridge.TakeLegacy(static(t).Legacy()).Upgrade(nil))(t)
	t.Cleanup(func() { _ = tensor.Close() })
	return tensor
}

func BenchmarkMallocFree(b *testing.B) {
	ctest.RepeatMalloc(b.N)
}

func BenchmarkCrossing(b *testing.B) {
	for b.Loop() {
		ctest.Nothing()
	}
}

func BenchmarkValidateInC(b *testing.B) {
	p := static(b)
	b.ResetTimer()
	ctest.RepeatValidate(p.Legacy(), b.N)
}

func BenchmarkValidate(b *testing.B) {
	legacy := dlbridge.TakeLegacy(static(b).Legacy())
	b.ReportAllocs()
	for b.Loop() {
		if err := legacy.Validate(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidateByPolicy(b *testing.B) {
	legacy := dlbridge.TakeLegacy(static(b).Legacy())
	policy := &dlbridge.Policy{Contiguity: dlbridge.ContiguityC,
		DTypes: []dlbridge.DType{dlbridge.DTypeOf[float32]()}}
	b.ReportAllocs()
	for b.Loop() {
		if err := legacy.Validate(policy); err != nil {
			b.Fatal(err)
		}
	}
}

// A tensor that is made and closed in one function needs no memory in Go.
func BenchmarkImportClose(b *testing.B) {
	pointer := static(b).Legacy()
	b.ReportAllocs()
	for b.Loop() {
		tensor, err := dlbridge.Import(pointer, dlbridge.KindLegacy, nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = tensor.Close()
	}
}

func BenchmarkUpgradeInC(b *testing.B) {
	p := static(b)
	b.ResetTimer()
	ctest.RepeatUpgrade(p.Legacy(), b.N)
}

func BenchmarkUpgradeClose(b *testing.B) {
	pointer := static(b).Legacy()
	b.ReportAllocs()
	for b.Loop() {
		tensor, err := dlbridge.TakeLegacy(pointer).Upgrade(nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = tensor.Close()
	}
}

// A tensor that outlives the function that made it is allocated.
func BenchmarkUpgradeCloseEscaping(b *testing.B) {
	pointer := static(b).Legacy()
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if escaped, err = dlbridge.TakeLegacy(pointer).Upgrade(nil); err != nil {
			b.Fatal(err)
		}
		_ = escaped.Close()
	}
}

var escaped *dlbridge.Tensor

// The collector finishes after the benchmark, so the source is never freed.
var forever = sync.OnceValue(newStatic)

func BenchmarkUpgradeAutoClose(b *testing.B) {
	pointer := forever().Legacy()
	b.ReportAllocs()
	for b.Loop() {
		tensor, err := dlbridge.TakeLegacy(pointer).Upgrade(nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = tensor.AutoClose()
	}
}

// statics are 64 such tensors.
func statics(b *testing.B) []unsafe.Pointer {
	pointers := make([]unsafe.Pointer, 64)
	for i := range pointers {
		pointers[i] = static(b).Legacy()
	}
	return pointers
}

// perTensor reports the time of b.N batches of 64 by the tensor.
func perTensor(b *testing.B, spent time.Duration, unit string) {
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/64, unit)
}

func BenchmarkUpgradeMany64InC(b *testing.B) {
	pointers := statics(b)
	b.ResetTimer()
	upgrading := ctest.RepeatUpgradeMany(pointers, b.N)
	perTensor(b, b.Elapsed(), "ns/tensor")
	perTensor(b, upgrading, "ns/upgrade")
}

func BenchmarkImportMany64(b *testing.B) {
	pointers := statics(b)
	var upgrading time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		tensors, err := dlbridge.ImportMany(pointers, nil)
		upgrading += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		_ = tensors.Close()
	}
	perTensor(b, b.Elapsed(), "ns/tensor")
	perTensor(b, upgrading, "ns/upgrade")
}

func BenchmarkUpgradeMany64(b *testing.B) {
	pointers := statics(b)
	var upgrading time.Duration
	sources := make([]*dlbridge.Legacy, len(pointers))
	b.ReportAllocs()
	for b.Loop() {
		for i, pointer := range pointers {
			sources[i] = dlbridge.TakeLegacy(pointer)
		}
		began := time.Now()
		tensors, err := dlbridge.UpgradeMany(sources, nil)
		upgrading += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		_ = tensors.Close()
	}
	perTensor(b, b.Elapsed(), "ns/tensor")
	perTensor(b, upgrading, "ns/upgrade")
}

func BenchmarkAddCleanup(b *testing.B) {
	for b.Loop() {
		runtime.AddCleanup(new([2]uint64), func(int) {}, 0)
	}
}

func BenchmarkShareInC(b *testing.B) {
	tensor := upgraded(b)
	b.ResetTimer()
	ctest.RepeatShare(tensor.Pointer(), b.N)
}

func BenchmarkShareClose(b *testing.B) {
	tensor := upgraded(b)
	b.ReportAllocs()
	for b.Loop() {
		share, err := tensor.Share()
		if err != nil {
			b.Fatal(err)
		}
		_ = share.Close()
	}
}

func BenchmarkViewClose(b *testing.B) {
	tensor := upgraded(b)
	shape := []int64{6, 20}
	b.ReportAllocs()
	for b.Loop() {
		view, err := tensor.View(dlbridge.ViewSpec{Shape: shape})
		if err != nil {
			b.Fatal(err)
		}
		_ = view.Close()
	}
}

func BenchmarkReadOpenClose(b *testing.B) {
	tensor := upgraded(b)
	b.ReportAllocs()
	for b.Loop() {
		look, err := dlbridge.Read[float32](tensor)
		if err != nil {
			b.Fatal(err)
		}
		_ = look.Close()
	}
}

// large has 2^20 elements.
func large(b *testing.B) *dlbridge.Elements[float32] {
	tensor := must(dlbridge.FromSlice(make([]float32, 1<<20), dlbridge.LendSpec{
		Shape: []int64{1 << 10, 1 << 10}}))(b)
	look := must(dlbridge.Read[float32](tensor))(b)
	b.Cleanup(func() { _, _ = look.Close(), tensor.Close() })
	b.SetBytes(4 << 20)
	return look
}

var sum float32

func BenchmarkReadSlice(b *testing.B) {
	values := make([]float32, 1<<20)
	b.SetBytes(4 << 20)
	for b.Loop() {
		for _, value := range values {
			sum += value
		}
	}
}

func BenchmarkReadIndex(b *testing.B) {
	look := large(b)
	for b.Loop() {
		for i := range look.Len() {
			sum += look.Index(i)
		}
	}
}

func BenchmarkReadAll(b *testing.B) {
	look := large(b)
	for b.Loop() {
		for _, value := range look.All() {
			sum += value
		}
	}
}

func BenchmarkReadAt(b *testing.B) {
	look := large(b)
	for b.Loop() {
		for i := range look.Dim(0) {
			for j := range look.Dim(1) {
				sum += look.At(i, j)
			}
		}
	}
}

func BenchmarkReadCopy(b *testing.B) {
	look := large(b)
	values := make([]float32, look.Len())
	for b.Loop() {
		look.CopyTo(values)
	}
}

func BenchmarkLendSlice(b *testing.B) {
	values := make([]float32, 64)
	b.ReportAllocs()
	for b.Loop() {
		tensor, err := dlbridge.FromSlice(values, dlbridge.LendSpec{})
		if err != nil {
			b.Fatal(err)
		}
		_ = tensor.Close()
	}
}
