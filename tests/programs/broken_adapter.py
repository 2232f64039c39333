"""A small terminal form with a hand-written termwright/3 adapter that keeps every rule, and breaks one when it is told: `--fault NAME`.

It uses the standard library alone and shares no code with the package, so that it is a second opinion on the protocol. With no fault it is
a whole adapter: full trees, deltas, markers, logs, hit grid. FAULTS names what can be broken, by the check that must notice.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import hashlib
import hmac
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path
from typing import Any

FAULTS = {
    "hello-first": ("commit-before-hello",),
    "hello-valid": ("hello-extra", "bad-token"),
    "hello-once": ("second-hello",),
    "one-socket": ("second-socket",),
    "messages-valid": ("unknown-field", "bad-tree"),
    "no-errors": ("complains",),
    "first-tree-full": ("first-delta",),
    "session-named": ("foreign-session",),
    "revisions-increase": ("repeats-revision",),
    "publication-order": ("commit-first",),
    "commits-paired": ("no-commit",),
    "marker-last": ("marker-early",),
    "markers-paired": ("marker-missing", "marker-twice"),
    "marker-authentic": ("marker-forged",),
    "marker-hidden": ("marker-visible",),
    "in-flight": ("marker-batch",),
    "announced-only": ("ungated", "frame-begin"),
    "guarantees": ("unknown-rect",),
    "delta-applies": ("delta-stale",),
    "delta-chain": ("delta-forgets",),
    "log-order": ("log-repeats",),
    "log-budget": ("log-flood",),
    "stimulus": ("no-revisions",),
    "viewport": ("wrong-size",),
    "input-flood": ("marker-stops",),
    "resync-full": ("resync-ignored",),
    "resync-flood": ("resync-dies",),
    "ack-late": ("dies-unattached",),
    "ack-unknown-fields": ("strict-ack",),
    "ack-in-pieces": ("no-reassembly",),
    "ack-slow": ("impatient", "early-tree"),
    "ack-closed-set": ("lax-ack",),
    "ack-version": ("lax-version",),
    "ack-cut": ("dies-cut",),
    "refused-token": ("ignores-error", "dies-refused"),
    "second-adapter": ("ignores-error",),
    "frame-oversized": ("lax-framing",),
    "frame-malformed": ("lax-framing", "dies-malformed"),
    "resync-foreign": ("resync-foreign",),
    "socket-closed": ("dies-on-close", "marker-after-close"),
    "slow-peer": ("blocks",),
    "limits-frame": ("ignores-limits",),
    "limits-nodes": ("ignores-limits",),
    "marker-disabled": ("marker-always",),
    "log-unbudgeted": ("log-always",),
    "dormant-silent": ("marker-dormant",),
    "dormant-partial": ("connects-always",),
    "dormant-same": ("dormant-noise",),
    "exit-clean": ("exit-status", "leaves-process"),
    "claim-hit-grid": ("lie-hit", "lie-space"),
    "claim-visible-rect": ("lie-large", "lie-small", "lie-hidden"),
    "claim-focus": ("lie-focus",),
    "claim-value": ("lie-value",),
    "claim-text": ("lie-text",),
}

CAPABILITIES = ["tree", "intended-geometry", "clipped-geometry", "states", "focus-state", "actions",
                "render-revisions", "logs", "pointer-hit-grid", "incremental-tree"]  # fmt: skip
COLOURS = {"screen": 17, "heading": 52, "title": 22, "approve": 28, "reject": 88, "status": 54, "edge": 130}
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "form"}
INPUT = re.compile(rb"\x1b\[<(\d+);(\d+);(\d+)([Mm])|\x1b\[[0-9;]*[~A-Za-z]|\x1bO[A-Z]|.", re.DOTALL)
RATE_OF_PATIENCE = 0.25
LIMITS = 11


def known(value: object) -> dict[str, object]:
    return {"status": "known", "value": value, "evidence": EVIDENCE}


def rectangle(row: int, column: int, width: int, height: int) -> dict[str, int]:
    return {"row": row, "column": column, "width": width, "height": height}


class Form:
    """The program: a heading, a text box, two buttons, a status line, and a region that runs off the right edge."""

    def __init__(self) -> None:
        self.columns = self.rows = 0
        self.focus = 0
        self.value = ""
        self.status = "Waiting"
        self.order = ["title", "approve", "reject"]
        self.measure()

    def measure(self) -> None:
        self.rows, self.columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))

    def boxes(self) -> dict[str, tuple[int, int, int, int]]:
        """id → row, column, width, height; the later ones lie above the earlier ones."""
        return {
            "screen": (0, 0, self.columns, self.rows),
            "heading": (1, 2, 12, 1),
            "title": (3, 2, 20, 1),
            "approve": (5, 2, 11, 3),
            "reject": (5, 15, 10, 3),
            "status": (9, 2, 30, 1),
            "edge": (11, self.columns - 5, 9, 2),
        }

    def owner(self, row: int, column: int) -> str:
        found = "screen"
        for name, (top, left, width, height) in self.boxes().items():
            if top <= row < top + height and left <= column < left + width:
                found = name
        return found

    def texts(self) -> dict[str, tuple[int, int, str]]:
        """id → row, column and text."""
        return {
            "heading": (1, 2, "Release form"),
            "title": (3, 2, self.value[-19:]),
            "approve": (6, 4, "Approve"),
            "reject": (6, 17, "Reject"),
            "status": (9, 2, self.status[:30]),
        }

    def draw(self) -> bytes:
        out = [b"\x1b[?25l"]
        for name, (row, column, width, height) in self.boxes().items():
            for line in range(row, min(row + height, self.rows)):
                out.append(b"\x1b[%d;%dH\x1b[48;5;%dm" % (line + 1, column + 1, COLOURS[name]) + b" " * min(width, self.columns - column))
            if name in self.texts():
                line, start, text = self.texts()[name]
                out.append(b"\x1b[%d;%dH" % (line + 1, start + 1) + text.encode())
        row, column = self.cursor()
        return b"".join([*out, b"\x1b[0m\x1b[%d;%dH\x1b[?25h" % (row + 1, column + 1)])

    def cursor(self) -> tuple[int, int]:
        row, column, text = self.texts()[self.order[self.focus]]
        return row, column + len(text)


class Adapter:
    """The protocol's side of the form."""

    def __init__(self, form: Form, fault: str) -> None:
        self.form, self.fault = form, fault
        self.peer: socket.socket | None = None
        self.token = os.environ.get("TERMWRIGHT_TOKEN", "")
        self.session = ""
        self.ack: dict[str, Any] | None = None
        self.received = b""
        self.revision = 0
        self.last: dict[str, Any] | None = None
        self.full_next = True
        self.seq = 0
        self.bucket, self.filled = 0.0, 0.0
        self.batch: list[bytes] = []
        self.requests = 0
        self.connected_at = time.monotonic()

    def connect(self) -> None:
        endpoint = os.environ.get("TERMWRIGHT_ENDPOINT", "")
        if not endpoint or not (self.token or self.fault == "connects-always"):
            return
        self.peer = socket.socket(socket.AF_UNIX)
        try:
            self.peer.connect(endpoint)
        except OSError:
            self.close()
            return
        self.peer.setblocking(self.fault == "blocks")
        hello: dict[str, Any] = {
            "type": "hello", "protocol": "termwright/3", "token": self.token or "none",
            "adapter": {"name": "form-adapter", "version": "1.0"}, "capabilities": list(CAPABILITIES),
        }  # fmt: skip
        if self.fault == "hello-extra":
            hello["colour"] = "red"
        if self.fault == "bad-token":
            hello["token"] = "guessed"
        if self.fault == "ungated":
            hello["capabilities"].remove("focus-state")
        if self.fault == "commit-before-hello":
            self.send({"type": "revision-commit", "revision": 1})
        self.send(hello)
        if self.fault == "second-hello":
            self.send(hello)
        if self.fault == "second-socket":
            self.other = socket.socket(socket.AF_UNIX)
            self.other.connect(endpoint)
        if self.fault == "early-tree":
            self.publish(self.snapshot(), False)

    def close(self) -> None:
        if self.peer is not None:
            self.peer.close()
            self.peer = None

    @property
    def live(self) -> bool:
        return self.peer is not None and self.ack is not None

    def send(self, message: dict[str, Any]) -> bool:
        body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
        return self.write(len(body).to_bytes(4, "big") + body)

    def write(self, data: bytes) -> bool:
        """All of it within a quarter of a second, else the session is over: half a frame cannot be taken back."""
        deadline = time.monotonic() + RATE_OF_PATIENCE
        while data and self.peer is not None:
            try:
                data = data[self.peer.send(data) :]
            except BlockingIOError:
                if not select.select([], [self.peer], [], max(deadline - time.monotonic(), 0))[1]:
                    self.close()
            except OSError:
                self.close()
        return not data

    def readable(self) -> None:
        assert self.peer is not None
        try:
            data = self.peer.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            if (self.fault == "dies-on-close" and self.ack) or (self.fault == "dies-cut" and self.received):
                sys.exit(3)
            self.close()
            return
        self.received += data
        if self.fault == "no-reassembly" and len(data) < 5:
            self.close()
        while self.peer is not None and len(self.received) >= 4:
            length = int.from_bytes(self.received[:4], "big")
            if not 0 < length <= 1 << 20:
                if self.fault == "lax-framing":
                    self.received = b""
                    return
                self.close()
                return
            if len(self.received) < 4 + length:
                return
            body, self.received = self.received[4 : 4 + length], self.received[4 + length :]
            try:
                self.message(json.loads(body))
            except ValueError:
                if self.fault == "dies-malformed":
                    sys.exit(3)
                if self.fault != "lax-framing":
                    self.close()

    def message(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "hello-ack" and self.ack is None:
            self.acknowledged(message)
        elif kind == "error":
            if self.fault == "dies-refused":
                sys.exit(3)
            if self.fault == "ignores-error":
                self.ack, self.session = {"marker": {"enabled": True}, "limits": {"maxFrameBytes": 1 << 20, "maxNodes": 5000}}, "made-up"
                self.show()
            else:
                self.close()
        elif kind == "semantic-resync-request":
            self.requests += 1
            if self.fault == "resync-dies" and self.requests > 50:
                sys.exit(3)
            if message["sessionId"] != self.session:
                if self.fault != "resync-foreign":
                    self.close()
            elif self.fault != "resync-ignored":
                self.full_next = True
        else:
            self.refuse()

    def acknowledged(self, ack: dict[str, Any]) -> None:
        sound = ack.get("protocol") == "termwright/3" or self.fault == "lax-version"
        sound = sound and (ack.get("subscribe") == "semantic" or self.fault == "lax-ack")
        limits = ack.get("limits", {})
        sound = sound and sum(type(limit) is int and limit > 0 for limit in limits.values()) >= LIMITS
        if self.fault == "strict-ack" and len(ack) > 7:
            sound = False
        if not sound:
            self.refuse()
            return
        self.ack, self.session = ack, ack["sessionId"]
        budget = ack.get("logs") or {}
        self.bucket, self.filled = float(budget.get("burst", 0)), time.monotonic()
        if self.fault == "leaves-process":
            subprocess.Popen(
                ["sh", "-c", "trap '' HUP; exec sleep 60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        self.show()
        if self.fault == "complains":
            self.send({"type": "error", "code": "internal", "message": "nothing in particular"})

    def refuse(self) -> None:
        self.send({"type": "error", "code": "malformed", "message": "not a message for this adapter"})
        self.close()

    def waited(self) -> None:
        """Nobody acknowledges: give up after five seconds."""
        waited = time.monotonic() - self.connected_at
        if self.peer is not None and self.ack is None and waited > (0.5 if self.fault == "impatient" else 5):
            if self.fault == "dies-unattached":
                sys.exit(3)
            self.close()

    def snapshot(self) -> dict[str, Any]:
        form = self.form
        names = {"screen": "Form", "heading": "Release form", "title": "Title", "approve": "Approve", "reject": "Reject",
                 "status": form.status, "edge": "Edge"}  # fmt: skip
        roles = {"screen": "application", "heading": "heading", "title": "textbox", "approve": "button", "reject": "button",
                 "status": "status", "edge": "region"}  # fmt: skip
        columns, rows = form.columns, form.rows
        nodes = []
        for name, (row, column, width, height) in form.boxes().items():
            seen = rectangle(row, column, min(width, columns - column), min(height, rows - row))
            if self.fault == "lie-large" and name == "title":
                width, seen = width + 1, {**seen, "width": seen["width"] + 1}
            if self.fault == "lie-small" and name == "reject":
                seen = {**seen, "height": 2}
            visible: dict[str, object] = known(seen)
            if self.fault == "lie-hidden" and name == "status":
                visible = {"status": "absent", "reason": "not-displayed", "evidence": EVIDENCE}
            if self.fault == "unknown-rect" and name == "edge":
                visible = {"status": "unknown", "reason": "stale-revision"}
            node: dict[str, Any] = {"id": f"n-{name}", "role": roles[name], "name": names[name]}
            if name != "screen":
                node["parentId"] = "n-screen"
            if name == "title":
                value = form.value + ("!" if self.fault == "lie-value" else "")
                node["value"] = {**known(value), "sensitivity": "public"}
            if self.fault == "lie-text" and name == "heading":
                node["name"] = "Release from"
            if name in form.order:
                focused = form.order[0 if self.fault == "lie-focus" else form.focus] == name
                node["state"], node["actions"] = {"focused": focused}, ["focus"]
            node |= {"testId": name, "p": "framework"}
            node["geometry"] = {
                "displayed": known(True), "intendedRect": known(rectangle(row, column, width, height)), "visibleRect": visible,
            }  # fmt: skip
            nodes.append(node)
        row, column = form.cursor()
        space = "framework-local-cells" if self.fault == "lie-space" else "viewport-cells"
        return {
            "v": 3, "sessionId": "elsewhere" if self.fault == "foreign-session" else self.session or "none", "revision": 0,
            "columns": 80 if self.fault == "wrong-size" else columns, "rows": rows,
            "cursor": {"row": row, "column": column, "visible": True}, "rootIds": ["n-screen"],
            "nodes": nodes, "coordinateSpace": known(space), "hitGrid": known({"regions": self.grid()}),
        }  # fmt: skip

    def grid(self) -> list[dict[str, Any]]:
        regions: list[dict[str, Any]] = []
        for row in range(self.form.rows):
            for column in range(self.form.columns):
                name = self.form.owner(row, column - 1 if self.fault == "lie-hit" and row == 6 and column else column)
                if regions and regions[-1]["rect"]["row"] == row and regions[-1]["recipientId"] == f"n-{name}":
                    regions[-1]["rect"]["width"] += 1
                else:
                    regions.append({"rect": rectangle(row, column, 1, 1), "recipientId": f"n-{name}"})
        return regions

    def delta(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        held = {node["id"]: node for node in before["nodes"]}
        updates = []
        for node in after["nodes"]:
            changed = {key: value for key, value in node.items() if held[node["id"]].get(key) != value}
            if changed and self.fault != "delta-forgets":
                updates.append({"id": node["id"], "set": changed})
        top = {key: after[key] for key in ("columns", "rows", "cursor", "hitGrid") if before[key] != after[key]}
        delta: dict[str, Any] = {"v": 3, "sessionId": self.session, "revision": after["revision"], "baseRevision": before["revision"]}
        if self.fault == "delta-stale":
            delta["baseRevision"] += 1
        return delta | ({"updateNodes": updates} if updates else {}) | ({"snapshot": top} if top else {})

    def publish(self, snapshot: dict[str, Any], incremental: bool) -> bytes:
        """Send tree and commit of the next revision; the marker to print after them, b"" when nothing was published."""
        self.revision += 1
        if self.fault == "repeats-revision" and self.revision > 2:
            self.revision -= 1
        revision = snapshot["revision"] = self.revision
        if incremental or self.fault == "first-delta":
            tree = {"type": "semantic-delta", "delta": self.delta(self.last or {**snapshot, "revision": revision - 1 or 1}, snapshot)}
        else:
            tree = {"type": "semantic-full", "snapshot": snapshot}
        if self.fault == "bad-tree":
            snapshot["nodes"][1]["role"] = "headline"
        limits = (self.ack or {}).get("limits", {})
        size = len(json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode())
        over = size > limits.get("maxFrameBytes", 1 << 20) or len(snapshot["nodes"]) > limits.get("maxNodes", 5000)
        if over and self.fault != "ignores-limits":
            self.revision -= 1
            return b""
        commit: dict[str, Any] = {"type": "revision-commit", "revision": revision}
        if self.fault == "unknown-field" and revision == 2:
            commit["colour"] = "red"
        if self.fault == "frame-begin":
            self.send({"type": "frame-begin", "revision": revision})
        marker = self.marker(revision)
        if self.fault == "marker-early":
            os.write(1, marker)
            time.sleep(0.05)
            marker = b""
        parts = [tree, commit]
        if self.fault == "commit-first":
            parts.reverse()
        if self.fault == "no-commit":
            parts = parts[:1]
        for part in parts:
            if not self.send(part):
                return b""
        self.last, self.full_next = json.loads(json.dumps(snapshot)), False
        return marker

    def marker(self, revision: int) -> bytes:
        if not (self.ack and self.ack["marker"]["enabled"]) and self.fault not in ("marker-always", "early-tree"):
            return b""
        mac = hmac.new(self.token.encode(), f"{self.session}:{revision}".encode(), hashlib.sha256).digest()[:16]
        if self.fault == "marker-forged" and revision == 2:
            mac = bytes(16)
        marker = b"\x1b]8487;twm;%d;%b\x07" % (revision, base64.urlsafe_b64encode(mac).rstrip(b"="))
        if self.fault == "marker-visible" and revision == 2:
            return marker[1:] + marker
        if self.fault == "marker-twice" and revision == 2:
            return marker * 2
        if (self.fault == "marker-missing" and revision == 2) or (self.fault == "marker-stops" and revision > 8):
            return b""
        if self.fault == "marker-batch" and revision > 5:
            self.batch.append(marker)
            if len(self.batch) < 36:
                return b""
            marker, self.batch = b"".join(self.batch), []
        return marker

    def show(self) -> None:
        """Draw, publish, mark."""
        os.write(1, self.form.draw())
        if self.fault == "marker-after-close" and self.ack is not None and self.peer is None:
            self.revision += 1
            os.write(1, self.marker(self.revision))
        if not self.live or (self.fault == "no-revisions" and self.revision):
            return
        os.write(1, self.publish(self.snapshot(), not self.full_next and self.last is not None))

    def log(self, count: int) -> None:
        for number in range(count):
            self.seq += 1
            budget = (self.ack or {}).get("logs") or {}
            now = time.monotonic()
            rate = budget.get("maxRecordsPerSecond", 0)
            self.bucket = min(budget.get("burst", 0), self.bucket + (now - self.filled) * rate)
            self.filled = now
            if self.bucket < 1 and self.fault not in ("log-flood", "log-always"):
                continue
            self.bucket -= 1
            seq = 1 if self.fault == "log-repeats" else self.seq
            record = {"ts": int(time.time() * 1000), "level": "info", "message": f"record {number}", "seq": seq}
            self.send({"type": "log", "record": record})


class Program:
    """The loop over keyboard, socket and window size."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.form = Form()
        self.adapter = Adapter(self.form, fault)
        self.events = os.environ.get("TRIPTYCH_FIXTURE_EVENTS", "")
        self.typed = b""
        self.over = False

    def report(self, event: str, target: str | None, **more: str) -> None:
        if self.events:
            with Path(self.events).open("a") as file:
                file.write(json.dumps({"event": event, "target": target, **more}) + "\n")

    def press(self, found: re.Match[bytes]) -> None:
        form, text = self.form, found[0]
        focused = form.order[form.focus]
        if found[1] is not None:
            if found[4] == b"M":
                self.pointer(int(found[2]) - 1, int(found[3]) - 1)
            return
        if text == b"\x1b[19~":
            self.report("key", focused, key="f8")
            return
        if text == b"\x11":
            self.over = True
        elif text == b"\t":
            form.focus = (form.focus + 1) % len(form.order)
        elif text == b"\x1b[Z":
            form.focus = (form.focus - 1) % len(form.order)
        elif text == b"\x0c":
            if self.adapter.live:
                self.adapter.log(60)
            return
        elif text == b"\r":
            self.activate(focused)
        elif text == b"\x7f":
            form.value = form.value[:-1]
        elif focused == "title" and text.isascii() and text.decode().isprintable():
            form.value += text.decode()
        self.report("key", focused, key=text.decode("latin-1"))
        self.adapter.show()

    def pointer(self, column: int, row: int) -> None:
        target = self.form.owner(row, column)
        self.report("pointer", target)
        if target in self.form.order:
            self.form.focus = self.form.order.index(target)
            self.activate(target)
        self.adapter.show()

    def activate(self, target: str) -> None:
        if target in ("approve", "reject"):
            self.form.status = f"{target}: {self.form.value}"

    def run(self) -> int:
        if self.fault == "dormant-noise" and "TERMWRIGHT_ENDPOINT" in os.environ and not self.adapter.token:
            self.form.status = "no token"
        os.write(1, b"\x1b[?1049h\x1b[?1000h\x1b[?1006h")
        self.adapter.show()
        if self.fault == "marker-dormant" and not self.adapter.token:
            os.write(1, b"\x1b]8487;twm;1;AAAAAAAAAAAAAAAAAAAAAA\x07")
        self.adapter.connect()
        waking, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGWINCH, lambda *_: None)
        while not self.over:
            peer = [self.adapter.peer] if self.adapter.peer is not None else []
            ready, _, _ = select.select([0, waking, *peer], [], [], 0.1)
            if waking in ready:
                os.read(waking, 4096)
                self.form.measure()
                self.adapter.show()
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    break
                for found in INPUT.finditer(data):
                    self.press(found)
            if self.adapter.peer is not None and self.adapter.peer in ready:
                self.adapter.readable()
            self.adapter.waited()
        os.write(1, b"\x1b[?1006l\x1b[?1000l\x1b[?1049l")
        return 3 if self.fault == "exit-status" and self.adapter.ack else 0


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--fault", default="", choices=["", *(fault for faults in FAULTS.values() for fault in faults)])
    given = arguments.parse_args()
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        return Program(given.fault).run()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    sys.exit(main())
