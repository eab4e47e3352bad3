//! The key exchange in TLS 1.2: its groups and signatures (RFC 8422, 5.4 and 5.7), and the master secret.

use alloc::vec::Vec;

use crate::config::Common;
use crate::crypto::{Group, SharedSecret, Tls12KeyExchange, Tls12Suite};
use crate::error::Error;
use crate::schedule::Transcript;
use crate::schedule::tls12::{MasterSecret, Randoms};
use crate::wire::{EcdheParams, Encode, NamedGroup, SignatureScheme};

/// Returns the group `name`, if this side offers it in TLS 1.2, which only has elliptic curves.
pub(super) fn group(common: &Common, name: NamedGroup) -> Option<&'static dyn Group> {
    let offered = common.groups.contains(&name) && name.is_elliptic_curve();
    offered.then(|| common.provider.group(name)).flatten()
}

/// Whether a key that signs with `scheme` fits the suite (RFC 8422, 2 and 5.10: EdDSA goes with the suites of ECDSA).
pub(super) const fn fits(key_exchange: Tls12KeyExchange, scheme: SignatureScheme) -> bool {
    match key_exchange {
        Tls12KeyExchange::EcdheRsa => scheme.is_rsa(),
        Tls12KeyExchange::EcdheEcdsa => !scheme.is_rsa(),
        Tls12KeyExchange::Psk | Tls12KeyExchange::EcdhePsk => false,
    }
}

/// Returns what the server signs: both randoms, and its parameters (RFC 8422, 5.4).
pub(super) fn signed_params(randoms: &Randoms, params: &EcdheParams<'_>) -> Result<Vec<u8>, Error> {
    Ok([&randoms.client[..], &randoms.server, &params.to_vec()?].concat())
}

/// Derives the master secret of a full handshake, `extended` (RFC 7627, 4) or not (RFC 5246, 8.1). The transcript ends
/// with ClientKeyExchange.
pub(super) fn master_secret(
    common: &Common,
    suite: &'static Tls12Suite,
    extended: bool,
    premaster_secret: &SharedSecret,
    randoms: &Randoms,
    transcript: &Transcript,
) -> MasterSecret {
    let master_secret = if extended {
        MasterSecret::extended(suite, premaster_secret.as_ref(), &transcript.current())
    } else {
        MasterSecret::new(suite, premaster_secret.as_ref(), randoms)
    };
    common.log_secret("CLIENT_RANDOM", &randoms.client, master_secret.expose());
    master_secret
}
