//! The application's socket calls for one connection.
//!
//! The receive buffer never fills up, so the connection's window never closes. The send buffer takes everything, so a
//! write never blocks and never returns less than it was given.

use std::collections::BTreeMap;

use fairport_units::Instant;
use serde_json::{Map, Value, json};

use super::arguments::{mentions, sent_bytes};
use super::{Due, Runner};
use crate::ast::{Call, Expr};
use crate::outcome::{Failure, FailureKind, Note, shown};

/// What a supported call does, whose first argument is a socket. Any other call except `socket` is refused as not
/// modelled, whatever its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bind,
    Listen,
    Accept,
    Connect,
    Write,
    Read,
    Shutdown,
    Close,
    Fcntl,
    SetOption,
    GetOption,
}

impl Kind {
    fn of(call: &Call) -> Option<Self> {
        Some(match call.name.as_str() {
            "bind" => Self::Bind,
            "listen" => Self::Listen,
            "accept" | "accept4" => Self::Accept,
            "connect" => Self::Connect,
            "write" | "send" | "sendto" | "writev" | "sendmsg" => Self::Write,
            "read" | "recv" | "recvfrom" => Self::Read,
            "shutdown" => Self::Shutdown,
            "close" => Self::Close,
            "fcntl" => Self::Fcntl,
            "setsockopt" => Self::SetOption,
            "getsockopt" => Self::GetOption,
            _ => return None,
        })
    }
}

const O_RDWR: i64 = 2;
const O_NONBLOCK: i64 = 0x800;

/// An open socket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Socket {
    listening: bool,
    nonblocking: bool,
    pub(super) send_buffer: Option<i64>,
}

/// The sockets of a script, and the settings of the connection that their options ask for.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    open: BTreeMap<i64, Socket>,
    /// the socket of the connection
    connected: Option<i64>,
    pub(super) mss: Option<u16>,
    pub(super) no_delay: bool,
    pub(super) cork: bool,
    /// the settings that socket options change, by name
    pub(super) settings: Map<String, Value>,
    /// the call that blocks now: its line, the time at which it is to return, and the call
    blocked: Option<(u32, Instant, Call)>,
}

impl Sockets {
    pub(super) fn is_listening(&self) -> bool {
        self.open.values().any(|socket| socket.listening)
    }

    /// The settings that the socket options so far change for a new connection.
    pub(super) fn overrides(&self) -> Map<String, Value> {
        let mut all = self.settings.clone();
        if let Some(mss) = self.mss {
            all.insert("mss_bytes".to_owned(), json!(mss));
        }
        all
    }
}

