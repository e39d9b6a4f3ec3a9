//! Finds the back-quoted commands that change the stack, or the queue that the host has below it. No command is ever
//! executed.

use fairport_tcp::Settings;
use serde_json::{Map, Value, json};

use crate::outcome::Note;

/// The changes that the commands ask for.
#[derive(Debug, Default)]
pub(crate) struct Sysctls {
    /// settings to override
    pub(crate) overrides: Map<String, Value>,
    /// whether ECN is accepted but not offered, if a command says so
    pub(crate) ecn_only_accepted: Option<bool>,
    /// the queue that `tc qdisc` put below the stack, if a command does
    pub(crate) host_queue: Option<HostQueue>,
    pub(crate) notes: Vec<Note>,
}

/// The host's queue discipline below the stack, as far as it affects an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostQueue {
    /// The queue takes every packet and sends it at once.
    Open,
    /// The queue has no room: `limit 0`.
    Closed,
    /// `fq`: the queue asks TCP for departure times (`SK_PACING_FQ`), so TCP paces.
    Paced,
}

/// The kernel settings that the common helper of the public scripts makes and that have a counterpart here. The helper
/// also switches on features that are on by default in today's kernels; here the stack decides about them.
const DEFAULTS: &[(&str, &str)] = &[
    ("tcp_rmem", "4096 540000 15728640"),
    ("tcp_timestamps", "1"),
    ("tcp_sack", "1"),
    ("tcp_congestion_control", "cubic"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_ecn", "0"),
];

/// The kernel settings that are switches, and our names for them.
const SWITCHES: &[(&str, &str)] = &[
    ("tcp_timestamps", "timestamps"),
    ("tcp_sack", "sack"),
    ("tcp_abc", "abc"),
    ("tcp_frto", "frto"),
    ("tcp_dsack", "dsack"),
    ("tcp_ecn", "ecn"),
    ("tcp_early_retrans", "tail_loss_probe"),
    ("tcp_recovery", "rack"),
    ("tcp_slow_start_after_idle", "slow_start_after_idle"),
    ("tcp_ecn_fallback", "ecn_fallback"),
    ("tcp_retrans_collapse", "joins_retransmissions"),
];

/// The kernel settings that are numbers, our names for them, and the kernel's unit in ours.
const NUMBERS: &[(&str, &str, u64)] = &[
    ("tcp_comp_sack_nr", "sack_compression", 1),
    ("tcp_syn_linear_timeouts", "syn_linear_timeouts", 1),
    ("tcp_rto_min_us", "rto_min_ps", 1_000_000),
    ("tcp_rto_max_ms", "rto_max_ps", 1_000_000_000),
];

impl Sysctls {
    /// Reads the text of back-quoted commands, whose opening quote is at `line`. `stack` shows which settings exist.
    pub(crate) fn command(&mut self, line: u32, text: &str, stack: &Settings) {
        let joined = text.replace("\\\n", " ");
        for (index, command) in joined.lines().enumerate() {
            let line = line + index as u32;
            let command = command.split('#').next().unwrap_or_default();
            let words: Vec<&str> = command.split_whitespace().collect();
            self.words(line, &words, stack);
        }
    }

    fn words(&mut self, line: u32, words: &[&str], stack: &Settings) {
        let Some((&program, arguments)) = words.split_first() else {
            return;
        };
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            "defaults.sh" => {
                for (key, value) in DEFAULTS {
                    self.take(line, key, value, stack, false);
                }
            }
            "sysctl" | "set_sysctls.py" => {
                for (key, value) in assignments(arguments) {
                    self.take(line, &key, &value, stack, true);
                }
            }
            "tc" => match host_queue(arguments) {
                Some(queue) => self.host_queue = Some(queue),
                None => self.note(line, format!("not executed: `{}`", words.join(" "))),
            },
            // the script that set_sysctls.py leaves behind to undo its changes
            _ if name.starts_with("sysctl_restore") => {}
            _ => self.note(line, format!("not executed: `{}`", words.join(" "))),
        }
    }

    /// Applies one kernel setting. If the script itself names it (`asked`), it is listed in the notes when it has no
    /// counterpart here.
    fn take(&mut self, line: u32, key: &str, value: &str, stack: &Settings, asked: bool) {
        let name = key.rsplit(['.', '/']).next().unwrap_or(key);
        if name == "tcp_ecn" {
            self.ecn_only_accepted = Some(value == "2");
        }
        let ours = match name {
            "tcp_rmem" => receive_buffer(value),
            "tcp_congestion_control" => congestion_control(value),
            _ => number(name, value).map_or_else(|| switch(name, value), |it| vec![it]),
        };
        let known = serde_json::to_value(stack).unwrap_or_default();
        let applies = |(name, value): &(&'static str, Value)| {
            known.get(*name).is_some_and(|present| {
                // the stack's setting of this name may not be a switch
                std::mem::discriminant(present) == std::mem::discriminant(value)
            })
        };
        if !ours.is_empty() && ours.iter().all(applies) {
            for (name, value) in ours {
                self.overrides.insert(name.to_owned(), value);
            }
        } else if asked {
            self.note(line, format!("no setting of this stack: {name} = {value}"));
        }
    }

    pub(crate) fn note(&mut self, line: u32, text: String) {
        self.notes.push(Note { line, text });
    }
}

