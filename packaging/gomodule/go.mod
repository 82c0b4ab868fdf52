// SPDX-License-Identifier: Apache-2.0
// Packs the Go modules of a release.
module dlbridge/packaging/gomodule

go 1.26.0

require golang.org/x/mod v0.42.0
