//! An error of a credential file is one line: the file, the problem, and the remedy.

use super::*;

/// The contents that a credential file can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Item {
    /// An X.509 certificate (RFC 5280, 4).
    Certificate,
    /// A private key, encrypted or not.
    PrivateKey,
    /// A certificate revocation list (RFC 5280, 5).
    Crl,
    /// A passphrase.
    Passphrase,
    /// A PKCS #10 request, which a CA has yet to answer.
    CertificateRequest,
    /// A public key.
    PublicKey,
    /// A pre-shared key.
    PreSharedKey,
    /// A PEM block with another label.
    Other(String),
}

impl Item {
    pub(super) fn from_label(label: &str) -> Self {
        match label {
            _ if terse_pem::CERTIFICATE.contains(&label) => Self::Certificate,
            _ if terse_pem::PRIVATE_KEY.contains(&label) => Self::PrivateKey,
            _ if terse_pem::CRL.contains(&label) => Self::Crl,
            _ if terse_pem::CERTIFICATE_REQUEST.contains(&label) => Self::CertificateRequest,
            _ if terse_pem::PUBLIC_KEY.contains(&label) => Self::PublicKey,
            "ENCRYPTED PRIVATE KEY" => Self::PrivateKey,
            "RSA PUBLIC KEY" => Self::PublicKey,
            // RFC 7468, 3: labels are of printable ASCII.
            _ => Self::Other(label.chars().filter(|c| matches!(c, ' '..='~')).take(40).collect()),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate => f.write_str("certificate"),
            Self::PrivateKey => f.write_str("private key"),
            Self::Crl => f.write_str("CRL"),
            Self::Passphrase => f.write_str("passphrase"),
            Self::CertificateRequest => f.write_str("certificate request"),
            Self::PublicKey => f.write_str("public key"),
            Self::PreSharedKey => f.write_str("pre-shared key"),
            Self::Other(label) => write!(f, "{label:?} block"),
        }
    }
}

/// The problem with a credential file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened or read.
    Unreadable(io::Error),
    /// The file is larger than [`MAX_FILE_SIZE`].
    TooBig,
    /// The file is empty, or has only white space.
    Empty,
    /// The file is neither PEM nor DER of a known kind.
    Unrecognized,
    /// The file ends within a PEM block.
    Truncated,
    /// The file holds other objects than the wanted ones.
    Missing {
        /// The objects in the file.
        found: Vec<Item>,
    },
    /// One of the objects cannot be parsed.
    Malformed {
        /// The number of the object among those of its kind, counted from 1.
        number: usize,
        /// The parser's reason.
        reason: String,
    },
    /// The pre-shared key has other characters than hexadecimal digits, or an odd number of digits.
    NotHexadecimal,
    /// The pre-shared key is shorter than [`MIN_PSK_LEN`].
    PskTooShort {
        /// Its length in bytes.
        len: usize,
    },
    /// The private key is encrypted, and no passphrase was given.
    PassphraseNeeded,
    /// The passphrase does not decrypt the private key.
    WrongPassphrase,
    /// The private key is encrypted in the way of RFC 1421, whose key derivation is a single round of MD5.
    LegacyEncryption,
    /// The private key is encrypted with another algorithm than PBES2 with PBKDF2-HMAC-SHA2 or scrypt, and AES.
    UnsupportedEncryption,
}

/// The reason why a credential file cannot be used.
#[derive(Debug)]
pub struct FileError {
    path: PathBuf,
    wanted: Item,
    problem: Problem,
}

impl FileError {
    pub(super) fn new(path: &Path, wanted: Item, problem: Problem) -> Self {
        Self { path: path.into(), wanted, problem }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = &self.wanted;
        let path = self.path.display();
        write!(f, "{path}: ")?;
        match &self.problem {
            Problem::Unreadable(e) => write!(f, "cannot be read: {e}; check the path and the permissions"),
            Problem::TooBig => {
                write!(f, "is larger than {} MiB; give the file with the {wanted}", MAX_FILE_SIZE >> 20)
            }
            Problem::Empty if *wanted == Item::Passphrase => {
                f.write_str("holds no passphrase; write it into the first line")
            }
            Problem::Empty => write!(f, "is empty; give the file with the {wanted}"),
            Problem::Unrecognized => {
                write!(
                    f,
                    "holds no {wanted}, nor anything else in PEM or complete DER; give the file with the {wanted}"
                )
            }
            Problem::Truncated => f.write_str("ends within a PEM block; copy the file again, whole"),
            Problem::Missing { found } => {
                write!(f, "holds no {wanted}, but ")?;
                for (at, item) in found.iter().enumerate() {
                    write!(f, "{}a {item}", if at == 0 { "" } else { " and " })?;
                }
                write!(f, "; give the file with the {wanted}")
            }
            Problem::Malformed { number, reason } => {
                write!(f, "{wanted} {number} is malformed ({reason}); copy the file again, or make the {wanted} anew")
            }
            Problem::NotHexadecimal => {
                f.write_str("is not an even number of hexadecimal digits; make a key with `openssl rand -hex 32`")
            }
            Problem::PskTooShort { len } => write!(
                f,
                "holds {len} bytes, and a key of less than {MIN_PSK_LEN} can be guessed; make one with \
                 `openssl rand -hex 32`"
            ),
            Problem::PassphraseNeeded => f.write_str("the private key is encrypted; give its passphrase"),
            Problem::WrongPassphrase => {
                f.write_str("the passphrase does not open the private key; check it, spaces at its end included")
            }
            Problem::LegacyEncryption => write!(
                f,
                "the private key is encrypted in a legacy format with weak key derivation; \
                 convert it with `openssl pkcs8 -topk8 -in {path} -out NEW`"
            ),
            Problem::UnsupportedEncryption => write!(
                f,
                "the private key is encrypted with an algorithm that is not supported; convert it with \
                 `openssl pkcs8 -topk8 -v2 aes-256-cbc -v2prf hmacWithSHA256 -in {path} -out NEW`"
            ),
        }
    }
}

impl core::error::Error for FileError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.problem {
            Problem::Unreadable(e) => Some(e),
            _ => None,
        }
    }
}
