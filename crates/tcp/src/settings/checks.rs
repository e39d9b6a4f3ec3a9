//! Checks of the settings: each value, and which values go together.

use fairport_units::Duration;

use crate::congestion::CongestionControl;
use crate::settings::{Pacing, SettingError, Settings};
use crate::sizing;

/// Bytes that the timestamps option takes out of every segment (RFC 7323 appendix A).
pub(crate) const TIMESTAMP_BYTES: u16 = 12;

/// Largest TCP payload of an IPv4 packet without options: 65535 - 20 - 20.
const MSS_MAX: u16 = 65_495;

/// Smallest segment that a host must be able to send with all options in place. RFC 6691 derives 536 in the same way;
/// smaller segments serve experiments with slow links.
pub(crate) const MSS_MIN: u16 = 64;

/// Largest window scale (RFC 7323 2.3).
const MOST_SCALE: u8 = 14;

/// Longest gap between segments; a larger value is a mistake in units.
const PACING_LIMIT: Duration = Duration::from_secs(1);

/// Longest timeout, one hour; a larger value is a mistake in units.
const RTO_LIMIT: Duration = Duration::from_secs(3600);

impl Settings {
    /// Checks every value, and the combinations of values.
    ///
    /// # Errors
    /// Returns the first setting that is not valid.
    pub fn validate(&self) -> Result<(), SettingError> {
        if !(MSS_MIN..=MSS_MAX).contains(&self.mss_bytes) {
            return Err(SettingError::new(
                "mss_bytes",
                &self.mss_bytes,
                "is not a possible segment size",
                format!("use {MSS_MIN} to {MSS_MAX} bytes"),
            ));
        }
        if self.initial_window_segments == 0 {
            return Err(SettingError::new(
                "initial_window_segments",
                &self.initial_window_segments,
                "is a window that never opens",
                "use 1 or more; RFC 6928 says 10",
            ));
        }
        if self.window_scale > MOST_SCALE {
            return Err(SettingError::new(
                "window_scale",
                &self.window_scale,
                &format!("is more than the {MOST_SCALE} bits that RFC 7323 allows"),
                format!("use 0 to {MOST_SCALE}"),
            ));
        }
        self.validate_control()?;
        self.validate_buffer()?;
        self.validate_timers()?;
        self.validate_pacing()?;
        sizing::validate(self)
    }

    fn validate_control(&self) -> Result<(), SettingError> {
        match &self.congestion_control {
            CongestionControl::Custom(it) if !it.is_bound() => Err(SettingError::new(
                "congestion_control",
                &format!("custom:{}", it.name()),
                "is a custom congestion control that is not registered",
                format!(
                    "register it, or use one of {}",
                    CongestionControl::NAMES.join(", ")
                ),
            )),
            _ => Ok(()),
        }
    }

    fn validate_pacing(&self) -> Result<(), SettingError> {
        if self.congestion_control == CongestionControl::Bbr && self.pacing == Pacing::Window {
            return Err(SettingError::new(
                "pacing",
                &"window",
                "cannot be used with BBR, which paces at its own estimate of the bandwidth",
                "leave pacing `off` or `linux`, or use another congestion_control",
            ));
        }
        for (field, value) in [
            ("pacing_granularity_ps", self.pacing_granularity_ps),
            ("send_gap_max_ps", self.send_gap_max_ps),
            ("receive_offload_ps", self.receive_offload_ps),
        ] {
            if value > PACING_LIMIT {
                return Err(SettingError::new(
                    field,
                    &value.as_ps(),
                    "delays segments for longer than a second",
                    "use at most one second",
                ));
            }
        }
        Ok(())
    }

    fn validate_buffer(&self) -> Result<(), SettingError> {
        let largest = u64::from(u16::MAX) << self.window_scale;
        let at_most = u64::from(u16::MAX) << MOST_SCALE;
        if self.receive_buffer_bytes > largest {
            return Err(SettingError::new(
                "receive_buffer_bytes",
                &self.receive_buffer_bytes,
                &format!(
                    "is more than a window scale of {} bits can announce, {largest} bytes",
                    self.window_scale
                ),
                if self.receive_buffer_bytes > at_most {
                    format!("use at most {at_most} bytes")
                } else {
                    "raise window_scale or use a smaller buffer".to_owned()
                },
            ));
        }
        let smallest = u64::from(self.mss_bytes).max(1 << self.window_scale);
        if self.receive_buffer_bytes < smallest {
            return Err(SettingError::new(
                "receive_buffer_bytes",
                &self.receive_buffer_bytes,
                "is smaller than one segment",
                format!("use at least {smallest} bytes"),
            ));
        }
        Ok(())
    }

