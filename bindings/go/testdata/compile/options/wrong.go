// SPDX-License-Identifier: Apache-2.0

// Package options confuses DLPack's flags with option bits, and those of different structs.
package options

import dlbridge "dlbridge/bindings/go"

func flags() *dlbridge.ConvertOptions {
	return &dlbridge.ConvertOptions{Options: dlbridge.FlagReadOnly} // want "cannot use dlbridge.FlagReadOnly"
}

func other() *dlbridge.Policy {
	return &dlbridge.Policy{Options: dlbridge.ConvertVouchWritable} // want "cannot use dlbridge.ConvertVouchWritable"
}

func bits() dlbridge.LendSpec {
	return dlbridge.LendSpec{TensorFlags: dlbridge.WrapLimitBuffer} // want "cannot use dlbridge.WrapLimitBuffer"
}
