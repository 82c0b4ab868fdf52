// SPDX-License-Identifier: Apache-2.0

package dlbridge_test

import (
	"fmt"
	"testing"

	dlbridge "dlbridge/bindings/go"
)

func TestConstantsHaveNames(t *testing.T) {
	for _, c := range []struct {
		value fmt.Stringer
		want  string
	}{
		{dlbridge.KindUnknown, "KindUnknown"},
		{dlbridge.KindVersioned, "KindVersioned"},
		{dlbridge.Kind(77), "Kind(77)"},
		{dlbridge.Kind(-1), "Kind(-1)"},
		{dlbridge.DeviceCUDA, "DeviceCUDA"},
		{dlbridge.DeviceType(4711), "DeviceType(4711)"},
		{dlbridge.CodeFloat, "CodeFloat"},
		{dlbridge.LevelDevice, "LevelDevice"},
		{dlbridge.TensorFlags(0), "0"},
		{dlbridge.FlagReadOnly, "FlagReadOnly"},
		{dlbridge.FlagReadOnly | dlbridge.FlagIsCopied, "FlagReadOnly|FlagIsCopied"},
		{dlbridge.FlagReadOnly | 1<<40, "FlagReadOnly|TensorFlags(0x10000000000)"},
		{dlbridge.PolicyRequireWritable, "PolicyRequireWritable"},
		{dlbridge.StatusVersion, "ERROR_VERSION"},
	} {
		if found := c.value.String(); found != c.want {
			t.Errorf("expected %s, found %s", c.want, found)
		}
	}
}
