// SPDX-License-Identifier: Apache-2.0
// Links the shared library, by pkg-config.

//go:build !dlbridge_static

package ctest

// #cgo pkg-config: dlbridge
import "C"
