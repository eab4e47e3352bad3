//! Numbers of content formats (RFC 7252, 12.3), as far as onboarding uses them.

/// `text/plain; charset=utf-8` (RFC 7252, 12.3).
pub const TEXT_PLAIN: u16 = 0;

/// `application/link-format` (RFC 6690, 7.4; RFC 7252, 12.3): discovery.
pub const LINK_FORMAT: u16 = 40;

/// `application/json` (RFC 7252, 12.3): telemetry.
pub const JSON: u16 = 50;

/// `application/cbor` (RFC 8949, 9.4): telemetry.
pub const CBOR: u16 = 60;

/// `application/multipart-core` (RFC 8710, 4.2): CA certificates, each by itself.
pub const MULTIPART_CORE: u16 = 62;

/// `application/pkcs7-mime; smime-type=certs-only` (RFC 9148, 4.3).
pub const PKCS7_CERTS_ONLY: u16 = 281;

/// `application/csrattrs` (RFC 9148, 8.1).
pub const CSRATTRS: u16 = 285;

/// `application/pkcs10` (RFC 9148, 8.1).
pub const PKCS10: u16 = 286;

/// `application/pkix-cert` (RFC 9148, 8.1).
pub const PKIX_CERT: u16 = 287;

/// `application/voucher+cose` (draft-ietf-anima-rfc8366bis; registered by draft-ietf-anima-constrained-voucher).
pub const VOUCHER_COSE: u16 = 836;

/// The file of an identity key, of this project alone: a number for experiments (RFC 7252, 12.3).
pub const IDENTITY_KEY: u16 = 65_001;
