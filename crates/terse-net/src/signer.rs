//! A signer has private keys outside of the program, such as in a secure element, and is asked on blocking transports.

use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Connection, Error, SignatureRequest};

use crate::Clock;

/// A function that signs with a private key elsewhere, and may take its time: a secure element, a key server.
pub type Signer = Box<dyn FnMut(&SignatureRequest) -> Result<Vec<u8>, CryptoError> + Send>;

/// Answers the connection's request. Without a signer the handshake fails.
pub(crate) fn sign(
    signer: &mut Option<Signer>,
    connection: &mut Connection,
    clock: Clock,
    rng: &mut dyn Rng,
) -> Result<(), Error> {
    let signature = match (connection.signature_request(), signer) {
        (Some(request), Some(signer)) => signer(request),
        _ => Err(CryptoError::SigningFailed),
    };
    // The clock is read anew, as the signer may have taken its time.
    connection.provide_signature(clock.now(), rng, signature.as_deref().map_err(|error| *error))
}
