//! A pledge on tokio (RFC 8995): it finds join proxies, connects, and stores what the machine of [`terse_brski::pledge`] earns. It
//! speaks BRSKI over HTTPS, or constrained BRSKI over CoAPS ([`Device::with_form`]).
//!
//! ```no_run
//! use terse_onboard::discovery::Fixed;
//! use terse_onboard::pledge::{CredentialDirectory, Device, Settings, onboard};
//!
//! # async fn join() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::read("idevid.pem".as_ref(), "idevid.key".as_ref(), "masa-ca.pem".as_ref())?;
//! let proxies = Fixed::new(["[fe80::1%eth0]:8443".parse()?]);
//! let credentials = CredentialDirectory::new("credentials");
//! let onboarded = onboard(&device, proxies, &credentials, &Settings::default(), |progress| println!("{progress}")).await?;
//! println!("the domain has issued {:?}", onboarded.credential);
//! # Ok(())
//! # }
//! ```
//!
//! What must always hold: the machine decides, and this module only does what it says; there is one connection at a time; of
//! what discovery finds, a bounded number of places is known.

use core::fmt;
use core::num::NonZeroU32;
use core::time::Duration;

use terse_brski::pledge::{AttemptFailed, EnrollmentFailed, Event, Form, Phase};
pub use terse_brski::pledge::{Coaps, Credentials, Https, Proximity};
use terse_brski::voucher::Assertion;
use terse_pki::KeyAlgorithm;
use terse_tls::Credential;
use terse_tls::identity::Identity;

use crate::discovery::{Discovery, Place};

mod connection;
mod counted;
mod credentials;
mod device;
mod driver;
mod dtls;
mod file;
mod places;
mod renewal;
mod signer;
mod timings;

pub use credentials::{CredentialDirectory, CredentialError};
pub use device::{Device, DeviceError};
pub use dtls::{CoapsSettings, DtlsVersion};
pub use file::{FormName, PledgeFile};
pub use renewal::{NotRenewed, renew, renew_over_coaps};
pub use timings::{Spent, Stage, Timings};

/// How a pledge goes about it.
///
/// # Defaults
///
/// - The pledge tries until it is enrolled.
/// - The key of the LDevID is for P-256.
/// - DTLS and CoAP are those of [`CoapsSettings::default`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// After how many failed attempts the pledge gives up. It also gives up then if discovery finds nothing for
    /// [`Self::discovery_limit`].
    pub max_failures: Option<NonZeroU32>,
    /// How long a pledge that can give up waits for the first proxy.
    pub discovery_limit: Duration,
    /// The algorithm of the key for the LDevID: P-256, P-384 or Ed25519.
    pub algorithm: KeyAlgorithm,
    /// DTLS and CoAP, of devices that speak constrained BRSKI.
    pub coaps: CoapsSettings,
}

/// A form of BRSKI that a device speaks on sockets: [`Https`] or [`Coaps`]. There are no others.
pub trait SocketForm: Form + connection::Carried {}

impl SocketForm for Https {}

impl SocketForm for Coaps {}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_failures: None,
            discovery_limit: Duration::from_secs(15),
            algorithm: KeyAlgorithm::P256,
            coaps: CoapsSettings::default(),
        }
    }
}

/// What a pledge has in the end. It is stored by then.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Onboarded {
    /// The LDevID with its key; `None` of a device that gets an identity key alone.
    pub credential: Option<Credential>,
    /// The identity of the identity key, if the device got one.
    pub identity: Option<Identity>,
    /// The trust anchors of the domain; none without an LDevID.
    pub anchors: Vec<pki_types::CertificateDer<'static>>,
    /// The join proxy, or the registrar itself, that the last attempt went through.
    pub proxy: Place,
    /// What the voucher says about the domain.
    pub assertion: Assertion,
    /// Whether the registrar was told about the enrollment (RFC 8995, 5.9.4).
    pub is_reported: bool,
    /// What each stage took.
    pub timings: Timings,
}

/// Why a pledge has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GaveUp {
    /// Discovery has found no proxy.
    NoProxy,
    /// This attempt was the last one that [`Settings::max_failures`] allows.
    Failed(Place, AttemptFailed),
}

