// SPDX-License-Identifier: Apache-2.0

package fuzz_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	dlbridge "dlbridge/bindings/go"
)

// storage is what the memory of a tensor must hold.
type storage struct {
	bytes     []uint8
	shareable bool
}

// owned is a tensor of the program and its model.
type owned struct {
	tensor   *dlbridge.Tensor
	memory   *storage
	first    int   // position of element (0,...,0) in the memory
	places   []int // positions of the elements, last axis fastest
	imported bool
	readOnly bool
	closed   bool
}

// program makes the calls that its bytes choose.
type program struct {
	t       *testing.T
	rest    []byte
	tensors []*owned
}

// below takes a number from 0 to count-1; 0 after the end.
func (p *program) below(count int) int {
	if len(p.rest) == 0 {
		return 0
	}
	value := int(p.rest[0]) % count
	p.rest = p.rest[1:]
	return value
}

func (p *program) add(o owned) { p.tensors = append(p.tensors, &o) }

// rows lists the positions of a compact tensor.
func rows(count int) []int {
	places := make([]int, count)
	for i := range places {
		places[i] = i
	}
	return places
}

// expect checks an error: each closed tensor rejects every use, and nothing else fails but by `status`.
func (p *program) expect(o *owned, err error, status dlbridge.Status) bool {
	p.t.Helper()
	switch {
	case o.closed:
		if !errors.Is(err, dlbridge.ErrClosed) {
			p.t.Errorf("a closed tensor: %v", err)
		}
		return false
	case status != dlbridge.StatusOK:
		rejected(p.t, err)
		if !errors.Is(err, status) {
			p.t.Errorf("expected %v, found %v", status, err)
		}
		return false
	case err != nil:
		p.t.Error(err)
		return false
	}
	return true
}

func (p *program) allocate() {
	shape := make([]int64, p.below(4))
	count := 1
	for i := range shape {
		shape[i] = int64(p.below(5))
		count *= int(shape[i])
	}
	spec := dlbridge.AllocateSpec{Shape: shape, DType: dlbridge.DTypeOf[uint8]()}
	shareable := p.below(2) == 1
	if shareable {
		spec.Options = dlbridge.AllocateShareable
	}
	tensor, err := dlbridge.Allocate(spec)
	if err != nil {
		p.t.Error(err)
		return
	}
	elements, err := dlbridge.Write[uint8](tensor)
	if err != nil {
		p.t.Error(err)
		return
	}
	values := make([]uint8, count)
	for i := range values {
		values[i] = uint8(37*i + len(p.rest))
		elements.SetIndex(i, values[i])
	}
	_ = elements.Close()
	p.add(owned{tensor: tensor, memory: &storage{values, shareable}, places: rows(count)})
}

// gather lists the elements of a tensor.
func (o *owned) gather() []uint8 {
	values := make([]uint8, 0, len(o.places))
	for _, place := range o.places {
		values = append(values, o.memory.bytes[place])
	}
	return values
}

func (p *program) copyOf(o *owned, async bool) {
	spec := dlbridge.CopySpec{}
	shareable := p.below(2) == 1
	if shareable {
		spec.Options = dlbridge.CopyShareable
	}
	call := o.tensor.Copy
	if async {
		spec.Stream = dlbridge.Stream{Kind: dlbridge.StreamHost}
		call = o.tensor.CopyAsync
	}
	tensor, err := call(spec)
	if p.expect(o, err, dlbridge.StatusOK) {
		p.add(owned{tensor: tensor, memory: &storage{o.gather(), shareable}, places: rows(len(o.places))})
	}
}

func (p *program) share(o *owned) {
	tensor, err := o.tensor.Share()
	if p.expect(o, err, dlbridge.StatusOK) {
		again := *o
		again.tensor = tensor
		p.add(again)
	}
}

// view makes a view of one axis. It may not leave the range of its parent's elements.
func (p *program) view(o *owned) {
	count, stride, offset := p.below(6), p.below(9)-4, p.below(12)-3
	part := owned{memory: o.memory, first: o.first + offset, imported: o.imported, readOnly: o.readOnly}
	for i := range count {
		part.places = append(part.places, part.first+i*stride)
	}
	status := dlbridge.StatusOK
	if count != 0 && (len(o.places) == 0 || slices.Min(part.places) < slices.Min(o.places) ||
		slices.Max(part.places) > slices.Max(o.places)) {
		status = dlbridge.StatusBounds
	}
	var err error
	part.tensor, err = o.tensor.View(dlbridge.ViewSpec{Shape: []int64{int64(count)},
		Strides: []int64{int64(stride)}, Offset: int64(offset)})
	if p.expect(o, err, status) {
		p.add(part)
	}
}

// overlaps reports whether two elements share memory.
func (o *owned) overlaps() bool {
	places := slices.Clone(o.places)
	slices.Sort(places)
	return len(slices.Compact(places)) != len(o.places)
}

