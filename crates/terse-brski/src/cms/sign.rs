//! The signature is made (RFC 5652, 5.4 and 5.5).
//!
//! What must always hold: what is written is DER (RFC 8366, 5.4), in which the elements of a SET OF are in order; it is
//! written into one buffer, which has room for all of it and, unless a signature is shorter than it may be, no more.

use alloc::vec::Vec;

use der::Encode as _;
use der::asn1::{GeneralizedTime, ObjectIdentifier, UtcTime};
use pki_types::{CertificateDer, UnixTime};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng, Signing, SigningKey};

use super::algorithm::SigningAlgorithm;
use super::{MAX_CERTIFICATES, Unsigned, oid};
use crate::asn1::{CONTEXT_0, OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, SET, encode, encode_header, encoded_len};
use crate::certificate::{Fields, algorithm_and_key_of};
use crate::{Malformed, SignatureRefused};

/// Signs with a key that answers at once, and returns the DER of the ContentInfo. The arguments are those of
/// [`Unsigned::new`].
///
/// This takes less memory than [`Unsigned`], because the key has signed before there is room for the result. A key that
/// answers later has failed ([`CryptoError::SigningFailed`]).
pub fn sign(
    provider: &CryptoProvider,
    content: &[u8],
    chain: &[CertificateDer<'_>],
    time: Option<UnixTime>,
    key: &dyn SigningKey,
    scheme: SignatureScheme,
    rng: &mut dyn Rng,
) -> Result<Vec<u8>, SignatureRefused> {
    let parts = Parts::new(provider, oid::ANIMA_JSON_VOUCHER, content, chain, scheme, time)?;
    let signature = signature_of(key, scheme, &parts.message, rng)?;
    Ok(parts.write().signed(&signature))
}

impl Unsigned {
    /// Prepares the signature of `content` by the key of `chain`'s leaf, under `scheme`: ECDSA on P-256 or P-384, RSA
    /// with PKCS #1 v1.5, or Ed25519 (RFC 8419). All of `chain` goes into the structure, at most 16 certificates. Without a
    /// clock there is no signingTime.
    ///
    /// The eContentType is id-ct-animaJSONVoucher (RFC 8366, 5.4).
    pub fn new(
        provider: &CryptoProvider,
        content: &[u8],
        chain: &[CertificateDer<'_>],
        scheme: SignatureScheme,
        time: Option<UnixTime>,
    ) -> Result<Self, SignatureRefused> {
        Parts::new(provider, oid::ANIMA_JSON_VOUCHER, content, chain, scheme, time).map(Parts::write)
    }

    /// Prepares the signature of something that is no voucher, with the same arguments as [`Self::new`]. The eContentType is
    /// id-data.
    ///
    /// A pledge takes id-data for a voucher, too (RFC 8366, 5.4). So `content` must be nothing that parses as one.
    pub fn data(
        provider: &CryptoProvider,
        content: &[u8],
        chain: &[CertificateDer<'_>],
        scheme: SignatureScheme,
        time: Option<UnixTime>,
    ) -> Result<Self, SignatureRefused> {
        Parts::new(provider, oid::DATA, content, chain, scheme, time).map(Parts::write)
    }

    /// Returns the bytes that the key must sign, not their hash.
    pub fn message(&self) -> &[u8] {
        self.signed_data.get(self.message..).unwrap_or_default() // `new` has written it there
    }

    /// Returns the scheme that the key must sign with.
    pub const fn scheme(&self) -> SignatureScheme {
        self.algorithm.scheme
    }

    /// Returns the DER of the ContentInfo with this signature.
    pub fn signed(self, signature: &[u8]) -> Vec<u8> {
        let Self { mut signed_data, signer_info, message, algorithm } = self;
        // RFC 5652, 5.4: in the structure the SET that was signed has the tag [0].
        if let Some(tag) = signed_data.get_mut(message) {
            *tag = CONTEXT_0;
        }
        encode_header(SEQUENCE, algorithm.signature.len(), &mut signed_data);
        signed_data.extend_from_slice(&algorithm.signature);
        encode_header(OCTET_STRING, signature.len(), &mut signed_data);
        signed_data.extend_from_slice(signature);

        // The lengths that stand before all this are known only now.
        let mut headers = Vec::with_capacity(MAX_HEADERS_LEN);
        let signer_info_len = signed_data.len() - signer_info;
        encode_header(SET, encoded_len(signer_info_len), &mut headers);
        encode_header(SEQUENCE, signer_info_len, &mut headers);
        signed_data.splice(signer_info..signer_info, headers.drain(..));

        let content_type = oid::SIGNED_DATA.as_bytes();
        encode_header(SEQUENCE, content_info_len(signed_data.len()), &mut headers);
        encode_header(OBJECT_IDENTIFIER, content_type.len(), &mut headers);
        headers.extend_from_slice(content_type);
        encode_header(CONTEXT_0, encoded_len(signed_data.len()), &mut headers);
        encode_header(SEQUENCE, signed_data.len(), &mut headers);
        signed_data.splice(..0, headers);
        signed_data
    }

    /// Signs with a key that answers at once, and returns the DER of the ContentInfo. A key that answers later has failed
    /// ([`CryptoError::SigningFailed`]): it signs [`Self::message`], and [`Self::signed`] takes its signature.
    pub fn sign(self, key: &dyn SigningKey, rng: &mut dyn Rng) -> Result<Vec<u8>, SignatureRefused> {
        let signature = signature_of(key, self.scheme(), self.message(), rng)?;
        Ok(self.signed(&signature))
    }
}

fn signature_of(
    key: &dyn SigningKey,
    scheme: SignatureScheme,
    message: &[u8],
    rng: &mut dyn Rng,
) -> Result<Vec<u8>, SignatureRefused> {
    match key.sign(scheme, message, rng).map_err(SignatureRefused::Crypto)? {
        Signing::Done(signature) => Ok(signature),
        Signing::Pending => Err(SignatureRefused::Crypto(CryptoError::SigningFailed)),
    }
}

/// What the result is made of, where it is.
struct Parts<'a> {
    content_type: ObjectIdentifier,
    content: &'a [u8],
    /// The certificates in the order of a SET OF (X.690, 11.6).
    certificates: Vec<&'a [u8]>,
    /// The issuer and the serial number of the leaf.
    sid: [&'a [u8]; 2],
    /// The signed attributes, a SET OF.
    message: Vec<u8>,
    algorithm: &'static SigningAlgorithm,
}

impl<'a> Parts<'a> {
    fn new(
        provider: &CryptoProvider,
        content_type: ObjectIdentifier,
        content: &'a [u8],
        chain: &'a [CertificateDer<'_>],
        scheme: SignatureScheme,
        time: Option<UnixTime>,
    ) -> Result<Self, SignatureRefused> {
        let algorithm = SigningAlgorithm::of(scheme)?;
        let leaf = Fields::read(chain.first().ok_or(SignatureRefused::NoSigner)?)?;
        let (key_algorithm, _) = algorithm_and_key_of(leaf.public_key)?;
        if *key_algorithm != *algorithm.public_key {
            return Err(SignatureRefused::Algorithm);
        }
        if chain.len() > MAX_CERTIFICATES {
            return Err(Malformed::TooMany("certificates").into());
        }
        let digest = algorithm.digest.digest(provider, content)?;
        let message = signed_attrs(content_type, digest.as_ref(), time)?;
        let mut certificates: Vec<&[u8]> = chain.iter().map(AsRef::as_ref).collect();
        certificates.sort_unstable();
        let sid = [leaf.issuer.encoded, leaf.serial_number.encoded];
        Ok(Self { content_type, content, certificates, sid, message, algorithm })
    }

    /// Writes all but what depends on the signature, into a buffer that has room for the rest.
    fn write(self) -> Unsigned {
        let Self { content_type, content, certificates, sid, message, algorithm } = self;
        let version = if content_type == oid::DATA { VERSION_1 } else { VERSION_3 };
        let digest = algorithm.digest.identifier();
        let sid_len = sid.iter().map(|field| field.len()).sum();
        let certificates_len = certificates.iter().map(|certificate| certificate.len()).sum();
        let signer_info_len = VERSION_1.len()
            + encoded_len(sid_len)
            + digest.len()
            + message.len()
            + encoded_len(algorithm.signature.len())
            + encoded_len(algorithm.max_signature_len);
        let signed_data_len = version.len()
            + encoded_len(digest.len())
            + encoded_len(encoded_content_len(content_type, content.len()))
            + encoded_len(certificates_len)
            + encoded_len(encoded_len(signer_info_len));

        let mut signed_data = Vec::with_capacity(encoded_len(content_info_len(signed_data_len)));
        signed_data.extend_from_slice(version);
        encode_header(SET, digest.len(), &mut signed_data);
        signed_data.extend_from_slice(digest);
        encode_content(content_type, content, &mut signed_data);
        encode_header(CONTEXT_0, certificates_len, &mut signed_data);
        certificates.iter().for_each(|certificate| signed_data.extend_from_slice(certificate));

        let signer_info = signed_data.len();
        signed_data.extend_from_slice(VERSION_1);
        encode_header(SEQUENCE, sid_len, &mut signed_data);
        sid.iter().for_each(|field| signed_data.extend_from_slice(field));
        signed_data.extend_from_slice(digest);
        let start = signed_data.len();
        signed_data.extend_from_slice(&message);
        Unsigned { signed_data, signer_info, message: start, algorithm }
    }
}

/// Returns the length of what a ContentInfo contains, if its SignedData contains so much.
const fn content_info_len(signed_data_len: usize) -> usize {
    encoded_len(oid::SIGNED_DATA.as_bytes().len()) + encoded_len(encoded_len(signed_data_len))
}

/// Returns the length of what an EncapsulatedContentInfo contains, if its content has so many bytes.
const fn encoded_content_len(content_type: ObjectIdentifier, content_len: usize) -> usize {
    encoded_len(content_type.as_bytes().len()) + encoded_len(encoded_len(content_len))
}

/// Appends an EncapsulatedContentInfo.
fn encode_content(content_type: ObjectIdentifier, content: &[u8], out: &mut Vec<u8>) {
    encode_header(SEQUENCE, encoded_content_len(content_type, content.len()), out);
    let content_type = content_type.as_bytes();
    encode_header(OBJECT_IDENTIFIER, content_type.len(), out);
    out.extend_from_slice(content_type);
    encode_header(CONTEXT_0, encoded_len(content.len()), out);
    encode_header(OCTET_STRING, content.len(), out);
    out.extend_from_slice(content);
}

/// Returns the signed attributes as they are signed: a SET OF. They are in order (X.690, 11.6), since an attribute begins
/// with its length, and a digest is longer than a time, which is longer than an object identifier of 11 bytes or less.
fn signed_attrs(
    content_type: ObjectIdentifier,
    digest: &[u8],
    time: Option<UnixTime>,
) -> Result<Vec<u8>, SignatureRefused> {
    let content_type = encode(OBJECT_IDENTIFIER, &[content_type.as_bytes()]);
    let content_type = attribute(oid::CONTENT_TYPE, &content_type);
    let signing_time = match time {
        Some(time) => attribute(oid::SIGNING_TIME, &encode_time(time)?),
        None => Vec::new(),
    };
    let message_digest = attribute(oid::MESSAGE_DIGEST, &encode(OCTET_STRING, &[digest]));
    Ok(encode(SET, &[&content_type, &signing_time, &message_digest]))
}

/// Returns an Attribute with one value.
fn attribute(attr_type: ObjectIdentifier, value: &[u8]) -> Vec<u8> {
    encode(SEQUENCE, &[&encode(OBJECT_IDENTIFIER, &[attr_type.as_bytes()]), &encode(SET, &[value])])
}

/// Returns a UTCTime through the year 2049, and a GeneralizedTime after it (RFC 5652, 11.3), which ends in 9999.
fn encode_time(time: UnixTime) -> Result<Vec<u8>, SignatureRefused> {
    let time = core::time::Duration::from_secs(time.as_secs());
    UtcTime::from_unix_duration(time)
        .and_then(|time| time.to_der())
        .or_else(|_| GeneralizedTime::from_unix_duration(time)?.to_der())
        .map_err(|_| Malformed::Invalid("signingTime").into())
}

/// CMSVersion 1, that of a SignerInfo with an issuerAndSerialNumber.
const VERSION_1: &[u8] = &[2, 1, 1];

/// CMSVersion 3, that of a SignedData whose content is not id-data. Else it is 1.
const VERSION_3: &[u8] = &[2, 1, 3];

/// The headers of ContentInfo, `[0]` and SignedData, and the object identifier, if no length has more than 4 octets.
const MAX_HEADERS_LEN: usize = 3 * 6 + 11;
