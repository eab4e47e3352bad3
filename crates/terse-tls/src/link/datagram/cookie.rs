//! Cookies prove that a client can receive at its address before the server keeps any state for it (RFC 6347, 4.2.1).
//!
//! ```text
//! HMAC(secret, Hash(length || address || length || part of the ClientHello || ...))[..8]
//! ```
//!
//! Lengths have 8 bytes, so that the parts are unambiguous.
//!
//! A cookie has 8 bytes, since it is sent twice in every handshake, and proves only the address. A guess succeeds with
//! a probability of 2^-63, as two secrets are accepted. It makes the server send one flight to a victim's address, or
//! begin one handshake, which still needs every signature. A client at its own address need not guess.
//!
//! What must always hold: a cookie is valid only for the address and the ClientHello that it was made for, for at least
//! one minute and less than two; cookies are compared in constant time.

use core::iter::once;

use subtle::{Choice, ConstantTimeEq};

use crate::crypto::{CryptoError, Digest, Hash, Rng, Secret};
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// The length of a cookie in bytes.
pub(crate) const COOKIE_LEN: usize = 8;

/// The secrets that cookies are made with. Nothing is kept for a client.
#[derive(Debug)]
pub(crate) struct CookieSecrets {
    /// The secret of new cookies.
    current: Secret,
    /// The secret of the previous period, whose cookies are still accepted.
    previous: Secret,
    /// When the current period began; `None` before the first use.
    since: Option<Instant>,
}

impl CookieSecrets {
    pub(crate) fn new(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        Ok(Self { current: draw(rng)?, previous: draw(rng)?, since: None })
    }

    /// Returns the cookie for the client at `address`, in any encoding, and for the parts of its ClientHello that must
    /// stay the same when the client repeats it with the cookie.
    pub(crate) fn make(
        &mut self,
        now: Instant,
        rng: &mut dyn Rng,
        hash: &dyn Hash,
        address: &[u8],
        hello: &[&[u8]],
    ) -> Result<[u8; COOKIE_LEN], CryptoError> {
        self.rotate(now, rng)?;
        cookie(hash, &self.current, &client(hash, address, hello))
    }

    /// Whether [`Self::make`] made `cookie` for this address and ClientHello, in the current or the previous period.
    pub(crate) fn verify(
        &mut self,
        now: Instant,
        rng: &mut dyn Rng,
        hash: &dyn Hash,
        address: &[u8],
        hello: &[&[u8]],
        cookie: &[u8],
    ) -> Result<bool, CryptoError> {
        self.rotate(now, rng)?;
        let client = client(hash, address, hello);
        let mut good = Choice::from(0);
        for secret in [&self.current, &self.previous] {
            good |= self::cookie(hash, secret, &client)?.as_slice().ct_eq(cookie);
        }
        Ok(good.into())
    }

    /// Replaces the secrets when a period has ended. Periods follow each other without a gap even if nobody calls, so
    /// that no cookie is valid for longer.
    fn rotate(&mut self, now: Instant, rng: &mut dyn Rng) -> Result<(), CryptoError> {
        let since = *self.since.get_or_insert(now);
        let periods = now.since(since) / PERIOD;
        if periods == 0 {
            return Ok(());
        }
        // Both secrets are drawn before either is replaced: if drawing fails, the next call tries again.
        let next = draw(rng)?;
        let previous = if periods == 1 { self.current.clone() } else { draw(rng)? };
        (self.current, self.previous) = (next, previous);
        self.since = Some(Instant(since.0 + periods * PERIOD)); // not after now
        Ok(())
    }
}

fn draw(rng: &mut dyn Rng) -> Result<Secret, CryptoError> {
    let mut secret = Secret::zero(SECRET_LEN);
    rng.fill(secret.as_mut())?;
    Ok(secret)
}

/// Returns the hash of the address and the ClientHello that a cookie is bound to.
fn client(hash: &dyn Hash, address: &[u8], hello: &[&[u8]]) -> Digest {
    let mut context = hash.start();
    for part in once(&address).chain(hello) {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish()
}

fn cookie(hash: &dyn Hash, secret: &Secret, client: &Digest) -> Result<[u8; COOKIE_LEN], CryptoError> {
    let hmac = hash.hmac(secret.as_ref(), &[client.as_ref()]);
    hmac.as_ref().first_chunk().copied().ok_or(CryptoError::InvalidLength)
}

/// How long a secret makes new cookies, in milliseconds. A client on a slow network has at least that long to answer.
const PERIOD: u64 = 60_000;

/// The length of a secret: as long as the output of SHA-256 (RFC 2104, 3).
const SECRET_LEN: usize = 32;
