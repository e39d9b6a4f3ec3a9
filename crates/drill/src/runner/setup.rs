//! The setup of a run, from the script and its caller.

use fairport_tcp::{SettingError, Settings};
use fairport_units::Duration;
use serde_json::{Map, Value, json};

use super::{DEFAULT_STACK, Options};
use crate::ast::{Script, ScriptOption};
use crate::outcome::Note;
use crate::sysctl::{HostQueue, Sysctls};

/// packetdrill's default for `--tolerance_usecs`.
const TOLERANCE: Duration = Duration::from_us(4000);

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There is no stack of this name.
    #[error("there is no stack `{name}`; use one of {known}")]
    Stack {
        /// The name.
        name: String,
        /// The names of all stacks.
        known: String,
    },
    /// An option of the script has an invalid value.
    #[error("line {line}: `--{name}` is `{value}`; use a whole number")]
    Option {
        /// The line of the option in the script.
        line: u32,
        /// The name of the option.
        name: String,
        /// The value of the option.
        value: String,
    },
}

/// The stack with the changes that the script asks for.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) stack: String,
    base: Settings,
    overrides: Map<String, Value>,
    /// `tcp_ecn` = 2: ECN is accepted but not offered
    ecn_only_accepted: bool,
    pub(super) host_queue: HostQueue,
    pub(super) isn: u32,
    pub(super) tolerance: Duration,
    /// unit of timestamps from `--tcp_ts_tick_usecs`; timestamps are compared only with it
    pub(super) timestamp_tick: Option<Duration>,
    pub(super) notes: Vec<Note>,
}

impl Setup {
    pub(super) fn of(script: &Script, options: &Options) -> Result<Self, SetupError> {
        let asked = options.stack.as_deref().or(script.stack.as_deref());
        let stack = asked.unwrap_or(DEFAULT_STACK).to_owned();
        let Some(base) = Settings::preset(&stack) else {
            return Err(SetupError::Stack {
                name: stack,
                known: Settings::PRESETS.join(", "),
            });
        };
        let mut setup = Self {
            stack,
            base,
            overrides: Map::new(),
            ecn_only_accepted: false,
            host_queue: HostQueue::Open,
            isn: options.isn,
            tolerance: TOLERANCE,
            timestamp_tick: None,
            notes: Vec::new(),
        };
        for (at, command) in &script.commands {
            let notes = setup.command(at.line, command);
            setup.notes.extend(notes);
        }
        for option in &script.options {
            setup.option(option)?;
        }
        setup.tolerance = options.tolerance.unwrap_or(setup.tolerance);
        Ok(setup)
    }

    /// Applies a back-quoted command. Returns notes about what was not applied.
    pub(super) fn command(&mut self, line: u32, command: &str) -> Vec<Note> {
        let mut sysctls = Sysctls::default();
        sysctls.command(line, command, &self.base);
        self.overrides.append(&mut sysctls.overrides);
        self.ecn_only_accepted = sysctls.ecn_only_accepted.unwrap_or(self.ecn_only_accepted);
        self.host_queue = sysctls.host_queue.unwrap_or(self.host_queue);
        sysctls.notes
    }

    fn option(&mut self, option: &ScriptOption) -> Result<(), SetupError> {
        let line = option.at.line;
        let value = option.value.clone().unwrap_or_default();
        let number = || {
            let read = value.parse::<u32>();
            read.map_err(|_| SetupError::Option {
                line,
                name: option.name.clone(),
                value: value.clone(),
            })
        };
        match option.name.as_str() {
            "tolerance_usecs" => self.tolerance = Duration::from_us(u64::from(number()?)),
            "tcp_ts_tick_usecs" => {
                let tick = Duration::from_us(u64::from(number()?));
                if tick > Duration::ZERO {
                    self.timestamp_tick = Some(tick);
                    let clock = json!(tick.as_ps());
                    self.overrides
                        .insert("clock_granularity_ps".to_owned(), clock);
                }
            }
            name => {
                let text = format!("option without effect here: --{name}");
                self.notes.push(Note { line, text });
            }
        }
        Ok(())
    }

    /// The settings of a new connection. `socket` holds the settings that its socket options ask for.
    pub(super) fn settings(
        &self,
        socket: Map<String, Value>,
        active: bool,
    ) -> Result<Settings, SettingError> {
        let mut all = self.overrides.clone();
        if self.host_queue == HostQueue::Paced {
            // the device of packetdrill takes whole bursts, which fq spaces out
            all.insert("pacing".to_owned(), json!("linux"));
            all.insert("segmentation_offload".to_owned(), json!(true));
        }
        if active && self.ecn_only_accepted {
            all.insert("ecn".to_owned(), json!(false));
        }
        all.extend(socket);
        self.base.with(&all)
    }

    /// The MSS that a SYN announces, in bytes.
    pub(super) fn mss(&self) -> u16 {
        self.base.mss_bytes
    }
}
