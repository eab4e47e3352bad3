//! Code points of the TLS registries: newtypes over integers, so that an unknown value survives.
//!
//! Names are the registry's. `NAME.name()` and `Type::from_name` convert to and from the registry's spelling. Unknown
//! values print as numbers, in decimal or hexadecimal as in the registry.

use core::fmt;

use super::InvalidMessage;
use super::codec::{Encode, Parse, Reader, Writer};

macro_rules! code_points {
    ($(#[$meta:meta])* $type:ident($int:ty, $unknown:literal) { $($(#[$doc:meta])* $name:ident = $value:literal $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(pub $int);

        #[allow(missing_docs)] // the registry's own names
        impl $type {
            $($(#[$doc])* pub const $name: Self = Self($value);)*

            /// Returns the registry's name, if the value is known here.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }

            /// Returns the value with the registry's name `name`.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self($value)),)*
                    _ => None,
                }
            }
        }

        /// Prints for users: the registry's name, or the number of an unknown value in the registry's format.
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!("unknown (", $unknown, ")"), self.0),
                }
            }
        }

        /// Prints for programmers.
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, concat!(stringify!($type), "({:#x})"), self.0),
                }
            }
        }
    };
}

code_points! {
    /// `ProtocolVersion` (RFC 9846, 4.3.1).
    ProtocolVersion(u16, "{:#06x}") {
        TLS_1_2 = 0x0303 "TLS 1.2",
        TLS_1_3 = 0x0304 "TLS 1.3",
    }
}

code_points! {
    /// `ContentType` of a record (RFC 9846, 5.1).
    ContentType(u8, "{}") {
        CHANGE_CIPHER_SPEC = 20 "change_cipher_spec",
        ALERT = 21 "alert",
        HANDSHAKE = 22 "handshake",
        APPLICATION_DATA = 23 "application_data",
        /// RFC 9146, 4
        TLS12_CID = 25 "tls12_cid",
        /// RFC 9147, 7
        ACK = 26 "ACK",
        /// RFC 9853, 4
        RETURN_ROUTABILITY_CHECK = 27 "return_routability_check",
    }
}

code_points! {
    /// `HandshakeType` (RFC 9846, 4; RFC 5246, 7.4).
    HandshakeType(u8, "{}") {
        HELLO_REQUEST = 0 "HelloRequest",
        CLIENT_HELLO = 1 "ClientHello",
        SERVER_HELLO = 2 "ServerHello",
        /// RFC 6347, 4.3.2
        HELLO_VERIFY_REQUEST = 3 "HelloVerifyRequest",
        NEW_SESSION_TICKET = 4 "NewSessionTicket",
        END_OF_EARLY_DATA = 5 "EndOfEarlyData",
        ENCRYPTED_EXTENSIONS = 8 "EncryptedExtensions",
        /// RFC 9147, 9
        REQUEST_CONNECTION_ID = 9 "RequestConnectionId",
        /// RFC 9147, 9
        NEW_CONNECTION_ID = 10 "NewConnectionId",
        CERTIFICATE = 11 "Certificate",
        SERVER_KEY_EXCHANGE = 12 "ServerKeyExchange",
        CERTIFICATE_REQUEST = 13 "CertificateRequest",
        SERVER_HELLO_DONE = 14 "ServerHelloDone",
        CERTIFICATE_VERIFY = 15 "CertificateVerify",
        CLIENT_KEY_EXCHANGE = 16 "ClientKeyExchange",
        FINISHED = 20 "Finished",
        CERTIFICATE_URL = 21 "CertificateURL",
        /// RFC 6066, 8
        CERTIFICATE_STATUS = 22 "CertificateStatus",
        SUPPLEMENTAL_DATA = 23 "SupplementalData",
        KEY_UPDATE = 24 "KeyUpdate",
        COMPRESSED_CERTIFICATE = 25 "CompressedCertificate",
        MESSAGE_HASH = 254 "message_hash",
    }
}

