"""The collector protocol: lifecycles and cores."""
