"""Whatever a companion sends: what is taken has the allowed shape, and nothing but the allowed fields reaches the facts."""

from __future__ import annotations

import json
import math
import re
from urllib.parse import urlsplit

import msgspec
from ada_url import URL, check_url
from hypothesis import example, given
from hypothesis import strategies as st

from companion_kit import NOW_MS, browser_payload, editor_payload
from schema_strategies import ANYTHING
from triptych.errors import RemoteProtocolError
from triptych.generated.collector.vocabulary import ACTIVITY_EVENT, EDITOR_SURFACE_KIND, INTAKE_SENTENCES, KEYS
from triptych.machines.collector.companion_payload import read
from triptych.machines.collector.intake import Answer, Intake, Report, Sender
from triptych.machines.collector.unknown_fields import UnknownFields
from triptych.machines.wire.faults import Fault
from triptych.machines.wire.rules import rule

CANARY = "what nobody may know"
HOSTS = st.one_of(
    st.from_regex(r"\A[a-z0-9.:_\[\]-]{1,12}\Z"),
    st.from_regex(r"\Axn--[a-z0-9-]{0,8}\Z"),
    st.ip_addresses().map(lambda address: f"[{address}]" if address.version == 6 else str(address)),
    st.text(max_size=8),
)
ORIGINS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["http://", "https://", "ftp://", "HTTP://", "//", ""]),
    HOSTS,
    st.sampled_from(["", ":80", ":443", ":8080", ":0", ":99999", "/"]),
)
PATHS = st.builds("/{}".format, st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), max_size=8)) | st.text(
    "/.%2eE~^|[]\\`{} ?#", max_size=10
)
NAMES = st.sampled_from(["text", "title ", "x-note", "X-note", "app", "app.x", "html", "selection", "", "\ud800", "__proto__"])


def refuses(name: str, text: str) -> bool:
    try:
        rule(name)(text, ())
    except Fault:
        return True
    return False


@given(ORIGINS, PATHS)
@example("http://[::ffff:102:304]", "/a|b")
@example("https://a_b.example.", "/%zz")
@example("http://1.2.3", "/a/%2e%2E")
def test_a_canonical_url_is_what_a_whatwg_parser_makes_of_it(origin: str, path: str) -> None:
    """The rule may refuse what is canonical; what it takes, a browser would write exactly so."""
    if not refuses("canonical-origin", origin):
        assert check_url(origin)
        assert URL(origin).origin == origin
    if not refuses("canonical-path", path):
        page = URL("https://a" + path)
        assert (page.pathname, page.search, page.hash, page.href) == (path, "", "", "https://a" + path)


@given(st.from_regex(r"\Ahttps?://[a-z0-9]{1,8}(\.[a-z0-9-]{1,8}[a-z]){0,3}(:[1-9][0-9]{0,3})?/[A-Za-z0-9/_~%.é ü?#=&-]{0,20}\Z"))
def test_ordinary_pages_are_taken_as_a_browser_writes_them(text: str) -> None:
    """What a browser makes of an address that a person may type is taken, without its query and fragment."""
    if check_url(text):
        page = URL(text)
        assert not refuses("canonical-origin", page.origin)
        assert not refuses("canonical-path", page.pathname)


def changed(payload: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    """A good payload, some of whose fields are anything at all, some gone, and some there that nobody knows."""
    others = st.dictionaries(NAMES, st.just(CANARY) | ANYTHING, max_size=2)
    fields = st.dictionaries(st.sampled_from(sorted(payload)), ANYTHING | st.text(max_size=12), max_size=2)
    gone = st.sets(st.sampled_from(sorted(payload)), max_size=1)
    optional = st.fixed_dictionaries(
        {}, optional={"title": ANYTHING, "event": ANYTHING, "surfaceKind": ANYTHING, "languageId": st.just(CANARY)}
    )
    return st.builds(
        lambda base, some, new, more, left: {key: value for key, value in {**base, **some, **new, **more}.items() if key not in left},
        st.just(payload),
        optional if payload["source"] == "editor" else st.just({}),
        fields,
        others,
        gone,
    )


@given(changed(browser_payload()) | changed(editor_payload()), st.sampled_from(["refuse", "extension", "count"]))
def test_what_is_taken_has_the_allowed_shape_and_nothing_else_becomes_a_fact(payload: dict[str, object], setting: str) -> None:
    unknown = UnknownFields(setting)  # type: ignore[arg-type]  # the three words of the setting
    intake = Intake(unknown)
    source = payload.get("source")
    sender = Sender("editor" if source == "editor" else "browser", "digest")
    try:
        body = json.dumps(payload).encode()
    except ValueError:  # Python writes no integer of 400 digits
        return
    judged = intake.body(sender, body, 0.0, NOW_MS)
    if isinstance(judged, Answer):
        assert judged.status in (400, 403, 413)
        assert unknown.report().total == 0 or judged.status == 403
        return
    assert source in ("browser", "editor")
    known = set(KEYS["BrowserPayload" if source == "browser" else "EditorPayload"])
    strange = {key for key in payload if key not in known}
    assert not strange or setting == "count" or (setting == "extension" and all(key.startswith("x-") for key in strange))
    assert unknown.report().total == len(strange)
    facts = judged.facts
    assert CANARY not in repr(judged)
    number, at = payload["seq"], payload["observedAtMs"]
    assert isinstance(number, int | float) and not isinstance(number, bool) and 1 <= facts.seq == number <= 2**53 - 1
    assert isinstance(at, int | float) and math.isfinite(at) and facts.observed_at_ms == int(at)
    assert facts.title is None or str(payload["title"]).startswith(facts.title)
    assert (facts.pid, facts.provider, facts.secure, facts.protected, facts.role, facts.identifier) == (
        0,
        "companion",
        False,
        False,
        None,
        None,
    )
    if source == "browser":
        assert payload["incognito"] is False
        assert facts.url == f"{payload['origin']}{payload['path']}"
        assert urlsplit(facts.url).query == urlsplit(facts.url).fragment == "" and "@" not in urlsplit(facts.url).netloc
        assert (facts.document, facts.bundle_id, judged.vouched_root) == (None, "companion.browser", None)
    else:
        assert facts.document == payload.get("filePath") and facts.url is None and judged.vouched_root == payload["workspaceRoot"]
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{2,127}", facts.bundle_id)
        assert facts.activity_event in (None, *ACTIVITY_EVENT) and facts.surface_kind in (None, *EDITOR_SURFACE_KIND)
    assert msgspec.json.encode({name: getattr(facts, name) is not None for name in facts.__struct_fields__})


@given(
    st.binary(max_size=64)
    | st.recursive(ANYTHING, lambda inner: st.lists(inner), max_leaves=3).map(lambda value: repr(value).encode("utf-8", "replace"))
)
def test_no_bytes_do_more_than_be_refused_with_a_sentence(body: bytes) -> None:
    try:
        read(body, UnknownFields())
    except RemoteProtocolError as error:
        assert error.detail.startswith(INTAKE_SENTENCES[error.code].partition("{")[0])


@given(changed(editor_payload()))
def test_the_same_report_twice_is_judged_the_same(payload: dict[str, object]) -> None:
    try:
        body = json.dumps(payload).encode()
    except ValueError:
        return
    first, second = (Intake(UnknownFields()).body(Sender("editor", "digest"), body, 0.0, NOW_MS) for _ in range(2))
    assert first == second
    assert isinstance(first, Answer | Report)
