"""Makes the arrays for `backends.columns` from the reports of switch and traffic generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairport.backends.linux.flows import SENDER, HostAt
from fairport.backends.linux.generator_task import GeneratorReport
from fairport.backends.linux.round_trips import RoundTrips

Arrays = dict[str, dict[str, np.ndarray]]

_NO_FLOW = np.iinfo(np.uint32).max
_NONE_U64 = np.iinfo(np.uint64).max
# columns of timeouts that only a simulated host can fill
_UNKNOWN_OF_TIMEOUTS = ("rto_s", "cause")
_MEANS_OVER_THE_RUN = ("queue_mean_bytes", "busy_share")


def arrays(
    outcome: Mapping[str, Any],
    generator: GeneratorReport,
    *,
    hosts: Mapping[int, HostAt],
    lead_s: float,
    duration_s: float,
    watched_flows: int,
) -> Arrays:
    """Every table that this backend fills.

    The run's clock began `lead_s` before the scenario's. Events before the scenario's start, or
    after `duration_s`, are left out. The switch numbers flows in the order in which it sees them;
    the tables have the generator's numbers.
    """
    tables = {name: dict(columns) for name, columns in outcome["tables"].items()}
    numbers = _numbers(outcome["flows"], generator, hosts)
    for columns in tables.values():
        _renumber(columns, numbers)
        _shift(columns, lead_s, duration_s)
    # nothing was sent before the scenario began, so a mean over the run is taken over less time
    for name in _MEANS_OVER_THE_RUN:
        if name in (ports := tables.get("ports", {})):
            ports[name] = ports[name] * ((lead_s + duration_s) / duration_s)
    timeouts = tables.get("timeouts", {})
    for name in _UNKNOWN_OF_TIMEOUTS:
        timeouts.pop(name, None)
    counts = {
        name: Counter(tables[name]["flow"].tolist() if name in tables else ())
        for name in ("drops", "marks", "timeouts")
    }
    tables["flows"] = _flows(generator, counts, timeouts)
    tables["series"] = _series(generator)
    # the kernel's own disciplines pass no packet to the switch: then the kernel's samples are left
    if samples := tables.pop("rtt_samples", None):
        measured = RoundTrips(samples, generator.measure_from_s, generator.measure_to_s)
        tables["flows"] |= measured.of_flows(len(generator.flows))
        tables["series"] |= measured.of_series(generator.samples)
        tables["rtt"] = measured.histogram(watched_flows)
    tables |= {name: dict(columns) for name, columns in generator.tables.items()}
    return tables


def _numbers(
    keys: Sequence[Sequence[Any]], generator: GeneratorReport, hosts: Mapping[int, HostAt]
) -> np.ndarray:
    """The generator's number of each flow of the switch; `_NO_FLOW` if it has none."""
    known = {report.spec.key(hosts): report.spec.number for report in generator.flows}
    found = [known.get((str(src), str(dst), *others), _NO_FLOW) for src, dst, *others in keys]
    return np.array(found, dtype=np.uint32)


def _renumber(columns: dict[str, np.ndarray], numbers: np.ndarray) -> None:
    if "flow" not in columns:
        return
    renumbered = numbers[columns["flow"]]
    within = renumbered != _NO_FLOW
    for name, values in columns.items():
        columns[name] = values[within]
    columns["flow"] = renumbered[within]


def _shift(columns: dict[str, np.ndarray], lead_s: float, duration_s: float) -> None:
    times: list[str] = [
        name for name in ("time_s", "start_s", "end_s", "depart_s") if name in columns
    ]
    for name in times:
        columns[name] = columns[name] - lead_s
    if times:
        first, last = columns[times[0]], columns[times[-1]]
        within = (first >= 0) & ~(last > duration_s)
        for name, values in columns.items():
            columns[name] = values[within]


