// SPDX-License-Identifier: Apache-2.0
// Batches and storage.

package dlbridge_test

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

func batch(t *testing.T, count int) ([]*ctest.Producer, []*dlbridge.Legacy) {
	var producers []*ctest.Producer
	var sources []*dlbridge.Legacy
	for range count {
		p := producer(t)
		producers = append(producers, p)
		sources = append(sources, dlbridge.TakeLegacy(p.Legacy()))
	}
	return producers, sources
}

func TestUpgradeMany(t *testing.T) {
	for _, count := range []int{0, 1, 64, 65, 200} {
		_, sources := batch(t, count)
		tensors := must(dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{
			Options: dlbridge.ConvertVouchWritable}))(t)
		if tensors.Len() != count {
			t.Fatal(tensors.Len())
		}
		for _, tensor := range tensors.All() {
			if err := tensor.Validate(&dlbridge.Policy{Options: dlbridge.PolicyRequireWritable}); err != nil {
				t.Error(err)
			}
		}
		for range tensors.All() {
			break
		}
		_, _ = tensors.Close(), tensors.Close()
		for _, source := range sources {
			_ = source.Close()
		}
	}
}

func TestImportMany(t *testing.T) {
	var pointers []unsafe.Pointer
	var producers []*ctest.Producer
	for range 70 {
		p := producer(t)
		producers, pointers = append(producers, p), append(pointers, p.Legacy())
	}
	producers[69].SetNDim(-1)
	_, err := dlbridge.ImportMany(pointers, nil)
	isError(t, err, dlbridge.RuleNDimNegative)
	producers[69].SetNDim(2)
	_, err = dlbridge.ImportMany([]unsafe.Pointer{pointers[0], pointers[1], pointers[0]}, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	var failure *dlbridge.BatchError
	if !errors.As(err, &failure) || failure.Index != 2 {
		t.Error(err)
	}
	tensors := must(dlbridge.ImportMany(pointers, nil))(t)
	_ = tensors.At(1).Close() // apart from the others
	legacy := must(tensors.At(2).Downgrade(&dlbridge.ConvertOptions{Options: dlbridge.ConvertDropReadOnly}))(t)
	_ = tensors.Close()
	if producers[1].Deletes() != 1 || producers[2].Deletes() != 0 || producers[3].Deletes() != 1 {
		t.Error("released a tensor that the batch no longer owned")
	}
	_ = legacy.Close()
	if empty := must(dlbridge.ImportMany(nil, nil))(t); empty.Len() != 0 || empty.Close() != nil {
		t.Error("an empty batch")
	}
}

// A deleter that is called while a batch is released may use and close the rest of it.
func TestDeleterThatClosesItsBatch(t *testing.T) {
	var tensors *dlbridge.Batch
	released := 0
	var sources []*dlbridge.Legacy
	for range 3 {
		sources = append(sources, must(dlbridge.FromSliceLegacy([]int32{1}, dlbridge.LendSpec{
			Release: func() {
				released++
				_ = tensors.Close()
				if err := tensors.At(2).Validate(nil); !errors.Is(err, dlbridge.ErrClosed) {
					t.Error(err)
				}
			}}))(t))
	}
	tensors = must(dlbridge.UpgradeMany(sources, nil))(t)
	_ = tensors.Close()
	if released != 3 {
		t.Errorf("released %d times", released)
	}
}

func TestUpgradeManyRejectsAll(t *testing.T) {
	producers, sources := batch(t, 3)
	producers[1].SetNDim(-1)
	_, err := dlbridge.UpgradeMany(sources, nil)
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleNDimNegative)
	var failure *dlbridge.BatchError
	if !errors.As(err, &failure) || failure.Index != 1 || failure.Error() == "" {
		t.Error(err)
	}
	producers[1].SetNDim(2)
	_, err = dlbridge.UpgradeMany([]*dlbridge.Legacy{sources[0], sources[0]}, nil)
	isError(t, err, dlbridge.ErrClosed)
	_, err = dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{Options: dlbridge.ConvertCopy})
	isError(t, err, dlbridge.StatusInvalidArgument)
	allocator := must(dlbridge.NewAllocator(
		func(dlbridge.Device, uint64, uint64, dlbridge.Stream) unsafe.Pointer { return nil },
		func(dlbridge.Device, unsafe.Pointer, uint64, uint64, dlbridge.Stream) {}))(t)
	_, err = dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{Allocator: allocator})
	isError(t, err, dlbridge.StatusInvalidArgument)
	tensors := must(dlbridge.UpgradeMany(sources, nil))(t)
	look := must(dlbridge.Read[float32](tensors.At(2)))(t)
	_ = tensors.Close()
	if producers[0].Deletes() != 1 || producers[2].Deletes() != 0 || look.At(0, 1) != 1 {
		t.Error("released a tensor in use, or kept one that is not")
	}
	_ = look.Close()
}