/// The result of a call: the value, and the name of the error if there was one.
pub(super) type Returned = (i64, Option<&'static str>);

pub(super) const fn ok(value: i64) -> Returned {
    (value, None)
}

pub(super) const fn error(name: &'static str) -> Returned {
    (-1, Some(name))
}

impl Runner {
    pub(super) fn call(&mut self, line: u32, due: Due, call: &Call) -> Result<(), Failure> {
        if let Some(until) = call.until {
            let until = due.origin + until;
            // a connect or a write takes effect at once
            if matches!(Kind::of(call), Some(Kind::Connect | Kind::Write)) {
                self.perform(line, call)?;
            }
            self.sockets.blocked = Some((line, until, call.clone()));
            return Ok(());
        }
        let returned = self.perform(line, call)?;
        self.compare(line, call, returned)
    }

    /// Checks the call that blocks, if there is one. It must have returned by the next call or the end of the script.
    pub(super) fn finish_blocked(&mut self, now: Instant) -> Result<(), Failure> {
        let Some((line, until, call)) = self.sockets.blocked.take() else {
            return Ok(());
        };
        let late = until + self.setup.tolerance;
        self.advance(line, late.min(now.max(until)), true)?;
        let established = self.endpoint.as_ref().and_then(|it| it.established);
        let kind = Kind::of(&call);
        match kind {
            Some(Kind::Connect | Kind::Accept) => match established {
                Some(at) if at <= late && at + self.setup.tolerance >= until => Ok(()),
                at => {
                    let expected = format!("{} to return at {}", call.name, shown(until));
                    let actual = at.map_or_else(
                        || "the connection is not established".to_owned(),
                        |at| format!("the connection was established at {}", shown(at)),
                    );
                    Err(self.failure(FailureKind::Call, line, expected, actual))
                }
            },
            Some(Kind::Write) => {
                let text = "when a write returns is not modelled: the send buffer takes all";
                self.note(line, text.to_owned());
                Ok(())
            }
            _ => {
                let returned = self.perform(line, &call)?;
                self.compare(line, &call, returned)
            }
        }?;
        if kind == Some(Kind::Accept) {
            self.accepted(&call);
        }
        Ok(())
    }

    pub(super) fn note(&mut self, line: u32, text: String) {
        self.notes.push(Note { line, text });
    }

    fn compare(&self, line: u32, call: &Call, returned: Returned) -> Result<(), Failure> {
        let (value, errno) = returned;
        if call.result == Expr::Any {
            return Ok(());
        }
        let same_value = match &call.result {
            Expr::Number(expected) => *expected == value,
            _ => true,
        };
        let same_error = match (&call.errno, errno) {
            (Some(expected), Some(errno)) => expected == errno,
            (expected, errno) => expected.is_none() && errno.is_none(),
        };
        if same_value && same_error {
            return Ok(());
        }
        let shown = |value: i64, errno: Option<&str>| {
            errno.map_or_else(|| value.to_string(), |errno| format!("{value} {errno}"))
        };
        let expected = match &call.result {
            Expr::Number(number) => *number,
            _ => value,
        };
        let expected = shown(expected, call.errno.as_deref());
        let actual = format!("it returned {}", shown(value, errno));
        let expected = format!("{}(..) = {expected}", call.name);
        Err(self.failure(FailureKind::Call, line, expected, actual))
    }

    fn unsupported(&self, line: u32, what: &str) -> Failure {
        let expected = "a call of the subset for one connection".to_owned();
        self.failure(FailureKind::Unsupported, line, expected, what.to_owned())
    }

    fn perform(&mut self, line: u32, call: &Call) -> Result<Returned, Failure> {
        let number = |index: usize| match call.arguments.get(index) {
            Some(Expr::Number(number)) => Some(*number),
            _ => None,
        };
        let expected = match call.result {
            Expr::Number(number) => number,
            _ => 0,
        };
        let fd = number(0).unwrap_or(-1);
        if call.name == "socket" {
            if mentions(&call.arguments, "IPPROTO_UDP") || mentions(&call.arguments, "SOCK_DGRAM") {
                return Err(self.unsupported(line, "sockets of other protocols are not modelled"));
            }
            let socket = Socket {
                nonblocking: mentions(&call.arguments, "SOCK_NONBLOCK"),
                ..Socket::default()
            };
            // the script chooses the number of the socket
            self.sockets.open.insert(expected, socket);
            return Ok(ok(expected));
        }
        let Some(kind) = Kind::of(call) else {
            return Err(self.unsupported(line, &format!("`{}` is not modelled", call.name)));
        };
        if mentions(&call.arguments, "MSG_FASTOPEN") {
            return Err(self.unsupported(line, "TCP Fast Open is not modelled"));
        }
        if !self.sockets.open.contains_key(&fd) {
            return Ok(error("EBADF"));
        }
        match kind {
            Kind::Bind => Ok(ok(0)),
            Kind::Listen => {
                self.socket(fd).listening = true;
                Ok(ok(0))
            }
            Kind::Accept => Ok(self.accept(call)),
            Kind::Connect => self.connect(line, call, fd),
            Kind::Write => self.send(line, call, fd),
            Kind::Read => Ok(self.receive(fd, number(2).unwrap_or(0))),
            Kind::Shutdown => Ok(self.shutdown(call, fd)),
            Kind::Close => Ok(self.close(fd)),
            Kind::Fcntl => Ok(self.fcntl(call, fd)),
            Kind::SetOption => Ok(self.set_option(line, call, fd)),
            Kind::GetOption => self.get_option(line, call, fd),
        }
    }

    pub(super) fn socket(&mut self, fd: i64) -> &mut Socket {
        self.sockets.open.entry(fd).or_default()
    }

    fn accept(&mut self, call: &Call) -> Returned {
        let is_open = self
            .endpoint
            .as_ref()
            .is_some_and(|it| it.established.is_some());
        if !is_open || self.sockets.connected.is_some() {
            return error("EAGAIN");
        }
        self.accepted(call);
        match call.result {
            Expr::Number(fd) => ok(fd),
            _ => ok(0),
        }
    }

    fn accepted(&mut self, call: &Call) {
        if let Expr::Number(fd) = call.result {
            let socket = Socket {
                nonblocking: mentions(&call.arguments, "SOCK_NONBLOCK"),
                ..Socket::default()
            };
            self.sockets.open.insert(fd, socket);
            self.sockets.connected = Some(fd);
        }
    }

    fn connect(&mut self, line: u32, call: &Call, fd: i64) -> Result<Returned, Failure> {
        if self.sockets.connected.is_some_and(|it| it != fd) {
            return Err(self.unsupported(line, "a second connection is not modelled"));
        }
        if let Some(endpoint) = &self.endpoint {
            return Ok(match endpoint.established {
                Some(_) => ok(0),
                None => error("EALREADY"),
            });
        }
        let now = self.now;
        self.begin(line, true)?.pump(now);
        self.sockets.connected = Some(fd);
        let waits = call.until.is_some() || !self.socket(fd).nonblocking;
        Ok(if waits { ok(0) } else { error("EINPROGRESS") })
    }

    fn send(&mut self, line: u32, call: &Call, fd: i64) -> Result<Returned, Failure> {
        let bytes = sent_bytes(call);
        let now = self.now;
        let connected = self.sockets.connected == Some(fd);
        let Some(endpoint) = self.endpoint.as_mut().filter(|_| connected) else {
            return Ok(error("EPIPE"));
        };
        if endpoint.connection.is_reset() {
            // the socket reports its error once; after the peer's FIN it is another one (`tcp_reset`)
            let reported = std::mem::replace(&mut endpoint.reset_reported, true);
            let is_late = reported || endpoint.connection.is_closed_by_peer();
            return Ok(error(if is_late { "EPIPE" } else { "ECONNRESET" }));
        }
        if endpoint.outbox.closing {
            return Ok(error("EPIPE"));
        }
        let Some(bytes) = bytes else {
            return Err(self.unsupported(line, "the number of bytes is not a number"));
        };
        let more = mentions(&call.arguments, "MSG_MORE");
        let end_of_record = mentions(&call.arguments, "MSG_EOR");
        endpoint.outbox.write(bytes, more, end_of_record);
        endpoint.pump(now);
        Ok(ok(bytes.cast_signed()))
    }

    fn receive(&mut self, fd: i64, limit: i64) -> Returned {
        let connected = self.sockets.connected == Some(fd);
        let Some(endpoint) = self.endpoint.as_mut().filter(|_| connected) else {
            return error("ENOTCONN");
        };
        let held = endpoint.connection.delivered_bytes() - endpoint.read;
        let taken = held.min(limit.max(0) as u64);
        endpoint.read += taken;
        if taken > 0 || limit == 0 || endpoint.reads_end {
            ok(taken.cast_signed())
        } else if endpoint.connection.is_reset() {
            if std::mem::replace(&mut endpoint.reset_reported, true) {
                ok(0)
            } else {
                error("ECONNRESET")
            }
        } else {
            error("EAGAIN")
        }
    }

    fn shutdown(&mut self, call: &Call, fd: i64) -> Returned {
        let asks = |name, number| {
            mentions(&call.arguments, name) || call.arguments.get(1) == Some(&Expr::Number(number))
        };
        if self.sockets.connected != Some(fd) {
            return ok(0);
        }
        let both = asks("SHUT_RDWR", 2);
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.reads_end |= both || asks("SHUT_RD", 0);
        }
        if both || asks("SHUT_WR", 1) {
            self.end_of_data();
        }
        ok(0)
    }

    fn end_of_data(&mut self) {
        let now = self.now;
        if let Some(endpoint) = &mut self.endpoint {
            if endpoint.established.is_none() && !endpoint.connection.is_reset() {
                // RFC 9293 3.10.4, SYN-SENT: without a connection there is nothing to send to the peer
                endpoint.abort(now);
                return;
            }
            endpoint.outbox.close();
            endpoint.pump(now);
        }
    }

    fn close(&mut self, fd: i64) -> Returned {
        self.sockets.open.remove(&fd);
        if self.sockets.connected == Some(fd) {
            let now = self.now;
            match &mut self.endpoint {
                // RFC 2525 2.17: the peer must not believe that the application read data that it did not read
                Some(it) if it.connection.delivered_bytes() > it.read => it.abort(now),
                _ => self.end_of_data(),
            }
        }
        ok(0)
    }

    fn fcntl(&mut self, call: &Call, fd: i64) -> Returned {
        if mentions(&call.arguments, "F_SETFL") {
            self.socket(fd).nonblocking = mentions(&call.arguments, "O_NONBLOCK");
            return ok(0);
        }
        let flags = if self.socket(fd).nonblocking {
            O_RDWR | O_NONBLOCK
        } else {
            O_RDWR
        };
        ok(flags)
    }
}
