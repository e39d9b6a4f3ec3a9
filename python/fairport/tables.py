"""The tables of a run: every column with its type, unit and meaning, in one place.

Times are in seconds from the start of the run, sizes in bytes, rates in bit/s. Every backend fills
these tables, and no others. A value that does not exist (the end of a flow that still runs), or
that a backend cannot know (the congestion window, from captures), is null where `null` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one table."""

    name: str
    dtype: type[pl.DataType]
    unit: str
    text: str
    null: str = ""
    """When a value is null; empty: never."""

    @property
    def nullable(self) -> bool:
        """Whether a value may be null."""
        return bool(self.null)


def _u32(name: str, text: str, null: str = "") -> Column:
    return Column(name, pl.UInt32, "", text, null)


def _u64(name: str, text: str, null: str = "") -> Column:
    return Column(name, pl.UInt64, "", text, null)


def _bytes(name: str, text: str, null: str = "") -> Column:
    return Column(name, pl.UInt64, "B", text, null)


def _s(name: str, text: str, null: str = "") -> Column:
    return Column(name, pl.Float64, "s", text, null)


def _bps(name: str, text: str) -> Column:
    return Column(name, pl.Float64, "bit/s", text)


def _f64(name: str, unit: str, text: str, null: str = "") -> Column:
    return Column(name, pl.Float64, unit, text, null)


def _bool(name: str, text: str) -> Column:
    return Column(name, pl.Boolean, "", text)


def _text(name: str, text: str, null: str = "") -> Column:
    return Column(name, pl.String, "", text, null)


# why a value is null
_REAL_TCP = "on Linux and from captures: no packet shows it"
_TCP_OF_HOSTS = "UDP, or from captures"
_NO_SAMPLE = "no sample"

_FLOW = _u32("flow", "number of the flow: first the flows known before the run, then by start time")
_TIME = _s("time_s", "when it happened")
_PORT = _text("port", "output port, e.g. edge0.0:0")
_INGRESS = _text("ingress_port", "port of the same switch by which the packet came in")
_SEQ = _u32("seq", "sequence number on the wire (32 bits, wraps)")
_SIZE = Column(
    "size_bytes", pl.UInt32, "B", "what the buffer counts: the packet with its frame's headers"
)
_TRAFFIC = _u32("traffic", "number of its [[traffic]] section in the scenario, from 0")

ABOUT: dict[str, str] = {
    "flows": "One row per flow.",
    "series": "One row per flow and interval, of the flows that the probes watch (`probes.flows`).",
    "drops": "One row per dropped packet.",
    "marks": "One row per marked packet.",
    "timeouts": "One row per expiry of a retransmission timer.",
    "decisions": "One row per decision that moves a window, of the flows that the probes watch: the"
    " first million. `decisions_left_out` in the summary counts the others. Only of simulated"
    " hosts.",
    "queue": "One row per port and interval, of the ports that the probes watch (`probes.ports`).",
    "ports": "One row per output port.",
    "rtt": "A histogram of round-trip times (for UDP flows, one-way delays): one row per flow and"
    " bin that has samples.",
    "rounds": "One row per round of an incast, or per periodic transfer.",
    "requests": "One row per request of a client.",
    "trace": "One row per packet around the longest blackouts at the port that most flows pass: one"
    " blackout of each ingress port, as far as 64 consecutive arrivals there contain it.",
    "conversations": "One row per flow, with facts that only captures show; otherwise empty.",
    "packets": "One row per packet at the ports that `--packets` names; otherwise empty.",
    "answers": "One row per packet that made a host send something: how long the host took. Only of"
    " real hosts (the Linux backend).",
}
"""The meaning of each table's rows."""

