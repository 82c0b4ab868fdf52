// SPDX-License-Identifier: Apache-2.0
// The conformance kit for Go. A module of its own: the binding does not need the kit's archive.
module dlbridge/bindings/go/conformance

go 1.26
