"""Decides how much to send: the bit rate of the encoder, whether a picture may go now, when to probe, when a key frame may be made.

Called by the peer connection with what `transport_cc` and `rtcp` read. It starts low and goes up where bursts showed room; a queue that
stands brings it down to what was delivered (desklink v3, rate). Pictures are skipped rather than queued, for a late picture is worth
nothing, and a picture that waits in a router delays the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...generated.desklink.vocabulary import (
    BUDGET_HEADROOM,
    FRAME_BURST_MS,
    LOSS_DECREASE_FACTOR,
    LOSS_HIGH_FRACTION,
    LOSS_LOW_FRACTION,
    LOSS_REPORT_INTERVAL_MS,
    QUEUE_DECREASE_FACTOR,
    QUEUE_DECREASE_INTERVAL_MS,
    QUEUE_HIGH_MS,
    QUEUE_LOW_MS,
    RATE_FLOOR_FRACTION,
    RATE_FLOOR_KBPS,
    RATE_INCREASE_FACTOR,
    RATE_INCREASE_KBPS,
    START_BITRATE_KBPS,
)
from .path_report import PathEstimator, PathReport
from .transport_cc import Arrival

START_KBPS: Final = 1000  # until a burst has shown what the path carries
STARTED_KBPS: Final = START_BITRATE_KBPS  # then, at once, if there is room for it
LEAST_KBPS: Final = RATE_FLOOR_KBPS
MOST_FLOOR_KBPS: Final = 1000  # a higher floor would drown a slow path

QUEUED: Final = QUEUE_HIGH_MS / 1000  # seconds in queues: too much is sent
CLEAR: Final = QUEUE_LOW_MS / 1000  # seconds in queues: more may be sent
NOISE: Final = 0.004  # seconds: a queue that has not grown by more since the last change is a path that jitters
BACK_OFF: Final = QUEUE_DECREASE_FACTOR  # of what was delivered
BACK_OFF_EVERY: Final = QUEUE_DECREASE_INTERVAL_MS / 1000
LOSS_CUT: Final = LOSS_DECREASE_FACTOR
MUCH_LOSS, LITTLE_LOSS = LOSS_HIGH_FRACTION, LOSS_LOW_FRACTION
LOSS_ROOM: Final = 0.04  # above what the path loses anyway
GROWTH, GROWTH_KBPS = RATE_INCREASE_FACTOR, RATE_INCREASE_KBPS
GROW_EVERY: Final = LOSS_REPORT_INTERVAL_MS / 1000
LEAP_EVERY: Final = 0.200  # where a burst showed room
LEAP: Final = 1.5
LEAP_AFTER: Final = 2.0  # seconds without a back-off
LEAP_SHARE: Final = 0.8  # of what the bursts measured
USED: Final = 0.5  # a target of which less is delivered has not been tried

HEADROOM: Final = BUDGET_HEADROOM  # the encoder's bits drain this much faster than the target
FRAME_BURST: Final = FRAME_BURST_MS / 1000  # seconds of that may be owed when the next picture goes
WINDOW: Final = 0.050  # seconds of the target, beyond a round trip and its feedback, that may be under way
LEAST_WINDOW: Final = 6_000  # bytes
FEEDBACK_EVERY: Final = 0.100  # seconds, until it is measured
LONGEST_INTERVAL: Final = 0.250  # seconds: feedback comes more often while anything is sent
STALLED: Final = 0.600  # seconds without a word of what was sent
GONE: Final = 1.5  # seconds of that: pictures were lost for good
TAIL: Final = 0.150  # seconds of that: perhaps only the last packets were lost, which nobody misses
TAIL_BYTES: Final = 3000

PROBE_BYTES: Final = 15_000
PROBE_EVERY: Final = 10.0
PROBE_FIRST: Final = 0.5  # the first, when no picture was large enough to measure the path
PROBE_SMALL: Final = 40
PROBE_STALLED_EVERY: Final = 0.100
CALM: Final = 5.0  # seconds after a back-off in which nothing is tried

KEY_EVERY: Final = 1.0  # seconds between key frames that the peer asks for


class RateController:
    """The rate of one stream on one path; `ceiling_kbps` is the bit rate of a path that carries everything."""

    def __init__(self, ceiling_kbps: int, now: float) -> None:
        self._ceiling = float(ceiling_kbps)
        self._target = min(self._ceiling, START_KBPS)
        self._is_fresh = True  # the target has not been adjusted to the path yet
        self._path = PathEstimator()
        self._began = self._changed_at = now
        self._backed_off_at = float("-inf")
        self._heard_at: float | None = None  # feedback came
        self._interval = FEEDBACK_EVERY
        self._turn = 0.0
        self._waits_since: float | None = None  # what was sent then, and after, has not been told of
        self._sent_at = now
        self._probed_at = now
        self._tail_probed = False
        self._owed, self._owed_at = 0.0, now
        self._key_wanted, self._key_at = False, float("-inf")
        self._report = PathReport(None, 0.0)
        self._queue = 0.0  # what stood in queues when the target changed last
        self._remb: float | None = None

    @property
    def report_of_path(self) -> PathReport:
        """What the newest feedback added up to."""
        return self._report

    @property
    def floor_kbps(self) -> float:
        """The target is never below this; a path that carries less gets fewer pictures."""
        return min(max(LEAST_KBPS, self._ceiling * RATE_FLOOR_FRACTION), MOST_FLOOR_KBPS, self._ceiling)

    def target_kbps(self, now: float) -> int:
        """The bit rate that the encoder is to keep."""
        return int(self._target)

    def set_ceiling(self, kbps: int) -> None:
        """The picture's size changed, and with it the rate at which it is perfect."""
        self._ceiling = float(kbps)
        self._target = min(self._target, self._ceiling)

    def path_changed(self, now: float) -> None:
        """Another path is used: nothing is known of it. Its first burst will tell."""
        self._path = PathEstimator()
        self._report = PathReport(None, 0.0)
        self._target = min(self._target, max(START_KBPS, self._target / 2))
        self._is_fresh = True
        self._waits_since = self._heard_at = None
        self._began = self._changed_at = self._probed_at = now

    # what comes back

    def feedback(self, arrivals: Iterable[Arrival], now: float) -> bool:
        """Take what the peer told of packets. True when it had long been silent: a key frame is due, for pictures were lost meanwhile."""
        told = tuple(arrivals)
        came = [arrival.sent_at for arrival in told if arrival.received_at is not None]
        returned = bool(came) and self._silence(now) > GONE + self._turn
        if returned:
            self.path_changed(now)
        if self._heard_at is not None:
            self._interval += 0.2 * (min(now - self._heard_at, LONGEST_INTERVAL) - self._interval)
        self._heard_at = now
        self._tail_probed = False
        if came:
            self._waits_since = None if came[-1] >= self._sent_at else now
        self._report = self._path.feedback(told, now)
        self._turn = self._report.turn
        self._adjust(self._report, now)
        return returned

    def report(self, loss: float, rtt: float | None, now: float) -> None:
        """Take a receiver report: the share of packets lost since the last, and the round trip in seconds.

        It counts only where there is no congestion feedback, which says the same and more.
        """
        if self._heard_at is None or now - self._heard_at > CALM:
            self._turn = rtt or 0.0
            self._adjust(PathReport(None, 0.0, loss), now)

    def remb(self, kbps: int) -> None:
        """Take the receiver's own estimate, which counts like the ceiling where there is no congestion feedback."""
        if self._heard_at is None:
            self._target = min(self._target, max(float(kbps), self.floor_kbps))
            self._remb = float(kbps)

    def _adjust(self, path: PathReport, now: float) -> None:
        if path.queue is not None and path.queue > QUEUED:
            if now - self._backed_off_at >= BACK_OFF_EVERY:
                delivered = min(max(path.delivered_kbps, self._target / 2), self._target)
                self._path.doubt_capacity()
                self._backed_off_at = now
                self._set(BACK_OFF * delivered, now)
            return
        clear = path.queue is None or path.queue < max(CLEAR, self._queue + NOISE)
        lost = path.loss
        if lost is not None and lost > max(MUCH_LOSS, path.usual_loss + 2 * LOSS_ROOM):
            if now - self._changed_at >= GROW_EVERY:
                self._path.doubt_capacity()
                self._backed_off_at = now
                self._set(LOSS_CUT * self._target, now)
            return
        if not clear:
            return
        room = LEAP_SHARE * path.capacity_kbps if path.capacity_kbps is not None else 0.0
        if room > self._target and now - self._changed_at >= LEAP_EVERY and now - self._backed_off_at >= LEAP_AFTER:
            most = LEAP * self._target
            self._set(min(room, max(most, STARTED_KBPS) if self._is_fresh else most), now)
        elif lost is not None and now - self._changed_at >= GROW_EVERY and lost < self._bearable(path):
            used = path.queue is None or path.delivered_kbps >= USED * self._target
            if used:
                self._set(GROWTH * self._target + GROWTH_KBPS, now)

    @staticmethod
    def _bearable(path: PathReport) -> float:
        """Loss below this does not come from what we send; without a queue to look at, only little loss is innocent."""
        return LITTLE_LOSS if path.queue is None else min(path.usual_loss + LOSS_ROOM, MUCH_LOSS)

    def _set(self, kbps: float, now: float) -> None:
        most = self._ceiling if self._remb is None or self._heard_at is not None else min(self._ceiling, self._remb)
        self._target = max(self.floor_kbps, min(kbps, most))
        self._is_fresh = False
        self._changed_at = now
        self._queue = self._report.queue or 0.0

    # what goes out

    def frame_sent(self, size: int, now: float) -> None:
        """A picture of `size` bytes, as packets, was handed to the pacer."""
        self._drain(now)
        self._owed += 8 * size
        self._sent_at = now
        if self._waits_since is None:
            self._waits_since = now

    def may_send_frame(self, now: float, in_flight: int = 0) -> bool:
        """Whether a picture may be encoded and sent now: the encoder does not owe, and no more than `in_flight` bytes are under way."""
        return self.frame_at(now) <= now and not self.is_stalled(now) and in_flight <= self.window_bytes

    def frame_at(self, now: float) -> float:
        """When the encoder will not owe any more; `now` if it does not."""
        self._drain(now)
        drain = self._drained_kbps * 1000 * HEADROOM
        return now + max(0.0, self._owed - FRAME_BURST * drain) / drain

    @property
    def _drained_kbps(self) -> float:
        """What the path is known to carry, a share of it, if that is above the target: then there is nothing to wait for."""
        capacity = self._report.capacity_kbps
        return self._target if capacity is None else max(self._target, LEAP_SHARE * capacity)

    @property
    def window_bytes(self) -> int:
        """So much may be under way: what the target sends in a round trip and its feedback, and a little in queues."""
        rate, path = self._target, self._report
        if path.queue is not None and path.queue > QUEUED:
            rate = min(rate, path.delivered_kbps)
        return max(LEAST_WINDOW, int(rate * 125 * (self._turn + self._interval + WINDOW)))

    def is_stalled(self, now: float) -> bool:
        """The peer, which used to give feedback, has long said nothing of what was sent: nothing arrives there."""
        return self._silence(now) > STALLED + self._turn

    def _silence(self, now: float) -> float:
        """Seconds for which the peer could have told of what was sent, and did not."""
        if self._heard_at is None or self._waits_since is None:
            return 0.0
        return now - max(self._waits_since, self._heard_at)

    def probe(self, now: float, in_flight: int = 0) -> int:
        """So many bytes of what was sent before are to be sent again now, in one burst; 0 for none. `in_flight` were not told of.

        They measure the path while the picture is still. When nothing is told of what was sent, they are first the last packets, which may
        be all that was lost; then, now and then, one small packet, to notice when the path returns.
        """
        at, size = self._next_probe(now, in_flight)
        if now < at:
            return 0
        if size == TAIL_BYTES:
            self._tail_probed = True
        else:
            self._probed_at = now
        return size

    def probe_at(self, now: float, in_flight: int = 0) -> float:
        """When to ask for a probe, unless something else happens before; infinite when not at all."""
        return self._next_probe(now, in_flight)[0]

    def _next_probe(self, now: float, in_flight: int) -> tuple[float, int]:
        """When which is due, as things are."""
        heard, waits = self._heard_at, self._waits_since
        if heard is None:
            return float("inf"), 0
        probes = []
        untold = [at for at in (waits, self._sent_at if in_flight else None) if at is not None]
        if untold and not self._tail_probed:
            probes.append((max(min(untold), heard) + TAIL + self._turn, TAIL_BYTES))
        stalled_at = float("inf") if waits is None else max(waits, heard) + STALLED + self._turn
        probes.append((max(stalled_at, self._probed_at + PROBE_STALLED_EVERY), PROBE_SMALL))
        if now < stalled_at:
            probes.append((self._measures_at(), PROBE_BYTES))
        return min(probes)

    def _measures_at(self) -> float:
        """When the path is to be measured, for it may carry more than the target."""
        if self._target >= self._ceiling:
            return float("inf")
        measured_at = self._path.capacity_at
        due = self._probed_at + PROBE_FIRST if measured_at is None else max(self._probed_at, measured_at) + PROBE_EVERY
        return max(due, self._backed_off_at + CALM)

    def key_wanted(self, now: float) -> None:
        """The peer asks for a key frame, or a path came up."""
        self._key_wanted = True

    def take_key(self, now: float) -> bool:
        """Whether the picture that is encoded now must be a key frame; it counts as made then. One a second at most."""
        if not self._key_wanted or now - self._key_at < KEY_EVERY:
            return False
        self._key_wanted, self._key_at = False, now
        return True

    @property
    def key_at(self) -> float | None:
        """When the key frame that is wanted may be made; None when none is wanted."""
        return self._key_at + KEY_EVERY if self._key_wanted else None

    def _drain(self, now: float) -> None:
        if now > self._owed_at:
            self._owed = max(0.0, self._owed - (now - self._owed_at) * self._drained_kbps * 1000 * HEADROOM)
            self._owed_at = now
