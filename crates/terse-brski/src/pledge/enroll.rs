//! The enrollment with the registrar that the voucher has authenticated (RFC 8995, 5.7 and 5.9; RFC 7030): states 7 to 17 of
//! the [pledge](super).
//!
//! What must always hold: there is no enrollment without an [`Imprint`]; the LDevID is stored before the pledge uses it, and
//! stays whatever becomes of the identity key; a request is the same on an old connection and on a new one.

use alloc::boxed::Box;
use alloc::sync::Arc;

use terse_tls::crypto::{CryptoError, SigningKey};
use terse_tls::{Instant, Trust};

use super::certificates::CaCertificates;
use super::command::{
    Command, ConnectionId, Enrollment, Event, Identity, Input, Presented, Request, SignatureId, Target,
};
use super::context::{Context, MAX_REDIRECTIONS, MAX_WAIT_MS, Signature};
use super::failure::{AttemptFailed, EnrollmentFailed};
use super::form::{Credentials, Form};
use super::http::{Redirection, Response};
use super::imprint::Imprint;
use super::proxies::Proxy;
use super::{Phase, State};
use crate::SignatureRefused;
use crate::est::{CsrAttributes, UnsignedRequest};

mod artefacts;
mod session;

pub(super) use artefacts::voucher_status;
use session::{Link, Session};

/// An enrollment under way.
pub(super) struct Enroll {
    session: Session,
    step: Step,
}

enum Step {
    /// 7.
    ReportVoucher,
    /// 8.
    RequestCaCerts,
    /// 9.
    RequestCsrAttributes { ca: CaCertificates },
    /// 10.
    MakeKey { ca: CaCertificates, attributes: CsrAttributes },
    /// 11.
    SignRequest { ca: CaCertificates, key: Arc<dyn SigningKey>, signature: SignatureId, unsigned: UnsignedRequest },
    /// 12.
    Enroll { ca: CaCertificates, key: Arc<dyn SigningKey>, request: Arc<[u8]> },
    /// 13.
    Store { trust: Trust },
    /// 14.
    RequestIdentityKey(Member),
    /// 15.
    StoreIdentityKey(Member),
    /// 16.
    ReportEnrollment(Member),
    /// 17.
    ReportFailure(EnrollmentFailed),
}

/// What a pledge authenticates itself with, and its registrar.
enum Member {
    /// It has its LDevID, and this trust in the domain.
    Ldevid(Trust),
    /// It gets no certificate: it has its IDevID, and a registrar that its voucher has authenticated.
    Idevid,
}

impl Enroll {
    /// Begins with the status of the voucher, on the connection that was provisional.
    pub(super) fn begin<F: Form>(
        cx: &mut Context<'_, F>,
        imprint: Imprint,
        proxy: Proxy,
        target: Target,
        connection: ConnectionId,
        registrar: [u8; 32],
    ) -> State<F> {
        Session::new(imprint, proxy, target, connection, registrar).begin(cx, Step::ReportVoucher)
    }

    /// Returns when the pledge does something by itself; `None` while its own key or storage is waited for.
    pub(super) const fn timeout(&self) -> Option<Instant> {
        self.session.link.timeout()
    }

    pub(super) const fn phase(&self) -> Phase {
        match self.step {
            Step::ReportVoucher => Phase::ReportVoucher,
            Step::RequestCaCerts => Phase::RequestCaCerts,
            Step::RequestCsrAttributes { .. } => Phase::RequestCsrAttributes,
            Step::MakeKey { .. } => Phase::MakeKey,
            Step::SignRequest { .. } => Phase::SignRequest,
            Step::Enroll { .. } => Phase::Enroll,
            Step::Store { .. } => Phase::Store,
            Step::RequestIdentityKey(_) => Phase::RequestIdentityKey,
            Step::StoreIdentityKey(_) => Phase::StoreIdentityKey,
            Step::ReportEnrollment(_) => Phase::ReportEnrollment,
            Step::ReportFailure(_) => Phase::ReportFailure,
        }
    }

