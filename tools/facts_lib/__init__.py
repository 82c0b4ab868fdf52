# SPDX-License-Identifier: Apache-2.0
"""The parts of facts.py: reading the facts, and one module of writers per language."""
