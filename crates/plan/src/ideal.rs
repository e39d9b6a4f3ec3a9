//! A flow's completion time in an empty network, which is the reference for its slowdown.
//!
//! The data is sent at once, in full segments and a last one that may be short. Every hop stores and forwards. Constant
//! delays count, randomly drawn processing times do not. There is no handshake and no slow start. So even a flow alone in
//! the network has a slowdown above 1, which is the cost of TCP itself, and the reference is the same for every stack with
//! the same segments.

use fairport_net::PortId;
use fairport_net::framing::Framing;
use fairport_tcp::Settings;
use fairport_units::{Duration, Rate};

/// Rates and constant delays of the network's ports.
#[derive(Clone, Debug)]
pub(crate) struct EmptyNetwork {
    framing: Framing,
    /// by port: the rate of its link, and the time from the link's end to the next node's decision
    links: Vec<(Rate, Duration)>,
    /// by host number: the time from the application to the NIC
    outputs: Vec<Duration>,
}

impl EmptyNetwork {
    pub(crate) fn new(
        framing: Framing,
        links: Vec<(Rate, Duration)>,
        outputs: Vec<Duration>,
    ) -> Self {
        Self {
            framing,
            links,
            outputs,
        }
    }

    /// Time from the start of a TCP flow to the delivery of its last byte.
    pub(crate) fn completion(
        &self,
        size_bytes: u64,
        sender: u32,
        path: &[PortId],
        stack: &Settings,
    ) -> Duration {
        let stamps = if stack.timestamps { 12 } else { 0 }; // RFC 7323 3.2, padded
        let payload = stack.mss_bytes - stamps;
        let headers = match stack.fixed_header_bytes {
            0 => 40 + stamps, // IPv4 and TCP
            fixed => u16::from(fixed),
        };
        let wire = |payload: u64| {
            let packet = (payload + u64::from(headers)) as u16;
            u64::from(self.framing.wire_bytes(packet))
        };
        let (segments, rest) = (
            size_bytes / u64::from(payload),
            size_bytes % u64::from(payload),
        );
        let (full, others) = (wire(payload.into()), segments.saturating_sub(1));
        let mut slowest = Rate::from_bps(u64::MAX);
        let (mut delays, mut first_done) = (self.outputs[sender as usize], Duration::ZERO);
        // when a link has sent everything, were there no delays
        let mut done = Duration::ZERO;
        for port in path {
            let (rate, latency) = self.links[port.0 as usize];
            slowest = slowest.min(rate);
            delays += latency;
            if segments > 0 {
                first_done += rate.time_of(full);
                let full_done = first_done + slowest.time_of(full.saturating_mul(others));
                done = done.max(full_done);
            }
            if rest > 0 {
                // the last segment is short: after the slowest link it goes on faster than a full one
                done += rate.time_of(wire(rest));
            }
        }
        delays + done
    }
}
