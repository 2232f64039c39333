"""The termwright/3 protocol: lifecycles and cores."""
