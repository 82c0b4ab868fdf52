// SPDX-License-Identifier: Apache-2.0
// Calls of the library to the C library that fail.

package ctest

/*
#cgo linux LDFLAGS: -ldl
#include "faults.h"
#include <stdlib.h>
*/
import "C"

import "unsafe"

// LoadFaults loads the hooks, which stay for the rest of the process. It returns the number of hooked
// functions.
func LoadFaults(path string) int {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	return int(C.ctest_faults_load(text))
}

// ArmFaults lets the nth call of the library on this thread fail, and with forever all later ones too.
func ArmFaults(nth int, forever bool) {
	all := C.int(0)
	if forever {
		all = 1
	}
	C.ctest_faults_arm(C.int64_t(nth), all)
}

// DisarmFaults ends that and returns the number of calls that have failed.
func DisarmFaults() int { return int(C.ctest_faults_disarm()) }

// LibraryHolds are the blocks and the mappings that the library has not given back.
func LibraryHolds() [2]int64 {
	var out [2]C.int64_t
	C.ctest_faults_live(&out[0])
	return [2]int64{int64(out[0]), int64(out[1])}
}
