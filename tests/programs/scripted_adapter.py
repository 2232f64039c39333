"""A terminal program with a hand-written adapter that does what its argument says, and then shows every byte of input as hex.

The argument is a JSON object: `capabilities`, `hello` (more fields of the hello), `print` (text for the terminal first), and `send`, a list
of messages, in which "$SESSION" is the session id. A list item may also be {"marker": N} (print the render marker of revision N),
{"print": "…"}, {"raw": "hex"} (bytes on the socket), {"key": true} (wait for a key; not shown), or {"receive": true} (show the type of the
driver's next message).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tty
from typing import Any

from triptych.machines.termwright.framing import encode_frame
from triptych.machines.termwright.marker import encode_marker


def receive(link: socket.socket) -> dict[str, Any]:
    header = link.recv(4, socket.MSG_WAITALL)
    if not header:
        return {"type": "closed"}
    message: dict[str, Any] = json.loads(link.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL))
    return message


def show(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    script = json.loads(sys.argv[1])
    tty.setraw(0)
    token = os.environ["TERMWRIGHT_TOKEN"]
    show(script.get("print", "").encode())
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(os.environ["TERMWRIGHT_ENDPOINT"])
        adapter = {"name": "scripted", "version": "1"}
        hello = {"type": "hello", "protocol": "termwright/3", "token": token, "adapter": adapter, "capabilities": script["capabilities"]}
        link.sendall(encode_frame({**hello, **script.get("hello", {})}, 1 << 20))
        session = receive(link)["sessionId"]
        for message in json.loads(json.dumps(script["send"]).replace("$SESSION", session)):
            if "marker" in message:
                show(encode_marker(token, session, message["marker"]))
            elif "print" in message:
                show(message["print"].encode())
            elif "raw" in message:
                link.sendall(bytes.fromhex(message["raw"]))
            elif "key" in message:
                os.read(0, 1)
            elif "receive" in message:
                told = receive(link)
                show(f"<{told['type']} {told.get('code', '')}{told.get('reason', '')}>".encode())
            else:
                link.sendall(encode_frame(message, 1 << 20))
        while data := os.read(0, 4096):
            if data == b"\x04":
                return
            show(f"[{data.hex()}]".encode())


if __name__ == "__main__":
    main()