    fn validate_timers(&self) -> Result<(), SettingError> {
        let times = [
            ("clock_granularity_ps", self.clock_granularity_ps),
            ("rto_min_ps", self.rto_min_ps),
            ("rto_initial_ps", self.rto_initial_ps),
            ("rto_max_ps", self.rto_max_ps),
            ("delayed_ack_min_ps", self.delayed_ack_min_ps),
            ("delayed_ack_max_ps", self.delayed_ack_max_ps),
        ];
        for (field, value) in times {
            if value == Duration::ZERO || value > RTO_LIMIT {
                return Err(SettingError::new(
                    field,
                    &value.as_ps(),
                    "is not a valid timer interval",
                    "use more than zero and at most one hour",
                ));
            }
        }
        for (field, value) in [
            ("rtt_tick_ps", self.rtt_tick_ps),
            ("clock_tick_ps", self.clock_tick_ps),
            ("timer_slack_ps", self.timer_slack_ps),
        ] {
            if value > RTO_LIMIT {
                return Err(SettingError::new(
                    field,
                    &value.as_ps(),
                    "is coarser than any timer",
                    "use 0 (exact) or a few milliseconds",
                ));
            }
        }
        for (field, value) in [
            ("rto_min_ps", self.rto_min_ps),
            ("rto_initial_ps", self.rto_initial_ps),
        ] {
            if value > self.rto_max_ps {
                return Err(SettingError::new(
                    field,
                    &value.as_ps(),
                    &format!("is above rto_max_ps = {}", self.rto_max_ps.as_ps()),
                    "lower it or raise rto_max_ps",
                ));
            }
        }
        if self.delayed_ack_min_ps > self.delayed_ack_max_ps {
            return Err(SettingError::new(
                "delayed_ack_min_ps",
                &self.delayed_ack_min_ps.as_ps(),
                &format!(
                    "is above delayed_ack_max_ps = {}",
                    self.delayed_ack_max_ps.as_ps()
                ),
                "lower it or raise delayed_ack_max_ps",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::settings::Settings;

    #[test]
    fn values_that_cannot_be_are_refused_by_field() {
        for (overrides, field) in [
            (json!({"congestion_control": "vegas"}), "congestion_control"),
            (
                json!({"congestion_control": "custom:vegas"}),
                "congestion_control",
            ),
            (
                json!({"congestion_control": "bbr", "pacing": "window"}),
                "pacing",
            ),
            (json!({"mss_bytes": 0}), "mss_bytes"),
            (json!({"mss_bytes": 70_000}), "mss_bytes"),
            (json!({"rto_min_ps": 0}), "rto_min_ps"),
            (json!({"window_scale": 15}), "window_scale"),
            (
                json!({"payload_sizing": "static", "payload_min_bytes": 0}),
                "payload_min_bytes",
            ),
            (
                json!({"payload_sizing": "static", "payload_min_bytes": 1461}),
                "payload_min_bytes",
            ),
            (
                json!({"payload_sizing": "adaptive", "tcprand": [0, 1000, null, 0]}),
                "tcprand",
            ),
            (json!({"tcprand": "bold"}), "tcprand"),
            (
                json!({"send_gap_max_ps": 2_000_000_000_000_u64}),
                "send_gap_max_ps",
            ),
            (json!({"receive_buffer_bytes": 100}), "receive_buffer_bytes"),
            (
                json!({"receive_buffer_bytes": 1_u64 << 40}),
                "receive_buffer_bytes",
            ),
            (json!({"rto_min_ps": 200_000_000_000_000_u64}), "rto_min_ps"),
        ] {
            let Value::Object(overrides) = overrides else {
                panic!("an object")
            };
            let preset = Settings::preset("linux-2.6").unwrap();
            assert_eq!(preset.with(&overrides).unwrap_err().field, field);
        }
    }

    #[test]
    fn a_buffer_beyond_every_window_scale_has_a_largest_size() {
        let remedy = |scale: u8, bytes: u64| {
            let mut settings = Settings::preset("linux-6").unwrap();
            (settings.window_scale, settings.receive_buffer_bytes) = (scale, bytes);
            settings.validate().unwrap_err().remedy
        };
        assert!(remedy(7, 1 << 24).starts_with("raise window_scale"));
        assert_eq!(remedy(14, 1 << 40), "use at most 1073725440 bytes");
    }
}
