"""The verdict on captures in words, and what must be known to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from fairport.backends.captures import slowest
from fairport.backends.captures.file_notes import listed, on_files
from fairport.metrics import fairness
from fairport.metrics.drop_runs import timeout_runs
from fairport.metrics.verdict import OUTCAST_BELOW, PARITY, lone_and_peers, ratio_in_words, spent
from fairport.quantities import counted
from fairport.tables import Tables

_ALMOST_ALL = 0.98
_ALMOST_TO_THE_END = 0.9
_HARDLY_ANY = 1e-3
# some packet usually finds a port idle, and then leaves at once
_PROMPT_S = 1e-3
_FRAME_BITS = 1538 * 8
# a capture is near an end if the way to the other one is this many times longer
_NEAR = 4


def sentence(summary: Mapping[str, Any], tables: Tables, *, is_joined: bool) -> str:
    """Who gets how much, and how long they waited."""
    flows = fairness.compared(tables["flows"])
    if flows.is_empty():
        return "The captures hold no TCP flow with data."
    lone, peers = lone_and_peers(summary["classes"])
    if not lone:
        return _without_lone_class(summary, tables, flows)
    ours = flows.filter(fairness.hop_class() == lone)
    others = flows.filter(fairness.hop_class() == peers)
    ratio = summary["verdict"]["ratio"]
    where = _by_port(ours, tables) if is_joined else ""
    subject = f"{_hosts(ours)} ({counted(ours.height, 'flow')}, {_hops(lone)}{where})"
    verb = "gets" if ours["src"].n_unique() == 1 else "get"
    if ratio is None:
        return f"{subject} {verb} the line alone: the {peers} flows deliver nothing."
    gets = f"{subject} {verb} {ratio_in_words(ratio)} the mean of {_others(others)}"
    if ratio >= PARITY:
        found = "parity, no outcast" if ratio < 1 / PARITY else "no outcast, but favoured"
        return f"{gets} ({found})."
    found = "outcast" if ratio < OUTCAST_BELOW else "at a disadvantage, but no outcast"
    return f"{gets} ({found}). {_waiting(summary, tables, ours, is_joined)}."


def _hosts(flows: pl.DataFrame) -> str:
    return listed(flows["src"].unique(maintain_order=True).to_list())


def _others(flows: pl.DataFrame) -> str:
    receivers = flows["dst"].unique(maintain_order=True).to_list()
    place = f" at {receivers[0]}" if len(receivers) == 1 else ""
    return f"the {flows.height} others{place}" if flows.height > 1 else f"the other{place}"


def _by_port(flows: pl.DataFrame, tables: Tables) -> str:
    conversations = tables["conversations"].join(flows.select("flow"), on="flow", how="semi")
    ports = conversations["ingress_port"].drop_nulls().unique(maintain_order=True).to_list()
    return f", by port {ports[0]}" if len(ports) == 1 else ""


def _ingress_ports(tables: Tables) -> list[str]:
    """The ports by which flows came in."""
    ports: list[str] = tables["conversations"]["ingress_port"].drop_nulls().unique().to_list()
    return ports


def _hops(name: str) -> str:
    return "1 hop" if name == "1-hop" else name.replace("-hop", " hops")


def _waiting(
    summary: Mapping[str, Any], tables: Tables, ours: pl.DataFrame, is_joined: bool
) -> str:
    measure = summary["measure"]
    caused = timeout_runs(tables["timeouts"], tables["drops"])
    caused = caused.join(ours.select("flow"), on="flow", how="semi")
    waited = fairness.waiting(caused, ours.height, measure["from_s"], measure["to_s"])
    if waited.after_drop_runs is None:
        return "None of its retransmission timers was seen to expire"
    if not is_joined or len(_ingress_ports(tables)) < 2:
        return spent(waited, ours.height)
    share = f"{100 * waited.after_drop_runs:.0f} %"
    return (
        f"{spent(waited, ours.height)}; {share} of that time followed three or more consecutive"
        " drops at its ingress port"
    )


def _without_lone_class(summary: Mapping[str, Any], tables: Tables, flows: pl.DataFrame) -> str:
    listed = slowest.slowest(tables)
    if flows.height == 1:
        [only] = listed
        return (
            f"The flow from {only['from']} to {only['to']} is alone: there is no other to compare"
            f" it with{_waited(only).replace(', and', '. It')}."
        )
    if not slowest.are_long(flows):
        return _short(flows, listed)
    if flows["goodput_bps"].max() == 0:
        return "No flow delivered anything within the measurement."
    ports = tables["conversations"].select("flow", "src_port", "dst_port")
    fastest = flows.sort("goodput_bps").tail(1).join(ports, on="flow")
    best = fastest.select(slowest.ends("src")).item()
    gets = ratio_in_words(listed[0]["goodput_bps"] / fastest["goodput_bps"].item())
    known = set(summary["classes"])
    why = (
        "how far the senders are is not known: give their hops with --map"
        if known == {fairness.UNKNOWN_HOPS}
        else f"no group of senders is smaller than the others ({', '.join(known)})"
    )
    return (
        f"The slowest of {flows.height} flows, from {listed[0]['from']} to {listed[0]['to']}, gets"
        f" {gets} the fastest, from {best}{_waited(listed[0])}; {why}."
    )


def _short(flows: pl.DataFrame, listed: Sequence[Mapping[str, Any]]) -> str:
    """What is to be said of short flows, whose goodputs are their sizes."""
    none = f"None of {counted(flows.height, 'flow')} is long, so goodputs are not compared"
    waited = flows.filter(pl.col("timeouts") > 0)
    if not listed:
        return f"{none}. None was seen to wait for a timeout."
    most = listed[0]
    return (
        f"{none}. {waited.height} waited for timeouts, {waited['timeout_period_s'].sum():.2g} s in"
        f" all; the longest wait was from {most['from']} to {most['to']}{_waited(most)}."
    )


def _waited(flow: Mapping[str, Any]) -> str:
    """How long a flow waited for timeouts, and since when."""
    if not flow["timeouts"] or flow["since_s"] is None:
        return ""
    return (
        f", and waited {flow['timeout_period_s']:.2g} s for {counted(flow['timeouts'], 'timeout')},"
        f" since {flow['since_s']:.3f} s"
    )


def in_all(sentence: str, outputs: Sequence[Mapping[str, Any]], port: str | None) -> str:
    """The verdict with the output that it is about, and with what the captures hold of it."""
    if not outputs:
        return f"{sentence} One capture shows neither what the switch did nor why."
    here = next(one["completeness"] for one in outputs if one["port"] == port)
    left = here["joined"] + here["missed_at_ingress"] + here["without_ingress"]
    if not left:
        return f"{sentence} No packet was seen on both sides."
    share = f"{100 * here['joined'] / left:.4g} %"
    seen = f"{sentence} The captures show {share} of the departing packets on both sides."
    if len(outputs) == 1:
        return seen
    return f"Of {len(outputs)} outputs, {port} is the worst: {seen}"


def notes(raw: Mapping[str, Any], tables: Tables, complete: Mapping[str, Any] | None) -> list[str]:
    """What the captures lack, and what that means for the numbers, one sentence each."""
    longest_rtt_s = tables["flows"].select(pl.max("rtt_max_s")).item()
    found = on_files(raw["files"], longest_rtt_s or 0.0)
    found += _tunnelled([file for file in raw["files"] if file["tunnelled"]])
    if complete is None:
        found.append(
            "The captures show one side of the switch only. Drops are inferred from"
            " retransmissions. Whether they were consecutive, and at which ingress port, cannot be"
            " known."
        )
        found += _unseen(tables)
        found += _near_receivers(tables)
    else:
        found += _elsewhere([file["file"] for file in raw["files"] if file["elsewhere"]])
        found += _apart(tables)
        found += _one_ingress(tables)
        found += _late(raw)
        found += _completeness(complete)
        found += _ended_early(raw)
        found += [
            f"{one['port']} shares no packet with the ingress captures: what came in for it was not"
            " captured."
            for one in raw["outputs"]
            if not one["completeness"]["joined"]
        ]
    if tables["flows"]["timeouts"].sum():
        found.append("Timeouts include tail loss probes of a lone segment, which look the same.")
    found += _ended(raw, tables["flows"])
    if not any(tables["conversations"]["packets_back"] > 0):
        found.append(
            "The captures hold no ACKs: timeouts are inferred from silence alone, and round-trip"
            " times are unknown. Add a capture that sees the ACKs."
        )
    return found


def _unseen(tables: Tables) -> list[str]:
    """Data that arrived, as ACKs show, and is not in a single capture."""
    unseen, delivered = (
        int(tables[table][name].sum())
        for table, name in (("conversations", "unseen_bytes"), ("flows", "delivered_bytes"))
    )
    if unseen <= _HARDLY_ANY * delivered:
        return []
    return [
        f"The capture lacks {100 * unseen / delivered:.2g} % of the data that was acknowledged."
        " It lost packets (capture with a larger buffer, -B 65536), or some took another way."
    ]


def _near_receivers(tables: Tables) -> list[str]:
    """What is lost before a capture is not in it."""
    long = fairness.compared(tables["flows"]).select("flow")
    ways = tables["conversations"].join(long, on="flow", how="semi")
    near = (ways["to_sender_s"] > _NEAR * ways["to_receiver_s"]).drop_nulls()
    if not near.sum() > near.len() / 2:
        return []
    return [
        "The capture is near the receivers: what was lost before it shows only as a gap that is"
        " filled later. There may be more retransmissions and timeouts than are counted."
    ]


def _ended(raw: Mapping[str, Any], flows: pl.DataFrame) -> list[str]:
    """Long flows that were over early: over the whole measurement they seem slow."""
    from_s, to_s = raw["measure_from_s"], raw["measure_to_s"]
    early_s = from_s + _ALMOST_TO_THE_END * (to_s - from_s)
    ends = flows.filter(pl.col("workload") == "bulk", pl.col("end_s") < early_s)["end_s"]
    if ends.is_empty():
        return []
    return [
        f"{counted(ends.len(), 'long flow')} ended before the measurement did, the first one at"
        f" {min(ends.to_list()):.3f} s. Goodput is a mean over the whole measurement: limit it with"
        " --to."
    ]


def _elsewhere(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    shows, is_ = ("shows", "is") if len(files) == 1 else ("show", "are")
    return [
        f"{listed(files)} {shows} packets of these ports once more, perhaps at another switch, and"
        f" {is_} left out."
    ]


def _apart(tables: Tables) -> list[str]:
    """Flows that leave by no captured output, and outputs that may be of two switches."""
    ways = tables["conversations"].select("flow", "ingress_port", "egress_port")
    long = tables["flows"].filter(pl.col("workload") != "short").join(ways, on="flow")
    found = []
    away = long["egress_port"].null_count()
    if away:
        verb = "is" if away == 1 else "are"
        found.append(
            f"{counted(away, 'long flow')} left by no captured output, and {verb} not compared."
        )
    parts: list[set[str]] = []
    for pair in long.select("ingress_port", "egress_port").drop_nulls().unique().iter_rows():
        touched = [part for part in parts if part.intersection(pair)]
        parts = [part for part in parts if part not in touched] + [set(pair).union(*touched)]
    outputs = set(long["egress_port"].drop_nulls())
    if len(parts) > 1:
        each = sorted(", ".join(sorted(part & outputs)) for part in parts)
        found.append(
            f"No port leads data to more than one of these outputs: {'; '.join(each)}. They may be"
            " of several switches; each is assessed alone."
        )
    return found


def _one_ingress(tables: Tables) -> list[str]:
    """Senders that all came in by one capture, as that of a mirror of several ports."""
    ports = _ingress_ports(tables)
    if len(ports) != 1 or fairness.compared(tables["flows"])["src"].n_unique() < 2:
        return []
    return [
        f"All flows came in by one capture, {ports[0]}. If it is of several ports, drop runs and"
        " blackouts of each are not known: give a capture per port, or a pcapng file that records"
        " the interface of each packet."
    ]


def _tunnelled(files: Sequence[Mapping[str, Any]]) -> list[str]:
    if not files:
        return []
    inside, read = (sum(file[key] for file in files) for key in ("tunnelled", "packets"))
    names = listed([file["file"] for file in files])
    return [
        f"{names}: {inside:,} of {counted(read, 'packet')} belong to tunnels. --tunnels decodes"
        " what is in them."
    ]


def _late(raw: Mapping[str, Any]) -> list[str]:
    """Ingress captures whose every packet left late, which may be due to another clock."""
    peaks = [one["peak_bps"] for one in raw["outputs"] if one["peak_bps"] > 0]
    prompt_s = max([_PROMPT_S, *(2 * _FRAME_BITS / peak_bps for peak_bps in peaks)])
    return [
        f"{file['file']}: every packet left at least {1e3 * file['delay_min_s']:.2g} ms after it"
        " came in. If the queue was never empty, that is right. Otherwise the clocks differ by"
        " about that, and delays, round-trip times and the queue are too long by as much."
        for file in raw["files"]
        if file["delay_min_s"] > prompt_s
    ]


def _ended_early(raw: Mapping[str, Any]) -> list[str]:
    """Outputs whose captures ended while packets for them still came in."""
    return [
        f"Packets for {one['port']} came in for {raw['duration_s'] - ended_s:.2g} s after its"
        " capture had ended. Unless --to is given, the measurement ends there."
        for one in raw["outputs"]
        if (ended_s := one["completeness"]["ended_s"]) is not None
    ]


def _completeness(complete: Mapping[str, Any]) -> list[str]:
    found = []
    left = complete["joined"] + complete["missed_at_ingress"]
    if complete["missed_at_ingress"]:
        share = complete["missed_at_ingress"] / left
        found.append(
            f"The ingress captures lack {100 * share:.2g} % of the packets that left: they count as"
            " arrivals, and the drops next to them not as consecutive."
        )
    if complete["missed_at_egress"]:
        packets = counted(complete["missed_at_egress"], "packet")
        found.append(
            f"The egress capture lacks {packets} that arrived, as ACKs show: they are no drops."
        )
    if complete["without_ingress"]:
        found.append(
            f"{counted(complete['without_ingress'], 'packet')} left that came by no captured port:"
            " add the captures of the other ingress ports."
        )
    if complete["open"]:
        found.append(
            f"Of {counted(complete['open'], 'packet')} the fate is unknown, because a capture ended"
            " too early. They do not count."
        )
    if left and complete["joined"] / left < _ALMOST_ALL:
        found.append(
            "More than 2 % of the packets are missing: capture with a larger buffer (-B), at ports"
            " that do not merge segments (ethtool -K PORT gro off tso off gso off)."
        )
    return found
