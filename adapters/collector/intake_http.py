"""Carries requests to the companion intake over HTTP/1.1 on 127.0.0.1; `CompanionIntake` starts it. It decides nothing.

It stands on aiohttp's low-level server: no routes, no cookies, no access log, no decompression. Every answer, that to a request that is no
HTTP included, is JSON with its length and `cache-control: no-store`. Nothing of a request is ever logged.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from ...generated.collector.vocabulary import INTAKE_READ_TIMEOUT_MS, MAX_INTAKE_BODY_BYTES
from ...machines.collector.intake import Answer, Head, Sender, refusal

READ_TIMEOUT = INTAKE_READ_TIMEOUT_MS / 1000  #: seconds for a body, and for a connection without a request
LINGER = 1.0  #: seconds in which the rest of a refused body is thrown away, so that its sender reads the answer first
CLOSING = 1.0  #: seconds that answers under way have at the end

_silent = logging.Logger("triptych.intake", logging.CRITICAL + 1)

HeadAnswer = Callable[[Head], Answer | Sender]
BodyAnswer = Callable[[Sender, bytes], Awaitable[Answer]]


class IntakeServer:
    """A listening socket. `on_head` judges a request before its body, `on_body` takes the body of one that passed."""

    def __init__(self, on_head: HeadAnswer, on_body: BodyAnswer) -> None:
        self._on_head = on_head
        self._on_body = on_body
        self._connections = _Server(
            self._handle,
            keepalive_timeout=READ_TIMEOUT,
            lingering_time=LINGER,
            access_log=None,
            logger=_silent,
            auto_decompress=False,
            max_line_size=4096,
            max_field_size=4096,
        )
        self._listener: asyncio.Server | None = None

    async def listen(self, port: int) -> int:
        """Listen on a port of 127.0.0.1, 0 for any free one, and return it. Raises OSError."""
        self._listener = await asyncio.get_running_loop().create_server(self._connections, "127.0.0.1", port)
        bound: int = self._listener.sockets[0].getsockname()[1]
        return bound

    def refuse_connections(self) -> None:
        """Take no new connection; those that are open go on."""
        if self._listener is not None:
            self._listener.close()

    async def close(self) -> None:
        """End every connection; an answer that is being written has a second for it."""
        self.refuse_connections()
        self._connections.pre_shutdown()  # those that wait for a request end at once
        await self._connections.shutdown(CLOSING)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        judged = self._on_head(_head(request))
        if isinstance(judged, Sender):
            body = await _body(request)
            judged = await self._on_body(judged, body) if isinstance(body, bytes) else body
        return _response(judged)


class _Server(web.Server):
    """Makes connections that answer in JSON even to what is no HTTP."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], **settings: Any) -> None:
        super().__init__(handler)
        self._settings = settings

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop(), **self._settings)


class _Connection(RequestHandler):
    __slots__ = ()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        return _response(refusal("malformed-request" if isinstance(exc, HttpProcessingError) else "delivery-failed", drop=True))


def _head(request: web.BaseRequest) -> Head:
    headers = request.headers
    return Head(
        method=request.method,
        target=request.raw_path,
        hosts=tuple(headers.getall("Host", ())),
        origins=tuple(headers.getall("Origin", ())),
        tokens=tuple(headers.getall("X-Companion-Token", ())),
        length=request.content_length,
    )


async def _body(request: web.BaseRequest) -> bytes | Answer:
    """The whole body, at most a byte more than the cap; or the answer to one that does not arrive whole in time."""
    if request.headers.get("Expect", "").casefold() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # the answer itself has not begun
    body = bytearray()
    try:
        async with asyncio.timeout(READ_TIMEOUT):
            while len(body) <= MAX_INTAKE_BODY_BYTES and (chunk := await request.content.readany()):
                body += chunk
    except TimeoutError:
        return refusal("slow-body", drop=True)
    except web.RequestPayloadError:
        return refusal("malformed-request", drop=True)
    return bytes(body[: MAX_INTAKE_BODY_BYTES + 1])


def _response(answer: Answer) -> web.Response:
    response = web.Response(
        status=answer.status,
        body=json.dumps(answer.body, separators=(",", ":")).encode(),
        headers={"Content-Type": "application/json", "Cache-Control": "no-store", "Server": "triptych"},
    )
    if answer.drop:
        response.force_close()
    return response
