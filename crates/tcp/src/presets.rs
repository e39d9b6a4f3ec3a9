//! The stacks of an era, as data: each a list of settings, each value with its source.
//!
//! A new stack is one constant here and one line in [`ALL`].

use fairport_units::Time;

use crate::settings::{
    AckPolicy, CongestionControl, Pacing, PayloadSizing, RtoRule, Settings, WindowUnit,
};
use crate::sizing::TcpRand;

/// The papers' hosts: Linux 2.6.32 to 3.2 with BIC.
///
/// The minimum RTO is that of an untouched kernel; the papers set 2 ms by the route's `rto_min`.
const LINUX_2_6: Settings = Settings {
    // iperf -Z bic (Chopra & Helsley 2012)
    congestion_control: CongestionControl::Bic,
    // Ethernet's 1500 less 40
    mss_bytes: 1460,
    fixed_header_bytes: 0,
    // Linux 3.0 and later (TCP_INIT_CWND); earlier ones use 3
    initial_window_segments: 10,
    window_unit: WindowUnit::Segments,
    // tcp_sack = 1, tcp_timestamps = 1
    sack: true,
    timestamps: true,
    ack_policy: AckPolicy::QuickAck,
    // TCP_DELACK_MIN = HZ/25, TCP_DELACK_MAX = HZ/5
    delayed_ack_min_ps: Time::from_ms(40).as_ps(),
    delayed_ack_max_ps: Time::from_ms(200).as_ps(),
    rto_rule: RtoRule::Linux,
    // TCP_RTO_MIN = HZ/5, TCP_RTO_MAX = 120 s
    rto_min_ps: Time::from_ms(200).as_ps(),
    rto_max_ps: Time::from_secs(120).as_ps(),
    // TCP_TIMEOUT_INIT: 1 s from 3.1 on, 3 s before
    rto_initial_ps: Time::from_secs(1).as_ps(),
    // chosen: real kernels of the era measured in jiffies (1 to 4 ms), with which a minimum RTO
    // of 2 ms cannot be told apart from 4 or 8 ms; the papers' effect needs it exact
    clock_granularity_ps: Time::from_us(1).as_ps(),
    // tcp_input.c sends on each SACK in state Disorder
    limited_transmit: true,
    early_retransmit: false,
    // RACK 4.4, TLP 3.10, PRR 3.2, SACK's F-RTO 3.10; undo is left out of this preset
    clock_tick_ps: 0,
    timer_slack_ps: 0,
    rack: false,
    tail_loss_probe: false,
    prr: false,
    dsack: false,
    undo: false,
    frto: false,
    nagle: true,
    // tcp_abc = 0
    abc: false,
    abc_limit_segments: 2,
    // what tcp_select_initial_window gives for the buffer below
    window_scale: 7,
    // tcp_rmem[2] of hosts with some GB of memory; auto-tuning reaches it at once here
    receive_buffer_bytes: 6 * 1024 * 1024,
    // tcp_cubic.c, from 2.6.29 on
    hystart: true,
    // tcp_bic.c, tcp_cubic.c
    fast_convergence: true,
    // TCPRand's theta and default parameters, once it is switched on
    payload_sizing: PayloadSizing::Full,
    payload_min_bytes: 200,
    tcprand: TcpRand::DEFAULT,
    // tcp_ecn = 2 accepts but does not offer: off between such hosts
    ecn: false,
    dctcp_halves_on_loss: true,
    pacing: Pacing::Off,
    pacing_granularity_ps: 0,
    send_gap_max_ps: 0,
};

