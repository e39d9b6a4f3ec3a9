//! Queue disciplines from outside this crate.
//!
//! A program that drives the network creates a [`CustomQueues`], adds a factory for each of its own disciplines, and
//! passes it to whatever builds the network. The plan of a run then names the discipline: `{"kind": "custom", "name":
//! "blue", "parameters": {"increment": 0.01}}`. Calls of such a discipline are virtual function calls.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BufferRelease, Discipline, PortContext, Queueing, Scheduler};
use crate::BuildError;
use crate::discipline::QueueDiscipline;
use crate::scheduler::PacketScheduler;

/// A discipline from outside this crate, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the name under which its factory is registered
    pub name: String,
    /// the parameters, which are passed to the factory
    #[serde(default)]
    pub parameters: Value,
    /// whether the packet in service counts against the limit; only for disciplines that decide when a packet arrives
    #[serde(default)]
    pub count_in_service: bool,
}

impl Config {
    pub(super) fn build(
        &self,
        port: &PortContext<'_>,
        customs: &CustomQueues,
    ) -> Result<Queueing, BuildError> {
        let Some(factory) = customs.factories.get(&self.name) else {
            let known: Vec<&str> = customs.names().collect();
            let remedy = if known.is_empty() {
                "register a factory of this name".to_string()
            } else {
                format!("use one of those that are: {}", known.join(", "))
            };
            let problem = "is not a registered queue discipline";
            return Err(BuildError::new("queue.name", &self.name, problem, remedy));
        };
        Ok(match factory(&self.parameters, port)? {
            CustomQueue::Discipline(discipline) => Queueing::Fifo {
                discipline: Discipline::Custom(Box::new(discipline)),
                release: BufferRelease::new(self.count_in_service),
            },
            CustomQueue::Scheduler(scheduler) => {
                Queueing::Scheduled(Box::new(Scheduler::Custom(scheduler)))
            }
        })
    }
}

/// An empty queue with a discipline from outside this crate.
#[derive(Debug)]
pub enum CustomQueue {
    /// a discipline that decides when a packet arrives
    Discipline(Box<dyn QueueDiscipline>),
    /// a discipline that decides when a packet leaves
    Scheduler(Box<dyn PacketScheduler>),
}

/// Builds the queue of one port from the parameters in the plan.
type Factory = dyn Fn(&Value, &PortContext<'_>) -> Result<CustomQueue, BuildError> + Send + Sync;

/// The disciplines from outside this crate, by name.
#[derive(Clone, Default)]
pub struct CustomQueues {
    factories: BTreeMap<String, Arc<Factory>>,
}

impl CustomQueues {
    /// Adds a discipline. It replaces an earlier one with the same name. The `factory` builds the empty queue of a
    /// port, or reports which of its parameters is wrong (`queue.parameters.NAME`).
    pub fn add(
        &mut self,
        name: impl Into<String>,
        factory: impl Fn(&Value, &PortContext<'_>) -> Result<CustomQueue, BuildError>
        + Send
        + Sync
        + 'static,
    ) {
        self.factories.insert(name.into(), Arc::new(factory));
    }

    /// The names of all disciplines added so far.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
    }
}

impl fmt::Debug for CustomQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}
