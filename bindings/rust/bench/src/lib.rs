// SPDX-License-Identifier: Apache-2.0
//! Empty: the benchmarks are in benches.
