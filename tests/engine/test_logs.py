"""Log lines never reach stdout: not from the command, and not from the library in a program that configured nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CONFIGURED = ("", "from triptych.engine.logs import to_stderr; to_stderr('info')")


@pytest.mark.parametrize("configure", CONFIGURED)
def test_a_log_line_goes_to_stderr(configure: str) -> None:
    code = f"{configure}\nfrom triptych.adapters.log import get_logger\nget_logger().warning('something odd', number=7)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert answer.stdout == ""
    assert "something odd" in answer.stderr
    assert "7" in answer.stderr


def test_a_logged_exception_has_its_traceback_in_the_json_line() -> None:
    code = (
        "from triptych.engine.logs import to_stderr; to_stderr()\nfrom triptych.adapters.log import get_logger\n"
        "try:\n    {}['key']\nexcept KeyError as error:\n    get_logger().error('broken', exc_info=error)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    [line] = answer.stderr.splitlines()
    assert "Traceback" in json.loads(line)["exception"]


def test_an_application_that_configured_structlog_gets_the_lines_where_it_wants_them() -> None:
    code = (
        "import io, structlog\nplace = io.StringIO()\nstructlog.configure(logger_factory=structlog.PrintLoggerFactory(place))\n"
        "from triptych.adapters.log import get_logger\nget_logger().warning('something odd')\nassert 'something odd' in place.getvalue()"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert (answer.stdout, answer.stderr) == ("", "")


@pytest.mark.parametrize("configure", CONFIGURED)
@pytest.mark.parametrize("broken", ["import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 2)", "import sys; sys.stderr.close()"])
def test_a_line_that_nobody_can_take_is_lost_and_breaks_nothing(configure: str, broken: str) -> None:
    log = "from triptych.adapters.log import get_logger\nget_logger().warning('something odd')\nprint('still here')"
    code = f"{configure}\n{broken}\n{log}"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.stdout == "still here\n"
