//! The time that a frame is on the air.

use core::time::Duration;

use super::{Direction, Framing, Link, ieee802154};

/// Returns how long a frame of `len` bytes takes from its first bit to its last.
pub(crate) fn transmission(link: &Link, direction: Direction, len: usize) -> Duration {
    let rate = link.path(direction).rate;
    match &link.framing {
        Framing::Ethernet | Framing::Ip => at_rate(rate, len),
        Framing::Ieee802154(_) => at_rate(rate, ieee802154::on_air_len(len)),
        Framing::LoraWan(options) => options.time_on_air(direction, len),
    }
}

/// Returns how long `len` bytes take at `rate` bits per second, rounded up.
fn at_rate(rate: Option<u64>, len: usize) -> Duration {
    match rate {
        Some(rate) => {
            let nanos = (len as u128 * 8 * 1_000_000_000).div_ceil(u128::from(rate.max(1)));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        }
        None => Duration::ZERO,
    }
}
