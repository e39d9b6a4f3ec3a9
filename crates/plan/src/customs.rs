//! Queue disciplines and congestion controls that a program adds to Fairport's own.

use fairport_net::queue::CustomQueues;
use fairport_tcp::Controllers;

/// Queue disciplines and congestion controls from outside, by the names under which jobs refer to them.
///
/// A job names a queue as `{"kind": "custom", "name": NAME, ..}` and a congestion control as
/// `custom:NAME`.
#[derive(Clone, Debug, Default)]
pub struct Customs {
    /// disciplines and schedulers for ports
    pub queues: CustomQueues,
    /// congestion controls
    pub controllers: Controllers,
}
