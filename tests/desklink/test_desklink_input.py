from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import LocalProtocolError
from triptych.generated.desklink.vocabulary import CONTROL_ERROR_CODE
from triptych.machines.desklink.geometry import Size
from triptych.machines.desklink.held import Button, Key, Move, Type, Wheel
from triptych.machines.desklink.input import Answer, Apply, ControlInput, Forward, Present, Verdict, crowded
from triptych.machines.desklink.keys import MODIFIERS

SHIFT, CTRL, ALTGR = MODIFIERS["Shift"], MODIFIERS["Control"], MODIFIERS["AltGraph"]


class FakeUs:
    """A layout of a few characters: the core asks an interface, so no display is needed to test its rules."""

    KEYS: ClassVar = {"a": (30, ()), "A": (30, (SHIFT,)), "ä": (40, (SHIFT, MODIFIERS["AltGraph"])), "\n": (28, ())}

    OTHER_GROUP: ClassVar = {"ж": (39, ())}

    def stroke(self, character: str, *, any_group: bool = False) -> tuple[int, tuple[int, ...]] | None:
        return self.KEYS.get(character) or (self.OTHER_GROUP.get(character) if any_group else None)

    def plan(self, text: str, *, unicode: bool = False) -> object:
        if (missing := [character for character in text if character not in self.KEYS]) and not unicode:
            raise LocalProtocolError("text-unsupported", f"no key for {missing}")
        return [self.KEYS.get(character, "borrowed") for character in text]


def rules(*permissions: str, layout: FakeUs | None = None, forwards: bool = False) -> ControlInput:
    return ControlInput(permissions or ("view", "control"), Size(1280, 720), layout or FakeUs(), forwards=forwards)


NOW = Present(Size(2560, 1440))


def say(made: ControlInput, present: Present = NOW, **message: Any) -> Verdict:
    return made.receive(json.dumps(message).encode(), present)


def edges(verdict: Verdict) -> list[object]:
    assert isinstance(verdict, Apply), verdict
    return list(verdict.edges)


def refused(verdict: Verdict) -> tuple[str, int]:
    assert isinstance(verdict, Answer), verdict
    assert verdict.message["kind"] == "rejected"
    assert verdict.message["code"] in CONTROL_ERROR_CODE
    assert verdict.message["message"]
    return verdict.message["code"], verdict.message["seq"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"kind":"dance"}',
        b'{"kind":"pointer","phase":"down","x":1}',
        b'{"kind":"pointer","phase":"hover","x":1,"y":1,"seq":9}',
        b'{"kind":"pointer","phase":"move","x":1.5,"y":1}',
        b'{"kind":"wheel","dx":1e999}',
        b'{"kind":"wheel","dx":NaN}',
        b'{"kind":"text","text":5,"seq":4}',
        b'{"kind":"release_all","seq":-1}',
        b'{"kind":"release_all","seq":18446744073709551616}',
        b'{"kind":"key"}',
        b"\xff\xfe",
    ],
)
def test_what_cannot_be_read_is_an_operation_with_seq_0_and_uses_no_seq_up(text: bytes) -> None:
    made = rules()
    assert refused(made.receive(text, NOW)) == ("operation", 0)
    assert made.rejected == 1
    assert edges(say(made, kind="release_all", seq=1)) == []


def test_unknown_members_are_ignored() -> None:
    assert edges(say(rules(), kind="pointer", phase="move", x=1, y=2, pressure=0.5)) == [Move(2, 4)]


