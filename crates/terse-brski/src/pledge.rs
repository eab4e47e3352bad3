//! The pledge (RFC 8995, 2.1 and 5): a device that is new in a network, as a state machine without sockets, clock or
//! randomness of its own. It speaks one of two [forms](Form): BRSKI over HTTPS ([`Https`], the default), or constrained BRSKI
//! over CoAPS ([`Coaps`]).
//!
//! ```text
//!  RFC 8995, fig. 2   states                                     what comes, and where it leads
//!  Discover           1 Discover             <---------------+   a proxy is due: 2
//!  Identify           2 Connect                              |   TLS is there, provisional: 3; to repeat a request: 4
//!  Request Join       3 SignVoucherRequest                   |   the signature of the IDevID: 4
//!                     4 RequestVoucher       <--+            |   200, verified and matching: 7; not so: 6;
//!                                               |            |   202: 5; the first redirection to another origin: 2
//!                     5 WaitForVoucher       ---+            |   Retry-After is over: 4; another proxy is due: 1
//!  Imprint            6 RefuseVoucher        ----------------+   told, or not: 1
//!                     7 ReportVoucher                        |   told: 8
//!  Enroll             8 RequestCaCerts                       |   the trust anchors of the domain: 9
//!                     9 RequestCsrAttributes                 |   what the request must ask for: 10
//!                    10 MakeKey                              |   the key of the LDevID: 11
//!                    11 SignRequest                          |   its signature: 12
//!                    12 Enroll               <-- 202, 503    |   the LDevID, valid: 13
//!                    13 Store                                |   stored: 16
//!                    14 RequestIdentityKey   <-- 503         |   the file with the identity key: 15
//!                    15 StoreIdentityKey                     |   stored: 16
//!                    16 ReportEnrollment                     |   told over a new connection with the LDevID: 18
//!                    17 ReportFailure        ----------------+   (from 8 to 15) told, or not: 1
//!  Enrolled          18 Enrolled
//! ```
//!
//! [`Coaps`] goes from 8 to 10: there are no CSR attributes (draft-ietf-anima-constrained-voucher-31, "Pledge Enrollment
//! Procedure"), and no redirections. A pledge that wants an identity key beside its certificate
//! ([`Credentials::CertificateAndIdentityKey`]) goes from 13 to 14, over the new connection; if there is no identity key, it goes
//! on to 16. One that wants nothing else ([`Credentials::IdentityKey`]) goes from 7 to 14, and on to 16 with its IDevID.
//!
//! From 2 to 5 whatever fails leads to 1: the proxy backs off, and the others have their turn. From 7 to 12, in 14 and in 16, a
//! lost connection is made again, and the step repeats its request.
//!
//! What must always hold: the pledge trusts nothing that it receives before the voucher is verified, and reads at most
//! [`MAX_LEN`](crate::voucher::MAX_LEN) bytes of a response until then; states from 7 on have an imprint, which only a
//! verified voucher gives; whatever a peer does or leaves undone, a timer leads on. Only the pledge's own key and storage are
//! waited for without a limit, in 10, 11, 13 and 15.
//!
//! # The driver
//!
//! A program executes the [`Command`]s, and tells what comes of them:
//!
//! 1. [`Pledge::handle`] takes each [`Input`], with the time and a source of randomness. Its commands are executed in order.
//! 2. After each call, [`Pledge::poll_timeout`] says when to call it with [`Input::Timer`], if nothing comes before.
//!
//! There is at most one connection at a time. Its registrar presents itself unverified
//! ([`Trust::unverified`](terse_tls::Trust::unverified)), because it is the pledge that authenticates it. The driver looks for proxies all the time (RFC 8995, 4.1 and Appendix B), with
//! the back-off of its active methods, until [`Event::Enrolled`]. With [`Coaps`] it maps requests and responses by [`coaps`].
//!
//! ```
//! use terse_brski::pledge::{Command, Event, Input, Pledge};
//! use terse_tls::crypto::Rng;
//! use terse_tls::{Instant, Now};
//!
//! /// Sockets and TLS, storage, and a key store.
//! trait Driver {
//!     /// Begins to execute a command. What comes of it, `next` returns.
//!     fn execute(&mut self, command: Command);
//!     /// Waits for the next input: until `timeout`, when that is `Input::Timer`. Returns it, and when it came.
//!     fn next(&mut self, timeout: Option<Instant>) -> (Now, Input<'_>);
//! }
//!
//! fn run(mut pledge: Pledge, driver: &mut impl Driver, rng: &mut dyn Rng) {
//!     loop {
//!         let (now, input) = driver.next(pledge.poll_timeout());
//!         for command in pledge.handle(now, rng, input) {
//!             match command {
//!                 Command::Inform(Event::Enrolled { .. }) => return,
//!                 Command::Inform(event) => println!("{event:?}"),
//!                 command => driver.execute(command),
//!             }
//!         }
//!     }
//! }
//! ```

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::mem;

