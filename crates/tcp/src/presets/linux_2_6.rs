//! The papers' hosts: Linux 2.6.39 to 3.2, with the recovery of RFC 6675. Where the source names no
//! version, it is 3.0. `linux-3.0` has the kernel's own recovery.

use fairport_units::Duration;

use super::preset;
use crate::congestion::CongestionControl;
use crate::settings::{AckPolicy, Pacing, PayloadSizing, RtoRule, WindowReduction, WindowUnit};
use crate::sizing::TcpRand;

preset! {
    "linux-2.6", "The papers' hosts: Linux 2.6.39 to 3.2, with BIC.";
    congestion_control = CongestionControl::Bic, "Chopra & Helsley 2012: iperf -Z bic; the kernel's own default is CUBIC (net/ipv4/Kconfig)";
    mss_bytes = 1460, "net/ipv4/tcp_output.c, tcp_mtu_to_mss: Ethernet's 1500 B less 40 B of headers";
    fixed_header_bytes = 0, "ours: real headers, with the size of their options";
    initial_window_segments = 10, "include/net/tcp.h, TCP_INIT_CWND: 10 since 2.6.39; before, tcp_init_cwnd gave 3";
    window_unit = WindowUnit::Segments, "include/linux/tcp.h, tcp_sock.snd_cwnd counts packets";
    sack = true, "net/ipv4/tcp_input.c, sysctl_tcp_sack = 1; ours: losses are found as in RFC 6675";
    timestamps = true, "net/ipv4/tcp_input.c, sysctl_tcp_timestamps = 1";
    paws = false, "ours: off, because with the tick of 1 us chosen here timestamps wrap during a long run; the kernel has it (net/ipv4/tcp_input.c, tcp_paws_discard)";
    answers_invalid_acks = true, "ours: as in the RFC; net/ipv4/tcp_input.c, tcp_ack jumps to invalid_ack";
    ack_policy = AckPolicy::QuickAck, "net/ipv4/tcp_input.c, tcp_event_data_recv and tcp_incr_quickack: at most TCP_MAX_QUICKACKS = 16";
    delayed_ack_min_ps = Duration::from_ms(40), "include/net/tcp.h, TCP_DELACK_MIN and TCP_ATO_MIN = HZ/25";
    delayed_ack_max_ps = Duration::from_ms(200), "include/net/tcp.h, TCP_DELACK_MAX = HZ/5";
    delayed_ack_below_rto_min = true, "ours: the kernel has it only since 6.7 (net/ipv4/tcp_output.c, tcp_delack_max), but a sender whose minimum RTO is 2 ms would take a delay of 40 ms for a loss";
    quick_acks_after_gap = true, "net/ipv4/tcp_input.c, tcp_data_queue: calls tcp_enter_quickack_mode up to 4.17";
    quick_acks_within_estimate = true, "ours: so that a minimum RTO of 2 ms behaves like one of 200 ms; the kernel tests the RTO only if the gap is longer than ato (net/ipv4/tcp_input.c, tcp_event_data_recv)";
    quick_acks_for_data_only = false, "include/net/tcp.h, tcp_dec_quickack_mode: counts what was sent, up to 6.5";
    sack_compression = 0, "net/ipv4/tcp_input.c, __tcp_ack_snd_check: none before 4.18";
    rto_rule = RtoRule::Linux, "net/ipv4/tcp_input.c, tcp_rtt_estimator and tcp_set_rto";
    rto_min_ps = Duration::from_ms(200), "include/net/tcp.h, TCP_RTO_MIN = HZ/5; the papers set the route's rto_min to 2 ms";
    rto_max_ps = Duration::from_secs(120), "include/net/tcp.h, TCP_RTO_MAX = 120 HZ";
    rto_initial_ps = Duration::from_secs(1), "include/net/tcp.h, TCP_TIMEOUT_INIT: 1 s since 3.1, 3 s before";
    syn_linear_timeouts = 0, "net/ipv4/tcp_timer.c, tcp_retransmit_timer doubles at once";
    syn_backoff_lasts = false, "net/ipv4/tcp_input.c, tcp_init_metrics: TCP_TIMEOUT_FALLBACK = 3 s since 3.1";
    syn_timeouts_to_one_segment = 2, "net/ipv4/tcp_input.c, tcp_init_metrics: total_retrans > 1 since 3.1; see linux-3.0";
    rto_restarts_on_retransmit = true, "net/ipv4/tcp_output.c, tcp_xmit_retransmit_queue: calls inet_csk_reset_xmit_timer for the head of the queue";
    ack_ends_backoff = false, "net/ipv4/tcp_input.c, tcp_valid_rtt_meas: the next sample ends it";
    clock_granularity_ps = Duration::from_us(1), "ours: kernels of the era measured in jiffies of 1 to 4 ms, with which a minimum RTO of 2 ms cannot be distinguished from 4 or 8 ms; the papers' effect needs it exact";
    rtt_tick_ps = Duration::ZERO, "ours: exact, for the reason given at `clock_granularity`; kernels before 3.15 measure in jiffies, at least one (net/ipv4/tcp_input.c, tcp_rtt_estimator)";
    sack_rtt = false, "net/ipv4/tcp_input.c, tcp_clean_rtx_queue: samples only acknowledged data";
    clock_tick_ps = Duration::ZERO, "ours: exact, for the reason given at `clock_granularity`; the kernel's tick is 1/HZ";
    timer_slack_ps = Duration::ZERO, "ours: RACK and tail loss probes, to which it belongs, are off";
    rack = false, "net/ipv4/tcp_recovery.c, tcp_rack_mark_lost: since 4.4";
    fack = false, "ours: left out of this preset, though net/ipv4/tcp_input.c has sysctl_tcp_fack = 1; see linux-3.0";
    tail_loss_probe = false, "net/ipv4/tcp_output.c, tcp_schedule_loss_probe: since 3.10";
    window_reduction = WindowReduction::AtOnce, "ours: as in RFC 6675; the kernel has `rate-halving` up to 3.1 (net/ipv4/tcp_input.c, tcp_cwnd_down)";
    dsack = false, "ours: it serves only undo, which this preset leaves out; the kernel has it (net/ipv4/tcp_input.c, sysctl_tcp_dsack = 1)";
    undo = false, "ours: left out of this preset, though net/ipv4/tcp_input.c has tcp_try_undo_recovery; set it together with `dsack`";
    frto = false, "ours: left out of this preset, though net/ipv4/tcp_input.c has sysctl_tcp_frto = 2 since 2.6.24";
    limited_transmit = true, "net/ipv4/tcp_input.c, tcp_fastretrans_alert: in state Disorder a SACK lets new data out";
    early_retransmit = false, "net/ipv4/tcp_input.c, tcp_time_to_recover: since 3.5";
    nagle = true, "net/ipv4/tcp_output.c, tcp_nagle_check";
    minshall = true, "net/ipv4/tcp_output.c, tcp_minshall_check";
    abc = false, "net/ipv4/tcp_input.c, sysctl_tcp_abc = 0";
    abc_limit_segments = 2, "RFC 3465 2.2: L; used if `abc` is on";
    duplicate_acks_deliver = false, "net/ipv4/tcp_input.c, tcp_ack: bytes_acked grows by ack - prior_snd_una";
    window_use_by_round = false, "net/ipv4/tcp_cong.c, tcp_is_cwnd_limited looks only at the moment; its allowance of three segments is left out";
    slow_start_after_idle = false, "ours: left out of this preset, though net/ipv4/tcp_output.c has sysctl_tcp_slow_start_after_idle = 1";
    window_scale = 7, "net/ipv4/tcp_output.c, tcp_select_initial_window: the scale that the buffer needs";
    receive_buffer_bytes = 6 * 1024 * 1024, "ours: in the kernel tuning grows the buffer up to tcp_rmem[2], 4 MB up to 3.2 and 6 MB since 3.3 (net/ipv4/tcp.c, tcp_init); here it has that size at once, and all of it is window";
    hystart = true, "net/ipv4/tcp_cubic.c, hystart = 1 since 2.6.29";
    hystart_ack_delay = false, "net/ipv4/tcp_cubic.c, hystart_ack_delay exists since 5.6";
    cubic_idle_shift = false, "net/ipv4/tcp_cubic.c, bictcp_cwnd_event exists since 4.3";
    fast_convergence = true, "net/ipv4/tcp_bic.c, fast_convergence = 1; tcp_cubic.c the same";
    payload_sizing = PayloadSizing::Full, "net/ipv4/tcp_output.c, tcp_write_xmit: segments of one MSS";
    payload_min_bytes = 200, "Lee et al. 2017: theta; used if `payload_sizing` is not `full`";
    tcprand = TcpRand::DEFAULT, "Lee et al. 2017: (1,1,1,1); used if `payload_sizing` is not `full`";
    ecn = false, "net/ipv4/tcp_input.c, sysctl_tcp_ecn = 2: accepted but never offered, so off between such hosts";
    ecn_fallback = false, "net/ipv4/tcp_output.c, tcp_retransmit_skb: sends the SYN as it was; the fallback exists since 4.2";
    dctcp_halves_on_loss = true, "net/ipv4/tcp_dctcp.c, dctcp_react_to_loss: since 5.1; these kernels have no DCTCP";
    pacing = Pacing::Off, "net/ipv4/tcp_output.c, tcp_write_xmit: sends at once what the windows allow";
    pacing_granularity_ps = Duration::ZERO, "ours: an ideal timer; used if `pacing` is not `off`";
    send_gap_max_ps = Duration::ZERO, "ours: no stack sends at random times; Lee et al. 2017 compare TCPRand with it";
    small_queue = false, "net/ipv4/tcp_output.c, tcp_small_queue_check: since 3.6";
    host_queue_pushback = true, "net/ipv4/tcp_output.c, tcp_transmit_skb: calls tcp_enter_cwr, and tcp_write_xmit keeps the segment";
    segmentation_offload = false, "ours: off, though the kernel has net/ipv4/tcp_output.c, tcp_tso_should_defer: it depends on the adapter, which the papers do not name";
    receive_offload_ps = Duration::ZERO, "ours: off, though the kernel has net/ipv4/tcp.c, tcp_gro_receive: how much it merges depends on the adapter, which the papers do not name";
}
