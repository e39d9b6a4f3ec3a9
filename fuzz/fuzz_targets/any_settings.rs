//! Settings of any kind: a preset in which any setting has any value that the checks let pass.

use arbitrary::{Result, Unstructured};
use fairport_tcp::Settings;
use serde_json::{Map, Value};

/// What the settings that are words can be; one that does not fit a setting is refused by it.
const WORDS: &[&str] = &[
    "newreno", "bic", "cubic", "dctcp", "bbr", "segments", "bytes", "every-segment", "delayed", "quick-ack",
    "rfc6298", "linux", "full", "static", "adaptive", "off", "window", "at-once", "rate-halving", "prr",
];

/// None where the values do not go together.
pub(crate) fn any_settings(given: &mut Unstructured) -> Result<Option<Settings>> {
    let preset = given.choose(Settings::PRESETS)?;
    let settings = Settings::preset(preset).expect("a preset");
    let Ok(Value::Object(all)) = serde_json::to_value(&settings) else {
        unreachable!("settings are a struct")
    };
    let mut overrides = Map::new();
    for _ in 0..given.int_in_range(0..=12)? {
        let index = given.choose_index(all.len())?;
        let (name, value) = all.iter().nth(index).expect("within its length");
        overrides.insert(name.clone(), any_value(given, value)?);
    }
    Ok(settings.with(&overrides).ok())
}

fn any_value(given: &mut Unstructured, like: &Value) -> Result<Value> {
    Ok(match like {
        Value::Bool(_) => Value::from(given.arbitrary::<bool>()?),
        Value::String(_) => Value::from(*given.choose(WORDS)?),
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or(0);
            match given.int_in_range(0..=4)? {
                0 => Value::from(given.int_in_range(0..=20)?),
                1 => Value::from(number / 2),
                2 => Value::from(number.saturating_mul(2)),
                3 => Value::from(given.arbitrary::<u16>()?),
                // a time of at most ten seconds
                _ => Value::from(given.int_in_range(0..=10_000_000_000_000_u64)?),
            }
        }
        other => other.clone(),
    })
}
