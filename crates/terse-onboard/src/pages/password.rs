//! The users of the status pages: passwords by argon2id, and how often somebody may try one.
//!
//! What must always hold: strangers cannot use up the processor: few passwords are verified at a time, and few in a minute,
//! of one address and of all; a name that is not known takes as long as a wrong password.

use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use std::path::Path;

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params};
use terse_brski::certificate::is_unprintable;
use terse_net::OsRng;
use terse_tls::crypto::Rng as _;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::config::UserConfig;
use crate::config::ConfigError;
use crate::rate::RateLimit;

/// Name and hash of each user. They are checked.
#[derive(Clone)]
pub(super) struct Hashes(Arc<Vec<(String, String)>>);

/// The users, and what is counted of attempts.
pub(super) struct Users {
    hashes: Hashes,
    of_address: RateLimit,
    of_all: RateLimit,
    places: Arc<Semaphore>,
}

/// Why nobody is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginRefused {
    /// The name or the password is wrong.
    Wrong,
    /// There were too many attempts, or there are at this moment: how long to wait.
    TooMany(Duration),
}

impl Hashes {
    pub(super) fn check(path: &Path, users: &[UserConfig]) -> Result<Self, ConfigError> {
        let mut hashes: Vec<(String, String)> = Vec::new();
        for user in users {
            let wrong = |problem| ConfigError::new(path, format_args!("[[pages.user]] {:?}: {problem}", user.name));
            if user.name.is_empty() || user.name.chars().any(is_unprintable) {
                return Err(wrong("give a name of printable characters"));
            }
            if hashes.iter().any(|(name, _)| *name == user.name) {
                return Err(wrong("another user has this name; rename one"));
            }
            is_sound(&user.password_hash.0).map_err(wrong)?;
            hashes.push((user.name.clone(), user.password_hash.0.clone()));
        }
        Ok(Self(Arc::new(hashes)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Users {
    pub(super) fn new(hashes: Hashes) -> Self {
        Self {
            hashes,
            of_address: RateLimit::per_minute(ATTEMPTS_OF_ADDRESS),
            of_all: RateLimit::per_minute(ATTEMPTS_OF_ALL),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Verifies a password. `now` is a time since any start. Returns the name.
    pub(super) async fn log_in(
        &self,
        address: IpAddr,
        now: Duration,
        name: &str,
        password: Zeroizing<String>,
    ) -> Result<String, LoginRefused> {
        self.of_address.admit(address, now).map_err(LoginRefused::TooMany)?;
        let place = self.places.clone().try_acquire_owned().map_err(|_| LoginRefused::TooMany(WHILE_BUSY))?;
        self.of_all.admit(IpAddr::V4(Ipv4Addr::UNSPECIFIED), now).map_err(LoginRefused::TooMany)?;
        let (Hashes(hashes), name) = (self.hashes.clone(), name.to_owned());
        // It goes on when the client has gone, and so does its place.
        let verified = tokio::task::spawn_blocking(move || {
            let _place = place;
            let found = hashes.iter().find(|(known, _)| *known == name);
            // For a name that is not known the first hash does the same work.
            let hash = found.or(hashes.first()).and_then(|(_, hash)| PasswordHash::new(hash).ok())?;
            let is_right = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
            found.filter(|_| is_right).map(|(name, _)| name.clone())
        });
        verified.await.ok().flatten().ok_or(LoginRefused::Wrong)
    }
}

/// Checks that a hash is one of argon2id, neither cheap to guess nor dear to verify.
fn is_sound(hash: &str) -> Result<(), &'static str> {
    let hash = PasswordHash::new(hash).map_err(|_| NO_HASH)?;
    let params = Params::try_from(&hash).map_err(|_| NO_HASH)?;
    if hash.algorithm != Algorithm::Argon2id.ident() || hash.hash.is_none() || hash.salt.is_none() {
        return Err(NO_HASH);
    }
    let is_usual = (MIN_MEMORY..=MAX_MEMORY).contains(&params.m_cost())
        && (1..=MAX_TIME).contains(&params.t_cost())
        && (1..=MAX_LANES).contains(&params.p_cost());
    if is_usual { Ok(()) } else { Err(UNUSUAL) }
}

/// Returns the hash of a password for `password_hash` in `[[pages.user]]`.
///
/// ```
/// let hash = terse_onboard::pages::hash_password("correct horse battery staple")?;
/// assert!(hash.starts_with("$argon2id$"));
/// # Ok::<_, terse_onboard::pages::PasswordRefused>(())
/// ```
pub fn hash_password(password: &str) -> Result<String, PasswordRefused> {
    if password.chars().count() < MIN_PASSWORD_LEN {
        return Err(PasswordRefused::TooShort);
    }
    if password.len() > MAX_PASSWORD_LEN {
        return Err(PasswordRefused::TooLong);
    }
    let mut random = [0; 16];
    OsRng.fill(&mut random).map_err(|_| PasswordRefused::NoRandomness)?;
    let salt = SaltString::encode_b64(&random).map_err(|_| PasswordRefused::NoRandomness)?;
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt).map_err(|_| PasswordRefused::TooLong)?;
    Ok(hash.to_string())
}

/// Why a password gets no hash. It displays as one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PasswordRefused {
    /// It can be guessed.
    TooShort,
    /// No form has room for it.
    TooLong,
    /// The system has given no random bytes.
    NoRandomness,
}

impl fmt::Display for PasswordRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the password is shorter than 12 characters; choose a longer one",
            Self::TooLong => "the password is longer than 1024 bytes; choose a shorter one",
            Self::NoRandomness => "the system has no random numbers; try again",
        })
    }
}

