//! An attempt to join, up to the voucher (RFC 8995, 5.1, 5.2, 5.6): states 2 to 6 of the [pledge](super).
//!
//! What must always hold: the connection is provisional, so that all input is hostile, and nothing of it is kept but the
//! registrar's certificates or raw public key and, verified, the voucher; a request that was answered with 202 is repeated byte
//! by byte, and only to a registrar that presents the same; every attempt has a nonce of its own.

use alloc::boxed::Box;

use terse_tls::Instant;
use terse_tls::crypto::CryptoError;

use super::command::{Command, ConnectionId, Event, Identity, Input, Method, Presented, Request, SignatureId, Target};
use super::context::{Context, MAX_REDIRECTIONS, MAX_WAIT_MS, Signature};
use super::enroll::{Enroll, voucher_status};
use super::failure::AttemptFailed;
use super::form::{Form, Https};
use super::http::{Redirection, Response};
use super::imprint::VerifiedVoucher;
use super::proxies::{Proxy, after};
use super::{Phase, State};
use crate::voucher::{MAX_LEN, Nonce};

mod request;

pub(super) use request::Outstanding;
use request::{Registrar, Route, Sent, voucher_request};

/// An attempt without a verified voucher.
pub(super) struct Join<F: Form = Https> {
    attempt: Attempt,
    step: Step<F>,
}

/// What every step of an attempt has.
struct Attempt {
    proxy: Proxy,
    route: Route,
    connection: ConnectionId,
    /// When something has happened on the connection.
    progress: Instant,
}

enum Step<F: Form> {
    /// 2.
    Connect { outstanding: Option<Box<Outstanding>> },
    /// 3.
    SignVoucherRequest { signature: SignatureId, unsigned: F::Unsigned, nonce: Nonce, registrar: Registrar },
    /// 4.
    RequestVoucher(Sent),
    /// 5.
    WaitForVoucher { sent: Sent, until: Instant },
    /// 6.
    RefuseVoucher(AttemptFailed),
}

impl<F: Form> Join<F> {
    /// Begins the attempt that is due, if there is one.
    pub(super) fn begin(cx: &mut Context<'_, F>) -> State<F> {
        let Some((proxy, outstanding)) = cx.proxies.begin(cx.time.monotonic, cx.rng) else { return State::Discover };
        let route = outstanding.as_ref().map_or_else(
            || Route { target: Target::Proxy(proxy), path: F::NAMES.request_voucher.into(), redirections: 0 },
            |outstanding| outstanding.route.clone(),
        );
        Attempt::connect(cx, proxy, route, outstanding)
    }

    /// Returns when the pledge does something by itself. `next_due` is when another proxy can be tried.
    pub(super) fn timeout(&self, next_due: Option<Instant>) -> Instant {
        let since_progress = |ms| after(self.attempt.progress, ms);
        let last = since_progress(F::STEP_TIMEOUT_MS);
        match self.step {
            // RFC 8995, 5.1: without progress the next proxy has its turn. If there is none, the pledge waits.
            Step::Connect { .. } | Step::RequestVoucher(_) => {
                next_due.map_or(last, |due| due.max(since_progress(PROGRESS_MS)).min(last))
            }
            Step::SignVoucherRequest { .. } => last,
            Step::WaitForVoucher { until, .. } => next_due.map_or(until, |due| due.min(until)),
            Step::RefuseVoucher(_) => since_progress(PROGRESS_MS),
        }
    }

    pub(super) const fn phase(&self) -> Phase {
        match self.step {
            Step::Connect { .. } => Phase::Connect,
            Step::SignVoucherRequest { .. } => Phase::SignVoucherRequest,
            Step::RequestVoucher(_) => Phase::RequestVoucher,
            Step::WaitForVoucher { .. } => Phase::WaitForVoucher,
            Step::RefuseVoucher(_) => Phase::RefuseVoucher,
        }
    }

    pub(super) fn handle(self, cx: &mut Context<'_, F>, input: Input<'_>) -> State<F> {
        let connection = self.attempt.connection;
        let is_timed_out = self.timeout(cx.proxies.next_due()) <= cx.now();
        let Self { attempt, step } = self;
        match (step, input) {
            (Step::Connect { outstanding }, Input::Connected { connection: of, presented }) if of == connection => {
                attempt.connected(cx, outstanding, presented)
            }
            (Step::SignVoucherRequest { signature, unsigned, nonce, registrar }, Input::Signed(of, signed))
                if of == signature =>
            {
                match signed {
                    Ok(signature) => attempt.signed(cx, unsigned, &signature, nonce, registrar),
                    Err(error) => attempt.fail(cx, AttemptFailed::Crypto(error), None),
                }
            }
            (Step::RequestVoucher(sent), Input::Response { connection: of, response }) if of == connection => {
                attempt.responded(cx, sent, &response)
            }
            (Step::RefuseVoucher(why), Input::Response { connection: of, .. }) if of == connection => {
                attempt.fail(cx, why, None) // RFC 8995, 5.7: the response is ignored
            }
            (step, Input::Lost(of)) if of == connection => attempt.lost(cx, step),
            (step, Input::Timer) if is_timed_out => attempt.timed_out(cx, step),
            (step, _) => attempt.at(step),
        }
    }
}

