//! Shapers and the edge classifier as the job has them.

use fairport_net::classifier::{Classifier, ClassifierConfig, Tuning};
use fairport_net::shaper::Shaper;
use fairport_net::stream::Stream;
use fairport_net::{BuildError, Topology};

use crate::job::{ClassifierJob, ShaperJob, ShaperKindJob};

/// The shaper of one port, whose timer draws from `stream`; none where the job has none, or none for hosts.
pub(crate) fn shaper(
    job: Option<ShaperJob>,
    at_host: bool,
    full_frame: u32,
    stream: Stream,
) -> Result<Option<Shaper>, BuildError> {
    let Some(job) = job.filter(|job| job.hosts || !at_host) else {
        return Ok(None);
    };
    let cburst_bytes = job.cburst_bytes.unwrap_or(job.burst_bytes);
    for (field, bytes) in [("burst", job.burst_bytes), ("cburst", cburst_bytes)] {
        if bytes < full_frame {
            return Err(BuildError::new(
                format!("shaper.{field}"),
                format!("{bytes} B"),
                format!("is smaller than one full frame of {full_frame} B, which could never go"),
                "give at least that much, such as \"20KB\"",
            ));
        }
    }
    if job.rate_bps.as_bps() == 0 {
        let remedy = "give a rate above 0, such as \"100Mbps\"";
        return Err(BuildError::new(
            "shaper.rate",
            0,
            "lets nothing through",
            remedy,
        ));
    }
    let shaper = match job.kind {
        ShaperKindJob::Tbf => Shaper::token_bucket(job.rate_bps, job.burst_bytes),
        ShaperKindJob::Htb => Shaper::htb(job.rate_bps, job.burst_bytes, cburst_bytes),
    };
    Ok(Some(shaper.with_late_timer(job.timer_lateness_ps, stream)))
}

/// The classifiers of all edge switches.
pub fn classifier(
    job: Option<ClassifierJob>,
    topology: &Topology,
) -> Result<Option<Classifier>, BuildError> {
    let Some(job) = job else {
        return Ok(None);
    };
    if job.short_to_long_ppm == Some(0) || job.interval_ps.as_ps() == 0 {
        return Err(BuildError::new(
            "classifier.short_to_long",
            0,
            "cannot be tuned to",
            "give a ratio and an interval above 0, or leave short_to_long out",
        ));
    }
    let config = ClassifierConfig {
        threshold_packets: job.threshold_packets,
        flow_timeout: job.flow_timeout_ps,
        tuning: job.short_to_long_ppm.map(|ppm| Tuning {
            interval: job.interval_ps,
            short_to_long: ppm as f64 / 1e6,
        }),
    };
    // by node: a switch that has no hosts has a classifier that is never asked
    Ok(Some(Classifier::new(config, topology.nodes().len())))
}
