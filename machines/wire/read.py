"""Accept fast, explain slow: the one way from bytes to a checked struct; each protocol core makes its readers and keeps them.

A read tries the generated decoder first: one C-speed pass, strict in every direction. It may only say yes, and only where the text was
looked at whole, so a gate checks what msgspec does not (remainder.py, or the core's own faster `fast_gate`). When it does not say yes,
the slow path decides: strict text, the walker in declared key order, then the same struct; or the first fault with its stable code.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

import msgspec

from ...errors import RemoteProtocolError
from .faults import Fault, UnknownKey, code_of, dotted, shortened
from .remainder import Remainder
from .text import TextFault, TextPolicy, nesting_exceeds, parse
from .walk import Mode, Walker

T = TypeVar("T")
FastGate = Callable[[bytes, Any, Mapping[str, int]], bool]


class Reader(Generic[T]):
    """Reads one root of one protocol. Immutable, and safe to share; the generated modules are imported at the first use.

    `fast_gate(body, struct, limits)` replaces the general check of what msgspec leaves open. It must answer False unless the walker
    would surely accept the same bytes: it owns string sizes, negotiated limits, x-rules, reserved keys in maps, and, where the root
    has free-form JSON, its UTF-8, nesting, numbers and keys. The reader itself keeps the gates that follow from the text policy.
    """

    def __init__(self, protocol: str, root: str, text: TextPolicy, *, fast_gate: FastGate | None = None) -> None:
        self._protocol = protocol
        self._root = root
        self._text = text
        self._fast_gate = fast_gate

    def read(self, body: bytes, limits: Mapping[str, int] | None = None) -> T:
        """The message in `body`. Raises RemoteProtocolError with the stable code, the dotted path and a sentence.

        `limits` are negotiated ceilings that stand in for the protocol's defaults. Unknown keys are refused in a strict direction and
        dropped in the others.
        """
        ceilings = self._ceilings(limits)
        fast = self._accept(body, ceilings)
        return self._explain(self._parse(body), ceilings, []) if fast is None else fast

    def read_value(self, value: object, limits: Mapping[str, int] | None = None) -> T:
        """The same for a value that is plain JSON already; the rules of the text are the caller's."""
        return self._explain(value, self._ceilings(limits), [])

    def read_reporting(self, body: bytes, limits: Mapping[str, int] | None = None) -> tuple[T, tuple[UnknownKey, ...]]:
        """The message, and the dotted path of every unknown key, in the walker's order; what they mean is the caller's decision."""
        ceilings = self._ceilings(limits)
        fast = self._accept(body, ceilings)
        if fast is not None:
            return fast, ()
        reported: list[UnknownKey] = []
        return self._explain(self._parse(body), ceilings, reported), tuple(reported)

    def read_keeping(self, body: bytes, limits: Mapping[str, int] | None = None) -> tuple[T, dict[str, Any]]:
        """The message, and the same as a plain object that still has the unknown keys, for one who passes on what it does not know.

        The keys that are known have their normalised values in both. Where unknown keys are refused there are none to keep.
        """
        ceilings = self._ceilings(limits)
        value = self._parse(body)
        struct = self._explain(value, ceilings, [])
        return struct, self._generated.walker.walk(self._root, value, Mode("keep", ceilings, self._text.int_tokens_only))

    def explain(self, value: object, limits: Mapping[str, int] | None = None) -> None:
        """Raise the first fault of a plain value as RemoteProtocolError; return when there is none."""
        self._walk(value, self._ceilings(limits), [])

    def accept(self, body: bytes, limits: Mapping[str, int] | None = None) -> T | None:
        """Only the fast path: the message, or None when it cannot be sure. For benchmarks and tests of the rule fast yes ⇒ slow yes."""
        return self._accept(body, self._ceilings(limits))

    def _ceilings(self, limits: Mapping[str, int] | None) -> Mapping[str, int]:
        return self._generated.limits if limits is None else {**self._generated.limits, **limits}

    @cached_property
    def _generated(self) -> _Generated:
        return _generated(self._protocol)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[T]:
        return cast("msgspec.json.Decoder[T]", self._generated.decoders[self._root]())

    @cached_property
    def _remainder(self) -> Callable[[bytes, Any, Mapping[str, int]], bool]:
        generated = self._generated
        remainder = Remainder(generated.tables, generated.models, generated.walker, self._text)
        holds = remainder.of(self._root)
        depth, tokens = self._text.depth, self._text.int_tokens_only

        def gate(body: bytes, struct: Any, limits: Mapping[str, int]) -> bool:
            if holds is None:
                return True
            mode = Mode(limits=limits, int_tokens_only=tokens)
            # The structs bound the nesting of all that is typed; only free-form JSON can be deeper.
            return holds(struct, mode) and not (mode.free_form and nesting_exceeds(body, depth))

        return gate

    def _accept(self, body: bytes, limits: Mapping[str, int]) -> T | None:
        if self._text.duplicates == "refuse" or (self._text.int_tokens_only and b"-0" in body):
            return None  # msgspec takes the last of two equal keys, and reads -0 as an integer
        try:
            struct = self._decoder.decode(body)
            return struct if (self._fast_gate or self._remainder)(body, struct, limits) else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _parse(self, body: bytes) -> object:
        try:
            return parse(body, self._text)
        except TextFault as fault:
            code = self._text.codes.get(fault.kind, self._generated.codes[self._root]["default"])
            raise RemoteProtocolError(code, fault.detail) from None

    def _walk(self, value: object, limits: Mapping[str, int], reported: list[UnknownKey]) -> Any:
        generated = self._generated
        mode = Mode(UNKNOWN[generated.directions[self._root]], limits, self._text.int_tokens_only, reported)
        try:
            return generated.walker.walk(self._root, value, mode)
        except Fault as fault:
            code, detail = code_of(fault, generated.codes, self._root)
            raise RemoteProtocolError(code, shortened(detail), shortened(dotted(fault.path))) from None

    def _explain(self, value: object, limits: Mapping[str, int], reported: list[UnknownKey]) -> T:
        plain = self._walk(value, limits, reported)
        try:
            return cast(T, msgspec.convert(plain, self._decoder.type))
        except msgspec.ValidationError as error:  # a hole in the walker; a peer must not be able to raise anything else
            raise RemoteProtocolError(self._generated.codes[self._root]["default"], str(error)) from None


UNKNOWN = {"strict": "refuse", "tolerant": "drop", "report": "report"}


class _Generated:
    """The generated modules of one protocol, imported together, and the walker over their tables."""

    def __init__(self, protocol: str) -> None:
        package = f"{__package__.rsplit('.', 2)[0]}.generated.{protocol}"
        validators = importlib.import_module(f"{package}.validators")
        vocabulary = importlib.import_module(f"{package}.vocabulary")
        self.models = importlib.import_module(f"{package}.models")
        self.decoders: dict[str, Callable[[], msgspec.json.Decoder[Any]]] = validators.DECODERS
        self.directions: dict[str, str] = validators.DIRECTIONS
        self.codes: dict[str, dict[str, Any]] = validators.CODES
        self.tables: dict[str, dict[str, Any]] = validators.WALK
        self.limits: dict[str, int] = getattr(vocabulary, "DEFAULT_LIMITS", {})
        self.walker = Walker(self.tables)


@cache
def _generated(protocol: str) -> _Generated:
    return _Generated(protocol)
