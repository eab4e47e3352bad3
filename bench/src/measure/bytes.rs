//! Record bytes, both directions, until both sides are connected; the tickets of TLS 1.3, which follow, apart. The ACK that
//! ends a full handshake of DTLS 1.3 is in them; one that goes together with tickets counts as these do. DTLS 1.3 also
//! without a cookie: that of DTLS 1.2 takes few bytes, but that of DTLS 1.3 a second ClientHello with a key share.
//!
//! The length of an ECDSA signature is chance (70 to 72 bytes): the cheapest of several handshakes counts.

use super::{Field, Metric, Sample, Warm};
use crate::stack::{Mode, Setting, Stack, Version};

/// In every mode that `stack` has.
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

/// Bytes of the handshake, and of what follows unasked, unless that is a part of it.
fn cheapest(stack: &dyn Stack, setting: Setting, is_whole: bool) -> Result<(f64, f64), String> {
    let mut warm = Warm::new(stack, setting)?;
    let costs = (0..REPEATS).map(|_| warm.cost()).collect::<Result<Vec<_>, _>>()?;
    let cheapest = costs.iter().min_by_key(|cost| cost.total()).ok_or("no handshake")?;
    let last = if is_whole && setting.version == Version::Dtls13 { cheapest.tickets } else { 0 };
    Ok(((cheapest.total() + last) as f64, (cheapest.tickets - last) as f64))
}

/// With so many, the shortest signatures of both sides meet nearly always.
const REPEATS: usize = 16;
