# SPDX-License-Identifier: Apache-2.0
"""The matrix of frameworks: every pair, natively and through dlbridge, each in its own process."""
