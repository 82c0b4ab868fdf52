// SPDX-License-Identifier: Apache-2.0
// Copies and releases on streams: those of the host, and what is rejected without a driver.

package dlbridge_test

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

var (
	hostStream   = dlbridge.Stream{Backend: dlbridge.BackendCPU, Kind: dlbridge.StreamHost, Device: dlbridge.CPU}
	noSyncStream = dlbridge.Stream{Backend: dlbridge.BackendCUDA, Kind: dlbridge.StreamNoSync}
)

func TestReleaseAfterTheHost(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	for _, owner := range []dlbridge.Managed{dlbridge.TakeLegacy(producer(t).Legacy()),
		dlbridge.TakeVersioned(producer(t).Versioned()), tensor} {
		if err := owner.ReleaseAfter(slices.Repeat([]dlbridge.Stream{hostStream}, 9)...); err != nil {
			t.Error(err)
		}
		isError(t, owner.ReleaseAfter(hostStream), dlbridge.ErrClosed)
		isError(t, owner.Validate(nil), dlbridge.ErrClosed)
		_ = owner.Close() // does nothing
	}
	_, err := tensor.CopyAsync(dlbridge.CopySpec{Stream: hostStream})
	isError(t, err, dlbridge.ErrClosed)
	for _, options := range []dlbridge.CollectOptions{0, dlbridge.CollectWait} {
		if left, err := dlbridge.Collect(options); left != 0 || err != nil {
			t.Error(left, err)
		}
	}
	_, err = dlbridge.Collect(1 << 20)
	isError(t, err, dlbridge.StatusTooNew)
}

// A rejected tensor is untouched, and its owner still closes it.
func TestReleaseAfterThatFails(t *testing.T) {
	p := producer(t)
	tensor := must(dlbridge.TakeLegacy(p.Legacy()).Upgrade(nil))(t)
	err := tensor.ReleaseAfter(hostStream, noSyncStream)
	isError(t, err, dlbridge.StatusInvalidArgument)
	if !strings.Contains(err.Error(), "streams[1]") {
		t.Error(err)
	}
	isError(t, tensor.ReleaseAfter(dlbridge.Stream{}), dlbridge.StatusInvalidArgument)
	if err := tensor.ReleaseAfter(); err == nil || !strings.Contains(err.Error(), "at least 1") {
		t.Error(err)
	}
	look := must(dlbridge.Read[float32](tensor))(t)
	isError(t, tensor.ReleaseAfter(hostStream), dlbridge.ErrInUse)
	if look.At(1, 2) != 5 || p.Deletes() != 0 {
		t.Error("a failed call released the tensor")
	}
	_ = look.Close()
	_ = tensor.Close()
}

// The collector closes a tensor after a failed release, and does not after a release that succeeded.
func TestReleaseAfterAndAutoClose(t *testing.T) {
	rejected, released := producer(t), producer(t)
	share := func() *dlbridge.Tensor {
		tensor := must(dlbridge.TakeLegacy(rejected.Legacy()).Upgrade(nil))(t)
		_ = tensor.AutoClose()
		isError(t, tensor.ReleaseAfter(noSyncStream), dlbridge.StatusInvalidArgument)
		other := must(dlbridge.TakeLegacy(released.Legacy()).Upgrade(nil))(t)
		_ = other.AutoClose()
		share := must(other.Share())(t)
		if err := other.ReleaseAfter(hostStream); err != nil {
			t.Error(err)
		}
		return share
	}()
	collect(t, func() bool { return rejected.Deletes() == 1 })
	collectOnce(t)
	if released.Deletes() != 0 {
		t.Error("the collector closed a tensor that the library has")
	}
	_ = share.Close()
}

func TestCopyAsyncOnTheHost(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	duplicate := must(tensor.CopyAsync(dlbridge.CopySpec{Stream: hostStream}))(t)
	_ = tensor.Close()
	look := must(dlbridge.Write[float32](duplicate))(t)
	if look.At(1, 2) != 5 {
		t.Error(look.At(1, 2))
	}
	_ = look.Close()
	_ = duplicate.Close()
}

