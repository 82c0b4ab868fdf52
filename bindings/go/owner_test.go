// SPDX-License-Identifier: Apache-2.0
// Owners: released once, in any order of calls.

package dlbridge_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// producer is a float32 tensor of 2x3 that must have been deleted once when the test ends.
func producer(t testing.TB) *ctest.Producer {
	p := ctest.Float32([]float32{0, 1, 2, 3, 4, 5}, 2, 3)
	t.Cleanup(func() {
		if p.Deletes() != 1 {
			t.Errorf("the deleter ran %d times", p.Deletes())
		}
		p.Free()
	})
	return p
}

// must is the value of a call that must succeed: must(call())(t).
func must[V any](value V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func isError(t testing.TB, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("got %v, want %v", err, target)
		}
	}
}

func TestUpgradeAndClose(t *testing.T) {
	p := producer(t)
	tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	if p.Deletes() != 0 {
		t.Error("the upgrade released its source")
	}
	for range 3 {
		if err := tensor.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUseAfterClose(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	_ = tensor.Close()
	uses := map[string]func() error{
		"validate": func() error { return tensor.Validate(nil) },
		"share":    func() error { _, err := tensor.Share(); return err },
		"view":     func() error { _, err := tensor.View(dlbridge.ViewSpec{}); return err },
		"info":     func() error { _, err := tensor.Info(); return err },
		"shape":    func() error { _, err := tensor.Shape(); return err },
		"layout":   func() error { _, err := tensor.Layout(); return err },
		"diagnose": func() error { _, err := tensor.Diagnose(nil); return err },
		"required": func() error { _, err := tensor.RequiredVersion(); return err },
		"down":     func() error { _, err := tensor.Downgrade(nil); return err },
		"import":   func() error { _, err := tensor.Import(nil); return err },
		"detach":   func() error { _, err := tensor.Detach(); return err },
		"read":     func() error { _, err := dlbridge.Read[float32](tensor); return err },
		"write":    func() error { _, err := dlbridge.Write[float32](tensor); return err },
		"auto":     tensor.AutoClose,
		"after":    func() error { return tensor.ReleaseAfter(dlbridge.Stream{}) },
		"async":    func() error { _, err := tensor.CopyAsync(dlbridge.CopySpec{}); return err },
		"export": func() error {
			_, _, err := tensor.Export(dlbridge.Version{Major: 1}, nil)
			return err
		},
	}
	for name, use := range uses {
		if err := use(); !errors.Is(err, dlbridge.ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if tensor.Pointer() != nil {
		t.Error("a closed tensor has a pointer")
	}
	if tensor.String() != dlbridge.ErrClosed.Error() {
		t.Error(tensor.String())
	}
}

func TestConsumedTwice(t *testing.T) {
	legacy := dlbridge.TakeLegacy(producer(t).Legacy())
	tensor := must(legacy.Upgrade(nil))(t)
	_, err := legacy.Upgrade(nil)
	isError(t, err, dlbridge.ErrClosed)
	_ = legacy.Close() // does nothing: the tensor has it
	if err := tensor.Validate(nil); err != nil {
		t.Error(err)
	}
	_ = tensor.Close()
}

func TestErrorLeavesTheSource(t *testing.T) {
	p := producer(t)
	p.SetNDim(-3)
	legacy := dlbridge.TakeLegacy(p.Legacy())
	_, err := legacy.Upgrade(nil)
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleNDimNegative)
	var failure *dlbridge.Error
	if !errors.As(err, &failure) || failure.Axis != -1 || failure.Message == "" {
		t.Errorf("%#v", failure)
	}
	if p.Deletes() != 0 {
		t.Error("the failed call released the source")
	}
	p.SetNDim(2)
	tensor := must(legacy.Upgrade(nil))(t)
	_ = tensor.Close()
}

func TestShareAndViewInAnyOrder(t *testing.T) {
	p := producer(t)
	tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	share := must(tensor.Share())(t)
	view := must(share.View(dlbridge.ViewSpec{Shape: []int64{3}, Strides: []int64{-1}, Offset: 5}))(t)
	_ = tensor.Close()
	_ = share.Close()
	if p.Deletes() != 0 {
		t.Fatal("released before its last owner")
	}
	look := must(dlbridge.Read[float32](view))(t)
	if look.At(0) != 5 || look.At(2) != 3 {
		t.Error(look.At(0), look.At(2))
	}
	_ = look.Close()
	_ = view.Close()
}

func TestCloseFromManyGoroutines(t *testing.T) {
	for range 50 {
		p := ctest.Float32([]float32{1, 2}, 2)
		tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if share, err := tensor.Share(); err == nil {
					_ = share.Validate(nil)
					_ = share.Close()
				}
				_ = tensor.Validate(nil)
				_ = tensor.Close()
			})
		}
		group.Wait()
		if p.Deletes() != 1 {
			t.Fatalf("the deleter ran %d times", p.Deletes())
		}
		p.Free()
	}
}