impl Attempt {
    fn at<F: Form>(self, step: Step<F>) -> State<F> {
        State::Join(Box::new(Join { attempt: self, step }))
    }

    /// 2. Begins a connection.
    fn connect<F: Form>(
        cx: &mut Context<'_, F>,
        proxy: Proxy,
        route: Route,
        outstanding: Option<Box<Outstanding>>,
    ) -> State<F> {
        let connection = cx.connect(route.target.clone(), Identity::Idevid);
        Self { proxy, route, connection, progress: cx.now() }.at(Step::Connect { outstanding })
    }

    fn connected<F: Form>(
        mut self,
        cx: &mut Context<'_, F>,
        outstanding: Option<Box<Outstanding>>,
        presented: Presented<'_>,
    ) -> State<F> {
        self.progress = cx.now();
        let Some(registrar) = Registrar::new(cx, presented) else {
            return self.fail(cx, AttemptFailed::Certificates, None);
        };
        match outstanding {
            None => self.make_request(cx, registrar),
            // RFC 8995, 5: on every connection the same certificates.
            Some(outstanding) if outstanding.registrar != registrar.digest => {
                self.fail(cx, AttemptFailed::CertificatesChanged, None)
            }
            Some(outstanding) => {
                let Outstanding { request, nonce, deadline, .. } = *outstanding;
                self.send(cx, Sent { request, nonce, registrar, deadline: Some(deadline) })
            }
        }
    }

    /// 3. Makes the voucher request (RFC 8995, 5.2).
    fn make_request<F: Form>(self, cx: &mut Context<'_, F>, registrar: Registrar) -> State<F> {
        let (unsigned, nonce) = match voucher_request(cx, &registrar) {
            Ok(request) => request,
            Err(why) => return self.fail(cx, why, None),
        };
        let (key, scheme) = (cx.config.idevid.key(), cx.config.scheme);
        match cx.sign(key, Identity::Idevid, scheme, F::message(&unsigned)) {
            Ok(Signature::Done(signature)) => self.signed(cx, unsigned, &signature, nonce, registrar),
            Ok(Signature::Pending(signature)) => {
                self.at(Step::SignVoucherRequest { signature, unsigned, nonce, registrar })
            }
            Err(error) => self.fail(cx, AttemptFailed::Crypto(error), None),
        }
    }

    fn signed<F: Form>(
        mut self,
        cx: &mut Context<'_, F>,
        unsigned: F::Unsigned,
        signature: &[u8],
        nonce: Nonce,
        registrar: Registrar,
    ) -> State<F> {
        self.progress = cx.now();
        match F::signed(unsigned, signature) {
            Ok(request) => self.send(cx, Sent { request: request.into(), nonce, registrar, deadline: None }),
            Err(refused) => self.fail(cx, AttemptFailed::Request(refused), None),
        }
    }

    /// 4. Sends the voucher request, for the first time or again.
    fn send<F: Form>(mut self, cx: &mut Context<'_, F>, sent: Sent) -> State<F> {
        self.progress = cx.now();
        let request = Request {
            method: Method::Post,
            path: self.route.path.clone(),
            content_type: Some(F::NAMES.voucher_type),
            accept: Some(F::NAMES.voucher_type),
            body: sent.request.clone(),
            max_response: MAX_LEN,
        };
        cx.send(self.connection, request);
        self.at(Step::RequestVoucher(sent))
    }

    fn responded<F: Form>(mut self, cx: &mut Context<'_, F>, sent: Sent, response: &Response<'_>) -> State<F> {
        self.progress = cx.now();
        match response.status {
            200 => self.imprint(cx, &sent, response),
            202 => {
                let deadline = sent.deadline.unwrap_or(cx.in_ms(MAX_WAIT_MS));
                if deadline <= cx.now() {
                    return self.fail(cx, AttemptFailed::WaitedTooLong, None);
                }
                cx.command(Command::Inform(Event::Waiting));
                let until = cx.in_ms(response.retry_after_ms()).min(deadline);
                self.at(Step::WaitForVoucher { sent: Sent { deadline: Some(deadline), ..sent }, until })
            }
            300..400 if F::HAS_REDIRECTIONS => self.redirected(cx, sent, response),
            status => self.fail(cx, AttemptFailed::NoVoucher(status), None),
        }
    }

