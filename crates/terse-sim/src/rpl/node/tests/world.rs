//! A small world: nodes on a virtual clock, whose messages are lost by chance.

use core::time::Duration;
use std::collections::BTreeMap;

use super::super::*;
use crate::Random;

/// How long a message takes over one hop.
const HOP: Duration = Duration::from_millis(20);
/// How often a node sends something to its parent.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How often a frame is sent at most.
const ATTEMPTS: u8 = 4;

pub(super) struct World {
    pub(super) nodes: Vec<Node>,
    pub(super) now: Time,
    pub(super) is_alive: Vec<bool>,
    /// The share of frames that arrive.
    links: BTreeMap<(usize, usize), f64>,
    queue: BTreeMap<(Time, u64), Delivery>,
    next: u64,
    random: Random,
    /// Moments at which parents made a loop.
    pub(super) loops: Vec<Time>,
    /// Messages by code, counted when they are sent.
    pub(super) sent: [usize; 4],
}

enum Delivery {
    /// A message, as bytes, at a node.
    Message {
        at: usize,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        bytes: Vec<u8>,
    },
    /// A DAO on its way up.
    Up {
        at: usize,
        hops: usize,
        transmit: Transmit,
    },
    /// A DAO-ACK on its way down, and the nodes that it still has to pass.
    Down {
        at: usize,
        route: Vec<usize>,
        transmit: Transmit,
    },
    KeepAlive {
        at: usize,
    },
}

pub(super) fn address(number: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xBBBB, 0, 0, 0, 0x1615, 0x92CC, 0, u16::try_from(number + 1).unwrap())
}

pub(super) fn number(address: Ipv6Addr) -> usize {
    usize::from(address.segments()[7]) - 1
}

impl World {
    /// Creates nodes of which 0 is the root.
    pub(super) fn new(count: usize, options: RplOptions, seed: u64) -> Self {
        let chance = Chance::new(seed);
        let node = |number| match number {
            0 => Node::root(options, chance, address(0), Time::ZERO),
            _ => Node::router(options, chance, address(number), Time::ZERO),
        };
        let mut world = Self {
            nodes: (0..count).map(node).collect(),
            now: Time::ZERO,
            is_alive: vec![true; count],
            links: BTreeMap::new(),
            queue: BTreeMap::new(),
            next: 0,
            random: Random::new(seed, 1),
            loops: Vec::new(),
            sent: [0; 4],
        };
        (1..count).for_each(|at| world.schedule(KEEP_ALIVE, Delivery::KeepAlive { at }));
        world
    }

