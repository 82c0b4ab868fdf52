// SPDX-License-Identifier: Apache-2.0
// One function for each call that a case of the corpus can name. It answers with everything that a case
// can expect.

package dlbridge_test

import (
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"unsafe"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

// call answers a step.
func (w *world) call(step object) object {
	name := step["call"].(string)
	function, known := calls[name]
	if !known {
		w.Fatalf("no function for the call %s", name)
	}
	return function(w, step)
}

var calls = map[string]func(*world, object) object{
	"validate":           callValidate,
	"validate_legacy":    callValidate,
	"validate_versioned": callValidate,
	"diagnose":           callDiagnose,
	"layout":             callLayout,
	"tensor_format":      callTensorFormat,
	"dtype_format":       callDTypeFormat,
	"dtype_parse":        callDTypeParse,
	"device_format":      callDeviceFormat,
	"device_parse":       callDeviceParse,
	"host_accessible":    callHostAccessible,
	"required_version":   callRequiredVersion,
	"negotiate":          callNegotiate,
	"exchange_api_find":  callExchange,
	"identify":           callIdentify,
	"module_pin":         callModulePin,
	"upgrade":            callUpgrade,
	"upgrade_into":       callUpgradeInto,
	"upgrade_many":       callUpgradeMany,
	"downgrade":          callDowngrade,
	"import":             callImport,
	"export":             callExport,
	"share":              callShare,
	"view":               callView,
	"allocate":           callAllocate,
	"release":            callRelease,
	"check":              callCheck,
}

// in is the step's tensor.
func (w *world) in(step object) handle {
	return w.live[step["in"].(string)]
}

func callValidate(w *world, step object) object {
	return answerOf(w.in(step).Validate(policyOf(step["policy"])))
}

func callDiagnose(w *world, step object) object {
	found, err := w.in(step).Diagnose(policyOf(step["policy"]))
	answer := answerOf(err)
	list := []object{}
	for _, finding := range found {
		severity := "NOTE"
		if finding.Severity == dlbridge.SeverityBroken {
			severity = "BROKEN"
		}
		list = append(list, object{"rule": finding.Rule.String(), "axis": finding.Axis,
			"severity": severity, "expected": finding.Expected, "found": finding.Found})
	}
	answer["findings"] = list
	answer["count"] = len(list)
	return answer
}

func callLayout(w *world, step object) object {
	layout, err := w.in(step).Layout()
	answer := answerOf(err)
	answer["layout"] = object{
		"properties":     flagNames(uint32(layout.Properties), layoutNames),
		"item_bits":      layout.ItemBits,
		"self_overlap":   nameOf(int32(layout.SelfOverlap), answerNames),
		"element_count":  strconv.FormatInt(layout.ElementCount, 10),
		"packed_bytes":   strconv.FormatInt(layout.PackedBytes, 10),
		"begin":          strconv.FormatInt(layout.Begin, 10),
		"end":            strconv.FormatInt(layout.End, 10),
		"broadcast_axes": strconv.FormatUint(layout.BroadcastAxes, 10),
		"negative_axes":  strconv.FormatUint(layout.NegativeAxes, 10),
		"alignment":      strconv.FormatUint(layout.Alignment, 10),
	}
	return answer
}

func callTensorFormat(w *world, step object) object {
	text := w.in(step).String()
	return object{"status": "OK", "text": text, "length": len(text)}
}

// written answers for a function that writes a text to a buffer of the step's size.
func written(step object, format func([]byte) (int, error)) object {
	buffer := make([]byte, 4096)
	if step["size"] != nil {
		buffer = buffer[:signed(step["size"])]
	}
	length, err := format(buffer)
	answer := answerOf(err)
	answer["length"] = length
	end := min(length, max(len(buffer)-1, 0))
	answer["text"] = string(buffer[:end])
	return answer
}

func callDTypeFormat(_ *world, step object) object {
	return written(step, dtypeFrom(step["dtype"]).Format)
}

func callDeviceFormat(_ *world, step object) object {
	return written(step, deviceFrom(step["device"]).Format)
}

func callDTypeParse(_ *world, step object) object {
	dtype, err := dlbridge.ParseDType(step["text"].(string))
	answer := answerOf(err)
	answer["dtype"] = dtypeList(dtype)
	return answer
}

func callDeviceParse(_ *world, step object) object {
	device, err := dlbridge.ParseDevice(step["text"].(string))
	answer := answerOf(err)
	answer["device"] = deviceList(device)
	return answer
}

func callHostAccessible(_ *world, step object) object {
	kind := dlbridge.DeviceType(signed(step["device_type"]))
	returns := 0
	if kind.HostAccessible() {
		returns = 1
	}
	answer := nameOf(int32(kind.HostAccess()), answerNames)
	return object{"status": "OK", "returns": returns, "answer": answer}
}

func callRequiredVersion(w *world, step object) object {
	version, err := w.in(step).RequiredVersion()
	answer := answerOf(err)
	answer["version"] = versionList(version)
	return answer
}

func callNegotiate(_ *world, step object) object {
	kind, version, err := dlbridge.Negotiate(versionFrom(step["producer"]), versionFrom(step["consumer"]))
	answer := answerOf(err)
	answer["kind"] = nameOf(int32(kind), kindNames)
	answer["version"] = versionList(version)
	return answer
}

var exchangeFunctions = []named{
	{"managed_tensor_allocator", 1 << 0},
	{"managed_tensor_from_py_object_no_sync", 1 << 1},
	{"managed_tensor_to_py_object_no_sync", 1 << 2},
	{"dltensor_from_py_object_no_sync", 1 << 3},
	{"current_work_stream", 1 << 4},
}

func callExchange(_ *world, step object) object {
	var tables []ctest.Table
	for _, spec := range step["chain"].([]any) {
		version := versionFrom(spec.(object)["version"])
		tables = append(tables, ctest.Table{Major: version.Major, Minor: version.Minor,
			Missing: bits(spec.(object)["missing"], exchangeFunctions)})
	}
	chain := ctest.Chain(tables, step["ring"] == true)
	defer ctest.FreeChain(chain)
	found, err := dlbridge.FindExchangeAPI(chain, versionFrom(step["consumer"]))
	answer := answerOf(err)
	answer["index"] = -1
	if err == nil {
		answer["index"] = (uintptr(found.Pointer()) - uintptr(chain)) / ctest.TableSize
	}
	return answer
}

func callIdentify(w *world, step object) object {
	var pointer unsafe.Pointer
	if step["in"] != nil {
		pointer = w.in(step).pointer
	}
	return object{"status": "OK", "kind": nameOf(int32(dlbridge.Identify(pointer)), kindNames)}
}

// The address is that of a tensor's data, or of the library's own table.
func callModulePin(w *world, step object) object {
	address := uintptr(dlbridge.API())
	if step["in"] != nil {
		held := w.in(step)
		address = uintptr(ctest.Data(held.pointer, held.kind))
	}
	return answerOf(dlbridge.ModulePin(address))
}

func callUpgrade(w *world, step object) object {
	source := w.in(step).tensor.(*dlbridge.Legacy)
	made, err := source.Upgrade(w.optionsOf(step))
	answer := answerOf(err)
	if err == nil {
		w.take(step["in"].(string))
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

func callUpgradeInto(w *world, step object) object {
	held := w.in(step)
	ndim := ctest.NDim(held.pointer, held.kind)
	if ndim < 0 || ndim >= 1000 {
		ndim = 0
	}
	size := dlbridge.StorageSize(ndim)
	if step["storage"] == "short" {
		size--
	}
	storage, err := dlbridge.NewStorage(size)
	if err != nil {
		w.Fatal(err)
	}
	w.storages = append(w.storages, storage)
	made, err := held.tensor.(*dlbridge.Legacy).UpgradeInto(storage, w.optionsOf(step))
	answer := answerOf(err)
	if err == nil {
		w.take(step["in"].(string))
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

func callUpgradeMany(w *world, step object) object {
	in, out := names(step["in"]), names(step["out"])
	if len(in) != len(slices.Compact(slices.Sorted(slices.Values(in)))) {
		return w.callTwice(step, in)
	}
	var sources []*dlbridge.Legacy
	for _, name := range in {
		sources = append(sources, w.live[name].tensor.(*dlbridge.Legacy))
	}
	made, err := dlbridge.UpgradeMany(sources, w.optionsOf(step))
	answer := answerOfBatch(err, len(sources))
	for i := 0; err == nil && i < made.Len(); i++ {
		w.take(in[i])
		w.addTensor(step, out[i], made.At(i), answer)
	}
	return answer
}

// callTwice passes a tensor twice, which only pointers can: an owner notices it before C does.
func (w *world) callTwice(step object, in []string) object {
	var pointers []unsafe.Pointer
	for _, name := range in {
		held := w.live[name]
		pointers = append(pointers, held.pointer)
		_, _ = held.tensor.(dlbridge.Managed).Detach()
	}
	_, err := dlbridge.ImportMany(pointers, w.optionsOf(step))
	for _, name := range in {
		w.put(name, w.live[name].pointer, ctest.Legacy)
	}
	return answerOfBatch(err, len(in))
}

// answerOfBatch is the answer of a batch that returned err.
func answerOfBatch(err error, count int) object {
	answer := answerOf(err)
	answer["failed"] = count // C returns the count if no tensor caused the error.
	var failure *dlbridge.BatchError
	if errors.As(err, &failure) && failure.Index >= 0 {
		answer["failed"] = failure.Index
	}
	return answer
}

func callDowngrade(w *world, step object) object {
	var made *dlbridge.Legacy
	var err error
	switch source := w.in(step).tensor.(type) {
	case *dlbridge.Foreign:
		made, err = source.Downgrade(w.optionsOf(step))
	case *dlbridge.Tensor:
		made, err = source.Downgrade(w.optionsOf(step))
	}
	answer := answerOf(err)
	if err == nil {
		w.take(step["in"].(string))
		w.addLegacy(step, step["out"].(string), made, answer)
	}
	return answer
}

// given takes the pointer of the step's tensor from its owner, and reads the kind that the step passes.
func (w *world) given(step object) (unsafe.Pointer, dlbridge.Kind) {
	held := w.in(step)
	kind := dlbridge.Kind(held.kind)
	if step["kind"] != nil {
		kind = dlbridge.Kind(valueOf(step["kind"], kindNames))
	}
	if managed, is := held.tensor.(dlbridge.Managed); is {
		if _, err := managed.Detach(); err != nil {
			w.Fatal(err)
		}
	}
	return held.pointer, kind
}

// keep gives the step's tensor an owner again: the call has not consumed it.
func (w *world) keep(step object) {
	name := step["in"].(string)
	held := w.live[name]
	if _, is := held.tensor.(dlbridge.Managed); is {
		w.put(name, held.pointer, held.kind)
	}
}

func callImport(w *world, step object) object {
	pointer, kind := w.given(step)
	made, err := dlbridge.Import(pointer, kind, w.optionsOf(step))
	answer := answerOf(err)
	if err != nil {
		w.keep(step)
		return answer
	}
	w.addTensor(step, step["out"].(string), made, answer)
	w.take(step["in"].(string))
	return answer
}

func callExport(w *world, step object) object {
	pointer, kind := w.given(step)
	made, out, err := dlbridge.Export(pointer, kind, versionFrom(step["target"]), w.optionsOf(step))
	answer := answerOf(err)
	if err != nil {
		w.keep(step)
		return answer
	}
	answer["kind"] = nameOf(int32(out), kindNames)
	answer["is"] = w.nameOf(made)
	w.put(step["out"].(string), made, int32(out))
	w.describe(step, step["out"].(string), answer)
	w.take(step["in"].(string))
	return answer
}

func callShare(w *world, step object) object {
	made, err := w.validated(step["in"].(string)).Share()
	answer := answerOf(err)
	if err == nil {
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

func callView(w *world, step object) object {
	spec := step["spec"].(object)
	parent := w.validated(step["in"].(string))
	shape, strides := numbers(spec["shape"]), numbers(spec["strides"])
	offset := signed(spec["offset"])
	if spec["ndim"] != nil {
		w.onlyKeys(spec, "ndim", "shape", "strides", "offset")
		raw := ctest.View(parent.Pointer(), int32(signed(spec["ndim"])), shape, strides, offset)
		return w.rawAnswer(step, raw)
	}
	made, err := parent.View(dlbridge.ViewSpec{DType: dtypeFrom(spec["dtype"]), Shape: shape,
		Strides: strides, Offset: offset})
	answer := answerOf(err)
	if err == nil {
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

// onlyKeys fails if a raw call would ignore a key of the case.
func (w *world) onlyKeys(spec object, known ...string) {
	for key := range spec {
		if !slices.Contains(known, key) {
			w.Fatalf("a call by hand does not know %q", key)
		}
	}
}

// rawAnswer is the answer of a call that this package cannot make: with an ndim that differs from the
// shape's.
func (w *world) rawAnswer(step object, raw ctest.Answer) object {
	if raw.Status == 0 {
		answer := object{"status": "OK"}
		made, err := dlbridge.TakeVersioned(raw.Out).Accept(nil)
		if err != nil {
			w.Fatal(err)
		}
		w.addTensor(step, step["out"].(string), made, answer)
		return answer
	}
	return answerOf(&dlbridge.Error{Status: dlbridge.Status(raw.Status), Rule: dlbridge.Rule(raw.Rule),
		Axis: raw.Axis, Message: raw.Message})
}

func callAllocate(w *world, step object) object {
	spec := step["spec"].(object)
	device, dtype := deviceFrom(spec["device"]), dtypeFrom(spec["dtype"])
	if spec["ndim"] != nil {
		w.onlyKeys(spec, "ndim", "shape", "device", "dtype")
		return w.rawAnswer(step, ctest.Allocate(int32(signed(spec["ndim"])), numbers(spec["shape"]),
			[2]int32(deviceList(device)), [3]int(dtypeList(dtype))))
	}
	given := dlbridge.AllocateSpec{
		Shape:       numbers(spec["shape"]),
		Device:      device,
		DType:       dtype,
		Options:     dlbridge.AllocateOptions(optionsFrom(spec, allocateNames)),
		Alignment:   unsigned(spec["alignment"]),
		TensorFlags: dlbridge.TensorFlags(unsigned(spec["tensor_flags"])),
	}
	if spec["version"] != nil {
		given.Version = versionFrom(spec["version"])
	}
	if step["allocator"] != nil {
		given.Allocator = w.allocator(step["allocator"])
	}
	made, err := dlbridge.Allocate(given)
	answer := answerOf(err)
	if err == nil {
		w.addTensor(step, step["out"].(string), made, answer)
		aligned := max(given.Alignment, 1)
		if given.Alignment == 0 {
			aligned = 256
		}
		if ctest.Read(made.Pointer(), ctest.Versioned).Data%aligned != 0 {
			answer["status"] = "not aligned"
		}
	}
	return answer
}

func callRelease(w *world, step object) object {
	if step["in"] != nil {
		w.release(step["in"].(string))
	}
	return callCheck(w, step)
}

func callCheck(w *world, _ object) object {
	return object{"status": "OK", "deleters": w.deletes()}
}

// addTensor names a tensor that a call made, and describes it in the answer.
func (w *world) addTensor(step object, name string, made *dlbridge.Tensor, answer object) {
	answer["is"] = w.nameOf(made.Pointer())
	w.putTensor(name, made)
	w.describe(step, name, answer)
}

func (w *world) addLegacy(step object, name string, made *dlbridge.Legacy, answer object) {
	answer["is"] = w.nameOf(made.Pointer())
	w.putLegacy(name, made)
	w.describe(step, name, answer)
}

func (w *world) describe(step object, name string, answer object) {
	held := w.live[name]
	fields := ctest.Read(held.pointer, held.kind)
	seen := object{
		"kind":        nameOf(int32(held.kind), kindNames),
		"data":        strconv.FormatUint(fields.Data, 10),
		"device":      fields.Device,
		"ndim":        fields.NDim,
		"dtype":       fields.DType,
		"shape":       texts(fields.Shape),
		"strides":     texts(fields.Strides),
		"byte_offset": strconv.FormatUint(fields.ByteOffset, 10),
	}
	if held.kind == ctest.Versioned {
		seen["version"] = fields.Version
		seen["flags"] = strconv.FormatUint(fields.Flags, 10)
	}
	expect := step["expect"].(object)
	if wanted, given := expect["tensor"].(object); given && wanted["data"] == "any" && fields.Data != 0 {
		seen["data"] = "any" // Memory that the library allocated.
	}
	answer["tensor"] = seen
	if expect["bytes"] != nil {
		layout, err := held.Layout()
		if err != nil {
			w.Fatal(err)
		}
		answer["bytes"] = hex.EncodeToString(ctest.Memory(fields.Data, int(layout.PackedBytes)))
	}
}
