"""The desklink v3 protocol: lifecycles and cores."""
