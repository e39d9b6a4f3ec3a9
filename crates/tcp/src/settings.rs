//! The settings that distinguish one TCP stack from another, as one flat list.
//!
//! The list is long and flat on purpose: every setting has one name in scenarios and one source in every preset, and
//! can be overridden alone. It is read when a connection is created, never per segment.
//!
//! A preset ([`crate::presets`]) is such a list, and a scenario overrides single fields of it. Names carry their unit
//! as used in a scenario's job: integer picoseconds, or bytes.

mod checks;

use fairport_units::Duration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::congestion::{CongestionControl, Controllers};
use crate::sizing::TcpRand;

pub(crate) use checks::{MSS_MIN, TIMESTAMP_BYTES};

/// What the congestion window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUnit {
    /// Segments, whatever their size: Linux, ns-2.
    Segments,
    /// Bytes of data: the RFCs, ns-3.
    Bytes,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every data segment is acknowledged at once.
    EverySegment,
    /// After every second full segment, or after `delayed_ack_max_ps` (RFC 5681 4.2).
    Delayed,
    /// As in Linux: at once at the start, after duplicates and after long gaps; otherwise delayed.
    QuickAck,
}

/// How the retransmission timeout is computed from the round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtoRule {
    /// `max(SRTT + max(G, 4 RTTVAR), minimum)` (RFC 6298 2).
    Rfc6298,
    /// `SRTT + max(4 mdev, minimum)`; the maximum of the deviation decays once per round trip.
    Linux,
}

/// How long a new segment's payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayloadSizing {
    /// As long as the peer accepts.
    Full,
    /// `TCPRand` with a constant rMin: uniform from `payload_min_bytes` up.
    Static,
    /// `TCPRand` whose rMin follows the window by `tcprand`, not below `payload_min_bytes`.
    Adaptive,
}

/// How the window is reduced to the threshold in fast recovery and after an ECN mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowReduction {
    /// At once, when the reduction begins (RFC 6675).
    AtOnce,
    /// By one segment on every second ACK: Linux up to 3.1.
    RateHalving,
    /// In proportion to the data delivered (RFC 6937): Linux since 3.2.
    Prr,
}

/// How segments are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Segments are sent back to back as the windows allow.
    Off,
    /// The window is spread evenly over the round-trip time (Aggarwal 2000).
    Window,
    /// As in Linux: at 200 % of that rate in the first half of slow start, at 120 % later.
    Linux,
}

