// SPDX-License-Identifier: Apache-2.0
// The tensors of one case of the corpus: its own, and those that calls make of them.

package dlbridge_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// tensor has the functions that only read.
type tensor interface {
	Validate(*dlbridge.Policy) error
	Diagnose(*dlbridge.Policy) ([]dlbridge.Finding, error)
	Layout() (dlbridge.Layout, error)
	RequiredVersion() (dlbridge.Version, error)
	Copy(dlbridge.CopySpec) (*dlbridge.Tensor, error)
	String() string
}

// handle is the tensor of a name.
type handle struct {
	tensor
	pointer unsafe.Pointer
	kind    int32
}

type world struct {
	testing.TB
	specs      map[string]object
	producers  map[string]*ctest.Producer
	live       map[string]handle
	storages   []*dlbridge.Storage
	allocators []*dlbridge.Allocator
	memories   map[string]*memory
	taken      map[string]bool // Memories that a tensor owns now.
	entries    map[string]uint64
	ended      map[string]bool // Entries that were unregistered.
}

func newWorld(t testing.TB, objects map[string]object) *world {
	w := &world{TB: t, specs: objects, producers: map[string]*ctest.Producer{},
		live: map[string]handle{}, memories: map[string]*memory{},
		taken: map[string]bool{}, entries: map[string]uint64{}, ended: map[string]bool{}}
	for name, spec := range objects {
		p := ctest.New(specOf(spec))
		w.producers[name] = p
		switch spec["kind"] {
		case "MEMORY":
			w.memories[name] = &memory{address: ctest.Data(p.Borrowed(), ctest.Borrowed),
				deleter: spec["deleter"] == true}
		case "LEGACY":
			w.live[name] = handle{dlbridge.TakeLegacy(p.Legacy()), p.Legacy(), ctest.Legacy}
		case "VERSIONED":
			w.live[name] = handle{dlbridge.TakeVersioned(p.Versioned()), p.Versioned(), ctest.Versioned}
		default:
			flags := dlbridge.TensorFlags(unsigned(spec["flags"]))
			w.live[name] = handle{dlbridge.Borrow(p.Borrowed(), flags), p.Borrowed(), ctest.Borrowed}
		}
	}
	return w
}

func specOf(spec object) ctest.Spec {
	out := ctest.Spec{Data: unsigned(spec["data"])}
	if spec["kind"] != "MEMORY" {
		device, dtype := numbers(spec["device"]), numbers(spec["dtype"])
		out.DeviceType, out.DeviceID = int32(device[0]), int32(device[1])
		out.Code, out.Bits, out.Lanes = uint8(dtype[0]), uint8(dtype[1]), uint16(dtype[2])
		out.NDim = int32(signed(spec["ndim"]))
		out.Shape, out.Strides = numbers(spec["shape"]), numbers(spec["strides"])
		out.ByteOffset, out.Flags = unsigned(spec["byte_offset"]), unsigned(spec["flags"])
		out.Deleter = spec["deleter"] == true
	}
	if text, given := spec["bytes"].(string); given && text != "" {
		out.Bytes, _ = hex.DecodeString(text)
	}
	if spec["version"] != nil {
		version := versionFrom(spec["version"])
		out.Major, out.Minor = version.Major, version.Minor
	}
	return out
}

// take forgets the tensor of a name, which a call has consumed.
func (w *world) take(name string) { delete(w.live, name) }

func (w *world) putLegacy(name string, made *dlbridge.Legacy) {
	w.live[name] = handle{made, made.Pointer(), ctest.Legacy}
}

// put names a managed tensor that was not validated by this package.
func (w *world) put(name string, pointer unsafe.Pointer, kind int32) {
	if kind == ctest.Legacy {
		w.live[name] = handle{dlbridge.TakeLegacy(pointer), pointer, kind}
	} else {
		w.live[name] = handle{dlbridge.TakeVersioned(pointer), pointer, kind}
	}
}

func (w *world) putTensor(name string, made *dlbridge.Tensor) {
	w.live[name] = handle{made, made.Pointer(), ctest.Versioned}
}

// validated is the tensor of a name as a validated one, which is the same struct.
func (w *world) validated(name string) *dlbridge.Tensor {
	switch held := w.live[name].tensor.(type) {
	case *dlbridge.Tensor:
		return held
	case *dlbridge.Foreign:
		accepted, err := held.Accept(nil)
		if err != nil {
			w.Fatal(err)
		}
		w.putTensor(name, accepted)
		return accepted
	}
	w.Fatalf("%s is not versioned", name)
	return nil
}

