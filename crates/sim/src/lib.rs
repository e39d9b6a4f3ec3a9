//! Hosts, workloads and probes: joins net and tcp into a run.
