//! The options of a scenario, by section. `docs/scenarios.md` says where each default comes from.
//!
//! What must always hold: a [`Scenario`] that was read from a file was checked, so that it can be run.

mod ends;
mod fleet;
mod forming;
mod peers;
mod radio;
mod schedule;
mod tcp;
mod topology;

use core::time::Duration;

pub use ends::{DtlsOptions, GatewayOptions, InternetOptions, PaperValues, SerialOptions};
pub use fleet::{EventKind, EventOptions, ReconnectOptions, TrafficOptions};
pub(super) use forming::NO_ENERGY;
pub use forming::{EnergyOptions, FormingFunction, FormingOptions, MsfProfile};
pub(super) use peers::NO_DEVICE;
pub use peers::{Aead, EdhocOptions, EngineOptions, Group, MbedTlsOptions, PeerKind, Protocol};
pub use radio::{LinkQuality, LossOptions, MacOptions, PoolOptions, RadioModel, RadioOptions, SixlowpanOptions};
pub use schedule::{CellKind, ExplicitCell, ExplicitKind, Length, Placement, ScheduleOptions, SlotLength};
pub use tcp::{TcpOptions, TcpProfile, TcpSide};
pub use topology::{Clients, Shape, Topology};

use super::visit::{Visitor, field, milliseconds, small};
use crate::compare;

/// Everything that a run follows from, besides the peers' certificates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// How often, and from which seed.
    pub repetitions: Repetitions,
    /// The motes and their parents.
    pub topology: Topology,
    /// The TSCH schedule.
    pub schedule: ScheduleOptions,
    /// How the network forms itself, if it does.
    pub forming: FormingOptions,
    /// How well motes hear each other.
    pub radio: RadioOptions,
    /// What is lost after the MAC's acknowledgement.
    pub loss: LossOptions,
    /// The TSCH MAC.
    pub mac: MacOptions,
    /// The packet buffers of each mote.
    pub pool: PoolOptions,
    /// 6LoWPAN.
    pub sixlowpan: SixlowpanOptions,
    /// The serial line between the root and the gateway.
    pub serial: SerialOptions,
    /// The network between the gateway and the server.
    pub internet: InternetOptions,
    /// The gateway.
    pub gateway: GatewayOptions,
    /// TCP on both sides.
    pub tcp: TcpOptions,
    /// DTLS on both sides.
    pub dtls: DtlsOptions,
    /// What connects.
    pub peers: PeerKind,
    /// The messages of Mbed TLS, for [`PeerKind::MbedTls`].
    pub mbedtls: MbedTlsOptions,
    /// The engine, for [`PeerKind::Engine`].
    pub engine: EngineOptions,
    /// EDHOC, for [`PeerKind::Edhoc`].
    pub edhoc: EdhocOptions,
    /// What motes use of their batteries.
    pub energy: EnergyOptions,
    /// What happens to a whole network.
    pub event: EventOptions,
    /// What the devices of a whole network report.
    pub traffic: TrafficOptions,
    /// How the devices of a whole network connect.
    pub reconnect: ReconnectOptions,
    /// What a paper measured, if it did.
    pub paper: PaperValues,
}

/// How often a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetitions {
    /// The number of runs, each with a seed of its own.
    pub count: u32,
    /// What the seeds of all runs follow from.
    pub seed: u64,
    /// The virtual time after which a run that is not connected has failed.
    pub limit: Duration,
}

impl Default for Repetitions {
    fn default() -> Self {
        Self { count: 20, seed: 1, limit: Duration::from_secs(600) }
    }
}

impl Repetitions {
    /// Returns the seed of the run numbered `number`.
    pub fn seed_of(&self, number: u32) -> u64 {
        compare::seed(self.seed, number as usize)
    }

    fn visit(&mut self, visitor: &mut dyn Visitor) {
        small(visitor, field("repetitions", "number of runs", "runs"), &mut self.count, 1..=100_000);
        visitor.integer(field("seed", "seed", ""), &mut self.seed, 0..=i64::MAX.unsigned_abs());
        milliseconds(visitor, field("limit_ms", "limit of a run", "milliseconds"), &mut self.limit, 1.0..=86_400_000.0);
    }
}

