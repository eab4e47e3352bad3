//! Record bytes are counted in both directions until both sides are connected; the tickets of TLS 1.3, which follow,
//! are counted apart. The ACK that ends a full handshake of DTLS 1.3 is included; one that is sent together with
//! tickets is counted with them. DTLS 1.3 is also measured without a cookie: in DTLS 1.2 a cookie takes few bytes, but
//! in DTLS 1.3 a second ClientHello with a key share.
//!
//! The length of an ECDSA signature is random (70 to 72 bytes): the cheapest of several handshakes counts.

use super::{Field, Metric, Sample, Warm};
use crate::stack::{Mode, Setting, Stack, Version};

/// Measures every mode that `stack` has.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    const MODES: [(Mode, Metric, Option<Metric>); 6] = [
        (Mode::Full, Metric::BytesFull, None),
        (Mode::Resumed, Metric::BytesResumed, Some(Metric::BytesResumedTickets)),
        (Mode::Kept, Metric::BytesKept, Some(Metric::BytesKeptTickets)),
        (Mode::Rfc7924, Metric::BytesRfc7924, None),
        (Mode::Bithac, Metric::BytesBithac, None),
        (Mode::Compact, Metric::BytesCompact, None),
    ];
    const NO_COOKIE: [(Mode, Metric); 5] = [
        (Mode::Full, Metric::BytesFullNoCookie),
        (Mode::Resumed, Metric::BytesResumedNoCookie),
        (Mode::Rfc7924, Metric::BytesRfc7924NoCookie),
        (Mode::Bithac, Metric::BytesBithacNoCookie),
        (Mode::Compact, Metric::BytesCompactNoCookie),
    ];
    let mut samples = Vec::new();
    let is_comparable = stack.makes_cookies() || !field.version.is_datagram();
    for (mode, metric, tickets) in MODES.into_iter().filter(|_| is_comparable) {
        if stack.has(field.with(mode)) {
            let (bytes, rest) = cheapest(stack, field.with(mode), tickets.is_none())?;
            samples.push(field.sample(stack, metric, bytes));
            samples.extend(tickets.filter(|_| rest > 0.0).map(|metric| field.sample(stack, metric, rest)));
        }
    }
    for (mode, metric) in NO_COOKIE.into_iter().filter(|_| field.version == Version::Dtls13) {
        let setting = Setting { cookie: false, ..field.with(mode) };
        if stack.has(setting) {
            let (bytes, _) = cheapest(stack, setting, mode != Mode::Resumed)?;
            samples.push(field.sample(stack, metric, bytes));
        }
    }
    Ok(samples)
}

/// Returns the bytes of the handshake and, unless they are part of it, of the messages that follow it.
fn cheapest(stack: &dyn Stack, setting: Setting, is_whole: bool) -> Result<(f64, f64), String> {
    let mut warm = Warm::new(stack, setting)?;
    let costs = (0..REPEATS).map(|_| warm.cost()).collect::<Result<Vec<_>, _>>()?;
    let cheapest = costs.iter().min_by_key(|cost| cost.total()).ok_or("no handshake")?;
    let last = if is_whole && setting.version == Version::Dtls13 { cheapest.tickets } else { 0 };
    Ok(((cheapest.total() + last) as f64, (cheapest.tickets - last) as f64))
}

/// The number of handshakes: with so many, one nearly always has the shortest signatures of both sides.
const REPEATS: usize = 16;
