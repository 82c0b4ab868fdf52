// SPDX-License-Identifier: Apache-2.0

// Package options has each kind of bit in its field.
package options

import dlbridge "dlbridge/bindings/go"

func convert() *dlbridge.ConvertOptions {
	return &dlbridge.ConvertOptions{Options: dlbridge.ConvertVouchWritable,
		TensorFlags: dlbridge.FlagIsCopied,
		Policy:      &dlbridge.Policy{Options: dlbridge.PolicyVouchWritable}}
}
