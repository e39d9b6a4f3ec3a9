//! What a script and its caller say of the stack before anything happens.

use fairport_tcp::{Connection, SettingError, Settings};
use fairport_units::Duration;
use serde_json::{Map, Value, json};

use super::{DEFAULT_STACK, Options};
use crate::ast::{Script, ScriptOption};
use crate::outcome::Note;
use crate::sysctl::{HostQueue, Sysctls};

/// packetdrill's default of `--tolerance_usecs`.
const TOLERANCE: Duration = Duration::from_us(4000);

/// A run that cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There is no such stack.
    #[error("there is no stack `{name}`; use one of {known}")]
    Stack {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// An option of the script has a value that cannot be.
    #[error("line {line}: `--{name}` is `{value}`; use a whole number")]
    Option {
        /// Where it is.
        line: u32,
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
}

/// The stack as a script wants it.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) stack: String,
    base: Settings,
    overrides: Map<String, Value>,
    /// `tcp_ecn` = 2: ECN is accepted and not offered
    ecn_only_accepted: bool,
    pub(super) host_queue: HostQueue,
    pub(super) isn: u32,
    pub(super) tolerance: Duration,
    /// `--tcp_ts_tick_usecs`: timestamps are compared, in this unit
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

    /// Takes in a back-quoted command and returns what is to be said of it.
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

    /// The settings of a connection, with what the options of its socket ask for.
    pub(super) fn settings(
        &self,
        socket: Map<String, Value>,
        active: bool,
    ) -> Result<Settings, SettingError> {
        let mut all = self.overrides.clone();
        if self.host_queue == HostQueue::Paced {
            // packetdrill's device takes bursts, and fq spaces these
            all.insert("pacing".to_owned(), json!("linux"));
            all.insert("segmentation_offload".to_owned(), json!(true));
        }
        if active && self.ecn_only_accepted {
            all.insert("ecn".to_owned(), json!(false));
        }
        all.extend(socket);
        self.base.with(&all)
    }

    /// Largest payload that a SYN announces.
    pub(super) fn mss(&self) -> u16 {
        self.base.mss_bytes
    }

    /// An endpoint with the script's initial sequence number.
    pub(super) fn numbered(&self, connection: Connection) -> Connection {
        connection.with_isn(self.isn)
    }
}
