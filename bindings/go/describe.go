// SPDX-License-Identifier: Apache-2.0
// Validating and describing any tensor.

package dlbridge

/*
#cgo noescape godl_validate
#cgo nocallback godl_validate
#cgo noescape godl_layout
#cgo nocallback godl_layout
#cgo noescape godl_tensor_format
#cgo nocallback godl_tensor_format
#cgo noescape godl_required_version
#cgo nocallback godl_required_version
#include "bridge.h"
*/
import "C"

import "unsafe"

// described is a tensor that is live for the call.
type described struct {
	pointer unsafe.Pointer
	kind    Kind
	flags   TensorFlags
}

func (d described) number() C.uintptr_t {
	return C.uintptr_t(uintptr(d.pointer))
}

func (d described) validate(policy *Policy) error {
	if policy == nil {
		return check(C.godl_check(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags)))
	}
	if err := policy.valid(); err != nil {
		return err
	}
	if policy.Level == LevelDevice {
		return d.validateDevice(policy)
	}
	given := policy.c()
	return check(C.godl_validate(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), &given,
		policy.lists()))
}

// validateDevice is for policies that ask drivers, which may run Go callbacks.
func (d described) validateDevice(policy *Policy) error {
	given := policy.c()
	return check(C.godl_validate_device(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), &given,
		policy.lists()))
}

// Finding is a broken rule of a tensor, or a note about it.
type Finding struct {
	Rule     Rule
	Axis     int // Axis concerned, or -1.
	Severity Severity
	Status   Status // The status that validation would return for it; StatusOK for a note.
	Expected string // Such as "at least 0".
	Found    string // Such as "-3".
}

func (d described) diagnose(policy *Policy) ([]Finding, error) {
	if err := policy.valid(); err != nil {
		return nil, err
	}
	given := policy.c()
	entries := make([]C.DLBridgeFinding, 8)
	for {
		result := C.godl_diagnose(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), &given,
			policy.lists(), &entries[0], C.size_t(len(entries)))
		if result.status != C.DLBRIDGE_OK {
			return nil, failure(result)
		}
		count := int(result.value)
		if count <= len(entries) {
			return findings(entries[:count]), nil
		}
		entries = make([]C.DLBridgeFinding, count)
	}
}

func findings(entries []C.DLBridgeFinding) []Finding {
	list := make([]Finding, 0, len(entries))
	for i := range entries {
		entry := &entries[i]
		list = append(list, Finding{
			Rule:     Rule(entry.rule),
			Axis:     int(entry.axis),
			Severity: Severity(entry.severity),
			Status:   Status(entry.status),
			Expected: C.GoString(&entry.expected[0]),
			Found:    C.GoString(&entry.found[0]),
		})
	}
	return list
}

// Layout is the layout of a tensor in memory. The strides of axes of extent 1 are ignored.
type Layout struct {
	Properties    LayoutProperties
	ItemBits      uint32 // Bits from one element to the next.
	SelfOverlap   Answer // Do two elements share memory?
	NDim          int
	ElementCount  int64
	PackedBytes   int64  // Bytes of the same elements laid out compactly.
	Begin, End    int64  // Bytes touched, relative to element (0,...,0); 0, 0 when empty.
	BroadcastAxes uint64 // Bit i: axis i is longer than 1 and has stride 0.
	NegativeAxes  uint64 // Bit i: axis i is longer than 1 and has a negative stride.
	Alignment     uint64 // Largest power of two that divides the address of element (0,...,0).
}

func (d described) layout() (Layout, error) {
	var out C.DLBridgeLayout
	result := C.godl_layout(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), &out)
	if result.status != C.DLBRIDGE_OK {
		return Layout{}, failure(result)
	}
	return Layout{
		Properties:    LayoutProperties(out.properties),
		ItemBits:      uint32(out.item_bits),
		SelfOverlap:   Answer(out.self_overlap),
		NDim:          int(out.ndim),
		ElementCount:  int64(out.element_count),
		PackedBytes:   int64(out.packed_bytes),
		Begin:         int64(out.begin),
		End:           int64(out.end),
		BroadcastAxes: uint64(out.broadcast_axes),
		NegativeAxes:  uint64(out.negative_axes),
		Alignment:     uint64(out.alignment),
	}, nil
}

func (d described) format(buffer []byte) (int, error) {
	result := C.godl_tensor_format(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags),
		start(buffer), C.size_t(len(buffer)))
	return int(result.value), check(result)
}

func (d described) requiredVersion() (Version, error) {
	var out C.DLPackVersion
	result := C.godl_required_version(d.number(), C.DLBridgeKind(d.kind), C.uint64_t(d.flags), &out)
	if result.status != C.DLBRIDGE_OK {
		return Version{}, failure(result)
	}
	return versionOf(out), nil
}

// Borrowed is a DLTensor of another owner. It is not validated and must stay live while this value is
// used.
type Borrowed struct {
	described
}

// Borrow is the DLTensor at pointer, whose DLPack flags the caller knows (0 if not). The struct and its
// arrays must be C's memory, or pinned.
func Borrow(pointer unsafe.Pointer, flags TensorFlags) Borrowed {
	return Borrowed{described{pointer, KindBorrowed, flags}}
}

// Validate checks the tensor against policy (nil: the default) and stops at the first broken rule.
func (b Borrowed) Validate(policy *Policy) error { return b.validate(policy) }

// Diagnose reports every finding on the tensor.
func (b Borrowed) Diagnose(policy *Policy) ([]Finding, error) { return b.diagnose(policy) }

// Layout is the tensor's layout in memory; it rejects a tensor that has none.
func (b Borrowed) Layout() (Layout, error) { return b.layout() }

// RequiredVersion is the oldest DLPack that can describe the tensor.
func (b Borrowed) RequiredVersion() (Version, error) { return b.requiredVersion() }

// String is one line for logs; it works on broken tensors too.
func (b Borrowed) String() string { return text(b.format) }

// described is the tensor of an owner; call it between use and done.
func (o *owner) described() described {
	return described{pointer: o.pointer(), kind: o.kind}
}

// Validate checks the tensor against policy (nil: the default) and stops at the first broken rule.
// The tensor is only read.
func (o *owner) Validate(policy *Policy) error {
	if err := o.use(); err != nil {
		return err
	}
	err := o.described().validate(policy)
	o.done()
	return err
}

// Diagnose reports every finding on the tensor. A finding that makes the rest
// unreadable is the last. Only an invalid policy is an error.
func (o *owner) Diagnose(policy *Policy) ([]Finding, error) {
	if err := o.use(); err != nil {
		return nil, err
	}
	defer o.done()
	return o.described().diagnose(policy)
}

// Layout is the tensor's layout in memory; it rejects a tensor that has none.
func (o *owner) Layout() (Layout, error) {
	if err := o.use(); err != nil {
		return Layout{}, err
	}
	defer o.done()
	return o.described().layout()
}

// RequiredVersion is the oldest DLPack that can describe the tensor.
func (o *owner) RequiredVersion() (Version, error) {
	if err := o.use(); err != nil {
		return Version{}, err
	}
	defer o.done()
	return o.described().requiredVersion()
}

// String is one line for logs; it works on broken tensors too. After Close it is the text of
// [ErrClosed].
func (o *owner) String() string {
	if err := o.use(); err != nil {
		return err.Error()
	}
	defer o.done()
	return text(o.described().format)
}
