// SPDX-License-Identifier: Apache-2.0
// The calls of the corpus that concern devices, as in conformance_calls_test.go.

package dlbridge_test

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	dlbridge "dlbridge/bindings/go"
	"dlbridge/bindings/go/internal/ctest"
)

func init() {
	for name, function := range map[string]func(*world, object) object{
		"backend_info":          callBackendInfo,
		"pointer_info":          callPointerInfo,
		"wrap":                  callWrap,
		"wrap_legacy":           callWrapLegacy,
		"copy":                  callCopy,
		"copy_async":            callCopyAsync,
		"release_after":         callReleaseAfter,
		"collect":               callCollect,
		"stream_from_array_api": callStreamFromArrayAPI,
		"stream_handoff":        callStreamHandoff,
		"stream_synchronize":    callStreamSynchronize,
		"context_register":      callContextRegister,
		"context_find":          callContextFind,
		"context_next":          callContextNext,
		"context_retain":        onEntry(dlbridge.ContextRetain),
		"context_release":       onEntry(dlbridge.ContextRelease),
		"context_unregister":    callContextUnregister,
	} {
		calls[name] = function
	}
}

// valueOf is the value of a name, or the number itself; 0 if there is none.
func valueOf(value any, known []named) int32 {
	if name, is := value.(string); is {
		return int32(numberOf(name, known))
	}
	return int32(signed(value))
}

// nameOf is the name of a value, or the number itself.
func nameOf(value int32, known []named) any {
	for _, one := range known {
		if int32(one.value) == value {
			return one.name
		}
	}
	return value
}

// handoffBits and propertyBits are of a list of names, or of a number.
func handoffBits(value any) uint32 {
	return optionsFrom(object{"options": value}, handoffNames)
}

func propertyBits(value any) uint32 {
	if number, is := value.(json.Number); is {
		return uint32(signed(number))
	}
	return bits(value, contextNames)
}

func handleFrom(value any) dlbridge.Handle { return dlbridge.UnsafeHandle(unsigned(value)) }

func handleText(handle dlbridge.Handle) string { return strconv.FormatUint(handle.Number(), 10) }

// memory is a MEMORY of the case.
type memory struct {
	address uint64
	deleter bool
	deletes int
}

func (m *memory) released(buffer dlbridge.Buffer, _ dlbridge.Stream) {
	if buffer.Handle != dlbridge.UnsafeHandle(m.address) {
		m.deletes += 99
	}
	m.deletes++
}

// release is the callback of a MEMORY; nil if it has no deleter.
func (m *memory) release() dlbridge.ReleaseFunc {
	if !m.deleter {
		return nil
	}
	return m.released
}

func (w *world) bufferOf(value any, address uint64) dlbridge.Buffer {
	spec, _ := value.(object)
	kind := dlbridge.BufferAddress
	if spec["kind"] != nil {
		kind = dlbridge.BufferKind(valueOf(spec["kind"], bufferNames))
	}
	return dlbridge.Buffer{
		Backend: dlbridge.Backend(valueOf(spec["backend"], backendNames)),
		Kind:    kind,
		Handle:  dlbridge.UnsafeHandle(address),
		Context: handleFrom(spec["context"]),
	}
}

func callBackendInfo(_ *world, step object) object {
	info, err := dlbridge.QueryBackend(dlbridge.Backend(valueOf(step["backend"], backendNames)))
	answer := answerOf(err)
	answer["info"] = object{
		"backend":         nameOf(int32(info.Backend), backendNames),
		"state":           nameOf(int32(info.State), stateNames),
		"device_count":    info.DeviceCount,
		"driver_code":     info.DriverCode,
		"driver_version":  info.DriverVersion,
		"runtime_version": info.RuntimeVersion,
		"file":            info.File,
		"reason":          info.Reason,
	}
	return answer
}

func callPointerInfo(w *world, step object) object {
	buffer := w.bufferOf(step["buffer"], w.memories[step["in"].(string)].address)
	info, err := dlbridge.QueryPointer(buffer, deviceFrom(step["device"]))
	answer := answerOf(err)
	answer["info"] = object{
		"backend":       nameOf(int32(info.Backend), backendNames),
		"device":        deviceList(info.Device),
		"memory":        nameOf(int32(info.Memory), memoryNames),
		"native_device": info.NativeDevice,
		"base":          strconv.FormatUint(info.Base, 10),
		"size":          strconv.FormatUint(info.Size, 10),
		"context":       handleText(info.Context),
	}
	return answer
}

