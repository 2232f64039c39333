"""The companion intake without a socket: each check, its status and its sentence, and their order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import pytest

from companion_kit import NOW_MS, browser_payload, editor_payload, without
from triptych.generated.collector.vocabulary import COMPANION_KIND, COMPANION_REFUSAL, INTAKE_ERROR_CODE, INTAKE_SENTENCES, INTAKE_STATUS
from triptych.machines.collector.intake import Answer, Head, Intake, Report, Sender, delivered, refusal
from triptych.machines.collector.pairing import CompanionKind, Pairing, digest, token_of
from triptych.machines.collector.rate_limit import RateLimit
from triptych.machines.collector.unknown_fields import UnknownFields

PORT = 19388
BROWSER, EDITOR = token_of(bytes(32)), token_of(bytes(range(32)))
PAIRING = Pairing(browser=digest(BROWSER), editor=digest(EDITOR))
GOOD = Head("POST", "/companion/observation", ("127.0.0.1:19388",), (), (BROWSER,), 100)
HEALTH = replace(GOOD, method="GET", target="/companion/health", length=0)
URL = "origin/path must be canonical http(s) URL metadata without credentials, query or fragment"
WORKSPACE = "workspaceRoot must be an absolute POSIX or Windows path"
EVENT = "event must be a supported editor activity event"
SURFACE = "surfaceKind must be editor, diff, terminal or output"
BUNDLE = "app.bundleId must look like an application id"
APP = {"bundleId": "com.a", "name": "A"}


def intake(rule: str = "extension") -> Intake:
    return Intake(UnknownFields(rule))  # type: ignore[arg-type]  # the three words of the setting


def sent(body: object, token: str = "", *, asked: Intake | None = None, now: float = 0.0) -> Answer | Report:
    """What a body meets that comes with its own kind's token."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind: CompanionKind = "editor" if isinstance(body, dict) and body.get("source") == "editor" else "browser"
    return (asked or intake()).body(Sender(kind, digest(token or (EDITOR if kind == "editor" else BROWSER))), data, now, NOW_MS)


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"target": "/companion/observation?a=1"}, 404, "not found"),
        ({"target": "/companion/observation?"}, 404, "not found"),
        ({"target": "/companion/observation/"}, 404, "not found"),
        ({"target": "/companion/%6fbservation"}, 404, "not found"),
        ({"target": "http://127.0.0.1:19388/companion/observation"}, 404, "not found"),
        ({"target": "/"}, 404, "not found"),
        ({"method": "GET"}, 404, "not found"),
        ({"method": "PUT"}, 404, "not found"),
        ({"method": "OPTIONS"}, 404, "not found"),
        ({"method": "post"}, 404, "not found"),
        ({"target": "/companion/health"}, 404, "not found"),
        ({"hosts": ()}, 403, "unexpected host"),
        ({"hosts": ("127.0.0.1",)}, 403, "unexpected host"),
        ({"hosts": ("127.0.0.1:19389",)}, 403, "unexpected host"),
        ({"hosts": ("LOCALHOST:19388",)}, 403, "unexpected host"),
        ({"hosts": ("[::1]:19388",)}, 403, "unexpected host"),
        ({"hosts": ("rebound.example:19388",)}, 403, "unexpected host"),
        ({"hosts": ("127.0.0.1:19388", "127.0.0.1:19388")}, 403, "unexpected host"),
        ({"origins": ("https://example.org",)}, 403, "unexpected origin"),
        ({"origins": ("http://127.0.0.1:19388",)}, 403, "unexpected origin"),
        ({"origins": ("",)}, 403, "unexpected origin"),
        ({"origins": ("chrome-extension://abc", "https://example.org")}, 403, "unexpected origin"),
        ({"tokens": ()}, 401, "pairing token required"),
        ({"tokens": ("",)}, 401, "pairing token required"),
        ({"tokens": (BROWSER[:-1],)}, 401, "pairing token required"),
        ({"tokens": (BROWSER + "=",)}, 401, "pairing token required"),
        ({"tokens": (digest(BROWSER),)}, 401, "pairing token required"),
        ({"tokens": (BROWSER, BROWSER)}, 401, "pairing token required"),
        ({"length": 8193}, 413, "body too large"),
    ],
)
def test_a_head_is_refused(change: dict[str, object], status: int, sentence: str) -> None:
    answer = intake().head(replace(GOOD, **change), PORT, PAIRING)  # type: ignore[arg-type]  # fields of Head
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body, answer.drop) == (status, {"error": sentence}, status == 413)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"hosts": ("localhost:19388",)},
        {"origins": ("chrome-extension://eapiifmmaeapemliflafnmogeoocijmh",)},
        {"origins": ("moz-extension://0c9f9c5e-8b3a-4b0e-9e9b-4f6f3b3f0a11",)},
        {"origins": ("null",)},
        {"length": 8192},
        {"length": None},
    ],
)
def test_a_head_passes(change: dict[str, object]) -> None:
    assert intake().head(replace(GOOD, **change), PORT, PAIRING) == Sender("browser", digest(BROWSER))  # type: ignore[arg-type]  # fields of Head


