// SPDX-License-Identifier: Apache-2.0
// Texts of constants, for the methods of constant_names.go.

package dlbridge

import (
	"fmt"
	"strings"
)

// named is a constant and its name.
type named struct {
	value uint64
	name  string
}

// valueName is the name of a value, or its type and number.
func valueName(kind string, value uint64, known []named) string {
	for _, one := range known {
		if one.value == value {
			return one.name
		}
	}
	return fmt.Sprintf("%s(%d)", kind, int64(value))
}

// bitNames are the names of the bits that are set, in the order of the constants; the bits without a
// name follow as one number. "0" if none is set.
func bitNames(kind string, bits uint64, known []named) string {
	var names []string
	for _, one := range known {
		if one.value != 0 && bits&one.value == one.value {
			names = append(names, one.name)
			bits &^= one.value
		}
	}
	if bits != 0 {
		names = append(names, fmt.Sprintf("%s(0x%x)", kind, bits))
	}
	if names == nil {
		return "0"
	}
	return strings.Join(names, "|")
}