impl core::error::Error for PasswordRefused {}

/// The fewest characters of a password.
const MIN_PASSWORD_LEN: usize = 12;

/// The most bytes of a password.
const MAX_PASSWORD_LEN: usize = 1_024;

/// The attempts of one address in a minute.
const ATTEMPTS_OF_ADDRESS: u32 = 10;

/// The attempts of all addresses in a minute.
const ATTEMPTS_OF_ALL: u32 = 60;

/// The most passwords that are verified at a time.
const AT_A_TIME: usize = 2;

/// When to try again while others are verified.
const WHILE_BUSY: Duration = Duration::from_secs(1);

/// The memory of a hash, in KiB: not less than OWASP's least, and not so much that two of them are too much.
const MIN_MEMORY: u32 = 7_168;
const MAX_MEMORY: u32 = 262_144;

/// The most passes and lanes of a hash.
const MAX_TIME: u32 = 16;
const MAX_LANES: u32 = 8;

const NO_HASH: &str = "password_hash is no hash by argon2id; make one with `terse registrar hash-password`";
const UNUSUAL: &str = "password_hash costs too little or too much; make one with `terse registrar hash-password`";

#[cfg(test)]
mod tests {
    use super::super::config::HashedPassword;
    use super::*;

    fn users(users: &[(&str, &str)]) -> Result<Users, ConfigError> {
        let users: Vec<_> = users.iter().map(|(name, hash)| user(name, hash)).collect();
        Hashes::check(Path::new("registrar.toml"), &users).map(Users::new)
    }

    fn user(name: &str, hash: &str) -> UserConfig {
        UserConfig { name: name.into(), password_hash: HashedPassword(hash.into()) }
    }

    #[tokio::test]
    async fn a_password_is_verified_and_guesses_are_limited() {
        let hash = hash_password("correct horse battery").unwrap();
        assert_ne!(hash, hash_password("correct horse battery").unwrap(), "each has a salt of its own");
        let users = users(&[("alice", &hash)]).unwrap();
        let from = |last: u8| IpAddr::from([192, 0, 2, last]);
        let try_it = async |last, name, password: &str| {
            users.log_in(from(last), Duration::ZERO, name, Zeroizing::new(password.into())).await
        };
        assert_eq!(try_it(1, "alice", "correct horse battery").await.as_deref(), Ok("alice"));
        assert_eq!(try_it(1, "alice", "wrong horse battery").await, Err(LoginRefused::Wrong));
        assert_eq!(try_it(1, "bob", "correct horse battery").await, Err(LoginRefused::Wrong));
        for _ in 3..ATTEMPTS_OF_ADDRESS {
            assert_eq!(try_it(1, "alice", "").await, Err(LoginRefused::Wrong));
        }
        assert!(matches!(try_it(1, "alice", "correct horse battery").await, Err(LoginRefused::TooMany(_))));
        assert_eq!(try_it(2, "alice", "correct horse battery").await.as_deref(), Ok("alice"));
        for number in ATTEMPTS_OF_ADDRESS + 1..ATTEMPTS_OF_ALL {
            let last = 10 + u8::try_from(number / 5).unwrap();
            assert_eq!(try_it(last, "alice", "").await, Err(LoginRefused::Wrong));
        }
        assert!(matches!(try_it(3, "alice", "correct horse battery").await, Err(LoginRefused::TooMany(_))));
    }

    #[tokio::test]
    async fn few_passwords_are_verified_at_a_time() {
        let users = users(&[("alice", &hash_password("correct horse battery").unwrap())]).unwrap();
        let places = users.places.clone().try_acquire_many_owned(AT_A_TIME as u32).unwrap();
        let try_it = async || {
            let password = Zeroizing::new("correct horse battery".to_owned());
            users.log_in(IpAddr::from([192, 0, 2, 1]), Duration::ZERO, "alice", password).await
        };
        assert_eq!(try_it().await, Err(LoginRefused::TooMany(WHILE_BUSY)));
        drop(places);
        assert!(try_it().await.is_ok());
    }

    #[test]
    fn what_is_no_hash_of_argon2id_is_refused() {
        let hash = hash_password("correct horse battery").unwrap();
        assert!(users(&[("alice", &hash)]).is_ok());
        let refused = [
            "correct horse battery",
            "",
            "$2y$10$abcdefghijklmnopqrstuv",
            &hash.replace("argon2id", "argon2i"),
            &hash.replace("m=19456", "m=64"),
            &hash.replace("m=19456", "m=1048576"),
            &hash.replace("t=2", "t=100"),
        ];
        for hash in refused {
            let problem = users(&[("alice", hash)]).err().unwrap().to_string();
            assert!(problem.contains("hash-password") && problem.contains("alice"), "{problem}");
        }
        assert!(users(&[("alice", &hash), ("alice", &hash)]).is_err());
        assert!(users(&[("", &hash)]).is_err());
        assert_eq!(hash_password("short"), Err(PasswordRefused::TooShort));
        assert_eq!(hash_password(&"x".repeat(1_025)), Err(PasswordRefused::TooLong));
        assert!(!format!("{:?}", user("alice", &hash)).contains("argon2"));
    }
}
