//! Two endpoints and a pipe between them that can lose, delay and repeat segments. The clock
//! steps to the next thing that happens.

pub(crate) mod transfer;

use std::collections::BTreeMap;

use fairport_tcp::{Connection, Decision, Ecn, Events, Flags, Segment, Settings, Timeout};
use fairport_units::{Duration, Instant};
use serde_json::Value;

/// The settings of a preset with overrides, as JSON.
pub(crate) fn stack(preset: &str, overrides: &Value) -> Settings {
    let overrides = overrides.as_object().expect("an object");
    Settings::preset(preset)
        .expect("a preset")
        .with(overrides)
        .expect("valid settings")
}

/// What an endpoint reported.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) rtts: Vec<(Instant, Duration)>,
    pub(crate) timeouts: Vec<Timeout>,
    pub(crate) decisions: Vec<(Instant, Decision)>,
    pub(crate) established: Option<Instant>,
    pub(crate) finished: Option<Instant>,
}

impl Events for Log {
    fn rtt_sample(&mut self, now: Instant, rtt: Duration) {
        self.rtts.push((now, rtt));
    }
    fn timeout(&mut self, timeout: Timeout) {
        self.timeouts.push(timeout);
    }
    fn decision(&mut self, now: Instant, decision: Decision) {
        self.decisions.push((now, decision));
    }
    fn established(&mut self, now: Instant) {
        self.established = Some(now);
    }
    fn finished(&mut self, now: Instant) {
        self.finished = Some(now);
    }
}

/// A segment as it left an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    /// from the client, which sends the data
    pub(crate) forward: bool,
    /// counts the data segments of the client from 0, retransmissions included
    pub(crate) data: Option<usize>,
    pub(crate) segment: Segment,
    pub(crate) ecn: Ecn,
}

/// What the pipe does with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrive,
    Lose,
    /// later than it would
    Late(Duration),
    Twice,
    /// as a queue marks it: a packet that is not ECN-capable arrives as it is
    Mark,
}

type Path = Box<dyn FnMut(&Sent) -> Fate>;

/// Client and server, and the pipe.
pub(crate) struct Pair {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    pub(crate) client_log: Log,
    pub(crate) server_log: Log,
    pub(crate) now: Instant,
    pub(crate) sent: Vec<Sent>,
    one_way: Duration,
    /// between data segments on the client's link, as a rate would have it
    spacing: Duration,
    free_at: Instant,
    path: Path,
    /// by time of arrival and order of sending
    flying: BTreeMap<(Instant, usize), (bool, Segment, Ecn)>,
    departures: usize,
    data_sent: usize,
}

impl Pair {
    pub(crate) fn new(client: &Settings, server: &Settings, one_way: Duration) -> Self {
        Self {
            client: Connection::active(client),
            server: Connection::passive(server),
            client_log: Log::default(),
            server_log: Log::default(),
            now: Instant::ZERO,
            sent: Vec::new(),
            one_way,
            spacing: Duration::ZERO,
            free_at: Instant::ZERO,
            path: Box::new(|_| Fate::Arrive),
            flying: BTreeMap::new(),
            departures: 0,
            data_sent: 0,
        }
    }

    /// Both ends alike.
    pub(crate) fn same(settings: &Settings, one_way: Duration) -> Self {
        Self::new(settings, settings, one_way)
    }

    pub(crate) fn through(mut self, path: impl FnMut(&Sent) -> Fate + 'static) -> Self {
        self.path = Box::new(path);
        self
    }

    /// Loses the client's data segments of these numbers.
    pub(crate) fn losing(self, lost: &'static [usize]) -> Self {
        self.through(transfer::losing(lost))
    }

    pub(crate) fn spaced(mut self, spacing: Duration) -> Self {
        self.spacing = spacing;
        self
    }

    /// Opens the connection, nothing being lost.
    pub(crate) fn connected(mut self) -> Self {
        let path = std::mem::replace(&mut self.path, Box::new(|_| Fate::Arrive));
        self.run_while(|pair| !(pair.client.is_established() && pair.server.is_established()));
        self.path = path;
        self
    }

