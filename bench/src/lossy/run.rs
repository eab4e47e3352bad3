//! One handshake over a simulated path, on a virtual clock: nothing waits, and computing takes no time.
//!
//! What must always hold: a side is called when a datagram arrives or its timer expires, at that time, and its output
//! leaves at once; a side that has completed the handshake still receives datagrams, since it may have to answer again.

use std::collections::VecDeque;

use fastrand::Rng;

use super::path::{Direction, Path};
use crate::clock::{Simulation, since_start};
use crate::pipe::{Pipe, Wire};
use crate::stack::{End, Side, World};

/// The cost of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Microseconds until both sides had completed it.
    pub time: u64,
    /// Bytes of datagrams that both sides had sent by then, lost ones included.
    pub bytes: u64,
    /// Datagrams.
    pub datagrams: u64,
    /// The packets that carried them.
    pub packets: u64,
}

/// A function that is told of every datagram: when it was sent, by which side, its bytes, whether it will arrive.
pub type Watcher<'a> = &'a mut dyn FnMut(u64, Side, &[u8], bool);

/// Makes one connection in `world`, or returns why that failed.
pub fn run(world: &dyn World, path: Path, seed: u64, watcher: Watcher<'_>) -> Result<Taken, String> {
    let mut simulation = Simulation::begin();
    let mut run = Run::new(world, path, seed)?;
    for side in SIDES {
        run.call(side, Call::GoOn, watcher)?;
    }
    while run.sides.iter().any(|half| !half.is_done) {
        let (time, side, call) = run.next().ok_or("both sides wait for ever")?;
        run.calls += 1;
        if time > PATIENCE || run.calls > MAX_CALLS {
            return Err("the two do not come to an end".into());
        }
        run.taken.time = run.taken.time.max(time);
        simulation.set(run.taken.time.div_ceil(1_000));
        run.call(side, call, watcher)?;
    }
    Ok(run.taken)
}

struct Run {
    sides: [Half; 2],
    calls: usize,
    /// The cost so far.
    taken: Taken,
}

/// One side, and the datagrams in flight to it.
struct Half {
    end: Box<dyn End>,
    is_done: bool,
    input: Box<Pipe>,
    output: Box<Pipe>,
    /// The direction from this side to the other one.
    direction: Direction,
    arriving: VecDeque<(u64, Vec<u8>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    GoOn,
    Receive,
    Expire,
}

impl Run {
    fn new(world: &dyn World, path: Path, seed: u64) -> Result<Self, String> {
        let half = |side| -> Result<Half, String> {
            Ok(Half {
                end: world.connect(side)?,
                is_done: false,
                input: Pipe::with_largest(LARGEST),
                output: Pipe::with_largest(LARGEST),
                direction: Direction::new(path, Rng::with_seed(2 * seed + u64::from(side == Side::Server))),
                arriving: VecDeque::new(),
            })
        };
        let sides = [half(Side::Client)?, half(Side::Server)?];
        Ok(Self { sides, calls: 0, taken: Taken { time: 0, bytes: 0, datagrams: 0, packets: 0 } })
    }

    /// Returns the next event, and its time.
    fn next(&self) -> Option<(u64, Side, Call)> {
        let events = SIDES.into_iter().zip(&self.sides).flat_map(|(side, half)| {
            let arrival = half.arriving.front().map(|(time, _)| (*time, side, Call::Receive));
            let deadline = half.end.deadline().map(|time| (since_start(time) * 1_000, side, Call::Expire));
            [arrival, deadline]
        });
        events.flatten().min_by_key(|(time, ..)| *time)
    }

    fn call(&mut self, side: Side, call: Call, watcher: Watcher<'_>) -> Result<(), String> {
        let [client, server] = &mut self.sides;
        let (half, other) = if side == Side::Client { (client, server) } else { (server, client) };
        half.call(call).map_err(|error| format!("{side:?}: {error}"))?;
        loop {
            let datagram = half.output.waiting();
            if datagram.is_empty() {
                return Ok(());
            }
            let (len, datagram) = (datagram.len(), datagram.to_vec());
            half.output.consume(len);
            let fate = half.direction.carry(self.taken.time, len);
            watcher(self.taken.time, side, &datagram, fate.arrives.is_some());
            self.taken.bytes += len as u64;
            self.taken.datagrams += 1;
            self.taken.packets += fate.packets as u64;
            other.arriving.extend(fate.arrives.map(|time| (time, datagram)));
        }
    }
}

impl Half {
    fn call(&mut self, call: Call) -> Result<(), String> {
        if call == Call::Receive
            && let Some((_, datagram)) = self.arriving.pop_front()
        {
            self.input.room()[..datagram.len()].copy_from_slice(&datagram);
            self.input.produce(datagram.len());
        }
        let wire = Wire { input: &mut self.input, output: &mut self.output };
        match call {
            Call::Expire => self.end.expire(wire)?,
            _ if self.is_done => match self.end.read(wire, &mut [0; 0x4000])? {
                0 => {}
                len => return Err(format!("{len} bytes of data that nobody sent")),
            },
            _ => self.is_done = self.end.handshake(wire)?,
        }
        self.input.clear();
        Ok(())
    }
}

const SIDES: [Side; 2] = [Side::Client, Side::Server];

/// The largest datagram of any stack, whatever its MTU.
const LARGEST: usize = 0x4000;

/// The longest wait of any stack, in microseconds.
const PATIENCE: u64 = 1_800_000_000;

/// The most calls: more than any handshake takes.
const MAX_CALLS: usize = 100_000;
