//! The workload context: the actions available to a workload.

use fairport_units::Instant;

use super::{Action, Exchange, Log, Round, Schedule};
use crate::flow::{Application, End, FlowSpec, Origin, Side};

/// Lets a workload schedule actions and log rounds and requests.
pub(crate) struct WorkloadContext<'a> {
    pub(super) schedule: &'a mut Schedule,
    pub(super) log: &'a mut Log,
    pub(super) traffic: u32,
    pub(super) workload: u32,
    /// from then on the workload starts nothing
    pub(super) stop_at: Instant,
}

/// A flow for a workload to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) src: End,
    pub(crate) dst: End,
    pub(crate) bytes: u64,
    /// whether its connection stays open for further transfers
    pub(crate) persistent: bool,
    /// the workload's own number for the flow
    pub(crate) token: u32,
}

impl WorkloadContext<'_> {
    /// Starts a flow at `at`, unless the workload has stopped by then.
    pub(crate) fn start(&mut self, at: Instant, transfer: &Transfer) {
        let size_bytes = transfer.bytes;
        let application = if transfer.persistent {
            Application::Persistent { size_bytes }
        } else {
            Application::Transfer {
                size_bytes: Some(size_bytes),
            }
        };
        let spec = self.spec([transfer.src, transfer.dst], application, transfer.token);
        self.unless_stopped(at, Action::Start(spec));
    }

    /// Lets a client open a connection to a server and send a first request. The flow goes from the server to the
    /// client.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        [client, server]: [End; 2],
        request_bytes: u64,
        token: u32,
    ) {
        let application = Application::RequestResponse {
            request_bytes,
            size_bytes: 0,
        };
        let spec = self.spec([server, client], application, token);
        self.schedule.add(now, Action::Start(spec));
    }

    fn spec(&self, [src, dst]: [End; 2], application: Application, token: u32) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            application,
            traffic: self.traffic,
            origin: Origin::Workload {
                index: self.workload,
                token,
            },
        }
    }

    /// Whether the workload starts nothing at `at`.
    pub(crate) fn has_stopped_by(&self, at: Instant) -> bool {
        at >= self.stop_at
    }

    fn unless_stopped(&mut self, at: Instant, action: Action) {
        if !self.has_stopped_by(at) {
            self.schedule.add(at, action);
        }
    }

    /// Lets the sender of a persistent flow send more at `at`, unless the workload has stopped by then.
    pub(crate) fn write(&mut self, at: Instant, flow: u32, bytes: u64) {
        self.unless_stopped(at, Action::Write(flow, Side::Sender, bytes));
    }

    /// Lets the client of an open connection send a further request.
    pub(crate) fn request(&mut self, now: Instant, flow: u32, bytes: u64) {
        let action = Action::Write(flow, Side::Receiver, bytes);
        self.schedule.add(now, action);
    }

    /// Lets the server answer a request, even if the workload has stopped since.
    pub(crate) fn answer(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.schedule
            .add(now, Action::Write(flow, Side::Sender, bytes));
    }

    /// Wakes the workload at `at`, unless it has stopped by then.
    pub(crate) fn wake_at(&mut self, at: Instant, token: u64) {
        self.unless_stopped(at, Action::Wake(self.workload, token));
    }

    /// Logs a request. Returns its row in the log.
    pub(crate) fn log_request(&mut self, exchange: Exchange) -> usize {
        self.log.exchanges.push((self.traffic, exchange));
        self.log.exchanges.len() - 1
    }

    /// Logs that the request in this row has reached the server on `flow`.
    pub(crate) fn log_arrival(&mut self, row: usize, flow: u32) {
        self.log.exchanges[row].1.flow = Some(flow);
    }

    /// Logs that the request in this row was answered.
    pub(crate) fn log_answer(&mut self, row: usize, now: Instant) {
        self.log.exchanges[row].1.end = now;
    }

    /// Logs a round that begins. Returns its row in the log.
    pub(crate) fn log_round(&mut self, round: Round) -> usize {
        self.log.rounds.push((self.traffic, round));
        self.log.rounds.len() - 1
    }

    /// Logs that the round in this row is complete; `flow` is its flow, if it had a single one.
    pub(crate) fn log_completion(&mut self, row: usize, now: Instant, flow: Option<u32>) {
        let round = &mut self.log.rounds[row].1;
        (round.end, round.flow) = (now, flow);
    }
}
