//! Web sessions (Feldmann et al. 1999, as Guo and Matta 2001 use them): users who fetch pages.
//!
//! A page consists of objects of one server, which is chosen at random. The transfers of the objects start one after
//! another with exponentially distributed gaps, each on its own connection, which the server opens. When the last
//! object has arrived, the user waits for an exponentially distributed think time. In ns-2 before November 2001
//! (`webtraf.cc`) this time counted from the start of the page, whatever had arrived. The time that a request takes to
//! reach the server is not modelled.

use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant};

use super::{Amount, Ends, Key, OwnFlow, Transfer, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::WebJob;
use crate::sampling::BoundedPareto;

/// One user.
#[derive(Debug)]
struct Session {
    client: End,
    /// objects of the page that have not arrived
    missing: u64,
    stream: Stream,
}

/// All users.
#[derive(Debug)]
pub(crate) struct Web {
    servers: Vec<End>,
    sessions: Vec<Session>,
    session_gap: Duration,
    think: Duration,
    think_from_start: bool,
    object_gap: Duration,
    objects: [u64; 2],
    sizes: BoundedPareto,
    packet_bytes: u64,
    start: Instant,
    starts: Stream,
}

impl Web {
    pub(crate) fn new(job: &WebJob, key: Key, ends: &Ends) -> Self {
        let session = |i: u32| {
            let own = key.index << 32 | u64::from(i);
            Session {
                client: ends.receivers[i as usize % ends.receivers.len()],
                missing: 0,
                stream: Stream::new(key.seed, "web-session", own),
            }
        };
        Self {
            servers: ends.senders.clone(),
            sessions: (0..job.sessions).map(session).collect(),
            session_gap: job.session_gap_mean_ps,
            think: job.think_mean_ps,
            think_from_start: job.think_from_start,
            object_gap: job.object_gap_mean_ps,
            objects: job.objects,
            sizes: BoundedPareto {
                min: job.size_packets[0],
                max: job.size_packets[1],
                shape_milli: job.shape_milli,
            },
            packet_bytes: job.packet_bytes,
            start: key.start,
            starts: Stream::new(key.seed, "web-starts", key.index),
        }
    }
}

impl Workload for Web {
    fn expected(&self, span: Duration, _trip: &mut Trip<'_>) -> Amount {
        let page = u64::midpoint(self.objects[0], self.objects[1]);
        let pages = span.as_ps() / self.think.as_ps().max(1) + 1;
        let pages = pages.saturating_mul(self.sessions.len() as u64);
        Amount::flows(pages.saturating_mul(page))
    }

    /// Users start one after another.
    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        let mut at = self.start;
        for number in 0..self.sessions.len() {
            context.wake_at(at, number as u64);
            at += self.starts.exponential(self.session_gap);
        }
    }

    /// A user requests a page.
    fn on_wake(&mut self, now: Instant, token: u64, context: &mut WorkloadContext<'_>) {
        let session = &mut self.sessions[token as usize];
        let stream = &mut session.stream;
        let servers = self
            .servers
            .iter()
            .filter(|it| it.host != session.client.host);
        let servers: Vec<&End> = servers.collect();
        let server = *servers[stream.up_to(servers.len() as u64 - 1) as usize];
        let [fewest, most] = self.objects;
        session.missing = fewest + stream.up_to(most - fewest);
        let mut at = now;
        for _ in 0..session.missing {
            let transfer = Transfer {
                src: server,
                dst: session.client,
                bytes: self.sizes.draw(stream) * self.packet_bytes,
                persistent: false,
                token: token as u32,
            };
            context.start(at, &transfer);
            at += stream.exponential(self.object_gap);
        }
        if self.think_from_start {
            context.wake_at(now + stream.exponential(self.think), token);
        }
    }

    fn on_complete(&mut self, now: Instant, flow: OwnFlow, context: &mut WorkloadContext<'_>) {
        if self.think_from_start {
            return;
        }
        let session = &mut self.sessions[flow.token as usize];
        session.missing -= 1;
        if session.missing == 0 {
            let think = session.stream.exponential(self.think);
            context.wake_at(now + think, u64::from(flow.token));
        }
    }
}
