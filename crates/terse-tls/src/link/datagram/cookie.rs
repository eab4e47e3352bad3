//! Cookies: whether a client receives what is sent to its address, before anything is kept of it (RFC 6347, 4.2.1).
//!
//! ```text
//! HMAC(secret, Hash(length || address || length || part of the ClientHello || ...))[..8]
//! ```
//!
//! Lengths have 8 bytes, so that no part can pass for a piece of another one.
//!
//! 8 bytes, since each is sent twice in every handshake, and nothing rests on a cookie but the address: whoever guesses
//! one, at one chance in 2^63 for each datagram that the server answers, has one flight sent to somebody else, or one
//! handshake begun that still needs every signature. Those who send from their own address need not guess.
//!
//! What must always hold: a cookie is good for the address and the ClientHello that it was made for, for a minute at
//! least and less than two; and the time that verifying takes says nothing of the bytes that would be right.

use core::iter::once;

use subtle::{Choice, ConstantTimeEq};

use crate::crypto::{CryptoError, Digest, Hash, Rng, Secret};
use crate::time::Instant;

#[cfg(test)]
mod tests;

/// Length of a cookie.
pub(crate) const COOKIE_LEN: usize = 8;

/// What cookies are made with: nothing is kept for a client.
#[derive(Debug)]
pub(crate) struct CookieSecrets {
    /// Makes cookies.
    current: Secret,
    /// Made them in the period before, and verifies them still.
    previous: Secret,
    /// When the current period began; none before the first use.
    since: Option<Instant>,
}

impl CookieSecrets {
    pub(crate) fn new(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        Ok(Self { current: draw(rng)?, previous: draw(rng)?, since: None })
    }

    /// The cookie for the client at `address`, in whatever form, and the parts of its ClientHello that must stay the
    /// same when it sends it again with the cookie.
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

    /// Whether [`Self::make`] made `cookie` for the same address and ClientHello, in this period or the one before.
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

    /// Periods follow each other without a gap, whether or not anybody calls, so that no cookie is good for longer.
    fn rotate(&mut self, now: Instant, rng: &mut dyn Rng) -> Result<(), CryptoError> {
        let since = *self.since.get_or_insert(now);
        let periods = now.since(since) / PERIOD;
        if periods == 0 {
            return Ok(());
        }
        // Both are drawn before either is replaced: if that fails, the next call tries again.
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

/// What a cookie is for.
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

/// How long a secret makes cookies, in milliseconds: a client on a slow network has that long, at least, to answer.
const PERIOD: u64 = 60_000;

/// As long as the output of SHA-256 (RFC 2104, 3).
const SECRET_LEN: usize = 32;
