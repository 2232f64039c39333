"""What is the host's own and passes through no socket: restore tokens, frames, and the end of the engine; against an engine that tries."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import aiohttp
import pytest

from triptych.adapters.desklink.bridge import BridgeServer
from triptych.engine.web import page

SECRET = "a-restore-token-that-is-nobody-elses"
LEAKING = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, params = asked["method"], asked.get("params") or {}
    if method == "shutdown":
        break
    if method == "session.open":
        for name, more in (("session.restoreToken", {"token": SECRET}), ("session.frame.changed", {"seq": 1, "damage": [[0, 0, 1, 1]]}),
                           ("session.state", {"capture": "consented", "transport": "new", "firstFrame": False})):
            print(json.dumps({"event": name, "params": {"sessionId": "s1", **more}}), flush=True)
        print("here is " + SECRET, file=sys.stderr, flush=True)
    print(json.dumps({"id": asked["id"], "result": {"engine": "leaking/1", "sessionId": "s1", "heard": [method, params]}}), flush=True)
print("it was shut down", file=sys.stderr, flush=True)
"""
"""An engine that says everything it has to whoever asks."""


def test_a_restore_token_reaches_no_socket_no_log_and_comes_from_none(caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    complaints: list[str] = []

    async def main() -> None:
        program = f"SECRET = {SECRET!r}\n{LEAKING}"
        command = [sys.executable, "-c", program]
        server = BridgeServer(command, {"kind": "portal"}, page(), on_engine_error=complaints.append)
        host, port = await server.start("127.0.0.1", 0)
        heard: list[str] = []
        try:
            async with aiohttp.ClientSession() as session:
                address = f"http://{host}:{port}/desktop?token={server.token}"
                async with session.ws_connect(address) as one, session.ws_connect(address) as two:

                    async def ask(id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
                        await one.send_str(json.dumps({"id": id, "method": method, "params": params}))
                        while True:
                            heard.append(await asyncio.wait_for(one.receive_str(), 10))
                            if (message := json.loads(heard[-1])).get("id") == id:
                                return dict(message)

                    given = {"permissions": ["view"], "restore_token": "mine", "local_frames": True}
                    opened = (await ask(1, "session.open", given))["result"]["heard"][1]
                    # The socket's own token and its wish for frames do not get in either.
                    assert opened == {"permissions": ["view"], "source": {"kind": "portal"}, "local_frames": False}
                    for method in ("session.frame", "shutdown"):
                        assert (await ask(2, method, {"session_id": "s1", "path": "/tmp/x"}))["error"]["code"] == "operation"
                    assert (await ask(3, "session.metrics", {}))["result"]["heard"][0] == "session.metrics", "the engine lives"
                    await two.send_str(json.dumps({"id": 9, "method": "capabilities"}))
                    while "id" not in json.loads(text := await asyncio.wait_for(two.receive_str(), 10)):
                        heard.append(text)
        finally:
            await server.close()
        events = [message["event"] for message in map(json.loads, heard) if "event" in message]
        assert events == ["session.state", "session.state"], "once for each socket"
        assert not any(SECRET in text for text in heard)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    said = capfd.readouterr()
    assert SECRET not in caplog.text + said.out + said.err
    # What an engine writes on its stderr is its host's to read, and the host alone ended it.
    assert complaints == [f"here is {SECRET}", "it was shut down"]
