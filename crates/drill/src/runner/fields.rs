//! The fields of Linux's `struct tcp_info` that the state machines can supply, by name.

use fairport_units::{Duration, Instant};

use super::endpoint::Endpoint;

/// `TCP_INFINITE_SSTHRESH`
const SSTHRESH_INFINITE: u64 = 0x7fff_ffff;

/// The sources of the fields' values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) endpoint: Option<&'a Endpoint>,
    pub(super) now: Instant,
    /// MSS that the stack's SYN announced, in bytes
    pub(super) mss: u16,
}

impl Fields<'_> {
    /// The value of a field, or None if it is not supported. Counts are in segments and times in microseconds, as in
    /// Linux.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        let endpoint = self.endpoint?;
        let info = endpoint.connection.info();
        let us = |time: Duration| time.as_ps() / 1_000_000;
        let value = match name {
            "tcpi_ca_state" => info.ca_state as u64,
            "tcpi_snd_cwnd" => info.snd_cwnd,
            "tcpi_snd_ssthresh" => info.snd_ssthresh.unwrap_or(SSTHRESH_INFINITE),
            "tcpi_snd_mss" => u64::from(info.snd_mss),
            "tcpi_advmss" => u64::from(self.mss),
            "tcpi_unacked" => info.unacked,
            "tcpi_sacked" => info.sacked,
            "tcpi_lost" => info.lost,
            "tcpi_retrans" => info.retrans,
            "tcpi_reordering" => info.reordering,
            "tcpi_reord_seen" => info.reord_seen,
            "tcpi_delivered" => info.delivered,
            "tcpi_delivered_ce" => info.delivered_ce,
            "tcpi_min_rtt" => us(info.min_rtt.unwrap_or(Duration::ZERO)),
            "tcpi_total_retrans" => info.total_retrans,
            "tcpi_backoff" => u64::from(info.backoff),
            "tcpi_rto" => us(info.rto),
            "tcpi_rtt" => us(info.rtt.unwrap_or(Duration::ZERO)),
            "tcpi_busy_time" => us(endpoint.chronograph.busy(self.now)),
            "tcpi_rwnd_limited" => us(endpoint.chronograph.window_limited(self.now)),
            // this field is in milliseconds
            "tcpi_last_data_recv" => us(self.now.saturating_sub(endpoint.last_data)) / 1000,
            _ => return None,
        };
        Some(value as f64)
    }
}
