"""A collector in plain Python, without our library: it keeps every rule of the protocol, or breaks just one with `--fault NAME`.

Before a real desktop it pretends that one editor window is in front. With TRIPTYCH_COLLECTOR_FIXTURE it takes its facts from there, of any
of the three platforms. `--tick S`: seconds of a heartbeat; `--runs FILE`: where its starts are counted, for faults of the first one.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
import uuid
from pathlib import Path

LISTS = ("allowedBundleIds", "blockedBundleIds", "protectedBundleIds", "protectedPathPatterns")
#: Check → the faults that break it, and nothing else.
FAULTS: dict[str, tuple[str, ...]] = {
    "hello-first": ("state-before-hello",),
    "hello-in-time": ("slow-hello",),
    "state-first": ("first-state-missing",),
    "configured": ("first-configure-unanswered",),
    "configured-anew": ("large-revision-ignored",),
    "exit-shutdown": ("shutdown-status", "shutdown-ignored"),
    "hello-once": ("hello-twice",),
    "session-own": ("session-fixed",),
    "ndjson": ("prints", "no-utf-8"),
    "line-bound": ("padded-line",),
    "messages-valid": ("level-error",),
    "fields-known": ("extra-field",),
    "acknowledged-once": ("acknowledged-again",),
    "no-fatal": ("fatal",),
    "policy-first": ("observes-at-once",),
    "session-kept": ("session-of-another",),
    "sequence-grows": ("sequence-stands",),
    "provider-fits": ("provider-of-another",),
    "time-true": ("time-of-tomorrow", "time-since-boot"),
    "bounds-kept": ("uncut",),
    "repeats-apart": ("heartbeat-repeats",),
    "withheld-nowhere": ("tells-stderr", "tells-diagnostic"),
    "configured-twice": ("same-revision-ignored",),
    "configured-paused": ("paused-unacknowledged", "configure-resumes"),
    "paused": ("early-pause-unanswered",),
    "resumed": ("second-resume-unanswered",),
    "pause-repeated": ("second-pause-unanswered",),
    "paused-silent": ("observes-paused", "heartbeat-paused"),
    "nothing-allowed": ("empty-list-is-everything",),
    "command-split": ("read-is-command",),
    "commands-joined": ("one-command-a-read",),
    "command-crlf": ("carriage-return",),
    "junk-long": ("dies-of-length",),
    "junk-ignored": ("dies-of-array",),
    "configure-malformed": ("dies-of-number",),
    "shared-ignored": ("last-key-wins",),
    "shared-understood": ("wants-version",),
    "exit-input": ("input-end-ignored", "input-end-status"),
    "exit-quiet": ("farewell",),
    "fact-window": ("role-of-files-missing",),
    "fact-changes": ("role-changes-unseen",),
    "fact-unchanged": ("idle-is-a-change",),
    "fact-idle": ("idle-boundary-unseen",),
    "fact-terminal": ("terminal-title",),
    "fact-protected-app": ("vault-title", "vault-untold"),
    "fact-protected-by-policy": ("protected-list-unread",),
    "fact-secure-field": ("password-shown",),
    "fact-unqueryable": ("unqueryable-shown",),
    "fact-unreadable": ("unreadable-shown",),
    "fact-window-only": ("window-only-withheld",),
    "fact-blocked": ("blocked-list-unread",),
    "fact-not-allowed": ("not-allowed-unnoticed",),
    "fact-no-adapter": ("no-table",),
    "fact-protected-title": ("patterns-without-slash-unread",),
    "fact-protected-document": ("escapes-unread",),
    "fact-document": ("document-missing",),
    "fact-nobody": ("nobody-unnoticed",),
    "fact-resumed": ("resume-unnoticed",),
    "fact-reconfigured": ("configure-unnoticed",),
    "fact-policy-kept": ("half-applied",),
    "fact-nothing-allowed": ("empty-list-allows-facts",),
    "fact-unavailable": ("observes-without-permission", "permission-untold"),
    "fact-sleep": ("sleep-unnoticed",),
    "fact-cut": ("cut-short", "cut-with-a-mark"),
    "fact-characters": ("control-characters-lost",),
}
SHAPES = {"darwin": "ax", "win32": "uia", "linux": "at-spi"}
PROVIDERS = {"darwin": "macos-ax", "win32": "windows-uia", "linux": "at-spi"}
TABLE = {
    "com.microsoft.VSCode": "vscode", "Code.exe": "vscode", "code.desktop": "vscode",
    "com.apple.Terminal": "terminal", "WindowsTerminal.exe": "terminal", "org.gnome.Terminal.desktop": "terminal",
    "com.apple.finder": "finder", "explorer.exe": "finder", "org.gnome.Nautilus.desktop": "finder", "com.jetbrains.pycharm": "jetbrains",
}  # fmt: skip
VAULTS = ("com.1password.1password", "1Password.exe", "1password.desktop")
DESKTOP = {
    "type": "at-spi",
    "application": {"pid": 7, "program": "code", "desktopFile": "code.desktop"},
    "window": {"applicationName": "Code", "title": "Untitled"},
    "focus": {"answered": True, "onBus": True, "focused": [{"role": 61, "roleName": "text"}]},
}
NOBODY = {"type": "at-spi"}


def matches(pattern: str, text: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first):
        return False
    at = len(first)
    for part in rest[:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= at


def no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


class Odd(float):
    """A number that is no integer token."""


def integer(token: str) -> object:
    return Odd(token) if token == "-0" else int(token)


class Collector:
    def __init__(self, fault: str, tick: float, first: bool) -> None:
        self.fault, self.tick, self.first = fault, tick, first
        self.platform, self.pipe = "linux", None
        self.scene, self.step = DESKTOP, 0
        self.session = "one-and-only" if fault == "session-fixed" else str(uuid.uuid4())
        self.policy: dict[str, list[str]] | None = None
        self.paused = self.asleep = False
        self.trusted = True
        self.seq, self.fingerprint, self.told = 0, None, None
        self.revision, self.configures, self.resumes, self.pauses = -1, 0, 0, 0
        self.unread = self.unstepped = b""

    def broken(self, fault: str, *, first: bool = False) -> bool:
        return self.fault == fault and (self.first or not first)

    @property
    def live(self) -> bool:
        return self.pipe is None

    # what it says

    def say(self, **message: object) -> None:
        os.write(1, json.dumps({"v": 1, **message}, ensure_ascii=False).encode() + b"\n")

    def say_state(self) -> None:
        if self.paused:
            self.say(type="state", state="paused", accessibilityTrusted=self.trusted)
        elif self.trusted:
            self.say(type="state", state="running", accessibilityTrusted=True)
        else:
            self.say(type="state", state="permission-required", accessibilityTrusted=False, reason="accessibility")

    def hello(self) -> None:
        self.say(
            type="hello", capabilities=["app-focus", "window-metadata", "secure-field-detection"], platform=self.platform, arch="x64",
            collectorSession=self.session, collectorVersion="0.9",
        )  # fmt: skip

    def observe(self, key: object, **fields: object) -> None:
        if key == self.fingerprint:
            return
        self.fingerprint = key
        self.emit(fields)

    def emit(self, fields: dict[str, object]) -> None:
        self.told = fields
        self.seq += 0 if self.broken("sequence-stands") and self.seq else 1
        now = time.time() * 1000 + (86_400_000 if self.broken("time-of-tomorrow") else 0)
        if self.broken("time-since-boot"):
            now = time.monotonic() * 1000
        session = "another" if self.broken("session-of-another") else self.session
        self.say(type="observation", collectorSession=session, seq=self.seq, observedAtMs=int(now), **fields)

    # what it sees

    def look(self) -> None:
        if self.policy is None or self.paused or self.asleep or not (self.trusted or self.broken("observes-without-permission")):
            return
        app = self.scene.get("application")
        if app is None:
            if not self.broken("nobody-unnoticed"):
                self.fingerprint = None
            return
        title = self.scene.get("window", {}).get("title")
        if self.broken("tells-stderr"):
            sys.stderr.write(f"looking at {title}\n")
        if self.broken("tells-diagnostic"):
            self.say(type="diagnostic", level="debug", code="looking", message=f"at {title}"[:99])
        name, candidates = self.identity(app)
        allowed, refused = self.policy["allowedBundleIds"], self.policy["blockedBundleIds"]
        if not allowed and self.broken("empty-list-is-everything" if self.live else "empty-list-allows-facts"):
            allowed = list(TABLE)
        if any(one in refused for one in candidates) and not self.broken("blocked-list-unread"):
            self.fingerprint = None
            return
        protected = [] if self.broken("protected-list-unread") else self.policy["protectedBundleIds"]
        for one in candidates:
            if one in VAULTS or one in protected:
                shown = title if self.broken("vault-title") and one in VAULTS else None
                if not (self.broken("vault-untold") and one in VAULTS):
                    self.withhold(one, app, TABLE.get(one, "protected"), None, protected=True, reason="protected-app", title=shown)
                return
        known = [one for one in candidates if one in allowed and (one in TABLE or self.broken("no-table"))]
        if not known:
            if not self.broken("not-allowed-unnoticed"):
                self.fingerprint = None
            return
        self.describe(known[0], app, name, title)

    def describe(self, bundle_id: str, app: dict[str, object], name: str | None, title: str | None) -> None:
        adapter = TABLE.get(bundle_id, "unknown")
        state, role = self.element()
        reason = {"secure": "secure-field", "unqueryable": "focused-element-unqueryable", "unreadable": "unreadable-focused-element"}
        window_only = adapter == "jetbrains" and not self.broken("window-only-withheld")
        shown = (state == "unqueryable" and (window_only or self.broken("unqueryable-shown"))) or state == "open"
        shown = shown or (state == "unreadable" and self.broken("unreadable-shown"))
        if not shown:
            self.withhold(bundle_id, app, adapter, name, secure=True, reason=reason[state])
            return
        document = self.scene.get("window", {}).get("document")
        if adapter == "terminal" and not self.broken("terminal-title"):
            title = None
        if any(self.protects(text) for text in (title, document) if text):
            self.withhold(bundle_id, app, adapter, None, protected=True, reason="protected-metadata")
            return
        title = self.cut(title)
        if self.broken("document-missing"):
            document = None
        if self.broken("role-of-files-missing") and adapter == "finder" and role in ("AXRow", "ControlType.50007", "list item"):
            role = None
        idle = self.scene.get("idleSeconds")
        boundary = (idle or 0) >= 480 and not self.broken("idle-boundary-unseen")
        key = (app["pid"], bundle_id, name, title, document, None if self.broken("role-changes-unseen") else role, boundary)
        self.observe(
            (*key, idle) if self.broken("idle-is-a-change") else key,
            app={"pid": app["pid"], "bundleId": bundle_id, "name": name},
            window={"title": title, "document": document},
            element={"role": role},
            privacy={"secure": False, "protected": False},
            source=self.source(adapter),
            **({} if idle is None else {"activity": {"idleSeconds": idle}}),
        )

    def withhold(
        self, bundle_id: str, app: dict[str, object], adapter: str, name: str | None, *, reason: str, secure: bool = False,
        protected: bool = False, title: str | None = None,
    ) -> None:  # fmt: skip
        self.observe(
            (bundle_id, reason),
            app={"pid": app["pid"], "bundleId": bundle_id, "name": name},
            window={"title": title} if title else None,
            privacy={"secure": secure, "protected": protected, "reason": reason},
            source=self.source(adapter),
        )

    def source(self, adapter: str) -> dict[str, str]:
        others = {"darwin": "win32", "win32": "linux", "linux": "darwin"}
        return {"adapter": adapter, "provider": PROVIDERS[others[self.platform] if self.broken("provider-of-another") else self.platform]}

    def identity(self, app: dict[str, str]) -> tuple[str | None, list[str]]:
        if self.platform == "darwin":
            return app.get("localizedName"), [app["bundleIdentifier"]]
        if self.platform == "win32":
            return app["image"].removesuffix(".exe"), [app["image"]]
        return self.scene["window"].get("applicationName"), [one for one in (app.get("desktopFile"), app["program"]) if one]

    def element(self) -> tuple[str, str | None]:
        focus = self.scene.get("focus", {})
        if self.platform == "linux":
            nodes = focus.get("focused", [])
            if not focus.get("answered"):
                return "unreadable", None
            if not focus.get("onBus"):
                return "unqueryable", None
            secure, role = any(node["role"] == 40 for node in nodes), nodes[-1]["roleName"] if nodes else None
        else:
            error = focus.get("error", -1)
            if error:
                return ("unqueryable" if error in (-25202, 0x80040204) else "unreadable"), None
            secure = focus.get("subrole") == "AXSecureTextField" or focus.get("isPassword", False)
            role = focus.get("role") or f"ControlType.{focus.get('controlType')}"
        return ("secure", None) if secure and not self.broken("password-shown") else ("open", role)

    def protects(self, text: str) -> bool:
        from urllib.parse import unquote

        texts = (text,) if self.broken("escapes-unread") else (text, unquote(text))
        patterns = [one for one in self.policy["protectedPathPatterns"] if "/" in one or not self.broken("patterns-without-slash-unread")]
        return any(matches(pattern, one) for pattern in patterns for one in texts)

    def cut(self, title: str | None) -> str | None:
        if title is None or self.broken("uncut"):
            return title
        if self.broken("control-characters-lost"):
            title = "".join(" " if one < " " else one for one in title)
        if self.broken("cut-short"):
            return title[:1024]
        whole = title.encode()[:4096].decode("utf-8", "ignore")
        return whole + "?" if whole != title and self.broken("cut-with-a-mark") else whole

    # what it is told

    def command(self, line: bytes) -> bool:
        """Whether the line was a command."""
        if len(line) > 65_536 and self.broken("dies-of-length"):
            sys.exit(4)
        if line.endswith(b"\r"):
            if self.broken("carriage-return"):
                return False
            line = line[:-1]
        hook = None if self.broken("last-key-wins") and b"revision" not in line else no_duplicates
        try:
            said = json.loads(line.decode(), object_pairs_hook=hook, parse_int=integer)
            json.dumps(said, ensure_ascii=False).encode()  # a lone surrogate
        except (ValueError, RecursionError):
            return False
        if isinstance(said, list) and self.broken("dies-of-array"):
            sys.exit(5)
        if not isinstance(said, dict) or depth(said) > 127 or (self.broken("wants-version") and said.get("v") != 1):
            return False
        kind = said.get("type")
        if kind == "configure":
            return self.configure(said)
        if line == b'{"v":1,"type":"resume"}' and self.resumes == 1 and self.paused and self.broken("second-resume-unanswered"):
            return True
        if kind == "pause":
            self.pause()
        elif kind == "resume":
            self.resume()
        elif kind == "shutdown":
            if self.broken("farewell"):
                self.say(type="state", state="degraded", accessibilityTrusted=True, reason="bye")
            if not self.broken("shutdown-ignored"):
                sys.exit(3 if self.broken("shutdown-status") else 0)
        return kind in ("pause", "resume", "shutdown")

    def configure(self, said: dict[str, object]) -> bool:
        """Whether it was understood."""
        revision, policy = said.get("revision"), said.get("policy")
        if policy is None and "policy" not in said and self.broken("half-applied"):
            self.policy = {name: [] for name in LISTS}
        if policy == 5 and self.broken("dies-of-number"):
            sys.exit(6)
        if type(revision) is not int or not 0 <= revision < 2**64 or not isinstance(policy, dict):
            return False
        if revision > 2**31 and self.broken("large-revision-ignored"):
            return False
        if self.paused and self.broken("paused-unacknowledged"):
            return False
        again, self.revision = revision == self.revision, revision
        self.configures += 1
        lists = {name: policy.get(name) for name in LISTS}
        self.policy = {
            name: [one for one in given if isinstance(one, str)] if isinstance(given, list) else [] for name, given in lists.items()
        }
        unanswered = self.configures == 1 and self.broken("first-configure-unanswered", first=True)
        if unanswered or (again and self.broken("same-revision-ignored")):
            return True
        self.say(type="configured", revision=revision)
        if self.broken("acknowledged-again"):
            self.say(type="configured", revision=revision)
        if self.broken("hello-twice") and self.configures == 1:
            self.hello()
        if self.paused and self.broken("configure-resumes"):
            self.paused = False
            self.say_state()
        if not self.broken("configure-unnoticed"):
            self.fingerprint = None
        self.look()
        return True

    def pause(self) -> None:
        again, self.paused = self.paused, True
        if (again and self.broken("second-pause-unanswered")) or (self.configures == 1 and self.broken("early-pause-unanswered")):
            return
        self.say_state()

    def resume(self) -> None:
        self.resumes += self.paused
        self.paused = False
        self.say_state()
        if not self.broken("resume-unnoticed"):
            self.fingerprint = None
        self.look()
        self.take_steps()

    # what it is shown

    def take_steps(self) -> None:
        while b"\n" in self.unstepped:
            unseen = self.paused and not self.broken("observes-paused")
            if self.policy is None or unseen:
                return
            line, _, self.unstepped = self.unstepped.partition(b"\n")
            self.scene, self.step = json.loads(line), self.step + 1
            self.power(self.scene.get("power"))
            self.trust(self.scene.get("availability", {"trusted": True})["trusted"])
            held, self.paused = self.paused, self.paused and not self.broken("observes-paused")
            self.look()
            self.paused = held
            self.say(type="diagnostic", level="debug", code="fixture", message=str(self.step))

    def power(self, power: str | None) -> None:
        if power == "sleep" and not self.broken("sleep-unnoticed"):
            self.asleep = True
            self.say(type="state", state="degraded", accessibilityTrusted=True, reason="sleep")
        elif power == "wake" and not self.broken("sleep-unnoticed"):
            self.asleep, self.fingerprint = False, None
            self.say(type="state", state="running", accessibilityTrusted=True, reason="wake")

    def trust(self, trusted: bool) -> None:
        if trusted != self.trusted:
            self.trusted, self.fingerprint = trusted, None
            if not self.broken("permission-untold"):
                self.say_state()

    def beat(self) -> None:
        if self.paused and self.unstepped and self.broken("heartbeat-paused"):  # a pause in which nothing happens may be a short one
            self.say_state()
        if self.live and self.broken("heartbeat-repeats") and self.told is not None and not self.paused:
            self.emit(self.told)

    # its life

    def run(self) -> int:
        path = os.environ.get("TRIPTYCH_COLLECTOR_FIXTURE")
        if path and self.fault != "no-hook":
            self.pipe = os.open(path, os.O_RDONLY)
            data = b""
            while b"\n" not in data:
                data += os.read(self.pipe, 65536)
            first, _, self.unstepped = data.partition(b"\n")
            self.platform, self.scene = json.loads(first)["platform"], NOBODY
            if self.fault == "only-linux" and self.platform != "linux":
                return 1
        if self.broken("slow-hello", first=True):
            time.sleep(9)
        if self.broken("state-before-hello", first=True):
            self.say_state()
        self.hello()
        self.oddities()
        if not self.broken("first-state-missing", first=True):
            self.say_state()
        if self.pipe is not None:
            self.say(type="diagnostic", level="debug", code="fixture", message="0")
        if self.live and self.broken("observes-at-once"):
            self.policy = {name: list(TABLE) if name == "allowedBundleIds" else [] for name in LISTS}
            self.look()
            self.policy = None
        return self.serve()

    def oddities(self) -> None:
        if self.broken("prints"):
            os.write(1, b"DEBUG: started\n")
        if self.broken("no-utf-8"):
            os.write(1, b'{"v":1,"type":"diagnostic","level":"debug","code":"x","message":"\xff"}\n')
        if self.broken("padded-line"):
            os.write(1, b'{"v":1,"type":"diagnostic","level":"debug","code":"x","message":"x"' + b" " * 70_000 + b"}\n")
        if self.broken("level-error"):
            self.say(type="diagnostic", level="error", code="x", message="x")
        if self.broken("extra-field"):
            self.say(type="diagnostic", level="debug", code="x", message="x", heartbeatSeconds=5)
        if self.broken("fatal"):
            self.say(type="fatal", code="no-display", message="there is no display")

    def serve(self) -> int:
        inputs, due = [0, *([self.pipe] if self.pipe is not None else [])], time.monotonic() + self.tick
        while True:
            ready, _, _ = select.select(inputs, [], [], max(0.0, due - time.monotonic()))
            if time.monotonic() >= due:
                due += self.tick
                self.beat()
            if 0 in ready:
                data = os.read(0, 65_536)
                if not data:
                    if self.broken("input-end-ignored"):
                        inputs.remove(0)
                        continue
                    return 7 if self.broken("input-end-status") else 0
                before = b"" if self.broken("read-is-command") else self.unread
                *lines, self.unread = (before + data).split(b"\n")
                for line in lines:
                    if self.command(line) and self.broken("one-command-a-read"):
                        break
                self.take_steps()
            if self.pipe in ready and self.pipe is not None:
                data = os.read(self.pipe, 65_536)
                self.unstepped += data
                self.take_steps()


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(depth, inner), default=0) if isinstance(value, dict | list) else 0


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--fault", default="")
    options.add_argument("--tick", type=float, default=5.0)
    options.add_argument("--runs")
    given = options.parse_args()
    first = True
    if given.runs:
        with Path(given.runs).open("a+") as file:
            file.seek(0)
            first = not file.read()
            file.write("x")
    return Collector(given.fault, given.tick, first).run()


if __name__ == "__main__":
    sys.exit(main())
