//! The stacks of different eras, as data: each is a list of settings, and each value has its source.
//!
//! A new stack is one file here and one line in [`Preset::ALL`]. [`Settings`] explains what a setting means. A preset
//! gives only the value and its source: a file and function of a kernel or a simulator, a section of an RFC, a paper,
//! or `ours` with the reason if there is no such source.

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
    /// Its name in scenarios.
    pub name: &'static str,
    /// Whose stack it is, in one sentence.
    pub about: &'static str,
    /// Every setting.
    pub settings: Settings,
    /// The name of every setting and the source of its value.
    pub sources: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// All presets.
    pub const ALL: &[&Self] = &[
        &linux_2_6::PRESET,
        &linux_3_0::PRESET,
        &linux_6::PRESET,
        &ns2::PRESET,
        &ns3::PRESET,
        &rfc::PRESET,
    ];

    /// The preset called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|it| it.name == name).copied()
    }
}

/// The names of the presets, in the order of [`Preset::ALL`].
const NAMES: &[&str] = &{
    let mut names = [""; Preset::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Preset::ALL[i].name;
        i += 1;
    }
    names
};

impl Settings {
    /// Names of the presets.
    pub const PRESETS: &[&str] = NAMES;

    /// The settings of the stack called `name`.
    pub fn preset(name: &str) -> Option<Self> {
        Preset::named(name).map(|preset| preset.settings.clone())
    }
}

/// The sources of a preset that takes over another one and changes some settings.
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
    assert!(
        found == changes.len(),
        "a setting is listed twice, or is unknown"
    );
    sources
}

/// String equality, since `==` cannot be used in constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Makes a preset from lines of `setting = value, "source";`. A missing setting is a compile error, unless `as another`
/// names the preset that has the rest.
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
                // a file, an RFC, a paper with its year, or `ours` with a reason
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