def test_health_takes_the_token_of_the_browser_only() -> None:
    assert intake().head(HEALTH, PORT, PAIRING) == Answer(200, {"ok": True, "port": PORT})
    for tokens in ((EDITOR,), (), ("wrong",)):
        refused = intake().head(replace(HEALTH, tokens=tokens), PORT, PAIRING)
        assert refused == Answer(401, {"error": "browser pairing token required"})
    assert intake().head(HEALTH, PORT, Pairing(editor=digest(EDITOR))) == Answer(401, {"error": "browser pairing token required"})


def test_the_token_says_the_kind() -> None:
    editor = intake().head(replace(GOOD, tokens=(EDITOR,)), PORT, PAIRING)
    assert editor == Sender("editor", digest(EDITOR))
    assert Pairing().kind_of(digest("")) is Pairing().kind_of("0" * 64) is None


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "malformed json"),
        (b"{", "malformed json"),
        (b"\xff{}", "malformed json"),
        (b'{"source":"browser"} x', "malformed json"),
        (b"NaN", "malformed json"),
        (b"[" * 600 + b"]" * 600, "malformed json"),
        (b"null", "payload required"),
        (b"5", "payload required"),
        (b'"x"', "payload required"),
        (b"[]", 'source must be "browser" or "editor"'),
        ({}, 'source must be "browser" or "editor"'),
        (browser_payload(source="Browser"), 'source must be "browser" or "editor"'),
        (browser_payload(source=["browser"]), 'source must be "browser" or "editor"'),
        (browser_payload(text="the page"), "unknown field for a browser payload: text"),
        (browser_payload(workspaceRoot="/a"), "unknown field for a browser payload: workspaceRoot"),
        (without(browser_payload(), "origin"), URL),
        (without(browser_payload(), "path"), URL),
        (browser_payload(origin=5), URL),
        (browser_payload(origin="https://example.org/"), URL),
        (browser_payload(origin="https://Example.org"), URL),
        (browser_payload(origin="https://example.org:443"), URL),
        (browser_payload(origin="https://me:pw@example.org"), URL),
        (browser_payload(origin="https://ex ample.org"), URL),
        (browser_payload(origin="https://bücher.example"), URL),
        (browser_payload(origin="https://1.2.3"), URL),
        (browser_payload(origin="https://a.0x1"), URL),
        (browser_payload(origin="ftp://example.org"), URL),
        (browser_payload(origin="file://"), URL),
        (browser_payload(origin="null"), URL),
        (browser_payload(path=""), URL),
        (browser_payload(path="news"), URL),
        (browser_payload(path="/news?token=1"), URL),
        (browser_payload(path="/news#part"), URL),
        (browser_payload(path="/a/../b"), URL),
        (browser_payload(path="/a/%2E%2e/b"), URL),
        (browser_payload(path="/a b"), URL),
        (browser_payload(path="/\u00e9"), URL),
        (browser_payload(path="/a\\b"), URL),
        (browser_payload(path="/a\nb"), URL),
        (browser_payload(browserSession=""), "browserSession required"),
        (without(browser_payload(), "browserSession"), "browserSession required"),
        (browser_payload(seq=0), "seq must be a positive integer"),
        (browser_payload(seq=1.5), "seq must be a positive integer"),
        (browser_payload(seq="1"), "seq must be a positive integer"),
        (browser_payload(seq=True), "seq must be a positive integer"),
        (browser_payload(seq=2**53), "seq must be a positive integer"),
        (without(browser_payload(), "seq"), "seq must be a positive integer"),
        (browser_payload(observedAtMs="1"), "observedAtMs must be a finite number"),
        (browser_payload(observedAtMs=None), "observedAtMs must be a finite number"),
        (b'{"source":"browser","origin":"http://a","path":"/","browserSession":"b","seq":1,"observedAtMs":1e999,"incognito":false}', None),
        (browser_payload(incognito=None), "incognito must be a boolean"),
        (browser_payload(incognito=0), "incognito must be a boolean"),
        (without(browser_payload(), "incognito"), "incognito must be a boolean"),
        (editor_payload(text="code"), "unknown field for an editor payload: text"),
        (editor_payload(app={**APP, "version": 1}), "unknown field for a declared application: version"),
        (without(editor_payload(), "app"), "app is required for an editor payload"),
        (editor_payload(app=None), "app is required for an editor payload"),
        (editor_payload(app=[]), "app is required for an editor payload"),
        (editor_payload(app={"name": "A"}), BUNDLE),
        (editor_payload(app={**APP, "bundleId": "ab"}), BUNDLE),
        (editor_payload(app={**APP, "bundleId": ".com.a"}), BUNDLE),
        (editor_payload(app={**APP, "bundleId": "com.a\n"}), BUNDLE),
        (editor_payload(app={**APP, "bundleId": "com/a"}), BUNDLE),
        (editor_payload(app={**APP, "bundleId": "a" * 129}), BUNDLE),
        (editor_payload(app={"bundleId": "com.a"}), "app.name is required"),
        (editor_payload(app={**APP, "name": " \t\u00a0"}), "app.name is required"),
        (editor_payload(app={**APP, "name": 5}), "app.name is required"),
        (without(editor_payload(), "workspaceRoot"), WORKSPACE),
        (editor_payload(workspaceRoot="work"), WORKSPACE),
        (editor_payload(workspaceRoot="~/work"), WORKSPACE),
        (editor_payload(workspaceRoot="/work\0"), WORKSPACE),
        (editor_payload(workspaceRoot="C:work"), WORKSPACE),
        (editor_payload(editorSession=""), "editorSession required"),
        (editor_payload(seq=-1), "seq must be a positive integer"),
        (editor_payload(observedAtMs="now"), "observedAtMs must be a finite number"),
        (editor_payload(filePath=5), "filePath must be a string"),
        (editor_payload(filePath=None), "filePath must be a string"),
        (editor_payload(filePath="main.py"), "filePath must live under workspaceRoot"),
        (editor_payload(filePath="/work/application/main.py"), "filePath must live under workspaceRoot"),
        (editor_payload(filePath="/work/app/../main.py"), "filePath must live under workspaceRoot"),
        (editor_payload(filePath="/work/app"), "filePath must live under workspaceRoot"),
        (editor_payload(filePath="C:\\work\\app\\main.py"), "filePath must live under workspaceRoot"),
        (editor_payload(event="open"), EVENT),
        (editor_payload(event="verify-build"), EVENT),
        (editor_payload(languageId=5), "languageId must be a string"),
        (editor_payload(surfaceKind="browser"), SURFACE),
    ],
)
def test_a_body_is_refused(body: object, sentence: str | None) -> None:
    expected = sentence or "observedAtMs must be a finite number"
    assert sent(body) == Answer(400, {"error": expected})


