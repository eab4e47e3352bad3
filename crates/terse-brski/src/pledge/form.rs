//! The two forms of BRSKI, which the pledge speaks by one state machine: signed JSON over HTTPS, and signed CBOR over CoAPS.
//!
//! A form is a type parameter of the pledge, so that the firmware of a device has only the form that it names. What must always
//! hold: a form encodes, decodes and verifies a signature; all that is decided by what was read, the steps decide, which are
//! the same for both.

use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Credential, SignatureScheme};

use super::command::Presented;
use super::http::Response;
use crate::voucher::{Nonce, Pin, Voucher, VoucherRequest};
use crate::{Malformed, SignatureRefused};

pub(super) mod coaps;
mod https;

pub use coaps::{Coaps, Proximity};
pub use https::Https;

/// A form of BRSKI: [`Https`] or [`Coaps`]. There are no others.
pub trait Form: Steps {}

/// What each step of the pledge needs of its form.
pub trait Steps: Clone + fmt::Debug + Sized {
    /// A voucher request before its signature is there.
    type Unsigned;

    /// Paths and media types.
    const NAMES: Names;

    /// The path and the media type of the CSR attributes, if the registrar is asked for them.
    const CSR_ATTRIBUTES: Option<(&'static str, &'static str)>;

    /// The path and the media type of the identity key, if this form has it.
    const IDENTITY_KEY: Option<(&'static str, &'static str)>;

    /// Whether redirections are followed.
    const HAS_REDIRECTIONS: bool;

    /// How long the pledge waits for one step of a peer, in milliseconds, if there is nobody else to turn to.
    const STEP_TIMEOUT_MS: u64;

    /// Whether the CA certificates may lack the root: the highest of them is the trust anchor then.
    const MAY_LACK_ROOT: bool;

    /// Returns the nonce of this randomness.
    fn nonce(random: &[u8]) -> Nonce;

    /// Returns what the pledge wants of its domain.
    fn credentials(&self) -> Credentials;

    /// Returns what the voucher request names the registrar by that has presented this.
    fn proximity(&self, provider: &CryptoProvider, registrar: Presented<'_>) -> Result<Pin, SignatureRefused>;

    /// Whether a pin is of the kind that voucher requests name the registrar by.
    fn is_proximity(&self, pin: &Pin) -> bool;

    /// Encodes a voucher request.
    fn encode_request(request: &VoucherRequest) -> Vec<u8>;

    /// Prepares the signature of a voucher request.
    fn unsigned(
        provider: &CryptoProvider,
        request: &[u8],
        idevid: &Credential,
        scheme: SignatureScheme,
        time: Option<UnixTime>,
    ) -> Result<Self::Unsigned, SignatureRefused>;

    /// Returns the bytes that the IDevID's key must sign.
    fn message(unsigned: &Self::Unsigned) -> &[u8];

    /// Returns the voucher request with this signature.
    fn signed(unsigned: Self::Unsigned, signature: &[u8]) -> Result<Vec<u8>, SignatureRefused>;

    /// Verifies the signature of a voucher, by the key of one of these certificates, or of one that came with it.
    fn verify(
        provider: &CryptoProvider,
        voucher: &[u8],
        manufacturer: &[CertificateDer<'_>],
    ) -> Result<SignedVoucher, SignatureRefused>;

    /// Decodes a voucher whose signature was verified.
    fn decode_voucher(voucher: &[u8]) -> Result<Voucher, Malformed>;

    /// Encodes the status of a voucher or of an enrollment, with the reason if it has failed.
    fn encode_status(status: Result<(), &'static str>) -> Vec<u8>;

    /// Encodes a certification request as the content of a request.
    fn encode_certification_request(request: Vec<u8>) -> Vec<u8>;

    /// Decodes the CA certificates.
    fn decode_ca_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed>;

    /// Decodes the certificates that answer a certification request.
    fn decode_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed>;
}

/// What a pledge wants of its domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// An LDevID certificate.
    #[default]
    Certificate,
    /// An LDevID certificate, and then an identity key if the registrar gives one.
    CertificateAndIdentityKey,
    /// An identity key alone. The registrar presents a raw public key (RFC 7250), which the voucher must pin, and no
    /// certificate of the domain is verified: the variant of constrained BRSKI with raw public keys
    /// (draft-ietf-anima-constrained-voucher-31).
    IdentityKey,
}

/// The paths of the requests of a form, and the media types.
pub struct Names {
    /// The path of voucher requests.
    pub request_voucher: &'static str,
    /// The path of the status of a voucher.
    pub voucher_status: &'static str,
    /// The path of the status of an enrollment.
    pub enroll_status: &'static str,
    /// The path of the CA certificates.
    pub ca_certs: &'static str,
    /// The path of certification requests.
    pub simple_enroll: &'static str,
    /// The media type of voucher requests and vouchers.
    pub voucher_type: &'static str,
    /// The media type of a status.
    pub status_type: &'static str,
    /// The media type of the CA certificates that is asked for.
    pub ca_certs_type: &'static str,
    /// The media type of certification requests.
    pub request_type: &'static str,
    /// The media type of the LDevID that is asked for.
    pub certificate_type: &'static str,
}

/// A voucher whose signature was verified with the key of the first certificate of `chain`, and nothing more.
pub struct SignedVoucher {
    /// What was signed.
    pub content: Vec<u8>,
    /// The certificate of the signer, then the others that came with it.
    pub chain: Vec<CertificateDer<'static>>,
    /// When it was signed, if the signature says so.
    pub signing_time: Option<UnixTime>,
}
