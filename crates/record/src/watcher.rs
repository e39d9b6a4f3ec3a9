//! The observer of a run's network: a recorder, and perhaps something besides.

use crate::recorder::Recorder;

/// Between whom a flow's data goes, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnds {
    /// number of the sending host
    pub src: u32,
    /// number of the receiving host
    pub dst: u32,
    /// whether it is UDP; TCP otherwise
    pub is_udp: bool,
}

/// What watches a run's network. It has a recorder, to which it passes all that it observes.
pub trait Watcher {
    /// The recorder.
    fn recorder(&self) -> &Recorder;

    /// The recorder, mutable.
    fn recorder_mut(&mut self) -> &mut Recorder;

    /// The recorder, with what it has seen.
    fn into_recorder(self) -> Recorder;

    /// Adds the next flow.
    fn add_flow(&mut self, ends: FlowEnds) {
        let _ = ends;
        self.recorder_mut().add_flow();
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
