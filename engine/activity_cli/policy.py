"""Reads and changes the policy of a data directory, through its host where one runs. The `policy` commands and the service call it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from ...adapters.collector.control_socket import NoHost, ask
from ...adapters.collector.ownership import Ownership
from ...adapters.collector.store import Store
from ...errors import LocalProtocolError
from ...machines.collector.outgoing import check_fits
from ...machines.collector.policy import Policy, Rule, checked_rules
from .adapters import known_adapters

BAD_RULE = "policy-rule"  # refusal codes
NO_SUCH_RULE = "no-such-rule"


def stored_policy(data_dir: Path) -> Policy:
    """The policy that is stored; one that allows nothing where nothing is. It makes nothing. Raises Unavailable."""
    store = Store.reading(data_dir)
    if store is None:
        return Policy()
    with store:
        return store.policy(_now_ms())


def changed_rules(policy: Policy, put: Iterable[Rule], remove: Iterable[str]) -> tuple[Rule, ...]:
    """The rules that are not built in, after a change: `remove` rules by id, then `put` each in the place of one about the same thing.

    Raises LocalProtocolError (code `no-such-rule`, and those of `checked_rules`).
    """
    rules = {rule.id: rule for rule in policy.own_rules}
    for identifier in remove:
        if rules.pop(identifier, None) is None:
            raise LocalProtocolError(NO_SUCH_RULE, f"there is no rule of yours called {identifier}")
    for rule in checked_rules(put):
        about = (rule.dimension, rule.matcher, rule.pattern)
        rules = {name: old for name, old in rules.items() if (old.dimension, old.matcher, old.pattern) != about and name != rule.id}
        rules[rule.id] = rule
    return tuple(rules.values())


def change_policy(data_dir: Path, put: Sequence[Rule] = (), remove: Sequence[str] = ()) -> Policy:
    """Change the rules and return the policy that is now in force: the host's, when one runs, else what is stored.

    Raises LocalProtocolError as `changed_rules` and for a policy that no collector could be told (code `policy-too-large`), Unavailable
    when a host that takes no commands records into the directory.
    """
    try:
        answer = ask(data_dir, "policy", put=[asdict(rule) for rule in put], remove=list(remove))
    except NoHost:
        # Under the lock, so that no host starts with the old rules meanwhile.
        with Store(data_dir, _now_ms()) as store, Ownership(data_dir, take=False).lease():
            policy = store.policy(_now_ms())
            rules = changed_rules(policy, put, remove)
            if set(rules) != set(policy.own_rules):
                policy = policy.replaced(rules)
                check_fits(policy, known_adapters(data_dir))
                store.replace_policy(policy, _now_ms())
            return policy
    return msgspec.convert(answer["policy"], Policy)


def requested_change(request: dict[str, Any]) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """What a `policy` command on the control socket asks to put and to remove. Raises LocalProtocolError (code `policy-rule`)."""
    try:
        return msgspec.convert(request.get("put", ()), tuple[Rule, ...]), msgspec.convert(request.get("remove", ()), tuple[str, ...])
    except msgspec.ValidationError as error:
        raise LocalProtocolError(BAD_RULE, str(error)) from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
