//! PKCS #11 URIs (RFC 7512) that name a private key, its module, and the file with its PIN.
//!
//! A URI is configuration, and is read strictly all the same: what is unknown or not supported is refused and named, because
//! a name that is ignored would find another key. RFC 7512, 2.5 has unknown attributes of the path match nothing, and lets
//! those of the query be ignored.
//!
//! What must always hold: a [`KeyUri`] names a key and an absolute module path; its texts are UTF-8 without control
//! characters, and no longer than PKCS #11 allows (RFC 7512, 2.3).

use core::fmt;
use std::path::PathBuf;

use crate::name::is_unprintable;

/// A URI that names a private key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyUri {
    pub(super) token: Option<String>,
    pub(super) manufacturer: Option<String>,
    pub(super) model: Option<String>,
    pub(super) serial: Option<String>,
    pub(super) slot_id: Option<u64>,
    pub(super) object: Option<String>,
    pub(super) id: Option<Vec<u8>>,
    pub(super) module_path: PathBuf,
    /// The file with the PIN, perhaps relative to that of the URI.
    pub(super) pin_source: Option<PathBuf>,
}

/// Why a URI is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UriError {
    /// It has more than [`MAX_LEN`] bytes.
    TooLong,
    /// It has another scheme.
    Scheme,
    /// This attribute of the path or the query, counted from 1, has no name and value. It may be a part of a PIN, and is not
    /// repeated.
    Attribute(usize),
    /// The value of this attribute has a character that must be percent-encoded, or is no UTF-8, or has a control character.
    Value(String),
    /// The value of this attribute is longer than this.
    Length(&'static str, usize),
    /// This attribute is there twice.
    Duplicate(String),
    /// This attribute means nothing here.
    Unknown(String),
    /// This attribute, or this value of it, is not supported; what to use in its place.
    Unsupported(&'static str, &'static str),
    /// This is missing.
    Missing(&'static str),
}

impl KeyUri {
    pub(super) fn parse(text: &str) -> Result<Self, UriError> {
        if text.len() > MAX_LEN {
            return Err(UriError::TooLong);
        }
        // RFC 3986, 3.1: the case of a scheme does not count.
        let (scheme, rest) = text.split_once(':').ok_or(UriError::Scheme)?;
        if !scheme.eq_ignore_ascii_case("pkcs11") {
            return Err(UriError::Scheme);
        }
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, query),
            None => (rest, ""),
        };
        let mut uri = Self::default();
        for (name, value) in attributes(path, ';', "&")? {
            uri.take_path(name, value)?;
        }
        for (name, value) in attributes(query, '&', "/?|")? {
            uri.take_query(name, &value)?;
        }
        if uri.object.is_none() && uri.id.is_none() {
            return Err(UriError::Missing("object or id, which name the key in its token"));
        }
        match uri.module_path.as_os_str().is_empty() {
            true => Err(UriError::Missing("module-path, as in ?module-path=/usr/lib/softhsm/libsofthsm2.so")),
            false => Ok(uri),
        }
    }

    /// Takes an attribute of the path (RFC 7512, 2.3).
    fn take_path(&mut self, name: &str, value: Vec<u8>) -> Result<(), UriError> {
        // The lengths of the fields of CK_TOKEN_INFO.
        match name {
            "token" => self.token = Some(token_text("token", value, 32)?),
            "manufacturer" => self.manufacturer = Some(token_text("manufacturer", value, 32)?),
            "model" => self.model = Some(token_text("model", value, 16)?),
            "serial" => self.serial = Some(token_text("serial", value, 16)?),
            "slot-id" => self.slot_id = Some(number("slot-id", &value)?),
            "object" => self.object = Some(plain_text("object", value)?),
            "id" if value.is_empty() => return Err(UriError::Value(name.into())),
            "id" => self.id = Some(value),
            "type" if value == b"private" => {}
            "type" => {
                return Err(UriError::Unsupported("type", "a private key signs: write type=private, or leave it out"));
            }
            "slot-manufacturer" => return Err(UriError::Unsupported("slot-manufacturer", OF_TOKEN)),
            "slot-description" => return Err(UriError::Unsupported("slot-description", OF_TOKEN)),
            "library-manufacturer" => return Err(UriError::Unsupported("library-manufacturer", OF_LIBRARY)),
            "library-description" => return Err(UriError::Unsupported("library-description", OF_LIBRARY)),
            "library-version" => return Err(UriError::Unsupported("library-version", OF_LIBRARY)),
            _ => return Err(UriError::Unknown(name.into())),
        }
        Ok(())
    }

    /// Takes an attribute of the query (RFC 7512, 2.4).
    fn take_query(&mut self, name: &str, value: &[u8]) -> Result<(), UriError> {
        match name {
            "module-path" => {
                self.module_path = plain_text("module-path", value.to_vec())?.into();
                // RFC 7512, 2.4: a relative path should be rejected.
                if !self.module_path.is_absolute() {
                    return Err(UriError::Unsupported("module-path", "give an absolute path"));
                }
            }
            "pin-source" => self.pin_source = Some(pin_source(&plain_text("pin-source", value.to_vec())?)?),
            "pin-value" => {
                let advice =
                    "a PIN does not belong here; write it into a file of mode 0600, and name that by pin-source";
                return Err(UriError::Unsupported("pin-value", advice));
            }
            "module-name" => return Err(UriError::Unsupported("module-name", "use module-path")),
            _ => return Err(UriError::Unknown(name.into())),
        }
        Ok(())
    }

    /// Returns the attributes by which the token is known, for people.
    pub(super) fn of_token(&self) -> String {
        let texts = [
            ("token", &self.token),
            ("manufacturer", &self.manufacturer),
            ("model", &self.model),
            ("serial", &self.serial),
        ];
        let texts = texts.into_iter().filter_map(|(name, value)| Some(format!("{name} {:?}", value.as_ref()?)));
        texts.chain(self.slot_id.map(|id| format!("slot-id {id}"))).collect::<Vec<_>>().join(", ")
    }

    /// Returns the attributes by which the key is known, for people.
    pub(super) fn of_key(&self) -> String {
        let object = self.object.as_ref().map(|object| format!("object {object:?}"));
        let id = self.id.as_ref().map(|id| {
            let id: String = id.iter().map(|byte| format!("%{byte:02X}")).collect();
            format!("id {id}")
        });
        object.into_iter().chain(id).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the attributes of a component, each once, with their values decoded. `reserved` are the characters that may stand
/// in values there, beside pk11-res-avail.
fn attributes<'a>(component: &'a str, delimiter: char, reserved: &str) -> Result<Vec<(&'a str, Vec<u8>)>, UriError> {
    let mut attributes: Vec<(&str, Vec<u8>)> = Vec::new();
    if component.is_empty() {
        return Ok(attributes);
    }
    for (number, attribute) in component.split(delimiter).enumerate() {
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let (name, value) = match attribute.split_once('=') {
            Some((name, value)) if is_name(name) => (name, value),
            _ => return Err(UriError::Attribute(number + 1)),
        };
        if attributes.iter().any(|(earlier, _)| *earlier == name) {
            return Err(UriError::Duplicate(name.into()));
        }
        let value = decode(value, reserved).ok_or_else(|| UriError::Value(name.into()))?;
        attributes.push((name, value));
    }
    Ok(attributes)
}

