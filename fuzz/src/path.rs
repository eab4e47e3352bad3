//! The fuzz target `path` validates a chain with path building and without: what is accepted without it is accepted with
//! it. Signatures are accepted unless they end in a zero.
//!
//! ```text
//! what(1) time(1) { length(2) der }*
//! ```

use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_testkit::pki::{DAY, NOW, server_address};
use terse_tls::{Expect, KeyPurposeId, Trust};

use crate::certificates::items;
use crate::pki::ROOT;
use crate::provider;

/// The bit of `what` that makes the first item the trust anchor.
pub const ANCHOR: u8 = 0x80;

/// Runs one input. Returns whether the chain was accepted.
pub fn run(data: &[u8]) -> bool {
    let Some(([what, time], rest)) = data.split_first_chunk() else { return false };
    let items: Vec<_> = items(rest).into_iter().map(CertificateDer::from).collect();
    let (anchors, chain) = match what & ANCHOR {
        0 => (vec![CertificateDer::from(ROOT)], &items[..]),
        _ => (items[..items.len().min(1)].to_vec(), items.get(1..).unwrap_or_default()),
    };
    let Ok(in_order) = Trust::without_path_building(&anchors) else { return false };
    let building = Trust::new(&anchors).expect("a trust anchor that is accepted without path building");
    let address = server_address();
    let expect = match what % 4 {
        0 => Expect::Server(&address.name),
        1 => Expect::Client,
        2 => Expect::Usage(KeyPurposeId::SERVER_AUTH),
        _ => Expect::AnyUsage,
    };
    let at = UnixTime::since_unix_epoch(Duration::from_secs(NOW + u64::from(*time) * DAY));
    let time = (*time != 0xff).then_some(at);
    let provider = provider::transparent();
    let judge = |trust: Trust| trust.accept_without_clock().check(&provider, chain, expect, time);
    let Ok(checked) = judge(in_order) else { return false };
    let by_building = judge(building).expect("a chain that is accepted without path building");
    assert_eq!(checked.peer.public_key(), by_building.peer.public_key());
    assert_eq!(checked.peer.identity(), by_building.peer.identity());
    assert!(time.is_none_or(|time| checked.peer.validity().check(time).is_ok()));
    true
}
