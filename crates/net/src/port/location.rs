//! Where a port is, as far as a packet on its way must know.

use crate::network::PortLocation;
use crate::topology::NodeId;

/// What a packet needs to know of where its port is: a part of its [`PortLocation`] in the fabric, kept
/// here so that a hop reads no line of memory more.
pub(crate) struct Location {
    /// the node at the far end of its link
    pub(crate) far_node: NodeId,
    /// the number there of the port at the far end
    pub(crate) far_number: u16,
    /// its own number at its node
    pub(crate) number: u16,
    /// where the counts by ingress port of this output port begin
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