/// All settings of an endpoint.
// More than 15 fields: a flat list, in which each setting has one name and can be overridden alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Congestion control algorithm.
    pub congestion_control: CongestionControl,
    /// Largest payload in bytes, before options: the 12 bytes of timestamps are taken out of it.
    pub mss_bytes: u16,
    /// Bytes of IP and TCP header in every segment; 0: real headers, with the options counted.
    pub fixed_header_bytes: u8,
    /// Initial congestion window, in segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// What the congestion window counts.
    pub window_unit: WindowUnit,
    /// Offer and use selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Offer and send timestamps (RFC 7323).
    pub timestamps: bool,
    /// Drop a segment as an old duplicate if its timestamp is older than that of the last segment in order (RFC 7323
    /// 5). Needs timestamps.
    pub paws: bool,
    /// Answer an acknowledgement of data that was not sent (RFC 9293 3.10.7.4); off: drop it silently, as most Linux
    /// kernels do.
    pub answers_invalid_acks: bool,
    /// When the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Linux's smallest estimate of the gap between segments (`TCP_ATO_MIN`), and the first delay under `quick-ack`.
    pub delayed_ack_min_ps: Duration,
    /// The longest delay of an acknowledgement.
    pub delayed_ack_max_ps: Duration,
    /// Under `quick-ack`, delay no acknowledgement for as long as `rto_min_ps`, which the peer is assumed to have as
    /// well (Linux's `tcp_delack_max` since 6.7).
    pub delayed_ack_below_rto_min: bool,
    /// Under `quick-ack`, data out of order makes the next ACKs quick as well (Linux up to 4.17).
    pub quick_acks_after_gap: bool,
    /// Under `quick-ack`, every gap longer than the receiver's timeout makes the next ACKs quick; off: only a gap that
    /// is also longer than the estimated gap does (Linux).
    pub quick_acks_within_estimate: bool,
    /// Under `quick-ack`, only a segment that acknowledges newly arrived data uses up a quick ACK (Linux since 6.6);
    /// off: every segment does.
    pub quick_acks_for_data_only: bool,
    /// With SACK and without `quick_acks_after_gap`: how many ACKs of out-of-order data may be held back and sent as
    /// one. Three ACKs are sent at once before that. The delay is a twentieth of the round-trip time plus 0.1 ms
    /// (`tcp_comp_sack_nr`, Linux since 4.18). 0: none is held back.
    pub sack_compression: u8,
    /// Rule of the retransmission timeout.
    pub rto_rule: RtoRule,
    /// Minimum of the timeout (`rfc6298`) or of its deviation term (`linux`).
    pub rto_min_ps: Duration,
    /// Maximum of the timeout, with backoff (RFC 6298 2.5).
    pub rto_max_ps: Duration,
    /// Timeout before the first measurement (RFC 6298 2.1), and so of the first SYN.
    pub rto_initial_ps: Duration,
    /// Timeouts of a SYN before the timeout begins to double; 0: it doubles at once (RFC 6298 5.5).
    pub syn_linear_timeouts: u32,
    /// A timeout that was doubled for the SYN stays doubled until a round-trip time is measured (Karn); off: data
    /// starts with 3 s (RFC 6298 5.7).
    pub syn_backoff_lasts: bool,
    /// If a timeout of its SYN or SYN-ACK showed a loss, and it was sent again this often, an endpoint starts with one
    /// segment instead of the initial window (RFC 5681 3.1: 1); 0: never.
    pub syn_timeouts_to_one_segment: u32,
    /// Restart the retransmission timer when the first outstanding segment is sent again (Linux); off: the timer
    /// continues (RFC 6298 5).
    pub rto_restarts_on_retransmit: bool,
    /// An acknowledgement of new data ends the backoff of the timeout (ns-3); off: the backoff lasts until there is a
    /// new round-trip time (RFC 6298 5.7, Karn).
    pub ack_ends_backoff: bool,
    /// One tick of the clock: G in RFC 6298, and the unit of the timestamps option.
    pub clock_granularity_ps: Duration,
    /// Tick of the clock that measures round-trip times. A round-trip time is the difference of two readings, and at
    /// least one tick (Linux before 3.15: 1/HZ). The minimum of the RTO is in whole ticks as well. 0: times are exact.
    /// Congestion control always sees exact times.
    pub rtt_tick_ps: Duration,
    /// Newly SACKed data also gives a round-trip time. It restarts the retransmission timer if that time is longer than
    /// the first segment has been outstanding (Linux since 3.12).
    pub sack_rtt: bool,
    /// One tick of the timers, including the delayed-ACK timer (Linux: 1/HZ); 0: they are exact. Timers wait for whole
    /// ticks, counted from the last tick, and fire at the next one after that; beyond 62 ticks the steps are coarser
    /// (Linux since 4.8). The retransmission timeout is a whole number of ticks before it is doubled. CUBIC's growth and
    /// BBR's probe of the round-trip time go by ticks, too.
    pub clock_tick_ps: Duration,
    /// Added to the timers of tail loss probes and of late segments, as in the kernel (`TCP_TIMEOUT_MIN_US`).
    pub timer_slack_ps: Duration,
    /// Find losses by time instead of by three duplicates (RACK, RFC 8985). Without SACK, RACK, forward acknowledgement
    /// and tail loss probes are off, and so is F-RTO unless `duplicate_acks_deliver` is set.
    pub rack: bool,
    /// Without `rack`: every segment three or more below the highest SACKed one is lost, whether those in between were
    /// SACKed or not, and so is a retransmission that later data overtook. Off once a segment arrives late (forward
    /// acknowledgement, Mathis and Mahdavi 1996; Linux up to 4.14).
    pub fack: bool,
    /// Probe the tail of a flight after two round trips (RFC 8985 7).
    pub tail_loss_probe: bool,
    /// How the window is reduced in fast recovery. Without SACK it falls at once, unless `duplicate_acks_deliver` is
    /// set, because the other two depend on how much each ACK delivers.
    pub window_reduction: WindowReduction,
    /// Report data that arrived twice, in the first SACK block (RFC 2883).
    pub dsack: bool,
    /// Undo a reduction of the window that duplicate SACKs or timestamps show to have been spurious
    /// (RFC 3708, 4015); without SACK, timestamps alone.
    pub undo: bool,
    /// Detect after a timeout whether it was spurious (F-RTO, RFC 5682).
    pub frto: bool,
    /// Send new data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Fast retransmit after fewer than three duplicates if a flight has fewer than four segments and no new data can
    /// follow (RFC 5827; Linux 3.5 to 4.12). RACK needs no such rule.
    pub early_retransmit: bool,
    /// A short segment that is sent again takes the segments after it along, as many as fit into one, SACKed ones not
    /// (Linux's `tcp_retrans_collapse`). Not with `payload_sizing`.
    pub joins_retransmissions: bool,
    /// Delay a short segment while data is unacknowledged (RFC 896).
    pub nagle: bool,
    /// Under `nagle`, delay a short segment only while an earlier short segment is unacknowledged (Minshall et al.
    /// 2000). The end of data that was written at once then does not wait.
    pub minshall: bool,
    /// Grow the window by the data acknowledged (RFC 3465); off: by the number of acknowledgements, as in Linux before
    /// 3.13 and in ns-2.
    pub abc: bool,
    /// Under `abc`, the most segments by which one acknowledgement grows the window in slow start (RFC 3465 2.2: 2;
    /// after a timeout 1, 2.3); 0: no limit, as in Linux.
    pub abc_limit_segments: u32,
    /// Without SACK, take a duplicate acknowledgement for a SACK of one segment, which does not count again when it is
    /// acknowledged (Linux's `tcp_add_reno_sack`). Recovery, PRR and `abc` use this count.
    pub duplicate_acks_deliver: bool,
    /// The congestion window counts as used for a whole window of data if it was full at any time in it, and in slow
    /// start also if more than half of it was outstanding (Linux's `tcp_is_cwnd_limited` since 3.16); off: only if it
    /// was full when the sender last stopped.
    pub window_use_by_round: bool,
    /// Halve the window for each timeout in which nothing was sent, down to the initial window, and lower a window that
    /// was not used for that long (RFC 2861, as in Linux).
    pub slow_start_after_idle: bool,
    /// Window scale that is offered, in bits, at most 14 (RFC 7323 2.3).
    pub window_scale: u8,
    /// Size of the receive buffer in bytes, and the window that it advertises.
    pub receive_buffer_bytes: u64,
    /// Leave slow start when the delay grows or a train of ACKs is long (CUBIC only).
    pub hystart: bool,
    /// HyStart adds to the limit of an ACK train the time of four bursts of 64 KB at the pacing rate, at most 1 ms, and
    /// does not halve the limit if segments are paced (Linux since 5.6); CUBIC only.
    pub hystart_ack_delay: bool,
    /// CUBIC's clock stops while nothing is outstanding (RFC 9438 5.8; Linux since 4.3).
    pub cubic_idle_shift: bool,
    /// Aim below the last maximum if a loss occurs before the window has reached it again (BIC and CUBIC).
    pub fast_convergence: bool,
    /// How long a new segment's payload is.
    pub payload_sizing: PayloadSizing,
    /// Smallest payload drawn, in bytes: rMin of `static`, theta of `adaptive`.
    pub payload_min_bytes: u32,
    /// Parameters of `adaptive`.
    pub tcprand: TcpRand,
    /// Offer and accept explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// A SYN that is sent again does not offer ECN, in case the first was dropped for its offer (RFC 3168 6.1.1.1;
    /// Linux since 4.2).
    pub ecn_fallback: bool,
    /// DCTCP halves its window on a loss, as in Linux since 5.1; off: the window falls by alpha/2.
    pub dctcp_halves_on_loss: bool,
    /// How segments are spaced.
    pub pacing: Pacing,
    /// Tick of the timer that releases paced segments; 0: it is exact.
    pub pacing_granularity_ps: Duration,
    /// Largest random gap after a data segment, in addition to pacing; 0: none.
    pub send_gap_max_ps: Duration,
    /// Limits the data of one flow in its own host's queue to two segments, or to 1/1024 s at Linux's pacing rate if
    /// that is more (TCP small queues, Linux since 3.6).
    pub small_queue: bool,
    /// A full queue of the host's adapter makes the sender wait (Linux): a segment that does not fit stays unsent and
    /// is not lost, and the window is reduced, at most once per window of data; off: the segment is sent and dropped
    /// there.
    pub host_queue_pushback: bool,
    /// Hand the host bursts of up to 64 KB, which its adapter cuts into segments (TSO). ACKs then release bursts, and a
    /// burst costs the host's processor as much as a segment.
    pub segmentation_offload: bool,
    /// Segments that arrive in order within this time after the first are merged, up to 64 KB, and acknowledged as one
    /// (GRO); 0: none are merged.
    pub receive_offload_ps: Duration,
}

