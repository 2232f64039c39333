"""The closed sets of keys of a node, its state and its patches, in the order that the protocol declares and every first fault follows.

Shared by producers, validators and tools that show nodes. termwright/3, snapshot.
"""

from __future__ import annotations

from typing import Final

from ...generated.termwright.vocabulary import CLEARABLE_NODE_FIELD, CLEARABLE_SNAPSHOT_FIELD, KEYS

__all__ = ["CLEARABLE_NODE_KEYS", "CLEARABLE_SNAPSHOT_KEYS", "NODE_KEYS", "PATCH_KEYS", "SNAPSHOT_KEYS", "STATE_KEYS"]

SNAPSHOT_KEYS: Final = KEYS["Snapshot"]  #: the eleven keys of a snapshot
NODE_KEYS: Final = KEYS["Node"]  #: the 21 keys of a node
STATE_KEYS: Final = KEYS["NodeState"]  #: the 17 portable states, all optional
PATCH_KEYS: Final = KEYS["NodePatch"]  #: what a delta may set on a node: every key but the id
CLEARABLE_NODE_KEYS: Final = CLEARABLE_NODE_FIELD  #: what a delta may take away from a node: its optional keys
CLEARABLE_SNAPSHOT_KEYS: Final = CLEARABLE_SNAPSHOT_FIELD  #: what a delta may take away from the snapshot itself
