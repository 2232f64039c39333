"""The one module that knows the insides of aioice and aiortc: it says at the start when they are not what it knows."""

from __future__ import annotations

import asyncio
import importlib.metadata
import re
from pathlib import Path

import pytest

from triptych.adapters.desklink.transport import NoTransport
from triptych.adapters.desklink.webrtc import association, library, transport, versions
from triptych.errors import Unavailable

PACKAGE = Path(library.__file__).parent


def test_the_installed_libraries_are_known() -> None:
    library.check()


@pytest.mark.parametrize("package", sorted(versions.KNOWN))
def test_another_minor_version_is_refused_by_name(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "9.99.1" if name == package else real(name))
    with pytest.raises(Unavailable) as refused:
        library.check()
    assert f"{package} 9.99.1" in refused.value.reason
    assert versions.KNOWN[package] in refused.value.remedy


@pytest.mark.parametrize(("owner", "name"), library.PRIVATE, ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_private_name_that_is_gone_is_told(owner: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "PRIVATE", ((owner, name), (owner, name + "_of_tomorrow")))
    with pytest.raises(Unavailable) as refused:
        library.check()
    assert f"{owner.__name__}.{name}_of_tomorrow" in refused.value.reason
    assert refused.value.reason.count(f"{owner.__name__}.{name}") == 1


def test_no_other_module_touches_the_libraries() -> None:
    for path in PACKAGE.glob("*.py"):
        if path.name not in ("library.py", "association.py"):
            assert not re.search(r"^\s*(from|import) (aioice|aiortc|pylibsrtp|OpenSSL)", path.read_text(), re.MULTILINE), path.name


def test_every_private_name_that_is_used_is_checked() -> None:
    text = Path(library.__file__).read_text() + Path(association.__file__).read_text()
    known = {name for _, name in library.PRIVATE}
    own = set(re.findall(r"self\.(_[a-z_]+)(?: =|:)", text)) | set(re.findall(r"def (_[a-z_]+)", text))
    used = set(re.findall(r"\.(_[a-z][a-z_]*)\b", text)) | set(re.findall(r"super\(\)\.(_?[a-z][a-z_]*)\(", text))
    inherited = {"add_remote_candidate", "connect", "start", "stop", "datagram_received", "request", "close", "check_incoming"}
    assert used - own - known - inherited == set()


def test_without_the_libraries_there_is_no_transport_and_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert transport.available() is transport.WebRtc

    def gone(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", gone)
    assert transport.available() is NoTransport
    missing = versions.strange()
    assert missing is not None and "aioice" in missing.reason and "triptych[desktop]" in missing.remedy

    async def main() -> None:
        with pytest.raises(Unavailable):
            transport.WebRtc(None)  # type: ignore[arg-type]  # it looks for its libraries first

    asyncio.run(main())


def test_what_breaks_in_a_timer_or_a_task_of_a_library_is_told_from_what_breaks_in_ours() -> None:
    import aioice.stun

    async def main() -> list[str | None]:
        loop, seen = asyncio.get_running_loop(), list[str | None]()
        loop.set_exception_handler(lambda _, context: seen.append(versions.broke(context["exception"])))
        loop.call_soon(aioice.stun.parse_message, b"rubbish")
        loop.call_soon([].pop)
        loop.call_soon(lambda: aioice.stun.parse_message(b"rubbish"))  # what broke in theirs, called by ours, is ours
        await asyncio.sleep(0)  # lets those three be called first
        return seen

    assert asyncio.run(main()) == ["aioice", None, None]