def test_the_order_of_the_checks() -> None:
    made = rules("view")
    message = {"kind": "pointer", "phase": "down", "x": 99999, "y": 0, "seq": 5}
    assert refused(say(made, replace(NOW, reachable=False), **message)) == ("session", 5)
    assert refused(say(made, replace(NOW, ended=True), **message)) == ("session", 5)
    assert refused(say(made, **message)) == ("permission", 5)
    controlled = rules()
    # The seq is used up by a check that comes after it, and by none that comes before.
    assert refused(say(controlled, **message)) == ("coordinates", 5)
    assert refused(say(controlled, **message)) == ("input-replay", 5)
    assert refused(say(controlled, kind="release_all", seq=4)) == ("input-replay", 4)
    assert edges(say(controlled, kind="release_all", seq=6)) == []
    assert edges(say(controlled, kind="release_all", seq=0)) == edges(say(controlled, kind="release_all")) == []


def test_every_kind_needs_control() -> None:
    made = rules("view", "clipboard")
    for message in (
        {"kind": "release_all"},
        {"kind": "text", "text": "a"},
        {"kind": "clipboard_read", "request": "r"},
        {"kind": "clipboard_write", "request": "r", "text": "t"},
        {"kind": "wheel"},
        {"kind": "key", "down": True, "name": "Enter"},
    ):
        assert refused(say(made, **message, seq=1))[0] == "permission"
    assert made.rejected == 6


def test_counters_follow_what_was_done() -> None:
    made = rules()
    verdict = say(made, kind="pointer", phase="move", x=0, y=0, seq=3)
    assert made.applied == 0
    assert isinstance(verdict, Apply)
    assert made.done(verdict.seq) == {"kind": "ack", "seq": 3}
    failed = made.failed(4, "the display went away")
    assert (failed["kind"], failed["seq"], failed["code"]) == ("rejected", 4, "input")
    assert (made.applied, made.rejected) == (1, 1)


@pytest.mark.parametrize("at", [(-1, 0), (0, -1), (1280, 0), (0, 720), (9000, 4)])
@pytest.mark.parametrize("phase", ["move", "down", "up", "cancel"])
def test_pointer_outside(at: tuple[int, int], phase: str) -> None:
    made = rules()
    verdict = say(made, kind="pointer", phase=phase, x=at[0], y=at[1], seq=1)
    assert refused(verdict) == ("coordinates", 1)
    assert isinstance(verdict, Answer)
    assert verdict.message["message"] == f"({at[0]},{at[1]}) is outside the 1280x720 surface"


def test_pointer_moves_before_it_presses_and_knows_what_it_holds() -> None:
    made = rules()
    assert edges(say(made, kind="pointer", phase="down", x=640, y=360)) == [Move(1280, 720), Button(1, True)]
    assert edges(say(made, kind="pointer", phase="down", x=640, y=360)) == [Move(1280, 720)]
    assert edges(say(made, kind="pointer", phase="down", x=0, y=0, button=3)) == [Move(0, 0), Button(3, True)]
    assert edges(say(made, kind="pointer", phase="up", x=1279, y=719, button=77)) == [Move(2558, 1438), Button(1, False)]
    assert edges(say(made, kind="pointer", phase="up", x=0, y=0, button=2)) == [Move(0, 0)]
    assert edges(say(made, kind="pointer", phase="cancel", x=0, y=0)) == [Button(3, False)]
    assert made.release_all() == ()


def test_pointer_follows_a_root_window_that_was_resized() -> None:
    made = rules()
    assert edges(say(made, Present(Size(640, 360)), kind="pointer", phase="move", x=1279, y=719)) == [Move(639, 359)]


def test_wheel_adds_fractions_up_and_sends_whole_clicks() -> None:
    made = rules()
    assert edges(say(made, kind="wheel", dy=0.4)) == []
    assert edges(say(made, kind="wheel", dy=0.4)) == []
    assert edges(say(made, kind="wheel", dy=0.4, dx=-2.5)) == [Wheel(-2, 1)]
    assert edges(say(made, kind="wheel", dx=-0.5)) == [Wheel(-1, 0)]
    assert edges(say(made, kind="wheel", dy=-0.2)) == []
    assert edges(say(made, kind="wheel", dy=100, dx=-100)) == [Wheel(-20, 20)]
    assert edges(say(made, kind="wheel")) == []
    say(made, kind="wheel", dy=0.9)
    say(made, kind="release_all")
    assert edges(say(made, kind="wheel", dy=0.9)) == []


