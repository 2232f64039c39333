"""The whole way on a real desktop: a GTK program, the accessibility bus, the collector process, the host, the choke point, the database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import triptych
from activity_kit import FORM, Desk, desk, every_byte
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from triptych.engine import activity, activity_sync
from triptych.errors import Unavailable, WaitTimeout

pytestmark = [pytest.mark.display, pytest.mark.slow]


@pytest.fixture
def desktop(private_display: PrivateDisplay, tmp_path: Path, gtk_program: Callable[..., GtkForm]) -> Iterator[Desk]:
    with desk(private_display, tmp_path, gtk_program) as made:
        yield made


def options(desktop: Desk, **more: Any) -> dict[str, Any]:
    return {"allow": [FORM], "adapter_table": desktop.table, "env": desktop.env, "enable_accessibility": True, **more}


def test_the_focused_window_of_an_allowed_program_is_recorded(desktop: Desk) -> None:
    async def main() -> None:
        async with activity.record(desktop.data, **options(desktop)) as recording:
            form = desktop.form("Notes on the garden")
            seen = await recording.wait_for_observation(title="Notes on the garden", role="text")
            assert (seen.bundle_id, seen.pid, seen.app_name) == (FORM, form.pid, "gtk_form.py")
            assert (seen.surface_kind, seen.adapter, seen.provider, seen.policy_revision) == ("window", "form", "at-spi", 2)
            assert seen.idle_seconds is not None and seen.idle_seconds >= 0
            assert seen.session.startswith("linux-")
            desktop.click(form, "Save")
            pressed = await recording.wait_for_observation(role="push button", after_id=seen.id)
            assert pressed.seq > seen.seq and pressed.title == "Notes on the garden"
            health = recording.health
            assert (health.capture, health.reason, health.accessibility_trusted) == ("running", None, True)
            assert health.collector is not None and health.collector.version == triptych.__version__
        assert recording.health.capture == "stopped"

    asyncio.run(main())


def test_a_password_field_withholds_the_window_and_is_counted(desktop: Desk) -> None:
    async def main() -> None:
        async with activity.record(desktop.data, **options(desktop)) as recording:
            form = desktop.form("Sign in to the zoo")
            before = await recording.wait_for_observation(title="Sign in to the zoo", role="text")
            refused = recording.health.refusals.by_reason.get("secure-field", 0)
            desktop.click(form, "Password")
            form.wait_for("focus", name="Password")
            await recording.wait_for_refusal("secure-field", times=refused + 1)
            assert recording.last_id == before.id
            desktop.input.type_text("hunter2")
            form.wait_for("password", length=7)
            desktop.click(form, "Save")
            after = await recording.wait_for_observation(role="push button", after_id=before.id)
            assert after.id == before.id + 1

    asyncio.run(main())
    roles = [row.role for row in activity.observations(desktop.data)]
    assert "password text" not in roles
    assert b"hunter2" not in every_byte(desktop.data)


SECRET = "Quokka-Tapir-7731"


def test_no_byte_of_a_window_that_is_not_included_reaches_anything(desktop: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    """Two records of one desktop. The program has an adapter entry in both; only one policy allows it, and that one sees every step."""

    async def main() -> bytes:
        included = activity.record(desktop.data.with_name("included"), **options(desktop))
        excluded = activity.record(desktop.data, **wiretapped(desktop, allow=["org.gnome.Terminal.desktop"]))
        async with included as witness, excluded as recording:
            await recording.wait_for_capture("running")
            form = desktop.form(f"{SECRET} plans")
            last = await witness.wait_for_observation(title=f"{SECRET} plans", role="text")
            desktop.click(form, "Password")
            await witness.wait_for_refusal("secure-field")
            for widget, role in (("Save", "push button"), ("Name", "text"), ("Save", "push button")):
                desktop.click(form, widget)
                last = await witness.wait_for_observation(role=role, after_id=last.id)
            await recording.allow(["org.gnome.Nautilus.desktop"])
            desktop.click(form, "Name")
            await witness.wait_for_observation(role="text", after_id=last.id)
            await recording.pause()
            assert recording.observations() == []
            assert recording.health.refusals.total == 0
            during = every_byte(desktop.data)
        return during + recording.collector_stderr

    during = asyncio.run(main())
    captured = capfd.readouterr()
    wire = desktop.wire.read_bytes()
    assert wire.count(b'"configured"') == 2
    for everything in (during, every_byte(desktop.data), wire):
        for trace in TRACES:
            assert trace not in everything
    assert SECRET not in captured.out + captured.err
    for trace in (SECRET.encode(), b"gtk_form", FORM.encode()):
        assert trace in every_byte(desktop.data.with_name("included")), "the search finds what is there"


TRACES = (SECRET.encode(), SECRET.encode("utf-16-le"), b"GtkForm", b"gtk_form", FORM.encode())


def wiretapped(desktop: Desk, **more: Any) -> dict[str, Any]:
    """The options that also write all that the collector says to `desktop.wire`."""
    collect = activity.collect_command(adapter_table=desktop.table, enable_accessibility=True)
    return options(desktop, command=["/bin/sh", "-c", '"$@" | tee -a "$0"', str(desktop.wire), *collect], **more)


async def recorded(desktop: Desk, title: str) -> None:
    async with activity.record(desktop.data, **options(desktop)) as recording:
        desktop.form(title)
        await recording.wait_for_observation(title=title)


def test_a_protected_program_is_counted_and_only_its_identity_was_ever_read(desktop: Desk) -> None:
    async def main() -> None:
        protect = activity.Rule("mine", "app", "protect", "exact", FORM)
        async with activity.record(desktop.data, **options(desktop, allow=[FORM, protect])) as recording:
            desktop.form(SECRET)
            await recording.wait_for_refusal("protected-app")
            assert recording.observations() == []

    asyncio.run(main())
    assert SECRET.encode() not in every_byte(desktop.data)


def test_pause_resume_and_a_new_policy_take_effect_at_once(desktop: Desk) -> None:
    async def main() -> None:
        async with activity.record(desktop.data, **options(desktop)) as recording:
            form = desktop.form("Before the pause")
            first = await recording.wait_for_observation(title="Before the pause", role="text")
            await recording.pause()
            assert recording.health.capture == "paused"
            desktop.click(form, "Save")
            form.wait_for("click")
            await recording.resume()
            assert recording.health.capture == "running"
            again = await recording.wait_for_observation(after_id=first.id)
            assert again.role == "push button"
            await recording.allow([])
            assert (recording.health.capture, recording.health.reason) == ("running", "no-apps-allowed")
            desktop.click(form, "Name")
            form.wait_for("focus", name="Name")
            await recording.allow([FORM])
            seen = await recording.wait_for_observation(role="text", after_id=again.id)
            assert seen.policy_revision == again.policy_revision + 2

    asyncio.run(main())


def test_the_title_is_followed_and_another_window_takes_its_place(desktop: Desk) -> None:
    async def main() -> None:
        async with activity.record(desktop.data, **options(desktop)) as recording:
            desktop.form("The first of two")
            first = await recording.wait_for_observation(title="The first of two")
            second_form = desktop.form("The second of two")
            second = await recording.wait_for_observation(title="The second of two", after_id=first.id)
            assert second.pid == second_form.pid
            second_form.command("quit")
            second_form.wait_for("close")
            back = await recording.wait_for_observation(title="The first of two", after_id=second.id)
            assert back.seq > second.seq

    asyncio.run(main())


def test_one_host_records_into_a_directory(desktop: Desk) -> None:
    async def main() -> None:
        async with activity.record(desktop.data, **options(desktop)):
            with pytest.raises(Unavailable) as caught:
                async with activity.record(desktop.data, **options(desktop)):
                    pass
            assert "capture-owned-by-another-host" in caught.value.reason

    asyncio.run(main())


def test_the_synchronous_twin_and_what_a_timeout_says(desktop: Desk) -> None:
    with activity_sync.record(desktop.data, **options(desktop)) as recording:
        desktop.form("In step")
        assert recording.wait_for_observation(title="In step").bundle_id == FORM
        with pytest.raises(WaitTimeout) as caught:
            recording.wait_for_observation(title="Never shown", timeout=0.2)
    assert "Never shown" in caught.value.waited_for
    assert "capture running" in caught.value.seen and "In step" in caught.value.seen


def test_rows_stay_what_they_were_when_the_file_is_opened_by_another_program(desktop: Desk) -> None:
    asyncio.run(recorded(desktop, "Kept in a table"))
    with sqlite3.connect(f"file:{desktop.data / 'history.sqlite'}?mode=ro", uri=True) as database:
        assert database.execute(
            "SELECT count(*) > 0 FROM observations JOIN titles ON titles.id = title_id WHERE title = 'Kept in a table'"
        ).fetchone() == (1,)
    database.close()