func TestCopyAsyncToTheCallersMemory(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	defer tensor.Close()
	memory := ctest.Malloc(28)
	defer ctest.Free(memory)
	released := 0
	spec := dlbridge.CopySpec{Stream: hostStream, Target: dlbridge.AddressOf(memory), TargetOffset: 4,
		TargetSize: 28, Release: func(_ dlbridge.Buffer, stream dlbridge.Stream) {
			if stream == (dlbridge.Stream{}) {
				released++
			}
		}}
	_ = must(tensor.CopyAsync(spec))(t).Close()
	if released != 1 || unsafe.Slice((*float32)(memory), 7)[6] != 5 {
		t.Error(released)
	}
	spec.TargetSize = 8
	_, err := tensor.CopyAsync(spec)
	isError(t, err, dlbridge.StatusBufferTooSmall)
	if released != 1 {
		t.Error("a failed copy released its target")
	}
}

func TestCopyAsyncThatNoStreamOrders(t *testing.T) {
	tensor := must(dlbridge.TakeLegacy(producer(t).Legacy()).Upgrade(nil))(t)
	defer tensor.Close()
	queue := dlbridge.Stream{Backend: dlbridge.BackendCUDA, Kind: dlbridge.StreamQueue,
		Device: dlbridge.Device{Type: dlbridge.DeviceCUDA}, Handle: dlbridge.UnsafeHandle(4096)}
	for status, spec := range map[dlbridge.Status]dlbridge.CopySpec{
		dlbridge.StatusInvalidArgument: {},
		dlbridge.StatusUnsupported:     {Stream: queue},
	} {
		_, err := tensor.CopyAsync(spec)
		isError(t, err, status)
	}
	_, err := tensor.CopyAsync(dlbridge.CopySpec{Stream: hostStream, Options: dlbridge.CopyAllowStaging})
	isError(t, err, dlbridge.StatusInvalidArgument)
	accepted := must(dlbridge.TakeVersioned(producer(t).Versioned()).Accept(nil))(t)
	defer accepted.Close()
	_, err = accepted.CopyAsync(dlbridge.CopySpec{Stream: hostStream})
	isError(t, err, dlbridge.StatusForeignTensor)
}

func TestWrapReleaseOnStream(t *testing.T) {
	memory := ctest.Malloc(8)
	defer ctest.Free(memory)
	released := 0
	spec := dlbridge.WrapSpec{Options: dlbridge.WrapReleaseOnStream, Buffer: dlbridge.AddressOf(memory),
		Device: dlbridge.CPU, DType: dlbridge.DTypeOf[int64](),
		Release: func(_ dlbridge.Buffer, stream dlbridge.Stream) {
			if stream == (dlbridge.Stream{}) { // The host has no work.
				released++
			}
		}}
	if err := must(dlbridge.Wrap(spec))(t).ReleaseAfter(hostStream); err != nil || released != 1 {
		t.Error(err, released)
	}
	spec.Release = nil
	_, err := dlbridge.Wrap(spec)
	isError(t, err, dlbridge.StatusInvalidArgument)
}

func TestPeersWithoutADriver(t *testing.T) {
	memory := ctest.Malloc(8)
	defer ctest.Free(memory)
	info := must(dlbridge.QueryPointer(dlbridge.AddressOf(memory), dlbridge.CPU, dlbridge.PointerInfoPeers))(t)
	if info.Properties&dlbridge.PointerPeersKnown != 0 || info.AccessibleFrom(0) {
		t.Errorf("%+v", info)
	}
	info.Properties, info.Peers = dlbridge.PointerPeersKnown, 1<<63|2
	if !info.AccessibleFrom(1) || !info.AccessibleFrom(63) || info.AccessibleFrom(0) ||
		info.AccessibleFrom(-1) || info.AccessibleFrom(64) {
		t.Errorf("%+v", info)
	}
	_, err := dlbridge.QueryPointer(dlbridge.AddressOf(memory), dlbridge.CPU, 1<<20)
	isError(t, err, dlbridge.StatusTooNew)
}

func TestStreamsOfExports(t *testing.T) {
	tensor := must(dlbridge.Allocate(dlbridge.AllocateSpec{Shape: []int64{2}, DType: dlbridge.DTypeOf[int32](),
		Options: dlbridge.AllocateShareable}))(t)
	defer tensor.Close()
	descriptor, files, err := tensor.ExportIPCAfter(hostStream, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		defer file.Close()
	}
	_ = must(dlbridge.ImportIPCOn(hostStream, descriptor, files, 0, nil))(t).Close()
	// The calls read the streams that they are given.
	_, _, err = tensor.ExportIPCAfter(dlbridge.Stream{}, 0)
	isError(t, err, dlbridge.StatusInvalidArgument)
	_, err = dlbridge.ImportIPCOn(dlbridge.Stream{}, descriptor, files, 0, nil)
	isError(t, err, dlbridge.StatusInvalidArgument)
}
