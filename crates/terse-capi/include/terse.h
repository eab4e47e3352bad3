// terse.h: TLS and DTLS for devices that pay for every byte. Made by cbindgen; not to be edited.
//
// The library has no sockets and no threads. The program gives it what the transport has received, and the time, and takes what is to
// be sent; crates/terse-capi/README.md of Terse has whole programs.
//
// What holds for every function, unless it says something else:
//
// - A pointer may be NULL only where this is said, or where its length is 0. A NULL that may not be gives TERSE_ERROR_NULL_POINTER,
//   and nothing has happened then.
// - Buffers and structs belong to the program. The library uses them during the call alone, and copies what it keeps.
// - Objects that a function writes to a `**` belong to the program, which frees each once with the function of its name. What is
//   freed is not used any more. When a function fails it writes NULL there, which may be freed.
// - A builder or a connection is used by one thread at a time, and so is a callback's context; configurations and stores may be used by
//   several at once, if their callbacks may. Not so by tasks of different priorities on one core: see terse_client_config.
// - A callback must not call a function with the object that it was called for. With a connection, that gives TERSE_ERROR_BUSY.
// - A function returns 0 or a value of `enum terse_error`. "Errors:" lists values without TERSE_ERROR_.
// - A program that runs out of memory is aborted; firmware gets its panic callback.


#ifndef TERSE_H
#define TERSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


// For `terse_config_builder_client_store` and `..._server_store`: handshakes leave out the certificates that were verified before
// (handshake caching), where the peer does it, too.
#define TERSE_USE_CACHE 1

// For `terse_config_builder_client_store` and `..._server_store`: sessions are resumed.
#define TERSE_USE_RESUMPTION 2

// TLS 1.2 or DTLS 1.2, for `terse_config_builder_versions` and in `terse_summary`.
#define TERSE_VERSION_1_2 771

// TLS 1.3 or DTLS 1.3, for `terse_config_builder_versions` and in `terse_summary`.
#define TERSE_VERSION_1_3 772

// What a function returns that has done its work.
#define TERSE_OK 0

// In `terse_summary.cached`: the server's certificates were not sent.
#define TERSE_CACHED_SERVER_CERTIFICATE 1

// In `terse_summary.cached`: the server's CertificateRequest was not sent.
#define TERSE_CACHED_CERTIFICATE_REQUEST 2

// In `terse_summary.cached`: the client's certificates were not sent.
#define TERSE_CACHED_CLIENT_CERTIFICATE 4

// What has happened on a connection.
enum terse_event
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing more.
  TERSE_EVENT_NONE = 0,
  // The handshake is complete: `terse_send` takes data.
  TERSE_EVENT_CONNECTED = 1,
  // A signer answers later: see `terse_pending_signature`. Until then no more input is taken.
  TERSE_EVENT_NEED_SIGNATURE = 2,
  // The peer sends nothing more.
  TERSE_EVENT_PEER_CLOSED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_event terse_event;
#else
typedef int32_t terse_event;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Who is to blame for an error, and what it means for the connection.
enum terse_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `TERSE_OK`.
  TERSE_KIND_NONE = 0,
  // The program broke the contract of a call, or its configuration is at fault. Nothing has changed: the connection is as before.
  TERSE_KIND_MISUSE = 1,
  // The connection is over: the peer, the transport or an operation of this side is to blame.
  TERSE_KIND_FATAL = 2,
  // No error has this number.
  TERSE_KIND_UNKNOWN = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_kind terse_kind;
#else
typedef int32_t terse_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a handshake could leave out.
enum terse_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Nothing.
  TERSE_MODE_FULL = 0,
  // What was cached, by RFC 7924: the server's certificates.
  TERSE_MODE_RFC7924 = 1,
  // What was cached, by BiTHaC: the client's certificates as well.
  TERSE_MODE_BITHAC = 2,
  // What was cached, under one ticket for all of it.
  TERSE_MODE_COMPACT = 3,
  // All certificates: a session was resumed.
  TERSE_MODE_RESUMED = 4,
  // All certificates: both sides have a pre-shared key.
  TERSE_MODE_PSK = 5,
  // Another mode, which this version of the API has no number for.
  TERSE_MODE_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_mode terse_mode;
#else
typedef uint8_t terse_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the peer has proved its identity.
enum terse_authentication
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Not at all.
  TERSE_AUTHENTICATION_NONE = 0,
  // With a certificate or a raw public key that it sent, in this handshake or in the one that the session began with.
  TERSE_AUTHENTICATION_CERTIFICATE = 1,
  // With the key of a certificate that was verified in an earlier handshake.
  TERSE_AUTHENTICATION_CACHED_CERTIFICATE = 2,
  // With a pre-shared key.
  TERSE_AUTHENTICATION_PSK = 3,
  // In another way, which this version of the API has no number for.
  TERSE_AUTHENTICATION_OTHER = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_authentication terse_authentication;
