//! Certificates and CRLs beyond those of the shared PKI.

use alloc::sync::Arc;
use std::sync::LazyLock;

use pki_types::CertificateRevocationListDer;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Revocation, Usage, Validity};
use terse_testkit::pki::{self, DAY, NOW, Pki};
use terse_tls::Credential;

use super::world::{CHAIN, PROVIDER};

/// The options of a leaf like those of the shared CA.
pub(crate) fn leaf(name: &str, usage: Usage) -> LeafOptions {
    LeafOptions { usage, ..LeafOptions::new(name, pki::validity()) }
}

pub(crate) fn server_leaf() -> LeafOptions {
    leaf(pki::SERVER_NAME, Usage::Server)
}

pub(crate) fn client_leaf() -> LeafOptions {
    leaf(pki::CLIENT_NAME, Usage::Client)
}

/// A credential from the shared CA, with a new key.
pub(crate) fn issue(options: &LeafOptions) -> Credential {
    pki::credential(PROVIDER, &Pki::shared(CHAIN).authority.issue(options).unwrap())
}

/// Another certificate for the key of `old`.
pub(crate) fn renew(old: &terse_pki::Credential, options: &LeafOptions) -> Credential {
    pki::credential(PROVIDER, &Pki::shared(CHAIN).authority.renew(old, options).unwrap())
}

/// Another CA with a server and a client, both of the usual names.
pub(crate) fn other_pki() -> Arc<Pki> {
    static OTHER: LazyLock<Arc<Pki>> = LazyLock::new(|| {
        let chain = CHAIN.parse().unwrap();
        let options = AuthorityOptions { name: "Other CA".into(), ..AuthorityOptions::new(chain, pki::validity()) };
        let authority = Authority::new(&options).unwrap();
        let [server, client] = [server_leaf(), client_leaf()].map(|leaf| authority.issue(&leaf).unwrap());
        Arc::new(Pki { authority, server, client })
    });
    OTHER.clone()
}

/// A CRL of the shared CA that issues leaves, good for so many days.
pub(crate) fn crl(revoked: &[&terse_pki::Credential], days: u64) -> CertificateRevocationListDer<'static> {
    let revoked: Vec<_> = revoked.iter().map(|leaf| Revocation::new(leaf.leaf(), NOW).unwrap()).collect();
    let validity = Validity { not_before: NOW - DAY, not_after: NOW + days * DAY };
    Pki::shared(CHAIN).authority.crl(1, &revoked, validity).unwrap()
}

/// A CRL of its root, which revokes the CA that issues leaves, or nobody.
pub(crate) fn crl_of_the_root(revokes: bool) -> CertificateRevocationListDer<'static> {
    let pki = Pki::shared(CHAIN);
    let revoked: Vec<_> = pki.server.chain()[1..].iter().filter(|_| revokes).collect();
    let revoked: Vec<_> = revoked.into_iter().map(|ca| Revocation::new(ca, NOW).unwrap()).collect();
    pki.authority.crl(0, &revoked, pki::validity()).unwrap()
}

/// A new CA, whose leaves and their issuers are valid for a year; but one of the two for ten days only.
pub(crate) fn short_lived(of_issuer: bool, leaf: LeafOptions) -> (Authority, Credential) {
    let short = Validity { not_before: NOW - DAY, not_after: NOW + 10 * DAY };
    let (issuer, validity) = if of_issuer { (short, pki::validity()) } else { (pki::validity(), short) };
    let authority = Authority::new(&AuthorityOptions::new(CHAIN.parse().unwrap(), issuer)).unwrap();
    let issued = authority.issue(&LeafOptions { validity, ..leaf }).unwrap();
    (authority, pki::credential(PROVIDER, &issued))
}
