//! The text of a script around the events of an exchange.

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
         0.000000 bind(3, ..., ...) = 0\n\
         0.000000 listen(3, 1) = 0\n\
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
    )
}
