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

// The numbers belong to the ABI. A block of constants counts on from the last number that it states, so
// the ends of the counts show that none is left out.
func TestConstantsHaveTheirNumbers(t *testing.T) {
	for _, c := range []struct {
		value fmt.Stringer
		found uint64
		want  uint64
	}{
		{dlbridge.StatusAmbiguous, uint64(dlbridge.StatusAmbiguous), 21},
		{dlbridge.RuleShapeMismatch, uint64(dlbridge.RuleShapeMismatch), 45},
		{dlbridge.KindAmbiguous, uint64(dlbridge.KindAmbiguous), 4},
		{dlbridge.SeverityNote, uint64(dlbridge.SeverityNote), 2},
		{dlbridge.MemoryCLMem, uint64(dlbridge.MemoryCLMem), 9},
		{dlbridge.StreamImmediateList, uint64(dlbridge.StreamImmediateList), 4},
		{dlbridge.DeviceOpenCL, uint64(dlbridge.DeviceOpenCL), 4},
		{dlbridge.DeviceVulkan, uint64(dlbridge.DeviceVulkan), 7},
		{dlbridge.DeviceAscend, uint64(dlbridge.DeviceAscend), 21},
		{dlbridge.CodeFloat4E2M1FN, uint64(dlbridge.CodeFloat4E2M1FN), 17},
		{dlbridge.LayoutOpaque, uint64(dlbridge.LayoutOpaque), 1 << 6},
		{dlbridge.PolicyLimitBuffer, uint64(dlbridge.PolicyLimitBuffer), 1 << 19},
		{dlbridge.ConvertPinProducer, uint64(dlbridge.ConvertPinProducer), 1 << 17},
		{dlbridge.IPCReadOnly, uint64(dlbridge.IPCReadOnly), 1 << 8},
		{dlbridge.FlagIsSubbyteTypePadded, uint64(dlbridge.FlagIsSubbyteTypePadded), 1 << 2},
	} {
		if c.found != c.want {
			t.Errorf("%s: expected %d, found %d", c.value, c.want, c.found)
		}
	}
}
