//! The names of fields in JSON (RFC 8366, 5.1; RFC 8995, 3.2; for pins and keys by hash, RFC 8366bis).
//!
//! What must always hold: every field has one name. RFC 7951, 4, asks for the name of the module only where it changes,
//! which is at the container.

/// The container of a voucher.
pub(super) const VOUCHER: &str = "ietf-voucher:voucher";

/// The container of a voucher request.
pub(super) const VOUCHER_REQUEST: &str = "ietf-voucher-request:voucher";

/// A field that has a meaning in a voucher or in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    CreatedOn,
    ExpiresOn,
    Assertion,
    SerialNumber,
    IdevidIssuer,
    PinnedDomainCert,
    PinnedDomainPubk,
    PinnedDomainPubkSha256,
    DomainCertRevocationChecks,
    Nonce,
    LastRenewalDate,
    PriorSignedVoucherRequest,
    ProximityRegistrarCert,
    ProximityRegistrarPubk,
    ProximityRegistrarPubkSha256,
}

impl Field {
    pub(super) const ALL: [Self; 15] = [
        Self::CreatedOn,
        Self::ExpiresOn,
        Self::Assertion,
        Self::SerialNumber,
        Self::IdevidIssuer,
        Self::PinnedDomainCert,
        Self::PinnedDomainPubk,
        Self::PinnedDomainPubkSha256,
        Self::DomainCertRevocationChecks,
        Self::Nonce,
        Self::LastRenewalDate,
        Self::PriorSignedVoucherRequest,
        Self::ProximityRegistrarCert,
        Self::ProximityRegistrarPubk,
        Self::ProximityRegistrarPubkSha256,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CreatedOn => "created-on",
            Self::ExpiresOn => "expires-on",
            Self::Assertion => "assertion",
            Self::SerialNumber => "serial-number",
            Self::IdevidIssuer => "idevid-issuer",
            Self::PinnedDomainCert => "pinned-domain-cert",
            Self::PinnedDomainPubk => "pinned-domain-pubk",
            Self::PinnedDomainPubkSha256 => "pinned-domain-pubk-sha256",
            Self::DomainCertRevocationChecks => "domain-cert-revocation-checks",
            Self::Nonce => "nonce",
            Self::LastRenewalDate => "last-renewal-date",
            Self::PriorSignedVoucherRequest => "prior-signed-voucher-request",
            Self::ProximityRegistrarCert => "proximity-registrar-cert",
            Self::ProximityRegistrarPubk => "proximity-registrar-pubk",
            Self::ProximityRegistrarPubkSha256 => "proximity-registrar-pubk-sha256",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }

    /// Returns the bit of this field in a set of fields.
    pub(super) const fn bit(self) -> u16 {
        1 << self as u8
    }
}