/// Something that has happened on the way. It displays as a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Discovery has found a proxy.
    Found(Place),
    /// A proxy is gone.
    Gone(Place),
    /// The pledge is in another phase, through this proxy.
    Phase(Place, Phase),
    /// The registrar asks to come back later.
    Waiting(Place),
    /// The voucher is verified.
    Imprinted(Place, Assertion),
    /// An attempt has failed, and another one follows unless the pledge gives up.
    Failed(Place, AttemptFailed),
    /// The pledge gets no identity key. It has its LDevID.
    NoIdentityKey(EnrollmentFailed),
    /// The pledge has its credential, and it is stored.
    Enrolled {
        /// Whether the registrar knows.
        is_reported: bool,
    },
    /// The LDevID or the identity key cannot be stored.
    NotStored(String),
}

/// Onboards a device, in the form of BRSKI that it speaks. Ends when it is enrolled, or when it gives up; whoever drops the future stops it, and a credential is
/// stored then as a whole or not at all.
///
/// # Panics
///
/// The future panics outside of a tokio runtime with network and timer.
pub async fn onboard<F: SocketForm>(
    device: &Device<F>,
    discovery: impl Discovery,
    credentials: &CredentialDirectory,
    settings: &Settings,
    observe: impl FnMut(Progress) + Send,
) -> Result<Onboarded, GaveUp> {
    driver::Driver::new(device, credentials, settings, observe).run(discovery).await
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoProxy => f.write_str("no join proxy was found; check the link, or name one with --registrar"),
            Self::Failed(place, why) => write!(f, "{place}: {why}"),
        }
    }
}

impl core::error::Error for GaveUp {}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found(place) => write!(f, "{place}: found"),
            Self::Gone(place) => write!(f, "{place}: gone"),
            Self::Phase(place, phase) => write!(f, "{place}: {}", text(*phase)),
            Self::Waiting(place) => write!(f, "{place}: the registrar asks to come back later"),
            Self::Imprinted(place, assertion) => {
                write!(f, "{place}: the manufacturer vouches for this domain ({})", assertion.name())
            }
            Self::Failed(place, why) => write!(f, "{place}: {why}"),
            Self::NoIdentityKey(why) => write!(f, "there is no identity key: {why}"),
            Self::Enrolled { is_reported: true } => f.write_str("enrolled, and the registrar knows"),
            Self::Enrolled { is_reported: false } => f.write_str("enrolled, but the registrar could not be told"),
            Self::NotStored(problem) => write!(f, "the credential cannot be stored: {problem}"),
        }
    }
}

impl Progress {
    /// Returns what an event of the machine means, if there is more to say than in a phase.
    fn of(event: Event, place: impl Fn() -> Place) -> Option<Self> {
        match event {
            Event::Waiting => Some(Self::Waiting(place())),
            Event::Imprinted(assertion) => Some(Self::Imprinted(place(), assertion)),
            Event::Failed(_, why) => Some(Self::Failed(place(), why)),
            Event::NoIdentityKey(why) => Some(Self::NoIdentityKey(why)),
            Event::Enrolled { is_reported } => Some(Self::Enrolled { is_reported }),
            _ => None,
        }
    }
}

/// Returns what a pledge does in a phase.
const fn text(phase: Phase) -> &'static str {
    match phase {
        Phase::Discover => "waiting for a proxy's turn",
        Phase::Connect => "connecting",
        Phase::SignVoucherRequest => "signing the voucher request",
        Phase::RequestVoucher => "asking for a voucher",
        Phase::WaitForVoucher => "waiting for a decision about the voucher",
        Phase::RefuseVoucher => "refusing the voucher",
        Phase::ReportVoucher => "telling the registrar that the voucher is good",
        Phase::RequestCaCerts => "asking for the CA certificates",
        Phase::RequestCsrAttributes => "asking what the certification request must have",
        Phase::MakeKey => "making a key",
        Phase::SignRequest => "signing the certification request",
        Phase::Enroll => "asking for the certificate",
        Phase::Store => "storing the certificate",
        Phase::RequestIdentityKey => "asking for the identity key",
        Phase::StoreIdentityKey => "storing the identity key",
        Phase::ReportEnrollment => "telling the registrar that the device is enrolled",
        Phase::ReportFailure => "telling the registrar that the enrollment failed",
        Phase::Enrolled => "enrolled",
        _ => "onboarding",
    }
}
