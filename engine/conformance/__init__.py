"""The conformance suite of termwright/3: any adapter as a subprocess, its claims against a fixture, vectors against our library."""