@pytest.mark.parametrize("delta", [100.001, -101, 1e300])
def test_wheel_beyond_the_bound(delta: float) -> None:
    assert refused(say(rules(), kind="wheel", dx=delta, seq=2)) == ("coordinates", 2)
    assert refused(say(rules(), kind="wheel", dy=delta, seq=2)) == ("coordinates", 2)


def test_keys_by_name_by_character_and_as_chords() -> None:
    made = rules()
    assert edges(say(made, kind="key", name="Enter", down=True)) == [Key(28, True)]
    assert edges(say(made, kind="key", name="Return", down=False)) == [Key(28, False)]
    assert edges(say(made, kind="key", character="A", down=True, modifiers=["Ctrl", "Hyper"])) == [
        Key(CTRL, True),
        Key(SHIFT, True),
        Key(30, True),
    ]
    assert edges(say(made, kind="key", character="a", down=False)) == [Key(30, False), Key(SHIFT, False), Key(CTRL, False)]
    assert edges(say(made, kind="key", name="ShiftLeft", down=True)) == [Key(SHIFT, True)]
    assert edges(say(made, kind="key", name="F11", down=True, modifiers=["Shift"])) == [Key(87, True)]
    assert edges(say(made, kind="key", name="F11", down=False)) == [Key(87, False)]
    assert edges(say(made, kind="release_all")) == [Key(SHIFT, False)]


@pytest.mark.parametrize(
    "key",
    [{"name": "Nope"}, {"name": ""}, {"character": ""}, {"character": "ab"}, {"character": "日"}, {}, {"name": None, "character": None}],
)
@pytest.mark.parametrize("down", [True, False])
def test_keys_that_do_not_exist(key: dict[str, str | None], down: bool) -> None:
    assert refused(say(rules(), kind="key", down=down, seq=8, **key)) == ("text-unsupported", 8)


def test_text_is_all_or_nothing() -> None:
    made = rules()
    assert edges(say(made, kind="text", text="aA\n")) == [Type([(30, ()), (30, (SHIFT,)), (28, ())])]
    assert edges(say(made, kind="text", text="")) == []
    assert refused(say(made, kind="text", text="a日", seq=1)) == ("text-unsupported", 1)
    assert edges(say(made, kind="text", text="a" * 4096))
    assert refused(say(made, kind="text", text="a" * 4097, seq=2)) == ("text-too-large", 2)
    # The bound counts bytes, and comes before the layout is asked.
    assert refused(say(made, kind="text", text="é" * 2049, seq=3)) == ("text-too-large", 3)


def test_text_leaves_what_is_held() -> None:
    made = rules()
    edges(say(made, kind="key", name="Shift", down=True))
    assert edges(say(made, kind="text", text="A\n")) == [Type([(30, (SHIFT,)), (28, ())])]
    assert refused(say(made, kind="text", text="A日", seq=4)) == ("text-unsupported", 4)
    assert edges(say(made, kind="release_all")) == [Key(SHIFT, False)]


def test_a_caller_in_this_process_may_ask_for_borrowed_keys_and_a_client_cannot() -> None:
    made = rules()
    asked = replace(NOW, unicode=True)
    assert edges(say(made, asked, kind="text", text="a日")) == [Type([(30, ()), "borrowed"])]
    assert refused(say(made, kind="text", text="a日", unicode=True, seq=1)) == ("text-unsupported", 1)
    assert refused(say(made, asked, kind="text", text="日" * 1366, seq=2)) == ("text-too-large", 2)
    # A key is one of the layout, whoever asks.
    assert refused(say(made, asked, kind="key", character="日", down=True, seq=3)) == ("text-unsupported", 3)


