// SPDX-License-Identifier: Apache-2.0
//! Nothing: the measurements are in benches.