    /// Follows a redirection: one to another origin, where everything begins anew (RFC 8995, 5.6), and a few within one.
    fn redirected<F: Form>(mut self, cx: &mut Context<'_, F>, sent: Sent, response: &Response<'_>) -> State<F> {
        let (origin, is_elsewhere) = match &self.route.target {
            Target::Origin(origin) => (Some(origin), true),
            Target::Proxy(_) => (None, false),
        };
        match response.redirection(origin) {
            Some(Redirection::Path(path)) if self.route.redirections < MAX_REDIRECTIONS => {
                self.route.redirections += 1;
                self.route.path = path.into_string().into();
                self.send(cx, sent)
            }
            Some(Redirection::Origin(origin, path)) if !is_elsewhere => {
                cx.command(Command::Close(self.connection));
                let route = Route {
                    target: Target::Origin(origin),
                    path: path.into_string().into(),
                    redirections: self.route.redirections,
                };
                Self::connect(cx, self.proxy, route, None)
            }
            _ => self.fail(cx, AttemptFailed::Redirection, None),
        }
    }

    fn imprint<F: Form>(self, cx: &mut Context<'_, F>, sent: &Sent, response: &Response<'_>) -> State<F> {
        let (config, date) = (cx.config, cx.date());
        let voucher = VerifiedVoucher::verify(config, date, &sent.nonce, response);
        match voucher.and_then(|voucher| voucher.imprint(config, date, sent.registrar.presented())) {
            Ok(imprint) => {
                cx.command(Command::Inform(Event::Imprinted(imprint.assertion)));
                let Self { proxy, route, connection, .. } = self;
                Enroll::begin(cx, imprint, proxy, route.target, connection, sent.registrar.digest)
            }
            Err(refused) => {
                // 6. The registrar learns that its voucher was refused, before the connection is closed (5.6.2, 5.7).
                let why = AttemptFailed::Voucher(refused);
                cx.send(self.connection, voucher_status::<F>(Err(VOUCHER_REFUSED)));
                self.at(Step::RefuseVoucher(why))
            }
        }
    }

    fn lost<F: Form>(self, cx: &mut Context<'_, F>, step: Step<F>) -> State<F> {
        match step {
            Step::WaitForVoucher { sent, until } => {
                if let Some(outstanding) = sent.outstanding(self.route) {
                    cx.proxies.wait(until, outstanding);
                }
                State::Discover
            }
            Step::RequestVoucher(sent) => {
                let outstanding = sent.outstanding(self.route.clone());
                self.end(cx, AttemptFailed::ConnectionLost, outstanding)
            }
            Step::Connect { outstanding } => self.end(cx, AttemptFailed::ConnectionLost, outstanding),
            Step::RefuseVoucher(why) => self.end(cx, why, None),
            Step::SignVoucherRequest { .. } => self.end(cx, AttemptFailed::ConnectionLost, None),
        }
    }

    fn timed_out<F: Form>(self, cx: &mut Context<'_, F>, step: Step<F>) -> State<F> {
        match step {
            Step::WaitForVoucher { sent, until } if until <= cx.now() => self.send(cx, sent),
            Step::WaitForVoucher { .. } => {
                // Another proxy has its turn meanwhile.
                cx.command(Command::Close(self.connection));
                self.lost(cx, step)
            }
            Step::Connect { outstanding } => self.fail(cx, AttemptFailed::NoProgress, outstanding),
            Step::RequestVoucher(sent) => {
                let outstanding = sent.outstanding(self.route.clone());
                self.fail(cx, AttemptFailed::NoProgress, outstanding)
            }
            Step::RefuseVoucher(why) => self.fail(cx, why, None),
            Step::SignVoucherRequest { .. } => self.fail(cx, AttemptFailed::Crypto(CryptoError::SigningFailed), None),
        }
    }

    /// Closes the connection, and ends the attempt.
    fn fail<F: Form>(
        self,
        cx: &mut Context<'_, F>,
        why: AttemptFailed,
        outstanding: Option<Box<Outstanding>>,
    ) -> State<F> {
        cx.command(Command::Close(self.connection));
        self.end(cx, why, outstanding)
    }

    /// Ends the attempt, whose connection is closed. A request that was answered with 202 will be repeated.
    fn end<F: Form>(
        self,
        cx: &mut Context<'_, F>,
        why: AttemptFailed,
        outstanding: Option<Box<Outstanding>>,
    ) -> State<F> {
        let outstanding = outstanding.filter(|outstanding| outstanding.deadline > cx.time.monotonic);
        cx.command(Command::Inform(Event::Failed(self.proxy, why)));
        cx.proxies.failed(cx.time.monotonic, cx.rng, outstanding);
        State::Discover
    }
}

/// What a registrar is told about a voucher that is refused. It is a stranger, and learns nothing else (RFC 8995, 5.7).
const VOUCHER_REFUSED: &str = "the voucher was not accepted";

/// Without progress for this long, another proxy has its turn (RFC 8995, 5.1).
const PROGRESS_MS: u64 = 5_000;