impl Settings {
    /// These settings with some fields replaced. The result is validated.
    ///
    /// # Errors
    /// If a field is unknown, a value has the wrong type, or [`Settings::validate`] refuses a value.
    pub fn with(&self, overrides: &Map<String, Value>) -> Result<Self, SettingError> {
        self.with_controllers(overrides, &Controllers::default())
    }

    /// [`Settings::with`], where `controllers` may provide the congestion control.
    ///
    /// # Errors
    /// The same as [`Settings::with`].
    pub fn with_controllers(
        &self,
        overrides: &Map<String, Value>,
        controllers: &Controllers,
    ) -> Result<Self, SettingError> {
        let mut settings = self.clone();
        for (field, value) in overrides {
            settings = settings.with_one(field, value)?;
        }
        settings.congestion_control.bind(controllers);
        settings.validate().map_err(|mut error| {
            let known: Vec<&str> = controllers.names().collect();
            if error.value.starts_with("custom:") && !known.is_empty() {
                error.remedy = format!("use one of those that are: {}", known.join(", "));
            }
            error
        })?;
        Ok(settings)
    }

    fn with_one(&self, field: &str, value: &Value) -> Result<Self, SettingError> {
        let shown = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let Ok(Value::Object(mut all)) = serde_json::to_value(self) else {
            unreachable!("settings are a struct")
        };
        let Some(slot) = all.get_mut(field) else {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            return Err(SettingError::new(
                field,
                &shown,
                "there is no such setting",
                format!("use one of {}", known.join(", ")),
            ));
        };
        let before = std::mem::replace(slot, value.clone());
        serde_json::from_value(Value::Object(all)).map_err(|error| {
            SettingError::new(
                field,
                &shown,
                &format!("it cannot be read: {error}"),
                format!("write something like `{before}`"),
            )
        })
    }
}

