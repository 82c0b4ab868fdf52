# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenes of the demo: checks, counted capsules, and the table."""

import textwrap

import frameworks
from capsules import LEGACY, VERSIONED, consume, kind_of, look, release
from deleters import Deleters

WIDTH = 100


class Show:
    """One run: the checks, the differences, and every deleter."""

    def __init__(self, library):
        self.library = library
        self.deleters = Deleters()
        self.differed = []
        self.shown = dict.fromkeys(("aliases", "copies", "repairs", "rejections"), 0)

    def check(self, what, found, expected=True):
        if found != expected:
            self.differed.append(f"{what}: expected {expected!r}, found {found!r}")

    def raises(self, kind, what, call):
        """The message of the error that `call` must raise."""
        try:
            call()
        except kind as error:
            return str(error).splitlines()[0]
        self.differed.append(f"{what}: expected {kind.__name__}, found none")
        return "not rejected"

    def handed_out(self, framework, value):
        """The legacy capsule of a framework, with its deleter counted."""
        capsule = framework.export(value)
        self.check(f"name of {framework.name}'s capsule", kind_of(capsule), LEGACY)
        self.deleters.count(framework.name, look(capsule))
        return capsule

    def handed_out_versioned(self, array):
        """NumPy's versioned capsule, for an array that a legacy one cannot represent."""
        capsule = array.__dlpack__(max_version=(1, 3))
        self.check("name of NumPy's capsule", kind_of(capsule), VERSIONED)
        self.deleters.count("NumPy", look(capsule))
        return capsule

    def address_in(self, framework, value):
        """The address of a framework's tensor, from its own capsule."""
        if framework is frameworks.NUMPY:  # exports no legacy capsule of a read-only array
            return value.ctypes.data
        # Releases through the struct's deleter; the destructor of JAX's capsule does not call it.
        struct = consume(self.handed_out(framework, value))
        found = frameworks.address(struct)
        release(struct)
        return found

    def title(self, text):
        print(f"\n{text}")

    def line(self, label, text):
        lines = textwrap.wrap(text, WIDTH - 18)
        print(f"  {label:<15} {lines[0]}")
        for rest in lines[1:]:
            print(f"{'':18}{rest}")
