// SPDX-License-Identifier: Apache-2.0
// Calls that allocate no memory in Go.

package dlbridge_test

import (
	"testing"

	dlbridge "dlbridge/bindings/go"
)

func TestNoAllocations(t *testing.T) {
	pointer := static(t).Legacy()
	legacy := dlbridge.TakeLegacy(pointer)
	tensor := upgraded(t)
	look := must(dlbridge.Read[float32](tensor))(t)
	defer look.Close()
	policy := &dlbridge.Policy{Contiguity: dlbridge.ContiguityC,
		DTypes: []dlbridge.DType{dlbridge.DTypeOf[float32]()}}
	exact := &dlbridge.Policy{Shape: []int64{2, -1, 4, 5}}
	shape := []int64{6, 20}
	options := &dlbridge.ConvertOptions{Options: dlbridge.ConvertVouchWritable}
	var buffer [64]byte
	for name, call := range map[string]func() error{
		"validate":           func() error { return legacy.Validate(nil) },
		"validate by policy": func() error { return legacy.Validate(policy) },
		"layout":             func() error { _, err := tensor.Layout(); return err },
		"required version":   func() error { _, err := tensor.RequiredVersion(); return err },
		"validate by shape":  func() error { return legacy.Validate(exact) },
		"import": func() error {
			made, err := dlbridge.Import(pointer, dlbridge.KindLegacy, nil)
			if err == nil {
				_ = made.Close()
			}
			return err
		},
		"upgrade": func() error {
			made, err := dlbridge.TakeLegacy(pointer).Upgrade(nil)
			if err == nil {
				_ = made.Close()
			}
			return err
		},
		"upgrade by options": func() error {
			made, err := dlbridge.TakeLegacy(pointer).Upgrade(options)
			if err == nil {
				_ = made.Close()
			}
			return err
		},
		"share": func() error {
			made, err := tensor.Share()
			if err == nil {
				_ = made.Close()
			}
			return err
		},
		"view": func() error {
			made, err := tensor.View(dlbridge.ViewSpec{Shape: shape})
			if err == nil {
				_ = made.Close()
			}
			return err
		},
		"names": func() error { _, err := dlbridge.DTypeOf[float32]().Format(buffer[:]); return err },
		"parse": func() error { _, err := dlbridge.ParseDType("bfloat16"); return err },
		"handle": func() error {
			_, err := dlbridge.StreamFromArrayAPI(dlbridge.CPU, dlbridge.ArrayAPIStreamNone)
			return err
		},
		"read": func() error {
			if look.At(1, 2, 3, 4) != 0 || look.Index(7) != 0 {
				t.Error("not zero")
			}
			for range look.All() {
			}
			return nil
		},
	} {
		var failed error
		if count := testing.AllocsPerRun(100, func() { failed = call() }); count != 0 || failed != nil {
			t.Errorf("%s: %v allocations, %v", name, count, failed)
		}
	}
}
