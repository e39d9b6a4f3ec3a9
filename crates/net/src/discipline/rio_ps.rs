//! RIO-PS: RIO with preferential treatment of short flows. Its thresholds are shares of the buffer (Guo & Matta, "The
//! War Between Mice and Elephants", ICNP 2001).

use serde::{Deserialize, Serialize};

use super::{Rio, rio};
use crate::BuildError;
use crate::context::PortContext;
use crate::limit::Limit;

/// A RIO-PS queue, in the plan of a run. Fields that end in `_ppb` are in parts of 10^9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// average of short flows' packets, as a share of `limit`, below which none of them is dropped
    /// early
    pub short_min_ppb: u32,
    /// average of short flows' packets, as a share of `limit`, at which the probability is
    /// `short_max_p_ppb`
    pub short_max_ppb: u32,
    /// probability at `short_max_ppb`
    pub short_max_p_ppb: u32,
    /// average of all packets, as a share of `limit`, below which no packet of other flows is dropped early
    pub long_min_ppb: u32,
    /// average of all packets, as a share of `limit`, at which the probability for other flows is `long_max_p_ppb`
    pub long_max_ppb: u32,
    /// probability at `long_max_ppb`
    pub long_max_p_ppb: u32,
    /// weight of a new sample in the averages
    pub weight_ppb: u32,
    /// whether the probabilities rise to 1 between `max` and twice `max` instead of jumping there
    pub gentle: bool,
    /// mark ECN-capable packets instead of dropping them early
    pub ecn: bool,
    /// typical size of a packet; it determines how fast the averages of an idle queue fall
    pub mean_packet_bytes: u32,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<Rio, BuildError> {
        let limit = port.limit(self.limit);
        let rio = rio::Config {
            limit,
            count_in_service: self.count_in_service,
            short_min: limit.share(self.short_min_ppb),
            short_max: limit.share(self.short_max_ppb),
            short_max_p_ppb: self.short_max_p_ppb,
            long_min: limit.share(self.long_min_ppb),
            long_max: limit.share(self.long_max_ppb),
            long_max_p_ppb: self.long_max_p_ppb,
            weight_ppb: self.weight_ppb,
            gentle: self.gentle,
            ecn: self.ecn,
            mean_packet_bytes: self.mean_packet_bytes,
        };
        rio.build(port)
    }
}
