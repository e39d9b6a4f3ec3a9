//! RED and RIO as the job has them.

use fairport_net::BuildError;
use fairport_net::discipline::{
    Discipline, DropTail, EarlyDrop, QueueUnit, Ramp, Red, RedLinux, RedLinuxConfig, Rio, Variant,
};

use super::PortQueue;
use crate::job::{AverageJob, RampJob, RedVariantJob, ThresholdJob};

/// A share in parts of 10^9.
fn share(ppb: u32) -> f64 {
    f64::from(ppb) / 1e9
}

pub(crate) fn red(
    buffer: DropTail,
    variant: RedVariantJob,
    ramp_job: RampJob,
    average: AverageJob,
    port: &PortQueue,
) -> Result<Discipline, BuildError> {
    let (ramp, unit) = ramp("queue", ramp_job, average)?;
    let variant = match variant {
        RedVariantJob::FloydJacobson => Variant::Paper,
        RedVariantJob::Ns2 => Variant::Ns2,
        RedVariantJob::Linux => return red_linux(buffer, ramp_job, ramp.max_p, average, port),
    };
    let config = early_drop(buffer, unit, variant, average, port)?;
    let red = Red::new(ramp, &config, port.stream());
    Ok(Discipline::Red(Box::new(red)))
}

fn red_linux(
    buffer: DropTail,
    ramp: RampJob,
    max_p: f64,
    average: AverageJob,
    port: &PortQueue,
) -> Result<Discipline, BuildError> {
    let (ThresholdJob::Bytes(min_bytes), ThresholdJob::Bytes(max_bytes)) = (ramp.min, ramp.max)
    else {
        return Err(BuildError::new(
            "queue.min",
            format!("{:?}", ramp.min),
            "is in packets, and Linux' RED counts bytes",
            "give min and max in bytes, such as \"7500B\"",
        ));
    };
    let config = RedLinuxConfig {
        min_bytes,
        max_bytes,
        max_p,
        weight: weight(average)?,
        buffer,
        packet_time: port.packet_time(average.mean_packet_bytes),
        ecn: average.ecn,
    };
    let red = RedLinux::new(&config, port.stream());
    Ok(Discipline::RedLinux(Box::new(red)))
}

pub(crate) fn rio(
    buffer: DropTail,
    short: RampJob,
    long: RampJob,
    average: AverageJob,
    port: &PortQueue,
) -> Result<Discipline, BuildError> {
    let (short, unit) = ramp("queue.short", short, average)?;
    let (long, long_measure) = ramp("queue.long", long, average)?;
    if unit != long_measure {
        return Err(BuildError::new(
            "queue.short",
            format!("{unit:?}"),
            "is not the unit of queue.long",
            "give all four thresholds in bytes, or all in packets",
        ));
    }
    let config = early_drop(buffer, unit, Variant::Ns2, average, port)?;
    let rio = Rio::new(short, long, &config, port.stream());
    Ok(Discipline::Rio(Box::new(rio)))
}

/// What both are made of.
fn early_drop(
    buffer: DropTail,
    unit: QueueUnit,
    variant: Variant,
    average: AverageJob,
    port: &PortQueue,
) -> Result<EarlyDrop, BuildError> {
    Ok(EarlyDrop {
        weight: weight(average)?,
        unit,
        variant,
        ecn: average.ecn,
        buffer,
        packet_time: port.packet_time(average.mean_packet_bytes),
    })
}

fn weight(average: AverageJob) -> Result<f64, BuildError> {
    let weight = share(average.weight_ppb);
    if weight > 0.0 && weight <= 1.0 {
        return Ok(weight);
    }
    Err(BuildError::new(
        "queue.weight",
        weight,
        "is not above 0 and at most 1",
        "give a weight such as 0.002",
    ))
}

fn ramp(field: &str, job: RampJob, average: AverageJob) -> Result<(Ramp, QueueUnit), BuildError> {
    let (min, max, unit) = match (job.min, job.max) {
        (ThresholdJob::Packets(min), ThresholdJob::Packets(max)) => (min, max, QueueUnit::Packets),
        (ThresholdJob::Bytes(min), ThresholdJob::Bytes(max)) => {
            (min, max, QueueUnit::Bytes(average.mean_packet_bytes.max(1)))
        }
        (min, max) => {
            return Err(BuildError::new(
                format!("{field}.min"),
                format!("{min:?}"),
                format!("is not of the unit of max, {max:?}"),
                "give both in bytes or both in packets",
            ));
        }
    };
    if min >= max {
        return Err(BuildError::new(
            format!("{field}.min"),
            min,
            format!("is not below max, {max}"),
            "give the smaller one as min",
        ));
    }
    let max_p = share(job.max_p_ppb);
    if max_p <= 0.0 || max_p > 1.0 {
        return Err(BuildError::new(
            format!("{field}.max_p"),
            max_p,
            "is not a probability above 0 and at most 1",
            "give a probability such as 0.1",
        ));
    }
    let ramp = Ramp {
        min: f64::from(min),
        max: f64::from(max),
        max_p,
        gentle: average.gentle,
    };
    Ok((ramp, unit))
}