def test_a_key_is_lifted_where_it_went_down_when_the_layout_changes_meanwhile() -> None:
    layout = FakeUs()
    made = rules(layout=layout)
    assert edges(say(made, kind="key", character="a", down=True)) == [Key(30, True)]
    assert edges(say(made, kind="key", character="ä", down=True)) == [Key(SHIFT, True), Key(ALTGR, True), Key(40, True)]
    layout.KEYS = {"a": (16, ()), "A": (16, (SHIFT,))}  # type: ignore[misc]  # this one layout changes, not the class
    assert edges(say(made, kind="key", character="a", down=True)) == []
    assert edges(say(made, kind="key", character="a", down=False)) == [Key(30, False)]
    assert edges(say(made, kind="key", character="ä", down=False)) == [Key(40, False), Key(ALTGR, False), Key(SHIFT, False)]
    assert edges(say(made, kind="key", character="a", down=False)) == []
    assert refused(say(made, kind="key", character="ä", down=False, seq=1)) == ("text-unsupported", 1)
    assert edges(say(made, kind="key", character="a", down=True)) == [Key(16, True)]
    # The same key, by another character: what went down for "a" is up.
    assert edges(say(made, kind="key", character="A", down=False)) == [Key(16, False)]
    layout.KEYS = {"a": (30, ())}  # type: ignore[misc]  # likewise
    assert edges(say(made, kind="key", character="a", down=True)) == [Key(30, True)]
    assert edges(say(made, kind="release_all")) == [Key(30, False)]
    layout.KEYS = {"a": (16, ())}  # type: ignore[misc]  # likewise
    assert edges(say(made, kind="key", character="a", down=True)) == [Key(16, True)]


def test_a_shortcut_may_use_the_key_of_another_layout_group_and_a_character_may_not() -> None:
    made = rules()
    assert refused(say(made, kind="key", character="ж", down=True)) == ("text-unsupported", 0)
    assert refused(say(made, kind="key", character="ж", down=True, modifiers=["Shift", "AltGraph"])) == ("text-unsupported", 0)
    assert edges(say(made, kind="key", character="ж", down=True, modifiers=["Control"])) == [Key(CTRL, True), Key(39, True)]
    assert edges(say(made, kind="key", character="ж", down=False)) == [Key(39, False), Key(CTRL, False)]
    say(made, kind="key", name="Alt", down=True)
    assert edges(say(made, kind="key", character="ж", down=True)) == [Key(39, True)]
    assert edges(say(made, kind="release_all")) == [Key(MODIFIERS["Alt"], False), Key(39, False)]


def test_ten_tenths_of_a_wheel_step_are_one_click() -> None:
    made = rules()
    assert [edges(say(made, kind="wheel", dy=0.1)) for _ in range(20)] == [*[[]] * 9, [Wheel(0, 1)]] * 2
    assert [edges(say(made, kind="wheel", dx=-0.1)) for _ in range(10)] == [*[[]] * 9, [Wheel(-1, 0)]]


def test_clipboard_of_a_source_that_has_none() -> None:
    made = rules("view", "control", "clipboard")
    read = say(made, kind="clipboard_read", request="r1", seq=1)
    assert isinstance(read, Answer)
    assert (read.message["kind"], read.message["request"], read.message["text"], read.message["truncated"]) == (
        "clipboard",
        "r1",
        "",
        False,
    )
    assert read.message["error"]
    assert refused(say(made, kind="clipboard_write", request="r2", text="t", seq=2)) == ("clipboard-unsupported", 2)
    without = rules("view", "control")
    assert refused(say(without, kind="clipboard_read", request="r", seq=1)) == ("permission", 1)
    assert refused(say(without, kind="clipboard_read", request="r", seq=1)) == ("input-replay", 1)


