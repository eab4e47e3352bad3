//! The heap of one connection is what was requested from malloc, by C and Rust alike. Configurations, trust and keys
//! exist before, and are not counted.
//!
//! The peak is measured from the creation of the connection until the handshake is complete. Idle is measured after it,
//! buffers included; in DTLS 1.3 after its last ACK. These libraries do nothing between calls, so that there is nothing
//! to wait for.
//!
//! Over datagrams, a server's heap for each of many clients is measured too: half-open connections, which have proved
//! their address and were sent the server's certificates, and established ones.

use super::{Field, Metric, Sample, Warm};
use crate::pair::Pair;
use crate::probe::HeapProbe;
use crate::stack::{Mode, Setting, Side, Stack};

/// Measures both sides, in a full handshake.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let mut warm = Warm::new(stack, field.with(Mode::Full))?;
    let mut most = [0_i64; 4];
    for _ in 0..REPEATS {
        let mut probe = HeapProbe::new();
        warm.open(&mut probe)?;
        warm.pair().settle(&mut probe)?;
        let (client, server) = (probe.heap(Side::Client), probe.heap(Side::Server));
        let seen = [client.peak, client.in_use, server.peak, server.in_use];
        most = core::array::from_fn(|index| most[index].max(seen[index]));
        warm.end(&mut probe)?;
    }
    let metrics = [Metric::ClientHeapPeak, Metric::ClientHeapIdle, Metric::ServerHeapPeak, Metric::ServerHeapIdle];
    let mut samples: Vec<_> =
        metrics.into_iter().zip(most).map(|(metric, most)| field.sample(stack, metric, most as f64)).collect();
    if field.version.is_datagram() {
        samples.extend(many(&warm, stack, field)?);
    }
    Ok(samples)
}

/// Measures a server's heap for each of many clients.
fn many(warm: &Warm, stack: &dyn Stack, field: Field) -> Result<[Sample; 2], String> {
    let mut pairs: Vec<_> = (0..MANY).map(|_| Pair::new(true)).collect();
    let mut probe = HeapProbe::new();
    for pair in &mut pairs {
        pair.half_open(warm.world(), &mut probe)?;
    }
    let half_open = probe.heap(Side::Server).in_use;
    for pair in &mut pairs {
        pair.complete(&mut probe)?;
        pair.settle(&mut probe)?;
    }
    let established = probe.heap(Side::Server).in_use;
    for pair in &mut pairs {
        pair.end(&mut probe);
    }
    let each = |metric, all: i64| field.sample(stack, metric, all as f64 / f64::from(MANY));
    Ok([each(Metric::ServerHeapHalfOpen, half_open), each(Metric::ServerHeapEstablished, established)])
}

/// Returns the heap of the client in a full handshake, with a server that it verifies or takes unverified: its peak, and
/// what is in use afterwards.
pub fn client(stack: &dyn Stack, setting: Setting) -> Result<[i64; 2], String> {
    let mut warm = Warm::new(stack, setting)?;
    let mut most = [0_i64; 2];
    for _ in 0..REPEATS {
        let mut probe = HeapProbe::new();
        warm.open(&mut probe)?;
        warm.pair().settle(&mut probe)?;
        let heap = probe.heap(Side::Client);
        most = [most[0].max(heap.peak), most[1].max(heap.in_use)];
        warm.end(&mut probe)?;
    }
    Ok(most)
}

/// The number of clients: with so many, the spare room in a table of connections counts for little.
const MANY: u32 = 64;

/// The number of handshakes: the length of a signature is random, and so may be that of a buffer.
const REPEATS: usize = 3;

/// Returns the peaks of both sides, in the first handshake of a world and in later ones. An earlier world has done what
/// a library does once in a process.
pub fn first_and_later(stack: &dyn Stack, setting: Setting) -> Result<[[i64; 2]; 2], String> {
    Warm::new(stack, setting)?;
    let mut most = [[0; 2]; 2];
    for _ in 0..REPEATS {
        let world = stack.world(setting)?;
        let mut pair = Pair::new(setting.version.is_datagram());
        for count in 0..LATER {
            let mut probe = HeapProbe::new();
            pair.connect(world.as_ref(), &mut probe)?;
            let which = &mut most[usize::from(count > 0)];
            for side in [Side::Client, Side::Server] {
                let seen = &mut which[side as usize - 1];
                *seen = probe.heap(side).peak.max(*seen);
            }
            pair.confirm(&mut probe)?;
            pair.end(&mut probe);
        }
    }
    Ok(most)
}

/// The number of handshakes: the first one, one that uses what it left, and one that replaces that.
const LATER: usize = 4;
