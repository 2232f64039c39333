"""The termwright/3 protocol: lifecycles and cores.

The fifteen modules of the protocol library are public, and listed in `__all__`; importing the package imports none of them. The modules
beside them are the two sides of a session, built of these: `session`, `negotiation`, `pairing` and `gates` decide for a driver, `publisher`
for an adapter.
"""

__all__ = [
    "accesskit",
    "env",
    "errors",
    "framing",
    "limits",
    "logs",
    "marker",
    "messages",
    "node_keys",
    "probe",
    "roles",
    "run_state",
    "semantic_state",
    "tree",
    "validate",
]
