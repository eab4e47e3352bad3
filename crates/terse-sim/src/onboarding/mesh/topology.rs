//! The chain of motes, as two meshes with one schedule: that of the network, and that of the pledge's hop.

use core::time::Duration;

use crate::link::{Framing, Link, Path};
use crate::radio::Connectivity;
use crate::tsch::{CellKind, LossOptions, MeshConfig, SerialOptions};

/// Returns the network from the root to the join proxy, which is `hops - 1` hops away from it.
pub(super) fn network(hops: u16, loss: f64) -> MeshConfig {
    let mut config = MeshConfig::openwsn(PREFIX);
    config.slotframes = vec![slots(hops)];
    config.sixlowpan.gateway_compresses_udp = true;
    config.loss = LossOptions { frames: loss, packets: 0.0 };
    for hop in 0..hops.saturating_sub(1) {
        let mote = config.add_mote(hop);
        add_cells(&mut config, (hop, mote), 1 + CELLS * hop);
        config.radio = core::mem::take(&mut config.radio).both_ways(hop, mote, 1.0);
    }
    config.add_shared_cell(0, 0, 0);
    config
}

/// Returns the hop from the join proxy, which is the root of this mesh, to the pledge.
pub(super) fn last_hop(hops: u16, loss: f64) -> MeshConfig {
    let mut config = MeshConfig::openwsn(LINK_LOCAL);
    config.name = "pledge".into();
    config.slotframes = vec![slots(hops)];
    config.sixlowpan.gateway_compresses_udp = true;
    config.serial = SerialOptions { up: Duration::ZERO, down: Duration::ZERO };
    config.loss = LossOptions { frames: loss, packets: 0.0 };
    let pledge = config.add_mote(0);
    add_cells(&mut config, (0, pledge), 1 + CELLS * hops.saturating_sub(1));
    config.radio = Connectivity::new().both_ways(0, pledge, 1.0);
    config.add_shared_cell(0, 0, 0);
    // The join proxy listens to that cell in the network already.
    if let Some(proxy) = config.motes.first_mut() {
        proxy.cells.retain(|cell| cell.kind != CellKind::Shared);
    }
    config
}

/// Returns the link between the gateway and the registrar, with an assumption for the way through the Internet.
pub(super) fn internet() -> Link {
    let path = Path::new(100_000_000, Duration::from_millis(20));
    Link { name: "internet".into(), framing: Framing::Ip, mtu: 1_500, half_duplex: false, up: path.clone(), down: path }
}

/// Adds the cells of a hop: one up, and three down.
fn add_cells(config: &mut MeshConfig, (parent, child): (u16, u16), first: u16) {
    config.add_cell(0, first, 1, child, parent);
    for slot in first + 1..first + CELLS {
        config.add_cell(0, slot, 2, parent, child);
    }
}

/// Returns the slots of the slotframe: no two hops send at the same time.
const fn slots(hops: u16) -> u16 {
    1 + CELLS * hops
}

/// The cells of a hop.
const CELLS: u16 = 4;

/// The prefix of the network, as in the paper on TLS over 6TiSCH.
pub(super) const PREFIX: [u8; 8] = [0xbb, 0xbb, 0, 0, 0, 0, 0, 0];

/// The prefix of link-local addresses.
const LINK_LOCAL: [u8; 8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0];
