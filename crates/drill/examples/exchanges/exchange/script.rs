//! The frame of a script: the kernel's settings, the socket, and the events.

use fairport_tcp::Info;

use super::draw::{Draw, Side};

/// The whole script. It makes the device take one segment at a time, as from a stack without offload.
pub(super) fn script(seed: u64, attempt: u64, draw: &Draw, events: &str) -> String {
    let flag = u8::from;
    format!(
        "// Seed {seed}, draw {attempt}: {}.\n\
         --tolerance_usecs={}\n\
         `sysctl -q net.ipv4.tcp_sack={} net.ipv4.tcp_timestamps={}{} \
         net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_wmem=\"4096 8388608 8388608\" \
         net.ipv4.tcp_rmem=\"4096 {} 6291456\"\n\
         ip link set dev tun0 gso_max_segs 1`\n\n\
         0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
         0.000000 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0\n\
         0.000000 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{}\", {}) = 0\n\
         {}{}\
         {}\
         {events}",
        draw.about(),
        draw.tolerance.as_ps() / 1_000_000,
        flag(draw.sack),
        flag(draw.timestamps),
        match draw.side {
            Side::Sender => String::new(),
            Side::Receiver => format!(" net.ipv4.tcp_comp_sack_nr={}", draw.sack_compression),
        } + if draw.ecn { " net.ipv4.tcp_ecn=1" } else { "" },
        // the kernel counts the memory that segments take against its buffer, which is more than twice their data
        match draw.side {
            Side::Sender => 131_072,
            Side::Receiver => 6_291_456,
        },
        draw.congestion_control,
        draw.congestion_control.len(),
        if draw.nagle {
            ""
        } else {
            "0.000000 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n"
        },
        // with any limit a kernel paces; nothing here reaches this one
        if draw.paced && draw.congestion_control != "bbr" {
            "0.000000 setsockopt(3, SOL_SOCKET, SO_MAX_PACING_RATE, [1000000000], 4) = 0\n"
        } else {
            ""
        },
        if draw.active {
            "0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
        } else {
            "0.000000 bind(3, ..., ...) = 0\n0.000000 listen(3, 1) = 0\n"
        },
    )
}

/// A sender's state as a comment, for finding the reason of a difference.
pub(super) fn state(info: &Info) -> String {
    let threshold = info
        .snd_ssthresh
        .map_or("none".to_owned(), |it| it.to_string());
    format!(
        "// {:?}: cwnd {}, ssthresh {threshold}, unacked {}, sacked {}, lost {}, \
             retrans {}, reordering {}, min_rtt {} us, rto {} ms",
        info.ca_state,
        info.snd_cwnd,
        info.unacked,
        info.sacked,
        info.lost,
        info.retrans,
        info.reordering,
        info.min_rtt.map_or(0, |it| it.as_ps() / 1_000_000),
        info.rto.as_ps() / 1_000_000_000,
    )
}
