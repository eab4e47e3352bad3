//! The serde form of what records hold: plain numbers, names and bytes, which a row of any database can take.

use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::certificate::SerialNumberField;
use crate::voucher::{Assertion, Nonce};

/// Returns the time this many seconds after `time`, at most the last that there is.
pub(crate) fn after(time: UnixTime, seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(time.as_secs().saturating_add(seconds)))
}

/// An [`Assertion`], by its name.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Assertion", rename_all = "kebab-case")]
pub(crate) enum AssertionName {
    Verified,
    Logged,
    Proximity,
    AgentProximity,
}

/// A [`SerialNumberField`], by its name.
#[derive(Serialize, Deserialize)]
#[serde(remote = "SerialNumberField", rename_all = "kebab-case")]
pub(crate) enum SerialNumberFieldName {
    SubjectSerialNumber,
    CommonName,
}

/// A time, in seconds since 1970.
pub(crate) mod seconds {
    use super::{Deserialize, Deserializer, Duration, Serializer, UnixTime};

    pub(crate) fn serialize<S: Serializer>(time: &UnixTime, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.as_secs())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixTime, D::Error> {
        Ok(UnixTime::since_unix_epoch(Duration::from_secs(u64::deserialize(deserializer)?)))
    }
}

/// A time that may be missing.
pub(crate) mod optional_seconds {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, UnixTime};

    pub(crate) fn serialize<S: Serializer>(time: &Option<UnixTime>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UnixTime>, D::Error> {
        let seconds = Option::<u64>::deserialize(deserializer)?;
        Ok(seconds.map(|seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds))))
    }
}

/// A nonce that may be missing, as the bytes that stand in artefacts.
pub(crate) mod optional_nonce {
    use serde::de::Error as _;

    use super::{Deserialize, Deserializer, Nonce, Serialize, Serializer, Vec};

    pub(crate) fn serialize<S: Serializer>(nonce: &Option<Nonce>, serializer: S) -> Result<S::Ok, S::Error> {
        nonce.as_ref().map(Nonce::as_bytes).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nonce>, D::Error> {
        let bytes = Option::<Vec<u8>>::deserialize(deserializer)?;
        bytes.map(|bytes| Nonce::new(&bytes).map_err(|_| D::Error::custom("no nonce"))).transpose()
    }
}
