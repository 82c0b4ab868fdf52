// SPDX-License-Identifier: Apache-2.0
// The plugin of this test in Go.
module dlbridge/tests/languages/go

go 1.26

require dlbridge/bindings/go v0.0.0

replace dlbridge/bindings/go => ../../../bindings/go