func TestConsumeWhileInUse(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	look := must(dlbridge.Read[float32](tensor))(t)
	_, err := tensor.Downgrade(nil)
	isError(t, err, dlbridge.ErrInUse)
	_ = tensor.Close()
	if look.At(1, 2) != 5 {
		t.Error("closing the tensor released memory that was read")
	}
	_ = look.Close()
}

func TestReleaseOnAnotherThread(t *testing.T) {
	p := producer(t)
	tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	pointer := must(tensor.Detach())(t)
	ctest.ReleaseOnThread(pointer, ctest.Versioned)
	_ = tensor.Close() // nothing is left to close
}

// collect runs the garbage collector until it has closed something.
func collect(t *testing.T, closed func() bool) {
	t.Helper()
	for range 200 {
		runtime.GC()
		if closed() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("an unreachable tensor was never closed")
}

// collectOnce runs the garbage collector until it has collected another object: one whole cycle.
func collectOnce(t *testing.T) {
	t.Helper()
	cleaned := make(chan struct{})
	func() {
		sentinel := new([4]uint64)
		runtime.AddCleanup(sentinel, func(done chan struct{}) { close(done) }, cleaned)
	}()
	collect(t, func() bool {
		select {
		case <-cleaned:
			return true
		default:
			return false
		}
	})
	runtime.GC()
}

func TestAutoClose(t *testing.T) {
	p := producer(t)
	func() {
		tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
		if err := errors.Join(tensor.AutoClose(), tensor.AutoClose()); err != nil {
			t.Error(err)
		}
	}()
	collect(t, func() bool { return p.Deletes() == 1 })
}

func TestAutoCloseAfterClose(t *testing.T) {
	p := producer(t)
	func() {
		tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
		_ = tensor.AutoClose()
		_ = tensor.Close()
	}()
	collectOnce(t)
}

func TestAutoCloseKeepsWhatIsRead(t *testing.T) {
	p := producer(t)
	look := func() *dlbridge.Elements[float32] {
		tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
		_ = tensor.AutoClose()
		return must(dlbridge.Read[float32](tensor))(t)
	}()
	collectOnce(t)
	if p.Deletes() != 0 || look.At(1, 1) != 4 {
		t.Error("closed while it was read")
	}
	_ = look.Close()
	collect(t, func() bool { return p.Deletes() == 1 })
}

// The collector does not close a consumed tensor.
func TestAutoCloseOfAConsumedTensor(t *testing.T) {
	p := producer(t)
	tensor := func() *dlbridge.Tensor {
		legacy := dlbridge.TakeLegacy(p.Legacy())
		_ = legacy.AutoClose()
		return must(legacy.Upgrade(nil))(t)
	}()
	collectOnce(t)
	if p.Deletes() != 0 {
		t.Error("the collector closed a consumed tensor")
	}
	_ = tensor.Close()
}

func TestNoDeleterAndNoTensor(t *testing.T) {
	p := ctest.New(ctest.Spec{Data: 4096, DeviceType: 1, NDim: 0, Code: 2, Bits: 32, Lanes: 1})
	defer p.Free()
	tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	_ = tensor.Close()
	none := dlbridge.TakeLegacy(nil)
	_, err := none.Upgrade(nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	isError(t, none.Validate(nil), dlbridge.StatusInvalidArgument)
	_ = none.Close()
}

func TestForeignOfAnotherMajor(t *testing.T) {
	p := ctest.New(ctest.Spec{Major: 2, Deleter: true})
	defer p.Free()
	foreign := dlbridge.TakeVersioned(p.Versioned())
	isError(t, foreign.Validate(nil), dlbridge.StatusVersion, dlbridge.RuleVersionMajor)
	_, err := foreign.Import(nil)
	isError(t, err, dlbridge.StatusVersion)
	_, err = foreign.Accept(nil)
	isError(t, err, dlbridge.StatusVersion)
	_, err = foreign.Layout()
	isError(t, err, dlbridge.StatusVersion)
	_ = foreign.Close()
	if p.Deletes() != 1 {
		t.Error(p.Deletes())
	}
}

func TestAcceptedIsForeign(t *testing.T) {
	tensor := must(dlbridge.TakeVersioned(producer(t).Versioned()).Accept(nil))(t)
	_, err := tensor.Share()
	isError(t, err, dlbridge.StatusForeignTensor)
	owned := must(tensor.Import(nil))(t)
	share := must(owned.Share())(t)
	_ = owned.Close()
	_ = share.Close()
}

// After a call that failed, the collector still closes the tensor.
func TestAutoCloseAfterAnError(t *testing.T) {
	p := producer(t)
	func() {
		legacy := dlbridge.TakeLegacy(p.Legacy())
		_ = legacy.AutoClose()
		_, err := legacy.Upgrade(&dlbridge.ConvertOptions{Policy: &dlbridge.Policy{
			DTypes: []dlbridge.DType{dlbridge.DTypeOf[int8]()}}})
		isError(t, err, dlbridge.RuleDTypeRejected)
	}()
	collect(t, func() bool { return p.Deletes() == 1 })
}