/// The queue of packetdrill's device from `qdisc add|replace dev tun0 root fq` or `.. pfifo limit 0`, or None for any
/// other command.
fn host_queue(words: &[&str]) -> Option<HostQueue> {
    let [
        "qdisc",
        "add" | "replace",
        "dev",
        _,
        "root",
        kind,
        rest @ ..,
    ] = words
    else {
        return None;
    };
    match (*kind, rest) {
        ("fq", []) => Some(HostQueue::Paced),
        ("pfifo", ["limit", "0"]) => Some(HostQueue::Closed),
        // without a limit `replace` leaves the one that was there; 1000 is Linux's default
        ("pfifo", [] | ["limit", "1000"]) => Some(HostQueue::Open),
        _ => None,
    }
}

/// The names and values in `-q net.ipv4.tcp_x=1 net.ipv4.tcp_y="1 2"`.
fn assignments(words: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for word in words {
        if let Some((key, value)) = word.split_once('=') {
            found.push((key.to_owned(), value.to_owned()));
        } else if !word.starts_with('-')
            && let Some((_, value)) = found.last_mut()
        {
            // a word without `=` continues a quoted list of values
            value.push(' ');
            value.push_str(word);
        }
    }
    for (_, value) in &mut found {
        *value = value.replace(['"', '\''], "");
    }
    found
}

fn switch(name: &str, value: &str) -> Vec<(&'static str, Value)> {
    let Some((_, ours)) = SWITCHES.iter().find(|(known, _)| *known == name) else {
        return Vec::new();
    };
    let is_on = match name {
        // 1 and 2 were early retransmit without probes, up to 4.11
        "tcp_early_retrans" => matches!(value, "3" | "4"),
        // the other bits change RACK's reordering window
        "tcp_recovery" => value.parse::<u32>().is_ok_and(|bits| bits & 1 == 1),
        _ => value != "0",
    };
    vec![(ours, Value::Bool(is_on))]
}

/// With a name that the stack does not have, no connection can be made, as with `TCP_CONGESTION`: what the script
/// expects is the window of another algorithm. The kernel's `sysctl` fails, too.
fn congestion_control(value: &str) -> Vec<(&'static str, Value)> {
    let ours = if value == "reno" { "newreno" } else { value };
    vec![("congestion_control", json!(ours))]
}

fn number(name: &str, value: &str) -> Option<(&'static str, Value)> {
    let (_, ours, unit) = NUMBERS.iter().find(|(known, ..)| *known == name)?;
    let value = value.parse::<u64>().ok()?.checked_mul(*unit)?;
    Some((ours, json!(value)))
}

