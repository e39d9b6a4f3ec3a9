//! What is read of the flows, during the run and at its end.

use fairport_net::Observer;
use fairport_plan::flow::Side;
use fairport_record::tables::{Flow, Flows as FlowRows};
use fairport_record::{FlowSample, Losses, Progress, RttSummary, Simulated, Table, Watcher};
use fairport_units::{Duration, Instant};

use super::Flows;
use crate::hosts::live_flow::LiveFlow;

impl<P: Simulated, O: Observer<P> + Watcher> Flows<P, O> {
    /// How many flows have a number.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A flow as the domain of one of its ends sees it; none if it has not started or was given up.
    pub(super) fn live(&self, flow: u32, side: Side) -> Option<&LiveFlow> {
        let domain = &self.domains.list[self.entry(flow).domain_at(side)];
        domain.hosts.live[flow as usize].as_ref()
    }

    /// What a flow's receiving host has received.
    pub(super) fn progress(&self, flow: u32) -> Progress {
        match self.live(flow, Side::Receiver) {
            Some(live) => live.progress(),
            None => self.entry(flow).done.progress,
        }
    }

    pub(crate) fn progress_of_all(&self) -> Vec<Progress> {
        let flows = 0..self.len() as u32;
        flows.map(|flow| self.progress(flow)).collect()
    }

    /// One flow's sample at the end of an interval of the series; none if the flow has not started.
    pub(crate) fn sample(&mut self, flow: u32) -> Option<FlowSample> {
        let progress = self.progress(flow);
        let live = self.live(flow, Side::Sender);
        let has_started = live.is_some() || progress.arrived_bytes > 0;
        if !has_started {
            return None;
        }
        let is_over = self.entry(flow).is_over();
        let gauges = live.filter(|_| !is_over).and_then(LiveFlow::gauges);
        let intervals = self.domains.list.iter_mut().map(|domain| {
            let record = domain.hosts.reports.log.flow_mut(flow);
            record.take_interval()
        });
        Some(FlowSample {
            progress,
            gauges,
            is_over,
            rtt: intervals.fold(RttSummary::EMPTY, RttSummary::and),
        })
    }

    /// Packets that both ends of a flow have sent and received.
    pub(super) fn packets(&self, flow: u32) -> (u64, u64) {
        let ends = self.entry(flow).domains().map(|number| {
            let live = self.domains.list[number].hosts.live[flow as usize].as_ref();
            live.map_or((0, 0), LiveFlow::packets)
        });
        ends.fold(self.entry(flow).done.packets, |sum, end| {
            (sum.0 + end.0, sum.1 + end.1)
        })
    }

    /// The drops and marks of a flow's packets, in all domains.
    pub(super) fn losses(&self, flow: u32) -> Losses {
        let recorders = self
            .domains
            .list
            .iter()
            .map(|it| it.network.observer().recorder());
        let losses = recorders.map(|recorder| recorder.losses(flow));
        losses.fold(Losses::default(), |sum, more| sum + more)
    }

    /// When everything that a flow wrote had been delivered; for a flow that was stopped, when it was over.
    fn finished_at(&self, flow: u32) -> Instant {
        let receiver = self.entry(flow).domain_at(Side::Receiver);
        let record = self.domains.list[receiver].hosts.reports.log.flow(flow);
        match record.finished_at {
            Instant::NEVER => self.entry(flow).over_at(),
            at => at,
        }
    }

    /// Asserts for every flow: packets sent = received + dropped + in flight.
    pub(crate) fn assert_conservation(&self) {
        let mut in_flight = vec![0; self.len()];
        for header in self
            .domains
            .list
            .iter()
            .flat_map(|it| it.network.in_flight())
        {
            in_flight[header.flow as usize] += 1;
        }
        for flow in 0..self.len() as u32 {
            let (sent, received) = self.packets(flow);
            let losses = self.losses(flow);
            assert_eq!(
                sent,
                received + losses.drops + losses.late_drops + in_flight[flow as usize],
                "conservation of flow {flow}"
            );
        }
    }

    /// One row per flow.
    pub(crate) fn table(&self) -> Table {
        let mut table = FlowRows::with_capacity(self.len());
        for flow in 0..self.len() as u32 {
            table.push(self.row(flow));
        }
        table.into_table()
    }

    fn row(&self, flow: u32) -> Flow {
        let entry = self.entry(flow);
        let planned = &entry.planned;
        let [sender, receiver] = [Side::Sender, Side::Receiver].map(|side| {
            let log = &self.domains.list[entry.domain_at(side)].hosts.reports.log;
            (log, log.flow(flow))
        });
        let live = self.live(flow, Side::Sender);
        let counters = live.map_or(entry.done.counters, LiveFlow::counters);
        let delivered_bytes = self.progress(flow).delivered_bytes;
        let application = &planned.spec.application;
        let is_complete =
            application.size_bytes() == Some(delivered_bytes) && !application.stays_open();
        let measured_bytes = receiver.1.measured_bytes();
        let finished_at = self.finished_at(flow);
        let losses = self.losses(flow);
        let rtt = if application.datagrams().is_some() {
            receiver.1.rtt()
        } else {
            sender.1.rtt()
        };
        let span = sender.0.to() - sender.0.from();
        Flow {
            flow,
            src: planned.spec.src.host,
            dst: planned.spec.dst.host,
            hops: planned.hops,
            traffic: planned.spec.traffic,
            protocol: u8::from(application.datagrams().is_some()),
            stack: planned.spec.src.stack,
            start_s: planned.start,
            established_s: sender.1.established_at,
            end_s: finished_at,
            size_bytes: application.size_bytes(),
            delivered_bytes,
            measured_bytes,
            goodput_bps: measured_bytes as f64 * 8.0 / span.as_secs_f64(),
            fct_s: if is_complete {
                finished_at - planned.start
            } else {
                Duration::NEVER
            },
            ideal_fct_s: planned.ideal,
            segments_sent: counters.segments_sent,
            retransmits: counters.retransmits,
            fast_recoveries: counters.fast_recoveries,
            timeouts: counters.timeouts,
            timeout_period_s: counters.timeout_period,
            drops: losses.drops,
            marks: losses.marks,
            rtt_mean_s: rtt.mean_s(),
            rtt_min_s: rtt.min_s(),
            rtt_max_s: rtt.max_s(),
        }
    }
}
