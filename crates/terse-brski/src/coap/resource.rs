//! The resources of constrained BRSKI and EST-coaps (draft-ietf-anima-constrained-voucher; RFC 9148, 4.1), and the three forms of their paths.

use super::Method;

/// A resource of a registrar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// `rv`: a voucher is requested.
    RequestVoucher,
    /// `vs`: whether the voucher was accepted.
    VoucherStatus,
    /// `es`: whether the enrolment has succeeded.
    EnrollStatus,
    /// `crts`: the CA certificates.
    CaCerts,
    /// `sen`: a certificate is requested.
    SimpleEnroll,
    /// `sren`: a certificate is renewed.
    SimpleReenroll,
    /// `att`: the attributes of a request.
    CsrAttributes,
    /// `skg`: a certificate, and the key, which the server makes.
    ServerKeyGen,
    /// `skc`: the same, with the certificate as `application/pkix-cert`.
    ServerKeyGenCert,
    /// `/t/idk`: the identity key; of this project alone.
    IdentityKey,
    /// `/.well-known/core`: discovery (RFC 6690, 4).
    Core,
}

/// How a request names its resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathForm {
    /// By Uri-Path-Abbrev (draft-ietf-core-uri-path-abbrev), where there is a value for the resource; else as `WellKnown`.
    Abbreviated,
    /// By its path under `/.well-known`, which every registrar has.
    WellKnown,
    /// By a path under `/b` or `/e`, where there is one, as a registrar of this project has it too.
    Short,
}

impl Resource {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::RequestVoucher,
        Self::VoucherStatus,
        Self::EnrollStatus,
        Self::CaCerts,
        Self::SimpleEnroll,
        Self::SimpleReenroll,
        Self::CsrAttributes,
        Self::ServerKeyGen,
        Self::ServerKeyGenCert,
        Self::IdentityKey,
        Self::Core,
    ];

    /// Returns the method that the resource has.
    pub const fn method(self) -> Method {
        match self {
            Self::CaCerts | Self::CsrAttributes | Self::Core => Method::Get,
            _ => Method::Post,
        }
    }

    /// Returns the last segment of the path.
    pub const fn leaf(self) -> &'static str {
        match self {
            Self::RequestVoucher => "rv",
            Self::VoucherStatus => "vs",
            Self::EnrollStatus => "es",
            Self::CaCerts => "crts",
            Self::SimpleEnroll => "sen",
            Self::SimpleReenroll => "sren",
            Self::CsrAttributes => "att",
            Self::ServerKeyGen => "skg",
            Self::ServerKeyGenCert => "skc",
            Self::IdentityKey => "idk",
            Self::Core => "core",
        }
    }

    /// Returns the value of Uri-Path-Abbrev, if the resource has one.
    pub const fn abbreviation(self) -> Option<u16> {
        match self {
            Self::Core => Some(0),
            Self::CaCerts => Some(301),
            Self::SimpleEnroll => Some(302),
            Self::SimpleReenroll => Some(303),
            Self::ServerKeyGen => Some(304),
            Self::ServerKeyGenCert => Some(305),
            Self::CsrAttributes => Some(306),
            Self::EnrollStatus => Some(401),
            Self::RequestVoucher => Some(402),
            Self::VoucherStatus => Some(403),
            Self::IdentityKey => None,
        }
    }

    /// Returns the resource with this value of Uri-Path-Abbrev.
    pub fn from_abbreviation(value: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|resource| resource.abbreviation().is_some_and(|known| u32::from(known) == value))
    }

    /// Returns the segments of the path before the last one.
    pub const fn parents(self, form: PathForm) -> &'static [&'static str] {
        match (self, form) {
            (Self::IdentityKey, _) => &["t"],
            (Self::Core, _) => &[".well-known"],
            (Self::RequestVoucher | Self::VoucherStatus | Self::EnrollStatus, PathForm::Short) => &["b"],
            (Self::RequestVoucher | Self::VoucherStatus | Self::EnrollStatus, _) => &[".well-known", "brski"],
            (_, PathForm::Short) => &["e"],
            _ => &[".well-known", "est"],
        }
    }

    /// Returns the segments of the path.
    pub fn path(self, form: PathForm) -> impl Iterator<Item = &'static str> + Clone {
        self.parents(form).iter().copied().chain([self.leaf()])
    }

    /// Returns the resource with a path of these segments.
    pub fn from_path<'a>(segments: impl Iterator<Item = &'a [u8]> + Clone) -> Option<Self> {
        let is_at = |resource: Self, form| segments.clone().eq(resource.path(form).map(str::as_bytes));
        Self::ALL
            .into_iter()
            .find(|resource| is_at(*resource, PathForm::WellKnown) || is_at(*resource, PathForm::Short))
    }
}

#[cfg(test)]
mod tests;
