//! Runs a script against a connection in virtual time: timers and segments happen exactly when they are due, and
//! processing takes no time.

mod arguments;
mod calls;
mod chronograph;
mod endpoint;
mod expect;
mod fields;
mod outbox;
mod setup;
mod sockopt;
mod wire;

use fairport_tcp::Connection;
use fairport_units::{Duration, Instant};

use self::calls::Sockets;
use self::endpoint::Endpoint;
use self::setup::Setup;
use self::wire::Numbering;
use crate::ast::{Action, Event, EventTime, Packet, Script};
use crate::code::{Fault, Names, Statement};
use crate::outcome::{Failure, FailureKind, Note, Outcome};
use crate::sysctl::HostQueue;

pub use self::setup::SetupError;

/// How a script is run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The stack, or None for the one that the script names, or else [`DEFAULT_STACK`].
    pub stack: Option<String>,
    /// The initial sequence number of the stack. Scripts do not see it, because their numbers are relative.
    pub isn: u32,
    /// The tolerance of times, whatever the script says. With None, that of the script, or else packetdrill's 4 ms.
    pub tolerance: Option<Duration>,
}

/// The stack of a script if neither the script nor the caller names one: today's Linux.
pub const DEFAULT_STACK: &str = "linux-6";

/// Runs a script.
///
/// # Errors
/// [`SetupError`] if the stack does not exist, or an option of the script has an invalid value.
pub fn run(script: &Script, options: &Options) -> Result<Outcome, SetupError> {
    let setup = Setup::of(script, options)?;
    let stack = setup.stack.clone();
    let mut runner = Runner {
        now: Instant::ZERO,
        anchor: None,
        sockets: Sockets::default(),
        endpoint: None,
        numbering: Numbering::new(options.isn),
        names: Names::default(),
        notes: setup.notes.clone(),
        setup,
    };
    let mut failure = None;
    for event in &script.events {
        if let Err(it) = runner.event(event) {
            failure = Some(it);
            break;
        }
    }
    if failure.is_none() {
        failure = runner.finish().err();
    }
    runner.notes.sort_by_key(|note| note.line);
    Ok(Outcome {
        stack,
        failure,
        notes: runner.notes,
    })
}

/// The times at which an event is due, given when the previous event happened.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// the time from which a relative time counts; zero for absolute times
    origin: Instant,
    from: Instant,
    /// latest time; [`Instant::NEVER`] if the event may happen at any time
    to: Instant,
}

struct Runner {
    setup: Setup,
    now: Instant,
    /// time of the previous event according to the script; None if the script gives a range
    anchor: Option<Instant>,
    sockets: Sockets,
    endpoint: Option<Endpoint>,
    numbering: Numbering,
    names: Names,
    notes: Vec<Note>,
}