func (w *world) release(name string) {
	if held, managed := w.live[name].tensor.(dlbridge.Managed); managed {
		_ = held.Close()
	}
	w.take(name)
}

// nameOf is the name of the case's own tensor or live result at a pointer, or "new".
func (w *world) nameOf(pointer unsafe.Pointer) string {
	for name, p := range w.producers {
		if slices.Contains([]unsafe.Pointer{p.Legacy(), p.Versioned(), p.Borrowed()}, pointer) {
			return name
		}
	}
	for name, held := range w.live {
		if held.pointer == pointer {
			return name
		}
	}
	return "new"
}

func (w *world) deletes() object {
	counts := object{}
	for name, p := range w.producers {
		counts[name] = w.deletesOf(name, p)
	}
	return counts
}

func (w *world) deletesOf(name string, p *ctest.Producer) int {
	if m := w.memories[name]; m != nil {
		return m.deletes
	}
	return p.Deletes()
}

// allocator counts its blocks, or fails.
func (w *world) allocator(how any) *dlbridge.Allocator {
	allocate := func(_ dlbridge.Device, size, alignment uint64, _ dlbridge.Stream) unsafe.Pointer {
		if how == "fails" {
			return nil
		}
		return ctest.AlignedAlloc(alignment, size)
	}
	made, err := dlbridge.NewAllocator(allocate,
		func(_ dlbridge.Device, memory unsafe.Pointer, _, _ uint64, _ dlbridge.Stream) {
			ctest.Free(memory)
		})
	if err != nil {
		w.Fatal(err)
	}
	w.allocators = append(w.allocators, made)
	return made
}

// finish releases everything that is left and returns the failures, or "".
func (w *world) finish() string {
	for name := range w.live {
		w.release(name)
	}
	w.finishDevices()
	var wrong string
	for name, p := range w.producers {
		expected := 0
		if w.specs[name]["deleter"] == true {
			expected = 1
		}
		if deletes := w.deletesOf(name, p); deletes != expected {
			wrong += fmt.Sprintf(" deleter of %s ran %d times\n", name, deletes)
		}
		p.Free()
	}
	for _, storage := range w.storages {
		if storage.InUse() {
			wrong += " a storage is in use\n"
		}
		_ = storage.Close()
	}
	for _, allocator := range w.allocators {
		if blocks := allocator.Blocks(); blocks != 0 {
			wrong += fmt.Sprintf(" blocks of the allocator: %d\n", blocks)
		}
		_ = allocator.Close()
	}
	return wrong
}

// ---------------------------------------------------------------------------- values of the corpus

func signed(value any) int64 {
	switch given := value.(type) {
	case string:
		number, err := strconv.ParseInt(given, 10, 64)
		if err != nil {
			panic(err)
		}
		return number
	case json.Number:
		number, err := given.Int64()
		if err != nil {
			panic(err)
		}
		return number
	}
	return 0
}

func unsigned(value any) uint64 {
	if given, is := value.(string); is {
		number, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			panic(err)
		}
		return number
	}
	return uint64(signed(value))
}

// numbers is nil for null.
func numbers(value any) []int64 {
	list, is := value.([]any)
	if !is {
		return nil
	}
	out := make([]int64, 0, len(list))
	for _, one := range list {
		out = append(out, signed(one))
	}
	return out
}

func texts(values []int64) []string {
	if values == nil {
		return nil
	}
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, strconv.FormatInt(value, 10))
	}
	return out
}

func names(value any) []string {
	if one, is := value.(string); is {
		return []string{one}
	}
	var out []string
	for _, one := range value.([]any) {
		out = append(out, one.(string))
	}
	return out
}

// versionFrom, deviceFrom and dtypeFrom give the zero value for null.
func versionFrom(value any) dlbridge.Version {
	list, is := value.([]any)
	if !is {
		return dlbridge.Version{}
	}
	return dlbridge.Version{Major: uint32(unsigned(list[0])), Minor: uint32(unsigned(list[1]))}
}

func deviceFrom(value any) dlbridge.Device {
	list := numbers(value)
	if list == nil {
		return dlbridge.Device{}
	}
	return dlbridge.Device{Type: dlbridge.DeviceType(list[0]), ID: int32(list[1])}
}

func dtypeFrom(value any) dlbridge.DType {
	list := numbers(value)
	if list == nil {
		return dlbridge.DType{}
	}
	return dlbridge.DType{Code: dlbridge.DTypeCode(list[0]), Bits: uint8(list[1]), Lanes: uint16(list[2])}
}

