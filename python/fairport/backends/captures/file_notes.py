"""What must be known about each capture file to read the numbers that come from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairport.quantities import counted

# timestamps of several queues of an adapter are out of order by less than this
_ORDERED_S = 1e-3
# a segment that is not acknowledged for so long is sent again (RFC 6298 2.1)
_AGAIN_S = 1.0
_MANY = 0.02
# names in a sentence, at most
_LISTED = 3
# the core's names
_CUT_OFF = "whose headers were cut off"
_FRAGMENTS = "later fragments"
_MORE = "capture more of each packet (-s 128, and -s 200 with tunnels)"


def on_files(files: Sequence[Mapping[str, Any]], longest_rtt_s: float) -> list[str]:
    """The notes on these files, one sentence each.

    The longest round-trip time is that of segments that were sent once.
    """
    found = [_damage(file) for file in files if file["damaged_at_byte"] is not None]
    found += [_copies(file) for file in files if file["copies"]]
    found += [_clock(file) for file in files if file["clock_offset_s"]]
    found += [_backward(file) for file in files if file["backward_s"] > _ORDERED_S]
    found += [_forward(file) for file in files if _AGAIN_S < file["gap_s"] <= longest_rtt_s]
    found += [_unread(file) for file in files if _lacks(file)]
    found += [_lost(file) for file in files if file["lost_by_host"]]
    found += [_merged(file) for file in files if file["merged"]]
    found += [_uncut(file) for file in files if file["uncut"]]
    return found + [_cut(file) for file in files if file["options_cut"]]


def _damage(file: Mapping[str, Any]) -> str:
    if not file["lost_bytes"]:
        return f"{file['file']}: {file['damage']} at byte {file['damaged_at_byte']}."
    return (
        f"{file['file']}: {file['damage']} at byte {file['damaged_at_byte']}: {file['lost_bytes']}"
        f" bytes, at least {counted(file['lost_packets'], 'packet')}, could not be read."
    )


def _copies(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']} holds {counted(file['copies'], 'packet')} twice. The copies do not count."
        " Mirror one direction of each port, do not capture at `any`, and merge files with"
        " mergecap -I none."
    )


def _merged(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: {counted(file['merged'], 'packet')} of {file['packets']:,} hold several"
        " segments, as hosts merge them (TSO, GRO). They were cut into segments again, which all"
        " have the packet's time. Delays, the queue and the order of different flows' packets are"
        " inexact by the time in which these segments passed."
    )


def _uncut(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: {counted(file['uncut'], 'packet')} with several segments could not be"
        " cut, because the size of the segments is unknown. Each counts as one: capture the"
        " handshakes, or switch that off at the port (ethtool -K PORT gro off tso off gso off)."
    )


def _clock(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: its clock was aligned with the egress capture's: {file['clock_offset_s']}"
        f" s added, drift {file['clock_drift_ppm']:.3g} ppm; delays count from the shortest one."
    )


def _backward(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: timestamps go back by up to {file['backward_s']:.3g} s. Round-trip times,"
        " timeouts and goodputs there are wrong: sort the packets with reordercap, or cut the"
        " capture where a clock was set."
    )


def _forward(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']} holds no packet for {file['gap_s']:.3g} s, and then the answer to one from"
        " before that nobody had sent again: the clock was set forward, or the capture stood"
        " still. Round-trip times and goodputs there are wrong: cut the capture at that place."
    )


def _lacks(file: Mapping[str, Any]) -> bool:
    """Whether what was not read is much, or a part of flows."""
    is_of_flows = _CUT_OFF in file["unread"] or _FRAGMENTS in file["unread"]
    return is_of_flows or file["skipped"] > _MANY * file["packets"]


def _unread(file: Mapping[str, Any]) -> str:
    each = [f"{count:,} {what}" for what, count in file["unread"].items()]
    remedy = f" {_MORE[0].upper()}{_MORE[1:]}." if _CUT_OFF in file["unread"] else ""
    return (
        f"{file['file']}: {file['skipped']:,} of {counted(file['packets'], 'packet')} hold no TCP"
        f" or UDP that can be read ({listed(each)}), and are left out.{remedy}"
    )


def _lost(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: the capturing host says that it lost"
        f" {counted(file['lost_by_host'], 'packet')}. Where they are missing, counts of drops and"
        " timeouts are wrong: capture again with a larger buffer (-B 65536)."
    )


def _cut(file: Mapping[str, Any]) -> str:
    return (
        f"{file['file']}: TCP's options were cut off in {counted(file['options_cut'], 'packet')}."
        f" Round trips, needless retransmissions and windows are known less well: {_MORE}."
    )


def listed(names: Sequence[str]) -> str:
    """The first few names in a sentence, and how many more there are."""
    if len(names) > _LISTED:
        return f"{', '.join(names[:_LISTED])} and {len(names) - _LISTED} more"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