    pub(super) fn handle<F: Form>(self, cx: &mut Context<'_, F>, input: Input<'_>) -> State<F> {
        let Self { mut session, step } = self;
        let link = session.link;
        match (step, input) {
            (step, Input::Connected { connection, presented }) if link.is_connecting(connection) => {
                session.link = Link::Idle(connection);
                match step.accepts(cx, &session, presented) {
                    true => session.send(cx, step),
                    false => session.close(cx).lost(cx, step),
                }
            }
            (step, Input::Response { connection, response }) if link.is_awaiting(connection) => {
                session.link = Link::Idle(connection);
                session.losses = 0;
                session.responded(cx, step, &response)
            }
            (step, Input::Lost(connection)) if link.connection() == Some(connection) => session.lost(cx, step),
            (step, Input::Timer) if link.timeout().is_some_and(|at| at <= cx.now()) => session.timed_out(cx, step),
            (Step::MakeKey { ca, attributes }, Input::Key(key)) => session.key(cx, ca, &attributes, key),
            (Step::SignRequest { ca, key, signature, unsigned }, Input::Signed(of, signed)) if of == signature => {
                match signed {
                    Ok(signature) => session.enroll(cx, ca, key, unsigned, &signature),
                    Err(error) => session.fail(cx, EnrollmentFailed::Request(SignatureRefused::Crypto(error))),
                }
            }
            // RFC 8995, 5.9.4: the success is told over a new connection, which has the LDevID.
            (Step::Store { trust }, Input::Stored(true)) => session.close(cx).with_ldevid(cx, trust),
            (Step::Store { .. }, Input::Stored(false)) => session.fail(cx, EnrollmentFailed::NotStored),
            (Step::StoreIdentityKey(member), Input::Stored(true)) => session.begin(cx, Step::ReportEnrollment(member)),
            (Step::StoreIdentityKey(member), Input::Stored(false)) => {
                session.no_identity_key(cx, member, EnrollmentFailed::IdentityKeyNotStored)
            }
            (step, _) => session.at(step),
        }
    }
}

impl Session {
    fn at<F: Form>(self, step: Step) -> State<F> {
        State::Enroll(Box::new(Enroll { session: self, step }))
    }