/// Decodes percent-encoding. Returns `None` for a character that must be encoded, and for `%` without two digits.
fn decode(value: &str, reserved: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        decoded.push(match byte {
            b'%' => hex(bytes.next())? << 4 | hex(bytes.next())?,
            _ if byte.is_ascii_alphanumeric() => byte,
            _ if b"-._~:[]@!$'()*+,=".contains(&byte) || reserved.as_bytes().contains(&byte) => byte,
            _ => return None,
        });
    }
    Some(decoded)
}

/// Returns a text of a field of CK_TOKEN_INFO, which is padded with spaces to this length in bytes.
fn token_text(name: &'static str, value: Vec<u8>, max: usize) -> Result<String, UriError> {
    let text = plain_text(name, value)?;
    match text.len() <= max {
        true => Ok(text.trim_end_matches(' ').into()),
        false => Err(UriError::Length(name, max)),
    }
}

/// Returns a text that can stand in a message.
fn plain_text(name: &'static str, value: Vec<u8>) -> Result<String, UriError> {
    let text = String::from_utf8(value).ok().filter(|text| !text.chars().any(is_unprintable));
    text.ok_or_else(|| UriError::Value(name.into()))
}

fn number(name: &'static str, value: &[u8]) -> Result<u64, UriError> {
    let digits = core::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| UriError::Value(name.into()))
}

/// Returns the path of a pin-source, which is a path or a file URI (RFC 8089), here also one with a relative path.
fn pin_source(source: &str) -> Result<PathBuf, UriError> {
    let unsupported = |advice| Err(UriError::Unsupported("pin-source", advice));
    if source.starts_with('|') {
        return unsupported("no program is run; name a file");
    }
    let path = match source.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            let path = match rest.strip_prefix("//") {
                Some(rest) => rest.strip_prefix("localhost").unwrap_or(rest),
                None => rest,
            };
            if rest.starts_with("//") && !path.starts_with('/') {
                return unsupported("the file must be on this machine");
            }
            let path = decode(path, "/&;").ok_or_else(|| UriError::Value("pin-source".into()))?;
            plain_text("pin-source", path)?
        }
        Some((scheme, _)) if !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            return unsupported("of URIs only file: is supported; name a file");
        }
        _ => source.into(),
    };
    match path.is_empty() {
        true => unsupported("name a file"),
        false => Ok(path.into()),
    }
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the URI has more than {MAX_LEN} bytes; shorten it"),
            Self::Scheme => f.write_str("holds no PKCS #11 URI; write pkcs11:token=...;object=...?module-path=..."),
            Self::Attribute(number) => {
                write!(f, "attribute {number} of the path or the query has no name and value; write name=value")
            }
            Self::Value(name) => {
                write!(f, "the value of {name} is none; percent-encode what is not a letter or a digit")
            }
            Self::Length(name, max) => {
                write!(f, "{name} has more than {max} bytes, and no token can have it; correct it")
            }
            Self::Duplicate(name) => write!(f, "{name} is there twice; remove one"),
            Self::Unknown(name) => write!(f, "the attribute {name} is unknown; remove it"),
            Self::Unsupported(name, advice) => write!(f, "{name} is not supported so: {advice}"),
            Self::Missing(what) => write!(f, "the URI lacks {what}; add it"),
        }
    }
}

/// The most bytes of a URI.
pub(super) const MAX_LEN: usize = 2_048;

const OF_TOKEN: &str = "use token, serial, manufacturer, model or slot-id";

const OF_LIBRARY: &str = "module-path says which library it is";

#[cfg(test)]
mod tests;
