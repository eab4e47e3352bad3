//! A session with a token, and the key that is found there.
//!
//! What must always hold: exactly one token and one private key fit the URI; a PIN is given to a token once, and not at all
//! when that could be the token's last try.

use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::{Slot, TokenInfo};
use cryptoki::types::RawAuthPin;

use super::module::Library;
use super::problem::Problem;
use super::uri::KeyUri;
use crate::KeyAlgorithm;

/// A session in which the key was found.
pub(super) struct Open {
    session: Session,
    key: ObjectHandle,
    /// That of the library when the session was opened.
    generation: u64,
}

impl Open {
    /// Opens a session, logs in, and finds the key.
    pub(super) fn new(
        library: &Library,
        uri: &KeyUri,
        pin: Option<&RawAuthPin>,
        algorithm: KeyAlgorithm,
    ) -> Result<Self, Problem> {
        let (slot, token) = find_token(library, uri)?;
        // Sessions are closed by `close` alone: after a restart, the number of an old one may be that of a new one.
        let session = library.functions.open_ro_session_no_drop(slot)?;
        let found = log_in(&session, &token, pin).and_then(|()| find_key(&session, uri, &token, pin.is_some()));
        match found.and_then(|key| check_key(&session, key, algorithm)) {
            Ok(key) => Ok(Self { session, key, generation: library.generation }),
            Err(problem) => {
                let _ = session.close(); // the first problem counts
                Err(problem)
            }
        }
    }

    /// Whether the session was opened before the library was initialised again.
    pub(super) fn is_of_before(&self, library: &Library) -> bool {
        self.generation != library.generation
    }

    pub(super) fn sign(&self, mechanism: &Mechanism<'_>, input: &[u8]) -> Result<Vec<u8>, Problem> {
        self.session.sign(mechanism, self.key, input).map_err(|error| match error {
            Error::Pkcs11(RvError::KeyTypeInconsistent | RvError::KeySizeRange | RvError::DataLenRange, _) => {
                Problem::OtherKind
            }
            Error::Pkcs11(RvError::MechanismInvalid, _) => Problem::NoMechanism,
            Error::Pkcs11(RvError::KeyFunctionNotPermitted, _) => Problem::MayNotSign,
            error => error.into(),
        })
    }

    /// Closes the session, if it is of this library and not of before.
    pub(super) fn close(self, library: &Library) {
        if !self.is_of_before(library) {
            let _ = self.session.close(); // one that has ended need not be closed
        }
    }
}

fn find_token(library: &Library, uri: &KeyUri) -> Result<(Slot, TokenInfo), Problem> {
    let mut there = Vec::new();
    for slot in library.functions.get_slots_with_token()? {
        // A token may go away meanwhile, and one that cannot be read is none of ours.
        if let Ok(token) = library.functions.get_token_info(slot)
            && token.token_initialized()
        {
            there.push((slot, token));
        }
    }
    let labels: Vec<_> = there.iter().map(|(_, token)| token.label().to_owned()).collect();
    let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
    there.retain(|(slot, token)| {
        is(&uri.token, token.label())
            && is(&uri.manufacturer, token.manufacturer_id())
            && is(&uri.model, token.model())
            && is(&uri.serial, token.serial_number())
            && uri.slot_id.is_none_or(|id| id == slot.id())
    });
    match (there.pop(), there.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(Problem::SeveralTokens(labels)),
        (None, _) => Err(Problem::NoToken { wanted: uri.of_token(), labels }),
    }
}

fn log_in(session: &Session, token: &TokenInfo, pin: Option<&RawAuthPin>) -> Result<(), Problem> {
    let Some(pin) = pin else { return Ok(()) };
    if token.user_pin_locked() {
        return Err(Problem::PinLocked);
    }
    if token.user_pin_final_try() {
        return Err(Problem::FinalTry);
    }
    match session.login_with_raw(UserType::User, pin) {
        Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(()),
        Err(Error::Pkcs11(RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange, _)) => {
            Err(Problem::WrongPin)
        }
        Err(Error::Pkcs11(RvError::PinLocked, _)) => Err(Problem::PinLocked),
        Err(error) => Err(error.into()),
    }
}

fn find_key(session: &Session, uri: &KeyUri, token: &TokenInfo, has_pin: bool) -> Result<ObjectHandle, Problem> {
    let mut template = vec![Attribute::Class(ObjectClass::PRIVATE_KEY)];
    template.extend(uri.object.as_ref().map(|object| Attribute::Label(object.as_bytes().to_vec())));
    template.extend(uri.id.clone().map(Attribute::Id));
    let mut keys = session.find_objects(&template)?;
    match (keys.pop(), keys.is_empty()) {
        (Some(key), true) => Ok(key),
        (Some(_), false) => Err(Problem::SeveralKeys(uri.of_key())),
        (None, _) => {
            let lacks_pin = !has_pin && token.login_required();
            Err(Problem::NoKey { wanted: uri.of_key(), token: token.label().to_owned(), lacks_pin })
        }
    }
}

/// Checks what the token says of a key: modules report in many ways that a key does not fit what it is used for.
fn check_key(session: &Session, key: ObjectHandle, algorithm: KeyAlgorithm) -> Result<ObjectHandle, Problem> {
    let kind = match algorithm {
        KeyAlgorithm::P256 | KeyAlgorithm::P384 => KeyType::EC,
        KeyAlgorithm::Ed25519 => KeyType::EC_EDWARDS,
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => KeyType::RSA,
    };
    let wanted = [AttributeType::KeyType, AttributeType::Sign, AttributeType::AlwaysAuthenticate];
    for attribute in session.get_attributes(key, &wanted)? {
        match attribute {
            Attribute::KeyType(other) if other != kind => return Err(Problem::OtherKind),
            Attribute::Sign(false) => return Err(Problem::MayNotSign),
            Attribute::AlwaysAuthenticate(true) => return Err(Problem::AlwaysAuthenticate),
            _ => {}
        }
    }
    Ok(key)
}
