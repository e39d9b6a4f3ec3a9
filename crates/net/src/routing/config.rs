//! The list of routing policies, and how a configuration becomes one of them.
//!
//! A new policy is one file, one variant here, and one arm of [`Config::build`].

use serde::{Deserialize, Serialize};

use super::{
    DestinationSuffix, Ecmp, EqualLength, RiplHash, Routing, SpanningTree, Spray, TwoLevel,
};
use crate::error::BuildError;
use crate::topology::{self, Topology};

/// How paths are chosen, in the plan of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Config {
    /// see [`DestinationSuffix`]
    DestinationSuffix,
    /// see [`Ecmp`]; seeded with the run's seed
    Ecmp,
    /// see [`Ecmp::shared`]; seeded with the run's seed
    EcmpSharedHash,
    /// see [`RiplHash`]
    RiplHash,
    /// see [`SpanningTree`]
    SpanningTree,
    /// see [`EqualLength`]; seeded with the run's seed
    EqualLength {
        /// the core for all flows; without it, each flow or packet has its own
        core: Option<u32>,
        /// whether a flow or a packet has a path of its own
        per: Per,
    },
    /// see [`Spray`]
    Spray,
    /// see [`TwoLevel`]
    TwoLevel,
}

/// What has a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// a flow, chosen by its hash
    Flow,
    /// a packet, drawn at random
    Packet,
}

impl Config {
    /// The policy for `topology`, which was built from `of`, in a run with this seed.
    ///
    /// # Errors
    /// If the topology does not suit the policy; the error names the field.
    pub fn build(
        self,
        of: &topology::Config,
        topology: &Topology,
        seed: u64,
    ) -> Result<Box<dyn Routing>, BuildError> {
        Ok(match self {
            Self::DestinationSuffix => Box::new(DestinationSuffix::new(topology)),
            Self::Ecmp => Box::new(Ecmp::new(topology, seed)),
            Self::EcmpSharedHash => Box::new(Ecmp::new(topology, seed).shared()),
            Self::RiplHash => Box::new(RiplHash::new(topology)),
            Self::SpanningTree => Box::new(SpanningTree::new(topology)),
            Self::EqualLength { core, per } => {
                let policy = EqualLength::new(topology, seed, core)?;
                Box::new(match per {
                    Per::Flow => policy,
                    Per::Packet => policy.per_packet(topology)?,
                })
            }
            Self::Spray => Box::new(Spray::new(topology)?),
            Self::TwoLevel => Box::new(TwoLevel::new(whole_fat_tree_k(of, topology)?)),
        })
    }
}

/// The `k` of a fat-tree that has all its links.
fn whole_fat_tree_k(of: &topology::Config, topology: &Topology) -> Result<u32, BuildError> {
    let refuse = |problem, remedy| Err(BuildError::new("routing", "two-level", problem, remedy));
    let topology::Config::FatTree { k } = of else {
        let problem = "needs a fat-tree, because it reads a fat-tree's addresses";
        return refuse(
            problem,
            "use topology.kind = \"fat-tree\", or routing = \"ecmp\"",
        );
    };
    if topology.has_failed_links() {
        let problem = "needs all links, because its tables do not change when one fails";
        return refuse(
            problem,
            "leave fabric.failed out, or use routing = \"ecmp\"",
        );
    }
    Ok(*k)
}