    /// Takes the next step, which is a request.
    fn begin<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step) -> State<F> {
        (self.path, self.redirections, self.delays, self.deadline) = (None, 0, 0, None);
        self.send(cx, step)
    }

    /// Sends the request of this step, for the first time or again, over a new connection if there is none.
    fn send<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step) -> State<F> {
        if let Some(request) = step.request(cx) {
            self.transmit(cx, request, step.identity());
        }
        self.at(step)
    }

    fn responded<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step, response: &Response<'_>) -> State<F> {
        // RFC 9110, 15.6.4.
        let is_delayed = response.status == 503 && response.retry_after.is_some();
        match step {
            Step::ReportFailure(why) => self.end(cx, why),
            // RFC 8995, 5.7: responses to a status are ignored, unless they ask for the same one again.
            step @ (Step::ReportVoucher | Step::ReportEnrollment(_)) if is_delayed && self.delays < MAX_DELAYS => {
                self.delays += 1;
                self.wait(cx, step, response)
            }
            Step::ReportVoucher => match cx.config.form.credentials() {
                Credentials::IdentityKey => self.begin(cx, Step::RequestIdentityKey(Member::Idevid)),
                Credentials::Certificate | Credentials::CertificateAndIdentityKey => {
                    self.begin(cx, Step::RequestCaCerts)
                }
            },
            Step::ReportEnrollment(_) => self.enrolled(cx, (200..300).contains(&response.status)),
            step if response.status == 202 || is_delayed => self.wait(cx, step, response),
            step => match F::HAS_REDIRECTIONS.then(|| response.redirection(None)).flatten() {
                // RFC 7030, 3.2.1: within this origin alone.
                Some(Redirection::Path(path)) if self.redirections < MAX_REDIRECTIONS => {
                    self.redirections += 1;
                    self.path = Some(path);
                    self.send(cx, step)
                }
                _ => self.take(cx, step, response),
            },
        }
    }

    /// Takes the result of this step's request.
    fn take<F: Form>(self, cx: &mut Context<'_, F>, step: Step, response: &Response<'_>) -> State<F> {
        match step {
            Step::RequestCaCerts => {
                match artefacts::ca_certificates(cx, response, self.imprint.pinned_domain_cert.as_ref()) {
                    Ok(ca) if F::CSR_ATTRIBUTES.is_some() => self.begin(cx, Step::RequestCsrAttributes { ca }),
                    Ok(ca) => self.make_key(cx, ca, CsrAttributes::default()),
                    Err(why) => self.fail(cx, why),
                }
            }
            Step::RequestCsrAttributes { ca } => match artefacts::csr_attributes(cx, response) {
                Ok(attributes) => self.make_key(cx, ca, attributes),
                Err(why) => self.fail(cx, why),
            },
            Step::Enroll { ca, key, .. } => match artefacts::credential(cx, response, &ca, key) {
                Ok((credential, trust)) => {
                    cx.command(Command::Store(Box::new(Enrollment { credential, anchors: ca.anchors })));
                    self.at(Step::Store { trust })
                }
                Err(why) => self.fail(cx, why),
            },
            Step::RequestIdentityKey(member) => match artefacts::identity_key(cx, response) {
                Ok(file) => {
                    cx.command(Command::StoreIdentityKey(file));
                    self.at(Step::StoreIdentityKey(member))
                }
                Err(why) => self.no_identity_key(cx, member, why),
            },
            step => self.at(step), // no response to the others comes here
        }
    }

    /// 14 or 16. Goes on with the LDevID.
    fn with_ldevid<F: Form>(self, cx: &mut Context<'_, F>, trust: Trust) -> State<F> {
        let member = Member::Ldevid(trust);
        match cx.config.form.credentials() {
            Credentials::CertificateAndIdentityKey => self.begin(cx, Step::RequestIdentityKey(member)),
            Credentials::Certificate | Credentials::IdentityKey => self.begin(cx, Step::ReportEnrollment(member)),
        }
    }

    /// Goes on without an identity key, if there is an LDevID.
    fn no_identity_key<F: Form>(self, cx: &mut Context<'_, F>, member: Member, why: EnrollmentFailed) -> State<F> {
        match member {
            Member::Ldevid(_) => {
                cx.command(Command::Inform(Event::NoIdentityKey(why)));
                self.begin(cx, Step::ReportEnrollment(member))
            }
            Member::Idevid => self.fail(cx, why),
        }
    }

    fn wait<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step, response: &Response<'_>) -> State<F> {
        let deadline = *self.deadline.get_or_insert(cx.in_ms(MAX_WAIT_MS));
        let Some(connection) = self.link.connection().filter(|_| cx.now() < deadline) else {
            return match step {
                Step::RequestIdentityKey(member) => self.no_identity_key(cx, member, EnrollmentFailed::WaitedTooLong),
                _ => self.fail(cx, EnrollmentFailed::WaitedTooLong),
            };
        };
        cx.command(Command::Inform(Event::Waiting));
        self.link = Link::Waiting(connection, cx.in_ms(response.retry_after_ms()).min(deadline));
        self.at(step)
    }

    /// 10. Asks for a key.
    fn make_key<F: Form>(self, cx: &mut Context<'_, F>, ca: CaCertificates, attributes: CsrAttributes) -> State<F> {
        cx.command(Command::MakeKey);
        self.at(Step::MakeKey { ca, attributes })
    }

    /// 10 to 11: the key is there, and signs the certification request.
    fn key<F: Form>(
        self,
        cx: &mut Context<'_, F>,
        ca: CaCertificates,
        attributes: &CsrAttributes,
        key: Result<Arc<dyn SigningKey>, CryptoError>,
    ) -> State<F> {
        let key = match key {
            Ok(key) => key,
            Err(error) => return self.fail(cx, EnrollmentFailed::Key(error)),
        };
        match artefacts::sign_request(cx, attributes, &*key) {
            Ok((unsigned, Signature::Pending(signature))) => {
                self.at(Step::SignRequest { ca, key, signature, unsigned })
            }
            Ok((unsigned, Signature::Done(signature))) => self.enroll(cx, ca, key, unsigned, &signature),
            Err(why) => self.fail(cx, why),
        }
    }

    /// 12. Sends the certification request.
    fn enroll<F: Form>(
        self,
        cx: &mut Context<'_, F>,
        ca: CaCertificates,
        key: Arc<dyn SigningKey>,
        unsigned: UnsignedRequest,
        signature: &[u8],
    ) -> State<F> {
        let request = F::encode_certification_request(unsigned.signed(signature)).into();
        self.begin(cx, Step::Enroll { ca, key, request })
    }

    /// Goes on without the connection, which is lost.
    fn lost<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step) -> State<F> {
        match step {
            // RFC 8995, 5.9.4: the failure is told over this connection or not at all.
            Step::ReportFailure(why) => {
                self.link = Link::Down(None);
                self.end(cx, why)
            }
            Step::MakeKey { .. } | Step::SignRequest { .. } | Step::Store { .. } | Step::StoreIdentityKey(_) => {
                self.link = Link::Down(None);
                self.at(step)
            }
            step if self.may_reconnect(cx) => self.at(step),
            Step::RequestIdentityKey(Member::Ldevid(_)) => {
                cx.command(Command::Inform(Event::NoIdentityKey(EnrollmentFailed::ConnectionLost)));
                self.enrolled(cx, false)
            }
            Step::ReportEnrollment(_) => self.enrolled(cx, false),
            _ => self.end(cx, EnrollmentFailed::ConnectionLost),
        }
    }

    fn timed_out<F: Form>(mut self, cx: &mut Context<'_, F>, step: Step) -> State<F> {
        match self.link {
            Link::Connecting(..) | Link::Awaiting(..) => self.close(cx).lost(cx, step),
            Link::Waiting(connection, _) => {
                self.link = Link::Idle(connection);
                self.send(cx, step)
            }
            Link::Down(_) | Link::Idle(_) => self.send(cx, step),
        }
    }

    /// 15. Tells the registrar, if the connection of the failed step is there, and ends the attempt then.
    fn fail<F: Form>(self, cx: &mut Context<'_, F>, why: EnrollmentFailed) -> State<F> {
        match self.link {
            Link::Idle(_) => self.begin(cx, Step::ReportFailure(why)),
            _ => self.end(cx, why),
        }
    }

    /// Ends the attempt: the pledge begins anew, with another voucher.
    fn end<F: Form>(self, cx: &mut Context<'_, F>, why: EnrollmentFailed) -> State<F> {
        let proxy = self.proxy;
        self.close(cx);
        cx.command(Command::Inform(Event::Failed(proxy, AttemptFailed::Enrollment(why))));
        cx.proxies.failed(cx.time.monotonic, cx.rng, None);
        State::Discover
    }

    fn enrolled<F: Form>(self, cx: &mut Context<'_, F>, is_reported: bool) -> State<F> {
        self.close(cx);
        cx.command(Command::Inform(Event::Enrolled { is_reported }));
        State::Enrolled
    }
}

