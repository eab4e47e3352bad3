//! The connection to the registrar of an enrollment, which may be lost and made again (RFC 8995, 5).
//!
//! What must always hold: a new connection has the same target, and before the pledge has its LDevID, its registrar presents
//! the same as the one that the voucher has authenticated.

use alloc::boxed::Box;
use alloc::string::String;

use pki_types::CertificateDer;
use terse_tls::{Expect, Instant, KeyPurposeId, Trust};

use crate::pledge::command::{Command, ConnectionId, Identity, Presented, Request, Target};
use crate::pledge::context::Context;
use crate::pledge::form::Form;
use crate::pledge::imprint::Imprint;
use crate::pledge::proxies::Proxy;

/// Where the pledge enrolls, and how the current step goes.
pub(super) struct Session {
    pub(super) imprint: Imprint,
    pub(super) proxy: Proxy,
    target: Target,
    /// The hash of what the registrar has presented that the voucher has authenticated.
    registrar: [u8; 32],
    pub(super) link: Link,
    /// How many connections were lost without a response.
    pub(super) losses: u32,
    /// The path that the request of this step is redirected to.
    pub(super) path: Option<Box<str>>,
    pub(super) redirections: u8,
    /// How often the status of this step could not be taken yet.
    pub(super) delays: u8,
    /// When the pledge gives up, if the request of this step was answered with 202.
    pub(super) deadline: Option<Instant>,
}

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// It is being made, until this time.
    Connecting(ConnectionId, Instant),
    /// A response is due, until this time.
    Awaiting(ConnectionId, Instant),
    /// The registrar has asked for the same request at this time.
    Waiting(ConnectionId, Instant),
    /// Nothing is under way.
    Idle(ConnectionId),
    /// There is none until this time, or until one is needed.
    Down(Option<Instant>),
}

impl Session {
    pub(super) const fn new(
        imprint: Imprint,
        proxy: Proxy,
        target: Target,
        connection: ConnectionId,
        registrar: [u8; 32],
    ) -> Self {
        let link = Link::Idle(connection);
        Self {
            imprint,
            proxy,
            target,
            registrar,
            link,
            losses: 0,
            path: None,
            redirections: 0,
            delays: 0,
            deadline: None,
        }
    }

    /// Sends a request, or makes a connection for it with this identity if there is none.
    pub(super) fn transmit<F: Form>(&mut self, cx: &mut Context<'_, F>, mut request: Request, identity: Identity) {
        let until = cx.in_ms(F::STEP_TIMEOUT_MS);
        self.link = match self.link.connection() {
            Some(connection) => {
                if let Some(path) = &self.path {
                    request.path = String::from(&**path).into();
                }
                cx.send(connection, request);
                Link::Awaiting(connection, until)
            }
            None => Link::Connecting(cx.connect(self.target.clone(), identity), until),
        };
    }

    /// Whether this is what the registrar has presented that the voucher has authenticated.
    pub(super) fn is_known<F: Form>(&self, cx: &Context<'_, F>, presented: Presented<'_>) -> bool {
        cx.digest_of(presented) == self.registrar
    }

    pub(super) fn close<F: Form>(mut self, cx: &mut Context<'_, F>) -> Self {
        if let Some(connection) = self.link.connection() {
            cx.command(Command::Close(connection));
            self.link = Link::Down(None);
        }
        self
    }

    /// Notes that the connection is lost, and when to make another one. Returns false if there were too many.
    pub(super) fn may_reconnect<F: Form>(&mut self, cx: &Context<'_, F>) -> bool {
        if let Link::Waiting(_, until) = self.link {
            self.link = Link::Down(Some(until));
            return true;
        }
        let backoff = FIRST_RECONNECT_MS << self.losses.min(MAX_LOSSES);
        self.losses += 1;
        self.link = Link::Down(Some(cx.in_ms(backoff)));
        self.losses <= MAX_LOSSES
    }
}

/// Whether these are the certificates of an EST server of the domain (RFC 7030, 3.6.1).
pub(super) fn is_of_domain<F: Form>(cx: &Context<'_, F>, trust: &Trust, chain: &[CertificateDer<'_>]) -> bool {
    trust.check(&cx.config.provider, chain, Expect::Usage(KeyPurposeId::CMC_RA), cx.date()).is_ok()
}

impl Link {
    pub(super) const fn connection(self) -> Option<ConnectionId> {
        match self {
            Self::Connecting(connection, _)
            | Self::Awaiting(connection, _)
            | Self::Waiting(connection, _)
            | Self::Idle(connection) => Some(connection),
            Self::Down(_) => None,
        }
    }

    pub(super) const fn timeout(self) -> Option<Instant> {
        match self {
            Self::Connecting(_, at) | Self::Awaiting(_, at) | Self::Waiting(_, at) => Some(at),
            Self::Down(at) => at,
            Self::Idle(_) => None,
        }
    }

    pub(super) fn is_connecting(self, connection: ConnectionId) -> bool {
        matches!(self, Self::Connecting(own, _) if own == connection)
    }

    pub(super) fn is_awaiting(self, connection: ConnectionId) -> bool {
        matches!(self, Self::Awaiting(own, _) if own == connection)
    }
}

/// How long the pledge waits before the first new connection, in milliseconds. It doubles with each that is lost.
const FIRST_RECONNECT_MS: u64 = 1_000;

/// How many connections may be lost one after the other, without a response.
const MAX_LOSSES: u32 = 5;
