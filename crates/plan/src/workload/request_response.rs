//! Requests and responses on connections that stay open: remote procedure calls, or HTTP with keep-alive.
//!
//! A client opens a connection to a server and sends a request. The server responds at once, on the same connection.
//! After the response has arrived, the client waits for its think time and sends the next request. Both ends are full
//! TCPs, so acknowledgements ride on data in the other direction where possible. The window after a think time depends
//! on the stack (slow start after idle).

use fairport_net::processing::Processing;
use fairport_net::stream::Stream;
use fairport_units::{Duration, Instant, Rate};

use super::{Amount, Ends, Exchange, Key, OwnFlow, Trip, Workload, WorkloadContext};
use crate::flow::End;
use crate::job::workload::RequestResponseJob;
use crate::sampling::Cdf;

/// The exchange between a client and a server on one connection.
#[derive(Debug)]
struct Dialogue {
    client: End,
    server: End,
    /// the flow of the connection, once it is open
    flow: Option<u32>,
    /// number of requests so far
    requests: u32,
    /// row of the last request in the log
    row: usize,
    /// size of the response to the last request in bytes
    response_bytes: u64,
    stream: Stream,
}

/// All exchanges of the workload.
#[derive(Debug)]
pub(crate) struct RequestResponse {
    dialogues: Vec<Dialogue>,
    /// number of requests on each connection
    requests: u32,
    request_sizes: Cdf,
    response_sizes: Cdf,
    /// the rate of all clients' or all servers' links together, whichever is lower
    responses_rate: Rate,
    think: Processing,
    jitter: Duration,
    start: Instant,
}

impl RequestResponse {
    /// Each client has `connections`, to which the servers are assigned in turn.
    pub(crate) fn new(job: &RequestResponseJob, key: Key, ends: &Ends) -> Self {
        let mut servers = ends.senders.iter().cycle();
        let clients = ends.receivers.iter();
        let clients = clients.flat_map(|client| (0..job.connections).map(move |_| *client));
        let dialogue = |(number, client): (u64, End)| Dialogue {
            client,
            server: *servers
                .find(|server| server.host != client.host)
                .expect("a server on another host"),
            flow: None,
            requests: 0,
            row: 0,
            response_bytes: 0,
            stream: Stream::new(key.seed, "request-response", key.index << 32 | number),
        };
        Self {
            dialogues: (0..).zip(clients).map(dialogue).collect(),
            requests: job.requests.unwrap_or(u32::MAX),
            request_sizes: job.request.distribution(),
            response_sizes: job.response.distribution(),
            responses_rate: Rate::from_bps(ends.receivers_bps.min(ends.senders_bps)),
            think: job.think,
            jitter: job.jitter_ps,
            start: key.start,
        }
    }
}

impl Workload for RequestResponse {
    fn expected(&self, span: Duration, trip: &mut Trip<'_>) -> Amount {
        let mut logged = 0_u64;
        for it in &self.dialogues {
            let there_and_back = trip(it.client, it.server) + trip(it.server, it.client);
            let exchange = there_and_back + self.think.mean();
            let fit = span.as_ps() / exchange.as_ps().max(1) + 1;
            logged = logged.saturating_add(fit.min(self.requests.into()));
        }
        // all responses pass the clients' links, or those of the servers
        let each = self
            .responses_rate
            .time_of(self.response_sizes.mean_bytes() as u64);
        let flows = self.dialogues.len() as u64;
        Amount {
            flows,
            logged: logged.min(span.as_ps() / each.as_ps().max(1) + flows),
        }
    }

    fn begin(&mut self, context: &mut WorkloadContext<'_>) {
        for (token, dialogue) in (0..).zip(&mut self.dialogues) {
            let jitter = dialogue.stream.span_up_to(self.jitter);
            context.wake_at(self.start + jitter, token);
        }
    }

    /// A client sends a request.
    fn on_wake(&mut self, now: Instant, token: u64, context: &mut WorkloadContext<'_>) {
        let dialogue = &mut self.dialogues[token as usize];
        let request_bytes = self.request_sizes.draw(&mut dialogue.stream);
        dialogue.response_bytes = self.response_sizes.draw(&mut dialogue.stream);
        dialogue.row = context.log_request(Exchange {
            number: dialogue.requests,
            flow: dialogue.flow,
            start: now,
            end: Instant::NEVER,
            request_bytes,
            response_bytes: dialogue.response_bytes,
        });
        dialogue.requests += 1;
        match dialogue.flow {
            Some(flow) => context.request(now, flow, request_bytes),
            None => context.connect(
                now,
                [dialogue.client, dialogue.server],
                request_bytes,
                token as u32,
            ),
        }
    }

    /// A request has reached the server.
    fn on_request(&mut self, now: Instant, flow: OwnFlow, context: &mut WorkloadContext<'_>) {
        let dialogue = &mut self.dialogues[flow.token as usize];
        dialogue.flow = Some(flow.number);
        context.log_arrival(dialogue.row, flow.number);
        context.answer(now, flow.number, dialogue.response_bytes);
    }

    /// The client has received the response.
    fn on_complete(&mut self, now: Instant, flow: OwnFlow, context: &mut WorkloadContext<'_>) {
        let dialogue = &mut self.dialogues[flow.token as usize];
        context.log_answer(dialogue.row, now);
        if dialogue.requests < self.requests {
            let think = self.think.draw(&mut dialogue.stream);
            context.wake_at(now + think, u64::from(flow.token));
        }
    }
}
