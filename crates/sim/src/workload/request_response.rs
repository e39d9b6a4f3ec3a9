//! Requests and their answers on connections that stay open: remote procedure calls, HTTP with keep-alive.
//!
//! A client opens a connection to a server and asks; the server answers on the same connection, at
//! once; when the answer is there the client thinks, and asks again. Both ends are full TCPs: an
//! acknowledgement rides on the data that goes back where it can. What the window is after the
//! client has thought is the stack's matter (slow start after idle).

use fairport_net::processing::Processing;
use fairport_net::stream::Stream;
use fairport_units::{Rate, Time};

use super::{Desk, Ends, Exchange, Key, OwnFlow, Workload};
use crate::flow::End;
use crate::job::workload::RequestResponseJob;
use crate::sampling::Cdf;

/// What a client and a server say to each other on one connection.
struct Dialogue {
    client: End,
    server: End,
    /// what is asked, or was last
    exchange: Exchange,
    stream: Stream,
}

/// All dialogues.
pub(crate) struct RequestResponse {
    dialogues: Vec<Dialogue>,
    /// of each
    requests: u32,
    request_sizes: Cdf,
    response_sizes: Cdf,
    think: Processing,
    jitter: Time,
    start: Time,
}

impl RequestResponse {
    /// Each client has `connections`; servers are dealt out to them in turn.
    pub(crate) fn new(job: &RequestResponseJob, key: Key, ends: &Ends) -> Self {
        let mut servers = ends.senders.iter().cycle();
        let clients = ends.receivers.iter();
        let clients = clients.flat_map(|client| (0..job.connections).map(move |_| *client));
        let dialogue = |(number, client): (u64, End)| Dialogue {
            client,
            server: *servers
                .find(|server| server.host != client.host)
                .expect("a server on another host"),
            exchange: Exchange::default(),
            stream: Stream::new(key.seed, "request-response", key.index << 32 | number),
        };
        Self {
            dialogues: (0..).zip(clients).map(dialogue).collect(),
            requests: job.requests.unwrap_or(u32::MAX),
            request_sizes: Cdf::new(&job.request),
            response_sizes: Cdf::new(&job.response),
            think: job.think,
            jitter: job.jitter_ps,
            start: key.start,
        }
    }

    /// The client's next request, which it makes at `start`.
    fn draw(&mut self, number: u32, start: Time, dialogue: usize) -> u64 {
        let dialogue = &mut self.dialogues[dialogue];
        dialogue.exchange = Exchange {
            number,
            start,
            request_bytes: self.request_sizes.draw(&mut dialogue.stream),
            response_bytes: self.response_sizes.draw(&mut dialogue.stream),
            ..Exchange::default()
        };
        dialogue.exchange.request_bytes
    }
}

impl Workload for RequestResponse {
    fn expected_flows(&self, _span: Time, _rate: Rate) -> u64 {
        self.dialogues.len() as u64
    }

    fn begin(&mut self, desk: &mut Desk<'_>) {
        for token in 0..self.dialogues.len() {
            let stream = &mut self.dialogues[token].stream;
            let at = self.start + Time::from_ps(stream.up_to(self.jitter.as_ps()));
            let bytes = self.draw(0, at, token);
            let Dialogue { client, server, .. } = self.dialogues[token];
            desk.connect(at, client, server, bytes, token as u32);
        }
    }

    fn wake(&mut self, _now: Time, _token: u64, _desk: &mut Desk<'_>) {}

    fn asked(&mut self, now: Time, flow: OwnFlow, desk: &mut Desk<'_>) {
        let exchange = &self.dialogues[flow.token as usize].exchange;
        desk.answer(now, flow.number, exchange.response_bytes);
    }

    fn complete(&mut self, now: Time, flow: OwnFlow, desk: &mut Desk<'_>) {
        let token = flow.token as usize;
        let dialogue = &mut self.dialogues[token];
        let answered = Exchange {
            flow: flow.number,
            end: now,
            ..dialogue.exchange
        };
        desk.answered(answered);
        let number = answered.number + 1;
        if number < self.requests {
            let at = now + self.think.draw(&mut dialogue.stream);
            let bytes = self.draw(number, at, token);
            desk.ask(at, flow.number, bytes);
        }
    }
}
