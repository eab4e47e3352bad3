//! The numbers of errors. Those from 50 on are the engine's: [`terse_tls::Error::CODES`].

/// Why a call did not do its work. A number never changes its meaning; later versions may have more.
///
/// - 1 to 49: this call was not understood, and nothing has changed.
/// - 700 to 899: the configuration or the call is at fault, and nothing has changed.
/// - All others end the connection, and `terse_poll_transmit` has the alert for the peer, if one is due.
///
/// Over datagrams, what nobody proved to have sent is no error: it is dropped, and counted in `terse_summary.dropped`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerseError {
    /// A pointer that must not be NULL is NULL.
    NullPointer = 1,
    /// An argument has a value that the function does not know, or a length that is out of range.
    InvalidArgument = 2,
    /// The buffer is too small for the result; nothing was written to it. Where a length is returned, it is the
    /// length that is needed.
    BufferTooSmall = 3,
    /// The server name is neither a DNS name nor an IP address.
    MalformedServerName = 4,
    /// A text in PEM does not parse, or has none of the sections that were looked for.
    MalformedPem = 5,
    /// There is no source of randomness: set one with terse_config_builder_random.
    NoRandomness = 6,
    /// The time is NULL, and there is no clock: give the time, or set a clock with terse_config_builder_clock.
    NoClock = 7,
    /// The setting or the call is for the other side: for clients alone, or for servers alone.
    WrongSide = 8,
    /// terse_init was called before.
    AlreadyInitialized = 9,
    /// A callback called back into the connection or the allocator that it was called for.
    Busy = 10,
    /// The peer ended the connection with an alert: terse_connection_alert says which.
    AlertReceived = 50,
    /// A message of this side cannot be encoded: a configured value is longer than its field, or all values together
    /// are.
    Unencodable = 51,
    /// The peer closed the transport without close_notify: its data may be truncated (RFC 9846, 6.1).
    Truncated = 52,
    /// The peer did not answer, although a flight was retransmitted.
    TimedOut = 53,
    /// A value ends before it should.
    InvalidMessageTruncated = 100,
    /// Bytes are left over after a value.
    InvalidMessageTrailingData = 101,
    /// A vector is shorter or longer than its type allows.
    InvalidMessageIllegalLength = 102,
    /// A record is longer than the protocol, record_size_limit or max_fragment_length allows (RFC 9846, 5.1 and 5.2).
    InvalidMessageRecordTooLarge = 103,
    /// A handshake message is longer than this side accepts.
    InvalidMessageHandshakeTooLarge = 104,
    /// A record has an unknown type (RFC 9846, 5).
    InvalidMessageUnknownContentType = 105,
    /// A value is outside the range of its type, such as a compression method other than null.
    InvalidMessageIllegalValue = 106,
    /// A message has the same extension twice (RFC 9846, 4.3).
    InvalidMessageDuplicateExtension = 107,
    /// A handshake message came at the wrong time (RFC 9846, 4).
    PeerMisbehavedUnexpectedHandshakeMessage = 200,
    /// A record came with a type that is not allowed at this time (RFC 9846, 5).
    PeerMisbehavedUnexpectedRecord = 201,
    /// A handshake message spans a key change (RFC 9846, 5.1).
    PeerMisbehavedMessageCrossesKeyChange = 202,
    /// A handshake or alert record has no content (RFC 9846, 5.1).
    PeerMisbehavedEmptyFragment = 203,
    /// A handshake message is interleaved with another record type (RFC 9846, 5.1).
    PeerMisbehavedInterleavedRecord = 204,
    /// A ChangeCipherSpec is malformed, or came at the wrong time (RFC 9846, 5).
    PeerMisbehavedBadChangeCipherSpec = 205,
    /// More empty or ignored records came in a row than a correct peer sends.
    PeerMisbehavedTooManyEmptyRecords = 206,
    /// More KeyUpdates came in a row, without data, than a correct peer sends (RFC 9846, 4.7.3).
    PeerMisbehavedTooManyKeyUpdates = 207,
    /// More RequestConnectionIds came than a peer needs that uses the IDs (RFC 9147, 9).
    PeerMisbehavedTooManyCidsRequested = 208,
    /// A ClientHello or ServerHello has other fixed fields than those of RFC 9846, 4.2.2 and 4.2.3.
    PeerMisbehavedIllegalLegacyField = 209,
    /// The message must not have this extension (RFC 9846, 4.3).
    PeerMisbehavedMisplacedExtension = 210,
    /// The message answers an extension that was not offered (RFC 9846, 4.3).
    PeerMisbehavedUnsolicitedExtension = 211,
    /// A required extension is missing (RFC 9846, 9.2).
    PeerMisbehavedMissingExtension = 212,
    /// The server selected something that was not offered: version, suite, group, protocol, size.
    PeerMisbehavedSelectedUnoffered = 213,
    /// The server selected a cipher suite that was not offered, or another one after HelloRetryRequest (RFC 9846,
    /// 4.2.3 and 4.2.4).
    PeerMisbehavedSelectedUnofferedSuite = 214,
    /// The server sent a second HelloRetryRequest, or one that changes nothing (RFC 9846, 4.2.4).
    PeerMisbehavedIllegalHelloRetryRequest = 215,
    /// The server supports a newer version than the selected one: an attacker has changed the ClientHello (RFC 9846,
    /// 4.2.3).
    PeerMisbehavedDowngrade = 216,
    /// The client fell back to an older version, although this side supports a newer one (RFC 7507).
    PeerMisbehavedInappropriateFallback = 217,
    /// The server resumed a session with another cipher suite, or without its extended master secret (RFC 5246,
    /// 7.4.1.3; RFC 7627, 5.3).
    PeerMisbehavedChangedSession = 218,
    /// renegotiation_info is not empty, although there was no handshake before (RFC 5746, 3.4 and 3.6).
    PeerMisbehavedIllegalRenegotiationInfo = 219,
    /// The peer has requested too many renegotiations.
    PeerMisbehavedTooManyRenegotiations = 220,
    /// The second ClientHello differs from the first one in a field that must not change (RFC 9846, 4.2.2).
    PeerMisbehavedChangedClientHello = 221,
    /// A key share is for a group that was not offered, or one group has two (RFC 9846, 4.3.8).
    PeerMisbehavedIllegalKeyShare = 222,
    /// A signature has a scheme that was not offered, or that TLS 1.3 forbids (RFC 9846, 4.5.2).
    PeerMisbehavedIllegalSignatureScheme = 223,
    /// The signature of CertificateVerify (RFC 9846, 4.5.2) or ServerKeyExchange (RFC 8422, 5.4) is wrong.
    PeerMisbehavedBadSignature = 224,
    /// The MAC of Finished is wrong (RFC 9846, 4.5.3).
    PeerMisbehavedBadFinished = 225,
    /// The binder of a pre-shared key is wrong (RFC 9846, 4.3.11).
    PeerMisbehavedBadBinder = 226,
    /// The server selected a pre-shared key that was not offered, does not fit the suite, or has no key share (RFC
    /// 9846, 4.3.11).
    PeerMisbehavedIllegalPskSelection = 227,
    /// The server accepted early data with another key than the first one, or with another suite or application
    /// protocol than those of the key (RFC 9846, 4.3.10).
    PeerMisbehavedIllegalEarlyData = 228,
    /// The client sent more early data than the ticket allows (RFC 9846, 4.7.1).
    PeerMisbehavedTooMuchEarlyData = 229,
    /// The server sent no certificate (RFC 9846, 4.5.1).
    PeerMisbehavedEmptyServerCertificate = 230,
    /// The peer sent more than one raw public key (RFC 9846, 4.5.1).
    PeerMisbehavedSeveralRawPublicKeys = 231,
    /// A certificate_request_context is not the value that this side has chosen, or not empty where it must be (RFC
    /// 9846, 4.4.2, 4.5.1).
    PeerMisbehavedIllegalRequestContext = 232,
    /// A caching reply contradicts the offer: an unoffered object, an index out of range, undefined bits, or
    /// unexpected content.
    PeerMisbehavedIllegalCachingReply = 233,
    /// A message that was selected as cached has a wrong format or fingerprint.
    PeerMisbehavedIllegalCachedMessage = 234,
    /// There is no common protocol version.
    PeerIncompatibleNoCommonVersion = 300,
    /// There is no common cipher suite.
    PeerIncompatibleNoCommonCipherSuite = 301,
    /// There is no common key exchange group.
    PeerIncompatibleNoCommonGroup = 302,
    /// The peer accepts no signature scheme of this side's keys.
    PeerIncompatibleNoCommonSignatureScheme = 303,
    /// The client of TLS 1.2 does not support the curve of this side's key (RFC 8422, 5.3).
    PeerIncompatibleNoCommonCurve = 304,
    /// No CA that the client names has issued a certificate of this side, which are only for clients that name their
    /// CA (RFC 9846, 4.3.4).
    PeerIncompatibleNoCommonAuthority = 305,
    /// The peer does not support the extended master secret, which is required (RFC 7627, 5.2).
    PeerIncompatibleNoExtendedMasterSecret = 306,
    /// The server does not support secure renegotiation, so that an attacker could prepend data to that of this
    /// client (RFC 5746, 4.1).
    PeerIncompatibleNoSecureRenegotiation = 307,
    /// The client names a pre-shared key that this side does not have (RFC 4279, 2; RFC 9846, 6.2).
    PeerIncompatibleUnknownPskIdentity = 308,
    /// There is no common application protocol (RFC 7301, 3.2).
    PeerIncompatibleNoCommonApplicationProtocol = 309,
    /// There is no common certificate type, X.509 or raw public key (RFC 7250, 4.2).
    PeerIncompatibleNoCommonCertificateType = 310,
    /// There is no common pre-shared key, and no certificate (RFC 9846, 4.3.11). The peer cannot distinguish this
    /// from a wrong key with a known identity.
    PeerIncompatibleNoCommonPsk = 311,
    /// The client does not offer pre-shared keys with (EC)DHE, and there is no certificate (RFC 9846, 4.3.9).
    PeerIncompatibleNoCommonPskMode = 312,
    /// The server selected TLS 1.2 although early data was sent (RFC 9846, E.3). The client should connect again
    /// without early data.
    PeerIncompatibleNoEarlyData = 313,
    /// The client sent no certificate, and one is required (RFC 9846, 4.5.1).
    CertificateRequired = 400,
    /// The chain has more than 100 certificates.
    CertificateTooManyCertificates = 401,
    /// The certificate is of a type, X.509 or raw public key, that this side does not accept (RFC 7250, 4.2).
    CertificateUnacceptedType = 402,
    /// A certificate does not parse as X.509.
    CertificateMalformed = 403,
    /// The validity ended at not_after.
    CertificateExpired = 404,
    /// The validity begins at not_before.
    CertificateNotYetValid = 405,
    /// The device has no wall-clock time, and the configuration does not accept certificates without it.
    CertificateNoTime = 406,
    /// No path leads to a trust anchor.
    CertificateUnknownIssuer = 407,
    /// The certificate is valid, but not for the requested name.
    CertificateWrongName = 408,
    /// The certificate is revoked by a configured CRL or a stapled OCSP response.
    CertificateRevoked = 409,
    /// Revocation is required, and no configured CRL covers the certificate.
    CertificateUnknownRevocationStatus = 410,
    /// A configured CRL is past its nextUpdate.
    CertificateCrlExpired = 411,
    /// The certificate is not allowed for this use: key usage, extended key usage, or a CA instead of an end entity
    /// or the reverse.
    CertificateWrongUsage = 412,
    /// The certificate violates a constraint of its issuer: path length, or names.
    CertificateConstraintViolated = 413,
    /// A signature in the chain is wrong.
    CertificateBadSignature = 414,
    /// A signature or key in the chain, or a raw public key, is of a kind that is not supported or too weak.
    CertificateUnsupportedAlgorithm = 415,
    /// An RSA key has fewer than 2,048 bits.
    CertificateShortRsaKey = 416,
    /// The raw public key is not among those configured (RFC 7250, 4.3 and 4.4).
    CertificateUnknownPublicKey = 417,
    /// Anything else that path validation (RFC 5280) refuses.
    CertificateInvalid = 418,
    /// A certificate has name constraints, which the validator without path building does not know.
    CertificateNameConstraints = 419,
    /// There is no response, and one is required.
    StapleMissing = 450,
    /// The response does not parse, or has a critical extension.
    StapleMalformed = 451,
    /// The responder had no answer (RFC 6960, 2.3).
    StapleNotSuccessful = 452,
    /// The response is about other certificates.
    StapleOtherCertificate = 453,
    /// The response is neither signed by the issuer of the certificate, nor by a responder that the issuer has
    /// certified for that (RFC 6960, 4.2.2.2).
    StapleNotFromIssuer = 454,
    /// The response is signed with an algorithm that is not accepted.
    StapleUnsupportedAlgorithm = 455,
    /// The response has expired at this time: its nextUpdate, or a day after its thisUpdate.
    StapleOutOfDate = 456,
    /// The response is valid from this time on.
    StapleNotYetValid = 457,
    /// The responder does not know the certificate.
    StapleUnknownStatus = 458,
    /// The client's key was made by an authority, in an epoch, or for an algorithm that this server has no key of,
    /// and there is no fall-back to certificates.
    IdentityUnknownAuthority = 500,
    /// The epoch of the key is over, and there is no fall-back to certificates.
    IdentityExpired = 501,
    /// This side does not know the time, so that the epoch of the key may be over.
    IdentityClockUnknown = 502,
    /// The peer is denied by name.
    IdentityDenied = 503,
    /// The peer claims the identity of this side.
    IdentityOwnIdentity = 504,
    /// The server has another identity than the one that the client expects.
    IdentityOtherIdentity = 505,
    /// A field of identity_share has a length that does not fit the algorithm.
    IdentityIllegalLength = 506,
    /// identity_share comes with pre_shared_key.
    IdentityWithPreSharedKey = 507,
    /// The client proves no identity, and this server admits no anonymous clients.
    IdentityMissing = 508,
    /// The ticket of the early data was used on another connection in the meantime, or its ClientHello came twice.
    IdentityEarlyDataTaken = 509,
    /// The server wants no identity, and the client has no trust in certificates.
    IdentityNotSelected = 510,
    /// The source of randomness failed.
    CryptoRandomFailed = 600,
    /// A key share has the wrong length, is not a point of the group, or has low order.
    CryptoInvalidKeyShare = 601,
    /// Authentication of a record failed.
    CryptoDecryptFailed = 602,
    /// A key has the wrong length, or an output is too long, which is a bug in the caller.
    CryptoInvalidLength = 603,
    /// The key cannot sign with this scheme.
    CryptoUnsupportedScheme = 604,
    /// The signer failed, for example because the secure element is gone.
    CryptoSigningFailed = 605,
    /// Application data was sent, or keys were requested, before the handshake was finished.
    ApiMisuseHandshakeNotFinished = 700,
    /// The connection is closed or has failed.
    ApiMisuseClosed = 701,
    /// The configuration offers nothing of this kind, so that no handshake could succeed.
    ApiMisuseEmptyConfiguration = 702,
    /// The configuration names something of this kind that the crypto provider does not have.
    ApiMisuseUnsupported = 703,
    /// A credential has no certificates.
    ApiMisuseEmptyChain = 704,
    /// A server that accepts early data, but resumes no session that it could come in.
    ApiMisuseEarlyDataWithoutResumption = 705,
    /// A server that names certificate authorities, but asks no client for a certificate.
    ApiMisuseNoClientIsAsked = 706,
    /// More than 16 credentials.
    ApiMisuseTooManyCredentials = 707,
    /// The private key does not belong to the first certificate of the chain.
    ApiMisuseKeyDoesNotMatchCertificate = 708,
    /// No trust anchor or raw public key is configured, so that no peer could be accepted.
    ApiMisuseNoTrustAnchors = 709,
    /// A certificate of the trust anchors or of the own chain does not parse.
    ApiMisuseMalformedCertificate = 710,
    /// A trusted public key, or that of an own key, does not parse.
    ApiMisuseMalformedPublicKey = 711,
    /// A trusted public key is of a kind that the crypto provider does not verify, or an RSA key of fewer than 2,048
    /// bits.
    ApiMisuseUnsupportedPublicKey = 712,
    /// A CRL does not parse.
    ApiMisuseMalformedCrl = 713,
    /// An OCSP response that was to be stapled does not parse, or is longer than 16,384 bytes.
    ApiMisuseMalformedStaple = 714,
    /// An OCSP response that was to be stapled is not about the certificate of the credential.
    ApiMisuseStapleOfOtherCertificate = 715,
    /// A limit is outside the range of its type: record_size_limit 64 to 16,385.
    ApiMisuseLimitOutOfRange = 716,
    /// The limit with this name is 0, which allows nothing at all.
    ApiMisuseZeroLimit = 717,
    /// max_record is outside of 64 to 16,384, or record_size_limit or max_fragment_length allows larger records.
    ApiMisuseMaxRecordOutOfRange = 718,
    /// A name is longer than the protocol allows.
    ApiMisuseNameTooLong = 719,
    /// The lifetime of tickets is outside of 1 second to 7 days (RFC 9846, 4.7.1).
    ApiMisuseTicketLifetime = 720,
    /// This side does not send early data.
    ApiMisuseNoEarlyData = 721,
    /// A pre-shared key has fewer than 128 bits (RFC 9257, 6).
    ApiMisuseShortPsk = 722,
    /// The identity of a pre-shared key is empty, or it or the importer's context is longer than 4,096 bytes.
    ApiMisusePskIdentity = 723,
    /// A client with an identity key connects to an IP address, and is not told which identity the server has.
    ApiMisuseNoExpectedIdentity = 724,
    /// An identity is configured beside pre-shared keys, or without TLS 1.3.
    ApiMisuseIdentityConfiguration = 725,
    /// A client with early data at first contact falls back to TLS 1.2, which cannot refuse early data.
    ApiMisuseFirstContactWithTls12 = 726,
    /// Peers that are taken unverified go with nothing of this kind, which would keep what is known of a peer, or let
    /// another one in.
    ApiMisuseUnverifiedWith = 727,
    /// A signature was provided that was not requested.
    ApiMisuseNoSignatureDue = 728,
    /// A store's answer was provided that was not requested.
    ApiMisuseNoStoreAnswerDue = 729,
    /// A label for exported keys is one of the protocol's own (RFC 5705, 4).
    ApiMisuseReservedLabel = 730,
    /// Keys cannot be exported from a TLS 1.2 connection without the extended master secret, since another connection
    /// may have the same ones (RFC 7627, 5.4).
    ApiMisuseNoExporter = 731,
    /// TLS 1.2 has no KeyUpdate.
    ApiMisuseNoKeyUpdate = 732,
    /// The peer has not acknowledged the previous KeyUpdate, or the end of the handshake, yet (RFC 9147, 8).
    ApiMisuseKeyUpdateUnderWay = 733,
    /// New connection IDs require DTLS 1.3, negotiated connection IDs, and an ID of the handshake that is not empty
    /// (RFC 9147, 9).
    ApiMisuseNoConnectionIds = 734,
    /// The peer has not answered the request for connection IDs, or not acknowledged new ones, yet.
    ApiMisuseConnectionIdsUnderWay = 735,
    /// The connection belongs to an endpoint, which must provide its connection IDs.
    ApiMisuseOfEndpoint = 736,
    /// The key has reached its limit of records (RFC 9846, 5.5) and TLS 1.2 cannot replace it, so a new connection is
    /// needed.
    ApiMisuseKeyExhausted = 737,
    /// The message does not fit into one protected datagram: max_message returns its maximum length.
    ApiMisuseMessageTooLong = 738,
    /// Too much waits to be sent to the peer (max_send_buffer), for example because its new address is not validated
    /// yet. Nothing was taken, and the call may be repeated once some of it was sent.
    ApiMisuseSendBufferFull = 739,
    /// max_datagram is outside of 50 to 65,507 bytes, or too small for the connection IDs.
    ApiMisuseDatagramOutOfRange = 740,
    /// The configuration is for a stream, and an endpoint or a setting needs datagrams.
    ApiMisuseNoDatagrams = 741,
    /// A retransmission timeout is 0, or the order is wrong: min, initial and max must not decrease.
    ApiMisuseTimeoutsOutOfRange = 742,
    /// The configuration wants a part of the engine that the client was built without.
    ApiMisuseMissingPart = 743,
    /// A trust anchor has name constraints, which the validator without path building does not know.
    ApiMisuseConstrainedTrustAnchor = 744,
    /// The key is malformed.
    KeyMalformed = 800,
    /// The provider does not support the kind of key, or its curve.
    KeyUnsupportedAlgorithm = 801,
    /// The provider does not sign with RSA keys, for the reason in its documentation.
    KeyRsaSigningDisabled = 802,
    /// The modulus of an RSA key is shorter than 2,048 bits, or longer than the provider supports.
    KeyUnsupportedRsaSize = 803,
}
