// SPDX-License-Identifier: Apache-2.0
// The work of benchmarks in C, count times in one crossing.

package ctest

// #include "producer.h"
import "C"

import (
	"time"
	"unsafe"
)

// RepeatMalloc allocates and frees 128 bytes.
func RepeatMalloc(count int) { C.ctest_repeat_malloc(C.int64_t(count)) }

// RepeatValidate validates a legacy tensor.
func RepeatValidate(legacy unsafe.Pointer, count int) {
	C.ctest_repeat_validate(C.uintptr_t(uintptr(legacy)), C.int64_t(count))
}

// RepeatUpgrade upgrades a legacy tensor without a deleter and releases the result.
func RepeatUpgrade(legacy unsafe.Pointer, count int) {
	C.ctest_repeat_upgrade(C.uintptr_t(uintptr(legacy)), C.int64_t(count))
}

// RepeatShare shares a tensor of the library's and releases the result.
func RepeatShare(versioned unsafe.Pointer, count int) {
	C.ctest_repeat_share(C.uintptr_t(uintptr(versioned)), C.int64_t(count))
}

// Nothing is an empty crossing.
func Nothing() { C.ctest_nothing() }

// RepeatUpgradeMany upgrades 64 tensors in one call and releases the results. It returns the time of the
// upgrades.
func RepeatUpgradeMany(legacy []unsafe.Pointer, count int) time.Duration {
	numbers := make([]C.uintptr_t, 64)
	for i := range numbers {
		numbers[i] = C.uintptr_t(uintptr(legacy[i]))
	}
	upgrading := C.ctest_repeat_upgrade_many(&numbers[0], C.size_t(len(numbers)), C.int64_t(count))
	return time.Duration(upgrading)
}
