//! What a peer proves its identity with.

use alloc::string::ToString as _;

use pki_types::{CertificateDer, ServerName, UnixTime};

use crate::cert::{
    CheckedChain, Expect, KeyPurposeId, PresentedPeer, Trust, VerifiedPeer, can_staple, split_public_key,
};
use crate::crypto::CryptoProvider;
use crate::wire::{Encode as _, Parse as _};

/// Verifies a chain, of a server if it has to have a name. Panics if what is kept of it cannot be saved and loaded, or if
/// another key is kept of a peer that presents it and is taken unverified.
pub fn verify_chain(
    provider: &CryptoProvider,
    trust: &Trust,
    chain: &[CertificateDer<'_>],
    name: Option<&ServerName<'_>>,
    time: Option<UnixTime>,
) -> Option<VerifiedPeer> {
    let presented = PresentedPeer::of_chain(chain);
    if let Ok(presented) = &presented {
        assert!(presented.chain().eq(chain.iter().cloned()));
    }
    let by_usage = trust.check(provider, chain, Expect::Usage(KeyPurposeId::CMC_RA), time);
    if let Ok(checked) = by_usage {
        assert_eq!(trust.check(provider, chain, Expect::AnyUsage, time), Ok(checked));
    }
    let expect = name.map_or(Expect::Client, Expect::Server);
    match trust.check(provider, chain, expect, time) {
        Ok(CheckedChain { peer, time_unchecked, .. }) => {
            // The key of a leaf that is verified can still be one that does not parse.
            assert!(
                presented.is_ok_and(|presented| presented.public_key_der() == peer.public_key())
                    || split_public_key(peer.public_key()).is_err()
            );
            assert_eq!(time_unchecked, time.is_none());
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

/// Verifies `chain`, of a server if it has to have a name, and then judges `response` as a staple of its leaf. Returns
/// whether it is a good one. Panics if it is, and the side that the chain is of could not staple it.
pub fn verify_staple(
    provider: &CryptoProvider,
    trust: &Trust,
    chain: &[CertificateDer<'_>],
    name: Option<&ServerName<'_>>,
    response: &[u8],
    time: Option<UnixTime>,
) -> bool {
    let expect = name.map_or(Expect::Client, Expect::Server);
    let algorithms = provider.signatures.all;
    let Ok(CheckedChain { peer, .. }) = trust.verify(chain, expect, algorithms, time) else { return false };
    let judged = trust.check_staple(&peer, Some(response), provider, algorithms, time);
    let can_staple = chain.first().is_some_and(|leaf| can_staple(provider, leaf, response));
    assert!(judged.is_err() || can_staple);
    judged.is_ok()
}

/// As a cache gives it back: the same peer, with its key in another form at most.
fn saved(peer: VerifiedPeer) -> VerifiedPeer {
    assert!(!peer.identity().to_string().contains('\0'));
    if let Ok(bytes) = peer.to_vec() {
        let again = VerifiedPeer::parse_all(&bytes).expect("own encoding");
        assert_eq!(again.identity(), peer.identity());
        assert_eq!(again.to_vec().as_ref(), Ok(&bytes));
        // Nobody has used the leaf's key yet: it may be anything.
        let [before, after] = [&peer, &again].map(|peer| split_public_key(peer.public_key()));
        assert_eq!(after.map(|(algorithm, _)| algorithm), before.map(|(algorithm, _)| algorithm));
    }
    peer
}
