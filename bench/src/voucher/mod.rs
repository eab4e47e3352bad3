//! Signing a voucher request as CMS (RFC 8995, 5.2; RFC 8366, 5.4), with Terse and with other libraries: `terse-bench voucher`.
//!
//! All sign the same 783 bytes of JSON with the same key and certificates, which they get as DER, with ECDSA on P-256 and the
//! attributes contentType, messageDigest and signingTime. What must always hold: what was signed counts only after
//! [`Pledge::check`] has verified it.

use std::time::{SystemTime, UNIX_EPOCH};

use pki_types::UnixTime;

mod child;
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

/// An implementation of CMS.
pub trait Signer {
    /// Returns the name in tables and on the command line.
    fn name(&self) -> &'static str;
    /// Loads the library, and returns its version, or the reason why it is not there.
    fn version(&self) -> Result<String, String>;
    /// Parses the key and the certificates.
    fn load<'a>(&self, pledge: &'a Pledge) -> Result<Box<dyn Loaded + 'a>, String>;
}

/// A key and certificates that an implementation has parsed.
pub trait Loaded {
    /// Signs `content`, and gives the ContentInfo to `take` before it is freed.
    fn sign(&self, content: &[u8], take: &mut dyn FnMut(&[u8])) -> Result<(), String>;
}

/// Returns all signers, in the order of columns.
pub fn signers() -> Vec<Box<dyn Signer>> {
    vec![
        Box::new(terse::AWS_LC),
        Box::new(terse::RUSTCRYPTO),
        Box::new(peer::Peer::new("openssl", Library::OpenSsl)),
        Box::new(peer::Peer::new("wolfssl-asm", Library::WolfSslAsm)),
        Box::new(peer::Peer::new("wolfssl-low", Library::WolfSslLow)),
    ]
}

/// Returns the signed voucher request of `pledge`, which was verified.
pub fn sign(signer: &dyn Signer, pledge: &Pledge) -> Result<Vec<u8>, String> {
    let mut signed = Vec::new();
    signer.load(pledge)?.sign(&pledge.content, &mut |bytes| signed.extend_from_slice(bytes))?;
    pledge.check(&signed)?;
    Ok(signed)
}

/// Returns the time by the machine's clock.
fn now() -> UnixTime {
    UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
