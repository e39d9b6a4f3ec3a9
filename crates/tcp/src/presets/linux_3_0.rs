//! Linux 3.0 with its own loss recovery: FACK, rate halving, duplicate SACKs, undo, F-RTO. Settings that are not listed
//! here are as in `linux-2.6`.

use fairport_units::Duration;

use super::preset;
use crate::settings::WindowReduction;

preset! {
    "linux-3.0", "Linux 3.0 with BIC: linux-2.6 with the kernel's own loss recovery.", as linux_2_6;
    sack = true, "net/ipv4/tcp_input.c, sysctl_tcp_sack = 1";
    rto_initial_ps = Duration::from_secs(3), "include/net/tcp.h, TCP_TIMEOUT_INIT: 3 s up to 3.0";
    syn_timeouts_to_one_segment = 0, "net/ipv4/tcp_input.c, tcp_init_metrics: tcp_init_cwnd in every case up to 3.0; that the threshold then stays low is left out";
    fack = true, "net/ipv4/tcp_input.c, sysctl_tcp_fack = 1: tcp_update_scoreboard and tcp_mark_lost_retrans; the kernel's count of reordering is left out";
    window_reduction = WindowReduction::RateHalving, "net/ipv4/tcp_input.c, tcp_cwnd_down: up to 3.1";
    dsack = true, "net/ipv4/tcp_input.c, sysctl_tcp_dsack = 1";
    undo = true, "net/ipv4/tcp_input.c, tcp_try_undo_recovery and similar functions";
    frto = true, "net/ipv4/tcp_input.c, sysctl_tcp_frto = 2 since 2.6.24; here as since 3.10, which is also RFC 5682";
    slow_start_after_idle = true, "net/ipv4/tcp_output.c, sysctl_tcp_slow_start_after_idle = 1";
    receive_buffer_bytes = 4 * 1024 * 1024, "net/ipv4/tcp.c, tcp_init: tuning grows the buffer up to tcp_rmem[2] = 4 MB; here it has that size at once, and all of it is window";
}