#else
typedef uint8_t terse_authentication;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a call did not do its work. A number never changes its meaning; later versions may have more.
//
// - 1 to 49: this call was not understood, and nothing has changed.
// - 700 to 899: the configuration or the call is at fault, and nothing has changed.
// - All others end the connection, and `terse_poll_transmit` has the alert for the peer, if one is due.
//
// Over datagrams, what nobody proved to have sent is no error: it is dropped, and counted in `terse_summary.dropped`.
enum terse_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A pointer that must not be NULL is NULL.
  TERSE_ERROR_NULL_POINTER = 1,
  // An argument has a value that the function does not know, or a length that is out of range.
  TERSE_ERROR_INVALID_ARGUMENT = 2,
  // The buffer is too small for the result; nothing was written to it. Where a length is returned, it is the
  // length that is needed.
  TERSE_ERROR_BUFFER_TOO_SMALL = 3,
  // The server name is neither a DNS name nor an IP address.
  TERSE_ERROR_MALFORMED_SERVER_NAME = 4,
  // A text in PEM does not parse, or has none of the sections that were looked for.
  TERSE_ERROR_MALFORMED_PEM = 5,
  // There is no source of randomness: set one with terse_config_builder_random.
  TERSE_ERROR_NO_RANDOMNESS = 6,
  // The time is NULL, and there is no clock: give the time, or set a clock with terse_config_builder_clock.
  TERSE_ERROR_NO_CLOCK = 7,
  // The setting or the call is for the other side: for clients alone, or for servers alone.
  TERSE_ERROR_WRONG_SIDE = 8,
  // terse_init was called before.
  TERSE_ERROR_ALREADY_INITIALIZED = 9,
  // A callback called back into the connection or the allocator that it was called for.
  TERSE_ERROR_BUSY = 10,
  // The peer ended the connection with an alert: terse_connection_alert says which.
  TERSE_ERROR_ALERT_RECEIVED = 50,
  // A message of this side cannot be encoded: a configured value is longer than its field, or all values together
  // are.
  TERSE_ERROR_UNENCODABLE = 51,
  // The peer closed the transport without close_notify: its data may be truncated (RFC 9846, 6.1).
  TERSE_ERROR_TRUNCATED = 52,
  // The peer did not answer, although a flight was retransmitted.
  TERSE_ERROR_TIMED_OUT = 53,
  // A value ends before it should.
  TERSE_ERROR_INVALID_MESSAGE_TRUNCATED = 100,
  // Bytes are left over after a value.
  TERSE_ERROR_INVALID_MESSAGE_TRAILING_DATA = 101,
  // A vector is shorter or longer than its type allows.
  TERSE_ERROR_INVALID_MESSAGE_ILLEGAL_LENGTH = 102,
  // A record is longer than the protocol, record_size_limit or max_fragment_length allows (RFC 9846, 5.1 and 5.2).
  TERSE_ERROR_INVALID_MESSAGE_RECORD_TOO_LARGE = 103,
  // A handshake message is longer than this side accepts.
  TERSE_ERROR_INVALID_MESSAGE_HANDSHAKE_TOO_LARGE = 104,
  // A record has an unknown type (RFC 9846, 5).
  TERSE_ERROR_INVALID_MESSAGE_UNKNOWN_CONTENT_TYPE = 105,
  // A value is outside the range of its type, such as a compression method other than null.
  TERSE_ERROR_INVALID_MESSAGE_ILLEGAL_VALUE = 106,
  // A message has the same extension twice (RFC 9846, 4.3).
  TERSE_ERROR_INVALID_MESSAGE_DUPLICATE_EXTENSION = 107,
  // A handshake message came at the wrong time (RFC 9846, 4).
  TERSE_ERROR_PEER_MISBEHAVED_UNEXPECTED_HANDSHAKE_MESSAGE = 200,
  // A record came with a type that is not allowed at this time (RFC 9846, 5).
  TERSE_ERROR_PEER_MISBEHAVED_UNEXPECTED_RECORD = 201,
  // A handshake message spans a key change (RFC 9846, 5.1).
  TERSE_ERROR_PEER_MISBEHAVED_MESSAGE_CROSSES_KEY_CHANGE = 202,
  // A handshake or alert record has no content (RFC 9846, 5.1).
  TERSE_ERROR_PEER_MISBEHAVED_EMPTY_FRAGMENT = 203,
  // A handshake message is interleaved with another record type (RFC 9846, 5.1).
  TERSE_ERROR_PEER_MISBEHAVED_INTERLEAVED_RECORD = 204,
  // A ChangeCipherSpec is malformed, or came at the wrong time (RFC 9846, 5).
  TERSE_ERROR_PEER_MISBEHAVED_BAD_CHANGE_CIPHER_SPEC = 205,
  // More empty or ignored records came in a row than a correct peer sends.
  TERSE_ERROR_PEER_MISBEHAVED_TOO_MANY_EMPTY_RECORDS = 206,
  // More KeyUpdates came in a row, without data, than a correct peer sends (RFC 9846, 4.7.3).
  TERSE_ERROR_PEER_MISBEHAVED_TOO_MANY_KEY_UPDATES = 207,
  // More RequestConnectionIds came than a peer needs that uses the IDs (RFC 9147, 9).
  TERSE_ERROR_PEER_MISBEHAVED_TOO_MANY_CIDS_REQUESTED = 208,
  // A ClientHello or ServerHello has other fixed fields than those of RFC 9846, 4.2.2 and 4.2.3.
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_LEGACY_FIELD = 209,
  // The message must not have this extension (RFC 9846, 4.3).
  TERSE_ERROR_PEER_MISBEHAVED_MISPLACED_EXTENSION = 210,
  // The message answers an extension that was not offered (RFC 9846, 4.3).
  TERSE_ERROR_PEER_MISBEHAVED_UNSOLICITED_EXTENSION = 211,
  // A required extension is missing (RFC 9846, 9.2).
  TERSE_ERROR_PEER_MISBEHAVED_MISSING_EXTENSION = 212,
  // The server selected something that was not offered: version, suite, group, protocol, size.
  TERSE_ERROR_PEER_MISBEHAVED_SELECTED_UNOFFERED = 213,
  // The server selected a cipher suite that was not offered, or another one after HelloRetryRequest (RFC 9846,
  // 4.2.3 and 4.2.4).
  TERSE_ERROR_PEER_MISBEHAVED_SELECTED_UNOFFERED_SUITE = 214,
  // The server sent a second HelloRetryRequest, or one that changes nothing (RFC 9846, 4.2.4).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_HELLO_RETRY_REQUEST = 215,
  // The server supports a newer version than the selected one: an attacker has changed the ClientHello (RFC 9846,
  // 4.2.3).
  TERSE_ERROR_PEER_MISBEHAVED_DOWNGRADE = 216,
  // The client fell back to an older version, although this side supports a newer one (RFC 7507).
  TERSE_ERROR_PEER_MISBEHAVED_INAPPROPRIATE_FALLBACK = 217,
  // The server resumed a session with another cipher suite, or without its extended master secret (RFC 5246,
  // 7.4.1.3; RFC 7627, 5.3).
  TERSE_ERROR_PEER_MISBEHAVED_CHANGED_SESSION = 218,
  // renegotiation_info is not empty, although there was no handshake before (RFC 5746, 3.4 and 3.6).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_RENEGOTIATION_INFO = 219,
  // The peer has requested too many renegotiations.
  TERSE_ERROR_PEER_MISBEHAVED_TOO_MANY_RENEGOTIATIONS = 220,
  // The second ClientHello differs from the first one in a field that must not change (RFC 9846, 4.2.2).
  TERSE_ERROR_PEER_MISBEHAVED_CHANGED_CLIENT_HELLO = 221,
  // A key share is for a group that was not offered, or one group has two (RFC 9846, 4.3.8).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_KEY_SHARE = 222,
  // A signature has a scheme that was not offered, or that TLS 1.3 forbids (RFC 9846, 4.5.2).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_SIGNATURE_SCHEME = 223,
  // The signature of CertificateVerify (RFC 9846, 4.5.2) or ServerKeyExchange (RFC 8422, 5.4) is wrong.
  TERSE_ERROR_PEER_MISBEHAVED_BAD_SIGNATURE = 224,
  // The MAC of Finished is wrong (RFC 9846, 4.5.3).
  TERSE_ERROR_PEER_MISBEHAVED_BAD_FINISHED = 225,
  // The binder of a pre-shared key is wrong (RFC 9846, 4.3.11).
  TERSE_ERROR_PEER_MISBEHAVED_BAD_BINDER = 226,
  // The server selected a pre-shared key that was not offered, does not fit the suite, or has no key share (RFC
  // 9846, 4.3.11).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_PSK_SELECTION = 227,
  // The server accepted early data with another key than the first one, or with another suite or application
  // protocol than those of the key (RFC 9846, 4.3.10).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_EARLY_DATA = 228,
  // The client sent more early data than the ticket allows (RFC 9846, 4.7.1).
  TERSE_ERROR_PEER_MISBEHAVED_TOO_MUCH_EARLY_DATA = 229,
  // The server sent no certificate (RFC 9846, 4.5.1).
  TERSE_ERROR_PEER_MISBEHAVED_EMPTY_SERVER_CERTIFICATE = 230,
  // The peer sent more than one raw public key (RFC 9846, 4.5.1).
  TERSE_ERROR_PEER_MISBEHAVED_SEVERAL_RAW_PUBLIC_KEYS = 231,
  // A certificate_request_context is not the value that this side has chosen, or not empty where it must be (RFC
  // 9846, 4.4.2, 4.5.1).
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_REQUEST_CONTEXT = 232,
  // A caching reply contradicts the offer: an unoffered object, an index out of range, undefined bits, or
  // unexpected content.
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_CACHING_REPLY = 233,
  // A message that was selected as cached has a wrong format or fingerprint.
  TERSE_ERROR_PEER_MISBEHAVED_ILLEGAL_CACHED_MESSAGE = 234,
  // There is no common protocol version.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_VERSION = 300,
  // There is no common cipher suite.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_CIPHER_SUITE = 301,
  // There is no common key exchange group.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_GROUP = 302,
  // The peer accepts no signature scheme of this side's keys.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_SIGNATURE_SCHEME = 303,
  // The client of TLS 1.2 does not support the curve of this side's key (RFC 8422, 5.3).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_CURVE = 304,
  // No CA that the client names has issued a certificate of this side, which are only for clients that name their
  // CA (RFC 9846, 4.3.4).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_AUTHORITY = 305,
  // The peer does not support the extended master secret, which is required (RFC 7627, 5.2).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_EXTENDED_MASTER_SECRET = 306,
  // The server does not support secure renegotiation, so that an attacker could prepend data to that of this
  // client (RFC 5746, 4.1).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_SECURE_RENEGOTIATION = 307,
  // The client names a pre-shared key that this side does not have (RFC 4279, 2; RFC 9846, 6.2).
  TERSE_ERROR_PEER_INCOMPATIBLE_UNKNOWN_PSK_IDENTITY = 308,
  // There is no common application protocol (RFC 7301, 3.2).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_APPLICATION_PROTOCOL = 309,
  // There is no common certificate type, X.509 or raw public key (RFC 7250, 4.2).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_CERTIFICATE_TYPE = 310,
  // There is no common pre-shared key, and no certificate (RFC 9846, 4.3.11). The peer cannot distinguish this
  // from a wrong key with a known identity.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_PSK = 311,
  // The client does not offer pre-shared keys with (EC)DHE, and there is no certificate (RFC 9846, 4.3.9).
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_COMMON_PSK_MODE = 312,
  // The server selected TLS 1.2 although early data was sent (RFC 9846, E.3). The client should connect again
  // without early data.
  TERSE_ERROR_PEER_INCOMPATIBLE_NO_EARLY_DATA = 313,
  // The client sent no certificate, and one is required (RFC 9846, 4.5.1).
  TERSE_ERROR_CERTIFICATE_REQUIRED = 400,
  // The chain has more than 100 certificates.
  TERSE_ERROR_CERTIFICATE_TOO_MANY_CERTIFICATES = 401,
  // The certificate is of a type, X.509 or raw public key, that this side does not accept (RFC 7250, 4.2).
  TERSE_ERROR_CERTIFICATE_UNACCEPTED_TYPE = 402,
  // A certificate does not parse as X.509.
  TERSE_ERROR_CERTIFICATE_MALFORMED = 403,
  // The validity ended at not_after.
  TERSE_ERROR_CERTIFICATE_EXPIRED = 404,
  // The validity begins at not_before.
  TERSE_ERROR_CERTIFICATE_NOT_YET_VALID = 405,
  // The device has no wall-clock time, and the configuration does not accept certificates without it.
  TERSE_ERROR_CERTIFICATE_NO_TIME = 406,
  // No path leads to a trust anchor.
  TERSE_ERROR_CERTIFICATE_UNKNOWN_ISSUER = 407,
  // The certificate is valid, but not for the requested name.
  TERSE_ERROR_CERTIFICATE_WRONG_NAME = 408,
  // The certificate is revoked by a configured CRL or a stapled OCSP response.
  TERSE_ERROR_CERTIFICATE_REVOKED = 409,
  // Revocation is required, and no configured CRL covers the certificate.
  TERSE_ERROR_CERTIFICATE_UNKNOWN_REVOCATION_STATUS = 410,
  // A configured CRL is past its nextUpdate.
  TERSE_ERROR_CERTIFICATE_CRL_EXPIRED = 411,
  // The certificate is not allowed for this use: key usage, extended key usage, or a CA instead of an end entity
  // or the reverse.
  TERSE_ERROR_CERTIFICATE_WRONG_USAGE = 412,
  // The certificate violates a constraint of its issuer: path length, or names.
  TERSE_ERROR_CERTIFICATE_CONSTRAINT_VIOLATED = 413,
  // A signature in the chain is wrong.
  TERSE_ERROR_CERTIFICATE_BAD_SIGNATURE = 414,
  // A signature or key in the chain, or a raw public key, is of a kind that is not supported or too weak.
  TERSE_ERROR_CERTIFICATE_UNSUPPORTED_ALGORITHM = 415,
  // An RSA key has fewer than 2,048 bits.
  TERSE_ERROR_CERTIFICATE_SHORT_RSA_KEY = 416,
  // The raw public key is not among those configured (RFC 7250, 4.3 and 4.4).
  TERSE_ERROR_CERTIFICATE_UNKNOWN_PUBLIC_KEY = 417,
  // Anything else that path validation (RFC 5280) refuses.
  TERSE_ERROR_CERTIFICATE_INVALID = 418,
  // A certificate has name constraints, which the validator without path building does not know.
  TERSE_ERROR_CERTIFICATE_NAME_CONSTRAINTS = 419,
  // There is no response, and one is required.
  TERSE_ERROR_STAPLE_MISSING = 450,
  // The response does not parse, or has a critical extension.
  TERSE_ERROR_STAPLE_MALFORMED = 451,
  // The responder had no answer (RFC 6960, 2.3).
  TERSE_ERROR_STAPLE_NOT_SUCCESSFUL = 452,
  // The response is about other certificates.
  TERSE_ERROR_STAPLE_OTHER_CERTIFICATE = 453,
  // The response is neither signed by the issuer of the certificate, nor by a responder that the issuer has
  // certified for that (RFC 6960, 4.2.2.2).
  TERSE_ERROR_STAPLE_NOT_FROM_ISSUER = 454,
  // The response is signed with an algorithm that is not accepted.
  TERSE_ERROR_STAPLE_UNSUPPORTED_ALGORITHM = 455,
  // The response has expired at this time: its nextUpdate, or a day after its thisUpdate.
  TERSE_ERROR_STAPLE_OUT_OF_DATE = 456,
  // The response is valid from this time on.
  TERSE_ERROR_STAPLE_NOT_YET_VALID = 457,
  // The responder does not know the certificate.
  TERSE_ERROR_STAPLE_UNKNOWN_STATUS = 458,
  // The client's key was made by an authority, in an epoch, or for an algorithm that this server has no key of,
  // and there is no fall-back to certificates.
  TERSE_ERROR_IDENTITY_UNKNOWN_AUTHORITY = 500,
  // The epoch of the key is over, and there is no fall-back to certificates.
  TERSE_ERROR_IDENTITY_EXPIRED = 501,
  // This side does not know the time, so that the epoch of the key may be over.
  TERSE_ERROR_IDENTITY_CLOCK_UNKNOWN = 502,
  // The peer is denied by name.
  TERSE_ERROR_IDENTITY_DENIED = 503,
  // The peer claims the identity of this side.
  TERSE_ERROR_IDENTITY_OWN_IDENTITY = 504,
  // The server has another identity than the one that the client expects.
  TERSE_ERROR_IDENTITY_OTHER_IDENTITY = 505,
  // A field of identity_share has a length that does not fit the algorithm.
  TERSE_ERROR_IDENTITY_ILLEGAL_LENGTH = 506,
  // identity_share comes with pre_shared_key.
  TERSE_ERROR_IDENTITY_WITH_PRE_SHARED_KEY = 507,
  // The client proves no identity, and this server admits no anonymous clients.
  TERSE_ERROR_IDENTITY_MISSING = 508,
  // The ticket of the early data was used on another connection in the meantime, or its ClientHello came twice.
  TERSE_ERROR_IDENTITY_EARLY_DATA_TAKEN = 509,
  // The server wants no identity, and the client has no trust in certificates.
  TERSE_ERROR_IDENTITY_NOT_SELECTED = 510,
  // The source of randomness failed.
  TERSE_ERROR_CRYPTO_RANDOM_FAILED = 600,
  // A key share has the wrong length, is not a point of the group, or has low order.
  TERSE_ERROR_CRYPTO_INVALID_KEY_SHARE = 601,
  // Authentication of a record failed.
  TERSE_ERROR_CRYPTO_DECRYPT_FAILED = 602,
  // A key has the wrong length, or an output is too long, which is a bug in the caller.
  TERSE_ERROR_CRYPTO_INVALID_LENGTH = 603,
  // The key cannot sign with this scheme.
  TERSE_ERROR_CRYPTO_UNSUPPORTED_SCHEME = 604,
  // The signer failed, for example because the secure element is gone.
  TERSE_ERROR_CRYPTO_SIGNING_FAILED = 605,
  // Application data was sent, or keys were requested, before the handshake was finished.
  TERSE_ERROR_API_MISUSE_HANDSHAKE_NOT_FINISHED = 700,
  // The connection is closed or has failed.
  TERSE_ERROR_API_MISUSE_CLOSED = 701,
  // The configuration offers nothing of this kind, so that no handshake could succeed.
  TERSE_ERROR_API_MISUSE_EMPTY_CONFIGURATION = 702,
  // The configuration names something of this kind that the crypto provider does not have.
  TERSE_ERROR_API_MISUSE_UNSUPPORTED = 703,
  // A credential has no certificates.
  TERSE_ERROR_API_MISUSE_EMPTY_CHAIN = 704,
  // A server that accepts early data, but resumes no session that it could come in.
  TERSE_ERROR_API_MISUSE_EARLY_DATA_WITHOUT_RESUMPTION = 705,
  // A server that names certificate authorities, but asks no client for a certificate.
  TERSE_ERROR_API_MISUSE_NO_CLIENT_IS_ASKED = 706,
  // More than 16 credentials.
  TERSE_ERROR_API_MISUSE_TOO_MANY_CREDENTIALS = 707,
  // The private key does not belong to the first certificate of the chain.
  TERSE_ERROR_API_MISUSE_KEY_DOES_NOT_MATCH_CERTIFICATE = 708,
  // No trust anchor or raw public key is configured, so that no peer could be accepted.
  TERSE_ERROR_API_MISUSE_NO_TRUST_ANCHORS = 709,
  // A certificate of the trust anchors or of the own chain does not parse.
  TERSE_ERROR_API_MISUSE_MALFORMED_CERTIFICATE = 710,
  // A trusted public key, or that of an own key, does not parse.
  TERSE_ERROR_API_MISUSE_MALFORMED_PUBLIC_KEY = 711,
  // A trusted public key is of a kind that the crypto provider does not verify, or an RSA key of fewer than 2,048
  // bits.
  TERSE_ERROR_API_MISUSE_UNSUPPORTED_PUBLIC_KEY = 712,
  // A CRL does not parse.
  TERSE_ERROR_API_MISUSE_MALFORMED_CRL = 713,
  // An OCSP response that was to be stapled does not parse, or is longer than 16,384 bytes.
  TERSE_ERROR_API_MISUSE_MALFORMED_STAPLE = 714,
  // An OCSP response that was to be stapled is not about the certificate of the credential.
  TERSE_ERROR_API_MISUSE_STAPLE_OF_OTHER_CERTIFICATE = 715,
  // A limit is outside the range of its type: record_size_limit 64 to 16,385.
  TERSE_ERROR_API_MISUSE_LIMIT_OUT_OF_RANGE = 716,
  // The limit with this name is 0, which allows nothing at all.
  TERSE_ERROR_API_MISUSE_ZERO_LIMIT = 717,
  // max_record is outside of 64 to 16,384, or record_size_limit or max_fragment_length allows larger records.
  TERSE_ERROR_API_MISUSE_MAX_RECORD_OUT_OF_RANGE = 718,
  // A name is longer than the protocol allows.
  TERSE_ERROR_API_MISUSE_NAME_TOO_LONG = 719,
  // The lifetime of tickets is outside of 1 second to 7 days (RFC 9846, 4.7.1).
  TERSE_ERROR_API_MISUSE_TICKET_LIFETIME = 720,
  // This side does not send early data.
  TERSE_ERROR_API_MISUSE_NO_EARLY_DATA = 721,
  // A pre-shared key has fewer than 128 bits (RFC 9257, 6).
  TERSE_ERROR_API_MISUSE_SHORT_PSK = 722,
  // The identity of a pre-shared key is empty, or it or the importer's context is longer than 4,096 bytes.
  TERSE_ERROR_API_MISUSE_PSK_IDENTITY = 723,
  // A client with an identity key connects to an IP address, and is not told which identity the server has.
  TERSE_ERROR_API_MISUSE_NO_EXPECTED_IDENTITY = 724,
  // An identity is configured beside pre-shared keys, or without TLS 1.3.
  TERSE_ERROR_API_MISUSE_IDENTITY_CONFIGURATION = 725,
  // A client with early data at first contact falls back to TLS 1.2, which cannot refuse early data.
  TERSE_ERROR_API_MISUSE_FIRST_CONTACT_WITH_TLS12 = 726,
  // Peers that are taken unverified go with nothing of this kind, which would keep what is known of a peer, or let
  // another one in.
  TERSE_ERROR_API_MISUSE_UNVERIFIED_WITH = 727,
  // A signature was provided that was not requested.
  TERSE_ERROR_API_MISUSE_NO_SIGNATURE_DUE = 728,
  // A store's answer was provided that was not requested.
  TERSE_ERROR_API_MISUSE_NO_STORE_ANSWER_DUE = 729,
  // A label for exported keys is one of the protocol's own (RFC 5705, 4).
  TERSE_ERROR_API_MISUSE_RESERVED_LABEL = 730,
  // Keys cannot be exported from a TLS 1.2 connection without the extended master secret, since another connection
  // may have the same ones (RFC 7627, 5.4).
  TERSE_ERROR_API_MISUSE_NO_EXPORTER = 731,
  // TLS 1.2 has no KeyUpdate.
  TERSE_ERROR_API_MISUSE_NO_KEY_UPDATE = 732,
  // The peer has not acknowledged the previous KeyUpdate, or the end of the handshake, yet (RFC 9147, 8).
  TERSE_ERROR_API_MISUSE_KEY_UPDATE_UNDER_WAY = 733,
  // New connection IDs require DTLS 1.3, negotiated connection IDs, and an ID of the handshake that is not empty
  // (RFC 9147, 9).
  TERSE_ERROR_API_MISUSE_NO_CONNECTION_IDS = 734,
  // The peer has not answered the request for connection IDs, or not acknowledged new ones, yet.
  TERSE_ERROR_API_MISUSE_CONNECTION_IDS_UNDER_WAY = 735,
  // The connection belongs to an endpoint, which must provide its connection IDs.
  TERSE_ERROR_API_MISUSE_OF_ENDPOINT = 736,
  // The key has reached its limit of records (RFC 9846, 5.5) and TLS 1.2 cannot replace it, so a new connection is
  // needed.
  TERSE_ERROR_API_MISUSE_KEY_EXHAUSTED = 737,
  // The message does not fit into one protected datagram: max_message returns its maximum length.
  TERSE_ERROR_API_MISUSE_MESSAGE_TOO_LONG = 738,
  // Too much waits to be sent to the peer (max_send_buffer), for example because its new address is not validated
  // yet. Nothing was taken, and the call may be repeated once some of it was sent.
  TERSE_ERROR_API_MISUSE_SEND_BUFFER_FULL = 739,
  // max_datagram is outside of 50 to 65,507 bytes, or too small for the connection IDs.
  TERSE_ERROR_API_MISUSE_DATAGRAM_OUT_OF_RANGE = 740,
  // The configuration is for a stream, and an endpoint or a setting needs datagrams.
  TERSE_ERROR_API_MISUSE_NO_DATAGRAMS = 741,
  // A retransmission timeout is 0, or the order is wrong: min, initial and max must not decrease.
  TERSE_ERROR_API_MISUSE_TIMEOUTS_OUT_OF_RANGE = 742,
  // The configuration wants a part of the engine that the client was built without.
  TERSE_ERROR_API_MISUSE_MISSING_PART = 743,
  // A trust anchor has name constraints, which the validator without path building does not know.
  TERSE_ERROR_API_MISUSE_CONSTRAINED_TRUST_ANCHOR = 744,
  // The key is malformed.
  TERSE_ERROR_KEY_MALFORMED = 800,
  // The provider does not support the kind of key, or its curve.
  TERSE_ERROR_KEY_UNSUPPORTED_ALGORITHM = 801,
  // The provider does not sign with RSA keys, for the reason in its documentation.
  TERSE_ERROR_KEY_RSA_SIGNING_DISABLED = 802,
  // The modulus of an RSA key is shorter than 2,048 bits, or longer than the provider supports.
  TERSE_ERROR_KEY_UNSUPPORTED_RSA_SIZE = 803,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_error terse_error;
