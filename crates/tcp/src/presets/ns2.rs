//! ns-2.35: `Agent/TCP/Newreno` to `Agent/TCPSink`.

use fairport_units::Time;

use super::preset;
use crate::congestion::CongestionControl;
use crate::settings::{AckPolicy, Pacing, PayloadSizing, RtoRule, WindowReduction, WindowUnit};
use crate::sizing::TcpRand;

preset! {
    "ns2", "ns-2.35: Agent/TCP/Newreno to Agent/TCPSink.";
    congestion_control = CongestionControl::NewReno, "tcp/tcp-newreno.cc, NewRenoTcpAgent";
    mss_bytes = 1000, "tcl/lib/ns-default.tcl, packetSize_ 1000";
    fixed_header_bytes = 40, "tcl/lib/ns-default.tcl, tcpip_base_hdr_size_ 40";
    initial_window_segments = 2, "tcl/lib/ns-default.tcl, windowInit_ 2 with windowInitOption_ 1";
    window_unit = WindowUnit::Segments, "tcp/tcp.h, TcpAgent::cwnd_ counts packets";
    sack = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    timestamps = false, "tcl/lib/ns-default.tcl, timestamps_ false";
    paws = false, "tcp/tcp-sink.cc, TcpSink has none";
    answers_invalid_acks = true, "ours: as in the RFC; ns-2 has no such segments";
    ack_policy = AckPolicy::EverySegment, "tcp/tcp-sink.cc, TcpSink and not DelAckSink";
    delayed_ack_min_ps = Time::from_ms(100).as_ps(), "tcl/lib/ns-default.tcl, Agent/TCPSink/DelAck interval_ 100ms, once `ack_policy` is set";
    delayed_ack_max_ps = Time::from_ms(100).as_ps(), "tcl/lib/ns-default.tcl, Agent/TCPSink/DelAck interval_ 100ms, once `ack_policy` is set";
    rto_rule = RtoRule::Rfc6298, "tcp/tcp.cc, TcpAgent::rtt_timeout, with rfc2988_ true";
    rto_min_ps = Time::from_ms(200).as_ps(), "tcl/lib/ns-default.tcl, minrto_ 0.2";
    rto_max_ps = Time::from_secs(60).as_ps(), "tcl/lib/ns-default.tcl, maxrto_ 60";
    rto_initial_ps = Time::from_secs(3).as_ps(), "tcl/lib/ns-default.tcl, rtxcur_init_ 3.0";
    syn_linear_timeouts = 0, "tcp/tcp.cc, TcpAgent::rtt_backoff doubles at once";
    syn_backoff_lasts = true, "tcp/tcp.cc, TcpAgent::newack: t_backoff_ is 1 again with the next sample";
    clock_granularity_ps = Time::from_ms(10).as_ps(), "tcl/lib/ns-default.tcl, tcpTick_ 0.01";
    rtt_tick_ps = Time::from_ms(10).as_ps(), "tcp/tcp.cc, TcpAgent::rtt_update: ticks of tcpTick_ 0.01, one at least";
    clock_tick_ps = 0, "tcp/tcp.cc, TcpAgent::set_rtx_timer: an event at the exact time";
    timer_slack_ps = 0, "ours: what it belongs to, RACK and tail loss probes, is off";
    rack = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    fack = false, "ours: ns-2 has it as an agent of its own, Agent/TCP/Fack";
    tail_loss_probe = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    window_reduction = WindowReduction::AtOnce, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    dsack = false, "tcl/lib/ns-default.tcl, generateDSacks_ false";
    undo = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    frto = false, "tcl/lib/ns-default.tcl, frto_enabled_ 0";
    limited_transmit = true, "tcl/lib/ns-default.tcl, singledup_ 1";
    early_retransmit = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    nagle = false, "ours: one-way agents send whole packets only";
    minshall = false, "ours: nothing is held back";
    abc = false, "tcp/tcp.cc, TcpAgent::opencwnd: by the number of ACKs";
    abc_limit_segments = 2, "RFC 3465 2.2: L, once `abc` is set";
    window_use_by_round = false, "ours: tcp/tcp.cc, TcpAgent::opencwnd grows a window that is not used, too";
    slow_start_after_idle = false, "ours: slow_start_restart_ of tcl/lib/ns-default.tcl restarts FullTcp agents, not the one-way agents of this preset";
    window_scale = 14, "ours: ns-2 has no window field; the largest scale, so that it limits nothing";
    receive_buffer_bytes = 64 * 1024 * 1024, "ours: window_ is 20 packets in tcl/lib/ns-default.tcl and every experiment raises it; not a limit here";
    hystart = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    hystart_ack_delay = false, "tcp/linux/src/tcp_cubic.c, that of 2.6.26";
    cubic_idle_shift = false, "tcp/linux/src/tcp_cubic.c, that of 2.6.26";
    fast_convergence = false, "tcp/tcp-newreno.cc, NewRenoTcpAgent has none";
    payload_sizing = PayloadSizing::Full, "tcp/tcp.cc, TcpAgent::output: packets of packetSize_";
    payload_min_bytes = 200, "Lee et al. 2017: theta, once `payload_sizing` is set";
    tcprand = TcpRand::DEFAULT, "Lee et al. 2017: (1,1,1,1), once `payload_sizing` is set";
    ecn = false, "tcl/lib/ns-default.tcl, ecn_ 0";
    ecn_fallback = false, "tcp/tcp.cc, TcpAgent::recv: ECN without a handshake";
    dctcp_halves_on_loss = true, "RFC 8257 3.5, once DCTCP is the congestion control; ns-2.35 has none";
    pacing = Pacing::Off, "tcp/tcp.cc, TcpAgent::send_much: what the window allows, at once";
    pacing_granularity_ps = 0, "ours: an ideal timer, once `pacing` is set";
    send_gap_max_ps = 0, "tcl/lib/ns-default.tcl, overhead_ 0";
    small_queue = false, "tcp/tcp.cc, TcpAgent::send_much: none";
    segmentation_offload = false, "tcp/tcp.cc, TcpAgent::send_much: none";
    receive_offload_ps = 0, "tcp/tcp-sink.cc, TcpSink: none";
}
