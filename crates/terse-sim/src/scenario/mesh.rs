//! The mesh of a scenario, its gateway, and the link to the Internet.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr};

use super::options::{ExplicitKind, LinkQuality, Scenario};
use crate::Random;
use crate::gateway::{Gateway, INTERNET, ProxyConfig};
use crate::link::{Framing, Link, Path};
use crate::radio::{Connectivity, RadioChange};
use crate::route::Prefix;
use crate::sixtop::EcnOptions;
use crate::tsch::{LossOptions, MacOptions, MeshConfig, PoolOptions, SerialOptions, SixlowpanOptions};

impl Scenario {
    /// Returns the configuration of the mesh. `radio` says who hears whom, if a model or a trace does, and how that changes.
    pub(super) fn mesh(&self, radio: Option<(Connectivity, Vec<RadioChange>)>) -> MeshConfig {
        let octets = self.sixlowpan.prefix.octets();
        let prefix = [octets[0], octets[1], octets[2], octets[3], octets[4], octets[5], octets[6], octets[7]];
        let forms = self.forming.is_on();
        let (slots, cells) = match forms {
            true => (self.forming.slotframe, Vec::new()),
            false => self.schedule.lay_out(&self.topology),
        };
        let (radio, radio_changes) = radio.unwrap_or_else(|| (self.connectivity(), Vec::new()));
        let mut mesh = MeshConfig {
            timeslot: self.schedule.slot.timeslot(),
            slotframes: vec![slots; if forms { 3 } else { 1 }],
            hopping: self.schedule.hopping.iter().map(|channel| *channel as u8).collect(),
            mac: MacOptions {
                pan: self.sixlowpan.pan_id,
                max_retries: self.mac.max_retries,
                min_be: self.mac.min_backoff_exponent,
                max_be: self.mac.max_backoff_exponent,
                unicast_in_shared_cells: self.mac.shared_carries_unicast,
            },
            pool: PoolOptions { frames: self.pool.frames, upper_layers_fail_from: self.pool.limit },
            root_pool: (self.pool.root_frames > 0).then_some(PoolOptions {
                frames: self.pool.root_frames,
                upper_layers_fail_from: self.pool.root_frames.saturating_sub(self.pool.frames - self.pool.limit).max(1),
            }),
            sixlowpan: SixlowpanOptions {
                prefix,
                unfragmented_len: self.sixlowpan.unfragmented.into(),
                fragment_len: self.sixlowpan.fragment.into(),
                reassembly_timeout: self.sixlowpan.reassembly_timeout,
                gateway_compresses_udp: self.sixlowpan.gateway_compresses_udp,
                forwarding_buffers: self.sixlowpan.reassembly_buffers.into(),
            },
            serial: SerialOptions { up: self.serial.up, down: self.serial.down },
            radio,
            radio_changes,
            ecn: (self.pool.ecn_percent > 0).then_some(EcnOptions { mark_from_percent: self.pool.ecn_percent }),
            formation: self.forming.formation(self.schedule.slot.duration()),
            loss: LossOptions { frames: self.loss.fragments, packets: self.loss.packets },
            ..MeshConfig::openwsn(prefix)
        };
        for parent in self.topology.parents() {
            mesh.add_mote(parent as u16);
        }
        for cell in cells {
            match cell.kind {
                ExplicitKind::Shared => mesh.add_shared_cell(0, cell.slot, cell.channel_offset),
                ExplicitKind::Dedicated => {
                    mesh.add_cell(0, cell.slot, cell.channel_offset, cell.from as u16, cell.to as u16);
                }
            }
        }
        mesh
    }

    /// Returns the gateway, which is no mote: the root's radio is its interface to the mesh.
    pub(super) fn gateway(&self, random: Random) -> Gateway {
        let prefix = self.sixlowpan.prefix;
        let address = Ipv6Addr::from_bits(prefix.to_bits() | u128::from(GATEWAY));
        let server = Prefix::new(IpAddr::V6(self.internet.server), 128);
        let gateway = Gateway::new(IpAddr::V6(address), Prefix::new(IpAddr::V6(prefix), 64));
        let gateway = gateway.with_route(server, INTERNET).with_unchanged_hop_limits();
        if !self.gateway.proxy {
            return gateway;
        }
        gateway.with_proxy(ProxyConfig { mesh: self.tcp.proxy.config.clone(), ..ProxyConfig::default() }, random)
    }

    /// Returns the link between the gateway and the server.
    pub(super) fn internet(&self) -> Link {
        let path = Path {
            rate: self.internet.rate.map(|rate| rate as u64),
            delay: self.internet.delay,
            loss: self.internet.loss,
            ..Path::IDEAL
        };
        Link {
            name: Cow::Borrowed("internet"),
            framing: Framing::Ip,
            mtu: 1_500,
            half_duplex: false,
            up: path.clone(),
            down: path,
        }
    }

    /// Returns who hears whom: the ends of each link, and those of the exceptions.
    fn connectivity(&self) -> Connectivity {
        let mut radio = Connectivity::new();
        for (mote, other) in self.links() {
            radio = radio.both_ways(mote as u16, other as u16, self.radio.delivery);
        }
        for LinkQuality { from, to, channel, delivery } in &self.radio.links {
            radio.set(*from as u16, *to as u16, (*channel != 0).then_some(*channel), *delivery);
        }
        radio
    }
}

/// The interface identifier of the gateway. Nobody sends to it.
const GATEWAY: u64 = 0xffff_ffff_ffff_fffe;