code_points! {
    /// `CipherSuite` (RFC 9846, B.4, and for TLS 1.2 the suites' own documents).
    CipherSuite(u16, "{:#06x}") {
        TLS_AES_128_GCM_SHA256 = 0x1301 "TLS_AES_128_GCM_SHA256",
        TLS_AES_256_GCM_SHA384 = 0x1302 "TLS_AES_256_GCM_SHA384",
        TLS_CHACHA20_POLY1305_SHA256 = 0x1303 "TLS_CHACHA20_POLY1305_SHA256",
        TLS_AES_128_CCM_SHA256 = 0x1304 "TLS_AES_128_CCM_SHA256",
        TLS_AES_128_CCM_8_SHA256 = 0x1305 "TLS_AES_128_CCM_8_SHA256",
        /// RFC 5746, 3.3: not a cipher suite, but the indication of secure renegotiation.
        TLS_EMPTY_RENEGOTIATION_INFO_SCSV = 0x00ff "TLS_EMPTY_RENEGOTIATION_INFO_SCSV",
        /// RFC 7507: not a cipher suite, but the indication that the client fell back to an older version.
        TLS_FALLBACK_SCSV = 0x5600 "TLS_FALLBACK_SCSV",
        TLS_PSK_WITH_AES_128_CCM_8 = 0xc0a8 "TLS_PSK_WITH_AES_128_CCM_8",
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = 0xc02b "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = 0xc02c "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 = 0xc02f "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 = 0xc030 "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        TLS_ECDHE_ECDSA_WITH_AES_128_CCM = 0xc0ac "TLS_ECDHE_ECDSA_WITH_AES_128_CCM",
        TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8 = 0xc0ae "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8",
        TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca8 "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca9 "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256 = 0xd003 "TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256",
    }
}

code_points! {
    /// `NamedGroup` (RFC 9846, 4.3.7).
    NamedGroup(u16, "{:#06x}") {
        SECP256R1 = 0x0017 "secp256r1",
        SECP384R1 = 0x0018 "secp384r1",
        X25519 = 0x001d "x25519",
        X25519MLKEM768 = 0x11ec "X25519MLKEM768",
    }
}

code_points! {
    /// `SignatureScheme` (RFC 9846, 4.3.3).
    SignatureScheme(u16, "{:#06x}") {
        RSA_PKCS1_SHA256 = 0x0401 "rsa_pkcs1_sha256",
        RSA_PKCS1_SHA384 = 0x0501 "rsa_pkcs1_sha384",
        RSA_PKCS1_SHA512 = 0x0601 "rsa_pkcs1_sha512",
        ECDSA_SECP256R1_SHA256 = 0x0403 "ecdsa_secp256r1_sha256",
        ECDSA_SECP384R1_SHA384 = 0x0503 "ecdsa_secp384r1_sha384",
        RSA_PSS_RSAE_SHA256 = 0x0804 "rsa_pss_rsae_sha256",
        RSA_PSS_RSAE_SHA384 = 0x0805 "rsa_pss_rsae_sha384",
        RSA_PSS_RSAE_SHA512 = 0x0806 "rsa_pss_rsae_sha512",
        ED25519 = 0x0807 "ed25519",
    }
}

impl ProtocolVersion {
    /// SSL 3.0, which is refused in any hello (RFC 9846, E.5).
    pub(crate) const SSL_3_0: Self = Self(0x0300);
}

impl NamedGroup {
    /// Whether the group is an elliptic curve, which TLS 1.2 supports (RFC 8422, 5.1.1), and not a hybrid group.
    pub const fn is_elliptic_curve(self) -> bool {
        matches!(self, Self::SECP256R1 | Self::SECP384R1 | Self::X25519)
    }
}

impl SignatureScheme {
    /// Whether the scheme signs with RSA keys, in either padding.
    pub const fn is_rsa(self) -> bool {
        matches!(
            self,
            Self::RSA_PKCS1_SHA256
                | Self::RSA_PKCS1_SHA384
                | Self::RSA_PKCS1_SHA512
                | Self::RSA_PSS_RSAE_SHA256
                | Self::RSA_PSS_RSAE_SHA384
                | Self::RSA_PSS_RSAE_SHA512
        )
    }

    /// Returns the curve of the scheme's keys, if `supported_groups` can name it for key exchange as well.
    pub(crate) const fn curve(self) -> Option<NamedGroup> {
        match self {
            Self::ECDSA_SECP256R1_SHA256 => Some(NamedGroup::SECP256R1),
            Self::ECDSA_SECP384R1_SHA384 => Some(NamedGroup::SECP384R1),
            _ => None,
        }
    }

    /// Returns the type of client certificates whose keys sign with this scheme in TLS 1.2 (RFC 5246, 7.4.4; RFC 8422,
    /// 5.5: EdDSA counts as ECDSA).
    pub(crate) const fn client_certificate_type(self) -> ClientCertificateType {
        if self.is_rsa() { ClientCertificateType::RSA_SIGN } else { ClientCertificateType::ECDSA_SIGN }
    }

