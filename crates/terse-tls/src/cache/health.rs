//! How a scope stands up to caching offers: when a network or a server cannot take them, connections must not keep
//! failing for it (docs/caching.md, 4.2, last paragraph).
//!
//! What must always hold: of two connections in a row at most one fails because of an offer, once two have.

use super::FallbackReason;
use crate::error::InvalidMessage;
use crate::wire::{Reader, Writer};

/// What the next connection may do, by what became of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// Offers are made; `unanswered` of the last ones, fewer than two, led nowhere.
    Working { unanswered: u8 },
    /// Attempts alternate full and cached until one succeeds.
    Alternating { cached_next: bool },
    /// A full attempt succeeded where cached ones had failed: the next cached one decides.
    OnTrial,
    /// Off, until a wall-clock time in seconds. Where there is no such clock, for so many more connections.
    Off { until: Option<u64>, connections: u8 },
}

/// What a connection may do, and why not more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// Offer what there is.
    Offer,
    /// Say that caching is supported, and offer nothing. So the full attempt brings a ticket for the next one.
    Support(FallbackReason),
    /// Send no extension of a caching scheme.
    Nothing(FallbackReason),
}

impl Health {
    pub(super) const GOOD: Self = Self::Working { unanswered: 0 };
    /// How long a scheme is off, in seconds.
    const OFF: u64 = 24 * 60 * 60;
    /// What stands for that where there is no clock: as many connections as hours.
    const OFF_CONNECTIONS: u8 = 24;
    const MAX_UNANSWERED: u8 = 2;

    /// As in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Working { .. } => "working",
            Self::Alternating { .. } => "alternating",
            Self::OnTrial => "on trial",
            Self::Off { .. } => "off",
        }
    }

    /// Before a connection. `now` is in seconds.
    pub(super) fn begin(&mut self, now: Option<u64>) -> Permission {
        match self {
            Self::Working { .. } | Self::OnTrial | Self::Alternating { cached_next: true } => Permission::Offer,
            Self::Alternating { cached_next: false } => Permission::Support(FallbackReason::FullAttempt),
            Self::Off { until, connections } => {
                let over = match (now, until) {
                    (Some(now), Some(until)) => {
                        // Set under a clock that was ahead.
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

    /// Before a connection that offers a session. It decides nothing about the scheme.
    pub(super) const fn beside_resumption(self) -> Permission {
        match self {
            Self::Off { .. } => Permission::Nothing(FallbackReason::SwitchedOff),
            _ => Permission::Support(FallbackReason::SessionOffered),
        }
    }

    /// A connection that offered something, or did not, was answered and authenticated.
    pub(super) fn succeeded(&mut self, offered: bool) {
        match self {
            _ if offered => *self = Self::GOOD,
            Self::Alternating { .. } => *self = Self::OnTrial,
            Self::Working { .. } | Self::OnTrial | Self::Off { .. } => {}
        }
    }

    /// A connection that offered something, or did not, failed.
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

/// In a record: a number, and for some of them more.
impl Health {
    /// Below 8.
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

    /// What the number leaves open.
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

/// Whether fingerprints are sent to a server that answers none: an observer learns from them which certificate a client
/// knows, and nobody has anything from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fingerprints {
    /// They are.
    #[default]
    Sent,
    /// They are, but the last ones were not answered, with any scheme.
    Ignored,
    /// They are not until a wall-clock time in seconds.
    HeldUntil(u64),
    /// They are not for so many connections, where there is no such clock.
    Held(u8),
}

impl Fingerprints {
    /// Before a connection: whether they are sent. `now` is in seconds.
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

    /// A server that was sent some answered with a scheme, or with none.
    pub(super) fn answered(&mut self, with_scheme: bool, now: Option<u64>) {
        *self = match (&self, now) {
            _ if with_scheme => Self::Sent,
            (Self::Sent, _) => Self::Ignored,
            (_, Some(now)) => Self::HeldUntil(now.saturating_add(Health::OFF)),
            (_, None) => Self::Held(Health::OFF_CONNECTIONS),
        }
    }

    /// In a record: a number below 4, and for some of them more.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Sent => 0,
            Self::Ignored => 1,
            Self::HeldUntil(_) => 2,
            Self::Held(_) => 3,
        }
    }

    /// What the number leaves open.
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
