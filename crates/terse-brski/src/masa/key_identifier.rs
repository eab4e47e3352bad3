//! Whether a subject key identifier is made of the key (RFC 5280, 4.2.1.2; RFC 7093, 2).
//!
//! A certificate has whatever key identifier its issuer likes, also that of somebody else. What must always hold: one that is
//! called derived has at least 160 bits of a hash of the certificate's own key, so that nobody finds another key with it.

use terse_tls::crypto::CryptoProvider;

use crate::Malformed;
use crate::certificate::{Fields, key_of};
use crate::cms::DigestAlgorithm;

/// Whether the [`domain_id`](crate::certificate::domain_id) of a certificate is a hash of its public key, as far as the provider has the hash
/// function. Without a subject key identifier it always is.
///
/// These are methods 1 of RFC 5280 and 1 to 4 of RFC 7093, the last with a whole hash or with its first 160 bits. Method 2
/// of RFC 5280 does not count: it has 60 bits, and whoever has the computers finds another key with the same ones.
pub(super) fn is_domain_id_derived(provider: &CryptoProvider, certificate: &[u8]) -> Result<bool, Malformed> {
    let fields = Fields::read(certificate)?;
    let Some(identifier) = fields.subject_key_identifier()? else { return Ok(true) };
    let key = key_of(fields.public_key)?;
    if provider.sha1.is_some_and(|sha1| sha1(key) == identifier) {
        return Ok(true);
    }
    let is_hash = |digest: DigestAlgorithm, input: &[u8], may_be_whole: bool| {
        let Ok(hash) = digest.digest(provider, input) else { return false };
        hash.as_ref().get(..TRUNCATED_LEN) == Some(identifier) || (may_be_whole && hash.as_ref() == identifier)
    };
    Ok(DigestAlgorithm::ALL
        .into_iter()
        .any(|digest| is_hash(digest, key, false) || is_hash(digest, fields.public_key, true)))
}

/// The length of a hash of which the leftmost 160 bits are taken (RFC 7093, 2).
const TRUNCATED_LEN: usize = 20;
