//! The steps of an onboarding, as a pledge takes them.

use core::fmt;

use terse_brski::pledge::Request;

/// A step of an onboarding: a handshake, or a request with its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// The handshake with the IDevID, whose registrar nobody has verified yet.
    Handshake,
    /// The voucher request: `rv`, or `requestvoucher` over HTTPS.
    VoucherRequest,
    /// The status of the voucher: `vs`, or `voucher_status`.
    VoucherStatus,
    /// The CA certificates: `crts`, or `cacerts`.
    CaCertificates,
    /// The attributes of the certification request: `csrattrs`, over HTTPS alone.
    CsrAttributes,
    /// The certification request: `sen`, or `simpleenroll`.
    Enrollment,
    /// The handshake with the LDevID.
    SecondHandshake,
    /// The status of the enrollment: `es`, or `enrollstatus`.
    EnrollmentStatus,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: [Self; 8] = [
        Self::Handshake,
        Self::VoucherRequest,
        Self::VoucherStatus,
        Self::CaCertificates,
        Self::CsrAttributes,
        Self::Enrollment,
        Self::SecondHandshake,
        Self::EnrollmentStatus,
    ];

    /// Returns the name, as reports have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake 1",
            Self::VoucherRequest => "rv",
            Self::VoucherStatus => "vs",
            Self::CaCertificates => "crts",
            Self::CsrAttributes => "att",
            Self::Enrollment => "sen",
            Self::SecondHandshake => "handshake 2",
            Self::EnrollmentStatus => "es",
        }
    }

    /// Whether the step is a request with its response.
    pub const fn is_request(self) -> bool {
        !matches!(self, Self::Handshake | Self::SecondHandshake)
    }

    /// Returns the step of a pledge's request.
    pub(super) fn of(request: &Request) -> Option<Self> {
        Self::at(&request.path)
    }

    /// Returns the step whose requests have this path.
    pub(super) fn at(path: &str) -> Option<Self> {
        Some(match path.rsplit('/').next()? {
            "rv" | "requestvoucher" => Self::VoucherRequest,
            "vs" | "voucher_status" => Self::VoucherStatus,
            "crts" | "cacerts" => Self::CaCertificates,
            "csrattrs" => Self::CsrAttributes,
            "sen" | "simpleenroll" => Self::Enrollment,
            "es" | "enrollstatus" => Self::EnrollmentStatus,
            _ => return None,
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
