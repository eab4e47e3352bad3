//! Our end of the TUN device puts segments into IPv4, makes losses and marks, and has a clock.

use crate::namespace::{ip, set};
use core::net::Ipv4Addr;
use core::time::Duration;
use smoltcp::phy::{Device, Medium, RxToken, TunTapInterface, TxToken, wait};
use smoltcp::wire::{IpProtocol, Ipv4Packet, Ipv4Repr};
use std::os::fd::AsRawFd;
use std::time::Instant;
use terse_sim::tcp::{Connection, Ecn, PseudoHeader, Segment, Transmit};
use terse_sim::{Random, Time};

pub(crate) const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
pub(crate) const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

/// The device.
pub(crate) struct Link {
    device: TunTapInterface,
    start: Instant,
    /// The probability that a packet is lost; `marking` is that of a mark on a packet that may be marked.
    pub(crate) loss: f64,
    pub(crate) marking: f64,
    /// The number of lost packets.
    pub(crate) lost: u32,
    random: Random,
    /// The packets in order: whether the kernel sent each, and its segment.
    pub(crate) log: Vec<(bool, Segment)>,
    next_port: u16,
}

impl Link {
    pub(crate) fn new() -> Self {
        let device = TunTapInterface::new(NAME, Medium::Ip).expect("a TUN device in our namespace");
        ip(&format!("addr add {KERNEL}/24 dev {NAME}"));
        ip(&format!("link set dev {NAME} mtu 1500 up"));
        // Losses here are not congestion, and BBR's pacing is not compared.
        set("tcp_congestion_control", "reno");
        // Routes must not remember measurements of the last connection.
        set("tcp_no_metrics_save", "1");
        Self {
            device,
            start: Instant::now(),
            loss: 0.0,
            marking: 0.0,
            lost: 0,
            random: Random::new(1, 0),
            log: Vec::new(),
            next_port: 2000,
        }
    }

    /// Prepares the next connection, on a link with this MTU.
    pub(crate) fn prepare(&mut self, seed: u64, mtu: u16, loss: f64, marking: f64) -> u16 {
        ip(&format!("link set dev {NAME} mtu {mtu}"));
        while self.receive(Duration::ZERO).is_some() {}
        (self.loss, self.marking) = (loss, marking);
        self.random = Random::new(seed, 0);
        self.log.clear();
        self.lost = 0;
        self.next_port += 1;
        self.next_port
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.start.elapsed()
    }

    pub(crate) fn random_sequence(&mut self) -> u32 {
        self.random.next_u32()
    }

    fn is_lost(&mut self) -> bool {
        let lost = self.random.happens(self.loss);
        self.lost += u32::from(lost);
        lost
    }

    /// Sends the connection's output.
    pub(crate) fn transmit(&mut self, connection: &mut Connection) {
        while let Some(transmit) = connection.poll_transmit(self.now()) {
            self.send(&transmit);
        }
    }

    /// Sends a segment that no connection has made.
    pub(crate) fn send_segment(&mut self, segment: &Segment) {
        self.send(&Transmit { segment: segment.clone(), ecn: Ecn::NotEct });
    }

    fn send(&mut self, transmit: &Transmit) {
        self.log.push((false, transmit.segment.clone()));
        if self.is_lost() {
            return;
        }
        let mut segment = transmit.segment.encode();
        Segment::fill_checksum(&mut segment, &PseudoHeader::V4(OURS, KERNEL));
        let marked = transmit.ecn == Ecn::Ect0 && self.random.happens(self.marking);
        let ecn = if marked { Ecn::Ce } else { transmit.ecn };
        let repr = Ipv4Repr {
            src_addr: OURS,
            dst_addr: KERNEL,
            next_header: IpProtocol::Tcp,
            payload_len: segment.len(),
            hop_limit: 64,
        };
        let token = self.device.transmit(smoltcp::time::Instant::ZERO).expect("TUN devices always take a packet");
        token.consume(repr.buffer_len() + segment.len(), |bytes| {
            let mut packet = Ipv4Packet::new_unchecked(bytes);
            repr.emit(&mut packet, &smoltcp::phy::ChecksumCapabilities::default());
            packet.set_ecn(ecn.bits());
            packet.fill_checksum();
            packet.payload_mut().copy_from_slice(&segment);
        });
    }

    /// Returns the next segment of the kernel that is not lost, if it comes within `timeout`.
    pub(crate) fn receive(&mut self, timeout: Duration) -> Option<(Segment, Ecn)> {
        let timeout = smoltcp::time::Duration::from_micros(timeout.as_micros() as u64);
        wait(self.device.as_raw_fd(), Some(timeout)).expect("the device is open");
        let (token, _) = self.device.receive(smoltcp::time::Instant::ZERO)?;
        let (segment, ecn) = token.consume(|bytes| {
            let packet = Ipv4Packet::new_checked(bytes).ok().filter(|packet| packet.version() == 4)?;
            if packet.dst_addr() != OURS || packet.next_header() != IpProtocol::Tcp {
                return None;
            }
            assert!(Segment::verify_checksum(packet.payload(), &PseudoHeader::V4(KERNEL, OURS)), "a wrong checksum");
            let segment = Segment::parse(packet.payload()).expect("the kernel's segments are segments");
            Some((segment, Ecn::from_bits(packet.ecn())))
        })?;
        self.log.push((true, segment.clone()));
        if self.is_lost() {
            return None;
        }
        let marked = ecn == Ecn::Ect0 && self.random.happens(self.marking);
        Some((segment, if marked { Ecn::Ce } else { ecn }))
    }

    /// Waits until a segment arrives or a timer expires, and lets the connection handle it.
    pub(crate) fn step(&mut self, connection: &mut Connection) {
        let until = connection.poll_timeout().map(|time| time.since(self.now()));
        let timeout = until.unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        if let Some((segment, ecn)) = self.receive(timeout) {
            connection.handle_segment(self.now(), &segment, ecn);
        }
        connection.handle_timeout(self.now());
        // The kernel also acknowledges before the application runs.
        self.transmit(connection);
    }
}

const NAME: &str = "terse0";
/// The longest wait, after which the kernel's side is checked for its end.
const LONGEST_WAIT: Duration = Duration::from_millis(10);
