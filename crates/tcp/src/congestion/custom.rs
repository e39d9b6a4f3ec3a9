//! Congestion controls from outside this crate, by name.
//!
//! A scenario names one as `custom:NAME`. The code behind the name is a factory, which [`Controllers`]
//! holds and which [`Settings::with_controllers`](crate::Settings::with_controllers) binds to the
//! name; a program that writes its settings in Rust may do both in one step with
//! [`CongestionControl::custom`](super::CongestionControl::custom).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Controller, Setup};

/// Makes the congestion control of one connection.
pub type ControllerFactory = dyn Fn(&Setup<'_>) -> Box<dyn Controller> + Send + Sync;

/// A congestion control from outside this crate: its name and, once bound, its factory.
///
/// Two with the same name are equal. JSON holds only the name.
#[derive(Clone)]
pub struct Custom {
    name: Arc<str>,
    factory: Option<Arc<ControllerFactory>>,
}

impl Custom {
    /// A congestion control that has a name but no factory yet.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            factory: None,
        }
    }

    /// A congestion control with its factory.
    pub(super) fn new(name: &str, factory: Arc<ControllerFactory>) -> Self {
        Self {
            name: name.into(),
            factory: Some(factory),
        }
    }

    /// The name, without `custom:`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name is bound to a factory.
    pub(crate) fn is_bound(&self) -> bool {
        self.factory.is_some()
    }

    pub(super) fn make(&self, setup: &Setup<'_>) -> Box<dyn Controller> {
        let factory = self.factory.as_ref();
        // `Settings::validate` refuses settings with an unbound name
        let factory = factory.expect("a custom congestion control is bound to its factory");
        factory(setup)
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
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
