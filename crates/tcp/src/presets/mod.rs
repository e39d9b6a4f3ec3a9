//! The stacks of an era, as data: each a list of settings, each value with its source.
//!
//! A new stack is one file here and one line in [`Preset::ALL`]. What a setting means is said in
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

/// The sources of a preset that differs from another in some settings.
const fn overlaid<const N: usize>(
    base: &[(&'static str, &'static str)],
    changes: &[(&'static str, &'static str)],
) -> [(&'static str, &'static str); N] {
    let mut sources = [("", ""); N];
    let mut found = 0;
    let mut i = 0;
    while i < N {
        sources[i] = base[i];
        let mut j = 0;
        while j < changes.len() {
            if is_same(base[i].0, changes[j].0) {
                sources[i] = changes[j];
                found += 1;
            }
            j += 1;
        }
        i += 1;
    }
    assert!(found == changes.len(), "a setting is changed twice");
    sources
}

/// `==`, which constants cannot have.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// A preset from lines of `setting = value, "source";`. One that is left out does not compile, unless
/// `as another` says which preset has it.
macro_rules! preset {
    ($name:literal, $about:literal, as $base:ident; $($setting:ident = $value:expr, $source:literal;)+) => {
        pub(super) const PRESET: $crate::presets::Preset = $crate::presets::Preset {
            name: $name,
            about: $about,
            settings: $crate::settings::Settings {
                $($setting: $value,)+
                ..super::$base::PRESET.settings
            },
            sources: &$crate::presets::overlaid::<{ super::$base::PRESET.sources.len() }>(
                super::$base::PRESET.sources,
                &[$((stringify!($setting), $source)),+],
            ),
        };
    };
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
