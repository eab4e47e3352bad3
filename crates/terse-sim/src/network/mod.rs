//! A network has nodes, media that connect them, and virtual time. A medium is a link between two nodes, or a mesh of many.
//!
//! A [`Network`] jumps from event to event. Events at the same time happen in the order in which they were put in,
//! every random decision has its own stream derived from the one seed, and nothing reads a clock: a run is a function
//! of its scenario. After every step [`Network::conservation`] holds.

mod carrier;
mod medium;
mod node;
mod queue;
#[cfg(test)]
mod tests;

use core::time::Duration;
use std::net::{IpAddr, Ipv6Addr};

pub use crate::cause::Cause;
pub use crate::conservation::{Balance, Conservation, Count};
pub use crate::verdict::Verdict;
use carrier::{Carrier, LinkEvent};
use medium::{Arrived, Medium, MediumEvent};
pub use node::Node;
pub(crate) use node::is_node_within;
use queue::Queue;

use crate::Time;
use crate::capture::{Capture, View};
use crate::direction::Direction;
use crate::ledger::Ledger;
use crate::link::{Link, Station};
use crate::radio::RadioChange;
use crate::tsch::{ConfigError, Mesh, MeshConfig, MeshEvent};

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// A medium of a network: a link, or a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(u32);

/// Nodes of type `N`, links between them, and the time.
#[derive(Debug)]
pub struct Network<N> {
    seed: u64,
    now: Time,
    events: Queue<Event>,
    nodes: Vec<Attached<N>>,
    media: Vec<Medium>,
    /// Nodes that the user may have changed.
    touched: Vec<NodeId>,
    /// The number of events since the time last moved on.
    standing_still: u64,
}

#[derive(Debug)]
struct Attached<N> {
    node: N,
    /// The medium of each interface, and the node's end of it.
    interfaces: Vec<(LinkId, usize)>,
    /// The time of the timer event that is in the queue. Later timers are put in when it comes; earlier ones supersede
    /// it.
    timer: Option<Time>,
}

/// The end of a medium: a node, and one of its interfaces.
#[derive(Clone, Copy, Debug)]
struct End {
    node: NodeId,
    interface: usize,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Timer(NodeId),
    Medium(LinkId, MediumEvent),
}

impl<N: Node> Network<N> {
    /// Creates an empty network, whose randomness follows from `seed`.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            now: Time::ZERO,
            events: Queue::new(),
            nodes: Vec::new(),
            media: Vec::new(),
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

    /// Connects two nodes by a link; [`crate::link::Direction::Up`] is from `first` to `second`.
    pub fn connect(&mut self, first: NodeId, second: NodeId, link: Link) -> LinkId {
        let id = self.next_link();
        let ends = [first, second];
        let ends = [0, 1].map(|end| self.attach(ends[end], id, end, link.mtu));
        let stations = ends.map(|end| {
            let unnamed = IpAddr::V6(Ipv6Addr::from(u128::from(end.node.0) + 1));
            Station::of(self.nodes[end.node.0 as usize].node.address().unwrap_or(unnamed))
        });
        self.media.push(Medium::Wire(Box::new(Carrier::new(link, ends, stations, self.seed, id))));
        id
    }

    /// Connects nodes by a mesh. Each host is named with the number of its node in the mesh; 0 is the gateway, behind the root. A
    /// node of the mesh without a host only forwards.
    pub fn connect_mesh(&mut self, hosts: &[(u16, NodeId)], config: MeshConfig) -> Result<LinkId, ConfigError> {
        let (id, mtu) = (self.next_link(), config.mtu);
        let mut ends = vec![None; config.motes.len()];
        if hosts.iter().any(|(mote, _)| usize::from(*mote) >= ends.len()) {
            return Err(ConfigError::Motes);
        }
        let mut mesh = Box::new(Mesh::new(config, self.seed)?);
        for (mote, host) in hosts {
            ends[usize::from(*mote)] = Some(self.attach(*host, id, usize::from(*mote), mtu));
        }
        Schedule { events: &mut self.events, link: id }.take(&mut mesh);
        self.media.push(Medium::Mesh { mesh, ends });
        Ok(id)
    }

    fn next_link(&self) -> LinkId {
        LinkId(u32::try_from(self.media.len()).expect("fewer links than would fit into memory"))
    }

