//! The object identifiers of signed data.

use der::asn1::ObjectIdentifier;

/// id-signedData (RFC 5652, 5.1).
pub(super) const SIGNED_DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.2");

/// id-data (RFC 5652, 4), which is the type of a voucher in PKCS #7 (RFC 8366, 5.4).
pub(super) const DATA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.7.1");

/// id-ct-animaJSONVoucher (RFC 8366, 8.4).
pub(super) const ANIMA_JSON_VOUCHER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.16.1.40");

/// id-contentType (RFC 5652, 11.1).
pub(super) const CONTENT_TYPE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.3");

/// id-messageDigest (RFC 5652, 11.2).
pub(super) const MESSAGE_DIGEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.4");

/// id-signingTime (RFC 5652, 11.3).
pub(super) const SIGNING_TIME: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.5");