def test_every_refusal_of_the_vocabulary_has_a_status_and_a_sentence() -> None:
    assert set(INTAKE_STATUS) == set(INTAKE_SENTENCES) == set(INTAKE_ERROR_CODE)
    assert get_args(CompanionKind) == COMPANION_KIND
    assert refusal("delivery-failed") == Answer(500, {"error": "observation delivery failed"})
    assert refusal("slow-body", drop=True) == Answer(408, {"error": "body took too long"}, drop=True)


def test_a_kind_of_payload_needs_the_token_of_its_kind() -> None:
    assert intake().body(Sender("editor", digest(EDITOR)), json.dumps(browser_payload()).encode(), 0.0, NOW_MS) == Answer(
        401, {"error": "browser pairing token required"}
    )
    assert intake().body(Sender("browser", digest(BROWSER)), json.dumps(editor_payload()).encode(), 0.0, NOW_MS) == Answer(
        401, {"error": "editor pairing token required"}
    )


def test_the_checks_come_in_the_protocols_order() -> None:
    """A request that breaks every rule is mended one rule at a time, and says each time what comes next."""
    asked = intake()
    head = Head("POST", "/companion/observation?", ("evil:1",), ("https://evil.example",), (), 9000)
    body: bytes = b"x" * 9000
    said = []

    def ask() -> None:
        answer = asked.head(head, PORT, PAIRING)
        if isinstance(answer, Sender):
            answer = asked.body(answer, body, 1.0, NOW_MS)  # type: ignore[assignment]
        assert isinstance(answer, Answer)
        said.append((answer.status, answer.body["error"]))

    ask()
    for name, value in {"target": GOOD.target, "hosts": GOOD.hosts, "origins": (), "tokens": (EDITOR,), "length": None}.items():
        head = replace(head, **{name: value})  # type: ignore[arg-type]  # fields of Head
        ask()
    wrong = browser_payload(incognito=True, seq=0)
    for data in (b"x", b"5", json.dumps(wrong).encode(), json.dumps({**wrong, "seq": 1}).encode()):
        body = data
        ask()
    spent = asked.body  # the token of the browser has used up its minute
    for _ in range(120):
        assert isinstance(spent(Sender("browser", digest(BROWSER)), json.dumps(browser_payload()).encode(), 0.0, NOW_MS), Report)
    asked.stopping = True
    head = replace(head, tokens=(BROWSER,))
    ask()
    later = asked.body(Sender("browser", digest(BROWSER)), body, 60.0, NOW_MS)
    stopped = asked.body(Sender("browser", digest(BROWSER)), json.dumps(browser_payload()).encode(), 60.0, NOW_MS)
    for answer in (later, stopped):
        assert isinstance(answer, Answer)
        said.append((answer.status, answer.body["error"]))
    assert said == [
        (404, "not found"),
        (403, "unexpected host"),
        (403, "unexpected origin"),
        (401, "pairing token required"),
        (413, "body too large"),
        (413, "body too large"),
        (400, "malformed json"),
        (400, "payload required"),
        (400, "seq must be a positive integer"),
        (401, "browser pairing token required"),
        (429, "rate limit exceeded"),
        (403, "incognito tabs are never reported"),
        (503, "companion intake is stopping"),
    ]