func (p *program) write(o *owned) {
	status := dlbridge.StatusOK
	if o.readOnly || o.overlaps() {
		status = dlbridge.StatusPolicy
	}
	elements, err := dlbridge.Write[uint8](o.tensor)
	if !p.expect(o, err, status) {
		return
	}
	if len(o.places) != 0 {
		at, value := p.below(len(o.places)), uint8(p.below(256))
		elements.SetIndex(at, value)
		o.memory.bytes[o.places[at]] = value
	}
	// The tensor cannot be consumed meanwhile.
	if err := o.tensor.ReleaseAfter(dlbridge.Stream{Kind: dlbridge.StreamHost}); !errors.Is(err, dlbridge.ErrInUse) {
		p.t.Errorf("a tensor in use: %v", err)
	}
	_ = elements.Close()
}

func (p *program) read(o *owned) {
	elements, err := dlbridge.Read[uint8](o.tensor)
	if !p.expect(o, err, dlbridge.StatusOK) {
		return
	}
	values := make([]uint8, elements.Len())
	elements.CopyTo(values)
	if !slices.Equal(values, o.gather()) {
		p.t.Errorf("expected %v, found %v", o.gather(), values)
	}
	_ = elements.Close()
}

func (p *program) releaseAfter(o *owned) {
	host := dlbridge.Stream{Kind: dlbridge.StreamHost}
	if p.expect(o, o.tensor.ReleaseAfter(host, host), dlbridge.StatusOK) {
		o.closed = true
	}
	if left, err := dlbridge.Collect(dlbridge.CollectWait); left != 0 || err != nil {
		p.t.Errorf("%d tensors are held: %v", left, err)
	}
}

// roundTrip downgrades a tensor and upgrades the result, which is the same tensor.
func (p *program) roundTrip(o *owned) {
	status := dlbridge.StatusOK
	if o.readOnly {
		status = dlbridge.StatusUnrepresentable
	}
	legacy, err := o.tensor.Downgrade(nil)
	if !p.expect(o, err, status) {
		return
	}
	o.closed = true
	tensor, err := legacy.Upgrade(nil)
	if err != nil {
		p.t.Error(err)
		_ = legacy.Close()
		return
	}
	again := *o
	again.tensor, again.closed = tensor, false
	p.add(again)
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// exportImport imports an own export: shared memory. One altered byte must be found.
func (p *program) exportImport(o *owned) {
	status := dlbridge.StatusOK
	if len(o.places) != 0 && (!o.memory.shareable || o.imported) {
		status = dlbridge.StatusUnsupported
	}
	options := dlbridge.IPCOptions(0)
	if p.below(3) == 2 {
		options = dlbridge.IPCReadOnly
	}
	descriptor, files, err := o.tensor.ExportIPC(options)
	if !p.expect(o, err, status) {
		return
	}
	defer closeAll(files)
	altered := slices.Clone(descriptor)
	altered[p.below(len(altered))] ^= 1 << p.below(8)
	if _, err := dlbridge.ImportIPC(altered, files, 0, nil); !errors.Is(err, dlbridge.StatusDescriptor) {
		p.t.Errorf("an altered descriptor: %v", err)
	}
	tensor, err := dlbridge.ImportIPC(descriptor, files, 0, nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	again := *o
	again.tensor, again.imported = tensor, true
	again.readOnly = o.readOnly || options != 0
	p.add(again)
}

func (p *program) step() {
	choice := p.below(16)
	if choice < 3 || len(p.tensors) == 0 {
		p.allocate()
		return
	}
	o := p.tensors[p.below(len(p.tensors))]
	switch choice {
	case 3:
		p.copyOf(o, false)
	case 4:
		p.copyOf(o, true)
	case 5:
		p.share(o)
	case 6, 7:
		p.view(o)
	case 8, 9:
		p.write(o)
	case 10:
		_ = o.tensor.Close()
		o.closed = true
	case 11:
		p.releaseAfter(o)
	case 12:
		p.roundTrip(o)
	case 13:
		p.exportImport(o)
	default:
		p.read(o)
	}
}

// FuzzProgram makes a series of calls, and compares the elements of all tensors with a model of the
// memory that they share.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{0, 1, 4, 1, 14, 0, 6, 0, 3, 3, 4, 8, 1, 1, 77, 14, 0, 14, 1})
	f.Add([]byte{0, 2, 3, 4, 1, 13, 0, 0, 50, 3, 8, 1, 2, 9, 14, 0, 13, 1, 2, 8, 0, 10, 0, 14, 1})
	f.Add([]byte{0, 1, 4, 0, 3, 0, 1, 4, 0, 0, 12, 0, 5, 1, 11, 1, 14, 2, 10, 2, 3, 2, 9, 2, 6, 2})
	f.Add([]byte{1, 0, 1, 13, 0, 2, 9, 9, 8, 1, 12, 1, 7, 1, 5, 4, 0, 9, 2, 14, 2, 11, 2, 12, 2, 13, 2})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		p := program{t: t, rest: bytes}
		for range 40 {
			if len(p.rest) == 0 || t.Failed() {
				break
			}
			p.step()
		}
		for _, o := range p.tensors {
			p.read(o)
			_ = o.tensor.Close()
		}
	})
}
