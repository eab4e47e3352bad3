//! Signing a voucher request as CMS (RFC 8995, 5.2; RFC 8366, 5.4), with Terse and with other libraries, and as COSE
//! (draft-ietf-anima-constrained-voucher-31) with Terse: `terse-bench voucher`.
//!
//! All have the same key and certificates, as DER, and sign with ECDSA on P-256. As CMS they sign the same 783 bytes of JSON, with
//! the attributes contentType, messageDigest and signingTime. As COSE the same voucher request is encoded in CBOR, which is
//! measured too. What must always hold: what was signed counts only after [`Signer::check`] has verified it.

use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::UnixTime;

mod child;
mod cose;
mod library;
mod peer;
mod pledge;
mod program;
mod terse;
mod time;

pub use child::{Once, Phase, Report, count, once};
pub use library::{LibrarySize, libraries};
pub use pledge::{CONTENT_LEN, Pledge};
pub use program::{Program, programs};
pub use time::{Processes, Times, warm};

use crate::compile::Library;

/// How a voucher request is encoded and signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON in CMS.
    Cms,
    /// CBOR in COSE.
    Cose,
}

/// An implementation of CMS or of COSE.
pub trait Signer {
    /// Returns the name in tables and on the command line.
    fn name(&self) -> &'static str;
    /// Returns what it signs as.
    fn form(&self) -> Form {
        Form::Cms
    }
    /// Loads the library, and returns its version, or the reason why it is not there.
    fn version(&self) -> Result<String, String>;
    /// Parses the key and the certificates.
    fn load<'a>(&self, pledge: &'a Pledge) -> Result<Box<dyn Loaded + 'a>, String>;
    /// Verifies that `signed` is the voucher request of `pledge`, signed by its key.
    fn check(&self, pledge: &Pledge, signed: &[u8]) -> Result<(), String> {
        pledge.check(signed)
    }
}

/// A key and certificates that an implementation has parsed.
pub trait Loaded {
    /// Signs the voucher request of `pledge`, and gives the ContentInfo or the COSE_Sign1 to `take` before it is freed.
    fn sign(&self, pledge: &Pledge, take: &mut dyn FnMut(&[u8])) -> Result<(), String>;
}

/// Returns all signers, in the order of columns.
pub fn signers() -> Vec<Box<dyn Signer>> {
    vec![
        Box::new(terse::AWS_LC),
        Box::new(terse::RUSTCRYPTO),
        Box::new(peer::Peer::new("openssl", Library::OpenSsl)),
        Box::new(peer::Peer::new("wolfssl-asm", Library::WolfSslAsm)),
        Box::new(peer::Peer::new("wolfssl-low", Library::WolfSslLow)),
        Box::new(cose::AWS_LC),
        Box::new(cose::AWS_LC_CERTIFICATE),
        Box::new(cose::RUSTCRYPTO),
        Box::new(cose::RUSTCRYPTO_CERTIFICATE),
    ]
}

/// Returns the signed voucher request of `pledge`, which was verified.
pub fn sign(signer: &dyn Signer, pledge: &Pledge) -> Result<Vec<u8>, String> {
    let mut signed = Vec::new();
    signer.load(pledge)?.sign(pledge, &mut |bytes| signed.extend_from_slice(bytes))?;
    signer.check(pledge, &signed)?;
    Ok(signed)
}

/// Returns the time by the machine's clock.
fn now() -> UnixTime {
    UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