#else
typedef int32_t terse_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a callback returns.
enum terse_callback
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It has done its work. Any number that is not listed here means TERSE_CALLBACK_FAILED.
  TERSE_CALLBACK_DONE = 0,
  // A signer answers later: see `terse_provide_signature`.
  TERSE_CALLBACK_PENDING = 1,
  // A store has nothing under this key.
  TERSE_CALLBACK_NOT_FOUND = 2,
  // It could not do its work.
  TERSE_CALLBACK_FAILED = -1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_callback terse_callback;
#else
typedef int32_t terse_callback;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a server treats clients without a certificate.
enum terse_client_authentication
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Clients are asked for a certificate, and may have none.
  TERSE_CLIENT_AUTHENTICATION_OPTIONAL = 1,
  // Clients without a certificate are refused.
  TERSE_CLIENT_AUTHENTICATION_REQUIRED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum terse_client_authentication terse_client_authentication;
#else
typedef int32_t terse_client_authentication;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a client may do. It never changes, and any number of connections use it, also on several threads at once, if its
// callbacks may be called there.
//
// It has locks that spin, as have its credentials, which all configurations of one builder share. On one core, tasks of different
// priorities must not share any of these: one that pre-empts another within a lock spins for ever. Each has a builder of its own, or
// all of them call the library within one mutex of the program.
typedef struct terse_client_config terse_client_config;