/// A setting that is refused: its name, its value, what is wrong with it, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` = `{value}`: {problem}; {remedy}")]
pub struct SettingError {
    /// Name of the field.
    pub field: String,
    /// The value, as written in the settings.
    pub value: String,
    /// What is wrong with the value. It is printed after the value: "is not a possible segment size".
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl SettingError {
    pub(crate) fn new(
        field: &str,
        value: &impl ToString,
        problem: &str,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            field: field.to_owned(),
            value: value.to_string(),
            problem: problem.to_owned(),
            remedy: remedy.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn overridden(overrides: Value) -> Result<Settings, SettingError> {
        let Value::Object(overrides) = overrides else {
            panic!("an object")
        };
        Settings::preset("linux-2.6").unwrap().with(&overrides)
    }

    #[test]
    fn every_preset_is_valid_and_survives_json() {
        for name in Settings::PRESETS {
            let settings = Settings::preset(name).unwrap();
            assert_eq!(settings.validate(), Ok(()), "{name}");
            let json = serde_json::to_string(&settings).unwrap();
            assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
        }
        assert_eq!(Settings::preset("plan9"), None);
    }

    #[test]
    fn an_override_replaces_one_setting_and_leaves_the_rest() {
        let settings = overridden(json!({"rto_min_ps": 2_000_000_000_u64})).unwrap();
        assert_eq!(settings.rto_min_ps, Duration::from_ms(2));
        assert_eq!(settings.congestion_control, CongestionControl::Bic);
    }

    #[test]
    fn an_unknown_setting_is_refused_by_name_with_the_known_ones() {
        let error = overridden(json!({"rto_mn_ps": 1})).unwrap_err();
        assert_eq!(error.field, "rto_mn_ps");
        assert!(error.remedy.contains("rto_min_ps"));
    }
}
