//! The TCP stacks of a job: presets, and the settings that differ from them.

use fairport_net::BuildError;
use fairport_tcp::{Controllers, SettingError, Settings};

use crate::job::StackJob;

/// The settings of each stack of the job, whose segments must fit into the MTU. A congestion control may be one of
/// `controllers`.
pub(crate) fn stacks(
    jobs: &[StackJob],
    mtu_bytes: u32,
    controllers: &Controllers,
) -> Result<Vec<Settings>, BuildError> {
    let build = |(i, job): (usize, &StackJob)| {
        let preset = Settings::preset(&job.preset).ok_or_else(|| {
            let remedy = format!("use one of {}", Settings::PRESETS.join(", "));
            BuildError::new(
                format!("stacks.{i}.stack"),
                &job.preset,
                "is not a stack",
                remedy,
            )
        })?;
        let in_stack = |error: SettingError| BuildError {
            field: format!("stacks.{i}.{}", error.field),
            value: error.value,
            problem: error.problem,
            remedy: error.remedy,
        };
        let settings = preset
            .with_controllers(&job.overrides, controllers)
            .map_err(in_stack)?;
        settings.validate().map_err(in_stack)?;
        // a capture has real headers, however small the fixed ones are
        let header = u32::from(settings.fixed_header_bytes).max(40);
        if u32::from(settings.mss_bytes) + header > mtu_bytes {
            let problem = format!("and {header} B of headers exceed the MTU of {mtu_bytes} B");
            let remedy = format!(
                "use at most {} B, or a larger link.mtu",
                mtu_bytes.saturating_sub(header)
            );
            let field = format!("stacks.{i}.mss_bytes");
            return Err(BuildError::new(field, settings.mss_bytes, problem, remedy));
        }
        Ok(settings)
    };
    jobs.iter().enumerate().map(build).collect()
}
