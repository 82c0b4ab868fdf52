// SPDX-License-Identifier: Apache-2.0
// Texts of constants, for the methods of constant_names.go.

package dlbridge

import (
	"fmt"
	"reflect"
	"strings"
)

// valueName is the name of a value, by its number, or its type and number.
func valueName[T ~int32 | ~uint8](value T, known []string) string {
	if uint64(value) < uint64(len(known)) && known[value] != "" {
		return known[value]
	}
	return fmt.Sprintf("%s(%d)", reflect.TypeFor[T]().Name(), value)
}

// bitNames are the names of the bits that are set, by their numbers; the bits without a name follow as
// one number. "0" if none is set.
func bitNames[T ~uint32 | ~uint64](bits T, known []string) string {
	var names []string
	for number, name := range known {
		if bit := T(1) << number; name != "" && bits&bit != 0 {
			names = append(names, name)
			bits &^= bit
		}
	}
	if bits != 0 {
		names = append(names, fmt.Sprintf("%s(0x%x)", reflect.TypeFor[T]().Name(), uint64(bits)))
	}
	if names == nil {
		return "0"
	}
	return strings.Join(names, "|")
}
