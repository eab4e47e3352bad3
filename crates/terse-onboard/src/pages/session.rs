//! Sessions: a cookie, the token that is in each of its forms, and who is logged in.
//!
//! What must always hold: a token is known to this process and to the pages that it has sent to the holder of the cookie;
//! nothing is kept of a session in which nobody has logged in; a login makes a new cookie; of those who are logged in a
//! bounded number is kept, and each ends.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use subtle::ConstantTimeEq as _;
use terse_net::OsRng;
use terse_tls::crypto::{CryptoError, Rng as _};
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::text::{from_hex, hex};

/// The sessions of a listener.
pub(super) struct Sessions {
    /// What makes tokens out of cookies. It ends with the process.
    key: Zeroizing<[u8; 32]>,
    /// Those who are logged in, by a digest of their cookie.
    users: Mutex<HashMap<[u8; 32], Login>>,
}

/// The value of a cookie.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Cookie([u8; 32]);

struct Login {
    user: String,
    begun: Instant,
    used: Instant,
}

impl Cookie {
    /// Makes one that nobody can guess.
    pub(super) fn new() -> Result<Self, CryptoError> {
        let mut random = [0; 32];
        OsRng.fill(&mut random)?;
        Ok(Self(random))
    }

    /// Reads one. Anybody can make one; it is worth nothing then.
    pub(super) fn read(text: &str) -> Option<Self> {
        Some(Self(from_hex(text)?.try_into().ok()?))
    }

    /// Returns the text of the cookie.
    pub(super) fn text(&self) -> String {
        hex(&self.0)
    }
}

impl Sessions {
    pub(super) fn new() -> Result<Self, CryptoError> {
        let mut key = Zeroizing::new([0; 32]);
        OsRng.fill(&mut *key)?;
        Ok(Self { key, users: Mutex::default() })
    }

    /// Returns the token that each form of this session has.
    pub(super) fn token(&self, cookie: &Cookie) -> String {
        hex(&self.digest(b"form", cookie))
    }

    /// Whether a form has the token of this session.
    pub(super) fn is_token(&self, cookie: &Cookie, token: &str) -> bool {
        self.token(cookie).as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// Notes that a user has logged in, and returns the new cookie. The oldest session of the user, or of all, makes room.
    pub(super) fn log_in(&self, user: &str) -> Result<Cookie, CryptoError> {
        let (cookie, now) = (Cookie::new()?, Instant::now());
        let digest = self.digest(b"login", &cookie);
        let mut users = self.lock();
        users.retain(|_, login| login.is_alive(now));
        let own = users.values().filter(|login| login.user == user).count();
        let is_candidate = |login: &Login| own < MAX_PER_USER || login.user == user;
        if own >= MAX_PER_USER || users.len() >= MAX_SESSIONS {
            let oldest = users.iter().filter(|(_, login)| is_candidate(login)).min_by_key(|(_, login)| login.used);
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.and_then(|oldest| users.remove(&oldest));
        }
        users.insert(digest, Login { user: user.into(), begun: now, used: now });
        Ok(cookie)
    }

    /// Returns who is logged in with this cookie.
    pub(super) fn user(&self, cookie: &Cookie) -> Option<String> {
        let (digest, now) = (self.digest(b"login", cookie), Instant::now());
        let mut users = self.lock();
        let login = users.get_mut(&digest).filter(|login| login.is_alive(now))?;
        login.used = now;
        Some(login.user.clone())
    }

    /// Ends a session.
    pub(super) fn log_out(&self, cookie: &Cookie) {
        let digest = self.digest(b"login", cookie);
        self.lock().remove(&digest);
    }

    fn digest(&self, purpose: &[u8], cookie: &Cookie) -> [u8; 32] {
        let digest = terse_aws_lc::PROVIDER.sha256.hmac(&*self.key, &[purpose, &cookie.0]);
        core::array::from_fn(|index| digest.as_ref().get(index).copied().unwrap_or_default()) // SHA-256 has 32 bytes
    }

    /// Nothing panics while it is locked.
    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Login>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Login {
    fn is_alive(&self, now: Instant) -> bool {
        now.duration_since(self.used) < MAX_IDLE && now.duration_since(self.begun) < MAX_AGE
    }
}

/// The most sessions of all users, and of one.
const MAX_SESSIONS: usize = 256;
const MAX_PER_USER: usize = 16;

/// How long a session lasts without a request, and at all.
const MAX_IDLE: Duration = Duration::from_secs(30 * 60);
const MAX_AGE: Duration = Duration::from_secs(12 * 3_600);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_token_is_that_of_one_session_of_one_process() {
        let sessions = Sessions::new().unwrap();
        let (one, other) = (Cookie::new().unwrap(), Cookie::new().unwrap());
        let token = sessions.token(&one);
        assert_eq!(token.len(), 64);
        assert!(sessions.is_token(&one, &token));
        assert!(!sessions.is_token(&other, &token));
        assert!(!sessions.is_token(&one, ""));
        assert!(!sessions.is_token(&one, &token[..63]));
        assert!(!Sessions::new().unwrap().is_token(&one, &token));
        assert!(Cookie::read(&one.text()).as_ref() == Some(&one));
        assert!(Cookie::read("ab").is_none() && Cookie::read("").is_none() && Cookie::read(&"zz".repeat(32)).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_it_is_idle_old_or_logged_out() {
        let sessions = Sessions::new().unwrap();
        let cookie = sessions.log_in("alice").unwrap();
        assert_eq!(sessions.user(&cookie).as_deref(), Some("alice"));
        assert_eq!(sessions.user(&Cookie::new().unwrap()), None);
        tokio::time::advance(MAX_IDLE).await;
        assert_eq!(sessions.user(&cookie), None);

        let cookie = sessions.log_in("alice").unwrap();
        for _ in 0..MAX_AGE.as_secs() / 600 - 1 {
            tokio::time::advance(Duration::from_secs(600)).await;
            assert!(sessions.user(&cookie).is_some());
        }
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(sessions.user(&cookie), None);

        let cookie = sessions.log_in("alice").unwrap();
        sessions.log_out(&cookie);
        assert_eq!(sessions.user(&cookie), None);
    }

    #[tokio::test(start_paused = true)]
    async fn sessions_are_bounded_for_each_user_and_for_all() {
        let sessions = Sessions::new().unwrap();
        let bob = sessions.log_in("bob").unwrap();
        let mut cookies = Vec::new();
        for _ in 0..MAX_PER_USER + 1 {
            tokio::time::advance(Duration::from_secs(1)).await;
            cookies.push(sessions.log_in("alice").unwrap());
        }
        assert_eq!(sessions.user(&cookies[0]), None, "the oldest one of the same user made room");
        assert!(sessions.user(&cookies[1]).is_some() && sessions.user(&bob).is_some());
        for number in 0..2 * MAX_SESSIONS {
            sessions.log_in(&format!("user {number}")).unwrap();
        }
        assert_eq!(sessions.lock().len(), MAX_SESSIONS);
    }
}
