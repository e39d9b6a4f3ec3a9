//! ns-3.44: `TcpSocketBase` with its default attributes, but for sizes that every experiment sets.

use fairport_units::Time;

use super::preset;
use crate::congestion::CongestionControl;
use crate::settings::{AckPolicy, Pacing, PayloadSizing, RtoRule, WindowReduction, WindowUnit};
use crate::sizing::TcpRand;

preset! {
    "ns3", "ns-3.44: TcpSocketBase with its default attributes, with CUBIC.";
    congestion_control = CongestionControl::Cubic, "src/internet/model/tcp-l4-protocol.cc, SocketType";
    mss_bytes = 1460, "ours: Ethernet's 1500 B less 40 B; src/internet/model/tcp-socket.cc has SegmentSize 536";
    fixed_header_bytes = 0, "ours: headers are real, counted with their options";
    initial_window_segments = 10, "src/internet/model/tcp-socket.cc, InitialCwnd";
    window_unit = WindowUnit::Bytes, "src/internet/model/tcp-socket-state.h, m_cWnd counts octets";
    sack = true, "src/internet/model/tcp-socket-base.cc, Sack";
    timestamps = true, "src/internet/model/tcp-socket-base.cc, Timestamp";
    paws = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    answers_invalid_acks = true, "ours: as in the RFC; src/internet/model/tcp-socket-base.cc, ReceivedAck ignores them";
    ack_policy = AckPolicy::Delayed, "src/internet/model/tcp-socket.cc, DelAckCount 2";
    delayed_ack_min_ps = Time::from_ms(200).as_ps(), "src/internet/model/tcp-socket.cc, DelAckTimeout";
    delayed_ack_max_ps = Time::from_ms(200).as_ps(), "src/internet/model/tcp-socket.cc, DelAckTimeout";
    rto_rule = RtoRule::Rfc6298, "src/internet/model/tcp-socket-base.cc, EstimateRtt";
    rto_min_ps = Time::from_secs(1).as_ps(), "src/internet/model/tcp-socket-base.cc, MinRto";
    rto_max_ps = Time::from_secs(60).as_ps(), "src/internet/model/tcp-socket-base.cc, ReTxTimeout";
    rto_initial_ps = Time::from_secs(3).as_ps(), "src/internet/model/tcp-socket.cc, ConnTimeout";
    syn_linear_timeouts = 0, "src/internet/model/tcp-socket-base.cc, SendEmptyPacket: m_cnTimeout doubles at once";
    syn_backoff_lasts = false, "src/internet/model/tcp-socket-base.cc, SendEmptyPacket: a timeout of its own for the SYN";
    clock_granularity_ps = Time::from_ms(1).as_ps(), "src/internet/model/tcp-socket-base.cc, ClockGranularity; tcp-option-ts.cc counts milliseconds";
    rtt_tick_ps = Time::from_ms(1).as_ps(), "src/internet/model/tcp-socket-base.cc, CalculateRttSample: by timestamps of 1 ms; where those show no difference it takes 1 us, we a tick";
    clock_tick_ps = 0, "src/internet/model/tcp-socket-base.cc, NewAck: an event at the exact time";
    timer_slack_ps = 0, "ours: what it belongs to, RACK and tail loss probes, is off";
    rack = false, "src/internet/model/tcp-tx-buffer.cc, IsLost: by three SACKed segments";
    fack = false, "ours: ns-3 has no such recovery";
    tail_loss_probe = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    window_reduction = WindowReduction::Prr, "src/internet/model/tcp-l4-protocol.cc, RecoveryType";
    dsack = false, "src/internet/model/tcp-rx-buffer.cc, GetSackList: data out of order only";
    undo = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    frto = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    limited_transmit = true, "src/internet/model/tcp-socket-base.cc, LimitedTransmit";
    early_retransmit = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    nagle = false, "src/internet/model/tcp-socket.cc, TcpNoDelay true";
    minshall = false, "ours: nothing is held back";
    abc = true, "src/internet/model/tcp-cubic.cc, IncreaseWindow: by segments acknowledged; TcpNewReno goes by ACKs: set it false there";
    abc_limit_segments = 0, "src/internet/model/tcp-cubic.cc, IncreaseWindow: without a limit";
    window_use_by_round = false, "src/internet/model/tcp-cubic.cc, IncreaseWindow asks m_isCwndLimited";
    slow_start_after_idle = false, "src/internet/model/tcp-socket-base.cc, TcpSocketBase has none";
    window_scale = 7, "src/internet/model/tcp-socket-base.cc, CalculateWScale: what the buffer needs";
    receive_buffer_bytes = 6 * 1024 * 1024, "ours: src/internet/model/tcp-socket.cc has RcvBufSize 128 KB, and every experiment raises it";
    hystart = true, "src/internet/model/tcp-cubic.cc, HyStart";
    hystart_ack_delay = false, "src/internet/model/tcp-cubic.cc, HystartUpdate has none";
    cubic_idle_shift = false, "src/internet/model/tcp-cubic.cc, TcpCubic has none";
    fast_convergence = true, "src/internet/model/tcp-cubic.cc, FastConvergence";
    payload_sizing = PayloadSizing::Full, "src/internet/model/tcp-socket-base.cc, SendPendingData: segments of SegmentSize";
    payload_min_bytes = 200, "Lee et al. 2017: theta, once `payload_sizing` is set";
    tcprand = TcpRand::DEFAULT, "Lee et al. 2017: (1,1,1,1), once `payload_sizing` is set";
    ecn = false, "src/internet/model/tcp-socket-base.cc, UseEcn Off";
    ecn_fallback = false, "src/internet/model/tcp-socket-base.cc, SendEmptyPacket: again with the same flags";
    dctcp_halves_on_loss = false, "src/internet/model/tcp-dctcp.cc, GetSsThresh: by alpha/2, for marks and losses alike";
    pacing = Pacing::Off, "src/internet/model/tcp-socket-state.cc, EnablePacing false";
    pacing_granularity_ps = 0, "src/internet/model/tcp-socket-base.cc, m_pacingTimer is exact, once `pacing` is set";
    send_gap_max_ps = 0, "ours: no stack sends at random times; Lee et al. 2017 compare with it";
    small_queue = false, "src/internet/model/tcp-socket-base.cc, SendPendingData: none";
    segmentation_offload = false, "src/internet/model/tcp-socket-base.cc, SendPendingData: none";
    receive_offload_ps = 0, "src/internet/model/tcp-socket-base.cc, ReceivedData: none";
}
