//! The fuzz target `artefacts` takes any bytes for what pledge, registrar and MASA send to each other: vouchers, voucher
//! requests, in JSON and in CBOR, their CMS and their COSE, and status messages. Signatures are accepted unless they end in a
//! zero, and so is the digest of changed content, so that a changed artefact is still authentic.
//!
//! The first byte chooses what the rest is.

use pki_types::{CertificateDer, UnixTime};
use terse_brski::cms::{Signed, Unsigned};
use terse_brski::voucher::{MAX_LEN, Voucher, VoucherRequest};
use terse_tls::SignatureScheme;

use crate::pki::{INTERMEDIATE, SERVER};
use crate::provider::{self, SIGNATURE};

mod cbor;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    if what & CBOR != 0 {
        return cbor::run(*what, bytes);
    }
    match what % 4 {
        0 => voucher(bytes),
        1 => request(bytes),
        2 => signed(bytes),
        _ => sign(bytes, what & 0x10 != 0),
    }
}

/// The bit of the first byte that chooses CBOR and COSE, in place of JSON and CMS.
pub const CBOR: u8 = 0x08;

/// A voucher that parses can be written, and parses as the same.
fn voucher(json: &[u8]) {
    match Voucher::from_json(json) {
        Ok(voucher) => assert_eq!(Voucher::from_json(&voucher.to_json()).expect("what was written parses"), voucher),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A request that parses can be written, and parses as the same.
fn request(json: &[u8]) {
    match VoucherRequest::from_json(json) {
        Ok(request) => {
            assert_eq!(VoucherRequest::from_json(&request.to_json()).expect("what was written parses"), request);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// What strict readers accept, readers of BER accept as the same.
fn signed(encoded: &[u8]) {
    let provider = provider::accepting();
    let signers = [CertificateDer::from(SERVER)];
    let of_services = Signed::verify_ber(&provider, encoded, &signers);
    if let Ok(signed) = Signed::verify(&provider, encoded, &signers) {
        let again = of_services.as_ref().expect("DER is BER");
        assert_eq!(signed.content, again.content);
        assert_eq!(signed.chain, again.chain);
        assert_eq!(signed.signing_time, again.signing_time);
    }
    match of_services {
        Ok(signed) => {
            assert!((1..=17).contains(&signed.chain.len()), "the signer's, and 16 at most that came along");
            voucher(&signed.content);
            request(&signed.content);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any content can be signed, and is what its reader gets.
fn sign(content: &[u8], has_clock: bool) {
    let provider = provider::accepting();
    let chain = [SERVER, INTERMEDIATE].map(CertificateDer::from);
    let time = content.iter().fold(0, |time: u64, byte| time << 5 ^ u64::from(*byte)) % 253_402_300_800;
    let time = has_clock.then(|| UnixTime::since_unix_epoch(core::time::Duration::from_secs(time)));
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(&provider, content, &chain, scheme, time).expect("the key of the leaf is on P-256");
    let encoded = unsigned.signed(SIGNATURE);
    if encoded.len() <= MAX_LEN {
        let signed = Signed::verify(&provider, &encoded, &[]).expect("what was signed is verified");
        assert_eq!((&signed.content[..], signed.signing_time), (content, time));
        assert_eq!(signed.chain, chain);
    }
}