    /// Attaches an end of a medium to a node.
    fn attach(&mut self, node: NodeId, id: LinkId, end: usize, mtu: usize) -> End {
        let attached = &mut self.nodes[node.0 as usize];
        let interface = attached.interfaces.len();
        attached.interfaces.push((id, end));
        attached.node.attach(interface, mtu);
        End { node, interface }
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

    /// Returns the configuration of a link, unless it is a mesh.
    pub fn link(&self, id: LinkId) -> Option<&Link> {
        match &self.media[id.0 as usize] {
            Medium::Wire(carrier) => Some(&carrier.link),
            Medium::Mesh { .. } => None,
        }
    }

    /// Returns a mesh, unless it is a link.
    pub fn mesh(&self, id: LinkId) -> Option<&Mesh> {
        match &self.media[id.0 as usize] {
            Medium::Wire(_) => None,
            Medium::Mesh { mesh, .. } => Some(mesh),
        }
    }

    /// Returns a mesh for changes to what it notes, unless it is a link.
    pub fn mesh_mut(&mut self, id: LinkId) -> Option<&mut Mesh> {
        match &mut self.media[id.0 as usize] {
            Medium::Wire(_) => None,
            Medium::Mesh { mesh, .. } => Some(mesh),
        }
    }

    /// Switches a node of a mesh off that forms itself: what it has is lost, and nobody is told. The root stays on.
    pub fn switch_off(&mut self, id: LinkId, node: u16) {
        self.with_mesh(id, |mesh, now| mesh.switch_off(now, node));
    }

    /// Switches a node of a mesh on again, which then listens for beacons.
    pub fn switch_on(&mut self, id: LinkId, node: u16) {
        self.with_mesh(id, |mesh, now| mesh.switch_on(now, node));
    }

    /// Changes links of a mesh now, whatever the time in each change says.
    pub fn change_radio(&mut self, id: LinkId, changes: &[RadioChange]) {
        self.with_mesh(id, |mesh, _| mesh.change_radio(changes));
    }

    /// Opens a tunnel through a mesh that forms itself: so many cells on each hop, up from a node to the root, or down from the root
    /// to it. They are negotiated hop by hop, which takes a while. Returns whether the node can ask for one: it must have a parent,
    /// and not have asked before.
    pub fn open_tunnel(&mut self, id: LinkId, node: u16, cells: u8, direction: Direction) -> bool {
        self.with_mesh(id, |mesh, now| mesh.open_tunnel(now, node, cells, direction == Direction::Up)).unwrap_or(false)
    }

    /// Calls something of a mesh that may have new events.
    fn with_mesh<T>(&mut self, id: LinkId, call: impl FnOnce(&mut Mesh, Time) -> T) -> Option<T> {
        let Medium::Mesh { mesh, .. } = &mut self.media[id.0 as usize] else { return None };
        let result = call(mesh, self.now);
        mesh.rearm();
        Schedule { events: &mut self.events, link: id }.take(mesh);
        Some(result)
    }

    /// Changes a link during a run. The change applies to later frames; the framing stays as it was. A mesh does not change.
    pub fn change_link(&mut self, id: LinkId, change: impl FnOnce(&mut Link)) {
        let Medium::Wire(carrier) = &mut self.media[id.0 as usize] else { return };
        let link = &mut carrier.link;
        let framing = link.framing.clone();
        change(link);
        link.framing = framing;
    }

    /// Returns the ledger of a link.
    pub fn ledger(&self, id: LinkId) -> &Ledger {
        self.media[id.0 as usize].ledger()
    }

    /// Returns the ledger of a link, for changes to what it keeps.
    pub fn ledger_mut(&mut self, id: LinkId) -> &mut Ledger {
        self.media[id.0 as usize].ledger_mut()
    }

    /// Begins a capture of a link or a mesh, for [`Self::captured`]. On a mesh the packets are those of the gateway.
    pub fn capture(&mut self, id: LinkId, view: View) {
        match &mut self.media[id.0 as usize] {
            Medium::Wire(carrier) => carrier.tap(view),
            Medium::Mesh { mesh, .. } => mesh.tap(view, None),
        }
    }

    /// Begins a capture of the frames that one node of a mesh sends and receives: those to it alone also if they were lost, those
    /// for all if it has heard them.
    pub fn capture_node(&mut self, id: LinkId, node: u16) {
        if let Medium::Mesh { mesh, .. } = &mut self.media[id.0 as usize] {
            mesh.tap(View::Frames, Some(node));
        }
    }

    /// Returns all captures as one.
    pub fn captured(&self) -> Capture {
        let mut all = Capture::default();
        for capture in self.media.iter().flat_map(Medium::captures) {
            all.merge(capture);
        }
        all
    }

    /// Returns the balances of the whole network.
    pub fn conservation(&self) -> Conservation {
        let mut all = Conservation::default();
        for medium in &self.media {
            let of_medium = medium.conservation();
            all.packets += &of_medium.packets;
            all.frames += &of_medium.frames;
        }
        all
    }

    /// Returns the balances of one link.
    pub fn conservation_of(&self, id: LinkId) -> Conservation {
        self.media[id.0 as usize].conservation()
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
            Event::Medium(medium, event) => self.carry(medium, event),
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

    fn carry(&mut self, id: LinkId, event: MediumEvent) {
        let mut schedule = Schedule { events: &mut self.events, link: id };
        if let Some(arrived) = self.media[id.0 as usize].handle(self.now, event, &mut schedule) {
            self.hand_over(id, arrived);
        }
        while let Some(arrived) = self.media[id.0 as usize].poll_arrival() {
            self.hand_over(id, arrived);
        }
    }

    /// Hands a packet that arrived to the node at that end.
    fn hand_over(&mut self, id: LinkId, Arrived { end, number, packet }: Arrived) {
        let Some(end) = end else {
            return self.media[id.0 as usize].arrived(number, Verdict::Dropped(Cause::NobodyListens));
        };
        let verdict = self.nodes[end.node.0 as usize].node.handle_packet(self.now, end.interface, packet);
        self.media[id.0 as usize].arrived(number, verdict);
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
            let Some((link, end)) = attached.interfaces.get(interface).copied() else { continue };
            let mut schedule = Schedule { events: &mut self.events, link };
            self.media[link.0 as usize].send(now, end, packet, &mut schedule);
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

/// The queue of events, as a medium sees it.
struct Schedule<'a> {
    events: &'a mut Queue<Event>,
    link: LinkId,
}

impl Schedule<'_> {
    fn push(&mut self, at: Time, event: LinkEvent) {
        self.events.push(at, Event::Medium(self.link, MediumEvent::Wire(event)));
    }

    /// Takes the events that a mesh has.
    fn take(&mut self, mesh: &mut Mesh) {
        while let Some((at, event)) = mesh.poll_event() {
            let event_of_medium = Event::Medium(self.link, MediumEvent::Mesh(event));
            if event.comes_first() {
                self.events.push_first(at, event_of_medium);
            } else {
                self.events.push(at, event_of_medium);
            }
        }
    }
}

/// The most events at one time: more than any network here has.
const EVENTS_AT_ONCE: u64 = 1_000_000;
