//! Small values for the tests of this module.

use alloc::boxed::Box;
use core::time::Duration;

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit as _, Mac as _};
use pki_types::{ServerName, UnixTime};
use sha2::Sha384;

use super::*;
use crate::cache::{Scope, ServerId, TrustId};
use crate::cert::{CertificateIdentity, Links, PeerIdentity, Validity};
use crate::crypto::{
    CryptoError, CryptoProvider, Digest, Hash, HashContext, KeyError, Rng, Secret, SignatureAlgorithms, Tls13Suite,
};
use crate::summary::Transport;
use crate::test_crypto::{SHA256, SUITE};
use crate::time::Instant;
use crate::wire::{CipherSuite, ProtocolVersion};

pub(super) const TODAY: u64 = 1_800_000_000;
pub(super) const DAY: u64 = 86_400;
pub(super) const HOUR: u32 = 3_600;
pub(super) const TRUST: TrustId = TrustId([7; 8]);

/// A counter as source of randomness, so that every value is different and known.
pub(super) struct Counter(pub(super) u8);

impl Rng for Counter {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.0 += 1;
        out.fill(self.0);
        Ok(())
    }
}

pub(super) fn at(unix: u64) -> Now {
    Now { unix: Some(UnixTime::since_unix_epoch(Duration::from_secs(unix))), monotonic: Instant(0) }
}

pub(super) fn server_id() -> ServerId {
    ServerId::new(&ServerName::try_from("device.example").expect("a DNS name"))
}

pub(super) fn scope(port: u16) -> Scope {
    Scope { server: server_id(), port, transport: Transport::Stream, credential: None }
}

/// Returns a session without a client, created at [`TODAY`].
pub(super) fn session() -> Session {
    Session {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        secret: Secret::new(&[5; 32]),
        created: TODAY,
        end: TODAY + 7 * DAY,
        client: None,
    }
}

/// Returns the identity in a certificate for one name, as most CAs make it.
pub(super) fn named_identity(name: &str) -> PeerIdentity {
    let len = name.len() as u8;
    let subject =
        [&[0x30, len + 11, 0x31, len + 9, 0x30, len + 7, 6, 3, 0x55, 4, 3, 0x0c, len], name.as_bytes()].concat();
    let subject_alt_name = [&[0x30, len + 2, 0x82, len], name.as_bytes()].concat();
    identity(&subject, &subject_alt_name)
}

/// Returns the identity in a certificate with these fields.
pub(super) fn identity(subject: &[u8], subject_alt_name: &[u8]) -> PeerIdentity {
    let identity = CertificateIdentity { subject: subject.into(), subject_alt_name: subject_alt_name.into() };
    PeerIdentity::Certificate(identity)
}

pub(super) fn binding(version: ProtocolVersion) -> Binding {
    Binding::new(SHA256, &context(version, &server_id()))
}

pub(super) fn context(version: ProtocolVersion, server: &ServerId) -> Context<'_> {
    Context {
        version,
        server,
        credentials: &[],
        client_policy: ClientPolicy::None,
        application_protocol: None,
        early_data: None,
    }
}

pub(super) fn stored() -> StoredSession {
    StoredSession {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        kind: SessionKind::Tls13 { ticket_age_add: 0xffff_ff00, max_early_data_size: 0, record_limit: 0x4000 },
        secret: Secret::new(&[5; 32]),
        ticket: [9; 70].into(),
        received: TODAY,
        lifetime: HOUR,
        origin: SessionOrigin {
            authenticated: TODAY,
            trust_id: TRUST,
            identity: named_identity("device.example"),
            validity: Validity {
                not_before: TODAY - DAY,
                not_before_depth: 0,
                not_after: TODAY + 30 * DAY,
                not_after_depth: 1,
            },
            signatures: 2,
            links: Links::default(),
            application_protocol: Some((*b"mqtt").into()),
        },
    }
}

/// A provider with SHA-256 and SHA-384.
pub(super) static PROVIDER: CryptoProvider =
    CryptoProvider::new("test", SignatureAlgorithms::new(&[], &[]), SHA256, |_| Err(KeyError::Malformed))
        .tls13_suites(&[&SUITE, &SUITE_384]);

static SUITE_384: Tls13Suite = Tls13Suite {
    id: CipherSuite::TLS_AES_256_GCM_SHA384,
    hash: SHA384,
    aead: SUITE.aead,
    record_numbers: SUITE.record_numbers,
    confidentiality_limit: SUITE.confidentiality_limit,
    integrity_limit: SUITE.integrity_limit,
};

pub(super) static SHA384: &dyn Hash = &TestSha384;

struct TestSha384;

impl Hash for TestSha384 {
    fn output_len(&self) -> usize {
        48
    }

    fn start(&self) -> Box<dyn HashContext> {
        Box::new(TestContext(<Sha384 as sha2::Digest>::new()))
    }

    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest {
        let mut hmac = Hmac::<Sha384>::new_from_slice(key).expect("HMAC takes a key of any length");
        parts.iter().for_each(|part| hmac.update(part));
        Digest::new(&hmac.finalize().into_bytes())
    }

    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret {
        Secret::new(&Hkdf::<Sha384>::extract(Some(salt), input_key_material).0)
    }

    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError> {
        let hkdf = Hkdf::<Sha384>::from_prk(pseudorandom_key).map_err(|_| CryptoError::InvalidLength)?;
        hkdf.expand_multi_info(info, out).map_err(|_| CryptoError::InvalidLength)
    }
}

struct TestContext(Sha384);

impl HashContext for TestContext {
    fn update(&mut self, data: &[u8]) {
        sha2::Digest::update(&mut self.0, data);
    }

    fn fork(&self) -> Box<dyn HashContext> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Digest {
        Digest::new(&sha2::Digest::finalize(self.0))
    }
}