// What clients keep of servers. Several configurations may share one, and then never show the same ticket twice.
//
// While one thread uses a store, also one in memory, others that need it spin. On one core, tasks of different priorities must not
// share a store: one that pre-empts another within its lock spins for ever. Each has a store of its own, or all of them call the
// library within one mutex of the program.
typedef struct terse_client_store terse_client_store;

// What a configuration is made of: settings, which are added one by one, and then a configuration. One thread at a time.
typedef struct terse_config_builder terse_config_builder;

// A connection of a client or a server. One thread at a time: the library takes no lock, and a connection may go from one thread to
// another between two calls.
typedef struct terse_connection terse_connection;

// What a server may do. It never changes, and any number of connections use it, also on several threads at once, if its
// callbacks may be called there.
//
// It has locks that spin, as have its credentials, which all configurations of one builder share. On one core, tasks of different
// priorities must not share any of these: one that pre-empts another within a lock spins for ever. Each has a builder of its own, or
// all of them call the library within one mutex of the program.
typedef struct terse_server_config terse_server_config;

// What servers keep of clients, in memory. Several configurations may share one.
//
// While one thread uses a store, others that need it spin. On one core, tasks of different priorities must not share a store: one
// that pre-empts another within its lock spins for ever. Each has a store of its own, or all of them call the library within one
// mutex of the program.
typedef struct terse_server_store terse_server_store;

