//! Who the two sides are: static keys, and the credentials around them.

use core::fmt;

use lakers::{BytesP256ElemLen, Credential, CredentialTransfer, MAX_BUFFER_LEN};
use p256::elliptic_curve::point::DecompressPoint;
use p256::elliptic_curve::sec1::ToEncodedPoint;
use p256::elliptic_curve::subtle::Choice;
use p256::{AffinePoint, SecretKey};
use rand_core_06::{CryptoRng, Error, RngCore};
use terse_tls::crypto::Rng as _;

use crate::Random;

/// How a side sends its credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// As a `kid`, which the other side knows (RFC 9528, 3.5.3).
    Reference,
    /// As it is.
    Value,
}

/// A static key and its credential: a CWT Claims Set with a COSE_Key, as in the traces of RFC 9529.
#[derive(Clone)]
pub struct Identity {
    pub(super) private_key: BytesP256ElemLen,
    pub(super) credential: Credential,
}

/// A credential would be longer than lakers takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// The secret that an exchange ends with, for OSCORE (RFC 8613, 3.2; RFC 9528, A.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OscoreSecret {
    /// OSCORE Master Secret.
    pub master_secret: [u8; 16],
    /// OSCORE Master Salt.
    pub master_salt: [u8; 8],
}

impl Identity {
    /// Makes a key, and a credential with this subject and `kid`.
    pub fn generate(subject: &str, kid: &[u8], random: Random) -> Result<Self, TooLong> {
        let key = SecretKey::random(&mut Entropy(random));
        let point = key.public_key().to_encoded_point(false);
        // An uncompressed point has both coordinates.
        let (Some(x), Some(y)) = (point.x(), point.y()) else { return Err(TooLong) };
        let (subject, kid) = (head(TEXT, subject.as_bytes())?, head(BYTES, kid)?);
        // { 2 (sub): subject, 8 (cnf): { 1 (COSE_Key): { kty: EC2, kid: kid, crv: P-256, x: x, y: y } } }
        let mut claims = vec![0xA2, 0x02];
        claims.extend(subject);
        claims.extend([0x08, 0xA1, 0x01, 0xA5, 0x01, 0x02, 0x02]);
        claims.extend(kid);
        claims.extend([0x20, 0x01, 0x21]);
        claims.extend([&[0x58, 0x20], &x[..]].concat());
        claims.push(0x22);
        claims.extend([&[0x58, 0x20], &y[..]].concat());
        let credential = Credential::parse_ccs(&claims).map_err(|_| TooLong)?;
        // lakers derives MACs from the credential and its identifier together, which must fit as well.
        if claims.len() > LONGEST {
            return Err(TooLong);
        }
        Ok(Self { private_key: key.to_bytes().into(), credential })
    }

    /// Returns the bytes of the credential.
    pub fn credential(&self) -> &[u8] {
        self.credential.bytes.as_slice()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("credential", &self.credential()).finish_non_exhaustive()
    }
}

impl fmt::Debug for OscoreSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OscoreSecret").finish_non_exhaustive()
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a subject or kid has at most 23 bytes, and a credential at most {LONGEST}")
    }
}

impl core::error::Error for TooLong {}

impl From<Transfer> for CredentialTransfer {
    fn from(transfer: Transfer) -> Self {
        match transfer {
            Transfer::Reference => Self::ByReference,
            Transfer::Value => Self::ByValue,
        }
    }
}

impl OscoreSecret {
    /// Derives the secret with an EDHOC_Exporter, which gets a label and a length (RFC 9528, A.1).
    pub(super) fn export(mut exporter: impl FnMut(u8, usize) -> [u8; MAX_BUFFER_LEN]) -> Self {
        let (secret, salt) = (exporter(0, 16), exporter(1, 8));
        let (mut master_secret, mut master_salt) = ([0; 16], [0; 8]);
        master_secret.copy_from_slice(&secret[..16]);
        master_salt.copy_from_slice(&salt[..8]);
        Self { master_secret, master_salt }
    }
}

/// A stream of random numbers, as lakers wants it.
pub(super) struct Entropy(Random);

impl Entropy {
    /// Returns a stream of its own that follows from the next numbers of `random`.
    pub(super) fn from(random: &mut Random) -> Self {
        let (low, high) = (random.next_u32(), random.next_u32());
        Self(Random::new(u64::from(low) | u64::from(high) << 32, 0))
    }
}

impl RngCore for Entropy {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        u64::from(self.0.next_u32()) | u64::from(self.0.next_u32()) << 32
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        // A simulated stream does not run dry.
        let _: Result<(), _> = self.0.fill(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

/// As far as a simulation is concerned.
impl CryptoRng for Entropy {}

/// Whether this is the x coordinate of a point. lakers does not check what a peer sends.
pub(super) fn is_on_curve(x: &[u8]) -> bool {
    let Ok(x) = <[u8; 32]>::try_from(x) else { return false };
    AffinePoint::decompress(&x.into(), Choice::from(1)).is_some().into()
}

/// Returns a string of CBOR of this major type, whose length stands in its first byte.
fn head(major_type: u8, content: &[u8]) -> Result<Vec<u8>, TooLong> {
    let len = u8::try_from(content.len()).ok().filter(|len| *len < 24).ok_or(TooLong)?;
    Ok([&[major_type | len], content].concat())
}

const BYTES: u8 = 0x40;
const TEXT: u8 = 0x60;
/// The length of the longest credential in RFC 9529: with its identifier of 2 more bytes, a hash of 34 and a connection
/// identifier of 8 it still fits into the 256 bytes that lakers has for the context of a key derivation.
const LONGEST: usize = 107;
