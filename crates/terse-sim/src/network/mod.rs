//! A network has nodes, links between them, and virtual time.
//!
//! A [`Network`] jumps from event to event. Events at the same time happen in the order in which they were put in,
//! every random decision has its own stream derived from the one seed, and nothing reads a clock: a run is a function
//! of its scenario. After every step [`Network::conservation`] holds.

mod carrier;
mod conservation;
mod node;
mod queue;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr};

pub use crate::cause::Cause;
use carrier::{Carrier, LinkEvent};
pub use conservation::{Balance, Conservation, Count};
pub use node::{Node, Verdict};
use queue::Queue;

use crate::Time;
use crate::capture::{Capture, View};
use crate::ledger::Ledger;
use crate::link::{Direction, Link, Station};

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// A link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(u32);

/// Nodes of type `N`, links between them, and the time.
#[derive(Debug)]
pub struct Network<N> {
    seed: u64,
    now: Time,
    events: Queue<Event>,
    nodes: Vec<Attached<N>>,
    links: Vec<Carrier>,
    /// Nodes that the user may have changed.
    touched: Vec<NodeId>,
    /// The number of events since the time last moved on.
    standing_still: u64,
}

#[derive(Debug)]
struct Attached<N> {
    node: N,
    /// The link of each interface, and the direction that leaves the node.
    interfaces: Vec<(LinkId, Direction)>,
    /// The time of the timer event that is in the queue. Later timers are put in when it comes; earlier ones supersede
    /// it.
    timer: Option<Time>,
}

/// The end of a link: a node, and one of its interfaces.
#[derive(Clone, Copy, Debug)]
struct End {
    node: NodeId,
    interface: usize,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Timer(NodeId),
    Link(LinkId, LinkEvent),
}

