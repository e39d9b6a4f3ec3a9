//! Where a port is, as far as the forwarding of a packet must know it.

use crate::topology::{NodeId, Port};

/// The part of a port's location that each hop needs. It is kept in the port, so that a hop does not read another cache
/// line.
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
    /// The location of a port with this `far` end.
    pub(crate) fn new(port: &Port, far: &Port, ingress_base: u32) -> Self {
        Self {
            far_node: far.node,
            far_number: far.number,
            number: port.number,
            ingress_base,
        }
    }
}
