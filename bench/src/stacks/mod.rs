//! Each stack that is measured has its file.

use crate::compile::Library;
use crate::stack::Stack;

mod c;
mod rustls;
pub(crate) mod terse;

/// Returns all stacks, ours first.
pub fn all() -> Vec<Box<dyn Stack>> {
    vec![
        Box::new(terse::AWS_LC),
        Box::new(terse::RUSTCRYPTO),
        #[cfg(terse_testing)]
        Box::new(terse::WITHOUT_ACKS),
        Box::new(rustls::Rustls::AwsLc),
        Box::new(rustls::Rustls::Ring),
        Box::new(c::Peer::new("openssl", Library::OpenSsl)),
        Box::new(c::Peer::new("wolfssl-asm", Library::WolfSslAsm)),
        Box::new(c::Peer::new("wolfssl-low", Library::WolfSslLow)),
        Box::new(c::Peer::new("mbedtls", Library::MbedTls)),
        Box::new(c::Peer::new("gnutls", Library::GnuTls)),
        Box::new(c::Peer::new("boringssl", Library::BoringSsl)),
    ]
}
