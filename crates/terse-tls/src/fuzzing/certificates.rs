//! What a peer proves its identity with.

use alloc::string::ToString as _;

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::cert::{PeerRole, Trust, VerifiedPeer};
use crate::crypto::CryptoProvider;
use crate::wire::{Encode as _, Parse as _};

/// Verifies a chain, of a server if it has to have a name. Panics if what is kept of it cannot be saved and loaded.
pub fn verify_chain(
    provider: &CryptoProvider,
    trust: &Trust,
    chain: &[CertificateDer<'_>],
    name: Option<&ServerName<'_>>,
    time: Option<UnixTime>,
) -> Option<VerifiedPeer> {
    let role = name.map_or(PeerRole::Client, PeerRole::Server);
    match trust.verify(chain, role, provider.signatures.all, time) {
        Ok((peer, is_unchecked)) => {
            assert_eq!(is_unchecked, time.is_none());
            assert!(time.is_none_or(|time| peer.validity.check(time).is_ok()));
            Some(saved(peer))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Verifies a raw public key.
pub fn verify_raw_public_key(provider: &CryptoProvider, trust: &Trust, key: &[u8]) -> Option<VerifiedPeer> {
    match trust.verify_raw_public_key(key, provider.signatures.all) {
        Ok(peer) => {
            assert_eq!(peer.public_key(), key);
            Some(saved(peer))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn saved(peer: VerifiedPeer) -> VerifiedPeer {
    assert!(!peer.identity().to_string().contains('\0'));
    if let Ok(bytes) = peer.to_vec() {
        assert_eq!(VerifiedPeer::parse_all(&bytes).as_ref(), Ok(&peer));
    }
    peer
}
