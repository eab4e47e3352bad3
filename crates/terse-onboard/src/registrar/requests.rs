//! The requests of clients, whatever brought them: which there are, and who answers them.

use axum::extract::{Request, State};
use axum::response::IntoResponse as _;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use terse_brski::coap::{Method, Resource};
use terse_brski::est::MAX_BODY_LEN;
use terse_brski::registrar::Topic;
use terse_brski::voucher::MAX_LEN;
use tokio::time::Instant;

use super::Service;
use super::metrics::resource_name;
use super::reply::{Received, Reply};
use crate::live::Live;

impl Service {
    /// Answers a request.
    pub(super) async fn answer(&self, resource: Resource, received: &Received) -> Reply {
        let begun = Instant::now();
        let answer = match resource {
            Resource::RequestVoucher => self.request_voucher(received).await,
            Resource::VoucherStatus => self.status(Topic::Voucher, received).await,
            Resource::EnrollStatus => self.status(Topic::Enrolment, received).await,
            Resource::CaCerts => self.ca_certificates(received).await,
            Resource::CsrAttributes => self.csr_attributes(received).await,
            Resource::SimpleEnroll => self.simple_enroll(received).await,
            Resource::SimpleReenroll => self.simple_reenroll(received).await,
            Resource::IdentityKey => self.identity_key(received).await,
            _ => Err(Reply::text(404, "there is no such resource here")),
        };
        let reply = answer.unwrap_or_else(|reply| reply);
        self.inner.metrics.common.took(resource_name(resource), begun.elapsed(), reply.refusal);
        reply
    }
}

/// Returns the route of a resource over HTTPS.
pub(super) fn route(resource: Resource) -> MethodRouter<Live<Service>> {
    let answer = async move |State(service): State<Service>, request: Request| -> Response {
        match Received::read(request, max_len(resource)).await {
            Ok(received) => service.answer(resource, &received).await.into_response(),
            Err(reply) => reply.into_response(),
        }
    };
    match resource.method() {
        Method::Get => get(answer),
        Method::Post => post(answer),
    }
}

/// Returns the most bytes of a request's content.
pub(super) const fn max_len(resource: Resource) -> usize {
    match resource {
        Resource::RequestVoucher | Resource::VoucherStatus | Resource::EnrollStatus => MAX_LEN,
        Resource::SimpleEnroll | Resource::SimpleReenroll => MAX_BODY_LEN,
        _ => 0,
    }
}
