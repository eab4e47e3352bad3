//! The artefacts of constrained BRSKI: CBOR and COSE.

use pki_types::CertificateDer;
use terse_brski::cose::{Signed, Unsigned, without_certificates};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{MAX_LEN, Voucher, VoucherRequest};
use terse_brski::{Malformed, SignatureRefused};
use terse_tls::SignatureScheme;

use crate::pki::{INTERMEDIATE, SERVER};
use crate::provider::{self, ECDSA_SIGNATURE};

/// Runs one input.
pub(super) fn run(what: u8, bytes: &[u8]) {
    match what % 4 {
        0 => voucher(bytes),
        1 => request(bytes),
        2 => signed(bytes),
        _ if what & 0x10 != 0 => status(bytes),
        _ => sign(bytes),
    }
}

/// A voucher that parses can be written, and parses as the same.
fn voucher(cbor: &[u8]) {
    match Voucher::from_cbor(cbor) {
        Ok(voucher) => assert_eq!(Voucher::from_cbor(&voucher.to_cbor()).expect("what was written parses"), voucher),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A request that parses can be written, and parses as the same.
fn request(cbor: &[u8]) {
    match VoucherRequest::from_cbor(cbor) {
        Ok(request) => {
            assert_eq!(VoucherRequest::from_cbor(&request.to_cbor()).expect("what was written parses"), request);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A status message that parses can be written, and says the same but for the numbers in its reason-context, as which JSON
/// may have others.
fn status(cbor: &[u8]) {
    match Status::from_cbor(cbor) {
        Ok(status) => {
            let written = status.to_cbor();
            if written.len() <= MAX_LEN {
                let again = Status::from_cbor(&written).expect("what was written parses");
                let of = |status: &Status| (status.version, status.status, status.reason.clone());
                assert_eq!(of(&again), of(&status));
            }
            let json = status.to_json();
            if json.len() <= MAX_LEN {
                assert_eq!(Status::from_json(&json).expect("what was written parses").reason, status.reason);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// All readers refuse the same as malformed. What is verified without the certificates that came along is verified with them; and
/// what a registrar forwards is the same.
fn signed(encoded: &[u8]) {
    let provider = provider::accepting();
    let signers = [CertificateDer::from(SERVER)];
    let of_anyone = Signed::verify(&provider, encoded, &signers);
    let of_signers = Signed::verify_by(&provider, encoded, &signers);
    let stripped = without_certificates(encoded);
    assert_eq!(malformed(&of_anyone), malformed(&of_signers));
    assert_eq!(malformed(&of_anyone), stripped.as_ref().err());
    if let Ok(signed) = of_signers {
        assert_eq!(signed.chain, signers);
        let stripped = stripped.as_ref().expect("it parses");
        let again = Signed::verify_by(&provider, stripped, &signers).expect("its signature is the same");
        assert_eq!(signed.content, again.content);
        assert_eq!(without_certificates(stripped).as_ref(), Ok(stripped));
        assert_eq!(of_anyone.as_ref().expect("it has a signer").content, signed.content);
    }
    match of_anyone {
        Ok(signed) => {
            assert!((1..=17).contains(&signed.chain.len()), "the signer's, and 16 at most that came along");
            voucher(&signed.content);
            request(&signed.content);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Returns why the structure does not parse. The certificate of the one signer does.
fn malformed(verified: &Result<Signed, SignatureRefused>) -> Option<&Malformed> {
    match verified {
        Err(SignatureRefused::Malformed(malformed)) => Some(malformed),
        _ => None,
    }
}

/// Any content can be signed, and is what its reader gets.
fn sign(content: &[u8]) {
    let provider = provider::accepting();
    let chain = [SERVER, INTERMEDIATE].map(CertificateDer::from);
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    for x5bag in [&chain[..0], &chain[..1], &chain] {
        let unsigned = Unsigned::new(content, &chain[0], x5bag, scheme).expect("the key of the leaf is on P-256");
        let encoded = unsigned.signed(ECDSA_SIGNATURE).expect("it is DER");
        if encoded.len() <= MAX_LEN {
            let signed = Signed::verify(&provider, &encoded, &chain[..1]).expect("what was signed is verified");
            assert_eq!(signed.content, content);
            assert_eq!(signed.chain, chain[..x5bag.len().max(1)]);
        }
    }
}