func TestCloseOfABatchByTheCollector(t *testing.T) {
	producers, sources := batch(t, 2)
	func() {
		for _, tensor := range must(dlbridge.UpgradeMany(sources, nil))(t).All() {
			_ = tensor.AutoClose()
		}
	}()
	sources = nil
	_ = sources
	collect(t, func() bool { return producers[0].Deletes() == 1 && producers[1].Deletes() == 1 })
}

func TestStorage(t *testing.T) {
	storage := must(dlbridge.NewStorage(dlbridge.StorageSize(2)))(t)
	for range 2 {
		tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).UpgradeInto(storage, nil))(t)
		if !storage.InUse() {
			t.Error("not in use")
		}
		second := dlbridge.TakeLegacy(producer(t).Legacy())
		_, err := second.UpgradeInto(storage, nil)
		isError(t, err, dlbridge.ErrInUse)
		_ = second.Close()
		_, err = tensor.Share()
		isError(t, err, dlbridge.StatusUnsupported, dlbridge.RuleInStorage)
		ctest.ReleaseOnThread(must(tensor.Detach())(t), ctest.Versioned)
		if storage.InUse() {
			t.Error("in use")
		}
	}
	_, _ = storage.Close(), storage.Close()
	third := dlbridge.TakeLegacy(producer(t).Legacy())
	_, err := third.UpgradeInto(storage, nil)
	isError(t, err, dlbridge.ErrClosed)
	_ = third.Close()
	if storage.InUse() {
		t.Error("a closed storage is in use")
	}
}

func TestStorageClosedBeforeItsTensor(t *testing.T) {
	storage := must(dlbridge.NewStorage(dlbridge.StorageSize(2)))(t)
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).UpgradeInto(storage, nil))(t)
	_ = storage.Close()
	if err := tensor.Validate(nil); err != nil {
		t.Error(err)
	}
	_ = tensor.Close()
}

func TestStorageTooSmall(t *testing.T) {
	storage := must(dlbridge.NewStorage(8))(t)
	defer storage.Close()
	legacy := dlbridge.TakeLegacy(producer(t).Legacy())
	_, err := legacy.UpgradeInto(storage, &dlbridge.ConvertOptions{})
	isError(t, err, dlbridge.StatusBufferTooSmall)
	if storage.InUse() {
		t.Error("in use after an error")
	}
	_ = legacy.Close()
	_, err = dlbridge.NewStorage(-1)
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.NewStorage(1 << 62)
	isError(t, err, dlbridge.StatusOutOfMemory)
	if dlbridge.StorageSize(-1) != 0 {
		t.Error("a negative number of axes needs storage")
	}
}

// Large enough for each goroutine to close a part, so that all of them release at the same time.
func TestCloseOfABatchFromManyGoroutines(t *testing.T) {
	const size, rounds = 4096, 20
	producers := make([]*ctest.Producer, size)
	pointers := make([]unsafe.Pointer, size)
	for i := range producers {
		producers[i] = ctest.Float32([]float32{1}, 1)
		pointers[i] = producers[i].Legacy()
	}
	for round := range rounds {
		tensors := must(dlbridge.ImportMany(pointers, nil))(t)
		begin := make(chan struct{})
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				<-begin
				_ = tensors.Close()
			})
		}
		close(begin)
		group.Wait()
		for _, p := range producers {
			if p.Deletes() != round+1 {
				t.Fatalf("the deleter ran %d times in %d rounds", p.Deletes(), round+1)
			}
		}
	}
	for _, p := range producers {
		p.Free()
	}
}

func TestUpgradeManyOfNilOrTheSameTwice(t *testing.T) {
	_, sources := batch(t, 2)
	_, err := dlbridge.UpgradeMany([]*dlbridge.Legacy{sources[0], nil}, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.UpgradeMany([]*dlbridge.Legacy{sources[0], sources[1], sources[0]}, nil)
	var failure *dlbridge.BatchError
	if !errors.As(err, &failure) || failure.Index != 2 {
		t.Error(err)
	}
	_ = must(dlbridge.UpgradeMany(sources, nil))(t).Close()
}

// A deleter that runs within an upgrade into storage may query the storage.
func TestStorageWhileItsUpgradeReleases(t *testing.T) {
	storage := must(dlbridge.NewStorage(8))(t)
	defer storage.Close()
	legacy := must(dlbridge.FromSliceLegacy([]int32{1}, dlbridge.LendSpec{
		Release: func() { _ = storage.InUse() }}))(t)
	_, err := legacy.UpgradeInto(storage, nil)
	isError(t, err, dlbridge.StatusBufferTooSmall)
	_ = legacy.Close()
}

func TestBatchThatAsksDrivers(t *testing.T) {
	_, sources := batch(t, 2)
	options := &dlbridge.ConvertOptions{Policy: &dlbridge.Policy{Level: dlbridge.LevelDevice}}
	if err := sources[0].Validate(options.Policy); err != nil {
		t.Error(err)
	}
	tensors := must(dlbridge.UpgradeMany(sources, options))(t)
	if err := tensors.At(1).Validate(nil); err != nil {
		t.Error(err)
	}
	_ = tensors.Close()
}
