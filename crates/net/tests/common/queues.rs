//! The disciplines under test, with usual settings or with drawn ones.

use fairport_net::limit::Limit;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{FULL_FRAME, LIMIT_PACKETS};

/// Settings of the disciplines. Each discipline takes those that it knows.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// at least two packets, so that half of it has room for one
    pub(crate) limit: Limit,
    pub(crate) count_in_service: bool,
    /// thresholds, in packets
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) max_p_ppb: u32,
    pub(crate) weight_ppb: u32,
    pub(crate) gentle: bool,
    pub(crate) ecn: bool,
    pub(crate) mean_packet_bytes: u32,
    pub(crate) target_us: u64,
    /// `CoDel`'s; PIE's time between two updates
    pub(crate) interval_us: u64,
    pub(crate) max_burst_us: u64,
    /// time between two changes of a hash; 0 for never
    pub(crate) perturb_us: u64,
    pub(crate) quantum_bytes: u32,
    /// number of buckets or queues
    pub(crate) queues: u32,
    /// most packets of a queue
    pub(crate) depth: u32,
    /// most queues with packets
    pub(crate) flows: u32,
    pub(crate) alpha: f64,
}

impl Settings {
    /// Settings with which each discipline does what it is for.
    pub(crate) const USUAL: Self = Self {
        limit: Limit::Packets(LIMIT_PACKETS),
        count_in_service: false,
        min: 2,
        max: 6,
        max_p_ppb: 200_000_000,
        weight_ppb: 200_000_000,
        gentle: true,
        ecn: true,
        mean_packet_bytes: 1500,
        target_us: 20,
        interval_us: 100,
        max_burst_us: 0,
        perturb_us: 300,
        quantum_bytes: 700,
        queues: 16,
        depth: 8,
        flows: 8,
        alpha: 1.0,
    };

    /// Any settings with a limit of at most [`LIMIT_PACKETS`] full frames.
    pub(crate) fn any() -> impl Strategy<Value = Self> {
        let limit = prop_oneof![
            (2..=LIMIT_PACKETS).prop_map(Limit::Packets),
            (2 * FULL_FRAME..=LIMIT_PACKETS * FULL_FRAME).prop_map(Limit::Bytes),
        ];
        let ppb = || 1_000_000..=1_000_000_000_u32;
        let early = (0..8_u32, 1..8_u32, ppb(), ppb(), 40..2000_u32);
        let turns = (64..4000_u32, 1..20_u32, 1..14_u32, 1..14_u32, -7..=3_i32);
        let times = (1..500_u64, 1..500_u64, 0..500_u64, 0..500_u64);
        let flags = any::<[bool; 3]>();
        (limit, early, turns, times, flags).prop_map(|(limit, early, turns, times, flags)| Self {
            limit,
            count_in_service: flags[0],
            min: early.0,
            max: early.0 + early.1,
            max_p_ppb: early.2,
            weight_ppb: early.3,
            gentle: flags[1],
            ecn: flags[2],
            mean_packet_bytes: early.4,
            target_us: times.0,
            interval_us: times.1,
            max_burst_us: times.2,
            perturb_us: times.3,
            quantum_bytes: turns.0,
            queues: turns.1,
            depth: turns.2,
            flows: turns.3,
            alpha: 2_f64.powi(turns.4),
        })
    }

    /// A threshold in the unit of the limit.
    fn threshold(&self, packets: u32) -> Limit {
        match self.limit {
            Limit::Packets(_) => Limit::Packets(packets),
            Limit::Bytes(_) => Limit::Bytes(packets * FULL_FRAME),
        }
    }