// What a function returns: 0 if it has done its work, else a value of `enum terse_error`.
typedef int32_t terse_result;

// A private key that the program signs with. The library copies it when it is given; the schemes are copied as well.
typedef struct terse_signer {
  // What `sign` gets. It must live as long as configurations and connections that have this signer.
  void *context;
  // Signs `message`, which is not hashed yet, with the signature scheme `scheme` (IANA, TLS SignatureScheme: 0x0403 is
  // ecdsa_secp256r1_sha256, whose signature is DER). Writes at most `capacity` bytes to `signature`, which has 1,024, and
  // their number to `signature_len`. None of the pointers is NULL, and none is valid after the call.
  //
  // Returns TERSE_CALLBACK_DONE; TERSE_CALLBACK_PENDING if the signature comes later (TERSE_EVENT_NEED_SIGNATURE follows);
  // or TERSE_CALLBACK_FAILED, which ends the handshake. Must not be NULL.
  int32_t (*sign)(void *context,
                  uint16_t scheme,
                  const uint8_t *message,
                  size_t message_len,
                  uint8_t *signature,
                  size_t capacity,
                  size_t *signature_len);
  // The signature schemes of the key, preferred first.
  const uint16_t *schemes;
  // How many they are: 1 to 16.
  size_t schemes_len;
} terse_signer;

// Fills `out` with `len` random bytes that nobody can guess, from the hardware or the operating system. Returns
// TERSE_CALLBACK_DONE, or TERSE_CALLBACK_FAILED, which ends the connection. What it has written then is not used.
typedef int32_t (*terse_random)(void *context, uint8_t *out, size_t len);

// The time of a call.
typedef struct terse_time {
  // The monotonic time in milliseconds since a start that the program chooses. It never goes back.
  uint64_t monotonic_ms;
  // The wall-clock time in seconds since 1970; 0 on a device that does not know it.
  uint64_t unix_seconds;
} terse_time;

// Writes the time to `time`, which is never NULL. Called when a function gets no time.
typedef void (*terse_clock)(void *context, struct terse_time *time);

// What a signer was asked for and answers later.
typedef struct terse_signature_request {
  // The signature scheme, as the signer got it.
  uint16_t scheme;
  // What is to be signed, not its hash. It belongs to the connection, and is valid until the next call with it.
  const uint8_t *message;
  // Its length in bytes.
  size_t message_len;
} terse_signature_request;

#if defined(TERSE_FIRMWARE)
// What the library needs of a firmware. Every function may be NULL.
typedef struct terse_firmware {
  // What the functions get. It lives as long as the program.
  void *context;
  // Keeps other tasks out of the heap until `unlock`: a mutex, or a critical section where tasks of several priorities use the
  // library. The two are called in pairs, never one within another. NULL where one task alone uses the library.
  void (*lock)(void *context);
  // Lets other tasks in again. Not NULL if `lock` is not.
  void (*unlock)(void *context);
  // Called when the library cannot go on: it is out of memory, or has a bug at `line` of `file`, a text of `file_len` bytes without
  // a NUL. It must not return, but reset the device; if it returns, or is NULL, the library stays in a loop until the watchdog
  // resets.
  void (*panic)(void *context, const char *file, size_t file_len, uint32_t line);
} terse_firmware;
#endif

// A store of the program: values under keys of 16 bytes. The library never calls two of them at once for one store.
//
// The values are secret, as private keys are, and trusted, as CA certificates are: whoever can read them can go on with a
// session, and whoever can write them can name a server as verified. A value that was damaged is taken for none.
//
// None of the functions may be NULL, and none may call the library. The pointers that they get are never NULL, and are valid
// during the call only.
typedef struct terse_store_callbacks {
  // What the functions get. It must live as long as the store, and as the configurations and connections that have it.
  void *context;
  // Copies the value under `key` to `value`, which has room for `capacity` bytes, and its length to `value_len`. Returns
  // TERSE_CALLBACK_DONE, TERSE_CALLBACK_NOT_FOUND or TERSE_CALLBACK_FAILED, also for a value that is longer.
  int32_t (*load)(void *context, const uint8_t *key, size_t key_len, uint8_t *value, size_t capacity, size_t *value_len);
  // Keeps `value` under `key`, in place of what is there, and returns once a reset cannot undo it: TERSE_CALLBACK_DONE, or
  // TERSE_CALLBACK_FAILED, which costs the next connection a full handshake and no more.
  int32_t (*save)(void *context, const uint8_t *key, size_t key_len, const uint8_t *value, size_t value_len);
  // Removes what is under `key`, and returns once a reset cannot undo it: TERSE_CALLBACK_DONE, TERSE_CALLBACK_NOT_FOUND or
  // TERSE_CALLBACK_FAILED.
  int32_t (*remove)(void *context, const uint8_t *key, size_t key_len);
  // The length of the longest value that is kept, in bytes: 64 to 65,536, or 0 for 4,096. 1,024 are enough where certificates are
  // on P-256, and servers do not put them into their tickets.
  size_t max_value;
} terse_store_callbacks;

