"""`triptych activity start`, `status`, `pause`, `resume` and `stop`: the host of a data directory, and how it is told what to do."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import TriptychError, Unavailable
from ...generated.collector.vocabulary import DEFAULT_INTAKE_PORT
from .options import data_option, enable_option, json_option, liveness_option, table_option, unknown_fields_option
from .spelling import print_json

if TYPE_CHECKING:
    from ..activity import Recording

DETACH_SECONDS = 20.0


@click.command("start")
@data_option
@click.option("--detach", is_flag=True, help="Go to the background; the log is host.log in the data directory.")
@enable_option
@table_option
@liveness_option
@unknown_fields_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_INTAKE_PORT,
    show_default=True,
    help="Where companions report; 0: any free port.",
)
@click.option("--no-companions", is_flag=True, help="Listen for no browser and no editor.")
@json_option
@click.option("--ready-fd", type=int, hidden=True)
def start_command(
    data_dir: Path,
    detach: bool,
    enable_accessibility: bool,
    adapter_table: Path | None,
    liveness_seconds: float,
    unknown_fields: str,
    port: int,
    no_companions: bool,
    as_json: bool,
    ready_fd: int | None,
) -> None:
    """Record until Ctrl-C or `triptych activity stop`, under the policy that is stored. A new record allows nothing.

    Nothing that is observed is printed; look at it with `triptych activity today`.
    """
    import asyncio

    from .. import logs

    if detach:
        options = ["--unknown-fields", unknown_fields, "--port", str(port), "--liveness-seconds", str(liveness_seconds)]
        options += ["--enable-accessibility"] * enable_accessibility + ["--no-companions"] * no_companions
        if adapter_table is not None:
            options += ["--adapter-table", str(adapter_table.resolve())]
        answer = _detach(data_dir, options)
        _started(data_dir, answer, as_json)
        return
    logs.to_stderr()
    chosen = {
        "adapter_table": adapter_table,
        "enable_accessibility": enable_accessibility,
        "liveness_seconds": liveness_seconds,
        "unknown_fields": unknown_fields,
        "companions": None if no_companions else port,
    }
    try:
        asyncio.run(_serve(data_dir, chosen, as_json, ready_fd))
    except TriptychError:
        raise
    except Exception as error:
        if ready_fd is None:
            raise
        # What stood on the screen may be in the traceback, and belongs in no log.
        raise Unavailable(f"the host failed: {type(error).__name__}", "start it without --detach to see more") from None


@click.command("status")
@data_option
@json_option
def status_command(data_dir: Path, as_json: bool) -> None:
    """Say whether it records, and if not, why; what is allowed, what is recorded, and what was refused."""
    from .status import lines, look

    status = look(data_dir)
    if as_json:
        print_json(status)
    else:
        click.echo("\n".join(lines(status)))


@click.command("pause")
@data_option
@json_option
def pause_command(data_dir: Path, as_json: bool) -> None:
    """Record nothing from this moment on, until `triptych activity resume`."""
    _tell(data_dir, "pause", as_json)


@click.command("resume")
@data_option
@json_option
def resume_command(data_dir: Path, as_json: bool) -> None:
    """Record again after a pause, or after a collector was given up."""
    _tell(data_dir, "resume", as_json)


@click.command("stop")
@data_option
@json_option
def stop_command(data_dir: Path, as_json: bool) -> None:
    """End the host that records into the directory, and wait until it is gone. Where none runs there is nothing to do."""
    from ...adapters.collector.control_socket import NoHost, ask, wait_until_gone

    try:
        pid = ask(data_dir, "stop")["pid"]
        wait_until_gone(pid)
    except NoHost:
        pid = None
    if as_json:
        print_json({"stopped": pid is not None, "pid": pid})
    else:
        click.echo("stopped" if pid is not None else f"no host records into {data_dir}")


def _tell(data_dir: Path, command: str, as_json: bool) -> None:
    from ...adapters.collector.control_socket import ask
    from .status import health_line

    answer = ask(data_dir, command)
    if as_json:
        print_json(answer["health"])
    else:
        click.echo(health_line(answer))


async def _serve(data_dir: Path, options: dict[str, Any], as_json: bool, ready_fd: int | None) -> None:
    import asyncio

    from .. import activity
    from . import service

    ended = asyncio.Event()
    detached, said = ready_fd is not None, ""
    async with activity.record(data_dir, **options) as recording:
        with service.ended_by_signals(ended):
            await service.require_bus()

            def changed() -> None:
                nonlocal said
                health = recording.health
                word = service.last_line(recording.collector_stderr) if health.reason == "collector-exited" else ""
                state = service.quiet_state_line(health) if detached else service.state_line(health, word)
                if state != said:
                    said = state
                    click.echo(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {state}" if detached else state, err=True)

            async with service.controlled(recording, ended):
                _ready(recording, as_json, ready_fd)
                await service.watch(recording, ended, changed)


def _ready(recording: Recording, as_json: bool, ready_fd: int | None) -> None:
    """Say that it runs: to whoever started it in the background, or to a person."""
    import json

    answer = {"pid": os.getpid(), "data": str(recording.data_dir), "allowsAnApp": recording.policy.allows_an_app}
    if ready_fd is None:
        _started(recording.data_dir, answer, as_json)
        return
    with os.fdopen(ready_fd, "w") as pipe:
        pipe.write(json.dumps(answer))


def _started(data_dir: Path, answer: dict[str, Any], as_json: bool) -> None:
    """The answer of `start`: one line, and one more when nothing is allowed yet."""
    if as_json:
        print_json(answer)
        return
    click.echo(f"recording into {data_dir} (process {answer['pid']})")
    if not answer["allowsAnApp"]:
        click.echo("no application is allowed yet, so nothing is recorded; see what is open: triptych activity policy allow")


def _detach(data_dir: Path, options: list[str]) -> dict[str, Any]:
    """Start the same command in the background, and wait until it records. Raises Unavailable with what it said instead."""
    import json
    import select
    import subprocess
    import time

    from ...adapters.collector.store import private_folder
    from ..child import triptych_command
    from .service import LOG_NAME, private_log

    private_folder(data_dir)
    path = data_dir / LOG_NAME
    try:
        log = private_log(path)
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}", "check the data directory") from None
    reading, writing = os.pipe()
    try:
        before = os.fstat(log).st_size
        process = subprocess.Popen(
            triptych_command("activity", "start", "--data", str(data_dir.resolve()), "--ready-fd", str(writing), *options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=(writing,),
            start_new_session=True,
            cwd="/",
        )
        os.close(writing)
        writing = -1
        told, deadline = b"", time.monotonic() + DETACH_SECONDS
        while select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]:
            if not (chunk := os.read(reading, 65536)):
                break
            told += chunk
        if told:
            process.returncode = 0  # it goes on without us: nobody waits for it
            return dict(json.loads(told))
        process.terminate()
        process.wait()
        raise Unavailable(*_last_words(path, before))
    finally:
        os.close(log)
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _last_words(path: Path, offset: int) -> tuple[str, str]:
    """Why the host in the background ended, as its log says."""
    with path.open("rb") as log:
        log.seek(offset)
        lines = [line for line in log.read().decode(errors="replace").splitlines() if line.startswith("triptych: ")]
    return (lines[-1].removeprefix("triptych: "), "") if lines else ("the host did not start", f"see {path}")
