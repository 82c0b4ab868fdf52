// SPDX-License-Identifier: Apache-2.0
// The Go binding of dlbridge. The path names no host: README.md says how a program requires it.
module dlbridge/bindings/go

go 1.26
