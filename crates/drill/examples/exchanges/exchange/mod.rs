//! Random lossy exchanges, written as packetdrill scripts. A script holds what a Linux stack of `crates/tcp` sends to a
//! peer behind a path that loses, reorders and delays, so that a kernel can be compared with it. The stack is the
//! sender or the receiver.
//!
//! Some exchanges are useless for the comparison: a timer and a segment are so close together that the kernel's clock
//! decides which comes first. They are drawn again; [`exchange`] returns how often.

mod dice;
mod draw;
mod handshakes;
mod kernel_clock;
mod paced;
mod path;
mod peer;
mod scribe;
mod script;
mod stalls;

use fairport_units::{Duration, Instant};

use self::dice::Dice;
use self::draw::Draw;
pub(crate) use self::draw::{Side, Theme};
use self::scribe::Scribe;
use self::script::script;

/// The time of the first SYN. It leaves time for the calls before it, which wait for the commands.
const BEGIN: Instant = Instant::from_ps(300_000_000_000);
/// The longest wait for a timer: an exchange ends before a longer one. From 512 ticks on, the timer wheel rounds up to
/// a multiple of 64 ticks, which is more than any tolerance.
const TOO_LONG: Duration = Duration::from_ms(2_020);
/// How much what a pacer sends may move because a machine is late.
const NEAR: Duration = Duration::from_ms(2);
/// The window scale of the peer, as the preset `linux-6` has it.
const WINDOW_SCALE: u32 = 7;
/// The flag `PSH`, which Linux sets at the end of a write.
const PSH: u8 = 0x08;

/// The properties of the machine that an exchange is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// The number of ticks of the kernel's clock per second.
    pub(crate) hz: u32,
    /// The time from one segment of a write to the next. A kernel copies a write and sends it segment by segment, so
    /// each segment is sent a little later than the one before. With zero, all are sent at once, as in a simulation.
    pub(crate) within_write: Duration,
}

/// Draws an exchange from `seed` and writes a script of what the stack `linux-6` does in it on `side`, for a kernel on
/// `machine`. Also returns the number of draws that were discarded because a kernel's clock would have decided them.
pub(crate) fn exchange(side: Side, theme: Theme, seed: u64, machine: Machine) -> (String, u64) {
    let mut attempt = 0;
    loop {
        let mut dice = Dice::new(seed, attempt);
        let draw = Draw::new(side, theme, &mut dice);
        let record = |late| Scribe::new(&draw, machine, late).record(&draw, &mut dice.clone());
        // an algorithm that paces has many thresholds
        let repeats = if draw.paced { 3 } else { 1 };
        let same = |events: &str| {
            (0..repeats).all(|number| {
                let later = record(Some(Dice::new(seed, attempt + number)));
                later.is_some_and(|later| is_same(&draw, events, &later))
            })
        };
        if let Some(events) = record(None)
            && same(&events)
        {
            return (script(seed, attempt, &draw, &events), attempt);
        }
        attempt += 1;
    }
}

/// Whether two recordings have the same events. What the pacer sends may move past an arrival, unless the timestamps
/// show that.
fn is_same(draw: &Draw, one: &str, other: &str) -> bool {
    let of =
        |events, sent| without_times(events).filter(move |(head, _)| head.starts_with('>') == sent);
    let is_near = |(one, other): (u64, u64)| one.abs_diff(other) < NEAR.as_ps() / 1_000_000;
    let near = || times_sent(one).zip(times_sent(other)).all(is_near);
    if !draw.paced {
        without_times(one).eq(without_times(other))
    } else if draw.timestamps {
        without_times(one).eq(without_times(other)) && near()
    } else {
        of(one, true).eq(of(other, true)) && of(one, false).eq(of(other, false)) && near()
    }
}

/// The events of a script without their times and timestamps, and without comments.
fn without_times(events: &str) -> impl Iterator<Item = (&str, &str)> {
    events
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| {
            let event = line.split_once(' ').map_or("", |(_, event)| event);
            let (head, rest) = event.split_once("TS val").unwrap_or((event, ""));
            (head, rest.split_once(',').map_or("", |(_, blocks)| blocks))
        })
}

/// The times in microseconds at which the stack sends, or the earliest where the script gives a range.
fn times_sent(events: &str) -> impl Iterator<Item = u64> {
    events.lines().filter_map(|line| {
        let (time, event) = line.split_once(' ')?;
        let (seconds, us) = time.split('~').next()?.split_once('.')?;
        let us: u64 = format!("{seconds}{us}").parse().ok()?;
        event.starts_with('>').then_some(us)
    })
}
