//! Congestion controls from outside this crate, by name.
//!
//! A scenario names one as `custom:NAME`. The code behind the name is a factory, which [`Controllers`]
//! holds and which [`Settings::with_controllers`](crate::Settings::with_controllers) binds to the
//! name; a program that writes its settings in Rust may do both in one step with
//! [`CongestionControl::custom`](super::CongestionControl::custom).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Controller, Setup, Window};

/// Makes the congestion control of one connection.
pub type ControllerFactory = dyn Fn(&Setup<'_>) -> Box<dyn Controller> + Send + Sync;

/// A congestion control from outside this crate: its name, its parameters and, once bound, its factory.
///
/// Two with the same name and parameters are equal. JSON holds only these.
#[derive(Clone)]
pub struct Custom {
    name: Arc<str>,
    parameters: Arc<Map<String, Value>>,
    factory: Option<Arc<ControllerFactory>>,
}

impl Custom {
    /// A congestion control that has a name but no factory yet.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            parameters: Arc::default(),
            factory: None,
        }
    }

    /// A congestion control with its factory.
    pub(super) fn new(name: &str, factory: Arc<ControllerFactory>) -> Self {
        Self {
            name: name.into(),
            parameters: Arc::default(),
            factory: Some(factory),
        }
    }

    pub(super) fn with_parameters(mut self, parameters: Map<String, Value>) -> Self {
        self.parameters = parameters.into();
        self
    }

    /// The name, without `custom:`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the scenario gives its factory, which sees them as [`Setup::parameters`].
    pub fn parameters(&self) -> &Map<String, Value> {
        &self.parameters
    }

    /// Whether the name is bound to a factory.
    pub(crate) fn is_bound(&self) -> bool {
        self.factory.is_some()
    }

    pub(super) fn make(&self, setup: &Setup<'_>) -> Checked {
        let factory = self.factory.as_ref();
        // `Settings::validate` refuses settings with an unbound name
        let factory = factory.expect("a custom congestion control is bound to its factory");
        Checked {
            name: Arc::clone(&self.name),
            controller: factory(setup),
        }
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.parameters == other.parameters
    }
}

impl Eq for Custom {}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.is_bound() { "" } else { " (not bound)" };
        write!(f, "{}{bound}", self.name)
    }
}

/// The congestion controls that a program adds, by name.
#[derive(Clone, Default)]
pub struct Controllers(BTreeMap<Box<str>, Arc<ControllerFactory>>);

impl Controllers {
    /// Adds a congestion control, which scenarios call `custom:NAME`. It replaces an earlier one with the same name.
    pub fn add(
        &mut self,
        name: &str,
        factory: impl Fn(&Setup<'_>) -> Box<dyn Controller> + Send + Sync + 'static,
    ) {
        self.0.insert(name.into(), Arc::new(factory));
    }

    /// The names of all congestion controls added so far.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }

    /// Binds a name to its factory, if there is one.
    pub(crate) fn bind(&self, custom: &mut Custom) {
        if let Some(factory) = self.0.get(&*custom.name) {
            custom.factory = Some(Arc::clone(factory));
        }
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A congestion control from outside this crate, whose window, threshold and pace are checked after each call. A
/// mistake would otherwise look like a slow network: with a window of 0, one segment is sent per timeout.
#[derive(Debug)]
pub(super) struct Checked {
    name: Arc<str>,
    pub(super) controller: Box<dyn Controller>,
}

impl Checked {
    pub(super) fn call(
        &mut self,
        window: &mut Window,
        call: impl FnOnce(&mut dyn Controller, &mut Window),
    ) {
        let before = [window.cwnd, window.ssthresh];
        call(&mut *self.controller, window);
        let (name, unit) = (&self.name, window.unit());
        let after = [("window", window.cwnd), ("threshold", window.ssthresh)];
        for ((what, value), before) in after.into_iter().zip(before) {
            // in bytes, loss recovery itself may set less than a segment
            assert!(
                value >= unit || value == before,
                "the congestion control `{name}` set a {what} of {value}, but a segment is {unit}: set at least that"
            );
        }
    }

    pub(super) fn pacing_rate(&self) -> Option<u64> {
        let rate = self.controller.pacing_rate();
        let name = &self.name;
        assert!(
            rate != Some(0),
            "the congestion control `{name}` set a pace of 0 bytes per second, at which nothing is sent"
        );
        rate
    }
}
