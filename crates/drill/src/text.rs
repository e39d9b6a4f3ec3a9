//! Formats segments as scripts write them.

use crate::ast::{Ecn, Packet, TcpOption};

/// A segment as a script writes it.
pub(crate) fn segment(packet: &Packet) -> String {
    let letters = [(0x01, 'F'), (0x02, 'S'), (0x04, 'R'), (0x08, 'P')];
    let more = [(0x20, 'U'), (0x40, 'E'), (0x80, 'W'), (0x10, '.')];
    let flags: String = letters
        .iter()
        .chain(&more)
        .filter(|(bit, _)| packet.flags & bit != 0)
        .map(|(_, letter)| *letter)
        .collect();
    let flags = if flags.is_empty() { "-" } else { &flags };
    let end = packet.seq.wrapping_add(packet.payload);
    let mut parts: Vec<String> = packet.ecn.map(codepoint_text).into_iter().collect();
    parts.push(format!("{flags} {}:{end}({})", packet.seq, packet.payload));
    parts.extend(packet.ack.map(|ack| format!("ack {ack}")));
    parts.extend(packet.window.map(|window| format!("win {window}")));
    match packet.options.as_deref() {
        None => parts.push("<...>".to_owned()),
        Some([]) => {}
        Some(options) => {
            let options: Vec<String> = options.iter().map(option_text).collect();
            parts.push(format!("<{}>", options.join(",")));
        }
    }
    parts.join(" ")
}

fn codepoint_text(ecn: Ecn) -> String {
    let name = match ecn {
        Ecn::NotEct => "noecn",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::EitherEct => "ect01",
        Ecn::Ce => "ce",
    };
    format!("[{name}]")
}

fn option_text(option: &TcpOption) -> String {
    match option {
        TcpOption::Nop => "nop".to_owned(),
        TcpOption::Eol => "eol".to_owned(),
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(bits) => format!("wscale {bits}"),
        TcpOption::SackPermitted => "sackOK".to_owned(),
        TcpOption::Timestamps(val, ecr) => format!("TS val {val} ecr {ecr}"),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(a, b)| format!("{a}:{b}")).collect();
            format!("sack {}", blocks.join(" "))
        }
    }
}

/// The events of a script without their times and timestamps, and without comments.
pub(crate) fn without_times(events: &str) -> impl Iterator<Item = (&str, &str)> {
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
pub(crate) fn times_sent(events: &str) -> impl Iterator<Item = u64> {
    events.lines().filter_map(|line| {
        let (time, event) = line.split_once(' ')?;
        let (seconds, us) = time.split('~').next()?.split_once('.')?;
        let us: u64 = format!("{seconds}{us}").parse().ok()?;
        event.starts_with('>').then_some(us)
    })
}
