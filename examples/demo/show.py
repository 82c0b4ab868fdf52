# SPDX-License-Identifier: Apache-2.0
"""What the scenes of the demo share: checks, counted capsules, one table."""

import textwrap

import frameworks
from capsules import LEGACY, VERSIONED, consume, kind_of, look, release
from deleters import Deleters

WIDTH = 100


class Show:
    """One run: what was checked, what differed, and every deleter."""

    def __init__(self, library):
        self.library = library
        self.deleters = Deleters()
        self.differed = []
        self.shown = dict.fromkeys(("aliases", "copies", "repairs", "rejections"), 0)

    def check(self, what, found, expected=True):
        if found != expected:
            self.differed.append(f"{what}: expected {expected!r}, found {found!r}")

    def raises(self, kind, what, call):
        """The message of the error that `call` has to end with."""
        try:
            call()
        except kind as error:
            return str(error).splitlines()[0]
        self.differed.append(f"{what}: expected {kind.__name__}, found none")
        return "not rejected"

    def handed_out(self, framework, value):
        """The legacy capsule that a framework really hands out, its deleter counted."""
        capsule = framework.export(value)
        self.check(f"name of {framework.name}'s capsule", kind_of(capsule), LEGACY)
        self.deleters.count(framework.name, look(capsule))
        return capsule

    def handed_out_versioned(self, array):
        """NumPy's versioned capsule, for an array that its legacy one cannot say."""
        capsule = array.__dlpack__(max_version=(1, 3))
        self.check("name of NumPy's capsule", kind_of(capsule), VERSIONED)
        self.deleters.count("NumPy", look(capsule))
        return capsule

    def address_in(self, framework, value):
        """Where a framework has its tensor, as its own capsule says it."""
        if framework is frameworks.NUMPY:  # gives no legacy capsule of a read-only array
            return value.ctypes.data
        # Through the struct's deleter: JAX's capsule, left unconsumed, calls another function.
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
