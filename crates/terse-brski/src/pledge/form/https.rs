//! BRSKI over HTTPS (RFC 8995; RFC 7030): JSON signed with CMS, and EST in base64.

use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_tls::crypto::CryptoProvider;
use terse_tls::{Credential, SignatureScheme};

use super::{Credentials, Form, Names, SignedVoucher, Steps};
use crate::cms::{Signed, Unsigned};
use crate::est::{decode_body, decode_certs_only, encode_body};
use crate::pledge::command::Presented;
use crate::pledge::http::Response;
use crate::telemetry::Status;
use crate::voucher::{Nonce, Pin, Voucher, VoucherRequest};
use crate::{Malformed, SignatureRefused};

/// BRSKI over HTTPS (RFC 8995): JSON signed with CMS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Https;

impl Form for Https {}

impl Steps for Https {
    type Unsigned = Unsigned;

    const NAMES: Names = Names {
        request_voucher: "/.well-known/brski/requestvoucher",
        voucher_status: "/.well-known/brski/voucher_status",
        enroll_status: "/.well-known/brski/enrollstatus",
        ca_certs: "/.well-known/est/cacerts",
        simple_enroll: "/.well-known/est/simpleenroll",
        voucher_type: "application/voucher-cms+json",
        status_type: "application/json",
        ca_certs_type: CERTS_ONLY,
        request_type: "application/pkcs10",
        certificate_type: CERTS_ONLY,
    };
    // RFC 8995, 5.9.2: a pledge must ask.
    const CSR_ATTRIBUTES: Option<(&'static str, &'static str)> =
        Some(("/.well-known/est/csrattrs", "application/csrattrs"));
    const IDENTITY_KEY: Option<(&'static str, &'static str)> = None;
    const HAS_REDIRECTIONS: bool = true;
    const STEP_TIMEOUT_MS: u64 = 60_000;
    // RFC 7030, 4.1.3: the root is there.
    const MAY_LACK_ROOT: bool = false;

    fn nonce(random: &[u8]) -> Nonce {
        Nonce::of_random(random)
    }

    fn credentials(&self) -> Credentials {
        Credentials::Certificate
    }

    fn proximity(&self, _: &CryptoProvider, registrar: Presented<'_>) -> Result<Pin, SignatureRefused> {
        match registrar {
            Presented::Chain([leaf, ..]) => Ok(Pin::Certificate(leaf.clone().into_owned())),
            _ => Err(Malformed::Missing("certificate").into()),
        }
    }

    fn is_proximity(&self, pin: &Pin) -> bool {
        matches!(pin, Pin::Certificate(_))
    }

    fn encode_request(request: &VoucherRequest) -> Vec<u8> {
        request.to_json()
    }

    fn unsigned(
        provider: &CryptoProvider,
        request: &[u8],
        idevid: &Credential,
        scheme: SignatureScheme,
        time: Option<UnixTime>,
    ) -> Result<Unsigned, SignatureRefused> {
        Unsigned::new(provider, request, idevid.chain(), scheme, time)
    }

    fn message(unsigned: &Unsigned) -> &[u8] {
        unsigned.message()
    }

    fn signed(unsigned: Unsigned, signature: &[u8]) -> Result<Vec<u8>, SignatureRefused> {
        Ok(unsigned.signed(signature))
    }

    fn verify(
        provider: &CryptoProvider,
        voucher: &[u8],
        manufacturer: &[CertificateDer<'_>],
    ) -> Result<SignedVoucher, SignatureRefused> {
        let Signed { content, chain, signing_time } = Signed::verify(provider, voucher, manufacturer)?;
        Ok(SignedVoucher { content, chain, signing_time })
    }

    fn decode_voucher(voucher: &[u8]) -> Result<Voucher, Malformed> {
        Voucher::from_json(voucher)
    }

    fn encode_status(status: Result<(), &'static str>) -> Vec<u8> {
        Status::new(status.is_ok(), status.err().map(Into::into)).to_json()
    }

    fn encode_certification_request(request: Vec<u8>) -> Vec<u8> {
        encode_body(&request)
    }

    fn decode_ca_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed> {
        Self::decode_certificates(response)
    }

    /// Reads a body of EST: base64 of DER. A Content-Transfer-Encoding is ignored (RFC 8995, 6).
    fn decode_certificates(response: &Response<'_>) -> Result<Vec<CertificateDer<'static>>, Malformed> {
        if !response.has_type(CERTS_ONLY) {
            return Err(Malformed::Invalid("Content-Type"));
        }
        decode_certs_only(&decode_body(response.body, "certificates")?)
    }
}

/// The media type of a certs-only CMS (RFC 7030, 4.1.3).
const CERTS_ONLY: &str = "application/pkcs7-mime";
