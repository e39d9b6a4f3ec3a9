//! What the hosts report about their flows: entries of the record, and pending events for the run's loop.

use fairport_plan::flow::{Application, Side};
use fairport_record::FlowLog;
use fairport_tcp::{Decision, Events, Timeout};
use fairport_units::{Duration, Instant};

/// An event of a flow that concerns more than its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingEvent {
    /// a flow that the measurement waits for is established
    Established,
    /// everything that this side has written is delivered
    Delivered(u32, Side),
    /// one end has closed, and everything that it has sent is acknowledged
    Finished(u32),
}

/// The flows' record, and the pending events.
pub(crate) struct Reports {
    pub(crate) log: FlowLog,
    /// whether a flow's receiver sends, too
    is_two_way: Vec<bool>,
    /// whether workloads react to deliveries
    heard: bool,
    /// whether flows without end are reported when they are established
    awaits: bool,
    /// whether a flow has no end
    is_endless: Vec<bool>,
    /// in order of time, until the loop takes them
    pending: Vec<(Instant, PendingEvent)>,
    /// when the network must stop, because of an urgent event; [`Instant::NEVER`] if none is pending
    stop_at: Instant,
}

impl Reports {
    /// Reports without any flow yet. Flows below number `watched` are recorded sample by sample. Deliveries
    /// are reported to workloads if they are `heard`. If the measurement `awaits` them, flows without end are
    /// reported when they are established.
    pub(crate) fn new(watched: u32, heard: bool, awaits: bool) -> Self {
        Self {
            log: FlowLog::new(watched),
            is_two_way: Vec::new(),
            heard,
            awaits,
            is_endless: Vec::new(),
            pending: Vec::new(),
            stop_at: Instant::NEVER,
        }
    }

    /// Adds the next flow.
    pub(crate) fn add_flow(&mut self, application: &Application) {
        self.log.add_flow();
        self.is_two_way.push(application.request_bytes().is_some());
        self.is_endless.push(application.size_bytes().is_none());
    }

    /// The instant beyond which the network must not advance.
    #[inline]
    pub(crate) fn stop_at(&self) -> Instant {
        self.stop_at
    }

    /// Whether an event is pending that must be handled before anything later happens.
    #[inline]
    pub(crate) fn is_urgent(&self) -> bool {
        self.stop_at != Instant::NEVER
    }

    /// Takes the pending events; from now on only new ones stop the network.
    pub(crate) fn take_pending(&mut self) -> Vec<(Instant, PendingEvent)> {
        self.stop_at = Instant::NEVER;
        std::mem::take(&mut self.pending)
    }

    /// Adds an urgent event: the network stops as soon as all of this instant's packets have arrived.
    #[cold]
    fn stop(&mut self, now: Instant, event: PendingEvent) {
        self.pending.push((now, event));
        self.stop_at = self.stop_at.min(now);
    }

    /// The sink for the events of an endpoint's TCP.
    #[inline]
    pub(crate) fn events(&mut self, endpoint: u32) -> FlowEvents<'_> {
        FlowEvents {
            reports: self,
            endpoint,
        }
    }

    /// Reports that everything one side of the flow has written is delivered.
    #[cold]
    pub(crate) fn delivered(&mut self, flow: u32, from: Side, now: Instant) {
        if from == Side::Sender {
            self.log.flow_mut(flow).finished_at = now;
        }
        if self.heard {
            self.stop(now, PendingEvent::Delivered(flow, from));
        }
    }

    /// Reports that the flow is established, which the measurement may wait for.
    pub(crate) fn established(&mut self, flow: u32, now: Instant) {
        let record = self.log.flow_mut(flow);
        if record.established_at != Instant::NEVER {
            return;
        }
        record.established_at = now;
        if self.awaits && self.is_endless[flow as usize] {
            self.stop(now, PendingEvent::Established);
        }
    }
}

/// What one endpoint reports while it handles an event. The record describes a flow's sender. If the
/// receiver sends data too, its timeouts are recorded as well.
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
            let is_backward = !self.is_sender();
            self.reports.log.timeout(self.flow(), is_backward, &timeout);
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
        // not urgent, because nothing waits for it
        let event = PendingEvent::Finished(self.flow());
        self.reports.pending.push((now, event));
    }
}
