// SPDX-License-Identifier: Apache-2.0
// Batches and storage.

package dlbridge_test

import (
	"errors"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

func batch(t *testing.T, count int) ([]*ctest.Producer, []*dlbridge.Legacy) {
	var producers []*ctest.Producer
	var pointers []unsafe.Pointer
	for range count {
		p := producer(t)
		producers = append(producers, p)
		pointers = append(pointers, p.Legacy())
	}
	return producers, dlbridge.ImportLegacyMany(pointers)
}

func TestUpgradeMany(t *testing.T) {
	for _, count := range []int{0, 1, 64, 65, 200} {
		_, sources := batch(t, count)
		tensors := must(dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{
			Flags: dlbridge.ConvertWritable}))(t)
		if len(tensors) != count {
			t.Fatal(len(tensors))
		}
		for _, tensor := range tensors {
			if err := tensor.Validate(&dlbridge.Policy{Flags: dlbridge.PolicyRequireWritable}); err != nil {
				t.Error(err)
			}
		}
		_ = dlbridge.CloseMany(tensors...)
		_ = dlbridge.CloseMany(tensors...)
		for _, source := range sources {
			_ = source.Close()
		}
	}
}

func TestUpgradeManyRefusesAll(t *testing.T) {
	producers, sources := batch(t, 3)
	producers[1].SetNDim(-1)
	_, err := dlbridge.UpgradeMany(sources, nil)
	isError(t, err, dlbridge.StatusInvalidTensor, dlbridge.RuleNDimNegative)
	var refusal *dlbridge.BatchError
	if !errors.As(err, &refusal) || refusal.Index != 1 || refusal.Error() == "" {
		t.Error(err)
	}
	producers[1].SetNDim(2)
	_, err = dlbridge.UpgradeMany([]*dlbridge.Legacy{sources[0], sources[0]}, nil)
	isError(t, err, dlbridge.ErrClosed)
	_, err = dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{Flags: dlbridge.ConvertCopy})
	isError(t, err, dlbridge.StatusInvalidArgument)
	allocator := must(dlbridge.NewAllocator(
		func(dlbridge.Device, uint64, uint64) uintptr { return 0 },
		func(dlbridge.Device, uintptr, uint64, uint64) {}))(t)
	_, err = dlbridge.UpgradeMany(sources, &dlbridge.ConvertOptions{Allocator: allocator})
	isError(t, err, dlbridge.StatusInvalidArgument)
	tensors := must(dlbridge.UpgradeMany(sources, nil))(t)
	look := must(dlbridge.Read[float32](tensors[2]))(t)
	_ = dlbridge.CloseMany(tensors...)
	if producers[0].Deletes() != 1 || producers[2].Deletes() != 0 || look.At(0, 1) != 1 {
		t.Error("what is read was released, or what is not was not")
	}
	_ = look.Close()
}

func TestCloseOfABatchByTheCollector(t *testing.T) {
	producers, sources := batch(t, 2)
	func() {
		for _, tensor := range must(dlbridge.UpgradeMany(sources, nil))(t) {
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
		tensor := must(dlbridge.ImportLegacy(producer(t).Legacy()).UpgradeInto(storage, nil))(t)
		if !storage.InUse() {
			t.Error("not in use")
		}
		second := dlbridge.ImportLegacy(producer(t).Legacy())
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
	third := dlbridge.ImportLegacy(producer(t).Legacy())
	_, err := third.UpgradeInto(storage, nil)
	isError(t, err, dlbridge.ErrClosed)
	_ = third.Close()
	if storage.InUse() {
		t.Error("a closed storage is in use")
	}
}

func TestStorageClosedBeforeItsTensor(t *testing.T) {
	storage := must(dlbridge.NewStorage(dlbridge.StorageSize(2)))(t)
	tensor := must(dlbridge.ImportLegacy(producer(t).Legacy()).UpgradeInto(storage, nil))(t)
	_ = storage.Close()
	if err := tensor.Validate(nil); err != nil {
		t.Error(err)
	}
	_ = tensor.Close()
}

func TestStorageTooSmall(t *testing.T) {
	storage := must(dlbridge.NewStorage(8))(t)
	defer storage.Close()
	legacy := dlbridge.ImportLegacy(producer(t).Legacy())
	_, err := legacy.UpgradeInto(storage, &dlbridge.ConvertOptions{})
	isError(t, err, dlbridge.StatusBufferTooSmall)
	if storage.InUse() {
		t.Error("in use after a refusal")
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