func (w *world) wrapSpec(step object) dlbridge.WrapSpec {
	given := step["spec"].(object)
	m := w.memories[step["in"].(string)]
	options := optionsFrom(given, wrapNames) |
		implied(given, uint32(dlbridge.WrapLimitBuffer), "buffer_size")
	return dlbridge.WrapSpec{
		Options:     dlbridge.WrapOptions(options),
		Buffer:      w.bufferOf(given["buffer"], m.address),
		Shape:       numbers(given["shape"]),
		Strides:     numbers(given["strides"]),
		DType:       dtypeFrom(given["dtype"]),
		Device:      deviceFrom(given["device"]),
		ByteOffset:  unsigned(given["byte_offset"]),
		BufferSize:  unsigned(given["buffer_size"]),
		TensorFlags: dlbridge.TensorFlags(unsigned(given["tensor_flags"])),
		Version:     versionFrom(given["version"]),
		Policy:      policyOf(given["policy"]),
		Release:     m.release(),
	}
}

func callWrap(w *world, step object) object {
	spec := w.wrapSpec(step)
	if ndim := step["spec"].(object)["ndim"]; ndim != nil {
		w.onlyKeys(step["spec"].(object), "ndim", "shape", "device", "dtype")
		return w.rawAnswer(step, ctest.Wrap(spec.Buffer.Handle.Number(), int32(signed(ndim)), spec.Shape,
			[2]int32(deviceList(spec.Device)), [3]int(dtypeList(spec.DType))))
	}
	made, err := dlbridge.Wrap(spec)
	answer := answerOf(err)
	if err == nil {
		w.takeMemory(step["in"])
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

func callWrapLegacy(w *world, step object) object {
	made, err := dlbridge.WrapLegacy(w.wrapSpec(step))
	answer := answerOf(err)
	if err == nil {
		w.takeMemory(step["in"])
		w.addLegacy(step, step["out"].(string), made, answer)
	}
	return answer
}

func (w *world) copySpec(step object) dlbridge.CopySpec {
	given := step["spec"].(object)
	spec := dlbridge.CopySpec{
		Options:     dlbridge.CopyOptions(optionsFrom(given, copyNames)),
		Device:      deviceFrom(given["device"]),
		TensorFlags: dlbridge.TensorFlags(unsigned(given["tensor_flags"])),
		Version:     versionFrom(given["version"]),
		Policy:      policyOf(given["policy"]),
	}
	if given["target"] != nil {
		m := w.memories[given["target"].(string)]
		spec.Target = w.bufferOf(given["buffer"], m.address)
		spec.TargetOffset = unsigned(given["target_offset"])
		spec.TargetSize = unsigned(given["target_size"])
		spec.Release = m.release()
	}
	if step["allocator"] != nil {
		spec.Allocator = w.allocator(step["allocator"])
	}
	if given["stream"] != nil {
		spec.Stream = streamOf(given["stream"])
	}
	return spec
}

func (w *world) copied(step object, made *dlbridge.Tensor, err error) object {
	answer := answerOf(err)
	if err == nil {
		w.takeMemory(step["spec"].(object)["target"])
		w.addTensor(step, step["out"].(string), made, answer)
	}
	return answer
}

func callCopy(w *world, step object) object {
	made, err := w.in(step).Copy(w.copySpec(step))
	return w.copied(step, made, err)
}

func callCopyAsync(w *world, step object) object {
	made, err := w.validated(step["in"].(string)).CopyAsync(w.copySpec(step))
	return w.copied(step, made, err)
}

func callReleaseAfter(w *world, step object) object {
	streams := []dlbridge.Stream{}
	for _, stream := range step["streams"].([]any) {
		streams = append(streams, streamOf(stream))
	}
	name := step["in"].(string)
	err := w.live[name].tensor.(dlbridge.Managed).ReleaseAfter(streams...)
	if err == nil {
		w.take(name)
	}
	answer := answerOf(err)
	answer["deleters"] = w.deletes()
	return answer
}

func callCollect(_ *world, step object) object {
	options := optionsFrom(object{"options": step["collect"]}, collectNames)
	left, err := dlbridge.Collect(dlbridge.CollectOptions(options))
	answer := answerOf(err)
	answer["left"] = left
	return answer
}

func streamOf(value any) dlbridge.Stream {
	spec := value.(object)
	stream := dlbridge.Stream{
		Backend: dlbridge.Backend(valueOf(spec["backend"], backendNames)),
		Kind:    dlbridge.StreamKind(valueOf(spec["kind"], streamNames)),
		Device:  dlbridge.CPU,
		Handle:  handleFrom(spec["handle"]),
		Context: handleFrom(spec["context"]),
	}
	if spec["device"] != nil {
		stream.Device = deviceFrom(spec["device"])
	}
	return stream
}

func callStreamFromArrayAPI(_ *world, step object) object {
	number := dlbridge.ArrayAPIStreamNone
	if step["stream"] != nil {
		number = signed(step["stream"])
	}
	stream, err := dlbridge.StreamFromArrayAPI(deviceFrom(step["device"]), number)
	answer := answerOf(err)
	if err == nil {
		answer["stream"] = object{
			"backend": nameOf(int32(stream.Backend), backendNames),
			"kind":    nameOf(int32(stream.Kind), streamNames),
			"device":  deviceList(stream.Device),
			"handle":  handleText(stream.Handle),
			"context": handleText(stream.Context),
		}
	}
	return answer
}

func callStreamHandoff(_ *world, step object) object {
	options := dlbridge.HandoffOptions(handoffBits(step["handoff"]))
	return answerOf(dlbridge.StreamHandoff(streamOf(step["producer"]), streamOf(step["consumer"]), options))
}

func callStreamSynchronize(_ *world, step object) object {
	return answerOf(streamOf(step["stream"]).Synchronize())
}

func callContextRegister(w *world, step object) object {
	given := step["entry"].(object)
	entry := dlbridge.ContextEntry{
		Backend:      dlbridge.Backend(valueOf(given["backend"], backendNames)),
		Device:       deviceFrom(given["device"]),
		Platform:     handleFrom(given["platform"]),
		NativeDevice: handleFrom(given["native_device"]),
		Context:      handleFrom(given["context"]),
		Queue:        handleFrom(given["queue"]),
		QueueKind:    dlbridge.StreamKind(valueOf(given["queue_kind"], streamNames)),
		Properties:   dlbridge.ContextProperties(propertyBits(given["properties"])),
	}
	if text, is := given["uuid"].(string); is {
		bytes, err := hex.DecodeString(text)
		if err != nil {
			w.Fatal(err)
		}
		copy(entry.UUID[:], bytes)
	}
	if step["in"] != nil {
		m := w.memories[step["in"].(string)]
		entry.Release = func(dlbridge.ContextEntry) { m.deletes++ }
	}
	id, err := dlbridge.ContextRegister(entry)
	if err == nil {
		w.entries[step["out"].(string)] = id
		w.takeMemory(step["in"])
	}
	return answerOf(err)
}

// entryName is the name of an entry of the case, or "other".
func (w *world) entryName(id uint64) string {
	for name, known := range w.entries {
		if known == id {
			return name
		}
	}
	return "other"
}

func callContextFind(w *world, step object) object {
	entry, err := dlbridge.ContextFind(deviceFrom(step["device"]), handleFrom(step["context"]))
	answer := answerOf(err)
	if err != nil {
		return answer
	}
	answer["is"] = w.entryName(entry.ID)
	var queueKind any
	if entry.QueueKind != 0 {
		queueKind = nameOf(int32(entry.QueueKind), streamNames)
	}
	answer["entry"] = object{
		"backend":       nameOf(int32(entry.Backend), backendNames),
		"device":        deviceList(entry.Device),
		"platform":      handleText(entry.Platform),
		"native_device": handleText(entry.NativeDevice),
		"context":       handleText(entry.Context),
		"queue":         handleText(entry.Queue),
		"queue_kind":    queueKind,
		"properties":    flagNames(uint32(entry.Properties), contextNames),
		"uuid":          hex.EncodeToString(entry.UUID[:]),
	}
	return answer
}

// Iterates over the table: which of the case's entries it has, and how the iteration ends.
func callContextNext(w *world, _ object) object {
	entries := []string{}
	var cursor uint64
	for {
		entry, next, err := dlbridge.ContextNext(cursor)
		if err != nil {
			answer := answerOf(err)
			answer["entries"] = entries
			return answer
		}
		cursor = next
		if name := w.entryName(entry.ID); name != "other" {
			entries = append(entries, name)
		}
	}
}

func (w *world) onEntry(step object, function func(uint64) error) object {
	id, known := w.entries[step["entry"].(string)]
	if !known {
		id = 1<<64 - 1
	}
	answer := answerOf(function(id))
	answer["deleters"] = w.deletes()
	return answer
}

func onEntry(function func(uint64) error) func(*world, object) object {
	return func(w *world, step object) object { return w.onEntry(step, function) }
}

func callContextUnregister(w *world, step object) object {
	answer := w.onEntry(step, dlbridge.ContextUnregister)
	if answer["status"] == "OK" {
		w.ended[step["entry"].(string)] = true
	}
	return answer
}

// takeMemory notes that a tensor or entry owns a MEMORY now.
func (w *world) takeMemory(name any) {
	if name != nil {
		w.taken[name.(string)] = true
	}
}

// finishDevices counts the memories without an owner as freed, and ends the registrations that are left.
func (w *world) finishDevices() {
	for name, m := range w.memories {
		if !w.taken[name] && m.deleter {
			m.deletes++
		}
	}
	for name, id := range w.entries {
		if !w.ended[name] {
			_ = dlbridge.ContextUnregister(id)
		}
	}
}
