//! This module tracks how the caching offers of a scope fare: when a network or a server cannot take them, connections
//! must not keep failing because of them (docs/caching.md, 4.2, last paragraph).
//!
//! What must always hold: once two connections have failed because of an offer, at most one of any two in a row does.

use super::FallbackReason;
use crate::error::InvalidMessage;
use crate::wire::{Reader, Writer};

/// The state of a scope, which decides by the fate of earlier connections what the next one may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Offers are made; the last `unanswered` ones, which are fewer than two, got no answer.
    Working { unanswered: u8 },
    /// Attempts alternate full and cached until one succeeds.
    Alternating { cached_next: bool },
    /// A full attempt succeeded where cached ones had failed, and the next cached attempt decides.
    OnTrial,
    /// Caching is off until a wall-clock time in seconds or, where there is no such clock, for so many more
    /// connections.
    Off { until: Option<u64>, connections: u8 },
}

/// The permission of a connection to offer, and the reason why it may not do more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// The connection offers what there is.
    Offer,
    /// The connection says that caching is supported and offers nothing. Even this full attempt brings a ticket for the
    /// next one.
    Support(FallbackReason),
    /// The connection sends no extension of a caching scheme.
    Nothing(FallbackReason),
}

impl Health {
    pub(super) const GOOD: Self = Self::Working { unanswered: 0 };
    /// How long caching is off, in seconds.
    const OFF: u64 = 24 * 60 * 60;
    /// For how many connections caching is off where there is no clock: one for each hour.
    const OFF_CONNECTIONS: u8 = 24;
    const MAX_UNANSWERED: u8 = 2;

    /// Returns the name of the state in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Working { .. } => "working",
            Self::Alternating { .. } => "alternating",
            Self::OnTrial => "on trial",
            Self::Off { .. } => "off",
        }
    }

    /// Returns what a new connection may do. `now` is in seconds.
    pub(super) fn begin(&mut self, now: Option<u64>) -> Permission {
        match self {
            Self::Working { .. } | Self::OnTrial | Self::Alternating { cached_next: true } => Permission::Offer,
            Self::Alternating { cached_next: false } => Permission::Support(FallbackReason::FullAttempt),
            Self::Off { until, connections } => {
                let over = match (now, until) {
                    (Some(now), Some(until)) => {
                        // The time may have been set under a clock that was ahead.
                        *until = (*until).min(now.saturating_add(Self::OFF));
                        now >= *until
                    }
                    _ => {
                        let over = *connections == 0;
                        *connections = connections.saturating_sub(1);
                        over
                    }
                };
                if !over {
                    return Permission::Nothing(FallbackReason::SwitchedOff);
                }
                *self = Self::OnTrial;
                Permission::Offer
            }
        }
    }

    /// Returns what a connection that offers a session may do. Such a connection says nothing about how caching works.
    pub(super) const fn beside_resumption(self) -> Permission {
        match self {
            Self::Off { .. } => Permission::Nothing(FallbackReason::SwitchedOff),
            _ => Permission::Support(FallbackReason::SessionOffered),
        }
    }

    /// Notes that a connection was answered and authenticated, where `offered` says whether it offered anything.
    pub(super) fn succeeded(&mut self, offered: bool) {
        match self {
            _ if offered => *self = Self::GOOD,
            Self::Alternating { .. } => *self = Self::OnTrial,
            Self::Working { .. } | Self::OnTrial | Self::Off { .. } => {}
        }
    }

    /// Notes that a connection failed, where `offered` says whether it offered anything.
    pub(super) fn failed(&mut self, offered: bool, now: Option<u64>) {
        match self {
            Self::Working { unanswered } if offered => {
                *unanswered += 1;
                if *unanswered >= Self::MAX_UNANSWERED {
                    *self = Self::Alternating { cached_next: false };
                }
            }
            Self::OnTrial if offered => {
                let until = now.map(|now| now.saturating_add(Self::OFF));
                *self = Self::Off { until, connections: Self::OFF_CONNECTIONS };
            }
            Self::Alternating { cached_next } => *cached_next = !offered,
            Self::Working { .. } | Self::OnTrial | Self::Off { .. } => {}
        }
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::GOOD
    }
}