// What a connection did. Complete once the handshake is. Later versions may have more fields at the end.
typedef struct terse_summary {
  // TERSE_VERSION_1_2 or TERSE_VERSION_1_3, of TLS or of DTLS; 0 before it was negotiated.
  uint16_t version;
  // The cipher suite (IANA, TLS Cipher Suites); 0 before it was negotiated.
  uint16_t cipher_suite;
  // The group of the key exchange (IANA, TLS Supported Groups); 0 if there is none.
  uint16_t group;
  // The scheme that the peer has signed this handshake with; 0 if it has signed nothing.
  uint16_t signature_scheme;
  // Whether the connection runs over datagrams.
  bool is_datagram;
  // What the handshake could leave out.
  terse_mode mode;
  // The objects that were not sent because they were cached: TERSE_CACHED_...
  uint8_t cached;
  // How the peer has proved its identity.
  terse_authentication authenticated_by;
  // Signatures in certificate chains that were verified.
  uint32_t signatures_verified;
  // Signatures in certificate chains that were not verified again.
  uint32_t signatures_saved;
  // Round trips before the client may send data.
  uint32_t round_trips;
  // Datagrams that were sent again.
  uint32_t retransmissions;
  // Records that came in datagrams and were dropped, since nobody has proved to have sent them, or they came twice.
  uint32_t dropped;
  // Bytes that were sent until the handshake was complete on both sides, record headers and tags included.
  uint64_t sent_bytes;
  // Bytes that were received until then.
  uint64_t received_bytes;
  // How long the handshake took, in milliseconds of the program's clock.
  uint64_t handshake_ms;
} terse_summary;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns a builder with no settings and all cryptography, which the README lists under "Cryptography". The program owns
// it: `terse_config_builder_free`. Never NULL: a program without memory is aborted.
struct terse_config_builder *terse_config_builder_new(void);

// Returns a builder with no settings and the cryptography of small devices alone: keys and certificates on P-256, key
// exchange with X25519 and P-256, AES-128-GCM and AES-128-CCM with SHA-256, and no version before 1.3. A firmware that
// calls only this one has none of the rest in its image. The program owns it: `terse_config_builder_free`. Never NULL: a
// program without memory is aborted.
struct terse_config_builder *terse_config_builder_new_p256(void);

// Frees a builder, which may be NULL. Configurations that it made stay.
void terse_config_builder_free(struct terse_config_builder *builder);

// Makes the configuration of a client. It must trust somebody, or have a pre-shared key. The builder may be used again.
//
// On success `*config` is a configuration that the program owns (`terse_client_config_free`), else NULL. Errors: NULL_POINTER;
// NO_RANDOMNESS; WRONG_SIDE if a setting is for servers; and those that begin with API_MISUSE.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_config_builder_build_client(struct terse_config_builder *builder,
                                               struct terse_client_config **config);

// Makes the configuration of a server. It must have a credential or pre-shared keys. The builder may be used again.
//
// On success `*config` is a configuration that the program owns (`terse_server_config_free`), else NULL. Errors: NULL_POINTER;
// NO_RANDOMNESS; WRONG_SIDE if a setting is for clients; and those that begin with API_MISUSE.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_config_builder_build_server(struct terse_config_builder *builder,
                                               struct terse_server_config **config);

// Writes why the last call with this builder failed: one line in English, with a NUL at its end, and its length without the NUL
// to `*len`, which may be NULL. The text is empty if nothing has failed.
//
// Errors: NULL_POINTER; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_config_builder_message(const struct terse_config_builder *builder,
                                          char *out,
                                          size_t capacity,
                                          size_t *len);

// Trusts the CA certificates in `certificates`, beside those before: a PEM text, or DER, one after the other. They are copied.
//
// A client accepts servers whose chain leads to one of them, and whose name is the one that it connects to; a server accepts
// clients, if it asks for certificates.
//
// Errors: NULL_POINTER, MALFORMED_PEM, API_MISUSE_MALFORMED_CERTIFICATE.
//
// # Safety
//
// The pointers are NULL or as the type says; `certificates` has `len` readable bytes.
terse_result terse_config_builder_trust(struct terse_config_builder *builder,
                                        const uint8_t *certificates,
                                        size_t len);

// Trusts a raw public key (RFC 7250), beside those before: a SubjectPublicKeyInfo in PEM or DER. It is copied. A client accepts
// such a key from any server, whatever its name.
//
// Errors: NULL_POINTER, MALFORMED_PEM, API_MISUSE_MALFORMED_PUBLIC_KEY, API_MISUSE_UNSUPPORTED_PUBLIC_KEY.
//
// # Safety
//
// The pointers are NULL or as the type says; `key` has `len` readable bytes.
terse_result terse_config_builder_trust_public_key(struct terse_config_builder *builder,
                                                   const uint8_t *key,
                                                   size_t len);

// Proves this side's identity with a certificate chain, and the private key of its first certificate: at most 16 of them,
// preferred first. All is copied. The copies of a key in DER are wiped when the builder and its configurations are freed; one in PEM
// may leave some behind in the heap.
//
// `chain` has the leaf first, and the root need not be there: a PEM text, or DER, one after the other. `key` is PKCS #8, SEC 1 or
// PKCS #1, in PEM or DER, and not encrypted; P-256, P-384 or Ed25519.
//
// Errors: NULL_POINTER, MALFORMED_PEM, those that begin with KEY, API_MISUSE_MALFORMED_CERTIFICATE,
// API_MISUSE_KEY_DOES_NOT_MATCH_CERTIFICATE.
//
// # Safety
//
// The pointers are NULL or as the type says; the buffers have as many readable bytes.
terse_result terse_config_builder_credential(struct terse_config_builder *builder,
                                             const uint8_t *chain,
                                             size_t chain_len,
                                             const uint8_t *key,
                                             size_t key_len);

// Proves this side's identity with a certificate chain, as `terse_config_builder_credential` does, and a key that the program
// signs with. The signer is copied.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT, MALFORMED_PEM, API_MISUSE_MALFORMED_CERTIFICATE.
//
// # Safety
//
// The pointers are NULL or as the type says; `chain` has `chain_len` readable bytes.
terse_result terse_config_builder_credential_signer(struct terse_config_builder *builder,
                                                    const uint8_t *chain,
                                                    size_t chain_len,
                                                    const struct terse_signer *signer);

// Proves this side's identity with a raw public key (RFC 7250), whose private half is `key`, as for
// `terse_config_builder_credential`.
//
// Errors: NULL_POINTER, MALFORMED_PEM, those that begin with KEY.
//
// # Safety
//
// The pointers are NULL or as the type says; `key` has `len` readable bytes.
terse_result terse_config_builder_raw_public_key(struct terse_config_builder *builder, const uint8_t *key, size_t len);

// Adds a pre-shared key (RFC 9257), known to one client and one server: at least 16 random bytes, and an identity of 1 to 4,096
// bytes, which is sent in the clear. Both are copied.
//
// Errors: NULL_POINTER, API_MISUSE_SHORT_PSK, API_MISUSE_PSK_IDENTITY.
//
// # Safety
//
// The pointers are NULL or as the type says; the buffers have as many readable bytes.
terse_result terse_config_builder_psk(struct terse_config_builder *builder,
                                      const uint8_t *identity,
                                      size_t identity_len,
                                      const uint8_t *key,
                                      size_t key_len);

// Asks clients for a certificate, for a server: a value of `enum terse_client_authentication`. Without this call none are asked.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT.
terse_result terse_config_builder_client_authentication(struct terse_config_builder *builder,
                                                        int32_t authentication);

// Accepts certificates in calls whose time has no wall-clock time, as if none had expired. Without this setting they are refused
// then. Errors: NULL_POINTER.
terse_result terse_config_builder_accept_without_clock(struct terse_config_builder *builder);

// Takes randomness from `random`, which gets `context`. Without this call, or with NULL, it is the operating system's, which
// firmware does not have. Connections call `random` on the thread of the call that needs randomness.
//
// `context` must live as long as configurations and connections of this builder. Errors: NULL_POINTER.
terse_result terse_config_builder_random(struct terse_config_builder *builder,
                                         terse_random random,
                                         void *context);

