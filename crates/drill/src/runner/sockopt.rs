//! `setsockopt` and `getsockopt`.

use serde_json::json;

use super::Runner;
use super::calls::{Returned, error, ok};
use crate::ast::{Call, Expr};
use crate::outcome::{Failure, FailureKind};

/// Linux doubles the requested size of a send buffer, because it counts its own records too.
const BUFFER_FACTOR: i64 = 2;

/// The smallest value that `TCP_MAXSEG` accepts (`TCP_MIN_MSS`).
const MSS_MIN: u16 = 88;

impl Runner {
    pub(super) fn set_option(&mut self, line: u32, call: &Call, fd: i64) -> Returned {
        let value = match call.arguments.get(3) {
            Some(Expr::List(list)) => match list.first() {
                Some(Expr::Number(number)) => Some(*number),
                _ => None,
            },
            _ => None,
        };
        let on = value.unwrap_or(0) != 0;
        let now = self.now;
        match (option_name(call), value) {
            ("TCP_NODELAY", _) => {
                self.sockets.no_delay = on;
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.outbox.nagle = !on;
                    if on {
                        endpoint.outbox.push();
                    }
                    endpoint.pump(now);
                }
            }
            ("TCP_CORK", _) => {
                self.sockets.cork = on;
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.outbox.cork = on;
                    if !on {
                        endpoint.outbox.push();
                    }
                    endpoint.pump(now);
                }
            }
            ("TCP_MAXSEG", Some(mss)) if self.endpoint.is_none() => match u16::try_from(mss) {
                Ok(mss) if mss >= MSS_MIN => self.sockets.mss = Some(mss),
                _ => return error("EINVAL"),
            },
            ("SO_SNDBUF", Some(size)) => self.socket(fd).send_buffer = Some(size),
            ("TCP_CONGESTION", _) if self.endpoint.is_none() => {
                if let Some(Expr::Text(name)) = call.arguments.get(3) {
                    let ours = if name == "reno" { "newreno" } else { name };
                    let settings = &mut self.sockets.settings;
                    settings.insert("congestion_control".to_owned(), json!(ours));
                }
            }
            // any limit makes a kernel pace; the limit itself has no counterpart here
            ("SO_MAX_PACING_RATE", _) if self.endpoint.is_none() => {
                let settings = &mut self.sockets.settings;
                settings.insert("pacing".to_owned(), json!("linux"));
            }
            ("SO_REUSEADDR" | "SO_REUSEPORT" | "IP_TOS" | "IP_MTU_DISCOVER", _) => {}
            (name, _) => {
                let text = format!("socket option without effect here: {name}");
                self.note(line, text);
            }
        }
        ok(0)
    }

    pub(super) fn get_option(
        &mut self,
        line: u32,
        call: &Call,
        fd: i64,
    ) -> Result<Returned, Failure> {
        let expected = match call.arguments.get(3) {
            Some(Expr::List(list)) => list.first().cloned(),
            _ => None,
        };
        let mss = self.mss_of_socket();
        let send_buffer = self.socket(fd).send_buffer;
        let actual = match (option_name(call), send_buffer) {
            ("SO_ERROR", _) => 0,
            ("TCP_MAXSEG", _) => mss,
            ("TCP_NODELAY", _) => i64::from(self.sockets.no_delay),
            ("TCP_CORK", _) => i64::from(self.sockets.cork),
            ("SO_SNDBUF", Some(size)) => size.saturating_mul(BUFFER_FACTOR),
            (name, _) => {
                self.note(line, format!("socket option that is not compared: {name}"));
                return Ok(ok(0));
            }
        };
        match expected {
            Some(Expr::Number(number)) if number != actual => {
                let expected = format!("getsockopt {} = {number}", option_name(call));
                let actual = format!("it is {actual}");
                Err(self.failure(FailureKind::Call, line, expected, actual))
            }
            _ => Ok(ok(0)),
        }
    }

    fn mss_of_socket(&self) -> i64 {
        match &self.endpoint {
            Some(endpoint) if endpoint.established.is_some() => {
                i64::from(endpoint.connection.info().snd_mss)
            }
            _ => i64::from(self.sockets.mss.unwrap_or(536)),
        }
    }
}

fn option_name(call: &Call) -> &str {
    match call.arguments.get(2) {
        Some(Expr::Word(name)) => name,
        _ => "",
    }
}
