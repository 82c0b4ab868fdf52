# SPDX-License-Identifier: Apache-2.0
"""Says what a machine lacks for a test, and is skipped for it."""

import sys

print("skipped:", *sys.argv[1:])
sys.exit(77)
