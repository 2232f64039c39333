"""Pairing: tokens that are shown once and kept as digests, the editor's pairing file and package, and `triptych activity pair`."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
import os
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from activity_kit import every_byte, scripted
from companion_kit import NOW_MS, Listening, browser_payload, connected, editor_payload
from triptych.adapters.collector import bootstrap
from triptych.adapters.collector.control_socket import served
from triptych.adapters.collector.intake import CompanionIntake
from triptych.adapters.collector.pairing import Pairings
from triptych.adapters.collector.store import Store
from triptych.engine import activity
from triptych.engine.activity_cli.pair_command import pair_command
from triptych.errors import LocalProtocolError, Unavailable
from triptych.machines.collector.capture import Delivered
from triptych.machines.collector.pairing import Pairing, digest, token_of
from triptych.machines.collector.unknown_fields import UnknownFields

HELLO = {"v": 1, "type": "hello", "collectorSession": "s", "collectorVersion": "1", "platform": "linux", "arch": "x64", "capabilities": []}
TRIPTYCH = (sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()")
RUNNING = {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}


def pair(*arguments: str, data: Path) -> Result:
    return CliRunner().invoke(pair_command, [*arguments, "--data", str(data)], catch_exceptions=False)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class TestTokens:
    def test_a_token_is_32_bytes_in_base64url(self) -> None:
        random = bytes(range(220, 252))
        token = token_of(random)
        assert len(token) == 43 and base64.urlsafe_b64decode(token + "=") == random
        for size in (0, 31, 33):
            with pytest.raises(LocalProtocolError) as raised:
                token_of(bytes(size))
            assert raised.value.code == "pairing-random"

    def test_only_its_digest_is_kept(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW_MS) as store:
            token = Pairings(store).rotate("browser", NOW_MS)
            assert store.pairing("browser") == hashlib.sha256(token.encode()).hexdigest() == digest(token)
            kept = every_byte(tmp_path / "history")
        assert token.encode() not in kept and base64.urlsafe_b64decode(token + "=") not in kept
        assert digest(token).encode() in kept

    def test_the_kinds_are_paired_apart(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW_MS) as store:
            pairings = Pairings(store)
            assert pairings.current() == Pairing()
            browser, editor = pairings.rotate("browser", NOW_MS), pairings.rotate("editor", NOW_MS)
            assert browser != editor
            assert pairings.current() == Pairing(digest(browser), digest(editor))
            again = pairings.rotate("browser", NOW_MS)
            assert pairings.current().kind_of(digest(browser)) is None
            assert pairings.current().kind_of(digest(again)) == "browser"
            assert pairings.current().kind_of(digest(editor)) == "editor"
            pairings.forget("editor", NOW_MS)
            assert pairings.current() == Pairing(browser=digest(again))

    def test_what_another_process_pairs_is_noticed(self, tmp_path: Path) -> None:
        with Store(tmp_path / "history", NOW_MS) as store:
            pairings = Pairings(store)
            assert pairings.current() == Pairing()
            said = subprocess.run(
                [*TRIPTYCH, "activity", "pair", "browser", "--json", "--data", str(tmp_path / "history")],
                capture_output=True,
                check=True,
            )
            assert pairings.current() == Pairing(browser=digest(json.loads(said.stdout)["token"]))


class TestThePairingFile:
    def test_it_is_the_persons_alone_and_valid_for_five_minutes(self, tmp_path: Path) -> None:
        folder = tmp_path / "companions"
        mask = os.umask(0)
        try:
            left = bootstrap.write_bootstrap("t" * 43, 19388, NOW_MS, folder)
        finally:
            os.umask(mask)
        assert stat.S_IMODE(left.path.stat().st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert json.loads(left.path.read_text()) == {"v": 1, "token": "t" * 43, "port": 19388, "validUntilMs": NOW_MS + 300_000}
        assert left.valid_until_ms == NOW_MS + 300_000
        bootstrap.write_bootstrap("u" * 43, 1, NOW_MS, folder)
        assert json.loads(left.path.read_text())["token"] == "u" * 43
        assert [path.name for path in folder.iterdir()] == ["editor-pairing.json"]

    def test_a_folder_into_which_others_can_write_is_refused(self, tmp_path: Path) -> None:
        folder = tmp_path / "companions"
        folder.mkdir()
        folder.chmod(0o777)
        with pytest.raises(Unavailable, match="others can write"):
            bootstrap.write_bootstrap("t" * 43, 1, NOW_MS, folder)
        with pytest.raises(Unavailable, match="cannot make"):
            bootstrap.write_bootstrap("t" * 43, 1, NOW_MS, Path("/proc/nowhere"))

    def test_where_it_lies(self) -> None:
        assert bootstrap.companions_dir({"XDG_DATA_HOME": "/data"}) == Path("/data/triptych/companions")
        assert bootstrap.companions_dir({"XDG_DATA_HOME": "relative"}) == Path.home() / ".local/share/triptych/companions"

    @pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: apt install nodejs")
    def test_the_editor_finds_and_reads_it(self, home: Path) -> None:
        program = f"require({str(bootstrap.EDITOR / 'bootstrap.js')!r}).takeBootstrap().then((found) => console.log(JSON.stringify(found)))"
        left = bootstrap.write_bootstrap("t" * 43, 1234, time.time_ns() // 1_000_000, bootstrap.companions_dir())
        found = [json.loads(subprocess.check_output(["node", "-e", program], text=True)) for _ in range(2)]
        assert found == [{"token": "t" * 43, "port": 1234}, None]
        assert not left.path.exists()

    def test_the_package_holds_the_extension(self, tmp_path: Path) -> None:
        package = bootstrap.write_editor_package(tmp_path / "companions")
        with zipfile.ZipFile(package) as opened:
            names = set(opened.namelist())
            about = json.loads(opened.read("extension/package.json"))
            manifest = ElementTree.fromstring(opened.read("extension.vsixmanifest"))
            types = ElementTree.fromstring(opened.read("[Content_Types].xml"))
            assert all(opened.read(f"extension/{path.name}") == path.read_bytes() for path in bootstrap.EDITOR.iterdir())
        assert {"extension/extension.js", "extension/client.js", "extension/icon.png", "extension/README.md"} <= names
        identity = manifest.find("{*}Metadata/{*}Identity")
        assert identity is not None
        assert (identity.get("Id"), identity.get("Publisher"), identity.get("Version")) == (
            about["name"],
            about["publisher"],
            about["version"],
        )
        known = {each.get("Extension") for each in types}
        assert {Path(name).suffix for name in names if name.startswith("extension/")} <= known


class TestTheCommand:
    def test_browser(self, tmp_path: Path) -> None:
        said = json.loads(pair("browser", "--json", data=tmp_path / "history").stdout)
        assert set(said) == {"kind", "token", "port", "extension"}
        assert (said["kind"], said["port"]) == ("browser", 19388)
        assert (Path(said["extension"]) / "manifest.json").is_file()
        with Store(tmp_path / "history", NOW_MS) as store:
            assert store.pairing("browser") == digest(said["token"])

    def test_what_a_person_reads(self, tmp_path: Path) -> None:
        shown = pair("browser", data=tmp_path / "history").stdout
        with Store(tmp_path / "history", NOW_MS) as store:
            first = store.pairing("browser")
        assert [word for word in shown.split() if len(word) == 43 and digest(word) == first]
        for said in (
            "chrome://extensions",
            "Load unpacked",
            str(bootstrap.BROWSER),
            "19388",
            "triptych activity policy allow companion.browser",
        ):
            assert said in shown
        shown = pair("editor", "--port", "4321", data=tmp_path / "history").stdout
        for said in ("code --install-extension", ".vsix", "4321", "five minutes", "triptych activity policy allow com.microsoft.VSCode"):
            assert said in shown

    def test_editor(self, tmp_path: Path, home: Path) -> None:
        said = json.loads(pair("editor", "--json", "--port", "4321", data=tmp_path / "history").stdout)
        left = json.loads(Path(said["bootstrap"]).read_text())
        assert (left["token"], left["port"], left["validUntilMs"]) == (said["token"], 4321, said["validUntilMs"])
        assert 0 < said["validUntilMs"] - time.time() * 1000 <= 300_000
        assert Path(said["bootstrap"]).parent == home / "triptych" / "companions" == Path(said["package"]).parent
        with Store(tmp_path / "history", NOW_MS) as store:
            assert store.pairing("editor") == digest(said["token"])
            assert store.pairing("browser") is None

    def test_forget(self, tmp_path: Path) -> None:
        left = Path(json.loads(pair("editor", "--json", data=tmp_path / "history").stdout)["bootstrap"])
        assert json.loads(pair("editor", "--forget", "--json", data=tmp_path / "history").stdout) == {"kind": "editor", "paired": False}
        assert not left.exists()
        with Store(tmp_path / "history", NOW_MS) as store:
            assert store.pairing("editor") is None
        assert "Nothing more is taken" in pair("browser", "--forget", data=tmp_path / "history").stdout

    @pytest.mark.parametrize("arguments", [("phone",), (), ("browser", "--port", "0"), ("browser", "--port", "65536")])
    def test_wrong_usage(self, tmp_path: Path, arguments: tuple[str, ...]) -> None:
        assert pair(*arguments, data=tmp_path / "history").exit_code == 2
        assert not (tmp_path / "history").exists()

    @pytest.mark.parametrize(("companion", "port"), [({"port": 4567}, 4567), ({"port": None}, 19388), (None, 19388)])
    def test_the_port_is_that_of_the_host_that_runs(self, tmp_path: Path, companion: object, port: int) -> None:
        data = tmp_path / "history"
        Store(data, NOW_MS).close()

        async def status(request: dict[str, object]) -> dict[str, object]:
            assert request["command"] == "status"
            return {"health": {"companion": companion}}

        async def main() -> None:
            async with served(data, status):
                said = await asyncio.to_thread(pair, "browser", "--json", data=data)
                assert json.loads(said.stdout)["port"] == port

        asyncio.run(main())


def test_from_pairing_to_the_record(tmp_path: Path) -> None:
    """Another process pairs while a host records; what both companions then report is committed when they are told so."""
    data = tmp_path / "history"
    collector = scripted(tmp_path, [("say", HELLO), ("await", "configure"), ("ack",), ("say", RUNNING)])

    async def paired(kind: str) -> str:
        command = await asyncio.create_subprocess_exec(
            *TRIPTYCH, "activity", "pair", kind, "--json", "--data", str(data), stdout=asyncio.subprocess.PIPE
        )
        return str(json.loads((await command.communicate())[0])["token"])

    async def main() -> None:
        allowed = ["companion.browser", "com.microsoft.VSCode"]
        async with activity.record(data, allow=allowed, command=collector, companions=0) as recording:
            await recording.wait_for_capture("running")
            health = recording.health.companion
            assert health is not None and health.listening and health.port and not health.paired
            asked = Listening(recording, health.port, await paired("browser"), await paired("editor"))  # type: ignore[arg-type]  # only its requests are used
            now_ms = time.time_ns() // 1_000_000
            async with connected(health.port) as wire:
                page = await wire.ask(asked.request(browser_payload(observedAtMs=now_ms, title="My mail")))
                assert (page.status, page.body) == (201, {"stored": True})
                file = editor_payload(observedAtMs=now_ms, event="save")
                assert (await wire.ask(asked.request(file, x_companion_token=asked.editor))).status == 201
                secret = editor_payload(observedAtMs=now_ms, seq=2, filePath="/work/app/.env")
                assert (await wire.ask(asked.request(secret, x_companion_token=asked.editor))).body == {"stored": False}
                other = editor_payload(observedAtMs=now_ms, seq=3, app={"bundleId": "com.other.editor", "name": "Other"})
                assert (await wire.ask(asked.request(other, x_companion_token=asked.editor))).body == {"stored": False}
                again = await wire.ask(asked.request(browser_payload(observedAtMs=now_ms, title="My mail")))
                assert (again.status, again.body) == (202, {"stored": False})
            rows = recording.observations()
            assert [(row.bundle_id, row.title, row.resource and row.resource[1], row.activity_event) for row in rows] == [
                ("companion.browser", None, "https://example.org/news", None),
                ("com.microsoft.VSCode", None, "file:///work/app/main.py", "save"),
            ]
            assert rows[1].workspace is not None and (rows[1].workspace.source, rows[1].workspace.root) == ("companion", "/work/app")
            refused = recording.health.refusals.by_reason
            assert (refused["protected-metadata"], refused["not-an-adapter"], refused["duplicate"]) == (1, 1, 1)
            health = recording.health.companion
            assert health is not None and health.paired and health.editor_paired and health.last_seen_at_ms

    asyncio.run(main())


def test_a_record_that_cannot_be_read_shows_what_was_read_last_and_lets_nobody_in(tmp_path: Path) -> None:
    """Health is shown all the same: it is asked most when something is wrong."""

    async def deliver(*_: object, **__: object) -> Delivered:
        raise AssertionError("nobody is let in")

    async def main() -> None:
        store = Store(tmp_path / "history", NOW_MS)
        pairings = Pairings(store)
        token = pairings.rotate("browser", NOW_MS)
        intake = CompanionIntake(pairings, UnknownFields(), deliver)
        await intake.start(0)
        assert intake.health().paired
        store.close()
        assert (intake.health().paired, intake.health().listening) == (True, True)
        status, body = await asyncio.to_thread(_posted, intake.port or 0, token)
        assert (status, body) == (500, {"error": "observation delivery failed"})
        await intake.stop()

    asyncio.run(main())


def _posted(port: int, token: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("POST", "/companion/observation", json.dumps(browser_payload()), {"X-Companion-Token": token})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
