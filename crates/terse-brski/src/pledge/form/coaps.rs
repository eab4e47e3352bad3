//! Constrained BRSKI (draft-ietf-anima-constrained-voucher-31; RFC 9148): CBOR signed with COSE over CoAPS, and EST-coaps in DER.

use alloc::vec;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Credential, SignatureScheme};

use super::{Credentials, Form, Names, SignedVoucher, Steps};
use crate::certificate::public_key;
use crate::coap::{content_format, multipart};
use crate::cose::{Signed, Unsigned};
use crate::est::{MAX_BODY_LEN, MAX_CERTIFICATES, decode_certs_only};
use crate::pledge::command::Presented;
use crate::pledge::http::Response;
use crate::telemetry::Status;
use crate::voucher::{Nonce, Pin, Voucher, VoucherRequest};
use crate::{Malformed, SignatureRefused};

/// Constrained BRSKI over CoAPS (draft-ietf-anima-constrained-voucher-31): CBOR signed with COSE.
///
/// The signer of a voucher is one of the manufacturer's anchors, or its certificate comes along in the protected header: a
/// registrar removes those of the unprotected header.
///
/// # Defaults
///
/// - Voucher requests name the registrar by the SHA-256 of its public key.
/// - The pledge wants a certificate.
///
/// ```
/// use std::sync::Arc;
///
/// use pki_types::CertificateDer;
/// use terse_brski::certificate::SerialNumberField;
/// use terse_brski::pledge::{Coaps, ConfigError, Pledge, PledgeConfig};
/// use terse_tls::Credential;
/// use terse_tls::crypto::CryptoProvider;
///
/// fn pledge(
///     provider: &CryptoProvider,
///     idevid: Credential,
///     manufacturer: Vec<CertificateDer<'static>>,
/// ) -> Result<Pledge<Coaps>, ConfigError> {
///     let field = SerialNumberField::default();
///     let config = PledgeConfig::with_form(Coaps::default(), provider, idevid, manufacturer, field)?;
///     Ok(Pledge::new(Arc::new(config)))
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coaps {
    proximity: Proximity,
    credentials: Credentials,
}

/// What a voucher request names the registrar by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proximity {
    /// By proximity-registrar-pubk-sha256, which is the shortest.
    #[default]
    PublicKeySha256,
    /// By proximity-registrar-pubk, for a MASA that knows no hashes of keys.
    PublicKey,
    /// By proximity-registrar-cert, for a MASA that knows nothing else.
    Certificate,
}

impl Coaps {
    /// Sets what voucher requests name the registrar by. Of several pins in a voucher, the one of that kind counts.
    #[must_use]
    pub const fn with_proximity(self, proximity: Proximity) -> Self {
        Self { proximity, ..self }
    }

    /// Sets what the pledge wants of its domain. One that wants no certificate cannot name the registrar by
    /// [`Proximity::Certificate`]: there is none, and each attempt would fail.
    #[must_use]
    pub const fn with_credentials(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }
}

impl Form for Coaps {}

impl Steps for Coaps {
    type Unsigned = Unsigned;

    const NAMES: Names = Names {
        request_voucher: "/.well-known/brski/rv",
        voucher_status: "/.well-known/brski/vs",
        enroll_status: "/.well-known/brski/es",
        ca_certs: "/.well-known/est/crts",
        simple_enroll: "/.well-known/est/sen",
        voucher_type: VOUCHER_COSE,
        status_type: CBOR,
        ca_certs_type: MULTIPART_CORE,
        request_type: PKCS10,
        certificate_type: PKIX_CERT,
    };
    // "Pledge Enrollment Procedure": a pledge should not ask.
    const CSR_ATTRIBUTES: Option<(&'static str, &'static str)> = None;
    const IDENTITY_KEY: Option<(&'static str, &'static str)> = Some(("/t/idk", IDENTITY_KEY));
    // CoAP has none.
    const HAS_REDIRECTIONS: bool = false;
    // EXCHANGE_LIFETIME (RFC 7252, 4.8.2). A handshake with the timers of RFC 7925, 11, is given up by itself after 243 s.
    const STEP_TIMEOUT_MS: u64 = 247_000;
    // "Multipart Content-Format for CA certificates": the highest CA may or may not be a root.
    const MAY_LACK_ROOT: bool = true;

    fn nonce(random: &[u8]) -> Nonce {
        Nonce::of_random_bytes(random)
    }

    fn credentials(&self) -> Credentials {
        self.credentials
    }

