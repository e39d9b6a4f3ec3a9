"""Observes the flows while they run: samples for the series, and the span of the measurement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairport.backends.linux.flows import SENDER, FlowReport, LiveFlow
from fairport.backends.linux.tcp_info import TcpInfo, read


@dataclass(frozen=True)
class Observe:
    """What to observe; times are of the scenario's clock, in seconds."""

    interval_s: float
    watched_flows: int
    """Number of flows that are sampled: those with the lowest numbers."""
    measure_from_s: float | None
    """None: from the time when all listed flows without end are established; 0 if some never is."""
    measure_to_s: float | None
    """None: to the end."""


@dataclass(frozen=True)
class Sample:
    """A row of the series."""

    time_s: float
    flow: int
    interval_s: float
    """Time since the sample before it."""
    new_bytes: int
    delivered_bytes: int
    info: TcpInfo | None
    """None: it uses UDP, its sender has no socket yet, or it is over."""


def largest_windows(samples: Iterable[Sample]) -> dict[int, int]:
    """The largest congestion window of each flow that was sampled, in bytes."""
    found: dict[int, int] = {}
    for sample in samples:
        if sample.info is not None:
            found[sample.flow] = max(found.get(sample.flow, 0), sample.info.cwnd_bytes)
    return found


class Observer:
    """Looks at the flows of a generator; `reports` and `live` are the generator's own."""

    def __init__(
        self,
        observe: Observe,
        listed: int,
        reports: Sequence[FlowReport],
        live: Mapping[int, LiveFlow],
    ) -> None:
        self.samples: list[Sample] = []
        self._observe = observe
        self._listed = listed
        self._reports = reports
        self._live = live
        self._ended: list[LiveFlow] = []
        self._next_s = observe.interval_s
        self._sampled_s = 0.0
        self._has_begun = False
        self._began_s = 0.0
        self._ended_s: float | None = None

    def look(self, now: float) -> float:
        """Does what is due; returns when the next sample is due."""
        interval_s = self._observe.interval_s
        if now >= self._next_s:
            self._sample(now)
            self._next_s += interval_s * (int((now - self._next_s) / interval_s) + 1)
        self._measure(now)
        return self._next_s

    def ended(self, flow: LiveFlow) -> None:
        """A flow is over: its last sample has what arrived since the one before."""
        if flow.report.delivered_bytes > flow.sampled_bytes:
            self._ended.append(flow)

    def end(self, now: float) -> tuple[float, float]:
        """Ends the observation; returns the start and the end of the measurement."""
        self.look(now)
        if self._ended_s is None:
            self._end_measurement(now)
        return self._began_s, self._ended_s or now

    def _sample(self, now: float) -> None:
        interval_s = now - self._sampled_s
        for flow in (*self._live.values(), *self._ended):
            number, one, report = flow.spec.number, flow.sides[SENDER].socket, flow.report
            if number >= self._observe.watched_flows:
                continue
            new = report.delivered_bytes - flow.sampled_bytes
            flow.sampled_bytes = report.delivered_bytes
            info = None if one is None or flow.spec.is_udp else read(one)
            sample = Sample(now, number, interval_s, new, report.delivered_bytes, info)
            self.samples.append(sample)
        self._ended.clear()
        self._sampled_s = now

    def _measure(self, now: float) -> None:
        """Begins the measurement at its time or when all endless flows are established; ends it."""
        if self._ended_s is not None:
            return
        end_s = self._observe.measure_to_s
        if end_s is not None and now >= end_s:
            self._end_measurement(now)
            return
        if self._has_begun:
            return
        if self._observe.measure_from_s is None:
            endless = (one for one in self._reports[: self._listed] if one.size_bytes is None)
            is_time = all(one.established_s is not None for one in endless)
        else:
            is_time = now >= self._observe.measure_from_s
        if is_time:
            # before the run, while its processes start, nothing is delivered
            self._has_begun, self._began_s = True, max(0.0, now)
            for report in self._reports:
                report.measured_bytes = -report.delivered_bytes

    def _end_measurement(self, now: float) -> None:
        self._ended_s = now
        for report in self._reports:
            # it began with minus the bytes that had been delivered before
            report.measured_bytes += report.delivered_bytes