SCHEMA: dict[str, tuple[Column, ...]] = {
    "flows": (
        _FLOW,
        _text("src", "sending host"),
        _text("dst", "receiving host"),
        _u32("hops", "links between sender and receiver", "from captures, if not known"),
        _TRAFFIC,
        _text("workload", "kind of that traffic"),
        _text("protocol", "transport protocol"),
        _text("stack", "stack preset of the sender", _TCP_OF_HOSTS),
        _text("congestion_control", "congestion control of the sender", _TCP_OF_HOSTS),
        _s("start_s", "when the application opened the connection"),
        _s("established_s", "when the handshake was done", "never"),
        _s(
            "end_s",
            "when the last byte was delivered, also after a stop",
            "still running, stopped UDP",
        ),
        _bytes("size_bytes", "bytes to send", "endless"),
        _bytes("delivered_bytes", "delivered in order to the application, whole run"),
        _bytes(
            "measured_bytes", "new bytes that arrived at the receiving host within the measurement"
        ),
        _bps("goodput_bps", "measured_bytes over the length of the measurement"),
        _s("fct_s", "flow completion time", "endless, still running, or stopped"),
        _s(
            "ideal_fct_s",
            "completion time in the empty network, all data sent at once",
            "endless, or not known",
        ),
        _u64("segments_sent", "segments with payload, retransmissions included"),
        _u64("retransmits", "segments sent again"),
        _u64(
            "fast_recoveries",
            "entries into fast recovery",
            "on Linux: the kernel does not count them by connection",
        ),
        _u64("timeouts", "expiries of the retransmission timer"),
        _s("timeout_period_s", "total time waited for those expiries"),
        _u64("drops", "packets of the flow dropped at any port"),
        _u64("marks", "packets of the flow marked at any port"),
        _s(
            "rtt_mean_s",
            "mean of the sender's RTT samples; for UDP, mean one-way delay of its datagrams",
            _NO_SAMPLE,
        ),
        _s("rtt_min_s", "smallest RTT sample", _NO_SAMPLE),
        _s("rtt_max_s", "largest RTT sample", _NO_SAMPLE),
    ),
    "series": (
        _s("time_s", "end of the interval"),
        _FLOW,
        _bps("goodput_bps", "new bytes that arrived at the receiving host within the interval"),
        _bytes(
            "cwnd_bytes",
            "congestion window at the end of the interval",
            "from captures, or the flow is over by then",
        ),
        _bytes("ssthresh_bytes", "slow-start threshold", "no loss yet"),
        _s("srtt_s", "smoothed RTT (RFC 6298)", _NO_SAMPLE),
        _bytes("in_flight_bytes", "sent and not acknowledged"),
        _s("rtt_min_s", "smallest RTT sample of the interval", _NO_SAMPLE),
        _s("rtt_mean_s", "mean RTT sample of the interval", _NO_SAMPLE),
        _s("rtt_max_s", "largest RTT sample of the interval", _NO_SAMPLE),
        _bytes("delivered_bytes", "delivered in order since the start, at the end of the interval"),
    ),
    "drops": (
        _TIME,
        _PORT,
        _INGRESS,
        _FLOW,
        _SEQ,
        _SIZE,
        _text("reason", "why the queue discipline dropped it", "from captures that do not say"),
        _u64("port_arrival", "number of the packet at this port, from 1"),
        _u64(
            "ingress_arrival",
            "number of the packet at this port among those from this ingress port",
        ),
        _u64(
            "flow_arrival",
            "number of the packet at this port among those of this flow and direction",
        ),
        _u64("port_accepted", "packets that this port had accepted until then"),
        _bool("is_backward", "whether the flow's receiver sent it"),
        _bool("is_pure_ack", "whether it is an ACK without data, SYN or FIN"),
    ),
    "marks": (_TIME, _PORT, _INGRESS, _FLOW, _SEQ),
    "timeouts": (
        _FLOW,
        _s("start_s", "when the flow began to wait"),
        _s("end_s", "when the timer expired"),
        _s("rto_s", "the timeout's length as set, with backoff and the timer's tick", _REAL_TCP),
        _u32("backoff", "doublings since the last acknowledged segment"),
        _text("cause", "why no fast retransmit came first", _REAL_TCP),
        _u32("seq", "first unacknowledged byte: the segment that it waits for"),
        _bool("is_backward", "whether the timer is that of the flow's receiver"),
    ),
    "decisions": (
        _TIME,
        _FLOW,
        _text("what", "what the sender decided, e.g. enter-recovery"),
        _text("cause", "why, e.g. sack"),
        _bytes("cwnd_before_bytes", "congestion window before"),
        _bytes(
            "cwnd_after_bytes",
            "congestion window after the decision; unchanged where it shrinks gradually",
        ),
        _bytes("ssthresh_bytes", "slow-start threshold after", "no loss yet"),
    ),
    "queue": (
        _TIME,
        _PORT,
        _bytes("bytes", "in the buffer at that moment"),
        _u64("packets", "in the buffer at that moment"),
    ),
    "ports": (
        _PORT,
        _u64("packets", "accepted, also if dropped later"),
        _bytes(
            "bytes",
            "accepted: frames without preamble and gap, which take 20 B more of an Ethernet line",
        ),
        _u64("drops", "dropped, on arrival or later"),
        _u64("marks", "marked"),
        _f64("queue_mean_bytes", "B", "mean over the run of the bytes in the buffer"),
        _bytes("queue_max_bytes", "most bytes in the buffer"),
        _f64(
            "busy_share", "", "share of the run in which it sent, or waited for a shaper's tokens"
        ),
        _u32("flows", "flows whose data is routed through the port"),
        _f64(
            "clock_error_ppm",
            "ppm",
            "how much faster than its rate the port sends, as drawn",
            "unknown",
        ),
        _u64("arrivals", "arrived: those accepted and those dropped on arrival"),
    ),
    "rtt": (
        _FLOW,
        _s("rtt_s", "middle of a bin 1 % wide"),
        _u64("samples", "RTT samples of the measurement in the bin"),
    ),
    "rounds": (
        _TRAFFIC,
        _u32("round", "number of the round, or of the sender's periodic transfer, from 0"),
        _u32("flow", "flow of a transfer", "a round of many flows; a first transfer under way"),
        _s("start_s", "when its data was ready to be sent"),
        _s("end_s", "when its last byte had arrived", "under way at the end"),
        _bytes("bytes", "all of it"),
        _s("completion_s", "end_s less start_s", "under way at the end"),
    ),
    "requests": (
        _TRAFFIC,
        _u32("flow", "flow of its connection", "a first request that did not arrive"),
        _u32("request", "number on its connection, from 0; request 0 opens it"),
        _s("start_s", "when the client sent it"),
        _s("end_s", "when the client had the whole answer", "not yet answered"),
        _bytes("request_bytes", "bytes of the request"),
        _bytes("response_bytes", "bytes of the answer"),
        _s("response_s", "end_s less start_s", "not yet answered"),
    ),
    "trace": (
        _text("blackout_of", "ingress port whose longest blackout the row belongs to"),
        _TIME,
        _PORT,
        _INGRESS,
        _FLOW,
        _SEQ,
        _SIZE,
        _text("fate", "forwarded or dropped"),
        _s("depart_s", "when its last bit left the port", "dropped, or not sent before the end"),
    ),
    "conversations": (
        _FLOW,
        _u32("src_port", "the sender's port"),
        _u32("dst_port", "the receiver's port"),
        _text("ingress_port", "port of the switch by which its data came in", "not joined"),
        _text("egress_port", "output of the switch by which its data left", "not joined"),
        _u32("ttl", "largest remaining TTL in the sender's packets"),
        _u64("packets", "packets from the sender"),
        _u64("packets_back", "packets from the receiver"),
        _u64("spurious_retransmits", "segments sent again though they had arrived"),
        _u64("merged_segments", "captured packets that held several segments, merged by the host"),
        _u64("out_of_order", "segments that came late, but were not sent again"),
        _u64("duplicate_acks", "ACKs that acknowledged nothing new while data was outstanding"),
        _bytes("gap_bytes", "skipped when first due: lost before the tap, or by the capture"),
        _bytes("unseen_bytes", "acknowledged, but nobody saw them pass: lost by the capture"),
        _u64("zero_windows", "how often the receiver closed its window"),
        _s("zero_window_s", "how long it was closed"),
        _bytes(
            "window_max_bytes",
            "largest window that the receiver offered",
            "its handshake was not captured, which has the scale",
        ),
        _bytes("in_flight_max_bytes", "most bytes sent and not acknowledged"),
        _s("stalled_timeout_s", "stalls that ended with a timeout"),
        _s("stalled_window_s", "stalls at a full or closed window"),
        _s("stalled_idle_s", "stalls with everything acknowledged: nothing to send"),
        _s("stalled_network_s", "stalls with ACKs outstanding"),
        _s("to_sender_s", "round trip between the tap and the sender", _NO_SAMPLE),
        _s("to_receiver_s", "round trip between the tap and the receiver", _NO_SAMPLE),
    ),
    "packets": (
        _TIME,
        _PORT,
        _INGRESS,
        _FLOW,
        _SEQ,
        _SIZE,
        _text("fate", "forwarded, marked (and forwarded), dropped, or waiting at the end"),
        _text("reason", "why the queue discipline dropped it", "not dropped, or not known"),
        _s("depart_s", "when its last bit left the port", "dropped, or not sent before the end"),
        _bytes("queue_bytes", "in the buffer when it arrived"),
    ),
    "answers": (
        _s("time_s", "when the packet was delivered to the host"),
        _text("host", "the host that answered"),
        _FLOW,
        _text(
            "answer",
            "what it sent: `ack` (of new data), `duplicate-ack` (one of the first two in a row),"
            " `later-duplicate-ack`, `data` (the first segment that the packet let out)",
        ),
        _u32("frames", "packets that it answers: this one, and those before without an answer"),
        _s("delay_s", "from the packet's delivery to the kernel's stamp on the answer"),
        _s("idle_s", "from the packet before, of any flow, to this one", "the host's first packet"),
        _s("late_s", "from when the packet was due to its delivery: the switch's own lag"),
    ),
}


def empty(table: str) -> pl.DataFrame:
    """`table` with all of its columns and no rows."""
    return pl.DataFrame(schema={"run_id": pl.String} | {c.name: c.dtype for c in SCHEMA[table]})