    fn transmit(&mut self) {
        for forward in [true, false] {
            let end = if forward {
                &mut self.client
            } else {
                &mut self.server
            };
            while let Some(segment) = end.poll_transmit(self.now) {
                let mut ecn = end.codepoint();
                let carries = segment.payload > 0 || segment.flags.contains(Flags::FIN);
                let data = (forward && carries).then_some(self.data_sent);
                self.data_sent += usize::from(data.is_some());
                let sent = Sent {
                    at: self.now,
                    forward,
                    data,
                    segment,
                    ecn,
                };
                self.sent.push(sent);
                let mut arrival = self.now;
                if data.is_some() {
                    self.free_at = self.free_at.max(self.now) + self.spacing;
                    arrival = self.free_at;
                }
                arrival += self.one_way;
                let (copies, late) = match (self.path)(&sent) {
                    Fate::Arrive => (1, Duration::ZERO),
                    Fate::Lose => (0, Duration::ZERO),
                    Fate::Late(by) => (1, by),
                    Fate::Twice => (2, Duration::ZERO),
                    Fate::Mark => {
                        if ecn != Ecn::NotEct {
                            ecn = Ecn::Ce;
                        }
                        (1, Duration::ZERO)
                    }
                };
                for _ in 0..copies {
                    self.departures += 1;
                    self.flying
                        .insert((arrival + late, self.departures), (forward, segment, ecn));
                }
            }
        }
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        [arrival, self.client.poll_timer(), self.server.poll_timer()]
            .into_iter()
            .flatten()
            .min()
    }

    /// One step of the clock; false if nothing will ever happen.
    pub(crate) fn step(&mut self) -> bool {
        self.transmit();
        let Some(next) = self.next() else {
            return false;
        };
        assert!(next >= self.now, "time went back");
        self.now = next;
        while let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 == next) {
            let (forward, segment, ecn) = entry.remove();
            if forward {
                self.server
                    .on_packet(next, &segment, ecn, &mut self.server_log);
            } else {
                self.client
                    .on_packet(next, &segment, ecn, &mut self.client_log);
            }
            self.transmit();
        }
        self.client.on_timer(next, &mut self.client_log);
        self.server.on_timer(next, &mut self.server_log);
        self.transmit();
        true
    }

    pub(crate) fn run_while(&mut self, mut condition: impl FnMut(&Self) -> bool) {
        for _ in 0..10_000_000 {
            if !condition(self) || !self.step() {
                return;
            }
        }
        panic!("the exchange does not end");
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        self.transmit();
        while self.next().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Until nothing happens any more.
    pub(crate) fn run(&mut self) {
        self.run_while(|_| true);
    }

    /// The client's data segments, as (time, first byte counted from 0).
    pub(crate) fn data(&self) -> Vec<(Instant, u32)> {
        self.sent
            .iter()
            .filter(|sent| sent.data.is_some())
            .map(|sent| (sent.at, sent.segment.seq.wrapping_sub(1)))
            .collect()
    }

    /// The client's data segments that start below what was sent before.
    pub(crate) fn retransmissions(&self) -> Vec<(Instant, u32)> {
        let mut highest = None;
        let mut again = Vec::new();
        for (at, byte) in self.data() {
            if highest.is_some_and(|highest| byte <= highest) {
                again.push((at, byte));
            }
            highest = highest.max(Some(byte));
        }
        again
    }

    /// The numbers of the full segments among these, counted from 0.
    pub(crate) fn resent_segments(&self) -> Vec<u32> {
        let again = self.retransmissions();
        again
            .iter()
            .map(|(_, byte)| byte / transfer::PAYLOAD)
            .collect()
    }

    /// The server's segments without data, as (time, acknowledged bytes).
    pub(crate) fn acks(&self) -> Vec<(Instant, u32)> {
        self.sent
            .iter()
            .filter(|sent| !sent.forward && sent.segment.sequence_length() == 0)
            .map(|sent| (sent.at, sent.segment.ack.wrapping_sub(1)))
            .collect()
    }
}