/// Linux 6: the hosts of today. What is not said here has not changed since [`LINUX_2_6`].
const LINUX_6: Settings = Settings {
    // CONFIG_DEFAULT_TCP_CONG
    congestion_control: CongestionControl::Cubic,
    // TCP_TS_HZ = 1000
    clock_granularity_ps: Time::from_ms(1).as_ps(),
    // HZ = 1000; distributions build 250 or 1000
    clock_tick_ps: Time::from_ms(1).as_ps(),
    // TCP_TIMEOUT_MIN_US
    timer_slack_ps: Time::from_ms(2).as_ps(),
    // tcp_recovery = 1, tcp_early_retrans = 3
    rack: true,
    tail_loss_probe: true,
    // tcp_cwnd_reduction, the only way since 3.2
    prr: true,
    // tcp_dsack = 1
    dsack: true,
    // tcp_try_undo_*, always on
    undo: true,
    // tcp_frto = 2
    frto: true,
    // tcp_slow_start counts what was acknowledged since 3.13, without a limit
    abc: true,
    abc_limit_segments: 0,
    ..LINUX_2_6
};

/// ns-2.35: `Agent/TCP/Newreno` to `Agent/TCPSink`.
const NS2: Settings = Settings {
    congestion_control: CongestionControl::NewReno,
    // packetSize_ 1000, tcpip_base_hdr_size_ 40
    mss_bytes: 1000,
    fixed_header_bytes: 40,
    // windowInit_ 2 (ns-default.tcl: RFC 2581)
    initial_window_segments: 2,
    window_unit: WindowUnit::Segments,
    sack: false,
    timestamps: false,
    // TCPSink, not TCPSink/DelAck
    ack_policy: AckPolicy::EverySegment,
    // interval_ 100ms of TCPSink/DelAck, unused until the policy is overridden
    delayed_ack_min_ps: Time::from_ms(100).as_ps(),
    delayed_ack_max_ps: Time::from_ms(100).as_ps(),
    rto_rule: RtoRule::Rfc6298,
    // minrto_ 0.2, maxrto_ 60, rtxcur_init_ 3.0, tcpTick_ 0.01
    rto_min_ps: Time::from_ms(200).as_ps(),
    rto_max_ps: Time::from_secs(60).as_ps(),
    rto_initial_ps: Time::from_secs(3).as_ps(),
    clock_granularity_ps: Time::from_ms(10).as_ps(),
    // singledup_ 1
    limited_transmit: true,
    early_retransmit: false,
    // TCP/Newreno has none of it
    clock_tick_ps: 0,
    timer_slack_ps: 0,
    rack: false,
    tail_loss_probe: false,
    prr: false,
    dsack: false,
    undo: false,
    frto: false,
    // one-way agents send whole packets only
    nagle: false,
    abc: false,
    abc_limit_segments: 2,
    window_scale: 14,
    // window_ is 20 packets by default and every experiment raises it: not a limit here
    receive_buffer_bytes: 64 * 1024 * 1024,
    hystart: false,
    fast_convergence: false,
    // TCPRand's theta and default parameters, once it is switched on
    payload_sizing: PayloadSizing::Full,
    payload_min_bytes: 200,
    tcprand: TcpRand::DEFAULT,
    ecn: false,
    dctcp_halves_on_loss: true,
    pacing: Pacing::Off,
    pacing_granularity_ps: 0,
    send_gap_max_ps: 0,
};

