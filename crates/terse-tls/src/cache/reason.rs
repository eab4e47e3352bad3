//! Why a connection offered less than it might have.

use crate::cert::Unchecked;

/// Why a connection offered less than it might have, or was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // `text` says it
pub enum Reason {
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
    /// It was sent fingerprints, and answered with no scheme.
    FingerprintsIgnored,
}

impl From<Unchecked> for Reason {
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

impl Reason {
    /// All of them, in the order of their numbers, which files have: new ones come last.
    const ALL: [Self; 19] = [
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
    ];

    /// As in reports.
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
        }
    }

    /// Whether it is so for good, and what is kept is to be deleted.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Expired | Self::Revoked)
    }

    /// The byte for one, or for none.
    pub(super) fn number(reason: Option<Self>) -> u8 {
        let place = Self::ALL.iter().position(|known| Some(*known) == reason);
        place.map_or(0, |place| place as u8 + 1) // there are few
    }

    /// What [`Self::number`] gave. A reason of a later version is none.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}
