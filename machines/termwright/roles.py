"""The closed vocabularies of what a node is and what can be done to it; adapters choose from them, drivers look for them.

`Role`, `Action` and `RecipeAction` are the same words as types. termwright/3, roles and actions.
"""

from __future__ import annotations

from typing import TypeGuard

from ...generated.termwright.models import Action, RecipeAction, Role
from ...generated.termwright.vocabulary import ACTION as ACTIONS
from ...generated.termwright.vocabulary import RECIPE_ACTION as RECIPE_ACTIONS
from ...generated.termwright.vocabulary import ROLE as ROLES

__all__ = ["ACTIONS", "RECIPE_ACTIONS", "ROLES", "Action", "RecipeAction", "Role", "is_action", "is_role"]


def is_role(word: object) -> TypeGuard[Role]:
    """Whether `word` is one of the 23 roles."""
    return isinstance(word, str) and word in ROLES


def is_action(word: object) -> TypeGuard[Action]:
    """Whether `word` is one of the 7 actions."""
    return isinstance(word, str) and word in ACTIONS