def _flows(
    generator: GeneratorReport,
    counts: Mapping[str, Counter[int]],
    timeouts: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The table of flows: what the generator reports, and the counts of the switch by flow."""
    reports = generator.flows
    count = len(reports)

    def of_reports(name: str, dtype: type = np.uint64) -> np.ndarray:
        return np.array([getattr(report, name) for report in reports], dtype)

    def of_specs(name: str, dtype: type = np.uint32) -> np.ndarray:
        return np.array([getattr(report.spec, name) for report in reports], dtype)

    started_s, finished_s = of_reports("started_s", float), of_reports("finished_s", float)
    measured_bytes = of_reports("measured_bytes")
    measured_s = max(generator.measure_to_s - generator.measure_from_s, 1e-9)
    # an endless flow, one that was stopped and one that stays open have no completion time
    is_complete = [
        report.delivered_bytes == report.size_bytes and not report.spec.stays_open
        for report in reports
    ]
    expiries, waited_s = _timeouts(generator, counts["timeouts"], timeouts)
    srtts_s = _measured_srtts_s(generator)
    least_rtts_s = [report.infos[0].min_rtt_s if report.infos else None for report in reports]
    return {
        "flow": np.arange(count, dtype=np.uint32),
        "src": of_specs("src"),
        "dst": of_specs("dst"),
        "hops": of_specs("hops"),
        "traffic": of_specs("traffic"),
        "protocol": of_specs("is_udp", np.uint8),
        "stack": np.array([report.spec.stacks[SENDER] for report in reports], dtype=np.uint32),
        "start_s": started_s,
        "established_s": of_reports("established_s", float),
        "end_s": finished_s,
        "size_bytes": _or_none(report.size_bytes for report in reports),
        "delivered_bytes": of_reports("delivered_bytes"),
        "measured_bytes": measured_bytes,
        "goodput_bps": measured_bytes * 8.0 / measured_s,
        "fct_s": np.where(is_complete, finished_s - started_s, np.nan),
        "ideal_fct_s": of_specs("ideal_s", float),
        "segments_sent": _info(generator, "segments_sent") + of_reports("datagrams_sent"),
        "retransmits": _info(generator, "retransmits") - of_reports("handshake_retransmits"),
        "timeouts": expiries,
        "timeout_period_s": waited_s,
        "drops": _counted(counts["drops"], count),
        "marks": _counted(counts["marks"], count),
        "rtt_mean_s": np.array([np.mean(one) if one else np.nan for one in srtts_s]),
        "rtt_min_s": np.array(least_rtts_s, float),
        "rtt_max_s": np.array([max(one) if one else np.nan for one in srtts_s]),
    }


def _or_none(numbers: Iterable[int | None]) -> np.ndarray:
    """Whole numbers, some of which are missing."""
    return np.array([_NONE_U64 if one is None else one for one in numbers], dtype=np.uint64)


def _timeouts(
    generator: GeneratorReport, counts: Counter[int], timeouts: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Of each flow: how many timeouts it had, and for how long it waited for them."""
    if not timeouts:
        # the switch did not see the packets, so these are the kernel's counts
        return _info(generator, "timeouts"), _info(generator, "timeout_period_s", float)
    waited_s = np.zeros(len(generator.flows))
    np.add.at(waited_s, timeouts["flow"], timeouts["end_s"] - timeouts["start_s"])
    return _counted(counts, len(generator.flows)), waited_s


def _info(generator: GeneratorReport, name: str, dtype: type = np.uint64) -> np.ndarray:
    """A field of the kernel's TCP_INFO for each flow, summed over the ends that sent data."""
    return np.array(
        [sum(getattr(end, name) for end in one.infos) for one in generator.flows], dtype
    )


def _counted(counts: Counter[int], flows: int) -> np.ndarray:
    return np.array([counts[flow] for flow in range(flows)], dtype=np.uint64)


def _measured_srtts_s(generator: GeneratorReport) -> list[list[float]]:
    """The smoothed round-trip times of each flow that were sampled within the measurement."""
    found: list[list[float]] = [[] for _ in generator.flows]
    for sample in generator.samples:
        is_measured = generator.measure_from_s <= sample.time_s <= generator.measure_to_s
        if is_measured and sample.info is not None and sample.info.srtt_s is not None:
            found[sample.flow].append(sample.info.srtt_s)
    return found


def _series(generator: GeneratorReport) -> dict[str, np.ndarray]:
    samples = generator.samples

    def bytes_of(name: str, without: int = _NONE_U64) -> np.ndarray:
        return _or_none(getattr(sample.info, name, without) for sample in samples)

    return {
        "time_s": np.array([sample.time_s for sample in samples], dtype=float),
        "flow": np.array([sample.flow for sample in samples], dtype=np.uint32),
        "goodput_bps": np.array(
            [sample.new_bytes * 8 / sample.interval_s for sample in samples], dtype=float
        ),
        "cwnd_bytes": bytes_of("cwnd_bytes"),
        "ssthresh_bytes": bytes_of("ssthresh_bytes"),
        "srtt_s": np.array([getattr(sample.info, "srtt_s", None) for sample in samples], float),
        "in_flight_bytes": bytes_of("in_flight_bytes", 0),
        "delivered_bytes": np.array(
            [sample.delivered_bytes for sample in samples], dtype=np.uint64
        ),
    }