class TestRate:
    def test_120_in_any_60_seconds(self) -> None:
        asked = intake()
        assert all(isinstance(sent(browser_payload(), asked=asked, now=n / 2), Report) for n in range(120))
        assert sent(browser_payload(), asked=asked, now=59.9) == Answer(429, {"error": "rate limit exceeded"})
        assert isinstance(sent(browser_payload(), asked=asked, now=60.0), Report)  # the first one is a minute old
        assert sent(browser_payload(), asked=asked, now=60.4) == Answer(429, {"error": "rate limit exceeded"})
        assert isinstance(sent(browser_payload(), asked=asked, now=60.5), Report)

    def test_a_refused_one_is_not_counted_and_another_token_is_not_held_back(self) -> None:
        rate = RateLimit()
        assert [rate.accept("a", 0.0) for _ in range(500)] == [True] * 120 + [False] * 380
        assert rate.accept("b", 0.0)
        assert rate.accept("a", 60.0)

    def test_what_is_refused_before_it_costs_nothing(self) -> None:
        asked = intake()
        for _ in range(200):
            assert sent(browser_payload(seq=0), asked=asked) == Answer(400, {"error": "seq must be a positive integer"})
        assert isinstance(sent(browser_payload(), asked=asked), Report)

    def test_idle_tokens_are_forgotten(self) -> None:
        rate = RateLimit()
        for number in range(50):
            rate.accept(str(number), float(number))
        rate.accept("last", 100.0)
        assert len(rate) == 10  # 41 to 49, and the last


