"""Writes our own termwright/3 vectors to tests/vectors/termwright, for clients in other languages: `python -m triptych.tools.gen_vectors`.

Each case states what must come of it, from the protocol's text and not from our library; before anything is written, our library is asked
for every one of them, and a single disagreement ends the run. The same input gives the same bytes. `--check` writes nothing and says
whether the files are current.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..engine.conformance.vector_cases import Untestable
from ..engine.conformance.vector_formats import recognise
from ..generated.termwright.vocabulary import DEFAULT_LIMITS
from .vector_snapshots import WIDE, changed, form, node, snapshot_cases

TARGET = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "termwright"
NOTE = "Written by triptych's tools/gen_vectors.py; every expectation was checked against its library. Match on code."

Document = dict[str, Any]


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def framing() -> Document:
    values = {
        "empty-array": [],
        "commit": {"type": "revision-commit", "revision": 12},
        "wide-characters": {"name": WIDE},
        "escapes": {"a": '"\\\n\t', "b": "\u007f"},
        "numbers": [0, -1, 0.25, 9007199254740991],
        "nested": {"a": [{"b": [[], {}, None, True, False]}]},
    }
    encode = [
        {"name": name, "value": value, "bodyBytes": len(text(value)), "frameHex": frame(text(value)).hex()}
        for name, value in values.items()
    ]
    stream = frame(text({"n": 1})) + frame(text({"n": 2})) + frame(text(WIDE))
    messages: list[Any] = [{"n": 1}, {"n": 2}, WIDE]
    decode: list[Document] = [
        {"name": f"split-every-{size}", "chunksHex": cut(stream, size), "messages": messages} for size in (1, 3, 7, len(stream))
    ]
    decode.append({"name": "an-empty-chunk-between", "chunksHex": [stream[:6].hex(), "", stream[6:].hex()], "messages": messages})
    accepted = {
        "surrounding-whitespace": (b" \n[1]\t", [1]),
        "leading-bom": (b"\xef\xbb\xbf[1]", [1]),
        "last-duplicate-key": (b'{"a":1,"a":2}', {"a": 2}),
        "a-scalar": (b"true", True),
        "paired-surrogate-escapes": (b'"\\ud83d\\ude00"', "\U0001f600"),
        "depth-64": (b"[" * 65 + b"]" * 65, deep(65)),
    }
    decode += [{"name": name, "chunksHex": [frame(body).hex()], "messages": [value]} for name, (body, value) in accepted.items()]
    refused = {
        "length-zero": (b"\0\0\0\0", "frame-malformed"),
        "length-over-ceiling": (b"\x00\x10\x00\x01", "frame-oversized"),
        "length-4-gib": (b"\xff\xff\xff\xff", "frame-oversized"),
        "empty-string-key-then-garbage": (frame(b'{"":1}x'), "frame-malformed"),
        "trailing-comma": (frame(b"[1,]"), "frame-malformed"),
        "single-quotes": (frame(b"{'a':1}"), "frame-malformed"),
        "leading-zero": (frame(b"01"), "frame-malformed"),
        "infinity": (frame(b"-Infinity"), "frame-malformed"),
        "raw-control-character": (frame(b'"\x01"'), "frame-malformed"),
        "only-whitespace": (frame(b"  "), "frame-malformed"),
        "truncated-utf-8": (frame(b'"\xe2\x82"'), "frame-encoding"),
        "overlong-utf-8": (frame(b'"\xc0\xaf"'), "frame-encoding"),
        "surrogate-as-utf-8": (frame(b'"\xed\xbf\xbf"'), "frame-encoding"),
        "number-beyond-a-double": (frame(b"[-1e400]"), "dto-scalar"),
        "lone-low-surrogate": (frame(b'"\\udfff"'), "dto-string"),
        "lone-surrogate-in-a-key": (frame(b'{"\\ud800":0}'), "dto-string"),
        "reserved-key-constructor": (frame(b'[{"constructor":1}]'), "dto-key"),
        "reserved-key-escaped": (frame(b'{"\\u005f_proto__":1}'), "dto-key"),
        "depth-65": (frame(b"[" * 66 + b"]" * 66), "dto-depth"),
        "objects-5000-deep": (frame(b'{"a":' * 5000 + b"1" + b"}" * 5000), "dto-depth"),
    }
    reject = [{"name": name, "streamHex": stream.hex(), "code": code} for name, (stream, code) in refused.items()]
    return {"note": NOTE, "maxFrameBytes": DEFAULT_LIMITS["maxFrameBytes"], "encode": encode, "decode": decode, "reject": reject}


def cut(stream: bytes, size: int) -> list[str]:
    return [stream[start : start + size].hex() for start in range(0, len(stream), size)]


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def marker() -> Document:
    pairs = [("token-of-a-driver", "session-7", 1), ("token-of-a-driver", "session-7", 2), ("token-of-a-driver", "session-8", 1),
             ("t", "s", 9007199254740991), (WIDE, f"{WIDE}-session", 40)]  # fmt: skip
    encode: list[dict[str, Any]] = []
    for token, session, revision in pairs:
        mac = base64.urlsafe_b64encode(hmac.digest(token.encode(), f"{session}:{revision}".encode(), hashlib.sha256)[:16])[:22].decode()
        sequence = f"\x1b]8487;twm;{revision};{mac}\x07"
        encode.append(
            {
                "token": token, "sessionId": session, "revision": revision, "mac": mac, "payload": f"twm;{revision};{mac}",
                "sequence": sequence, "sequenceHex": sequence.encode().hex(),
            }
        )  # fmt: skip
    sound = {"token": pairs[0][0], "sessionId": pairs[0][1]}
    payload = encode[0]["payload"]
    mac = encode[0]["mac"]
    accepted = {"bare": payload, "with-bel": payload + "\x07", "with-st": payload + "\x1b\\"}
    refused = {
        "mac-of-another-revision": f"twm;1;{encode[1]['mac']}",
        "mac-of-another-session": f"twm;1;{encode[2]['mac']}",
        "two-terminators": payload + "\x07\x07",
        "both-terminators": payload + "\x1b\\\x07",
        "plus-sign": f"twm;+1;{mac}",
        "space-before-revision": f"twm; 1;{mac}",
        "leading-zero": f"twm;01;{mac}",
        "revision-beyond-2^53": f"twm;9007199254740992;{mac}",
        "revision-of-17-digits": f"twm;10000000000000000;{mac}",
        "other-digits": f"twm;١;{mac}",
        "mac-padded": f"{payload}==",
        "mac-in-plain-base64": payload[:-2] + "+/",
        "third-field": f"{payload};1",
        "upper-case-tag": payload.replace("twm", "TWM"),
        "line-feed-after": payload + "\n",
        "only-the-tag": "twm;",
    }
    return {
        "note": NOTE, "oscCode": 8487, "oscPrefix": "twm;", "macBytes": 16, "encode": encode,
        "acceptTerminators": [{"name": name, "payload": given, "revision": 1, **sound} for name, given in accepted.items()],
        "verifyReject": [{"name": name, "payload": given, **sound} for name, given in refused.items()],
    }  # fmt: skip


def messages() -> Document:
    hello: Document = {
        "type": "hello", "protocol": "termwright/3", "token": "a-token", "adapter": {"name": "example", "version": "2.1"},
        "capabilities": ["tree", "incremental-tree", "logs"],
    }  # fmt: skip
    probe: Document = {
        "framework": "example", "probeVersion": "2.1", "identityKind": "stable", "capabilities": ["stable-identity"],
        "instrumentation": {"highestTier": "T1", "semanticClass": "A", "degradedCapabilities": []},
    }  # fmt: skip
    provider: Document = {"id": "app.pointer", "version": "1", "method": "native", "capabilities": ["pointer-regions"]}
    ack: Document = {
        "type": "hello-ack", "protocol": "termwright/3", "sessionId": "session-7", "limits": dict(DEFAULT_LIMITS),
        "subscribe": "semantic", "marker": {"enabled": True},
    }  # fmt: skip
    resync: Document = {"type": "semantic-resync-request", "sessionId": "session-7", "expectedBaseRevision": 4, "reason": "base-mismatch"}
    record = {"ts": 1, "level": "info", "message": "m", "seq": 0}
    with_probe = {**hello, "probe": probe}
    accept = {
        "hello": hello,
        "hello-no-capabilities": {**hello, "capabilities": []},
        "hello-token-of-1024-units": {**hello, "token": "\U0001f511" * 512},
        "hello-probe": with_probe,
        "hello-providers": {**hello, "providers": [provider, {**provider, "id": "app.focus", "capabilities": ["focus-state"]}]},
        "full": {"type": "semantic-full", "snapshot": form()},
        "delta-is-looked-at-later": {"type": "semantic-delta", "delta": "anything"},
        "commit-as-a-float": {"type": "revision-commit", "revision": 3.0},
        "frame-begin": {"type": "frame-begin", "revision": 3},
        "log": {"type": "log", "record": record},
        "error": {"type": "error", "code": "duplicate-semantic-key", "message": ""},
    }
    malformed = {
        "not-an-object": 7,
        "type-missing": {"revision": 1},
        "type-of-the-driver": resync,
        "obsolete-type": {"type": "tree-delta", "delta": {}},
        "hello-token-of-1026-units": {**hello, "token": "\U0001f511" * 513},
        "hello-token-empty": {**hello, "token": ""},
        "hello-unknown-field": {**hello, "colour": 1},
        "hello-unknown-capability": {**hello, "capabilities": ["tree", "colours"]},
        "hello-probe-null": {**hello, "probe": None},
        "hello-probe-unknown-field": {**hello, "probe": {**probe, "colour": 1}},
        "hello-probe-degraded-twice": changed(with_probe, "probe.instrumentation.degradedCapabilities", ["focus", "focus"]),
        "hello-probe-class-b-with-geometry": changed(with_probe, "probe.instrumentation.semanticClass", "B"),
        "hello-probe-frame-local-yet-stable": changed(with_probe, "probe.identityKind", "frame-local"),
        "hello-provider-twice": {**hello, "providers": [provider, provider]},
        "hello-provider-without-capabilities": {**hello, "providers": [{**provider, "capabilities": []}]},
        "commit-zero": {"type": "revision-commit", "revision": 0},
        "commit-true": {"type": "revision-commit", "revision": True},
        "commit-fraction": {"type": "revision-commit", "revision": 1.5},
        "commit-beyond-2^53": {"type": "revision-commit", "revision": 9007199254740992},
        "full-without-snapshot": {"type": "semantic-full"},
        "full-bad-parent": {"type": "semantic-full", "snapshot": changed(form(), "nodes.1.parentId", "nobody")},
        "log-unknown-level": {"type": "log", "record": {**record, "level": "notice"}},
        "error-unknown-code": {"type": "error", "code": "bad-luck", "message": ""},
        "error-long-message": {"type": "error", "code": "internal", "message": "x" * 1025},
    }
    reject = [{"name": name, "message": message, "code": "malformed"} for name, message in malformed.items()]
    reject += [
        {"name": "another-version", "message": {**hello, "protocol": "termwright/2"}, "code": "bad-version"},
        {"name": "another-version-and-no-shape", "message": {"type": "hello", "protocol": "x", "colour": 1}, "code": "bad-version"},
        {"name": "string-too-long", "message": full(name="x" * 16385), "code": "limit-exceeded"},
        {"name": "too-deep", "message": {"type": "semantic-delta", "delta": deep(70)}, "code": "limit-exceeded"},
    ]
    driver_accept = {
        "ack": ack,
        "ack-logs": {**ack, "logs": {"enabled": True, "maxRecordsPerSecond": 1, "burst": 0}},
        "ack-unknown-fields": {
            **ack,
            "colour": 1,
            "marker": {"enabled": False, "shape": "round"},
            "limits": {**DEFAULT_LIMITS, "maxFun": 1},
        },
        "ack-limits-beyond-absolute": {**ack, "limits": {**DEFAULT_LIMITS, "maxNodes": 10**12}},
        "resync": {**resync, "added": None},
        "resync-without-base": {**resync, "expectedBaseRevision": None, "reason": "missing-base"},
        "error": {"type": "error", "code": "bad-token", "message": "no", "retry": False},
    }
    without = {name: limit for name, limit in DEFAULT_LIMITS.items() if name != "maxDepth"}
    driver_reject = {
        "ack-limit-missing": ({**ack, "limits": without}, "malformed"),
        "ack-limit-zero": ({**ack, "limits": {**DEFAULT_LIMITS, "maxDepth": 0}}, "malformed"),
        "ack-subscribes-to-snapshots": ({**ack, "subscribe": "snapshots"}, "malformed"),
        "ack-marker-text": ({**ack, "marker": {"enabled": "yes"}}, "malformed"),
        "ack-another-version": ({**ack, "protocol": "termwright/4"}, "bad-version"),
        "ack-version-number": ({**ack, "protocol": 3}, "malformed"),
        "resync-base-missing": ({key: value for key, value in resync.items() if key != "expectedBaseRevision"}, "malformed"),
        "resync-base-zero": ({**resync, "expectedBaseRevision": 0}, "malformed"),
        "resync-unknown-reason": ({**resync, "reason": "curiosity"}, "malformed"),
        "type-of-the-adapter": ({"type": "revision-commit", "revision": 1}, "malformed"),
    }
    return {
        "note": NOTE,
        "adapterToDriver": {"accept": [{"name": name, "message": message} for name, message in accept.items()], "reject": reject},
        "driverToAdapter": {
            "accept": [{"name": name, "message": message} for name, message in driver_accept.items()],
            "reject": [{"name": name, "message": message, "code": code} for name, (message, code) in driver_reject.items()],
        },
    }


def full(**fields: object) -> Document:
    snapshot = form()
    snapshot["nodes"][1] |= fields
    return {"type": "semantic-full", "snapshot": snapshot}


def snapshots() -> Document:
    accept, reject = snapshot_cases()
    return {
        "note": NOTE, "limits": dict(DEFAULT_LIMITS), "accept": [{"name": name, "snapshot": snapshot} for name, snapshot in accept.items()],
        "reject": [
            {"name": name, "snapshot": snapshot, "code": code, **({"limits": limits} if limits else {})}
            for name, (snapshot, code, limits) in reject.items()
        ],
    }  # fmt: skip


def deltas() -> Document:
    base = form()
    head: Document = {"v": 3, "sessionId": base["sessionId"], "revision": base["revision"] + 1, "baseRevision": base["revision"]}

    def after(edit: Callable[[Document], object]) -> Document:
        following = copy.deepcopy(base)
        following["revision"] = head["revision"]
        edit(following)
        return following

    renamed = after(lambda tree: tree["nodes"][1].update(name="Post code"))
    cleared = after(lambda tree: tree["nodes"][2].pop("state"))
    added = node("extra", "text", "New", parentId="form", rect=(4, 1, 6, 1))
    grown = after(lambda tree: tree["nodes"].append(added))
    shrunk = after(lambda tree: tree["nodes"].pop(2))
    moved = after(lambda tree: tree.update(cursor={"row": 2, "column": 2, "visible": True}))
    good: dict[str, tuple[Document, Document, list[str]]] = {
        "nothing": ({}, after(lambda tree: None), []),
        "update": ({"updateNodes": [{"id": "name", "set": {"name": "Post code"}}]}, renamed, ["name"]),
        "clear": ({"updateNodes": [{"id": "send", "clear": ["state"]}]}, cleared, ["send"]),
        "clear-what-is-absent": ({"updateNodes": [{"id": "name", "clear": ["description"]}]}, after(lambda tree: None), ["name"]),
        "add": ({"addNodes": [added]}, grown, ["extra"]),
        "remove": ({"removeNodeIds": ["send"]}, shrunk, ["send"]),
        "cursor": ({"snapshot": {"cursor": {"row": 2, "column": 2, "visible": True}}}, moved, []),
        "null-operations": ({"addNodes": None, "updateNodes": None, "removeNodeIds": None, "snapshot": None}, after(lambda tree: None), []),
    }
    bad: dict[str, tuple[object, str]] = {
        "array": ([], "schema"),
        "unknown-key": ({**head, "colour": 1}, "schema"),
        "version": ({**head, "v": 2}, "schema"),
        "another-session": ({**head, "sessionId": "session-8"}, "schema"),
        "revision-zero": ({**head, "revision": 0}, "revision"),
        "base-ahead": ({**head, "baseRevision": head["revision"], "revision": head["revision"] + 1}, "base-revision"),
        "base-behind": ({**head, "baseRevision": head["baseRevision"] - 1}, "base-revision"),
        "not-newer": ({**head, "revision": head["baseRevision"]}, "revision"),
        "remove-unknown": ({**head, "removeNodeIds": ["nobody"]}, "schema"),
        "remove-and-update": ({**head, "removeNodeIds": ["send"], "updateNodes": [{"id": "send", "clear": ["state"]}]}, "duplicate-id"),
        "add-existing": ({**head, "addNodes": [node("name", "text", "", parentId="form")]}, "duplicate-id"),
        "update-nothing": ({**head, "updateNodes": [{"id": "name"}]}, "schema"),
        "update-the-id": ({**head, "updateNodes": [{"id": "name", "set": {"id": "other"}}]}, "schema"),
        "clear-the-name": ({**head, "updateNodes": [{"id": "name", "clear": ["name"]}]}, "schema"),
        "clear-twice": ({**head, "updateNodes": [{"id": "name", "clear": ["value", "value"]}]}, "duplicate-id"),
        "set-and-clear": ({**head, "updateNodes": [{"id": "name", "set": {"testId": "t"}, "clear": ["testId"]}]}, "schema"),
        "unknown-parent": ({**head, "updateNodes": [{"id": "name", "set": {"parentId": "nobody"}}]}, "missing-parent"),
        "unknown-role": ({**head, "updateNodes": [{"id": "name", "set": {"role": "slider"}}]}, "unknown-role"),
        "cycle": (
            {**head, "updateNodes": [{"id": "name", "set": {"parentId": "send"}}, {"id": "send", "set": {"parentId": "name"}}]}, "cycle",
        ),
        "snapshot-unknown-key": ({**head, "snapshot": {"title": "x"}}, "schema"),
        "snapshot-clear-rows": ({**head, "snapshot": {"clear": ["rows"]}}, "schema"),
        "viewport-without-the-cursor": ({**head, "snapshot": {"rows": 1}}, "bad-rect"),
    }  # fmt: skip
    apply: list[Document] = [
        {"name": name, "delta": head | parts, "ok": True, "snapshot": following, "changedNodeIds": ids}
        for name, (parts, following, ids) in good.items()
    ]
    apply += [
        {"name": name, "delta": delta, "ok": False, "code": code, "resyncRequired": code == "base-revision"}
        for name, (delta, code) in bad.items()
    ]
    told = ("nothing", "update", "clear", "add", "remove", "cursor")
    diff = [
        {"name": name, "next": good[name][1], "delta": head | good[name][0], "deltaJson": text(head | good[name][0]).decode()}
        for name in told
    ]
    return {"note": NOTE, "committed": base, "apply": apply, "diff": diff}


def logs() -> Document:
    record = {
        "ts": 1796057831568,
        "level": "warn",
        "message": WIDE,
        "seq": 4,
        "attrs": {"n": 1.5, "b": True, "x": None, "": ""},
        "logger": "app",
    }
    good = {"whole": record, "least": {"ts": 1, "level": "trace", "message": "", "seq": 0}, "64-attributes": {**record, "attrs": many(64)}}
    bad = {
        "ts-zero": ({**record, "ts": 0}, "schema"),
        "level-number": ({**record, "level": 30}, "schema"),
        "seq-negative": ({**record, "seq": -1}, "schema"),
        "seq-missing": ({key: value for key, value in record.items() if key != "seq"}, "schema"),
        "unknown-field": ({**record, "colour": 1}, "schema"),
        "attribute-object": ({**record, "attrs": {"a": {}}}, "schema"),
        "65-attributes": ({**record, "attrs": many(65)}, "count"),
        "revision-zero": ({**record, "revision": 0}, "revision"),
        "message-too-long": ({**record, "message": "é" * 8193}, "string-bytes"),
        "attribute-too-long": ({**record, "attrs": {"a": "x" * 16385}}, "string-bytes"),
        "record-too-long": ({**record, "attrs": {str(n): "x" * 12000 for n in range(3)}}, "bytes"),
    }
    cases: list[Document] = [{"name": name, "record": value, "ok": True} for name, value in good.items()]
    cases += [{"name": name, "record": value, "ok": False, "code": code} for name, (value, code) in bad.items()]
    return {"note": NOTE, "cases": cases}


def many(count: int) -> dict[str, int]:
    return {f"k{number}": number for number in range(count)}


def identifier(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 2**53 or 1


def accesskit() -> Document:
    snapshot = form()
    ids = {name: identifier(name) for name in ("form", "name", "send")}
    nodes: list[tuple[int, Document]] = [
        (ids["form"], {"role": "region", "label": "Address", "children": [ids["name"], ids["send"]]}),
        (ids["name"], {"role": "textInput", "label": "Name", "value": "Ada", "actions": ["focus", "setValue"]}),
        (ids["send"], {"role": "button", "label": "Send", "actions": ["focus", "click"], "labelledBy": [ids["name"]], "disabled": True}),
    ]
    bounds = {"form": (0, 0, 20, 6), "name": (1, 1, 12, 1), "send": (2, 1, 8, 1)}
    cells = {str(ids[name]): dict(zip(("row", "column", "width", "height"), rect, strict=True)) for name, rect in bounds.items()}
    update = {"nodes": nodes, "tree": {"root": ids["form"]}, "treeId": "00000000-0000-0000-0000-000000000000", "focus": ids["name"]}
    cases: list[Document] = [{"name": "form", "snapshot": snapshot, "options": {}, "expect": {"update": update, "cellBounds": cells}}]
    drawn = []
    for (row, column, width, height), (key, told) in zip(bounds.values(), nodes, strict=True):
        edges = {"x0": column * 10, "y0": row * 20, "x1": (column + width) * 10, "y1": (row + height) * 20}
        drawn.append([key, {**told, "bounds": edges}])
    sized = {"update": {**update, "nodes": drawn}, "cellBounds": cells}
    cases.append({"name": "form-in-pixels", "snapshot": snapshot, "options": {"cellSize": {"width": 10, "height": 20}}, "expect": sized})
    secret = changed(snapshot, "nodes.1.value.sensitivity", "sensitive")
    silent = [[key, {name: value for name, value in told.items() if name != "value"}] for key, told in nodes]
    cases.append({"name": "sensitive-value", "snapshot": secret, "options": {},
                  "expect": {"update": {**update, "nodes": silent}, "cellBounds": cells}})  # fmt: skip
    roles = {
        "listitem": "listItem",
        "textbox": "textInput",
        "text": "label",
        "separator": "splitter",
        "generic": "genericContainer",
        "row": "row",
    }
    return {"note": NOTE, "roleMap": roles, "ids": [[name, identifier(name)] for name in ("form", WIDE, "")], "cases": cases}


FILES: Mapping[str, Callable[[], Document]] = {
    made.__name__: made for made in (framing, marker, messages, snapshots, deltas, logs, accesskit)
}


def written(document: Document) -> str:
    """The document as JSON, one case a line."""
    return json.dumps(document, ensure_ascii=False, indent=None, separators=(",", ":")).replace('},{"name":', '},\n{"name":') + "\n"


def disagreements(name: str, document: Document) -> Iterator[str]:
    """What our library says otherwise, or cannot say."""
    runner = recognise(document)
    if runner is None:
        yield f"{name}: no known format"
        return
    for answer in runner(document):
        if isinstance(answer, Untestable):
            yield f"{name} {answer.case}: {answer.reason}"
        elif answer.expected != answer.actual:
            yield f"{name} {answer.case}: stated {answer.expected[:300]}, our library says {answer.actual[:300]}"


def main(arguments: list[str]) -> int:
    texts: dict[str, str] = {}
    found: list[str] = []
    for name, make in FILES.items():
        texts[name] = written(make())
        found += disagreements(name, json.loads(texts[name]))
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if arguments == ["--check"]:
        stale = [
            name for name, made in texts.items() if not (TARGET / f"{name}.json").exists() or (TARGET / f"{name}.json").read_text() != made
        ]
        print(f"not current: {', '.join(stale)}" if stale else "vectors are current", file=sys.stderr)
        return 1 if stale else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, made in texts.items():
        (TARGET / f"{name}.json").write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
