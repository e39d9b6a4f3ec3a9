//! Reads times in seconds, as in `1.5`, `+.5`, `*`, `1~2` and `+1~+2`.

use fairport_units::Duration;

use super::Cursor;
use crate::ast::EventTime;
use crate::error::ScriptError;
use crate::lexer::Token;

/// The longest time, ten days. Longer times are certainly a mistake.
const SECONDS_MAX: u64 = 864_000;

impl Cursor<'_> {
    pub(super) fn event_time(&mut self) -> Result<EventTime, ScriptError> {
        if self.take('*') {
            return Ok(EventTime::Any);
        }
        let relative = self.take('+');
        let what = if relative {
            "a time in seconds after `+`"
        } else {
            "the time of an event (`1.5`, `+.5`, `*`)"
        };
        let from = self.time(what)?;
        if !self.take('~') {
            return Ok(if relative {
                EventTime::Relative(from)
            } else {
                EventTime::Absolute(from)
            });
        }
        if relative {
            self.need('+')?;
        }
        let end = self.at();
        let to = self.time("the end of the range of times")?;
        if to < from {
            let expected = "an end of the range that is not before its beginning";
            return Err(ScriptError::new(end, expected, "an earlier time"));
        }
        Ok(if relative {
            EventTime::RelativeRange(from, to)
        } else {
            EventTime::AbsoluteRange(from, to)
        })
    }

    /// Reads a time in seconds, exact to the picosecond.
    pub(super) fn time(&mut self, what: &str) -> Result<Duration, ScriptError> {
        let time = match self.peek() {
            Token::Number(seconds) => u64::try_from(*seconds)
                .ok()
                .filter(|seconds| *seconds <= SECONDS_MAX)
                .map(Duration::from_secs),
            Token::Decimal(text) => decimal(text),
            _ => None,
        };
        let Some(time) = time else {
            return Err(self.expected(what));
        };
        self.skip();
        Ok(time)
    }
}

fn decimal(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.')?;
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let digits = fraction.get(..12).unwrap_or(fraction);
    let fraction: u64 = format!("{digits:0<12}").parse().ok()?;
    (whole <= SECONDS_MAX).then(|| Duration::from_secs(whole) + Duration::from_ps(fraction))
}