/// The largest receive buffer, and the window scale that announces it. As in Linux's `tcp_select_initial_window`, the
/// scale is increased until the buffer fits into 16 bits.
fn receive_buffer(value: &str) -> Vec<(&'static str, Value)> {
    let Some(Ok(largest)) = value.split_whitespace().nth(2).map(str::parse::<u64>) else {
        return Vec::new();
    };
    let mut scale = 0;
    while largest >> scale > u64::from(u16::MAX) && scale < 14 {
        scale += 1;
    }
    let buffer = largest.min(u64::from(u16::MAX) << scale);
    vec![
        ("receive_buffer_bytes", json!(buffer)),
        ("window_scale", json!(scale)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctls(text: &str) -> Sysctls {
        let mut sysctls = Sysctls::default();
        sysctls.command(3, text, &Settings::preset("linux-2.6").unwrap());
        sysctls
    }

    #[test]
    fn a_sysctl_becomes_a_setting() {
        let it =
            sysctls("sysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_congestion_control=reno");
        assert_eq!(it.overrides["timestamps"], json!(false));
        assert_eq!(it.overrides["congestion_control"], json!("newreno"));
        assert!(it.notes.is_empty());
        for (setting, name, value) in [
            ("tcp_comp_sack_nr=7", "sack_compression", 7),
            ("tcp_syn_linear_timeouts=1", "syn_linear_timeouts", 1),
            ("tcp_rto_min_us=20000", "rto_min_ps", 20_000_000_000_u64),
            ("tcp_rto_max_ms=1000", "rto_max_ps", 1_000_000_000_000),
        ] {
            let it = sysctls(&format!("sysctl -q net.ipv4.{setting}"));
            assert_eq!(it.overrides[name], json!(value), "{setting}");
            assert!(it.notes.is_empty());
        }
        // a number that is none is listed
        let it = sysctls("sysctl -q net.ipv4.tcp_rto_max_ms=long");
        assert_eq!((it.overrides.len(), it.notes.len()), (0, 1));
    }

    /// `ip-sysctl`: `tcp_early_retrans` has probes from 3 on, and RACK is the first bit of `tcp_recovery`.
    #[test]
    fn a_setting_of_several_values_is_on_for_those_that_mean_it() {
        for (setting, name, on) in [
            ("tcp_early_retrans=0", "tail_loss_probe", false),
            ("tcp_early_retrans=2", "tail_loss_probe", false),
            ("tcp_early_retrans=3", "tail_loss_probe", true),
            ("tcp_early_retrans=4", "tail_loss_probe", true),
            ("tcp_recovery=0", "rack", false),
            ("tcp_recovery=3", "rack", true),
            ("tcp_recovery=4", "rack", false),
            ("tcp_ecn=2", "ecn", true),
            ("tcp_ecn_fallback=0", "ecn_fallback", false),
            ("tcp_retrans_collapse=0", "joins_retransmissions", false),
        ] {
            let it = sysctls(&format!("sysctl -q net.ipv4.{setting}"));
            assert_eq!(it.overrides[name], json!(on), "{setting}");
        }
    }

    #[test]
    fn the_helpers_of_the_public_scripts_are_known_by_name() {
        let it = sysctls(
            "../../common/defaults.sh\n../set_sysctls.py \\\n /proc/sys/net/ipv4/tcp_sack=0",
        );
        assert_eq!(it.overrides["congestion_control"], json!("cubic"));
        // 15 MB need 8 bits
        assert_eq!(it.overrides["window_scale"], json!(8));
        assert_eq!(it.overrides["sack"], json!(false));
        assert!(it.notes.is_empty());
    }

    #[test]
    fn the_queue_below_the_stack_is_the_last_that_was_set() {
        let it = sysctls("tc qdisc add dev tun0 root pfifo");
        assert_eq!(it.host_queue, Some(HostQueue::Open));
        let it = sysctls("../common/defaults.sh\ntc qdisc replace dev tun0 root fq");
        assert_eq!(it.host_queue, Some(HostQueue::Paced));
        let it = sysctls("tc qdisc replace dev tun0 root pfifo limit 0");
        assert_eq!(it.host_queue, Some(HostQueue::Closed));
        assert!(it.notes.is_empty());
        let it = sysctls("tc qdisc replace dev tun0 root pfifo limit 1000");
        assert_eq!(it.host_queue, Some(HostQueue::Open));
        let it = sysctls("tc qdisc replace dev tun0 root pfifo limit 3");
        assert_eq!((it.host_queue, it.notes.len()), (None, 1));
    }

    #[test]
    fn what_has_no_counterpart_is_listed_with_its_line() {
        let it =
            sysctls("sysctl -q net.ipv4.tcp_tso_win_divisor=100\ntc qdisc add dev tun0 root sfq");
        let notes: Vec<(u32, &str)> = it.notes.iter().map(|n| (n.line, n.text.as_str())).collect();
        assert_eq!(
            notes,
            [
                (3, "no setting of this stack: tcp_tso_win_divisor = 100"),
                (4, "not executed: `tc qdisc add dev tun0 root sfq`")
            ]
        );
    }

    #[test]
    fn a_quoted_list_is_one_value() {
        let it = sysctls("sysctl -q net.ipv4.tcp_rmem=\"4096 10000 65536\"");
        assert_eq!(it.overrides["window_scale"], json!(1));
        assert_eq!(it.overrides["receive_buffer_bytes"], json!(65_536));
    }
}
