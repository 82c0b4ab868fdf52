// SPDX-License-Identifier: Apache-2.0
// Links the static library, by pkg-config, with the build tag dlbridge_static.

//go:build dlbridge_static

package ctest

// #cgo pkg-config: --static dlbridge-static
import "C"
