//! An error is explained in a line for people: the problem, with the peer's name, and what to try.

use core::fmt;
use std::io::ErrorKind;

use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription, ApiMisuse, CertificateError, Error, IdentityRefused, InvalidMessage, PeerIncompatible,
    PeerMisbehaved, StapleError,
};

use crate::{NetError, NoAnswer};

/// A problem and its remedy. It is displayed as one line: `problem; advice`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The problem, with the peer's name.
    pub problem: String,
    /// A possible remedy; not every problem has one.
    pub advice: Option<&'static str>,
}

/// Explains what `error` means for a connection with `peer`, the name of the peer as the user knows it.
pub fn explain(error: &NetError, peer: &dyn fmt::Display) -> Explanation {
    let problem = match error {
        NetError::Tls(Error::Certificate(error)) => error.of(peer).to_string(),
        NetError::Tls(Error::AlertReceived(alert)) => format!("{peer} refused the connection with the alert {alert}"),
        NetError::Tls(Error::Truncated) => {
            format!("{peer} closed the connection without close_notify: data may be missing")
        }
        NetError::Tls(error) => format!("{peer}: {error}"),
        NetError::Io(error) => format!("the connection with {peer} failed: {error}"),
        NetError::ClosedInHandshake => format!("{peer}: the peer closed the connection during the handshake"),
        NetError::TimedOut { .. } => format!("{peer}: {error}"),
        NetError::NoAnswer(no_answer) => format!("{peer} {no_answer}"),
    };
    Explanation { problem, advice: advice(error) }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.advice {
            Some(advice) => write!(f, "{}; {advice}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

fn advice(error: &NetError) -> Option<&'static str> {
    match error {
        NetError::Tls(Error::Certificate(error)) => certificate_advice(error),
        NetError::Tls(Error::Identity(error)) => identity_advice(*error),
        NetError::Tls(Error::ApiMisuse(ApiMisuse::NoExpectedIdentity)) => {
            Some("name it (terse client --peer-identity), or give the server's DNS name (--server-name)")
        }
        NetError::Tls(Error::AlertReceived(alert)) => alert_advice(*alert),
        NetError::Tls(Error::PeerIncompatible(error)) => incompatible_advice(error),
        NetError::Tls(Error::InvalidMessage(InvalidMessage::UnknownContentType)) => {
            Some("check the address: another service may listen there")
        }
        NetError::Tls(Error::InvalidMessage(InvalidMessage::HandshakeTooLarge)) => {
            Some("check how many certificates and CA names the peer sends")
        }
        NetError::Tls(Error::Crypto(CryptoError::DecryptFailed)) => Some(
            "something on the way changes the bytes; or the two sides have different pre-shared keys; or an identity key \
                 does not belong to the identity that the other side expects (try again: a stale public part mends itself)",
        ),
        NetError::Tls(Error::PeerMisbehaved(PeerMisbehaved::Downgrade)) => {
            Some("something between the two sides changes the bytes: find out what it is")
        }
        NetError::Tls(Error::PeerMisbehaved(PeerMisbehaved::BadBinder)) => {
            Some("check that both sides have the same pre-shared key, imported on both or on neither")
        }
        NetError::ClosedInHandshake => Some("its log may say why; check that it speaks TLS 1.2 or 1.3 on this port"),
        NetError::TimedOut { in_handshake: true } => Some("check the address and the network, or allow more time"),
        NetError::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Some("check the address, and that the server runs"),
            ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some("check the address and the network"),
            ErrorKind::AddrInUse => Some("another program uses this port; choose another one, or 0 for any"),
            ErrorKind::AddrNotAvailable => Some("this machine does not have that address"),
            ErrorKind::PermissionDenied => Some("ports below 1024 may be reserved for the administrator"),
            _ => None,
        },
        NetError::NoAnswer(no_answer) => no_answer_advice(no_answer),
        NetError::Tls(_) | NetError::TimedOut { in_handshake: false } => None,
    }
}

fn no_answer_advice(no_answer: &NoAnswer) -> Option<&'static str> {
    match no_answer {
        NoAnswer { alert: Some(alert), .. } => alert_advice(*alert),
        NoAnswer { in_handshake: false, .. } => Some("datagrams may be lost: ask again"),
        NoAnswer { heard: true, .. } => Some(
            "its log may say why; or datagrams of this size do not arrive: try smaller ones; or the network is slower than \
             the time that was allowed",
        ),
        NoAnswer { dropped: 1.., .. } => Some("check that it speaks DTLS on this port"),
        NoAnswer { .. } => Some(
            "check the address, and that a DTLS server runs there, and that no firewall is between; or allow more time",
        ),
    }
}

