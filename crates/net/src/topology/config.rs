//! The list of topologies, and how a configuration becomes one of them.
//!
//! A new topology is one file, one variant here, and one arm of [`Config::build`].

use serde::{Deserialize, Serialize};

use super::{
    Dancehall, GraphLink, Topology, bcube, custom, dancehall, dumbbell, fat_tree, leaf_spine, star,
    testbed, three_tier, two_switch, vl2,
};
use crate::error::BuildError;

/// A topology, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Config {
    /// see [`fat_tree`]
    FatTree {
        /// ports per switch
        k: u32,
    },
    /// see [`leaf_spine`]
    LeafSpine {
        /// leaf switches, which the hosts are connected to
        leaves: u32,
        /// spine switches above them
        spines: u32,
        /// hosts at each leaf switch
        hosts_per_leaf: u32,
    },
    /// see [`three_tier`]
    ThreeTier {
        /// aggregation switches under the core
        aggs: u32,
        /// edge switches under each of these
        edges_per_agg: u32,
        /// hosts at each edge switch
        hosts_per_edge: u32,
    },
    /// see [`vl2`]
    Vl2 {
        /// ports of an aggregation switch
        d_a: u32,
        /// ports of an intermediate switch
        d_i: u32,
        /// hosts in a rack
        hosts_per_rack: u32,
    },
    /// see [`bcube`]
    Bcube {
        /// ports of a switch
        n: u32,
        /// the highest level
        k: u32,
    },
    /// see [`star`]
    Star {
        /// hosts
        hosts: u32,
    },
    /// see [`dumbbell`]
    Dumbbell {
        /// hosts on the left
        left: u32,
        /// hosts on the right
        right: u32,
    },
    /// see [`dancehall`]
    Dancehall(Dancehall),
    /// see [`testbed`]
    Testbed,
    /// see [`two_switch`]
    TwoSwitch {
        /// hosts behind the second switch
        peers: u32,
    },
    /// see [`custom`]
    Graph {
        /// names of the hosts
        hosts: Vec<String>,
        /// whether hosts forward packets for others
        #[serde(default)]
        hosts_forward: bool,
        /// names of the switches
        switches: Vec<String>,
        /// links between the nodes
        links: Vec<GraphLink>,
    },
}

impl Config {
    /// Builds the topology.
    ///
    /// # Errors
    /// If the topology cannot be built; the error names the field.
    pub fn build(&self) -> Result<Topology, BuildError> {
        match self {
            Self::FatTree { k } => fat_tree(*k),
            Self::LeafSpine {
                leaves,
                spines,
                hosts_per_leaf,
            } => leaf_spine(*leaves, *spines, *hosts_per_leaf),
            Self::ThreeTier {
                aggs,
                edges_per_agg,
                hosts_per_edge,
            } => three_tier(*aggs, *edges_per_agg, *hosts_per_edge),
            Self::Vl2 {
                d_a,
                d_i,
                hosts_per_rack,
            } => vl2(*d_a, *d_i, *hosts_per_rack),
            Self::Bcube { n, k } => bcube(*n, *k),
            Self::Star { hosts } => star(*hosts),
            Self::Dumbbell { left, right } => dumbbell(*left, *right),
            Self::Dancehall(shape) => dancehall(shape),
            Self::Testbed => Ok(testbed()),
            Self::TwoSwitch { peers } => two_switch(*peers),
            Self::Graph {
                hosts,
                hosts_forward,
                switches,
                links,
            } => custom(hosts, *hosts_forward, switches, links),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each kind as written in a plan, with the numbers of its hosts, switches and links.
    #[test]
    fn a_plan_gets_the_network_that_it_names() {
        let kinds = [
            (r#"{"kind": "fat-tree", "k": 4}"#, [16, 20, 48]),
            (
                r#"{"kind": "leaf-spine", "leaves": 4, "spines": 3, "hosts_per_leaf": 2}"#,
                [8, 7, 20],
            ),
            (
                r#"{"kind": "three-tier", "aggs": 2, "edges_per_agg": 3, "hosts_per_edge": 4}"#,
                [24, 9, 32],
            ),
            (
                // d_a d_i / 4 racks with two links up each; d_i aggregation switches, and d_a / 2 intermediate switches
                // above them
                r#"{"kind": "vl2", "d_a": 4, "d_i": 8, "hosts_per_rack": 2}"#,
                [16, 18, 48],
            ),
            (r#"{"kind": "bcube", "n": 3, "k": 1}"#, [9, 6, 18]),
            (r#"{"kind": "star", "hosts": 5}"#, [5, 1, 5]),
            (r#"{"kind": "dumbbell", "left": 2, "right": 3}"#, [5, 2, 6]),
            (r#"{"kind": "two-switch", "peers": 4}"#, [6, 2, 7]),
            (
                r#"{"kind": "graph", "hosts": ["a", "b"], "switches": ["s"],
                    "links": [{"ends": ["a", "s"]}, {"ends": ["s", "b"]}]}"#,
                [2, 1, 2],
            ),
        ];
        for (text, counts) in kinds {
            let config: Config = serde_json::from_str(text).expect(text);
            let built = config.build().expect(text);
            let found = [built.hosts().len(), built.switches(), built.links()];
            assert_eq!(found, counts, "{text}");
        }
    }
}