use terse_tls::crypto::Rng;
use terse_tls::{Instant, Now};

mod certificates;
pub mod coaps;
mod command;
mod config;
mod context;
mod enroll;
mod failure;
mod form;
mod http;
mod imprint;
mod join;
mod proxies;

pub use command::{
    Command, ConnectionId, Enrollment, Event, Identity, Input, Method, Presented, Request, SignatureId, Target,
};
pub use config::{ConfigError, Paths, PledgeConfig};
use context::Context;
use enroll::Enroll;
pub use failure::{AttemptFailed, EnrollmentFailed, VoucherRefused};
pub use form::{Coaps, Credentials, Form, Https, Proximity};
pub use http::{Origin, Response};
use join::{Join, Outstanding};
use proxies::ProxyTable;
pub use proxies::{MAX_PROXIES, Proxy};

/// A pledge, from the discovery of proxies to its credential. The [module](self) says how it is driven.
pub struct Pledge<F: Form = Https> {
    config: Arc<PledgeConfig<F>>,
    proxies: ProxyTable<Outstanding>,
    state: State<F>,
    numbers: u32,
}

/// The states, in three groups: without a connection, with a provisional one, and with that of an authenticated registrar.
enum State<F: Form> {
    /// 1.
    Discover,
    /// 2 to 6.
    Join(Box<Join<F>>),
    /// 7 to 17.
    Enroll(Box<Enroll>),
    /// 18.
    Enrolled,
}

/// The states by name, in the order of the diagram of the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The pledge waits until it can try a proxy.
    Discover = 1,
    /// The pledge makes a connection, which will be provisional.
    Connect,
    /// The key of the IDevID signs the voucher request.
    SignVoucherRequest,
    /// The registrar is to answer the voucher request.
    RequestVoucher,
    /// The registrar has asked for patience.
    WaitForVoucher,
    /// The registrar is told that its voucher was not accepted.
    RefuseVoucher,
    /// The registrar is told that its voucher was accepted.
    ReportVoucher,
    /// The registrar is to give the CA certificates.
    RequestCaCerts,
    /// The registrar is to say what the certification request must ask for.
    RequestCsrAttributes,
    /// The key of the LDevID is being made.
    MakeKey,
    /// The key of the LDevID signs the certification request.
    SignRequest,
    /// The registrar is to give the LDevID.
    Enroll,
    /// The LDevID is being stored.
    Store,
    /// The registrar is to give the identity key.
    RequestIdentityKey,
    /// The identity key is being stored.
    StoreIdentityKey,
    /// The registrar is told of the success.
    ReportEnrollment,
    /// The registrar is told that the enrollment has failed.
    ReportFailure,
    /// The pledge has its credential.
    Enrolled,
}

impl<F: Form> Pledge<F> {
    /// Returns a pledge that knows no proxy yet.
    pub fn new(config: Arc<PledgeConfig<F>>) -> Self {
        Self { config, proxies: ProxyTable::new(), state: State::Discover, numbers: 0 }
    }

    /// Takes an input, and returns what is to be done: at most four commands.
    #[must_use]
    pub fn handle(&mut self, now: Now, rng: &mut dyn Rng, input: Input<'_>) -> Vec<Command> {
        match &input {
            Input::Found(proxies) => self.proxies.found(now.monotonic, proxies),
            Input::Gone(proxy) => self.proxies.gone(*proxy),
            Input::LinkChanged => self.proxies.reset_backoffs(now.monotonic),
            _ => {}
        }
        let (proxies, numbers) = (&mut self.proxies, &mut self.numbers);
        let mut cx = Context { config: &self.config, time: now, rng, proxies, numbers, commands: Vec::new() };
        self.state = match mem::replace(&mut self.state, State::Discover) {
            State::Discover => Join::begin(&mut cx),
            State::Join(join) => join.handle(&mut cx, input),
            State::Enroll(enroll) => enroll.handle(&mut cx, input),
            State::Enrolled => State::Enrolled,
        };
        cx.commands
    }

    /// Returns when to call [`Self::handle`] with [`Input::Timer`]; `None` if only another input leads on. It can change with
    /// every input.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Discover => self.proxies.next_due(),
            State::Join(join) => Some(join.timeout(self.proxies.next_due())),
            State::Enroll(enroll) => enroll.timeout(),
            State::Enrolled => None,
        }
    }

    /// Returns the state.
    pub fn phase(&self) -> Phase {
        match &self.state {
            State::Discover => Phase::Discover,
            State::Join(join) => join.phase(),
            State::Enroll(enroll) => enroll.phase(),
            State::Enrolled => Phase::Enrolled,
        }
    }
}

impl<F: Form> fmt::Debug for Pledge<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pledge")
            .field("serial_number", &self.config.serial_number())
            .field("phase", &self.phase())
            .field("proxies", &self.proxies)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
