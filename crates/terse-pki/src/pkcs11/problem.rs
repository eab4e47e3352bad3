//! What is wrong with a module, a token or a key: one line that says what to do.

use core::fmt;
use std::path::PathBuf;

use cryptoki::error::{Error, RvError};

/// Why a key in a token cannot be used. No variant has a PIN.
#[derive(Debug)]
pub(super) enum Problem {
    /// There is no such file.
    NoModule(PathBuf),
    /// The file is no module that can be loaded.
    Load(PathBuf, Error),
    /// No token fits the URI; these are there.
    NoToken { wanted: String, labels: Vec<String> },
    /// Several tokens fit the URI, of these.
    SeveralTokens(Vec<String>),
    /// The token refuses the PIN.
    WrongPin,
    /// The token has refused the PIN earlier.
    PinRefusedBefore,
    /// The PIN is locked.
    PinLocked,
    /// The token locks the PIN if it is wrong once more.
    FinalTry,
    /// The token has no such key, or shows it only after a PIN.
    NoKey { wanted: String, token: String, lacks_pin: bool },
    /// The token has several such keys.
    SeveralKeys(String),
    /// The key wants the PIN for each signature.
    AlwaysAuthenticate,
    /// The key is of another kind than the certificate.
    OtherKind,
    /// The module does not sign with such a key.
    NoMechanism,
    /// The key must not sign.
    MayNotSign,
    /// The module says this.
    Module(Error),
}

impl Problem {
    /// Whether the module may have lost what is behind it, so that it must be initialised again.
    pub(super) fn may_need_restart(&self) -> bool {
        use RvError::{CryptokiNotInitialized, DeviceError, DeviceRemoved, FunctionFailed, GeneralError};
        match self {
            Self::NoToken { .. } => true,
            Self::Module(Error::Pkcs11(value, _)) => {
                matches!(value, CryptokiNotInitialized | DeviceError | DeviceRemoved | FunctionFailed | GeneralError)
            }
            _ => false,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Module(error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModule(path) => {
                write!(f, "there is no PKCS #11 module {}; install it, or correct module-path", path.display())
            }
            Self::Load(path, error) => {
                write!(f, "{} is no PKCS #11 module that can be loaded; correct module-path: {error}", path.display())
            }
            Self::NoToken { wanted, labels } if labels.is_empty() => {
                write!(f, "the PKCS #11 module has no token; insert that with {wanted}, or start what is behind the module")
            }
            Self::NoToken { wanted, labels } => {
                write!(f, "no token has {wanted}; there {}: insert that one, or correct the URI", Labels(labels))
            }
            Self::SeveralTokens(labels) => {
                write!(f, "several tokens fit the URI; there {}: add token or serial", Labels(labels))
            }
            Self::WrongPin => f.write_str(
                "the token refuses the PIN, which was tried once; correct the file of pin-source before the token locks",
            ),
            Self::PinRefusedBefore => f.write_str(
                "the token has refused the PIN before, and it is not tried again; correct the file of pin-source, and \
                 reload or restart",
            ),
            Self::PinLocked => f.write_str("the PIN of the token is locked; unlock it as its security officer"),
            Self::FinalTry => f.write_str(
                "the token locks after one more wrong PIN, and none is tried; log in once by hand with the right one",
            ),
            Self::NoKey { wanted, token, lacks_pin: true } => {
                write!(f, "the token {token:?} shows no private key with {wanted} without a PIN; add pin-source")
            }
            Self::NoKey { wanted, token, lacks_pin: false } => {
                write!(f, "the token {token:?} has no private key with {wanted}; import it, or correct the URI")
            }
            Self::SeveralKeys(wanted) => {
                write!(f, "the token has several private keys with {wanted}; name one by object and id")
            }
            Self::AlwaysAuthenticate => f.write_str(
                "the key wants the PIN for each signature (CKA_ALWAYS_AUTHENTICATE), which is not supported; use another \
                 key",
            ),
            Self::OtherKind => {
                f.write_str("the key in the token is of another kind than that of the certificate; correct object or id")
            }
            Self::NoMechanism => f.write_str(
                "the token lacks the mechanism for the key, which is CKM_ECDSA or CKM_EDDSA; use a key of another algorithm",
            ),
            Self::MayNotSign => f.write_str("the key in the token may not sign (CKA_SIGN); make one that may"),
            Self::Module(Error::Pkcs11(value, function)) => {
                write!(f, "the PKCS #11 module says {value:?} (C_{function:?}); look at the token and what is behind it")
            }
            Self::Module(error) => write!(f, "the PKCS #11 module cannot be used: {error}; look at its version"),
        }
    }
}

/// The labels of some tokens, for people.
struct Labels<'a>(&'a [String]);

impl fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.len() == 1 { "is" } else { "are" })?;
        for (number, label) in self.0.iter().take(MAX_LABELS).enumerate() {
            write!(f, "{} {label:?}", if number == 0 { "" } else { "," })?;
        }
        if self.0.len() > MAX_LABELS { f.write_str(" and more") } else { Ok(()) }
    }
}

/// The most labels in a message.
const MAX_LABELS: usize = 8;