fn certificate_advice(error: &CertificateError) -> Option<&'static str> {
    Some(match error {
        CertificateError::Required => "give the client a certificate from a CA that this server trusts",
        CertificateError::Expired { .. } => "renew it, or set this machine's clock if it is wrong",
        CertificateError::NotYetValid { .. } => "wait until then, or set the clock",
        CertificateError::NoTime => "set the clock, or accept certificates without one",
        CertificateError::UnknownIssuer => {
            "trust the root CA that issued it, and check that the peer sends its intermediate certificates"
        }
        CertificateError::UnknownPublicKey { .. } => {
            "trust the public key that the peer has now, once you know that it is the peer's"
        }
        CertificateError::WrongName => "use a name that the certificate has, or issue one for this name",
        CertificateError::Revoked => "issue a new certificate for it",
        CertificateError::UnknownRevocationStatus => "give the CRL of the CA that issued it",
        CertificateError::CrlExpired => "fetch a new CRL from the CA",
        CertificateError::Staple(error) => staple_advice(error)?,
        CertificateError::WrongUsage => {
            "issue one whose extended key usage allows it: serverAuth for a server, clientAuth for a client, or the one that \
             this side expects"
        }
        CertificateError::TooManyCertificates => "let the peer send its leaf and intermediate certificates alone",
        CertificateError::UnacceptedType => "let both sides use X.509 certificates, or both raw public keys",
        CertificateError::UnsupportedAlgorithm | CertificateError::ShortRsaKey { .. } => {
            "use P-256, P-384, Ed25519, or RSA with 2048 to 4096 bits"
        }
        CertificateError::BadSignature => {
            "check that it was the trusted CA that issued it, and not one of the same name"
        }
        CertificateError::ConstraintViolated => "check path length and name constraints of its CA",
        _ => return None,
    })
}

const fn identity_advice(error: IdentityRefused) -> Option<&'static str> {
    Some(match error {
        IdentityRefused::UnknownAuthority => {
            "give the server a key of that authority and epoch (terse pkg extract), or the client one of the server's"
        }
        IdentityRefused::Expired => "extract a key of the current epoch (terse pkg rotate, terse pkg extract)",
        IdentityRefused::ClockUnknown => "set the clock, or accept identities without one",
        IdentityRefused::Denied => "take it off the list of --deny if it is to connect",
        IdentityRefused::OwnIdentity => "give each side a key of its own",
        IdentityRefused::OtherIdentity => "check which server this is, or name the identity that it has",
        IdentityRefused::Missing => "give the client an identity key, require certificates, or admit anonymous clients",
        IdentityRefused::NotSelected => "give the client the CA of the server as well, to fall back on certificates",
        _ => return None,
    })
}

fn staple_advice(error: &StapleError) -> Option<&'static str> {
    Some(match error {
        StapleError::Missing => {
            "have it staple one (terse server --staple FILE, and TLS 1.3 for clients), or only ask for one"
        }
        StapleError::OutOfDate(_) => "have it fetch a new one, or set this machine's clock if it is wrong",
        StapleError::NotYetValid(_) => "wait until then, or set the clock",
        StapleError::NotFromIssuer => {
            "check that it comes from the responder of the CA that issued the certificate, and that a responder of its own \
             has the extended key usage OCSPSigning"
        }
        StapleError::OtherCertificate => {
            "have it fetch one for the certificate that it sends; it may have been renewed"
        }
        StapleError::Malformed | StapleError::NotSuccessful | StapleError::UnknownStatus => {
            "have it fetch a new one from the responder of its CA"
        }
        StapleError::UnsupportedAlgorithm => "have the responder sign with P-256, P-384, Ed25519 or RSA, and SHA-2",
        _ => return None,
    })
}