def test_an_encoded_source_gets_its_input_as_it_arrived() -> None:
    made = rules(forwards=True)
    text = b'{"kind":"pointer" , "phase":"down","x":99999,"y":-4,"seq":4,"pressure":0.25,\n"deep":{"a":[1,null]}}'
    verdict = made.receive(text, NOW)
    assert isinstance(verdict, Forward)
    assert json.loads(bytes(verdict.message)) == json.loads(text)
    assert b"\n" not in bytes(verdict.message)
    assert verdict.reply == {"kind": "ack", "seq": 4}
    assert refused(made.receive(text, NOW)) == ("input-replay", 4)
    answer = say(made, kind="clipboard_write", request="r", text="t", seq=5)
    assert isinstance(answer, Answer)
    assert answer.message["kind"] == "clipboard"
    assert answer.message["error"]
    assert (made.applied, made.forwarded, made.rejected) == (0, 1, 1)
    assert refused(say(rules("view", forwards=True), kind="wheel", seq=1)) == ("permission", 1)


def test_input_without_a_keyboard() -> None:
    made = ControlInput(("view", "control"), Size(10, 10), None)
    assert refused(say(made, kind="text", text="a", seq=1)) == ("input-unavailable", 1)


kinds = st.sampled_from(["pointer", "wheel", "key", "text", "release_all", "clipboard_read", "clipboard_write", "x"])
values = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), st.lists(st.text(max_size=8), max_size=3)
)
members = ["seq", "phase", "x", "y", "button", "dx", "dy", "name", "character", "down", "modifiers", "text", "request"]
right = st.fixed_dictionaries(
    {},
    optional={
        "seq": st.integers(0, 9),
        "phase": st.sampled_from(["move", "down", "up", "cancel"]),
        "x": st.integers(-5, 1300),
        "y": st.integers(-5, 800),
        "button": st.integers(0, 4),
        "dx": st.floats(-120, 120),
        "dy": st.floats(-120, 120),
        "name": st.sampled_from(["Enter", "Shift", "Control", "F5", "Nope"]),
        "character": st.sampled_from(["a", "A", "ä", "日", ""]),
        "down": st.booleans(),
        "modifiers": st.lists(st.sampled_from(["Shift", "Alt", "What"]), max_size=3),
        "text": st.text(alphabet="aA\nä日", max_size=5),
        "request": st.text(max_size=3),
    },
)


@given(st.lists(st.tuples(kinds, right, st.dictionaries(st.sampled_from(members), values, max_size=2)), max_size=30))
def test_whatever_a_client_sends_is_answered_and_nothing_stays_down(stream: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> None:
    made = rules()
    down: set[tuple[type, int]] = set()
    for kind, good, bad in stream:
        verdict = made.receive(json.dumps({"kind": kind, **good, **bad}).encode(), NOW)
        if isinstance(verdict, Apply):
            for edge in verdict.edges:
                _follow(edge, down)
        else:
            assert isinstance(verdict, Answer)
    for edge in made.release_all():
        _follow(edge, down)
    assert not down


def _follow(edge: object, down: set[tuple[type, int]]) -> None:
    if isinstance(edge, Key | Button):
        what = (type(edge), edge.code if isinstance(edge, Key) else edge.number)
        assert (what in down) != edge.down
        (down.add if edge.down else down.remove)(what)
    elif isinstance(edge, Move):
        assert 0 <= edge.x < 2560
        assert 0 <= edge.y < 1440
    elif isinstance(edge, Wheel):
        assert max(abs(edge.right), abs(edge.down)) <= 20


@pytest.mark.parametrize(("text", "seq"), [(b'{"kind":"release_all","seq":7}', 7), (b'{"kind":"release_all"}', 0), (b"{", 0)])
def test_a_message_behind_too_many_others_is_refused_with_its_own_number(text: bytes, seq: int) -> None:
    refused = crowded(text)
    assert (refused["kind"], refused["seq"], refused["code"]) == ("rejected", seq, "operation")