    /// Whether TLS 1.3 allows the scheme in CertificateVerify, which excludes PKCS#1 and SHA-1 (RFC 9846, 4.5.2).
    pub const fn signs_tls13_handshakes(self) -> bool {
        matches!(
            self,
            Self::ECDSA_SECP256R1_SHA256
                | Self::ECDSA_SECP384R1_SHA384
                | Self::RSA_PSS_RSAE_SHA256
                | Self::RSA_PSS_RSAE_SHA384
                | Self::RSA_PSS_RSAE_SHA512
                | Self::ED25519
        )
    }
}

code_points! {
    /// `ExtensionType` (RFC 9846, 4.3, and the extensions' own documents). Some have only a name here; the known
    /// extensions are in the table of `wire/extensions.rs`.
    ExtensionType(u16, "{}") {
        SERVER_NAME = 0 "server_name",
        MAX_FRAGMENT_LENGTH = 1 "max_fragment_length",
        CLIENT_CERTIFICATE_URL = 2 "client_certificate_url",
        TRUSTED_CA_KEYS = 3 "trusted_ca_keys",
        TRUNCATED_HMAC = 4 "truncated_hmac",
        STATUS_REQUEST = 5 "status_request",
        SUPPORTED_GROUPS = 10 "supported_groups",
        EC_POINT_FORMATS = 11 "ec_point_formats",
        SIGNATURE_ALGORITHMS = 13 "signature_algorithms",
        USE_SRTP = 14 "use_srtp",
        HEARTBEAT = 15 "heartbeat",
        APPLICATION_LAYER_PROTOCOL_NEGOTIATION = 16 "application_layer_protocol_negotiation",
        STATUS_REQUEST_V2 = 17 "status_request_v2",
        SIGNED_CERTIFICATE_TIMESTAMP = 18 "signed_certificate_timestamp",
        CLIENT_CERTIFICATE_TYPE = 19 "client_certificate_type",
        SERVER_CERTIFICATE_TYPE = 20 "server_certificate_type",
        PADDING = 21 "padding",
        ENCRYPT_THEN_MAC = 22 "encrypt_then_mac",
        EXTENDED_MASTER_SECRET = 23 "extended_master_secret",
        CACHED_INFO = 25 "cached_info",
        COMPRESS_CERTIFICATE = 27 "compress_certificate",
        RECORD_SIZE_LIMIT = 28 "record_size_limit",
        DELEGATED_CREDENTIAL = 34 "delegated_credential",
        SESSION_TICKET = 35 "session_ticket",
        PRE_SHARED_KEY = 41 "pre_shared_key",
        EARLY_DATA = 42 "early_data",
        SUPPORTED_VERSIONS = 43 "supported_versions",
        COOKIE = 44 "cookie",
        PSK_KEY_EXCHANGE_MODES = 45 "psk_key_exchange_modes",
        CERTIFICATE_AUTHORITIES = 47 "certificate_authorities",
        OID_FILTERS = 48 "oid_filters",
        POST_HANDSHAKE_AUTH = 49 "post_handshake_auth",
        SIGNATURE_ALGORITHMS_CERT = 50 "signature_algorithms_cert",
        KEY_SHARE = 51 "key_share",
        CONNECTION_ID = 54 "connection_id",
        QUIC_TRANSPORT_PARAMETERS = 57 "quic_transport_parameters",
        TICKET_REQUEST = 58 "ticket_request",
        RRC = 61 "rrc",
        ENCRYPTED_CLIENT_HELLO = 0xfe0d "encrypted_client_hello",
        /// Private use: the client's half of handshake caching (BiTHaC, IV-B).
        CLIENT_CACHED_INFO = 0xff42 "client_cached_info",
        /// Private use: one ticket for all static messages that both sides have sent.
        COMPACT_CACHE = 0xff44 "compact_cache",
        /// Private use: identities and their ephemeral keys (docs/identity-format.md, 7).
        IDENTITY_SHARE = 0xff49 "identity_share",
        RENEGOTIATION_INFO = 0xff01 "renegotiation_info",
    }
}

