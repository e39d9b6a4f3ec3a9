//! The hosts of today: Linux 6, as of 6.6 to 6.18.

use fairport_units::Time;

use super::preset;
use crate::congestion::CongestionControl;
use crate::settings::{AckPolicy, Pacing, PayloadSizing, RtoRule, WindowReduction, WindowUnit};
use crate::sizing::TcpRand;

preset! {
    "linux-6", "The hosts of today: Linux 6, with CUBIC.";
    congestion_control = CongestionControl::Cubic, "net/ipv4/tcp_cong.c, tcp_set_default_congestion_control: CONFIG_DEFAULT_TCP_CONG is cubic";
    mss_bytes = 1460, "net/ipv4/tcp_output.c, tcp_mtu_to_mss: Ethernet's 1500 B less 40 B of headers";
    fixed_header_bytes = 0, "ours: headers are real, counted with their options";
    initial_window_segments = 10, "include/net/tcp.h, TCP_INIT_CWND (RFC 6928)";
    window_unit = WindowUnit::Segments, "include/linux/tcp.h, tcp_sock.snd_cwnd counts packets";
    sack = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_sack = 1";
    timestamps = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_timestamps = 1";
    paws = true, "net/ipv4/tcp_input.c, tcp_paws_discard";
    answers_invalid_acks = false, "net/ipv4/tcp_input.c, tcp_ack: SKB_DROP_REASON_TCP_ACK_UNSENT_DATA; a host of 6.18.44 was seen to answer";
    ack_policy = AckPolicy::QuickAck, "net/ipv4/tcp_input.c, tcp_event_data_recv and tcp_incr_quickack: up to TCP_MAX_QUICKACKS = 16";
    delayed_ack_min_ps = Time::from_ms(40).as_ps(), "include/net/tcp.h, TCP_DELACK_MIN and TCP_ATO_MIN = HZ/25";
    delayed_ack_max_ps = Time::from_ms(200).as_ps(), "include/net/tcp.h, TCP_DELACK_MAX = HZ/5";
    rto_rule = RtoRule::Linux, "net/ipv4/tcp_input.c, tcp_rtt_estimator and tcp_set_rto";
    rto_min_ps = Time::from_ms(200).as_ps(), "include/net/tcp.h, TCP_RTO_MIN = HZ/5";
    rto_max_ps = Time::from_secs(120).as_ps(), "include/net/tcp.h, TCP_RTO_MAX = 120 HZ";
    rto_initial_ps = Time::from_secs(1).as_ps(), "include/net/tcp.h, TCP_TIMEOUT_INIT = HZ";
    syn_linear_timeouts = 4, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_syn_linear_timeouts = 4 from 6.5 on";
    syn_backoff_lasts = false, "net/ipv4/tcp_metrics.c, tcp_init_metrics: TCP_TIMEOUT_FALLBACK = 3 s";
    clock_granularity_ps = Time::from_ms(1).as_ps(), "include/net/tcp.h, TCP_TS_HZ = 1000";
    rtt_tick_ps = 0, "net/ipv4/tcp_input.c, tcp_rtt_estimator: microseconds, from 3.15 on";
    clock_tick_ps = Time::from_ms(1).as_ps(), "ours: CONFIG_HZ = 1000 of kernel/Kconfig.hz; distributions build 250 or 1000";
    timer_slack_ps = Time::from_ms(2).as_ps(), "include/net/tcp.h, TCP_TIMEOUT_MIN_US";
    rack = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_recovery = TCP_RACK_LOSS_DETECTION";
    fack = false, "net/ipv4/tcp_input.c, tcp_update_scoreboard: without it from 4.15 on, when RACK took over";
    tail_loss_probe = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_early_retrans = 3";
    window_reduction = WindowReduction::Prr, "net/ipv4/tcp_input.c, tcp_cwnd_reduction: the only way since 3.2";
    dsack = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_dsack = 1";
    undo = true, "net/ipv4/tcp_input.c, tcp_try_undo_recovery and tcp_try_undo_dsack";
    frto = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_frto = 2";
    limited_transmit = true, "net/ipv4/tcp_input.c, tcp_fastretrans_alert: in state Disorder a SACK makes room for new data";
    early_retransmit = false, "net/ipv4/tcp_input.c, tcp_time_to_recover: taken out with 4.12; RACK does it";
    nagle = true, "net/ipv4/tcp_output.c, tcp_nagle_check";
    minshall = true, "net/ipv4/tcp_output.c, tcp_minshall_check";
    abc = true, "net/ipv4/tcp_cong.c, tcp_slow_start and tcp_cong_avoid_ai: by what was acknowledged since 3.13";
    abc_limit_segments = 0, "net/ipv4/tcp_cong.c, tcp_slow_start: without a limit";
    window_use_by_round = true, "net/ipv4/tcp_output.c, tcp_cwnd_validate; include/net/tcp.h, tcp_is_cwnd_limited";
    slow_start_after_idle = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_slow_start_after_idle = 1";
    window_scale = 7, "net/ipv4/tcp_output.c, tcp_select_initial_window: what the buffer needs";
    receive_buffer_bytes = 6 * 1024 * 1024, "net/ipv4/tcp.c, tcp_init: tcp_rmem[2] = 6 MB of hosts with some GB, to which tuning grows; here it is there at once, and all of it is window";
    hystart = true, "net/ipv4/tcp_cubic.c, hystart = 1";
    hystart_ack_delay = true, "net/ipv4/tcp_cubic.c, hystart_ack_delay";
    cubic_idle_shift = true, "net/ipv4/tcp_cubic.c, bictcp_cwnd_event";
    fast_convergence = true, "net/ipv4/tcp_cubic.c, fast_convergence = 1";
    payload_sizing = PayloadSizing::Full, "net/ipv4/tcp_output.c, tcp_write_xmit: segments of one MSS";
    payload_min_bytes = 200, "Lee et al. 2017: theta, once `payload_sizing` is set";
    tcprand = TcpRand::DEFAULT, "Lee et al. 2017: (1,1,1,1), once `payload_sizing` is set";
    ecn = false, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_ecn = 2: taken, never offered, so off between such hosts";
    ecn_fallback = true, "net/ipv4/tcp_ipv4.c, tcp_sk_init: sysctl_tcp_ecn_fallback = 1";
    dctcp_halves_on_loss = true, "net/ipv4/tcp_dctcp.c, dctcp_react_to_loss: from 5.1 on";
    pacing = Pacing::Off, "net/core/sock.c, sk_pacing_status = SK_PACING_NONE unless fq or BBR ask for it";
    pacing_granularity_ps = 0, "ours: an ideal timer, once `pacing` is set; the kernel's are hrtimers";
    send_gap_max_ps = 0, "ours: no stack sends at random times; Lee et al. 2017 compare with it";
    small_queue = true, "net/ipv4/tcp_output.c, tcp_small_queue_check";
    segmentation_offload = false, "ours: off, though most adapters have it (net/ipv4/tcp_output.c, tcp_tso_autosize)";
    receive_offload_ps = 0, "ours: off, though most adapters feed it (net/ipv4/tcp_offload.c, tcp_gro_receive)";
}