// Takes the time from `clock`, which gets `context`, in calls whose `now` is NULL. Without this call, or with NULL, it is the
// operating system's, which firmware does not have: there each call must give the time.
//
// `context` must live as long as configurations and connections of this builder. Errors: NULL_POINTER.
terse_result terse_config_builder_clock(struct terse_config_builder *builder,
                                        terse_clock clock,
                                        void *context);

// Sets the least and the greatest version: TERSE_VERSION_1_2 or TERSE_VERSION_1_3. Both without this call. Errors: NULL_POINTER,
// INVALID_ARGUMENT.
terse_result terse_config_builder_versions(struct terse_config_builder *builder,
                                           uint16_t least,
                                           uint16_t greatest);

// Adds an application protocol (ALPN, RFC 7301) of 1 to 255 bytes, preferred less than those before. It is copied. Errors:
// NULL_POINTER, INVALID_ARGUMENT.
//
// # Safety
//
// The pointers are NULL or as the type says; `protocol` has `len` readable bytes.
terse_result terse_config_builder_alpn(struct terse_config_builder *builder,
                                       const uint8_t *protocol,
                                       size_t len);

// Runs connections over datagrams: DTLS instead of TLS.
//
// `max_datagram` is the length of the longest datagram that is sent, 50 to 65,507 bytes: the MTU of the path without the 28 bytes of
// IPv4 and UDP, or the 48 of IPv6 and UDP. 0 stands for 1,232, which fits the least MTU of IPv6. `initial_timeout_ms` is how long an
// answer is waited for before a flight is sent again, doubled each time; 0 stands for 1,000.
//
// Errors: NULL_POINTER, API_MISUSE_DATAGRAM_OUT_OF_RANGE.
terse_result terse_config_builder_datagrams(struct terse_config_builder *builder,
                                            size_t max_datagram,
                                            uint32_t initial_timeout_ms);

// Offers connection IDs (RFC 9146) over datagrams, for a client whose address may change: records that come to this side have one of
// `len` bytes, which may be 0. Without `terse_config_builder_datagrams`, before or after this call, no configuration can be made:
// API_MISUSE_NO_DATAGRAMS. Errors: NULL_POINTER.
terse_result terse_config_builder_connection_id(struct terse_config_builder *builder,
                                                uint8_t len);

// Limits the memory of a connection, in bytes; 0 leaves a limit as it is.
//
// `max_handshake_message` is the longest handshake message that is taken (65,536 unless set), `max_record` the longest record
// that peers may send, which they are told of (64 to 16,384), `max_send_buffer` how much may wait to be sent before `terse_send`
// takes no more (65,536 unless set). A device that has 2,048, 1,024 and 1,024 needs at most 25 kB of heap.
//
// Errors: NULL_POINTER. Values that fit nothing are refused when the configuration is made.
terse_result terse_config_builder_limits(struct terse_config_builder *builder,
                                         size_t max_handshake_message,
                                         size_t max_record,
                                         size_t max_send_buffer);

// Keeps what a client learns of servers in `store`: TERSE_USE_CACHE, TERSE_USE_RESUMPTION, or both. Where both could be used,
// sessions go first. The configuration shares the store, which may be freed.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT.
terse_result terse_config_builder_client_store(struct terse_config_builder *builder,
                                               const struct terse_client_store *store,
                                               uint32_t uses);

// Keeps what a server learns of clients in `store`: TERSE_USE_CACHE, TERSE_USE_RESUMPTION, or both. The configuration shares the
// store, which may be freed. A session may be resumed for `lifetime_seconds`, up to seven days; 0 stands for one day.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT.
terse_result terse_config_builder_server_store(struct terse_config_builder *builder,
                                               const struct terse_server_store *store,
                                               uint32_t uses,
                                               uint32_t lifetime_seconds);

// Frees a configuration, which may be NULL. Connections that were made with it keep what they need, and may live longer; what
// its callbacks get must live as long as they do.
void terse_client_config_free(struct terse_client_config *config);

// Frees a configuration, which may be NULL. Connections that were made with it keep what they need, and may live longer; what
// its callbacks get must live as long as they do.
void terse_server_config_free(struct terse_server_config *config);

// Begins a connection to the server `server_name`, a DNS name or an IP address in text, which must be in its certificate. The port
// separates what is kept of two servers on one host. The first bytes to send wait in `terse_poll_transmit`.
//
// The configuration may be freed before the connection. `now` may be NULL if there is a clock.
//
// On success `*connection` is a connection that the program owns (`terse_connection_free`), else NULL. Errors: NULL_POINTER,
// MALFORMED_SERVER_NAME, NO_CLOCK, those that begin with CRYPTO or API_MISUSE.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_connection_new_client(const struct terse_client_config *config,
                                         const char *server_name,
                                         uint16_t port,
                                         const struct terse_time *now,
                                         struct terse_connection **connection);

// Begins a connection that waits for a client. Over datagrams it has one peer only, whose address the program has bound it to: the
// first datagrams of strangers make no connection to be kept.
//
// The configuration may be freed before the connection. `now` may be NULL if there is a clock.
//
// On success `*connection` is a connection that the program owns (`terse_connection_free`), else NULL. Errors: NULL_POINTER,
// NO_CLOCK.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_connection_new_server(const struct terse_server_config *config,
                                         const struct terse_time *now,
                                         struct terse_connection **connection);

// Frees a connection, which may be NULL, and wipes its keys. The peer is told nothing: see `terse_close`. The store of a client may
// be asked once more; a callback that uses the connection meanwhile gets BUSY. A callback of the connection must not free it; if it
// does, that call changes nothing, and unless the connection is being freed, it is leaked.
//
// # Safety
//
// The pointer is NULL, or a connection that was not freed.
void terse_connection_free(struct terse_connection *connection);

// Takes `len` bytes that the transport has received, and decrypts them in place: any piece of a stream, in order, or one datagram.
// Writes to `*taken` how many were taken. Fewer than given are taken only while application data waits (`terse_recv`), or a signature
// (`terse_provide_signature`); then give the rest again.
//
// `now` may be NULL if there is a clock. Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY, NO_CLOCK; any other is the end of the
// connection, also when an earlier call has returned it.
//
// # Safety
//
// The pointers are NULL or as the type says; `input` has `len` bytes.
terse_result terse_handle_input(const struct terse_connection *connection,
                                const struct terse_time *now,
                                uint8_t *input,
                                size_t len,
                                size_t *taken);

// The stream has ended. An error says that data of the peer may be missing (TRUNCATED): it had not sent close_notify.
//
// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, TRUNCATED.
terse_result terse_handle_end_of_input(const struct terse_connection *connection, const struct terse_time *now);

// Writes what is to be sent next to `out`, and its length to `*len`: a piece of a stream, or one datagram. The length is 0 when
// there is nothing to send. Call it after each other call until then, also after one that has failed: an alert may wait.
//
// `capacity` is at least 1, and over datagrams at least `max_datagram` of the configuration (1,232 unless set). `now` may be NULL
// if there is a clock. Errors: NULL_POINTER, INVALID_ARGUMENT, BUFFER_TOO_SMALL, BUSY, NO_CLOCK.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_poll_transmit(const struct terse_connection *connection,
                                 const struct terse_time *now,
                                 uint8_t *out,
                                 size_t capacity,
                                 size_t *len);

// Returns what has happened, each event once; TERSE_EVENT_NONE when there is nothing more, and for NULL. Call it after each
// `terse_handle_input`, `terse_handle_timeout` and `terse_provide_signature`.
terse_event terse_poll_event(const struct terse_connection *connection);

// Writes to `*at_ms` the monotonic time at which `terse_handle_timeout` is to be called, and returns whether there is such a time:
// never over a stream. Ask again after each other call. Returns false for NULL.
//
// # Safety
//
// The pointers are NULL or as the type says.
bool terse_poll_timeout(const struct terse_connection *connection,
                        uint64_t *at_ms);

