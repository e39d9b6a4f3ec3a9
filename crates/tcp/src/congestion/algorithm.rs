//! The list of congestion control algorithms: one line each.
//!
//! The macro turns these lines into the setting [`CongestionControl`] with its names in scenarios, and into
//! [`Algorithm`], whose calls are dispatched statically: an ACK costs one branch and no indirect call.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::bbr::Bbr;
use super::bic::Bic;
use super::cubic::Cubic;
use super::custom::{Checked, ControllerFactory, Controllers, Custom};
use super::dctcp::Dctcp;
use super::newreno::NewReno;
use super::{Controller, Setup};

/// Lines of `"description" "name in scenarios" => Variant(its type), constructor;`. A large state is
/// boxed. (The `$` in front lets this macro define others, `ask!` and `change!`.)
macro_rules! algorithms {
    ($d:tt $($about:literal $name:literal => $variant:ident($state:ty), $new:path;)+) => {
        /// How the congestion window grows and shrinks.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "Named", into = "Named")]
        pub enum CongestionControl {
            $(#[doc = $about] $variant,)+
            /// A congestion control from outside this crate, `custom:NAME` in scenarios.
            Custom(Custom),
        }

        impl CongestionControl {
            /// The names of the algorithms in this crate.
            pub const NAMES: &[&str] = &[$($name),+];

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => name.strip_prefix(CUSTOM_PREFIX).map(|it| Self::Custom(Custom::named(it))),
                }
            }
        }

        impl From<CongestionControl> for Named {
            fn from(control: CongestionControl) -> Self {
                match control {
                    $(CongestionControl::$variant => Self::Name($name.to_owned()),)+
                    CongestionControl::Custom(it) => it.into(),
                }
            }
        }

        /// The algorithm of one connection.
        #[derive(Debug)]
        pub(super) enum Algorithm {
            $($variant($state),)+
            Custom(Checked),
        }

        impl Algorithm {
            pub(super) fn new(setup: &Setup<'_>) -> Self {
                match &setup.settings.congestion_control {
                    $(CongestionControl::$variant => Self::$variant($new(setup).into()),)+
                    CongestionControl::Custom(it) => Self::Custom(it.make(setup)),
                }
            }
        }

        /// Calls a method of whichever algorithm it is.
        macro_rules! ask {
            ($d algorithm:expr, $d it:ident => $d call:expr) => {
                match $d algorithm {
                    $(Algorithm::$variant($d it) => $d call,)+
                    Algorithm::Custom(Checked { controller: $d it, .. }) => $d call,
                }
            };
        }

        /// Calls a method that may change the window. What an algorithm from outside this crate sets is checked.
        macro_rules! change {
            ($d own:expr, |$d it:ident, $d window:ident| $d call:expr) => {
                match &mut $d own.algorithm {
                    $(Algorithm::$variant($d it) => {
                        let $d window = &mut $d own.window;
                        $d call;
                    })+
                    Algorithm::Custom(it) => it.call(&mut $d own.window, |$d it, $d window| $d call),
                }
            };
        }
    };
}

/// Prefix of the name of a congestion control from outside this crate.
const CUSTOM_PREFIX: &str = "custom:";

algorithms! { $
    "NewReno (RFC 5681)." "newreno" => NewReno(NewReno), NewReno::new;
    "Binary increase, as Linux has it." "bic" => Bic(Bic), Bic::new;
    "CUBIC (RFC 9438), as Linux has it." "cubic" => Cubic(Box<Cubic>), Cubic::new;
    "DCTCP (RFC 8257), as Linux has it; needs ECN." "dctcp" => Dctcp(Dctcp), Dctcp::new;
    "BBR v1, as Linux has it; sets its own pace." "bbr" => Bbr(Box<Bbr>), Bbr::new;
}

impl CongestionControl {
    /// A congestion control from outside this crate, with the factory that makes it.
    pub fn custom(
        name: &str,
        factory: impl Fn(&Setup<'_>) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        let factory: Box<ControllerFactory> = Box::new(factory);
        Self::Custom(Custom::new(name, factory.into()))
    }

    /// Binds a custom congestion control to its factory, if `controllers` has its name.
    pub(crate) fn bind(&mut self, controllers: &Controllers) {
        if let Self::Custom(it) = self {
            controllers.bind(it);
        }
    }
}

/// A congestion control in JSON.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "it is no name, and no table of `name` and `parameters`"
)]
enum Named {
    Name(String),
    WithParameters {
        name: String,
        parameters: Map<String, Value>,
    },
}

impl From<Custom> for Named {
    fn from(custom: Custom) -> Self {
        let name = format!("{CUSTOM_PREFIX}{}", custom.name());
        if custom.parameters().is_empty() {
            return Self::Name(name);
        }
        Self::WithParameters {
            name,
            parameters: custom.parameters().clone(),
        }
    }
}

impl TryFrom<Named> for CongestionControl {
    type Error = String;

    fn try_from(named: Named) -> Result<Self, String> {
        let (name, own) = match named {
            Named::Name(name) => (name, Map::new()),
            Named::WithParameters { name, parameters } => (name, parameters),
        };
        match Self::named(&name) {
            None => {
                let known = Self::NAMES.join(", ");
                Err(format!(
                    "`{name}` is none of {known} and {CUSTOM_PREFIX}NAME"
                ))
            }
            Some(Self::Custom(it)) => Ok(Self::Custom(it.with_parameters(own))),
            Some(it) if own.is_empty() => Ok(it),
            Some(_) => Err(format!(
                "`{name}` takes no parameters, only a {CUSTOM_PREFIX}NAME does"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, from_value, json, to_value};

    #[test]
    fn only_a_custom_one_takes_parameters() {
        let mine = json!({"name": "custom:aimd", "parameters": {"factor": 0.5}});
        let control: CongestionControl = from_value(mine.clone()).unwrap();
        assert_eq!(to_value(&control).unwrap(), mine);
        let CongestionControl::Custom(custom) = control else {
            panic!("its name begins with custom:")
        };
        assert_eq!(custom.parameters()["factor"], 0.5);
        let cubic = json!({"name": "cubic", "parameters": {"beta": 0.7}});
        let error = from_value::<CongestionControl>(cubic).unwrap_err();
        assert!(error.to_string().contains("takes no parameters"), "{error}");
        let error = from_value::<CongestionControl>(json!(3)).unwrap_err();
        assert!(error.to_string().contains("no name"), "{error}");
    }

    #[test]
    fn a_scenario_names_an_algorithm_or_a_custom_one() {
        for name in CongestionControl::NAMES.iter().chain(&["custom:aimd"]) {
            let control: CongestionControl = from_value(json!(name)).unwrap();
            assert_eq!(to_value(&control).unwrap(), Value::from(*name));
        }
        let error = from_value::<CongestionControl>(json!("vegas")).unwrap_err();
        assert!(error.to_string().contains("newreno, bic"), "{error}");
    }
}
