from __future__ import annotations

import random

from triptych.machines.desklink.held import Button, Held, Key
from triptych.machines.desklink.keys import MODIFIERS

CTRL, SHIFT, ALTGR = MODIFIERS["Control"], MODIFIERS["Shift"], MODIFIERS["AltGraph"]
A, B = 30, 48


def test_a_modifier_goes_up_after_its_last_owner() -> None:
    held = Held()
    assert held.modifier(CTRL, True) == [Key(CTRL, True)]
    assert held.modifier(CTRL, True) == []
    assert held.chord_down(A, [CTRL, SHIFT]) == [Key(SHIFT, True), Key(A, True)]
    assert held.chord_down(B, [SHIFT]) == [Key(B, True)]
    assert held.chord_up(A) == [Key(A, False)]
    assert held.modifier(CTRL, False) == [Key(CTRL, False)]
    assert held.chord_up(B) == [Key(B, False), Key(SHIFT, False)]
    assert held.chord_up(B) == []
    assert held.modifier(CTRL, False) == []
    assert held.release_all() == []


def test_chord_modifiers_are_pressed_once_in_code_order_and_released_in_reverse() -> None:
    held = Held()
    assert held.chord_down(A, [ALTGR, CTRL, CTRL]) == [Key(CTRL, True), Key(ALTGR, True), Key(A, True)]
    assert held.chord_down(A, [SHIFT]) == []
    assert held.chord_up(A) == [Key(A, False), Key(ALTGR, False), Key(CTRL, False)]


def test_release_all_is_exact_ordered_and_done_once() -> None:
    held = Held()
    held.chord_down(B, [CTRL])
    held.button(3, True)
    held.modifier(SHIFT, True)
    held.button(1, True)
    assert held.button(2, False) == []
    assert held.release_all() == [Button(3, False), Button(1, False), Key(CTRL, False), Key(B, False), Key(SHIFT, False)]
    assert held.release_all() == []


def test_random_use_never_presses_twice_and_release_all_leaves_nothing_down() -> None:
    chance = random.Random(11)
    for _ in range(300):
        held = Held()
        down: set[tuple[type, int]] = set()

        def take(edges: list, down: set[tuple[type, int]] = down) -> None:
            for edge in edges:
                what = (type(edge), edge.code if isinstance(edge, Key) else edge.number)
                assert (what in down) != edge.down, edge
                (down.add if edge.down else down.remove)(what)

        for _ in range(40):
            code = chance.choice([A, B])
            match chance.choice(("modifier", "chord down", "chord up", "button", "release")):
                case "modifier":
                    take(held.modifier(chance.choice([CTRL, SHIFT]), chance.random() < 0.5))
                case "chord down":
                    take(held.chord_down(code, chance.sample([CTRL, SHIFT, ALTGR], chance.randrange(3))))
                case "chord up":
                    take(held.chord_up(code))
                case "button":
                    take(held.button(chance.choice([1, 2]), chance.random() < 0.5))
                case "release" if chance.random() < 0.2:
                    take(held.release_all())
        take(held.release_all())
        assert not down
