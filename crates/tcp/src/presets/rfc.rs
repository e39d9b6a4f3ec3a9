//! The standards track, as of RFC 9293.

use fairport_units::Time;

use super::preset;
use crate::congestion::CongestionControl;
use crate::settings::{AckPolicy, Pacing, PayloadSizing, RtoRule, WindowReduction, WindowUnit};
use crate::sizing::TcpRand;

preset! {
    "rfc", "The standards track, as of RFC 9293.";
    congestion_control = CongestionControl::NewReno, "RFC 5681";
    mss_bytes = 1460, "RFC 6691: an MTU of 1500 B less 40 B";
    fixed_header_bytes = 0, "ours: headers are real, counted with their options";
    initial_window_segments = 10, "RFC 6928";
    window_unit = WindowUnit::Bytes, "RFC 5681 2: cwnd is an amount of data";
    sack = true, "RFC 2018; RFC 6675";
    timestamps = true, "RFC 7323 3";
    paws = false, "ours: RFC 7323 5 asks for it; without old duplicates it changes nothing";
    answers_invalid_acks = true, "RFC 9293 3.10.7.4";
    ack_policy = AckPolicy::Delayed, "RFC 5681 4.2";
    delayed_ack_min_ps = Time::from_ms(200).as_ps(), "ours: within RFC 5681 4.2 (below 500 ms); most hosts take 200 ms";
    delayed_ack_max_ps = Time::from_ms(200).as_ps(), "ours: within RFC 5681 4.2 (below 500 ms); most hosts take 200 ms";
    rto_rule = RtoRule::Rfc6298, "RFC 6298 2";
    rto_min_ps = Time::from_secs(1).as_ps(), "RFC 6298 2.4";
    rto_max_ps = Time::from_secs(60).as_ps(), "RFC 6298 2.5";
    rto_initial_ps = Time::from_secs(1).as_ps(), "RFC 6298 2.1";
    syn_linear_timeouts = 0, "RFC 6298 5.5";
    syn_backoff_lasts = false, "RFC 6298 5.7";
    clock_granularity_ps = Time::from_ms(1).as_ps(), "RFC 7323 5.4: a tick of 1 ms to 1 s";
    rtt_tick_ps = 0, "ours: exact";
    clock_tick_ps = 0, "ours: exact";
    timer_slack_ps = 0, "ours: what it belongs to, RACK and tail loss probes, is off";
    rack = false, "ours: RFC 8985 stands beside RFC 6675";
    fack = false, "ours: no RFC asks for it; Mathis and Mahdavi 1996";
    tail_loss_probe = false, "ours: RFC 8985 stands beside RFC 6675";
    window_reduction = WindowReduction::AtOnce, "ours: RFC 6937 was experimental; RFC 6675 stands";
    dsack = false, "ours: RFC 2883 is optional, and serves undo alone";
    undo = false, "ours: RFC 4015 is optional";
    frto = false, "ours: RFC 5682 is optional";
    limited_transmit = true, "RFC 3042; RFC 5681 3.2";
    early_retransmit = false, "ours: RFC 5827 is experimental";
    nagle = true, "RFC 9293 3.7.4";
    minshall = false, "RFC 9293 3.7.4 has the rule of RFC 896";
    abc = true, "RFC 5681 3.1: by what was acknowledged; RFC 3465";
    abc_limit_segments = 2, "RFC 3465 2.2";
    window_use_by_round = false, "RFC 7661 3: a window is validated by what was sent";
    slow_start_after_idle = false, "ours: RFC 2861 was experimental and is historic; RFC 7661 stands";
    window_scale = 7, "RFC 7323 2.2: what the buffer needs";
    receive_buffer_bytes = 6 * 1024 * 1024, "ours: large enough not to limit; the RFCs give none";
    hystart = false, "ours: RFC 9406 is optional";
    hystart_ack_delay = false, "ours: of no RFC";
    cubic_idle_shift = false, "ours: RFC 9438 5.8 asks for it; set it where CUBIC flows pause";
    fast_convergence = true, "RFC 9438 4.7, once CUBIC is the congestion control";
    payload_sizing = PayloadSizing::Full, "RFC 5681 3.1: segments of one SMSS";
    payload_min_bytes = 200, "Lee et al. 2017: theta, once `payload_sizing` is set";
    tcprand = TcpRand::DEFAULT, "Lee et al. 2017: (1,1,1,1), once `payload_sizing` is set";
    ecn = false, "ours: RFC 3168 is optional";
    ecn_fallback = true, "RFC 3168 6.1.1.1: may, and so it is safe";
    dctcp_halves_on_loss = true, "RFC 8257 3.5, once DCTCP is the congestion control";
    pacing = Pacing::Off, "ours: the RFCs leave spacing open";
    pacing_granularity_ps = 0, "ours: an ideal timer, once `pacing` is set";
    send_gap_max_ps = 0, "ours: no stack sends at random times; Lee et al. 2017 compare with it";
    small_queue = false, "ours: the RFCs know no queue of the host";
    segmentation_offload = false, "ours: the RFCs know no adapter";
    receive_offload_ps = 0, "ours: the RFCs know no adapter";
}