// Time has passed: over datagrams, what was not answered waits in `terse_poll_transmit` again. A call that comes too early does
// nothing.
//
// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, and those that end the connection, TIMED_OUT
// among them.
terse_result terse_handle_timeout(const struct terse_connection *connection,
                                  const struct terse_time *now);

// Takes data to send, from TERSE_EVENT_CONNECTED on, and copies it. Writes to `*taken` how many bytes were taken: over a stream
// fewer than given while too much waits in `terse_poll_transmit`. Over datagrams one call makes one datagram, of at most
// `terse_max_message` bytes, and takes all or none.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY, API_MISUSE_HANDSHAKE_NOT_FINISHED, API_MISUSE_CLOSED,
// API_MISUSE_MESSAGE_TOO_LONG, API_MISUSE_KEY_EXHAUSTED.
//
// # Safety
//
// The pointers are NULL or as the type says; `data` has `len` readable bytes.
terse_result terse_send(const struct terse_connection *connection,
                        const uint8_t *data,
                        size_t len,
                        size_t *taken);

// Writes data that the peer has sent to `out`, and its length to `*len`, which is 0 when there is none. Over datagrams it is of one
// datagram; of one that is longer than `capacity`, the next call gives more.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_recv(const struct terse_connection *connection,
                        uint8_t *out,
                        size_t capacity,
                        size_t *len);

// Closes this side: close_notify waits in `terse_poll_transmit`. What the peer still sends can be received. Errors: NULL_POINTER,
// BUSY.
terse_result terse_close(const struct terse_connection *connection);

// Closes this side because the program has waited long enough for the peer; a client's store remembers that what it offered may
// be why. `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK.
terse_result terse_give_up(const struct terse_connection *connection,
                           const struct terse_time *now);

// Returns whether the handshake is complete and the connection has not failed. Returns false for NULL.
bool terse_is_connected(const struct terse_connection *connection);

// Returns whether the handshake is not complete yet and has not failed. Returns false for NULL.
bool terse_is_handshaking(const struct terse_connection *connection);

// Writes the time that calls without one have to `*now`: that of the clock, whose monotonic time `terse_poll_timeout` uses, too.
// Errors: NULL_POINTER, BUSY, NO_CLOCK.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_now(const struct terse_connection *connection,
                       struct terse_time *now);

// Returns how many bytes fit into one record, and over datagrams into one `terse_send`. Over datagrams it may become less when
// flights are lost again and again. Returns 0 for NULL.
size_t terse_max_message(const struct terse_connection *connection);

// Returns the alert (IANA, TLS Alerts: 42 is bad_certificate) that ended the connection: the peer's, if it refused
// (ALERT_RECEIVED), else the one that this side sends. Returns -1 if there is none, and for NULL.
int32_t terse_connection_alert(const struct terse_connection *connection);

// Writes why the connection has failed: one line in English with a NUL at its end, and its length without the NUL to `*len`,
// which may be NULL. The text is empty if it has not.
//
// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_connection_message(const struct terse_connection *connection,
                                      char *out,
                                      size_t capacity,
                                      size_t *len);

// Writes who the peer is: the name in its certificate or the identity of its key, as a text with a NUL at its end, and its length
// without the NUL to `*len`, which may be NULL. The text is empty if the peer has proved nothing. It is for people: what it says is
// that the peer was accepted under this name.
//
// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_connection_peer_name(const struct terse_connection *connection,
                                        char *out,
                                        size_t capacity,
                                        size_t *len);

// Writes the server name that the client has sent (SNI), on a server, as a text with a NUL at its end, and its length without the NUL
// to `*len`, which may be NULL. The text is empty if there is none.
//
// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_connection_server_name(const struct terse_connection *connection,
                                          char *out,
                                          size_t capacity,
                                          size_t *len);

// Writes the application protocol that was negotiated (ALPN), and its length to `*len`, which is 0 if there is none.
//
// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length; 255 are always enough.
//
// # Safety
//
// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
terse_result terse_connection_alpn(const struct terse_connection *connection,
                                   uint8_t *out,
                                   size_t capacity,
                                   size_t *len);

// Writes what is to be signed to `*request`, after TERSE_EVENT_NEED_SIGNATURE. Errors: NULL_POINTER, BUSY,
// API_MISUSE_NO_SIGNATURE_DUE.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_pending_signature(const struct terse_connection *connection,
                                     struct terse_signature_request *request);

// Takes the signature that a signer answered later, and goes on with the handshake. NULL says that the signer has failed, which ends
// the handshake (CRYPTO_SIGNING_FAILED).
//
// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, API_MISUSE_NO_SIGNATURE_DUE, and those that end
// the connection.
//
// # Safety
//
// The pointers are NULL or as the type says; `signature` has `len` readable bytes.
terse_result terse_provide_signature(const struct terse_connection *connection,
                                     const struct terse_time *now,
                                     const uint8_t *signature,
                                     size_t len);

// Returns the name of an error: "TERSE_ERROR_TRUNCATED"; "TERSE_OK" for 0; NULL if no error has this number.
//
// The text is static: it is never freed. Any thread may call this.
const char *terse_error_name(terse_result error);

// Returns what an error means for the connection. Any thread may call this.
terse_kind terse_error_kind(terse_result error);

#if defined(TERSE_FIRMWARE)
// Gives the library its memory: `len` bytes, at least 1,024, which nobody else uses from then on. Call it once, before any other
// function and before tasks begin. `firmware` may be NULL, and is copied.
//
// How much is needed: for each connection what `terse_config_builder_limits` says, and beside that the configuration with its chains,
// and what stores have room for. `terse_memory` says how much is in use.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT, ALREADY_INITIALIZED.
//
// # Safety
//
// The pointers are NULL or as the type says; `memory` has `len` bytes.
terse_result terse_init(uint8_t *memory,
                        size_t len,
                        const struct terse_firmware *firmware);
#endif

#if defined(TERSE_FIRMWARE)
// Writes how many bytes of the memory are in use, and how many are free, in pieces: one of the pointers may be NULL. Returns 0.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_memory(size_t *used,
                          size_t *free);
#endif

// Makes a store for clients, for at most `capacity` servers, 1 to 65,536; of more, the least recently used is forgotten.
//
// With `callbacks`, which are copied, what is kept outlives the program: the store asks for what it has not in memory, and
// saves what must not be lost. NULL keeps everything in memory.
//
// On success `*store` is a store that the program owns: `terse_client_store_free`. Errors: NULL_POINTER, INVALID_ARGUMENT.
//
// # Safety
//
// The pointers are NULL or as the type says.
terse_result terse_client_store_new(size_t capacity,
                                    const struct terse_store_callbacks *callbacks,
                                    struct terse_client_store **store);

// Frees a store, which may be NULL. Configurations that have it keep it as long as they live, and call its callbacks.
void terse_client_store_free(struct terse_client_store *store);

// Makes a store for servers, in memory, for at most `capacity` clients, 1 to 65,536, of 1 KiB each; of more, the least recently
// used is forgotten.
//
// On success `*store` is a store that the program owns: `terse_server_store_free`. Errors: NULL_POINTER, INVALID_ARGUMENT.
//
// # Safety
//
// The pointer is NULL or as the type says.
terse_result terse_server_store_new(size_t capacity,
                                    struct terse_server_store **store);

// Frees a store, which may be NULL. Configurations that have it keep it as long as they live.
void terse_server_store_free(struct terse_server_store *store);

// Writes what the connection did to `*summary`. `size` is `sizeof *summary`, as the program was compiled with: of a struct that has
// become longer, only what the program knows is written; of one that was shorter, the rest is 0.
//
// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY.
//
// # Safety
//
// The pointers are NULL or as the type says; `summary` has `size` writable bytes.
terse_result terse_connection_summary(const struct terse_connection *connection,
                                      struct terse_summary *summary,
                                      size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TERSE_H */
