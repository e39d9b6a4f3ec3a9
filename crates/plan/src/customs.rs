//! What a program adds to Fairport's own queue disciplines and congestion controls.

use fairport_net::queue::CustomQueues;
use fairport_tcp::Controllers;

/// Queue disciplines and congestion controls from outside, by the names that a job calls them.
///
/// A job names a queue as `{"kind": "custom", "name": NAME, ..}` and a congestion control as
/// `custom:NAME`.
#[derive(Clone, Debug, Default)]
pub struct Customs {
    /// disciplines and schedulers of ports
    pub queues: CustomQueues,
    /// congestion controls
    pub controllers: Controllers,
}