    fn proximity(&self, provider: &CryptoProvider, registrar: Presented<'_>) -> Result<Pin, SignatureRefused> {
        let (certificate, key) = match registrar {
            Presented::Chain(chain) => {
                let certificate = chain.first().ok_or(Malformed::Missing("certificate"))?;
                (Some(certificate), public_key(certificate)?)
            }
            Presented::RawPublicKey(key) => (None, key),
        };
        Ok(match (self.proximity, certificate) {
            (Proximity::PublicKeySha256, _) => {
                let mut digest = [0; 32];
                digest.iter_mut().zip(provider.sha256.hash(&[key]).as_ref()).for_each(|(to, from)| *to = *from);
                Pin::PublicKeySha256(digest)
            }
            (Proximity::PublicKey, _) => Pin::PublicKey(key.into()),
            (Proximity::Certificate, certificate) => {
                let certificate = certificate.ok_or(Malformed::Missing("certificate"))?;
                Pin::Certificate(certificate.clone().into_owned())
            }
        })
    }

    fn is_proximity(&self, pin: &Pin) -> bool {
        let kind = match pin {
            Pin::PublicKeySha256(_) => Proximity::PublicKeySha256,
            Pin::PublicKey(_) => Proximity::PublicKey,
            Pin::Certificate(_) => Proximity::Certificate,
        };
        kind == self.proximity
    }

    fn encode_request(request: &VoucherRequest) -> Vec<u8> {
        request.to_cbor()
    }

    fn unsigned(
        _: &CryptoProvider,
        request: &[u8],
        idevid: &Credential,
        scheme: SignatureScheme,
        _: Option<UnixTime>,
    ) -> Result<Unsigned, SignatureRefused> {
        let signer = idevid.chain().first().ok_or(SignatureRefused::NoSigner)?;
        Unsigned::new(request, signer, &[], scheme)
    }

    fn message(unsigned: &Unsigned) -> &[u8] {
        unsigned.message()
    }

    fn signed(unsigned: Unsigned, signature: &[u8]) -> Result<Vec<u8>, SignatureRefused> {
        unsigned.signed(signature)
    }

    fn verify(
        provider: &CryptoProvider,
        voucher: &[u8],
        manufacturer: &[CertificateDer<'_>],
    ) -> Result<SignedVoucher, SignatureRefused> {
        let Signed { content, chain } = Signed::verify(provider, voucher, manufacturer)?;
        Ok(SignedVoucher { content, chain, signing_time: None })
    }

    fn decode_voucher(voucher: &[u8]) -> Result<Voucher, Malformed> {
        Voucher::from_cbor(voucher)
    }

    fn encode_status(status: Result<(), &'static str>) -> Vec<u8> {
        Status::cbor_without_context(status.is_ok(), status.err())
    }

    fn encode_certification_request(request: Vec<u8>) -> Vec<u8> {
        request
    }

    /// Reads `application/multipart-core`, or what a server of EST-coaps has that does not know it. Representations that are
    /// no certificates are ignored.
    fn decode_ca_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed> {
        if !response.has_type(MULTIPART_CORE) {
            return Self::decode_certificates(response);
        }
        let parts = multipart::decode(response.body, MAX_CERTIFICATES)?;
        let certificates = parts.into_iter().filter(|(format, _)| *format == content_format::PKIX_CERT);
        let certificates = certificates.map(|(_, certificate)| certificate_of(certificate));
        let certificates = certificates.collect::<Result<Vec<_>, _>>()?;
        if certificates.is_empty() { Err(Malformed::Missing("certificates")) } else { Ok(certificates) }
    }

    /// Reads one certificate, or the certs-only CMS of a server that has nothing else.
    fn decode_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed> {
        if response.has_type(PKIX_CERT) {
            return Ok(vec![certificate_of(response.body)?]);
        }
        if response.has_type(CERTS_ONLY) {
            return decode_certs_only(response.body);
        }
        Err(Malformed::Invalid("Content-Format"))
    }
}

/// Takes what should be a certificate: one that has a key, at least.
fn certificate_of(der: &[u8]) -> Result<CertificateDer<'static>, Malformed> {
    if der.len() > MAX_BODY_LEN {
        return Err(Malformed::TooLong(MAX_BODY_LEN));
    }
    public_key(der)?;
    Ok(CertificateDer::from(der).into_owned())
}

/// The media types of constrained BRSKI; [`coaps`](crate::pledge::coaps) has their content formats.
pub(in crate::pledge) const VOUCHER_COSE: &str = "application/voucher+cose";
pub(in crate::pledge) const CBOR: &str = "application/cbor";
pub(in crate::pledge) const MULTIPART_CORE: &str = "application/multipart-core";
pub(in crate::pledge) const PKCS10: &str = "application/pkcs10";
pub(in crate::pledge) const PKIX_CERT: &str = "application/pkix-cert";
pub(in crate::pledge) const CERTS_ONLY: &str = "application/pkcs7-mime";
/// The content format of an identity key has no media type; this one is on no wire.
pub(in crate::pledge) const IDENTITY_KEY: &str = "application/vnd.terse.identity-key";
