//! The observer of a run's network: a recorder, and possibly more.

use crate::recorder::Recorder;

/// The end points and the protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnds {
    /// number of the sending host
    pub src: u32,
    /// number of the receiving host
    pub dst: u32,
    /// whether the flow uses UDP; otherwise it uses TCP
    pub is_udp: bool,
}

/// An observer of a run's network. It has a recorder, to which it passes everything that it observes.
pub trait Watcher {
    /// The recorder.
    fn recorder(&self) -> &Recorder;

    /// The recorder, to be changed.
    fn recorder_mut(&mut self) -> &mut Recorder;

    /// The recorder with everything that it has seen.
    fn into_recorder(self) -> Recorder;

    /// Adds the next flow.
    fn add_flow(&mut self, ends: FlowEnds) {
        self.recorder_mut().add_flow(ends.src);
    }
}

impl Watcher for Recorder {
    fn recorder(&self) -> &Recorder {
        self
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        self
    }

    fn into_recorder(self) -> Recorder {
        self
    }
}
