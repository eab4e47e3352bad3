//! The options of a node in RPL.

use core::time::Duration;

use super::of0::Of0;
use super::options::DodagConfiguration;
use super::trickle::Parameters;

/// The options of a node. Those of the DODAG count at the root, which gives them to all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RplOptions {
    /// RPLInstanceID.
    pub instance: u8,
    /// What the root puts into its DIOs.
    pub dodag: DodagConfiguration,
    /// The Objective Function. MinHopRankIncrease is the DODAG's.
    pub of0: Of0,
    /// What a node does that has lost its parent.
    pub repair: Repair,
    /// How often a node without a parent sends a DIS.
    pub dis_interval: Duration,
    /// DelayDAO: how long a node waits on average before it sends a DAO (RFC 6550, 9.5).
    pub dao_delay: Duration,
    /// How long a node waits for a DAO-ACK before it sends the DAO again; `None` if it asks for none.
    pub dao_ack_timeout: Option<Duration>,
    /// How often a DAO is sent again.
    pub dao_retries: u8,
    /// The most neighbours that a node remembers.
    pub neighbours: usize,
    /// How long a neighbour is left alone whose link was too poor. Then the link counts as not measured.
    pub forget_after: Duration,
    /// The most nodes of which the root knows the parent.
    pub routes: usize,
    /// The most hops of a source route.
    pub max_hops: usize,
    /// How often the root begins a new version of the DODAG without a reason; `None` for never.
    pub version_interval: Option<Duration>,
}

/// What a node does that has lost its parent, and hears routers still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A router becomes parent only if its Rank is lower than the lowest that this node has had in this version (L). Then
    /// parents make no loop at any time, whatever messages are lost: along parents, L falls. (A node that forgets L, as it starts
    /// anew in the same version, can make one; MaxRankIncrease ends it.) If there is no such router, the node poisons
    /// its routes, and tells the root by a No-Path for itself, sent through one of the others; the root then begins a new
    /// version, where all are free again. RFC 6550 leaves it to the root when to do that (3.7.1).
    Global {
        /// The least time between two versions.
        interval: Duration,
    },
    /// As RFC 6550 has it: a node that is lost makes nobody else choose anew. Any router becomes parent as long as the Rank is at most L + MaxRankIncrease (RFC 6550, 8.2.2.4). There may be loops for a
    /// while. MaxRankIncrease must not be 0, or a loop may last until ranks are infinite.
    Local,
}

impl RplOptions {
    /// The options of RFC 8180 and RFC 6550, and for what they leave open, those of the 6TiSCH Simulator.
    pub const RFC_8180: Self = Self {
        instance: 0,
        dodag: DodagConfiguration {
            is_authenticated: false,
            path_control_size: 0,
            trickle: Parameters::RPL,
            max_rank_increase: 2_048,
            min_hop_rank_increase: 256,
            objective_code_point: 0,
            default_lifetime: 120,
            lifetime_unit: 60,
        },
        of0: Of0::RFC_8180,
        repair: Repair::Local,
        dis_interval: Duration::from_secs(60),
        dao_delay: Duration::from_secs(1),
        dao_ack_timeout: Some(Duration::from_secs(30)),
        dao_retries: 3,
        neighbours: 32,
        forget_after: Duration::from_secs(600),
        routes: 2_000,
        max_hops: 33,
        version_interval: None,
    };

    /// The same with the Trickle parameters of the 6TiSCH Simulator.
    pub const SIXTISCH: Self = Self {
        dodag: DodagConfiguration { trickle: Parameters::SIXTISCH_SIMULATOR, ..Self::RFC_8180.dodag },
        ..Self::RFC_8180
    };
}