    /// A grid, on which nodes hear those beside them and across a corner.
    pub(super) fn grid(width: usize, height: usize, worst: f64, options: RplOptions, seed: u64) -> Self {
        let mut world = Self::new(width * height, options, seed);
        for (a, b) in (0..width * height).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let is_near = (a % width).abs_diff(b % width) <= 1 && (a / width).abs_diff(b / width) <= 1;
            if is_near {
                let share = worst + (1.0 - worst) * world.draw();
                world.link(a, b, share);
            }
        }
        world
    }

    pub(super) fn link(&mut self, a: usize, b: usize, share: f64) {
        self.links.insert((a, b), share);
        self.links.insert((b, a), share);
    }

    pub(super) fn restart(&mut self, at: usize, options: RplOptions, seed: u64) {
        self.is_alive[at] = true;
        self.nodes[at] = Node::router(options, Chance::new(seed), address(at), self.now);
    }

    pub(super) fn run_until(&mut self, end: Time) {
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until the root has a route to every living node, and fails if that takes until `end`.
    pub(super) fn settle(&mut self, end: Time) {
        while !self.without_route().is_empty() {
            assert!(self.now < end, "without a route: {:?}", self.without_route());
            self.run_until(self.now + Duration::from_secs(5));
        }
    }

    fn step(&mut self, end: Time) -> bool {
        let alive = |at: &usize| self.is_alive[*at];
        let timers = (0..self.nodes.len()).filter(alive).filter_map(|at| Some((self.nodes[at].poll_timeout()?, at)));
        let (timer, queued) = (timers.min(), self.queue.keys().next().copied());
        let queued_first = queued.is_some_and(|(time, _)| timer.is_none_or(|(timer, _)| time < timer));
        let next = if queued_first { queued.map(|(time, _)| time) } else { timer.map(|(time, _)| time) };
        let Some(next) = next.filter(|next| *next <= end) else { return false };
        // Timers of a node that was dead may be overdue.
        self.now = self.now.max(next);
        if queued_first {
            let (_, delivery) = self.queue.pop_first().unwrap();
            self.deliver(delivery);
        } else if let Some((_, at)) = timer {
            self.nodes[at].handle_timeout(self.now);
            assert!(self.nodes[at].poll_timeout().is_none_or(|time| time > self.now), "what was due is done");
        }
        for at in 0..self.nodes.len() {
            while let Some(transmit) = self.nodes[at].poll_transmit() {
                if self.is_alive[at] {
                    self.transmit(at, transmit);
                }
            }
            while self.nodes[at].poll_event().is_some() {}
        }
        self.check();
        true
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Message { at, source, destination, bytes } if self.is_alive[at] => {
                let message = Message::parse(source, destination, &bytes).unwrap();
                self.nodes[at].handle_message(self.now, source, destination, &message);
            }
            Delivery::Up { at: 0, transmit, .. } => {
                let Transmit { source, destination, message, .. } = transmit;
                let bytes = message.encode(source, destination);
                let message = Message::parse(source, destination, &bytes).unwrap();
                self.nodes[0].handle_message(self.now, source, destination, &message);
            }
            // A hop limit ends what goes in circles.
            Delivery::Up { at, hops, transmit } if self.is_alive[at] && hops < 64 => {
                let Some(parent) = self.nodes[at].parent() else { return };
                if self.unicast(at, number(parent)) {
                    self.schedule(HOP, Delivery::Up { at: number(parent), hops: hops + 1, transmit });
                }
            }
            Delivery::Down { at, mut route, transmit } if self.is_alive[at] => {
                if route.is_empty() {
                    let Transmit { source, destination, message, .. } = transmit;
                    return self.nodes[at].handle_message(self.now, source, destination, &message);
                }
                let next = route.remove(0);
                if self.unicast(at, next) {
                    self.schedule(HOP, Delivery::Down { at: next, route, transmit });
                }
            }
            Delivery::KeepAlive { at } => {
                if let Some(parent) = self.nodes[at].parent().filter(|_| self.is_alive[at]) {
                    self.unicast(at, number(parent));
                }
                self.schedule(KEEP_ALIVE, Delivery::KeepAlive { at });
            }
            _ => {}
        }
    }

    fn transmit(&mut self, from: usize, transmit: Transmit) {
        let code = match transmit.message {
            Message::Dis(_) => 0,
            Message::Dio(_) => 1,
            Message::Dao(_) => 2,
            Message::DaoAck(_) => 3,
        };
        self.sent[code] += 1;
        match (&transmit.message, transmit.next_hop) {
            (Message::Dao(_), Some(next_hop)) => {
                if self.unicast(from, number(next_hop)) {
                    self.schedule(HOP, Delivery::Up { at: number(next_hop), hops: 1, transmit });
                }
            }
            (Message::DaoAck(_), _) => {
                let routes = self.nodes[0].routes().expect("the root");
                let Ok(route) = routes.route(self.now, transmit.destination) else { return };
                let route = route.into_iter().map(number).collect();
                self.schedule(Duration::ZERO, Delivery::Down { at: from, route, transmit });
            }
            (message, next_hop) => {
                let bytes = message.encode(transmit.source, transmit.destination);
                for at in 0..self.nodes.len() {
                    let arrives = match next_hop {
                        Some(next_hop) => at == number(next_hop) && self.unicast(from, at),
                        None => self.arrives(from, at),
                    };
                    if arrives {
                        let (source, destination, bytes) = (transmit.source, transmit.destination, bytes.clone());
                        self.schedule(HOP, Delivery::Message { at, source, destination, bytes });
                    }
                }
            }
        }
    }

    /// Sends a frame to a neighbour, again if it is not acknowledged. Returns whether it arrived.
    fn unicast(&mut self, from: usize, to: usize) -> bool {
        let neighbour = link_local(address(to));
        let mut has_arrived = false;
        for _ in 0..ATTEMPTS {
            let arrives = self.arrives(from, to);
            let is_acknowledged = arrives && self.arrives(to, from);
            has_arrived |= arrives;
            self.nodes[from].handle_transmission(self.now, neighbour, is_acknowledged);
            if is_acknowledged {
                break;
            }
        }
        has_arrived
    }

    fn arrives(&mut self, from: usize, to: usize) -> bool {
        let share = self.links.get(&(from, to)).copied().unwrap_or(0.0);
        self.is_alive[from] && self.is_alive[to] && share > 0.0 && self.draw() < share
    }

    fn draw(&mut self) -> f64 {
        f64::from(self.random.next_u32()) / f64::from(u32::MAX)
    }

    fn schedule(&mut self, after: Duration, delivery: Delivery) {
        self.next += 1;
        self.queue.insert((self.now + after, self.next), delivery);
    }

    /// What must hold after each step.
    fn check(&mut self) {
        for node in &self.nodes {
            let is_root = node.root.is_some();
            assert_eq!(node.parent().is_none() && !is_root, node.rank() == INFINITE_RANK && !is_root);
            if let Some(parent) = node.parent() {
                let told = node.neighbours.find(parent).expect("a parent is a neighbour");
                assert!(told.rank < node.rank() && Some(told.version) == node.dodag().map(|(_, version)| version));
            }
        }
        if (0..self.nodes.len()).any(|at| self.path(at).is_none()) && self.loops.last() != Some(&self.now) {
            self.loops.push(self.now);
        }
    }

    /// Returns the nodes from one up to the root, or to where parents end; `None` if there is a loop.
    pub(super) fn path(&self, from: usize) -> Option<Vec<usize>> {
        let mut path = vec![from];
        let mut at = from;
        while let Some(parent) = self.nodes[at].parent() {
            at = number(parent);
            if path.contains(&at) {
                return None;
            }
            path.push(at);
        }
        Some(path)
    }

    /// Returns the living nodes, except the root, to which the root's route is not the path of their parents over links that are
    /// there.
    pub(super) fn without_route(&self) -> Vec<usize> {
        let routes = self.nodes[0].routes().expect("the root");
        let is_led_to = |at: usize| {
            let route = routes.route(self.now, address(at)).ok()?;
            let mut path = self.path(at)?;
            path.reverse();
            let route: Vec<usize> = core::iter::once(0).chain(route.into_iter().map(number)).collect();
            let has_links = route.windows(2).all(|hop| self.links.contains_key(&(hop[0], hop[1])));
            Some(route == path && has_links && route.iter().all(|at| self.is_alive[*at]))
        };
        (1..self.nodes.len()).filter(|at| self.is_alive[*at] && is_led_to(*at) != Some(true)).collect()
    }
}
