//! What the hosts report of their flows: into the record, and to the loop as events that are pending.

use fairport_plan::flow::{Application, Side};
use fairport_record::FlowLog;
use fairport_tcp::{Decision, Events, Timeout};
use fairport_units::{Duration, Instant};

/// Something about a flow that concerns more than its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingEvent {
    /// a flow is established for which the measurement waits
    Established,
    /// all that this side has written is delivered
    Delivered(u32, Side),
    /// one end has closed, and all that it has sent is acknowledged
    Finished(u32),
}

/// The flows' record, and what is pending.
pub(crate) struct Reports {
    pub(crate) log: FlowLog,
    /// whether a flow's receiver sends, too
    is_two_way: Vec<bool>,
    /// whether workloads hear of deliveries
    heard: bool,
    /// flows below this number are reported when they are established
    waits_for: u32,
    /// in order of time, until the loop takes them
    pending: Vec<(Instant, PendingEvent)>,
    /// the network must stop here: something is pending that must not wait
    stop_at: Instant,
}

impl Reports {
    /// Without flows yet; those below number `watched` are watched sample by sample, and workloads
    /// hear of deliveries if these are `heard`. Flows below number `waits_for` are reported when they
    /// are established.
    pub(crate) fn new(watched: u32, heard: bool, waits_for: u32) -> Self {
        Self {
            log: FlowLog::new(watched),
            is_two_way: Vec::new(),
            heard,
            waits_for,
            pending: Vec::new(),
            stop_at: Instant::NEVER,
        }
    }

    /// Adds the next flow.
    pub(crate) fn add_flow(&mut self, application: &Application) {
        self.log.add_flow();
        self.is_two_way.push(application.request_bytes().is_some());
    }

    /// The network must not go on beyond this.
    #[inline]
    pub(crate) fn stop_at(&self) -> Instant {
        self.stop_at
    }

    /// Whether something is pending that must not wait.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        self.stop_at != Instant::NEVER
    }

    /// Takes the pending events; from now on only new ones stop the network.
    pub(crate) fn take_pending(&mut self) -> Vec<(Instant, PendingEvent)> {
        self.stop_at = Instant::NEVER;
        std::mem::take(&mut self.pending)
    }

    /// The network stops as soon as all of this instant's packets have arrived.
    #[cold]
    fn stop(&mut self, now: Instant, event: PendingEvent) {
        self.pending.push((now, event));
        self.stop_at = self.stop_at.min(now);
    }

    /// Where the endpoint's TCP reports to.
    #[inline]
    pub(crate) fn events(&mut self, endpoint: u32) -> FlowEvents<'_> {
        FlowEvents {
            reports: self,
            endpoint,
        }
    }

    /// All that one side of the flow has written is delivered.
    #[cold]
    pub(crate) fn delivered(&mut self, flow: u32, from: Side, now: Instant) {
        if from == Side::Sender {
            self.log.flow_mut(flow).finished_at = now;
        }
        if self.heard {
            self.stop(now, PendingEvent::Delivered(flow, from));
        }
    }

    /// The flow is established; the measurement may wait for that.
    pub(crate) fn established(&mut self, flow: u32, now: Instant) {
        let record = self.log.flow_mut(flow);
        if record.established_at != Instant::NEVER {
            return;
        }
        record.established_at = now;
        if flow < self.waits_for {
            self.stop(now, PendingEvent::Established);
        }
    }
}

/// What one endpoint reports while it handles an event. A flow is seen from its sender; where the
/// receiver sends too, its timeouts count as well.
pub(crate) struct FlowEvents<'a> {
    reports: &'a mut Reports,
    endpoint: u32,
}

impl FlowEvents<'_> {
    #[inline]
    fn flow(&self) -> u32 {
        self.endpoint / 2
    }

    #[inline]
    fn is_sender(&self) -> bool {
        self.endpoint.is_multiple_of(2)
    }
}

impl Events for FlowEvents<'_> {
    #[inline]
    fn rtt_sample(&mut self, _now: Instant, rtt: Duration) {
        if self.is_sender() {
            self.reports.log.rtt_sample(self.flow(), rtt);
        }
    }

    fn timeout(&mut self, timeout: Timeout) {
        if self.is_sender() || self.reports.is_two_way[self.flow() as usize] {
            self.reports.log.timeout(self.flow(), &timeout);
        }
    }

    fn decision(&mut self, now: Instant, decision: Decision) {
        if self.is_sender() {
            self.reports.log.decision(now, self.flow(), &decision);
        }
    }

    fn established(&mut self, now: Instant) {
        if self.is_sender() {
            self.reports.established(self.flow(), now);
        }
    }

    fn finished(&mut self, now: Instant) {
        // nothing waits for it
        let event = PendingEvent::Finished(self.flow());
        self.reports.pending.push((now, event));
    }
}
