//! The numbers of errors, for programs that cannot match an enum: C programs, logs and metrics.
//!
//! What must always hold: every variant has a number of its own. A number never changes, and that of a variant that is
//! removed is not used again.

use super::{
    ApiMisuse, CertificateError, Error, IdentityRefused, InvalidMessage, PeerIncompatible, PeerMisbehaved, StapleError,
};
use crate::crypto::{CryptoError, KeyError};

#[cfg(test)]
mod tests;

/// Gives each variant of each type a number. Variants in parentheses contain another type of the list, and have its
/// numbers.
macro_rules! codes {
    ($($kind:ident $(($($inner:ident),*))? { $($variant:ident = $code:literal,)* })*) => {
        $(impl $kind {
            /// Returns the number of this kind of error, which stays the same in all versions ([`Error::CODES`]).
            pub const fn code(&self) -> u16 {
                match self {
                    $($(Self::$inner(error) => error.code(),)*)?
                    $(Self::$variant { .. } => $code,)*
                }
            }
        })*

        impl Error {
            /// All numbers that [`Error::code`] and [`KeyError::code`] return, with the names of the type and of the variant.
            pub const CODES: &[(u16, &'static str, &'static str)] =
                &[$($(($code, stringify!($kind), stringify!($variant)),)*)*];
        }
    };
}

codes! {
    Error(InvalidMessage, PeerMisbehaved, PeerIncompatible, Certificate, Identity, Crypto, ApiMisuse) {
        AlertReceived = 50,
        Unencodable = 51,
        Truncated = 52,
        TimedOut = 53,
    }
    InvalidMessage {
        Truncated = 100,
        TrailingData = 101,
        IllegalLength = 102,
        RecordTooLarge = 103,
        HandshakeTooLarge = 104,
        UnknownContentType = 105,
        IllegalValue = 106,
        DuplicateExtension = 107,
    }
    PeerMisbehaved {
        UnexpectedHandshakeMessage = 200,
        UnexpectedRecord = 201,
        MessageCrossesKeyChange = 202,
        EmptyFragment = 203,
        InterleavedRecord = 204,
        BadChangeCipherSpec = 205,
        TooManyEmptyRecords = 206,
        TooManyKeyUpdates = 207,
        TooManyCidsRequested = 208,
        IllegalLegacyField = 209,
        MisplacedExtension = 210,
        UnsolicitedExtension = 211,
        MissingExtension = 212,
        SelectedUnoffered = 213,
        SelectedUnofferedSuite = 214,
        IllegalHelloRetryRequest = 215,
        Downgrade = 216,
        InappropriateFallback = 217,
        ChangedSession = 218,
        IllegalRenegotiationInfo = 219,
        TooManyRenegotiations = 220,
        ChangedClientHello = 221,
        IllegalKeyShare = 222,
        IllegalSignatureScheme = 223,
        BadSignature = 224,
        BadFinished = 225,
        BadBinder = 226,
        IllegalPskSelection = 227,
        IllegalEarlyData = 228,
        TooMuchEarlyData = 229,
        EmptyServerCertificate = 230,
        SeveralRawPublicKeys = 231,
        IllegalRequestContext = 232,
        IllegalCachingReply = 233,
        IllegalCachedMessage = 234,
    }
    PeerIncompatible {
        NoCommonVersion = 300,
        NoCommonCipherSuite = 301,
        NoCommonGroup = 302,
        NoCommonSignatureScheme = 303,
        NoCommonCurve = 304,
        NoCommonAuthority = 305,
        NoExtendedMasterSecret = 306,
        NoSecureRenegotiation = 307,
        UnknownPskIdentity = 308,
        NoCommonApplicationProtocol = 309,
        NoCommonCertificateType = 310,
        NoCommonPsk = 311,
        NoCommonPskMode = 312,
        NoEarlyData = 313,
    }
    CertificateError(Staple) {
        Required = 400,
        TooManyCertificates = 401,
        UnacceptedType = 402,
        Malformed = 403,
        Expired = 404,
        NotYetValid = 405,
        NoTime = 406,
        UnknownIssuer = 407,
        WrongName = 408,
        Revoked = 409,
        UnknownRevocationStatus = 410,
        CrlExpired = 411,
        WrongUsage = 412,
        ConstraintViolated = 413,
        BadSignature = 414,
        UnsupportedAlgorithm = 415,
        ShortRsaKey = 416,
        UnknownPublicKey = 417,
        Invalid = 418,
        NameConstraints = 419,
    }
    StapleError {
        Missing = 450,
        Malformed = 451,
        NotSuccessful = 452,
        OtherCertificate = 453,
        NotFromIssuer = 454,
        UnsupportedAlgorithm = 455,
        OutOfDate = 456,
        NotYetValid = 457,
        UnknownStatus = 458,
    }
    IdentityRefused {
        UnknownAuthority = 500,
        Expired = 501,
        ClockUnknown = 502,
        Denied = 503,
        OwnIdentity = 504,
        OtherIdentity = 505,
        IllegalLength = 506,
        WithPreSharedKey = 507,
        Missing = 508,
        EarlyDataTaken = 509,
        NotSelected = 510,
    }
    CryptoError {
        RandomFailed = 600,
        InvalidKeyShare = 601,
        DecryptFailed = 602,
        InvalidLength = 603,
        UnsupportedScheme = 604,
        SigningFailed = 605,
    }
    ApiMisuse {
        HandshakeNotFinished = 700,
        Closed = 701,
        EmptyConfiguration = 702,
        Unsupported = 703,
        EmptyChain = 704,
        EarlyDataWithoutResumption = 705,
        NoClientIsAsked = 706,
        TooManyCredentials = 707,
        KeyDoesNotMatchCertificate = 708,
        NoTrustAnchors = 709,
        MalformedCertificate = 710,
        MalformedPublicKey = 711,
        UnsupportedPublicKey = 712,
        MalformedCrl = 713,
        MalformedStaple = 714,
        StapleOfOtherCertificate = 715,
        LimitOutOfRange = 716,
        ZeroLimit = 717,
        MaxRecordOutOfRange = 718,
        NameTooLong = 719,
        TicketLifetime = 720,
        NoEarlyData = 721,
        ShortPsk = 722,
        PskIdentity = 723,
        NoExpectedIdentity = 724,
        IdentityConfiguration = 725,
        FirstContactWithTls12 = 726,
        UnverifiedWith = 727,
        NoSignatureDue = 728,
        NoStoreAnswerDue = 729,
        ReservedLabel = 730,
        NoExporter = 731,
        NoKeyUpdate = 732,
        KeyUpdateUnderWay = 733,
        NoConnectionIds = 734,
        ConnectionIdsUnderWay = 735,
        OfEndpoint = 736,
        KeyExhausted = 737,
        MessageTooLong = 738,
        SendBufferFull = 739,
        DatagramOutOfRange = 740,
        NoDatagrams = 741,
        TimeoutsOutOfRange = 742,
        MissingPart = 743,
        ConstrainedTrustAnchor = 744,
    }
    KeyError {
        Malformed = 800,
        UnsupportedAlgorithm = 801,
        RsaSigningDisabled = 802,
        UnsupportedRsaSize = 803,
    }
}