impl Runner {
    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let due = self.due(event.time);
        let line = event.at.line;
        if !matches!(event.action, Action::Outbound(_)) {
            self.no_rest()?;
        }
        match &event.action {
            Action::Outbound(packet) => self.expect(line, due, packet)?,
            Action::Inbound(packet) => {
                self.advance(line, due.from, false)?;
                self.inbound(line, packet)?;
            }
            Action::Call(call) => {
                self.advance(line, due.from, false)?;
                self.finish_blocked(due.from)?;
                self.call(line, due, call)?;
            }
            Action::Code(statements) => {
                self.advance(line, due.from, true)?;
                self.code(statements)?;
            }
            Action::Command(command) => {
                self.advance(line, due.from, false)?;
                self.command(line, command);
            }
        }
        Ok(())
    }

    /// Applies a command. Settings of the stack apply only to connections that begin later, while the queue below the
    /// stack can open and close at any time.
    fn command(&mut self, line: u32, command: &str) {
        let before = self.setup.host_queue;
        let notes = self.setup.command(line, command);
        let Some(endpoint) = &mut self.endpoint else {
            self.notes.extend(notes);
            return;
        };
        let queue = self.setup.host_queue;
        if queue == before || queue == HostQueue::Paced {
            let text = "a command after the connection began is not executed".to_owned();
            self.notes.push(Note { line, text });
        } else {
            // TCP does not notice that there is room again, and sends at its next ACK or timer
            endpoint.host_queue_full = queue == HostQueue::Closed;
        }
    }

    /// The times at which an event is due. As in packetdrill, relative times count from the time that the script gives
    /// for the previous event, or from when that event happened if the script leaves it open.
    fn due(&mut self, time: EventTime) -> Due {
        let due = |origin, from, to| Due {
            origin,
            from: origin + from,
            to: origin + to,
        };
        let start = self.anchor.unwrap_or(self.now);
        let due = match time {
            EventTime::Absolute(at) => due(Instant::ZERO, at, at),
            EventTime::Relative(span) => due(start, span, span),
            EventTime::AbsoluteRange(from, to) => due(Instant::ZERO, from, to),
            EventTime::RelativeRange(from, to) => due(self.now, from, to),
            EventTime::Any => due(Instant::ZERO, Duration::ZERO, Duration::NEVER),
        };
        let anchored = matches!(time, EventTime::Absolute(_) | EventTime::Relative(_));
        self.anchor = anchored.then_some(due.from);
        due
    }

    /// Lets time pass up to `until`. Timers that are due at `until` itself run after the script's event unless
    /// `inclusive` is set, because a kernel's timers are late rather than early.
    fn advance(&mut self, line: u32, until: Instant, inclusive: bool) -> Result<(), Failure> {
        if let Some(endpoint) = &mut self.endpoint {
            let quiet = endpoint.advance(&mut self.now, until, inclusive);
            if !quiet {
                return Err(self.failure(
                    FailureKind::Unsupported,
                    line,
                    "the stack to come to rest".to_owned(),
                    "it sent or set timers without end".to_owned(),
                ));
            }
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn inbound(&mut self, line: u32, packet: &Packet) -> Result<(), Failure> {
        let segment = self.numbering.inbound(packet).map_err(|problem| {
            let what = "a segment that can be put on the wire".to_owned();
            self.failure(FailureKind::Unsupported, line, what, problem)
        })?;
        if self.endpoint.is_none() && self.sockets.is_listening() {
            self.begin(line, false)?;
        }
        if let Some(endpoint) = &mut self.endpoint {
            let ecn = packet.ecn.first().copied().unwrap_or_default();
            endpoint.arrive(self.now, &segment, ecn);
        }
        Ok(())
    }

    /// Begins the connection, by the stack's own SYN (`active`) or the peer's.
    fn begin(&mut self, line: u32, active: bool) -> Result<&mut Endpoint, Failure> {
        let settings = self.setup.settings(self.sockets.overrides(), active);
        let settings = settings.map_err(|error| {
            let what = "settings that the stack takes".to_owned();
            self.failure(FailureKind::Unsupported, line, what, error.to_string())
        })?;
        let connection = if active {
            Connection::active(&settings)
        } else {
            Connection::passive(&settings)
        };
        let isn = self.setup.isn;
        let mut endpoint = Endpoint::new(connection.with_isn(isn), isn, !self.sockets.no_delay);
        endpoint.outbox.cork = self.sockets.cork;
        endpoint.host_queue_full = self.setup.host_queue == HostQueue::Closed;
        Ok(self.endpoint.insert(endpoint))
    }

    fn code(&mut self, statements: &[Statement]) -> Result<(), Failure> {
        let fields = fields::Fields {
            endpoint: self.endpoint.as_ref(),
            now: self.now,
            mss: self.sockets.mss.unwrap_or(self.setup.mss()),
        };
        let result = self.names.run(statements, &|name| fields.value(name));
        result.map_err(|(line, fault)| match fault {
            Fault::False { condition, values } => {
                self.failure(FailureKind::Assertion, line, condition, values)
            }
            Fault::Impossible(why) => {
                let what = "an assertion that can be evaluated".to_owned();
                self.failure(FailureKind::Unsupported, line, what, why)
            }
        })
    }

    /// Checks, after the last event, that nothing is left half done.
    fn finish(&mut self) -> Result<(), Failure> {
        self.no_rest()?;
        self.finish_blocked(Instant::NEVER)
    }

    fn failure(&self, kind: FailureKind, line: u32, expected: String, actual: String) -> Failure {
        Failure {
            kind,
            line,
            time: self.now,
            expected,
            actual,
        }
    }
}