impl<N: Node> Network<N> {
    /// Creates an empty network, whose randomness follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            now: Time::ZERO,
            events: Queue::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            touched: Vec::new(),
            standing_still: 0,
        }
    }

    /// Adds a node.
    pub fn add(&mut self, node: N) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer nodes than would fit into memory"));
        self.nodes.push(Attached { node, interfaces: Vec::new(), timer: None });
        self.touched.push(id);
        id
    }

    /// Connects two nodes by a link; [`Direction::Up`] is from `first` to `second`.
    pub fn connect(&mut self, first: NodeId, second: NodeId, link: Link) -> LinkId {
        let id = LinkId(u32::try_from(self.links.len()).expect("fewer links than would fit into memory"));
        let mtu = link.mtu;
        let mut end = |node: NodeId, direction| {
            let attached = &mut self.nodes[node.0 as usize];
            let interface = attached.interfaces.len();
            attached.interfaces.push((id, direction));
            attached.node.attach(interface, mtu);
            let unnamed = IpAddr::V6(Ipv6Addr::from(u128::from(node.0) + 1));
            (End { node, interface }, Station::of(attached.node.address().unwrap_or(unnamed)))
        };
        let (first, second) = (end(first, Direction::Up), end(second, Direction::Down));
        self.links.push(Carrier::new(link, [first.0, second.0], [first.1, second.1], self.seed, id));
        id
    }

    /// Returns the time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> &N {
        &self.nodes[id.0 as usize].node
    }

    /// Returns a node for changes. What it then has to send is sent when the run goes on.
    pub fn node_mut(&mut self, id: NodeId) -> &mut N {
        self.touched.push(id);
        &mut self.nodes[id.0 as usize].node
    }

    /// Returns the configuration of a link.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.0 as usize].link
    }

    /// Changes a link during a run. The change applies to later frames; the framing stays as it was.
    pub fn change_link(&mut self, id: LinkId, change: impl FnOnce(&mut Link)) {
        let link = &mut self.links[id.0 as usize].link;
        let framing = link.framing.clone();
        change(link);
        link.framing = framing;
    }

    /// Returns the ledger of a link.
    pub fn ledger(&self, id: LinkId) -> &Ledger {
        &self.links[id.0 as usize].ledger
    }

    /// Returns the ledger of a link, for changes to what it keeps.
    pub fn ledger_mut(&mut self, id: LinkId) -> &mut Ledger {
        &mut self.links[id.0 as usize].ledger
    }

    /// Begins a capture of a link, for [`Self::captured`].
    pub fn capture(&mut self, id: LinkId, view: View) {
        self.links[id.0 as usize].tap(view);
    }

    /// Returns all captures as one.
    pub fn captured(&self) -> Capture {
        let mut all = Capture::default();
        for capture in self.links.iter().flat_map(Carrier::captures) {
            all.merge(capture);
        }
        all
    }

    /// Returns the balances of the whole network.
    pub fn conservation(&self) -> Conservation {
        let mut all = Conservation::default();
        for link in &self.links {
            let of_link = link.conservation();
            all.packets += &of_link.packets;
            all.frames += &of_link.frames;
        }
        all
    }

    /// Returns the balances of one link.
    pub fn conservation_of(&self, id: LinkId) -> Conservation {
        self.links[id.0 as usize].conservation()
    }

    /// Returns when the next event is.
    pub fn next_time(&mut self) -> Option<Time> {
        self.serve_touched();
        self.events.next_time()
    }

    /// Handles the next event. Returns whether there was one.
    ///
    /// # Panics
    ///
    /// Panics if a node asks a million times for a timer that has passed: time would stand still for ever.
    pub fn step(&mut self) -> bool {
        self.serve_touched();
        let Some((at, event)) = self.events.pop() else { return false };
        self.standing_still = if at > self.now { 0 } else { self.standing_still + 1 };
        assert!(self.standing_still < EVENTS_AT_ONCE, "time stands still at {at:?}: {event:?}");
        self.now = at;
        match event {
            Event::Timer(node) => self.timer(node),
            Event::Link(link, event) => self.carry(link, event),
        }
        true
    }

    /// Goes on until `deadline`.
    pub fn run_until(&mut self, deadline: Time) {
        self.run_while(deadline, |_| true);
        self.now = self.now.max(deadline);
    }

    /// Goes on for `duration`.
    pub fn run_for(&mut self, duration: Duration) {
        self.run_until(self.now + duration);
    }

    /// Goes on while `condition` holds and there is an event not after `deadline`. Returns whether the condition ended
    /// it.
    pub fn run_while(&mut self, deadline: Time, mut condition: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if !condition(self) {
                return true;
            }
            if self.next_time().is_none_or(|next| next > deadline) {
                return false;
            }
            self.step();
        }
    }

    fn timer(&mut self, id: NodeId) {
        let attached = &mut self.nodes[id.0 as usize];
        // An earlier timer superseded this one.
        if attached.timer != Some(self.now) {
            return;
        }
        attached.timer = None;
        if attached.node.poll_timeout().is_some_and(|at| at <= self.now) {
            attached.node.handle_timeout(self.now);
        }
        self.serve(id);
    }

    fn carry(&mut self, link: LinkId, event: LinkEvent) {
        let now = self.now;
        let carrier = &mut self.links[link.0 as usize];
        let mut schedule = Schedule { events: &mut self.events, link };
        let Some((direction, number, packet)) = carrier.handle(now, event, &mut schedule) else { return };
        let end = carrier.end(direction.opposite());
        let verdict = self.nodes[end.node.0 as usize].node.handle_packet(now, end.interface, packet);
        self.links[link.0 as usize].arrived(number, verdict);
        self.serve(end.node);
    }

    /// Serves the nodes that the user may have changed.
    fn serve_touched(&mut self) {
        while let Some(id) = self.touched.pop() {
            self.serve(id);
        }
    }

    /// Sends what a node has to send, and sets its timer.
    fn serve(&mut self, id: NodeId) {
        let now = self.now;
        let attached = &mut self.nodes[id.0 as usize];
        while let Some((interface, packet)) = attached.node.poll_transmit(now) {
            let Some((link, direction)) = attached.interfaces.get(interface).copied() else { continue };
            let mut schedule = Schedule { events: &mut self.events, link };
            self.links[link.0 as usize].send(now, direction, packet, &mut schedule);
        }
        if let Some(at) = attached.node.poll_timeout() {
            let at = at.max(now);
            if attached.timer.is_none_or(|set| at < set) {
                attached.timer = Some(at);
                self.events.push(at, Event::Timer(id));
            }
        }
    }
}

/// The queue of events, as a link sees it.
struct Schedule<'a> {
    events: &'a mut Queue<Event>,
    link: LinkId,
}

impl Schedule<'_> {
    fn push(&mut self, at: Time, event: LinkEvent) {
        self.events.push(at, Event::Link(self.link, event));
    }
}

/// The most events at one time: more than any network here has.
const EVENTS_AT_ONCE: u64 = 1_000_000;
