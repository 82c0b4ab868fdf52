// SPDX-License-Identifier: Apache-2.0
// A module outside the binding, as a user's is.
module example/plugin

go 1.26

require dlbridge/bindings/go v0.0.0

replace dlbridge/bindings/go => ../..