fn alert_advice(alert: AlertDescription) -> Option<&'static str> {
    Some(match alert {
        AlertDescription::CERTIFICATE_REQUIRED => "it wants a certificate from this side: give one, with its key",
        AlertDescription::UNKNOWN_CA => {
            "it does not trust the CA of this side's certificate, or has no key of its identity authority and epoch"
        }
        AlertDescription::UNSUPPORTED_CERTIFICATE => {
            "one side has a certificate where the other one expects a raw public key; or it does not support the \
             certificate of this side"
        }
        AlertDescription::BAD_CERTIFICATE | AlertDescription::CERTIFICATE_UNKNOWN => {
            "it does not accept this side's certificate; its log says why"
        }
        AlertDescription::CERTIFICATE_EXPIRED => {
            "this side's certificate or identity key has expired, or the peer's clock is wrong"
        }
        AlertDescription::ACCESS_DENIED => "this side is on its list of denied identities",
        AlertDescription::MISSING_EXTENSION => {
            "it may want an identity key: give one of its authority (terse pkg extract)"
        }
        AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE => {
            "it wants a good and current OCSP response with this side's certificate: staple one, or a newer one"
        }
        AlertDescription::CERTIFICATE_REVOKED => "this side's certificate was revoked: it needs a new one",
        AlertDescription::HANDSHAKE_FAILURE | AlertDescription::INSUFFICIENT_SECURITY => {
            "the two sides share no suite, group or signature algorithm, or it wants a certificate or a pre-shared key: \
             offer more"
        }
        AlertDescription::PROTOCOL_VERSION => {
            "it speaks none of the versions that this side allows: allow more of them"
        }
        AlertDescription::INAPPROPRIATE_FALLBACK => "it speaks a newer version than was offered: allow that one too",
        AlertDescription::UNKNOWN_PSK_IDENTITY => "it has no pre-shared key of this identity: check the identity",
        AlertDescription::DECRYPT_ERROR => {
            "check the pre-shared key and its name, which must be the same on both sides; without one, a signature is \
             wrong"
        }
        AlertDescription::BAD_RECORD_MAC => {
            "something on the way changes the bytes; or the two sides have different pre-shared keys; or an identity key does \
             not belong to the identity that the other side expects (try again: a stale public part mends itself)"
        }
        AlertDescription::UNRECOGNIZED_NAME => "it has no host of this name",
        AlertDescription::NO_APPLICATION_PROTOCOL => "it does not speak the application protocol that was offered",
        _ => return None,
    })
}

fn incompatible_advice(error: &PeerIncompatible) -> Option<&'static str> {
    Some(match error {
        PeerIncompatible::NoCommonVersion => "allow a version that the other side speaks",
        PeerIncompatible::NoExtendedMasterSecret => {
            "update the other side, or use TLS 1.3; doing without makes it possible to splice two sessions (RFC 7627)"
        }
        PeerIncompatible::NoSecureRenegotiation => "update the other side, which is more than ten years behind",
        PeerIncompatible::UnknownPskIdentity => "give both sides the same pre-shared key under the same name",
        PeerIncompatible::NoCommonPsk => "the client needs the pre-shared key of this server, under its name",
        PeerIncompatible::NoCommonCertificateType => {
            "one side has a certificate where the other one expects a raw public key"
        }
        PeerIncompatible::NoEarlyData => "connect again without early data",
        PeerIncompatible::NoCommonApplicationProtocol => "offer a protocol that the other side knows",
        PeerIncompatible::NoCommonSignatureScheme => {
            "the peer must accept the kind of key that this side's certificate has"
        }
        PeerIncompatible::NoCommonCurve(_) => {
            "allow it on the client, where TLS 1.2 has it among the groups for key exchange; or use TLS 1.3"
        }
        PeerIncompatible::NoCommonAuthority => {
            "the client must name the CA of this server, or the server take all clients"
        }
        _ => "allow more of them on one of the two sides",
    })
}

#[cfg(test)]
mod tests;