/// ns-3 (3.40): `TcpSocketBase` with its default attributes, but for sizes that every experiment
/// sets.
const NS3: Settings = Settings {
    // TcpL4Protocol::SocketType
    congestion_control: CongestionControl::Cubic,
    // SegmentSize is 536 by default; here Ethernet's
    mss_bytes: 1460,
    fixed_header_bytes: 0,
    // InitialCwnd
    initial_window_segments: 10,
    // m_cWnd counts octets
    window_unit: WindowUnit::Bytes,
    // Sack, Timestamp
    sack: true,
    timestamps: true,
    // DelAckCount 2, DelAckTimeout 200 ms
    ack_policy: AckPolicy::Delayed,
    delayed_ack_min_ps: Time::from_ms(200).as_ps(),
    delayed_ack_max_ps: Time::from_ms(200).as_ps(),
    rto_rule: RtoRule::Rfc6298,
    // MinRto 1 s; 60 s in ReTxTimeout; ConnTimeout 3 s
    rto_min_ps: Time::from_secs(1).as_ps(),
    rto_max_ps: Time::from_secs(60).as_ps(),
    rto_initial_ps: Time::from_secs(3).as_ps(),
    // ClockGranularity
    clock_granularity_ps: Time::from_ms(1).as_ps(),
    // RecoveryType TcpPrrRecovery
    prr: true,
    // TcpNoDelay
    nagle: false,
    // RcvBufSize is 128 KB by default and every experiment raises it
    window_scale: 7,
    receive_buffer_bytes: 6 * 1024 * 1024,
    // TcpCubic::HyStart, TcpCubic::FastConvergence
    hystart: true,
    fast_convergence: true,
    // LimitedTransmit and the rest are as the standards have them
    ..RFC
};

/// The standards track, as of RFC 9293.
const RFC: Settings = Settings {
    // RFC 5681
    congestion_control: CongestionControl::NewReno,
    mss_bytes: 1460,
    fixed_header_bytes: 0,
    // RFC 6928
    initial_window_segments: 10,
    // RFC 5681 counts octets
    window_unit: WindowUnit::Bytes,
    // RFC 2018, 6675; RFC 7323
    sack: true,
    timestamps: true,
    ack_policy: AckPolicy::Delayed,
    // RFC 1122 4.2.3.2: below 500 ms; 200 ms is what most hosts take
    delayed_ack_min_ps: Time::from_ms(200).as_ps(),
    delayed_ack_max_ps: Time::from_ms(200).as_ps(),
    rto_rule: RtoRule::Rfc6298,
    // RFC 6298 2.4, 2.5, 2.1
    rto_min_ps: Time::from_secs(1).as_ps(),
    rto_max_ps: Time::from_secs(60).as_ps(),
    rto_initial_ps: Time::from_secs(1).as_ps(),
    // RFC 7323 5.4: a tick of 1 ms to 1 s
    clock_granularity_ps: Time::from_ms(1).as_ps(),
    // RFC 3042, RFC 9293 3.7.4 (Nagle), RFC 3465
    limited_transmit: true,
    early_retransmit: false,
    // RFC 8985, 6937, 3708 and 5682 stand beside RFC 6675, and are off here
    clock_tick_ps: 0,
    timer_slack_ps: 0,
    rack: false,
    tail_loss_probe: false,
    prr: false,
    dsack: false,
    undo: false,
    frto: false,
    nagle: true,
    abc: true,
    // RFC 3465 2.2
    abc_limit_segments: 2,
    window_scale: 7,
    receive_buffer_bytes: 6 * 1024 * 1024,
    hystart: false,
    // RFC 9438 4.7, once the congestion control is overridden
    fast_convergence: true,
    // TCPRand's theta and default parameters, once it is switched on
    payload_sizing: PayloadSizing::Full,
    payload_min_bytes: 200,
    tcprand: TcpRand::DEFAULT,
    ecn: false,
    dctcp_halves_on_loss: true,
    pacing: Pacing::Off,
    pacing_granularity_ps: 0,
    send_gap_max_ps: 0,
};

const ALL: &[(&str, &Settings)] = &[
    ("linux-2.6", &LINUX_2_6),
    ("linux-6", &LINUX_6),
    ("ns2", &NS2),
    ("ns3", &NS3),
    ("rfc", &RFC),
];

/// Their names, in the order of the list.
pub(crate) const NAMES: &[&str] = &["linux-2.6", "linux-6", "ns2", "ns3", "rfc"];

/// The settings of the stack called `name`.
pub(crate) fn preset(name: &str) -> Option<Settings> {
    ALL.iter()
        .find(|(known, _)| *known == name)
        .map(|(_, settings)| (*settings).clone())
}