code_points! {
    /// `AlertDescription` (RFC 9846, 6).
    AlertDescription(u8, "{}") {
        CLOSE_NOTIFY = 0 "close_notify",
        UNEXPECTED_MESSAGE = 10 "unexpected_message",
        BAD_RECORD_MAC = 20 "bad_record_mac",
        DECRYPTION_FAILED = 21 "decryption_failed",
        RECORD_OVERFLOW = 22 "record_overflow",
        DECOMPRESSION_FAILURE = 30 "decompression_failure",
        HANDSHAKE_FAILURE = 40 "handshake_failure",
        NO_CERTIFICATE = 41 "no_certificate",
        BAD_CERTIFICATE = 42 "bad_certificate",
        UNSUPPORTED_CERTIFICATE = 43 "unsupported_certificate",
        CERTIFICATE_REVOKED = 44 "certificate_revoked",
        CERTIFICATE_EXPIRED = 45 "certificate_expired",
        CERTIFICATE_UNKNOWN = 46 "certificate_unknown",
        ILLEGAL_PARAMETER = 47 "illegal_parameter",
        UNKNOWN_CA = 48 "unknown_ca",
        ACCESS_DENIED = 49 "access_denied",
        DECODE_ERROR = 50 "decode_error",
        DECRYPT_ERROR = 51 "decrypt_error",
        /// RFC 9147, 9
        TOO_MANY_CIDS_REQUESTED = 52 "too_many_cids_requested",
        EXPORT_RESTRICTION = 60 "export_restriction",
        PROTOCOL_VERSION = 70 "protocol_version",
        INSUFFICIENT_SECURITY = 71 "insufficient_security",
        INTERNAL_ERROR = 80 "internal_error",
        INAPPROPRIATE_FALLBACK = 86 "inappropriate_fallback",
        USER_CANCELED = 90 "user_canceled",
        NO_RENEGOTIATION = 100 "no_renegotiation",
        MISSING_EXTENSION = 109 "missing_extension",
        UNSUPPORTED_EXTENSION = 110 "unsupported_extension",
        CERTIFICATE_UNOBTAINABLE = 111 "certificate_unobtainable",
        UNRECOGNIZED_NAME = 112 "unrecognized_name",
        BAD_CERTIFICATE_STATUS_RESPONSE = 113 "bad_certificate_status_response",
        BAD_CERTIFICATE_HASH_VALUE = 114 "bad_certificate_hash_value",
        UNKNOWN_PSK_IDENTITY = 115 "unknown_psk_identity",
        CERTIFICATE_REQUIRED = 116 "certificate_required",
        GENERAL_ERROR = 117 "general_error",
        NO_APPLICATION_PROTOCOL = 120 "no_application_protocol",
        ECH_REQUIRED = 121 "ech_required",
    }
}

code_points! {
    /// `CachedInformationType` (RFC 7924, 3).
    CachedInformationType(u8, "{}") {
        CERT = 1 "cert",
        CERT_REQ = 2 "cert_req",
    }
}

code_points! {
    /// `CertificateType` (RFC 7250, 3, and RFC 6091).
    CertificateType(u8, "{}") {
        X509 = 0 "X509",
        RAW_PUBLIC_KEY = 2 "RawPublicKey",
    }
}

code_points! {
    /// `CertificateStatusType` (RFC 6066, 8).
    CertificateStatusType(u8, "{}") {
        OCSP = 1 "ocsp",
    }
}

code_points! {
    /// `ClientCertificateType` of a TLS 1.2 CertificateRequest (RFC 5246, 7.4.4; RFC 8422, 5.5).
    ClientCertificateType(u8, "{}") {
        RSA_SIGN = 1 "rsa_sign",
        ECDSA_SIGN = 64 "ecdsa_sign",
    }
}

code_points! {
    /// `PskKeyExchangeMode` (RFC 9846, 4.3.9).
    PskKeyExchangeMode(u8, "{}") {
        PSK_KE = 0 "psk_ke",
        PSK_DHE_KE = 1 "psk_dhe_ke",
    }
}

macro_rules! codec {
    ($($type:ident $int:ident),*) => {$(
        impl Parse<'_> for $type {
            fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
                reader.$int().map(Self)
            }
        }

        impl Encode for $type {
            fn encode(&self, writer: &mut Writer<'_>) {
                writer.$int(self.0);
            }
        }
    )*};
}

codec!(ProtocolVersion u16, CipherSuite u16, NamedGroup u16, SignatureScheme u16, ExtensionType u16);
codec!(ContentType u8, HandshakeType u8, AlertDescription u8, CachedInformationType u8);
codec!(CertificateType u8, CertificateStatusType u8, ClientCertificateType u8, PskKeyExchangeMode u8);
