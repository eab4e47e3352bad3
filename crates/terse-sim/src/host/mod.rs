//! Hosts: addresses, sockets, and a program that uses them.
//!
//! A host may have several interfaces, each with addresses and an MTU of its own. The interface of a packet is the one
//! whose prefix contains its destination, or the default interface.
//!
//! The program has one processor. While it is [busy](Sockets::busy), events wait, and what it sends meanwhile leaves
//! when it is done; the stack below (acknowledgements, retransmissions) goes on, as a kernel's or a radio's own
//! processor does.

mod application;
mod sockets;
mod stack;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

pub use application::{Application, SocketEvent};
pub use sockets::{SendError, SocketId, Sockets};
use stack::Stack;

use crate::network::{Node, Verdict};
use crate::packet::Packet;
use crate::route::Prefix;
use crate::{Random, Time};

/// A node with addresses, sockets and a program.
#[derive(Debug)]
pub struct Host<A> {
    /// The program.
    pub application: A,
    stack: Stack,
    starts_at: Option<Time>,
}

impl<A: Application> Host<A> {
    /// Creates a host that is switched on at the beginning. `random` is for initial sequence numbers.
    pub fn new(address: IpAddr, application: A, random: Random) -> Self {
        Self::starting_at(address, application, random, Time::ZERO)
    }

    /// Creates a host that is switched on at the time `at`.
    pub fn starting_at(address: IpAddr, application: A, random: Random, at: Time) -> Self {
        Self { application, stack: Stack::new(address, random), starts_at: Some(at) }
    }

    /// Sets when the host is switched on, if it is not on yet.
    pub const fn start_at(&mut self, at: Time) {
        if self.starts_at.is_some() {
            self.starts_at = Some(at);
        }
    }

    /// Gives an interface one more address, and a route to all addresses that begin with the same `prefix_length` bits.
    /// The address that the host was created with is one of interface 0; to give it a prefix, give it once more.
    #[must_use]
    pub fn with_address(mut self, interface: usize, address: IpAddr, prefix_length: u8) -> Self {
        self.stack.interfaces.assign(interface, address, Prefix::new(address, prefix_length));
        self
    }

    /// Sets the interface to destinations without a route. Otherwise it is the first with an address of their family.
    #[must_use]
    pub const fn with_default_interface(mut self, interface: usize) -> Self {
        self.stack.interfaces.set_default(interface);
        self
    }

    /// Sets the port that the host takes next by itself, for programs that do not choose one. It begins with a random one.
    #[must_use]
    pub const fn with_next_port(mut self, port: u16) -> Self {
        self.stack.set_next_port(port);
        self
    }

    /// Lets the host answer datagrams to ports where nobody listens (RFC 4443, 3.1: Destination Unreachable, port
    /// unreachable). By default it is silent.
    #[must_use]
    pub const fn with_port_unreachable(mut self) -> Self {
        self.stack.report_unreachable_ports();
        self
    }

    /// Lets the caller act as the program does, for tests and for what a user would do.
    pub fn act<R>(&mut self, now: Time, action: impl FnOnce(&mut A, &mut Sockets<'_>) -> R) -> R {
        let result = action(&mut self.application, &mut Sockets::new(&mut self.stack, now));
        self.run(now);
        result
    }

    /// Returns until when the program is busy.
    pub const fn busy_until(&self) -> Time {
        self.stack.busy_until
    }

    /// Lets the program do what is due.
    fn run(&mut self, now: Time) {
        self.stack.carry_out(now);
        while self.starts_at.is_none_or(|at| at <= now) && self.stack.busy_until <= now {
            if self.starts_at.take().is_some() {
                self.application.start(now, &mut Sockets::new(&mut self.stack, now));
            } else if let Some(event) = self.stack.events.pop_front() {
                self.application.handle_event(now, event, &mut Sockets::new(&mut self.stack, now));
                if let SocketEvent::Closed(socket) | SocketEvent::Failed(socket, _) = event {
                    self.stack.let_go(socket);
                }
            } else {
                break;
            }
            self.stack.carry_out(now);
        }
    }
}

impl<A: Application> Node for Host<A> {
    fn address(&self) -> Option<IpAddr> {
        Some(self.stack.interfaces.primary())
    }

    fn attach(&mut self, interface: usize, mtu: usize) {
        self.stack.interfaces.attach(interface, mtu);
    }

    fn handle_packet(&mut self, now: Time, _interface: usize, packet: Packet) -> Verdict {
        if self.starts_at.is_some() {
            return Verdict::Dropped(crate::network::Cause::NobodyListens);
        }
        let verdict = self.stack.handle_packet(now, &packet);
        self.run(now);
        verdict
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<(usize, Packet)> {
        self.stack.poll_transmit()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let program = if self.starts_at.is_some() {
            self.starts_at
        } else {
            let waits = (!self.stack.events.is_empty()).then_some(Time::ZERO);
            // A busy program handles no timeout.
            waits.or(self.application.poll_timeout()).map(|at| at.max(self.stack.busy_until))
        };
        [program, self.stack.poll_timeout()].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Time) {
        self.stack.handle_timeout(now);
        self.run(now);
        let idle = self.starts_at.is_none() && self.stack.busy_until <= now;
        if idle && self.application.poll_timeout().is_some_and(|at| at <= now) {
            self.application.handle_timeout(now, &mut Sockets::new(&mut self.stack, now));
            self.run(now);
        }
    }
}