class TestAccepted:
    def test_a_page(self) -> None:
        asked = intake()
        report = sent(browser_payload(title="My mail"), asked=asked)
        assert isinstance(report, Report)
        facts = report.facts
        assert (facts.bundle_id, facts.app_name, facts.pid, facts.adapter) == ("companion.browser", "Browser companion", 0, "browser")
        assert (facts.url, facts.document, facts.title) == ("https://example.org/news", None, "My mail")
        assert (facts.session, facts.seq, facts.observed_at_ms, facts.provider) == ("browser-1", 1, NOW_MS, "companion")
        assert report.vouched_root is None
        assert asked.last_seen_ms == {"browser": NOW_MS}

    def test_a_file(self) -> None:
        asked = intake()
        report = sent(editor_payload(event="save", languageId="python", surfaceKind="diff", seq=1.0), asked=asked)
        assert isinstance(report, Report)
        facts = report.facts
        assert (facts.bundle_id, facts.app_name, facts.pid) == ("com.microsoft.VSCode", "Visual Studio Code", 0)
        assert (facts.document, facts.url, facts.activity_event, facts.surface_kind) == ("/work/app/main.py", None, "save", "diff")
        assert (facts.session, facts.seq, facts.provider) == ("editor-1", 1, "companion")
        assert report.vouched_root == "/work/app"
        assert asked.last_seen_ms == {"editor": NOW_MS}

    def test_an_event_without_a_file(self) -> None:
        report = sent(without(editor_payload(event="verify-test-failure"), "filePath"))
        assert isinstance(report, Report)
        assert (report.facts.document, report.facts.activity_event, report.facts.surface_kind) == (None, "verify-test-failure", None)

    def test_windows_paths(self) -> None:
        for root, file in (("C:\\Work", "c:/work/a.py"), ("\\\\host\\share", "\\\\HOST\\share\\a.py"), ("/a//b/./", "/a/c/../b/d")):
            assert isinstance(sent(editor_payload(workspaceRoot=root, filePath=file)), Report)

    @pytest.mark.parametrize("title", [None, 5, {}, ["x"], True])
    def test_a_title_that_is_none_is_ignored(self, title: object) -> None:
        for payload in (browser_payload(title=title), editor_payload(title=title)):
            report = sent(payload)
            assert isinstance(report, Report)
            assert report.facts.title is None

    def test_a_title_is_cut_as_javascript_counts_and_never_in_half(self) -> None:
        for text, kept in (("a" * 1025, "a" * 1024), ("a" + "😀" * 600, "a" + "😀" * 511), ("é" * 1024, "é" * 1024)):
            report = sent(browser_payload(title=text))
            assert isinstance(report, Report)
            assert report.facts.title == kept

    def test_a_fraction_of_a_millisecond_is_dropped(self) -> None:
        report = sent(browser_payload(observedAtMs=NOW_MS + 0.75))
        assert isinstance(report, Report)
        assert report.facts.observed_at_ms == NOW_MS


class TestUnknownFields:
    """One rule for the wire and the intake: here with the intake's sentence."""

    def test_refuse(self) -> None:
        asked = intake("refuse")
        assert sent(browser_payload(**{"x-new": 1}), asked=asked) == Answer(400, {"error": "unknown field for a browser payload: x-new"})

    def test_extension_drops_and_counts_what_is_marked(self) -> None:
        fields = UnknownFields("extension")
        asked = Intake(fields)
        for payload in (browser_payload(**{"x-new": "secret"}), editor_payload(app={**APP, "x-build": 1})):
            report = sent(payload, asked=asked)
            assert isinstance(report, Report)
            assert "secret" not in repr(report)
        assert fields.by_name == {"x-new": 1, "app.x-build": 1}
        assert isinstance(sent(browser_payload(body="text"), asked=asked), Answer)
        assert fields.by_name == {"x-new": 1, "app.x-build": 1}

    def test_count_takes_and_drops_everything(self) -> None:
        fields = UnknownFields("count")
        report = sent(browser_payload(body="the whole page"), asked=Intake(fields))
        assert isinstance(report, Report)
        assert "whole" not in repr(report)
        assert fields.by_name == {"body": 1}


def test_a_private_tab_is_refused_after_it_was_seen() -> None:
    asked = intake()
    assert sent(browser_payload(incognito=True), asked=asked) == Answer(403, {"error": "incognito tabs are never reported"})
    assert asked.last_seen_ms == {"browser": NOW_MS}


def test_only_states_of_the_capture_are_told() -> None:
    assert delivered(True, None) == Answer(201, {"stored": True})
    assert delivered(False, None) == Answer(202, {"stored": False})
    for reason in COMPANION_REFUSAL:
        assert delivered(False, reason) == Answer(202, {"stored": False, "reason": reason})
    assert delivered(False, "policy") == Answer(202, {"stored": False})
