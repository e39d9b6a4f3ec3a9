//! The stacks of an era, as data: each a list of settings, each value with its source.
//!
//! A new stack is one file here and one line in [`Preset::ALL`]. What a setting means stands with
//! [`Settings`]; a preset says only how it is set, and who says so: a file and function of a kernel or
//! a simulator, a section of an RFC, a paper, or `ours` with the reason where there is no such source.

mod linux_2_6;
mod linux_3_0;
mod linux_6;
mod ns2;
mod ns3;
mod rfc;

use crate::settings::Settings;

/// A stack of an era.
#[derive(Debug)]
pub struct Preset {
    /// What scenarios call it.
    pub name: &'static str,
    /// Whose stack it is, in a sentence.
    pub about: &'static str,
    /// Every setting.
    pub settings: Settings,
    /// Every setting's name, and where its value comes from.
    pub sources: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// All of them.
    pub const ALL: &[&Self] = &[
        &linux_2_6::PRESET,
        &linux_3_0::PRESET,
        &linux_6::PRESET,
        &ns2::PRESET,
        &ns3::PRESET,
        &rfc::PRESET,
    ];

    /// The one called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|it| it.name == name).copied()
    }
}

/// Their names, in the order of the list.
pub(crate) const NAMES: &[&str] = &{
    let mut names = [""; Preset::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Preset::ALL[i].name;
        i += 1;
    }
    names
};

/// A preset from lines of `setting = value, "source";`. One that is left out does not compile.
macro_rules! preset {
    ($name:literal, $about:literal; $($setting:ident = $value:expr, $source:literal;)+) => {
        pub(super) const PRESET: $crate::presets::Preset = $crate::presets::Preset {
            name: $name,
            about: $about,
            settings: $crate::settings::Settings { $($setting: $value),+ },
            sources: &[$((stringify!($setting), $source)),+],
        };
    };
}
use preset;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_setting_of_every_preset_has_a_source() {
        for preset in Preset::ALL {
            let Ok(Value::Object(settings)) = serde_json::to_value(&preset.settings) else {
                panic!("settings are a struct")
            };
            assert_eq!(settings.len(), preset.sources.len(), "{}", preset.name);
            for (name, source) in preset.sources {
                assert!(settings.contains_key(*name), "{}: {name}", preset.name);
                // a file, an RFC, a paper of a year, or ours with a reason
                let paper = source.split(|it: char| !it.is_ascii_digit());
                let known = source.contains(".c,")
                    || source.contains(".h,")
                    || source.contains(".cc,")
                    || source.contains(".tcl,")
                    || source.starts_with("RFC ")
                    || source.starts_with("ours: ")
                    || paper.into_iter().any(|digits| digits.len() == 4);
                assert!(known, "{}: {name}: {source}", preset.name);
            }
        }
    }
}
