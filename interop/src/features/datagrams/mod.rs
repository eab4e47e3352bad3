//! What is tried over datagrams alone, or looks different there.

use terse_tls::crypto::CryptoProvider;

use super::{Cell, Feature};
use crate::case::Case;
use crate::datagrams::Datagrams;

mod caching;
mod connection_ids;
mod extensions;
mod hello_retry;
mod keys;
mod network;
mod resumption;
mod traffic;
mod versions;

const RUSTCRYPTO: &CryptoProvider = &terse_rustcrypto::PROVIDER;
const AWS_LC: &CryptoProvider = &terse_aws_lc::PROVIDER;

pub(super) fn features() -> Vec<Feature> {
    [
        network::features(),
        hello_retry::features(),
        extensions::features(),
        traffic::features(),
        versions::features(),
        connection_ids::features(),
        keys::features(),
        resumption::features(),
        caching::features(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn case() -> Case {
    Case::mutual(AWS_LC)
}

/// Returns the default case with these options for datagrams.
fn with(datagrams: Datagrams) -> Case {
    Case { datagrams: Some(datagrams), ..case() }
}
