//! Limits on sizes: the range of a parameter, and the largest network.

use crate::error::BuildError;

/// The largest number of hosts: that of a fat-tree with k = 64.
pub(super) const MOST_HOSTS: u64 = 65_536;

/// Refuses a parameter that is not within `least`..=`most`.
pub(super) fn check(
    field: &str,
    value: u32,
    least: u32,
    most: u32,
    example: u32,
) -> Result<(), BuildError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let name = field.rsplit('.').next().unwrap_or(field);
    let problem = format!("is not a number from {least} to {most}");
    let remedy = format!("use {name} = {example}");
    Err(BuildError::new(field, value, problem, remedy))
}

/// Refuses a network with too many hosts.
pub(super) fn check_hosts(hosts: u64) -> Result<(), BuildError> {
    if hosts <= MOST_HOSTS {
        return Ok(());
    }
    let problem = format!("gives {hosts} hosts, more than the limit of {MOST_HOSTS}");
    let remedy = "give smaller numbers under [topology]";
    Err(BuildError::new("topology", hosts, problem, remedy))
}
