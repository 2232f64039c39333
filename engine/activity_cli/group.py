"""The group `triptych activity`: it finds the right command. Each family of commands has its own module, imported when it is called.

engine/cli.py adds it.
"""

from __future__ import annotations

import click

from ..lazy_group import LazyGroup

#: command → (module beside this one, attribute, help line), in the order of a person's first day.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "start": ("service_command", "start_command", "Record, in the foreground or with --detach in the background."),
    "status": ("service_command", "status_command", "Say whether it records, and if not, why."),
    "pause": ("service_command", "pause_command", "Record nothing until resume."),
    "resume": ("service_command", "resume_command", "Record again, also after a collector was given up."),
    "stop": ("service_command", "stop_command", "End the host that runs."),
    "policy": ("policy_command", "policy_command", "Say what may be recorded: applications, files, sites, workspaces."),
    "pair": ("pair_command", "pair_command", "Pair a browser or an editor, whose companion reports what it shows."),
    "today": ("read_command", "today_command", "Show a day as a timeline, with the time of each workspace."),
    "episodes": ("read_command", "episodes_command", "List the episodes: spans of work on one thing."),
    "search": ("read_command", "search_command", "Find where a title, a file or an application occurs."),
    "export": ("export_command", "export_command", "Write the episodes as JSON, CSV, a calendar or a page."),
    "delete": ("delete_command", "delete_command", "Delete all, an application, an episode or a span of time."),
    "doctor": ("doctor_command", "doctor_command", "Explain an empty record, and what mends it."),
    "record": ("record_command", "record_command", "Record in the foreground and print each observation."),
    "show": ("record_command", "show_command", "Print the recorded observations."),
    "replay": ("replay", "replay_command", "Feed recorded collector lines through parser, gates and storage."),
    "collect": ("record_command", "collect_command", "Be a collector: commands on stdin, messages on stdout."),
}


@click.group("activity", cls=LazyGroup, table=COMMANDS, package=__package__)
def activity_command() -> None:
    """Keep a private, include-only record of where a person works: which application, window and file, never what is in them."""
