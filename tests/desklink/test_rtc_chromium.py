"""A real browser answers our offers as its answers in tests/vectors/desklink say; nothing is connected."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from triptych.errors import RemoteProtocolError
from triptych.machines.desklink.sdp import Answer, IceCredentials, VideoOffer, negotiate, offer, read_answer

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "vectors" / "desklink" / "answers.json").read_text())["answers"]
FINGERPRINT = ":".join(["AB"] * 32)

ANSWER = """async sdp => {
  window.peer ??= new RTCPeerConnection();
  await peer.setRemoteDescription({type: 'offer', sdp});
  const answer = await peer.createAnswer();
  await peer.setLocalDescription(answer);
  return answer.sdp;
}"""
LEAVE = "() => { window.peer?.close(); window.peer = undefined; }"

Answering = Callable[..., Answer]


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with tempfile.TemporaryDirectory(prefix="rtc-") as profile, playwright.sync_playwright() as started:
        env = {**os.environ, "HOME": profile}
        context = started.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, headless=True, args=FLAGS, env=env)
        try:
            yield context.new_page()
        finally:
            context.close()


@pytest.fixture
def answering(page: Any) -> Iterator[Answering]:
    """Our offer in, the browser's answer out; the peer connection stays the same within a test."""

    def answer(video: VideoOffer, *, version: int = 1, ufrag: str = "abcd") -> Answer:
        ice = IceCredentials(ufrag, "p" * 24)
        text = offer(session_id=4_611_731_400_430_051_336, version=version, ice=ice, fingerprint=FINGERPRINT, video=video)
        return read_answer(page.evaluate(ANSWER, text))

    yield answer
    page.evaluate(LEAVE)


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case["name"])
def test_the_browser_answers_as_it_did(answering: Answering, case: dict[str, Any]) -> None:
    video = VideoOffer(case["codec"], case["profileLevelId"], 1111, 2222, "triptych")
    before, now = read_answer(case["answer"]), answering(video)
    assert now.bundle == before.bundle
    for old, new in zip(before.sections, now.sections, strict=True):
        assert replace(new, ufrag=None, pwd=None, fingerprint=None) == replace(old, ufrag=None, pwd=None, fingerprint=None)
    try:
        negotiate(before, video)
    except RemoteProtocolError as refused:
        with pytest.raises(RemoteProtocolError) as again:
            negotiate(now, video)
        assert again.value.detail == refused.detail
    else:
        assert negotiate(now, video).video == negotiate(before, video).video


def test_an_ice_restart_gets_fresh_credentials_of_the_same_certificate(answering: Answering) -> None:
    video = VideoOffer("vp9", None, 1111, 2222, "triptych")
    first = negotiate(answering(video), video)
    same = negotiate(answering(video, version=2), video)
    again = negotiate(answering(video, version=3, ufrag="efgh"), video)
    assert same.ice == first.ice
    assert again.ice.ufrag != first.ice.ufrag and again.ice.pwd != first.ice.pwd
    assert again.fingerprint == first.fingerprint and again.setup == first.setup