/// In a record, a state is a number, and some states have more data.
impl Health {
    /// Returns the number of the state, which is below 8.
    pub(super) const fn number(&self) -> u8 {
        match *self {
            Self::Working { unanswered } => unanswered,
            Self::Alternating { cached_next: false } => 2,
            Self::Alternating { cached_next: true } => 3,
            Self::OnTrial => 4,
            Self::Off { until: Some(_), .. } => 5,
            Self::Off { until: None, .. } => 6,
        }
    }

    /// Writes the data that the number does not tell.
    pub(super) fn encode_rest(&self, writer: &mut Writer<'_>) {
        if let Self::Off { until, connections } = *self {
            until.into_iter().for_each(|until| writer.u64(until));
            writer.u8(connections);
        }
    }

    pub(super) fn parse(number: u8, reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(match number {
            unanswered @ 0..Self::MAX_UNANSWERED => Self::Working { unanswered },
            2 => Self::Alternating { cached_next: false },
            3 => Self::Alternating { cached_next: true },
            4 => Self::OnTrial,
            5 => Self::Off { until: Some(reader.u64()?), connections: reader.u8()? },
            6 => Self::Off { until: None, connections: reader.u8()? },
            _ => return Err(InvalidMessage::IllegalValue),
        })
    }
}

/// Says whether fingerprints are sent to a server that answers none: an observer learns from them which certificate a
/// client knows, and neither side gains anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fingerprints {
    /// Fingerprints are sent.
    #[default]
    Sent,
    /// Fingerprints are sent, but the server answered the last ones with no scheme.
    Ignored,
    /// Fingerprints are not sent until a wall-clock time in seconds.
    HeldUntil(u64),
    /// Fingerprints are not sent for so many connections, where there is no wall clock.
    Held(u8),
}

impl Fingerprints {
    /// Returns whether a new connection sends fingerprints. `now` is in seconds.
    pub(super) fn are_sent(&mut self, now: Option<u64>) -> bool {
        match (&mut *self, now) {
            (Self::Sent | Self::Ignored | Self::Held(0), _) => true,
            (Self::HeldUntil(until), Some(now)) => {
                *until = (*until).min(now.saturating_add(Health::OFF)); // it was set under a clock that was ahead
                now >= *until
            }
            (Self::HeldUntil(_), None) => false,
            (Self::Held(connections), _) => {
                *connections -= 1;
                false
            }
        }
    }

    /// Notes that a server that was sent fingerprints answered with a scheme, or with none.
    pub(super) fn answered(&mut self, with_scheme: bool, now: Option<u64>) {
        *self = match (&self, now) {
            _ if with_scheme => Self::Sent,
            (Self::Sent, _) => Self::Ignored,
            (_, Some(now)) => Self::HeldUntil(now.saturating_add(Health::OFF)),
            (_, None) => Self::Held(Health::OFF_CONNECTIONS),
        }
    }

    /// Returns the number of the state in a record, which is below 4. Some states have more data.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Sent => 0,
            Self::Ignored => 1,
            Self::HeldUntil(_) => 2,
            Self::Held(_) => 3,
        }
    }

    /// Writes the data that the number does not tell.
    pub(super) fn encode_rest(self, writer: &mut Writer<'_>) {
        match self {
            Self::Sent | Self::Ignored => {}
            Self::HeldUntil(until) => writer.u64(until),
            Self::Held(connections) => writer.u8(connections),
        }
    }

    pub(super) fn parse(number: u8, reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        Ok(match number {
            0 => Self::Sent,
            1 => Self::Ignored,
            2 => Self::HeldUntil(reader.u64()?),
            _ => Self::Held(reader.u8()?),
        })
    }
}

#[cfg(test)]
mod tests;