/// A contradiction between keys: the path of the key that it is reported at, and what would be right.
pub(super) type Contradiction = (&'static str, String);

impl Scenario {
    /// Visits every key.
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        self.repetitions.visit(visitor);
        PeerKind::visit(&mut self.peers, visitor);
        visitor.table("topology", &mut |visitor| self.topology.visit(visitor));
        visitor.table("schedule", &mut |visitor| self.schedule.visit(visitor));
        visitor.table("forming", &mut |visitor| self.forming.visit(visitor));
        visitor.table("radio", &mut |visitor| self.radio.visit(visitor));
        visitor.table("loss", &mut |visitor| self.loss.visit(visitor));
        visitor.table("mac", &mut |visitor| self.mac.visit(visitor));
        visitor.table("pool", &mut |visitor| self.pool.visit(visitor));
        visitor.table("sixlowpan", &mut |visitor| self.sixlowpan.visit(visitor));
        visitor.table("serial", &mut |visitor| self.serial.visit(visitor));
        visitor.table("internet", &mut |visitor| self.internet.visit(visitor));
        visitor.table("gateway", &mut |visitor| self.gateway.visit(visitor));
        visitor.table("tcp", &mut |visitor| self.tcp.visit(visitor));
        visitor.table("dtls", &mut |visitor| self.dtls.visit(visitor));
        visitor.table("mbedtls", &mut |visitor| self.mbedtls.visit(visitor));
        visitor.table("engine", &mut |visitor| self.engine.visit(visitor));
        visitor.table("edhoc", &mut |visitor| self.edhoc.visit(visitor));
        visitor.table("energy", &mut |visitor| self.energy.visit(visitor));
        visitor.table("event", &mut |visitor| self.event.visit(visitor));
        visitor.table("traffic", &mut |visitor| self.traffic.visit(visitor));
        visitor.table("reconnect", &mut |visitor| self.reconnect.visit(visitor));
        visitor.table("paper", &mut |visitor| self.paper.visit(visitor));
    }

    /// Returns what contradicts itself, though each key alone is right.
    pub(super) fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        self.topology.check(&mut found);
        let forms = self.forming.is_on();
        if found.is_empty() {
            if !forms {
                self.schedule.check(&self.topology, &mut found);
            }
            self.radio.check(&self.topology, &mut found);
        }
        self.forming.check(self.schedule.slot.duration(), &mut found);
        self.topology.check_radio(self.radio.model, forms, &mut found);
        self.mac.check(&mut found);
        self.pool.check(&mut found);
        self.sixlowpan.check(&mut found);
        self.tcp.check(&mut found);
        self.dtls.check(&mut found);
        if self.peers == PeerKind::Engine {
            self.engine.check(&mut found);
        }
        if self.is_whole() {
            self.event.check(&self.traffic, self.engine.mode, &mut found);
            self.reconnect.check(&mut found);
            if self.peers != PeerKind::Engine {
                found.push(("topology.clients", "a whole network connects with the engine: peers = \"engine\"".into()));
            }
            if self.forming.tunnel_cells > 0 {
                found.push(("forming.tunnel_cells", "a tunnel is for one client: 0 in a whole network".into()));
            }
        }
        if self.gateway.proxy && !self.uses_tcp() {
            found.push(("gateway.proxy", "a proxy is for TCP: false, or peers that use TLS".into()));
        }
        found
    }

    /// Whether the peers are ones that do not exist, so that a matrix leaves them out: identities are for TLS 1.3 only.
    pub(super) const fn exists(&self) -> bool {
        !matches!(self.peers, PeerKind::Engine) || self.engine.mode.exists_in(self.engine.version)
    }

    /// Whether all motes connect, and not only one.
    pub fn is_whole(&self) -> bool {
        self.topology.clients == Clients::All
    }

    /// Whether the peers connect over TCP; otherwise they use UDP.
    pub const fn uses_tcp(&self) -> bool {
        match self.peers {
            PeerKind::MbedTls => matches!(self.mbedtls.protocol, Protocol::Tls12),
            PeerKind::Engine => matches!(self.engine.version.transport(), terse_tls::summary::Transport::Stream),
            PeerKind::Edhoc => false,
        }
    }
}
