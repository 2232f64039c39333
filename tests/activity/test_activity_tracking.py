"""The core of a collector: the order of its gates, what it withholds, what it makes again and what not, and where it cuts."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from activity_kit import adapter_entry
from triptych.errors import LocalProtocolError
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.focus import ElementState
from triptych.machines.collector.policy import CollectorPolicy, Policy
from triptych.machines.collector.tracking import Application, Describe, Description, Tracker

EDITOR = Application(7, ("code.desktop", "code"), 1)
TERMINAL = Application(8, ("org.gnome.Terminal.desktop",), 2)
NOW_MS = 1_791_000_000_000
ALLOWED = CollectorPolicy(
    allowed=("code.desktop", "org.gnome.Terminal.desktop", "com.jetbrains.pycharm"),
    path_patterns=Policy().for_collector(BUILT_IN).path_patterns,
)
PLAIN = Description(ElementState.NOT_SECURE, app_name="Code", title="A page", role="text", idle_seconds=1.5)


def tracker(policy: CollectorPolicy = ALLOWED, **more: Any) -> Tracker:
    made = Tracker("linux-1", **more)
    made.configure(policy)
    return made


def look(made: Tracker, application: Application | None, window: Description | None = PLAIN, now: float = 0.0) -> Any:
    found = made.identified(application, now, NOW_MS)
    if isinstance(found, Describe):
        found = made.described(found, window, now, NOW_MS)
    return None if found is None else json.loads(msgspec.json.encode(found))


def test_an_observation_is_what_the_wire_says() -> None:
    assert look(tracker(), EDITOR) == json.loads(
        '{"v":1,"type":"observation","collectorSession":"linux-1","seq":1,"observedAtMs":1791000000000,'
        '"app":{"pid":7,"bundleId":"code.desktop","name":"Code"},"window":{"title":"A page","document":null,"url":null},'
        '"element":{"role":"text","subrole":null,"identifier":null},"privacy":{"secure":false,"protected":false},'
        '"source":{"adapter":"vscode","provider":"at-spi"},"activity":{"idleSeconds":1.5}}'
    )


class TestGateOrder:
    def test_an_application_that_is_not_allowed_is_not_described(self) -> None:
        assert tracker(CollectorPolicy()).identified(EDITOR, 0, NOW_MS) is None

    def test_an_application_outside_the_table_is_not_described(self) -> None:
        other = Application(9, ("org.example.Other.desktop",))
        assert tracker(CollectorPolicy(allowed=("org.example.Other.desktop",))).identified(other, 0, NOW_MS) is None

    def test_blocked_comes_before_protected_and_is_silent(self) -> None:
        assert (
            look(tracker(CollectorPolicy(blocked=("code.desktop",), protected=("code.desktop",), allowed=("code.desktop",))), EDITOR)
            is None
        )

    def test_protected_comes_before_allowed_and_tells_the_identity_only(self) -> None:
        made = look(tracker(CollectorPolicy(protected=("code.desktop",), allowed=("code.desktop",))), EDITOR)
        assert made["app"] == {"pid": 7, "bundleId": "code.desktop", "name": None}
        assert made["window"] == {"title": None, "document": None, "url": None}
        assert made["element"] == {"role": None, "subrole": None, "identifier": None}
        assert made["privacy"] == {"secure": False, "protected": True, "reason": "protected-app"}
        assert made["source"]["adapter"] == "vscode"
        assert "activity" not in made

    def test_an_application_that_is_always_protected_needs_no_policy_and_no_entry(self) -> None:
        made = look(tracker(CollectorPolicy()), Application(9, ("KEEPASSXC.EXE",)))
        assert made["privacy"]["reason"] == "protected-app"
        assert made["source"]["adapter"] == "protected"

    def test_the_first_candidate_that_is_allowed_and_known_is_reported_in_the_spelling_of_the_table(self) -> None:
        made = look(tracker(CollectorPolicy(allowed=("CODE.desktop",))), Application(7, ("code-oss.desktop", "Code.Desktop")))
        assert made["app"]["bundleId"] == "code.desktop"

    def test_a_browser_is_not_described_whatever_a_table_says(self) -> None:
        entry = msgspec.json.encode({"adapters": [adapter_entry("web", "chromium.desktop", "browser")]})
        made = tracker(CollectorPolicy(allowed=("chromium.desktop",)), table=BUILT_IN.extended(entry))
        assert look(made, Application(9, ("chromium.desktop",))) is None
        assert made.sequence == 0

    def test_a_window_that_was_no_longer_in_front_is_not_told(self) -> None:
        made = tracker()
        assert look(made, EDITOR, None) is None
        assert made.sequence == 0


class TestElementState:
    @pytest.mark.parametrize("state", [ElementState.SECURE, ElementState.UNQUERYABLE, ElementState.UNREADABLE])
    def test_what_is_not_known_to_be_harmless_withholds_the_window(self, state: ElementState) -> None:
        made = look(tracker(), EDITOR, Description(state, app_name="Code", title="My password", role="password text", document="/x"))
        assert made["privacy"] == {"secure": True, "protected": False, "reason": state.value}
        assert made["window"] == {"title": None, "document": None, "url": None}
        assert made["element"]["role"] is None

    def test_a_program_that_cannot_be_asked_shows_its_window_only_where_the_adapter_says_so(self) -> None:
        seen = Description(ElementState.UNQUERYABLE, title="app.py - project", role="frame")
        made = look(tracker(), Application(9, ("com.jetbrains.pycharm",)), seen)
        assert made["privacy"] == {"secure": False, "protected": False}
        assert made["window"]["title"] == "app.py - project"
        assert made["element"]["role"] is None

    def test_window_only_does_not_excuse_a_password_or_an_answer_that_did_not_come(self) -> None:
        for state in (ElementState.SECURE, ElementState.UNREADABLE):
            assert look(tracker(), Application(9, ("com.jetbrains.pycharm",)), Description(state, title="x"))["privacy"]["secure"] is True


class TestTitle:
    def test_that_of_the_window_system_stands_in_where_the_program_gives_none(self) -> None:
        made = look(tracker(), EDITOR, Description(ElementState.NOT_SECURE, display_title="From X"))
        assert made["window"]["title"] == "From X"
        made = look(tracker(), EDITOR, Description(ElementState.NOT_SECURE, title="Its own", display_title="From X"))
        assert made["window"]["title"] == "Its own"

    def test_that_of_the_window_system_is_judged_and_withheld_like_the_other(self) -> None:
        made = look(tracker(), EDITOR, Description(ElementState.NOT_SECURE, display_title="list of secrets"))
        assert (made["privacy"]["reason"], made["window"]["title"]) == ("protected-metadata", None)
        for state in (ElementState.SECURE, ElementState.UNREADABLE, ElementState.UNQUERYABLE):
            made = look(tracker(), EDITOR, Description(state, display_title="From X"))
            assert (made["privacy"]["reason"], made["window"]["title"]) == (state.value, None)
        assert look(tracker(), TERMINAL, Description(ElementState.NOT_SECURE, display_title="From X"))["window"]["title"] is None


class TestProtectedMetadata:
    @pytest.mark.parametrize(
        ("title", "document"),
        [
            ("list of secrets", None),
            ("id.pem", None),
            ("notes", "/home/me/.ssh/config"),
            ("notes", "file:///home/me/%2essh/x"),
            ("notes", "/x/.env.local"),
        ],
    )
    def test_identity_only_and_counted(self, title: str, document: str | None) -> None:
        made = look(tracker(), EDITOR, Description(ElementState.NOT_SECURE, app_name="Code", title=title, document=document))
        assert made["privacy"] == {"secure": False, "protected": True, "reason": "protected-metadata"}
        assert made["app"]["name"] is None
        assert made["window"] == {"title": None, "document": None, "url": None}

    def test_a_collector_knows_a_little_without_any_pattern(self) -> None:
        bare = tracker(CollectorPolicy(allowed=("code.desktop",)))
        assert look(bare, EDITOR, Description(ElementState.NOT_SECURE, title="t", document="/x/a.key"))["privacy"]["protected"] is True
        assert look(bare, EDITOR, Description(ElementState.NOT_SECURE, title="list of secrets"))["privacy"]["protected"] is False

    def test_a_title_that_is_suppressed_is_neither_told_nor_judged(self) -> None:
        made = look(tracker(), TERMINAL, Description(ElementState.NOT_SECURE, title="secrets", role="terminal"))
        assert made["window"]["title"] is None
        assert made["privacy"]["protected"] is False


class TestFingerprint:
    def test_what_has_not_changed_is_not_made_again(self) -> None:
        made = tracker()
        assert look(made, EDITOR)["seq"] == 1
        assert look(made, EDITOR, now=1e6) is None
        assert look(made, EDITOR, Description(ElementState.NOT_SECURE, "Code", "Another", role="text"))["seq"] == 2

    def test_idle_time_counts_only_when_it_passes_the_boundary(self) -> None:
        made = tracker()

        def idle(seconds: float | None) -> dict[str, Any] | None:
            found: dict[str, Any] | None = look(
                made, EDITOR, Description(ElementState.NOT_SECURE, "Code", "A page", role="text", idle_seconds=seconds)
            )
            return found

        assert idle(None) is not None
        assert idle(479.9) is None
        assert idle(480.0) is not None
        assert idle(900.0) is None
        assert idle(1.0) is not None

    @pytest.mark.parametrize("application", [None, Application(9, ("org.example.Other.desktop",)), Application(9, ())])
    def test_coming_back_from_elsewhere_is_made_again(self, application: Application | None) -> None:
        made = tracker()
        look(made, EDITOR)
        assert look(made, application) is None
        assert look(made, EDITOR)["seq"] == 2

    def test_configure_makes_it_again(self) -> None:
        made = tracker()
        look(made, EDITOR)
        made.configure(ALLOWED)
        assert look(made, EDITOR)["seq"] == 2

    def test_liveness_makes_it_again_after_its_time_only(self) -> None:
        made = tracker(liveness_seconds=30.0)
        assert look(made, EDITOR, now=100.0) is not None
        assert look(made, EDITOR, now=129.9) is None
        assert look(made, EDITOR, now=130.0) is not None
        assert look(made, EDITOR, now=131.0) is None

    @pytest.mark.parametrize("seconds", [-1.0, 0.5, 29.9, math.inf, math.nan])
    def test_a_liveness_under_its_floor_is_refused(self, seconds: float) -> None:
        with pytest.raises(LocalProtocolError) as caught:
            tracker(liveness_seconds=seconds)
        assert caught.value.code == "liveness-seconds"

    def test_a_protected_identity_is_told_once(self) -> None:
        made = tracker(CollectorPolicy(protected=("code.desktop",)))
        assert look(made, EDITOR) is not None
        assert look(made, EDITOR) is None


def test_texts_are_cut_to_their_bounds_on_a_character_boundary() -> None:
    long = Description(ElementState.NOT_SECURE, app_name="é" * 300, title="x" + "你" * 3000, role="r" * 3000, document="/" + "é" * 3000)
    made = look(tracker(), EDITOR, long)
    assert made["app"]["name"] == "é" * 256
    assert made["window"]["title"] == "x" + "你" * 1365
    assert made["window"]["document"] == "/" + "é" * 2047
    assert made["element"]["role"] == "r" * 2048


def test_a_text_is_judged_whole_before_it_is_cut() -> None:
    made = look(tracker(), EDITOR, Description(ElementState.NOT_SECURE, title="x" * 5000 + " secrets"))
    assert made["privacy"]["reason"] == "protected-metadata"
