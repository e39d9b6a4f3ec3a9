//! Formats segments as scripts write them.

use std::fmt;

use fairport_tcp::Ecn;

use crate::ast::{Packet, TcpOption};

/// A segment as a script writes it.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [(0x01, 'F'), (0x02, 'S'), (0x04, 'R'), (0x08, 'P')];
        let more = [(0x20, 'U'), (0x40, 'E'), (0x80, 'W'), (0x10, '.')];
        let flags: String = letters
            .iter()
            .chain(&more)
            .filter(|(bit, _)| self.flags & bit != 0)
            .map(|(_, letter)| *letter)
            .collect();
        let flags = if flags.is_empty() { "-" } else { &flags };
        let end = self.seq.wrapping_add(self.payload);
        let ecn = codepoint_text(&self.ecn).map(|name| format!("[{name}]"));
        let mut parts: Vec<String> = ecn.into_iter().collect();
        parts.push(format!("{flags} {}:{end}({})", self.seq, self.payload));
        parts.extend(self.ack.map(|ack| format!("ack {ack}")));
        parts.extend(self.window.map(|window| format!("win {window}")));
        match self.options.as_deref() {
            None => parts.push("<...>".to_owned()),
            Some([]) => {}
            Some(options) => {
                let options: Vec<String> = options.iter().map(option_text).collect();
                parts.push(format!("<{}>", options.join(",")));
            }
        }
        f.write_str(&parts.join(" "))
    }
}

fn codepoint_text(accepted: &[Ecn]) -> Option<&'static str> {
    Some(match accepted {
        [] => return None,
        [Ecn::NotEct] => "noecn",
        [Ecn::Ect0] => "ect0",
        [Ecn::Ect1] => "ect1",
        [Ecn::Ce] => "ce",
        _ => "ect01",
    })
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