func versionList(v dlbridge.Version) []uint32 { return []uint32{v.Major, v.Minor} }

func deviceList(d dlbridge.Device) []int32 { return []int32{int32(d.Type), d.ID} }

func dtypeList(d dlbridge.DType) []int { return []int{int(d.Code), int(d.Bits), int(d.Lanes)} }

// bits is the sum of the bits that a list names.
func bits(value any, known []named) uint32 {
	var sum uint32
	list, _ := value.([]any)
	for _, name := range list {
		sum |= numberOf(name.(string), known)
	}
	return sum
}

func numberOf(name string, known []named) uint32 {
	for _, one := range known {
		if one.name == name {
			return one.value
		}
	}
	panic(fmt.Sprint("unknown name ", name))
}

// rawOptions are the option bits of a spec that has them as a number.
func rawOptions(spec object) (uint32, bool) {
	for _, key := range []string{"options_raw", "options"} {
		if number, is := spec[key].(json.Number); is {
			return uint32(signed(number)), true
		}
	}
	return 0, false
}

// optionsFrom are the option bits of a spec: names, or a number.
func optionsFrom(spec object, known []named) uint32 {
	if raw, is := rawOptions(spec); is {
		return raw
	}
	return bits(spec["options"], known)
}

// implied is the option bit that fields imply, unless the spec has its options as a number.
func implied(spec object, option uint32, fields ...string) uint32 {
	if _, raw := rawOptions(spec); raw {
		return 0
	}
	for _, field := range fields {
		if spec[field] != nil {
			return option
		}
	}
	return 0
}

func flagNames(flags uint32, known []named) []string {
	list := []string{}
	for _, one := range known {
		if flags&one.value != 0 {
			list = append(list, one.name)
		}
	}
	return list
}

// policyOf is nil if a step has no policy.
func policyOf(value any) *dlbridge.Policy {
	spec, given := value.(object)
	if !given {
		return nil
	}
	policy := &dlbridge.Policy{
		Options:    dlbridge.PolicyOptions(optionsFrom(spec, policyNames)),
		Version:    versionFrom(spec["version"]),
		Level:      dlbridge.Level(valueOf(spec["level"], levelNames)),
		Contiguity: dlbridge.Contiguity(valueOf(spec["contiguity"], contiguityNames)),
		MinNDim:    int32(signed(spec["min_ndim"])),
		MaxNDim:    int32(signed(spec["max_ndim"])),
		Alignment:  unsigned(spec["alignment"]),
		BufferSize: unsigned(spec["buffer_size"]),
		Shape:      numbers(spec["shape"]),
	}
	limits := implied(spec, uint32(dlbridge.PolicyLimitNDim), "min_ndim", "max_ndim")
	if limits != 0 && spec["max_ndim"] == nil {
		policy.MaxNDim = dlbridge.MaxNDim
	}
	limits |= implied(spec, uint32(dlbridge.PolicyLimitBuffer), "buffer_size")
	policy.Options |= dlbridge.PolicyOptions(limits)
	if list, given := spec["devices"].([]any); given {
		policy.Devices = []dlbridge.Device{}
		for _, device := range list {
			policy.Devices = append(policy.Devices, deviceFrom(device))
		}
	}
	if list, given := spec["dtypes"].([]any); given {
		policy.DTypes = []dlbridge.DType{}
		for _, dtype := range list {
			policy.DTypes = append(policy.DTypes, dtypeFrom(dtype))
		}
	}
	return policy
}

// optionsOf is nil if a step has no options.
func (w *world) optionsOf(step object) *dlbridge.ConvertOptions {
	spec, given := step["options"].(object)
	if !given && step["allocator"] == nil {
		return nil
	}
	options := &dlbridge.ConvertOptions{
		Options:     dlbridge.ConvertBits(optionsFrom(spec, convertNames)),
		Version:     versionFrom(spec["version"]),
		TensorFlags: dlbridge.TensorFlags(unsigned(spec["tensor_flags"])),
		Policy:      policyOf(spec["policy"]),
	}
	if step["allocator"] != nil {
		options.Allocator = w.allocator(step["allocator"])
	}
	return options
}

// answerOf is the answer of a call that returned err, which may be nil.
func answerOf(err error) object {
	var failure *dlbridge.Error
	switch {
	case err == nil:
		return object{"status": "OK"}
	case !errors.As(err, &failure):
		return object{"status": err.Error()}
	}
	return object{
		"status":  failure.Status.String(),
		"rule":    failure.Rule.String(),
		"axis":    failure.Axis,
		"message": failure.Message,
	}
}
