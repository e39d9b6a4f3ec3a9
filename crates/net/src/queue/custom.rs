//! Queue disciplines from outside this crate.
//!
//! A program that drives the network makes a [`CustomQueues`], gives it a factory for each of its
//! own disciplines, and passes it to whatever builds the network. The plan of a run then names the
//! discipline: `{"kind": "custom", "name": "blue", "parameters": {"increment": 0.01}}`. Each call
//! of such a discipline is a call of a virtual function.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BufferRelease, Discipline, PortContext, Queueing, Scheduler};
use crate::BuildError;
use crate::discipline::QueueDiscipline;
use crate::scheduler::PacketScheduler;

/// Which discipline from outside this crate, and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the name under which its factory is registered
    pub name: String,
    /// what the factory is given
    #[serde(default)]
    pub parameters: Value,
    /// whether the packet in service counts against the limit; for disciplines that decide when a
    /// packet arrives
    #[serde(default)]
    pub count_in_service: bool,
}

impl Config {
    pub(super) fn build(&self, port: &PortContext<'_>) -> Result<Queueing, BuildError> {
        let factories = &port.customs().factories;
        let Some(factory) = factories.get(&self.name) else {
            let known: Vec<&str> = port.customs().names().collect();
            let remedy = if known.is_empty() {
                "register a factory of this name".to_string()
            } else {
                format!("name one of those that are: {}", known.join(", "))
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

/// An empty queue of a discipline from outside this crate.
#[derive(Debug)]
pub enum CustomQueue {
    /// decides when a packet arrives
    Discipline(Box<dyn QueueDiscipline>),
    /// decides when a packet leaves
    Scheduler(Box<dyn PacketScheduler>),
}

/// Makes the queue of one port from the parameters of the plan.
type Factory = dyn Fn(&Value, &PortContext<'_>) -> Result<CustomQueue, BuildError> + Send + Sync;

/// The disciplines from outside this crate, by name.
#[derive(Clone, Default)]
pub struct CustomQueues {
    factories: BTreeMap<String, Arc<Factory>>,
}

impl CustomQueues {
    /// Adds a discipline; an earlier one of the same name is replaced. The `factory` makes the
    /// empty queue of a port, or says which of its parameters is wrong (`queue.parameters.NAME`).
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

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
    }
}

impl fmt::Debug for CustomQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}