    /// The disciplines that serve first in, first out.
    pub(crate) fn fifos(&self) -> Vec<Value> {
        let Self {
            max_p_ppb,
            weight_ppb,
            gentle,
            ecn,
            mean_packet_bytes,
            ..
        } = *self;
        let [min, max, twice] = [self.min, self.max, 2 * self.max].map(|it| self.threshold(it));
        let red = |variant| {
            json!({
                "kind": "red", "variant": variant, "min": min, "max": max, "max_p_ppb": max_p_ppb,
                "weight_ppb": weight_ppb, "gentle": gentle, "ecn": ecn,
                "mean_packet_bytes": mean_packet_bytes,
            })
        };
        let mut queues = vec![
            json!({"kind": "drop-tail"}),
            json!({"kind": "step-marking", "mark_above": min}),
            red("ns2"),
            red("floyd-jacobson"),
            json!({
                "kind": "red-linux", "min_bytes": self.min * FULL_FRAME,
                "max_bytes": self.max * FULL_FRAME, "max_p_ppb": max_p_ppb,
                "weight_ppb": weight_ppb, "ecn": ecn, "mean_packet_bytes": mean_packet_bytes,
            }),
            json!({
                "kind": "rio", "short_min": max, "short_max": twice, "short_max_p_ppb": max_p_ppb,
                "long_min": min, "long_max": max, "long_max_p_ppb": max_p_ppb,
                "weight_ppb": weight_ppb, "gentle": gentle, "ecn": ecn,
                "mean_packet_bytes": mean_packet_bytes,
            }),
            json!({
                "kind": "rio-ps",
                "short_min_ppb": 300_000_000, "short_max_ppb": 700_000_000,
                "short_max_p_ppb": max_p_ppb, "long_min_ppb": 200_000_000,
                "long_max_ppb": 500_000_000, "long_max_p_ppb": max_p_ppb,
                "weight_ppb": weight_ppb, "gentle": gentle, "ecn": ecn,
                "mean_packet_bytes": mean_packet_bytes,
            }),
            json!({
                "kind": "pie", "target_ps": self.target_us * 1_000_000,
                "update_ps": self.interval_us * 1_000_000,
                "max_burst_ps": self.max_burst_us * 1_000_000,
                "mean_packet_bytes": mean_packet_bytes, "ecn": ecn,
            }),
            json!({
                "kind": "weighted-tail-drop",
                "thresholds_ppb": [500_000_000, 750_000_000, 1_000_000_000],
            }),
        ];
        for queue in &mut queues {
            queue["limit"] = json!(self.limit);
            queue["count_in_service"] = self.count_in_service.into();
        }
        queues
    }

    /// The disciplines that decide at dequeue.
    pub(crate) fn schedulers(&self) -> Vec<Value> {
        let (limit, quantum_bytes) = (self.limit, self.quantum_bytes);
        let (limit_packets, memory_bytes) = match limit {
            Limit::Packets(packets) => (packets, packets * FULL_FRAME),
            Limit::Bytes(bytes) => (bytes / FULL_FRAME, bytes),
        };
        let mut controlled = json!({
            "kind": "codel", "limit": limit, "target_ps": self.target_us * 1_000_000,
            "interval_ps": self.interval_us * 1_000_000, "ecn": self.ecn,
        });
        let codel = controlled.clone();
        controlled["kind"] = "fq-codel".into();
        controlled["queues"] = self.queues.into();
        controlled["quantum_bytes"] = quantum_bytes.into();
        vec![
            json!({
                "kind": "sfq", "limit_packets": limit_packets, "buckets": self.queues, "seed": 1,
                "placed": [["h1"]],
            }),
            json!({
                "kind": "linux-sfq", "limit_packets": limit_packets, "depth_packets": self.depth,
                "divisor": self.queues, "flows": self.flows, "quantum_bytes": quantum_bytes,
                "perturb_ps": self.perturb_us * 1_000_000,
            }),
            json!({"kind": "drr", "limit": limit, "quantum_bytes": quantum_bytes}),
            json!({"kind": "port-fair", "limit": limit}),
            codel,
            controlled,
            // each of its two queues has half of the limit
            json!({"kind": "strict-priority", "limit": limit.share(500_000_000)}),
            json!({"kind": "shared-buffer", "memory_bytes": memory_bytes, "alpha": self.alpha}),
        ]
    }
}
