//! Where a port is, as far as the forwarding of a packet must know it.

use crate::network::PortLocation;
use crate::topology::NodeId;

/// The part of a port's [`PortLocation`] that each hop needs. It is kept in the port, so that a hop does not
/// read another cache line from the fabric.
pub(crate) struct Location {
    /// the node at the far end of its link
    pub(crate) far_node: NodeId,
    /// the number of the port at the far end, among the ports of its node
    pub(crate) far_number: u16,
    /// its own number at its node
    pub(crate) number: u16,
    /// the index of the first of this output port's counts by ingress port
    pub(crate) ingress_base: u32,
}

impl Location {
    pub(crate) fn new(place: &PortLocation, ingress_base: u32) -> Self {
        Self {
            far_node: place.far_node,
            far_number: place.far_number,
            number: place.number,
            ingress_base,
        }
    }
}
