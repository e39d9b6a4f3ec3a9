//! What the hosts report of their flows: into the record, and to the loop as events that are pending.

use fairport_plan::flow::{Application, Side};
use fairport_plan::{MeasureFrom, MeasurementRule};
use fairport_record::{FlowLog, Progress};
use fairport_tcp::{Decision, Events, Timeout};
use fairport_units::{Duration, Instant};

/// Something about a flow that concerns more than its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingEvent {
    /// all that this side has written is delivered
    Delivered(u32, Side),
    /// both ends have closed, and all of it is acknowledged
    Over(u32),
}

/// What the driver keeps of a flow from its start to the end of the run.
pub(crate) struct FlowState {
    /// ends of the connection that are not finished; none where it is never closed
    open_ends: u8,
    /// the receiver sends, too
    is_two_way: bool,
    /// packets sent by both ends, once the flow is over
    pub(crate) sent: u64,
    /// packets received by both ends, once the flow is over
    pub(crate) received: u64,
}

impl FlowState {
    fn new(application: &Application) -> Self {
        Self {
            open_ends: if application.stays_open() { 0 } else { 2 },
            is_two_way: application.request_bytes().is_some(),
            sent: 0,
            received: 0,
        }
    }

    /// Packets sent and received by both ends, once the flow is over.
    pub(crate) fn packets(&self) -> (u64, u64) {
        (self.sent, self.received)
    }
}

/// The flows' record, and what is pending.
pub(crate) struct Reports {
    pub(crate) log: FlowLog,
    flows: Vec<FlowState>,
    /// flows that the measurement waits for, if it begins when all of them are established: those
    /// below this number, and how many of them are not
    waits_for: u32,
    unestablished: u32,
    /// when the measurement is to begin; [`Instant::NEVER`] once it has, and while that is unknown
    begin_at: Instant,
    /// when it is to end, likewise
    end_at: Instant,
    /// in order of time, until the loop takes them
    pending: Vec<(Instant, PendingEvent)>,
    /// the network must stop here: something is pending, or the measurement begins
    stop_at: Instant,
}

impl Reports {
    /// Without flows yet; those below number `watched` are watched sample by sample.
    pub(crate) fn new(rule: MeasurementRule, watched: u32) -> Self {
        let (begin_at, waits_for) = match rule.from {
            MeasureFrom::At(from) => (from, 0),
            MeasureFrom::Established { flows } => (Instant::NEVER, flows),
        };
        Self {
            log: FlowLog::new(watched),
            flows: Vec::new(),
            waits_for,
            unestablished: waits_for,
            begin_at,
            end_at: rule.to.unwrap_or(Instant::NEVER),
            pending: Vec::new(),
            stop_at: begin_at,
        }
    }

    /// Adds the next flow.
    pub(crate) fn add_flow(&mut self, application: &Application) {
        self.log.add_flow();
        self.flows.push(FlowState::new(application));
    }

    /// What the driver keeps of a flow.
    #[inline]
    pub(crate) fn state(&self, flow: u32) -> &FlowState {
        &self.flows[flow as usize]
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn state_mut(&mut self, flow: u32) -> &mut FlowState {
        &mut self.flows[flow as usize]
    }

    /// When the measurement is to begin.
    pub(crate) fn begin_at(&self) -> Instant {
        self.begin_at
    }

    /// When the measurement is to end.
    pub(crate) fn end_at(&self) -> Instant {
        self.end_at
    }

    /// The network must not go on beyond this.
    #[inline]
    pub(crate) fn stop_at(&self) -> Instant {
        self.stop_at
    }

    /// Whether events are pending.
    #[inline]
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the pending events; from now on only new ones stop the network.
    pub(crate) fn take_pending(&mut self) -> Vec<(Instant, PendingEvent)> {
        self.stop_at = self.begin_at;
        std::mem::take(&mut self.pending)
    }

    #[cold]
    fn add_pending(&mut self, now: Instant, event: PendingEvent) {
        self.pending.push((now, event));
        self.stop_at = self.stop_at.min(now);
    }

    /// Where the endpoint's TCP reports to.
    #[inline]
    pub(crate) fn events(&mut self, endpoint: u32, now: Instant) -> FlowEvents<'_> {
        FlowEvents {
            reports: self,
            flow: endpoint / 2,
            is_sender: endpoint.is_multiple_of(2),
            now,
        }
    }

    /// All that one side of the flow has written is delivered.
    #[cold]
    pub(crate) fn delivered(&mut self, flow: u32, from: Side, now: Instant) {
        if from == Side::Sender {
            self.log.flow_mut(flow).finished_at = now;
        }
        self.add_pending(now, PendingEvent::Delivered(flow, from));
    }

    /// The flow is established; the measurement may wait for that.
    pub(crate) fn established(&mut self, flow: u32, now: Instant) {
        let record = self.log.flow_mut(flow);
        if record.established_at != Instant::NEVER {
            return;
        }
        record.established_at = now;
        if flow < self.waits_for {
            self.unestablished -= 1;
            if self.unestablished == 0 {
                self.begin_at = now;
                self.stop_at = self.stop_at.min(now);
            }
        }
    }

    /// Begins the measurement; `progress` is of all flows.
    pub(crate) fn begin(&mut self, now: Instant, progress: impl Iterator<Item = Progress>) {
        self.begin_at = Instant::NEVER;
        self.stop_at = Instant::NEVER;
        self.log.begin(now, progress);
    }

    /// Ends the measurement, unless it has ended; `progress` is of all flows.
    pub(crate) fn end(&mut self, now: Instant, progress: impl Iterator<Item = Progress>) {
        self.end_at = Instant::NEVER;
        self.log.end(now, progress);
    }
}

/// What one endpoint reports while it handles an event. A flow is seen from its sender; where the
/// receiver sends too, its timeouts count as well.
pub(crate) struct FlowEvents<'a> {
    reports: &'a mut Reports,
    flow: u32,
    is_sender: bool,
    now: Instant,
}

impl Events for FlowEvents<'_> {
    #[inline]
    fn rtt_sample(&mut self, _now: Instant, rtt: Duration) {
        if self.is_sender {
            self.reports.log.rtt_sample(self.flow, rtt);
        }
    }

    fn timeout(&mut self, timeout: Timeout) {
        if self.is_sender || self.reports.state(self.flow).is_two_way {
            self.reports.log.timeout(self.flow, &timeout);
        }
    }

    fn decision(&mut self, now: Instant, decision: Decision) {
        if self.is_sender {
            self.reports.log.decision(now, self.flow, &decision);
        }
    }

    fn established(&mut self, _now: Instant) {
        if self.is_sender {
            self.reports.established(self.flow, self.now);
        }
    }

    fn finished(&mut self, now: Instant) {
        let state = self.reports.state_mut(self.flow);
        let Some(left) = state.open_ends.checked_sub(1) else {
            return;
        };
        state.open_ends = left;
        if left == 0 {
            self.reports.add_pending(now, PendingEvent::Over(self.flow));
        }
    }
}
