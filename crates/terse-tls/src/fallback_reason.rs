//! Why a handshake did more than a cache, a session or a pre-shared key would have made necessary.

use core::fmt;

use crate::cert::Unchecked;

/// Why a handshake was not resumed, or not cached as far as it could have been: why less was offered than might have
/// been, or less answered than was offered. [`Self::text`] says it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // `text` says it
pub enum FallbackReason {
    FirstContact,
    NoTicket,
    TicketInUse,
    TicketUnknown,
    SessionOffered,
    FullAttempt,
    SwitchedOff,
    /// Past the chain's first notAfter.
    Expired,
    /// Before the chain's last notBefore, when it was verified already: the clock is wrong.
    ClockNotPlausible,
    ClockUnknown,
    TrustChanged,
    /// Or a raw public key in another version.
    OtherCertificateType,
    OtherServerName,
    Revoked,
    /// No list is about it, or only one that is past its nextUpdate.
    NoCurrentCrl,
    /// Its name and key were not learned, or forgotten: after a restart for instance.
    IssuerUnknown,
    /// A list of that issuer's name is not signed with its key.
    CrlNotVerified,
    /// A staple could not be judged: its issuer was not learned, or forgotten.
    StapleIssuerUnknown,
    /// The server was sent fingerprints, and answered with no scheme.
    FingerprintsIgnored,
    /// A server: its store has nothing under the ticket.
    TicketNotFound,
    OfferIgnored,
    NothingOffered,
    /// A server would leave out the client's Certificate, but needs the extensions that come with it.
    StapleNeeded,
    ObjectsChanged,
    NoSession,
    SessionExpired,
    SuiteDisabled,
    SessionIgnored,
    SessionNotFound,
    NoCredentialFits,
}

impl From<Unchecked> for FallbackReason {
    fn from(unchecked: Unchecked) -> Self {
        match unchecked {
            Unchecked::Revoked => Self::Revoked,
            Unchecked::NoCurrentCrl => Self::NoCurrentCrl,
            Unchecked::IssuerUnknown => Self::IssuerUnknown,
            Unchecked::CrlNotVerified => Self::CrlNotVerified,
            Unchecked::StapleIssuerUnknown => Self::StapleIssuerUnknown,
        }
    }
}

impl FallbackReason {
    /// All of them, in the order of their numbers, which files have: new ones come last.
    const ALL: [Self; 30] = [
        Self::FirstContact,
        Self::NoTicket,
        Self::TicketInUse,
        Self::TicketUnknown,
        Self::SessionOffered,
        Self::FullAttempt,
        Self::SwitchedOff,
        Self::Expired,
        Self::ClockNotPlausible,
        Self::ClockUnknown,
        Self::TrustChanged,
        Self::OtherCertificateType,
        Self::OtherServerName,
        Self::Revoked,
        Self::NoCurrentCrl,
        Self::IssuerUnknown,
        Self::CrlNotVerified,
        Self::StapleIssuerUnknown,
        Self::FingerprintsIgnored,
        Self::TicketNotFound,
        Self::OfferIgnored,
        Self::NothingOffered,
        Self::StapleNeeded,
        Self::ObjectsChanged,
        Self::NoSession,
        Self::SessionExpired,
        Self::SuiteDisabled,
        Self::SessionIgnored,
        Self::SessionNotFound,
        Self::NoCredentialFits,
    ];

    /// The reason as in reports, such as `trust changed`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::FirstContact => "first contact",
            Self::NoTicket => "no ticket",
            Self::TicketInUse => "ticket in use by another connection",
            Self::TicketUnknown => "the server does not know the ticket",
            Self::SessionOffered => "a session is offered",
            Self::FullAttempt => "full attempt after unanswered offers",
            Self::SwitchedOff => "switched off after repeated failures",
            Self::Expired => "entry expired",
            Self::ClockNotPlausible => "clock is earlier than the entry",
            Self::ClockUnknown => "time unknown",
            Self::TrustChanged => "trust changed",
            Self::OtherCertificateType => "certificate type or version changed",
            Self::OtherServerName => "server name changed",
            Self::Revoked => "certificate revoked",
            Self::NoCurrentCrl => "no current CRL",
            Self::IssuerUnknown => "issuer of the CRL unknown",
            Self::CrlNotVerified => "CRL not verified",
            Self::StapleIssuerUnknown => "issuer of the OCSP response unknown",
            Self::FingerprintsIgnored => "the server answered no fingerprint",
            Self::TicketNotFound => "ticket unknown",
            Self::OfferIgnored => "the server did not take up what was offered",
            Self::NothingOffered => "the client offers no caching",
            Self::StapleNeeded => "an OCSP response is asked for",
            Self::ObjectsChanged => "nothing is as the client has seen it",
            Self::NoSession => "no session",
            Self::SessionExpired => "session expired",
            Self::SuiteDisabled => "suite of the session switched off",
            Self::SessionIgnored => "the server does not take the session or key",
            Self::SessionNotFound => "the client's session or key is not known, or belongs elsewhere",
            Self::NoCredentialFits => {
                "the server takes none of the client's credentials: by type, signature scheme or issuer"
            }
        }
    }

    /// Whether what is kept can never be used again, and is to be deleted.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Expired | Self::Revoked)
    }

    /// The byte that stands for a reason in a file; 0 stands for none.
    pub(crate) fn number(reason: Option<Self>) -> u8 {
        let place = Self::ALL.iter().position(|known| Some(*known) == reason);
        place.map_or(0, |place| place as u8 + 1) // there are few
    }

    /// The reason for a byte that [`Self::number`] gave. One of a later version is `None`.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// The text.
impl fmt::Display for FallbackReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
