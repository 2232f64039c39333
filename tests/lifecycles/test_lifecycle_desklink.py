"""A desktop session, its path to the client, its capture, and the display keeper: each end, each loss and each recovery."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.errors import IllegalEvent
from triptych.machines.desklink import capture as grab
from triptych.machines.desklink import ice as path
from triptych.machines.desklink import keeper as wm
from triptych.machines.desklink.capture import Capture
from triptych.machines.desklink.ice import Ice
from triptych.machines.desklink.keeper import Keeper
from triptych.machines.desklink.session import (
    CloseControl,
    ClosePeer,
    DropFeed,
    EmitRevoked,
    EmitState,
    RefuseControl,
    ReleaseInput,
    Session,
    StartTransport,
    StopCapture,
    StopEncoding,
)
from triptych.machines.lifecycle import Deadline, Lifecycle

LOST = "the connection to the phone was lost"
CAPTURED = ("opened", {"captured": True})
FED = ("opened", {"captured": False})


def lived(life: Lifecycle[Any], *steps: tuple[str, dict[str, Any]], at: float = 1.0) -> Any:
    for event, data in steps:
        life.step(event, at, **data)
    return life


# session


def the_end(reason: str, code: Any, *revoked: Any) -> tuple[Any, ...]:
    return (
        Deadline("lease_expired", None),
        *revoked,
        RefuseControl(),
        StopEncoding(),
        DropFeed(),
        ReleaseInput(),
        CloseControl(reason, code),
        ClosePeer(),
        StopCapture(),
        EmitState("ended", "closed", False),
    )


def test_a_captured_session_offers_at_once_and_fed_video_when_its_parameters_are_known() -> None:
    state = EmitState("consented", "new", False)
    assert Session().step("opened", 10.0, captured=True) == (Deadline("lease_expired", 3610.0), StartTransport(), state)
    fed = Session()
    assert fed.step("opened", 10.0, captured=False, lease=60.0) == (Deadline("lease_expired", 70.0), state)
    assert fed.step("described", 11.0) == (StartTransport(),)
    with pytest.raises(IllegalEvent):
        fed.step("described", 12.0)
    with pytest.raises(IllegalEvent):
        lived(Session(), CAPTURED).step("described", 12.0)


def test_the_state_tells_of_transport_picture_and_capture() -> None:
    life = lived(Session(), CAPTURED)
    assert life.step("transport_changed", 2.0, transport="connecting") == (EmitState("consented", "connecting", False),)
    assert life.step("transport_changed", 2.0, transport="connected") == (EmitState("consented", "connected", False),)
    assert life.step("first_frame", 2.1) == (EmitState("streaming", "connected", True),)
    assert life.state == "streaming"
    assert life.step("transport_changed", 3.0, transport="disconnected") == (EmitState("streaming", "disconnected", True),)
    assert life.step("capture_changed", 4.0, capture="ended") == (EmitState("ended", "disconnected", True),)
    assert life.step("transport_changed", 5.0, transport="connected") == (EmitState("ended", "connected", True),)
    assert life.state == "streaming"
    assert life.step("capture_changed", 6.0, capture="streaming") == (EmitState("streaming", "connected", True),)


@pytest.mark.parametrize("before", [(CAPTURED,), (FED,), (CAPTURED, ("first_frame", {}))])
@pytest.mark.parametrize(
    ("event", "data", "end"),
    [
        ("close", {}, the_end("the session was closed", "closed")),
        ("replace", {}, the_end("another session was opened", "closed")),
        ("lease_expired", {}, the_end("the session lease expired", "lease", EmitRevoked("the session lease expired", "lease"))),
        ("revoke", {"code": "transport"}, the_end(LOST, "transport", EmitRevoked(LOST, "transport"))),
        (
            "revoke",
            {"code": "error"},
            the_end("the encoder rejected a frame", "error", EmitRevoked("the encoder rejected a frame", "error")),
        ),
        ("revoke", {"code": "error", "reason": "no SPS"}, the_end("no SPS", "error", EmitRevoked("no SPS", "error"))),
    ],
)
def test_every_end_does_the_same_things_in_the_same_order(before: Any, event: str, data: Any, end: Any) -> None:
    life = lived(Session(), *before)
    assert life.step(event, 9.0, **data) == end
    assert life.is_over
    for again in ("close", "replace", "lease_expired"):
        with pytest.raises(IllegalEvent) as refused:
            life.step(again, 9.1)
        assert refused.value.code == "session"


@pytest.mark.parametrize("event", ["refuse", "close", "replace"])
def test_an_open_that_was_not_answered_is_undone_without_a_word(event: str) -> None:
    life = Session()
    assert life.step(event, 1.0) == (RefuseControl(), ReleaseInput(), StopCapture())
    assert life.is_over


# ice

CONNECTED = (("offer", {}), ("answered", {}), ("path_up", {}))


def test_the_straight_way_to_a_path() -> None:
    life = Ice()
    assert life.step("offer", 1.0) == (path.SendOffer(1),)
    assert life.step("answered", 2.0) == (path.StartChecks(1), path.EmitTransport("connecting"), Deadline("path_silent", 32.0))
    assert life.step("path_up", 2.5) == (path.EmitTransport("connected"), path.RequestKeyframe(), Deadline("path_silent", 7.5))
    assert life.state == "connected"


def test_silence_is_judged_by_what_was_heard() -> None:
    life = lived(Ice(), *CONNECTED, at=0.0)
    assert life.step("path_silent", 5.0, heard_at=4.0) == (Deadline("path_silent", 9.0),)
    assert life.state == "connected"
    assert life.step("path_silent", 9.0, heard_at=4.0) == (
        ReleaseInput(),
        path.EmitTransport("disconnected"),
        Deadline("path_silent", 34.0),
    )
    assert life.state == "disconnected"
    assert life.step("path_silent", 33.0, heard_at=4.0) == (Deadline("path_silent", 34.0),)
    assert life.step("path_silent", 34.0, heard_at=4.0) == (
        ReleaseInput(),
        Deadline("path_silent", None),
        path.EmitTransport("failed"),
        path.Revoke(LOST, "transport"),
    )
    assert life.state == "failed"
    assert life.step("close", 35.0) == (ReleaseInput(), Deadline("path_silent", None))
    assert life.is_over


@pytest.mark.parametrize(("event", "data"), [("path_up", {}), ("path_silent", {"heard_at": 9.9})])
def test_a_path_that_is_heard_again_is_connected_and_wants_a_key_frame(event: str, data: dict[str, Any]) -> None:
    for state in ("disconnected", "restarting"):
        life = Ice.restore(state, path.Memory(generation=1, since=0.0))
        assert life.step(event, 10.0, **data) == (
            path.EmitTransport("connected"),
            path.RequestKeyframe(),
            Deadline("path_silent", 15.0),
        )
        assert life.state == "connected"


def test_a_path_that_never_comes_up_fails_after_30_s() -> None:
    life = lived(Ice(), ("offer", {}), ("answered", {}), at=0.0)
    assert life.step("path_silent", 30.0, heard_at=12.0) == (Deadline("path_silent", 42.0),)
    life.step("path_silent", 42.0, heard_at=12.0)
    assert life.state == "failed"


def test_a_restart_turns_over_the_generation_and_gives_it_30_s() -> None:
    life = Ice.restore("disconnected", path.Memory(generation=1, since=0.0))
    assert life.step("restart", 20.0) == (path.SendOffer(2), Deadline("path_silent", 50.0))
    assert life.state == "restarting"
    assert life.step("path_silent", 35.0, heard_at=4.0) == (Deadline("path_silent", 50.0),)
    assert life.step("answered", 36.0) == (path.StartChecks(2),)
    assert life.step("restart", 45.0) == (path.SendOffer(3), Deadline("path_silent", 75.0))
    assert life.step("answered", 46.0) == (path.StartChecks(3),)
    with pytest.raises(IllegalEvent) as refused:
        life.step("answered", 47.0)
    assert refused.value.code == "transport"
    life.step("path_silent", 75.0, heard_at=4.0)
    assert life.state == "failed"


def test_a_restart_over_a_working_path_leaves_it_working() -> None:
    life = lived(Ice(), *CONNECTED)
    assert life.step("restart", 2.0) == (path.SendOffer(2),)
    assert life.state == "connected"
    assert life.step("answered", 2.5) == (path.StartChecks(2),)
    assert life.step("path_up", 3.0) == (Deadline("path_silent", 8.0),)
    assert life.state == "connected"


def test_what_has_no_offer_can_neither_be_restarted_nor_answered() -> None:
    life = Ice()
    for event in ("restart", "answered", "path_up"):
        with pytest.raises(IllegalEvent) as refused:
            life.step(event, 1.0)
        assert refused.value.code == "transport"
    life.step("offer", 1.0)
    with pytest.raises(IllegalEvent):
        life.step("offer", 1.0)
    assert life.step("restart", 1.5) == (path.SendOffer(2),)
    assert life.step("answered", 2.0)[0] == path.StartChecks(2)


@pytest.mark.parametrize("state", ["new", "connecting", "connected", "disconnected", "restarting"])
def test_every_loss_releases_the_input_first_and_revokes(state: str) -> None:
    for event, word in (("transport_failed", "failed"), ("peer_closed", "closed")):
        life = Ice.restore(state, path.Memory(generation=1))
        assert life.step(event, 1.0) == (
            ReleaseInput(),
            Deadline("path_silent", None),
            path.EmitTransport(word),  # type: ignore[arg-type]  a word of the vocabulary, out of a list
            path.Revoke(LOST, "transport"),
        )
        assert life.state == word
    ours = Ice.restore(state, path.Memory(generation=1))
    assert ours.step("close", 1.0) == (ReleaseInput(), Deadline("path_silent", None))


# capture


def test_a_lost_capture_is_told_once_and_tried_three_times() -> None:
    life = lived(Capture(), ("started", {}))
    assert life.step("lost", 10.0, reason="connection to :42 was lost") == (
        grab.DropFrame(),
        grab.WakeWaiters("stream-stopped"),
        grab.EmitCaptureStopped("connection to :42 was lost"),
        Deadline("retry_due", 10.2),
    )
    assert life.state == "stopped"
    assert life.step("retry_due", 10.2) == (grab.Reopen(1),)
    assert life.state == "retrying"
    assert life.step("reopen_failed", 10.3) == (Deadline("retry_due", 11.3),)
    assert life.step("retry_due", 11.3) == (grab.Reopen(2),)
    assert life.step("reopen_failed", 11.4) == (Deadline("retry_due", 14.4),)
    assert life.step("retry_due", 14.4) == (grab.Reopen(3),)
    assert life.step("reopen_failed", 14.5) == (grab.Halt(), grab.EmitCapture("ended"))
    assert life.is_over


def test_a_retry_that_works_starts_again_at_full() -> None:
    life = lived(Capture(), ("started", {}), ("lost", {"reason": "x"}), ("retry_due", {}), ("reopen_failed", {}), ("retry_due", {}))
    assert life.step("reopened", 5.0) == (grab.EmitCapture("streaming"),)
    assert (life.state, life.memory) == ("streaming", grab.Memory())
    life.step("lost", 6.0, reason="again")
    assert life.step("retry_due", 6.2) == (grab.Reopen(1),)


@pytest.mark.parametrize("state", ["starting", "streaming", "stopped", "retrying"])
def test_closing_stops_the_grab_whatever_it_does(state: str) -> None:
    life = Capture.restore(state)
    assert life.step("close", 1.0) == (Deadline("retry_due", None), grab.Halt(), grab.DropFrame(), grab.WakeWaiters("session"))
    assert life.is_over


def test_a_capture_that_does_not_start_is_given_back() -> None:
    life = Capture()
    assert life.step("start_failed", 1.0) == (grab.Halt(),)
    assert life.is_over


# keeper


def test_the_first_report_follows_the_claim_at_once() -> None:
    life = Keeper()
    assert life.step("start", 1.0) == (wm.Claim(),)
    assert life.step("claimed", 1.1) == (wm.Adopt(), wm.Report())
    assert life.state == "keeping"


@pytest.mark.parametrize(
    ("event", "data", "text"),
    [
        ("display_missing", {}, "no display given"),
        ("display_unopenable", {"display": ":42", "detail": "refused"}, "cannot open X display :42: refused"),
        ("occupied", {}, "another window manager"),
    ],
)
def test_a_refused_start_is_one_line_and_exit_1(event: str, data: dict[str, Any], text: str) -> None:
    life = lived(Keeper(), ("start", {}))
    assert life.step(event, 1.0, **data) == (wm.ReportError(text), wm.Exit(1))
    assert life.state == "refused"


def test_a_change_is_reported_after_the_quiet_and_never_later_than_300_ms() -> None:
    life = lived(Keeper(), ("start", {}), ("claimed", {}))
    assert life.step("changed", 10.0) == (Deadline("report_due", 10.1),)
    due = [life.step("changed", 10.0 + tenth * 0.08)[0].at for tenth in range(1, 5)]
    assert due == pytest.approx([10.18, 10.26, 10.3, 10.3])
    assert life.step("report_due", 10.3) == (wm.Report(),)
    assert life.step("report_due", 10.4) == ()
    assert life.step("changed", 11.0) == (Deadline("report_due", 11.1),)


@pytest.mark.parametrize("event", ["display_gone", "output_closed", "stop"])
@pytest.mark.parametrize("before", [(), (("claimed", {}),)])
def test_the_end_of_the_screen_is_a_normal_end(before: Any, event: str) -> None:
    life = lived(Keeper(), ("start", {}), *before)
    assert life.step(event, 2.0) == (Deadline("report_due", None), wm.Exit(0))
    assert life.state == "gone"