impl Step {
    /// Which credential the connections of this step have (RFC 8995, 5.9.4).
    const fn identity(&self) -> Identity {
        match self {
            Self::RequestIdentityKey(Member::Ldevid(_)) | Self::ReportEnrollment(Member::Ldevid(_)) => Identity::Ldevid,
            _ => Identity::Idevid,
        }
    }

    /// Whether a registrar that has presented this is the one to go on with.
    fn accepts<F: Form>(&self, cx: &Context<'_, F>, session: &Session, presented: Presented<'_>) -> bool {
        session.is_known(cx, presented)
            || match (self, presented) {
                (
                    Self::RequestIdentityKey(Member::Ldevid(trust)) | Self::ReportEnrollment(Member::Ldevid(trust)),
                    Presented::Chain(chain),
                ) => session::is_of_domain(cx, trust, chain),
                _ => false,
            }
    }

    /// Returns the request of this step; none if it is something that the pledge does itself.
    fn request<F: Form>(&self, cx: &Context<'_, F>) -> Option<Request> {
        match self {
            Self::ReportVoucher => Some(artefacts::voucher_status::<F>(Ok(()))),
            Self::RequestCaCerts => Some(artefacts::request_ca_certs(cx)),
            Self::RequestCsrAttributes { .. } => artefacts::request_csr_attributes(cx),
            Self::Enroll { request, .. } => Some(artefacts::simple_enroll(cx, request)),
            Self::RequestIdentityKey(_) => artefacts::request_identity_key(cx),
            Self::ReportEnrollment(_) => Some(artefacts::enroll_status::<F>(Ok(()))),
            Self::ReportFailure(why) => Some(artefacts::enroll_status::<F>(Err(why.reason()))),
            Self::MakeKey { .. } | Self::SignRequest { .. } | Self::Store { .. } | Self::StoreIdentityKey(_) => None,
        }
    }
}

/// How often a status is repeated because the registrar cannot take it yet.
const MAX_DELAYS: u8 = 5;
