//! What a request must be before a page sees it, and what every answer has.
//!
//! What must always hold: the limits of an address count before anything else; no form is looked at unless it comes from a
//! page of this host, and nothing in it unless it has the token of its session; every answer says that no page of another
//! site may have it, run in it or keep it.

use core::net::IpAddr;
use core::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use terse_tls::crypto::CryptoError;
use tokio::time::Instant;
use zeroize::Zeroizing;

use super::config::PagesSettings;
use super::fields::{Fields, cookie};
use super::host::{Hosts, only};
use super::layout::{Page, Problem, document, login, refused};
use super::password::{LoginRefused, Users};
use super::session::{Cookie, Sessions};
use super::{Site, Visitor};
use crate::rate::RateLimit;
use crate::serve::{Proven, UnreadBody, read_body};

/// What requests share.
pub(super) struct Gate<S> {
    site: S,
    hosts: Hosts,
    users: Users,
    sessions: Sessions,
    /// The name of the cookie. Browsers send one to all ports of a host, so that the port is in it.
    cookie: String,
    rate: RateLimit,
    start: Instant,
}

/// The other end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub(super) address: IpAddr,
    /// The name of its certificate, which was verified.
    pub(super) certificate: Option<String>,
}

/// A refusal that is no matter of a page.
type Refused = (StatusCode, &'static str);

impl<S: Site> Gate<S> {
    pub(super) fn new(site: S, settings: PagesSettings, port: u16) -> Result<Self, CryptoError> {
        // A browser takes this prefix from the host itself alone, and over TLS.
        let prefix = if settings.hosts.has_tls() { "__Host-" } else { "" };
        Ok(Self {
            site,
            hosts: settings.hosts,
            users: Users::new(settings.users),
            sessions: Sessions::new()?,
            cookie: format!("{prefix}terse-{port}"),
            rate: RateLimit::per_second(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE),
            start: Instant::now(),
        })
    }

    /// Answers a request.
    pub(super) async fn answer(&self, client: &Client, request: Request<Body>) -> Response {
        let response = match self.rate.admit(client.address, self.start.elapsed()) {
            Ok(()) => match self.route(client, request).await {
                Ok(response) => response,
                Err((status, text)) => (status, text).into_response(),
            },
            Err(wait) => too_many(wait, "There are too many requests of this address; wait.".into_response()),
        };
        sealed(response)
    }

    async fn route(&self, client: &Client, request: Request<Body>) -> Result<Response, Refused> {
        let (head, body) = request.into_parts();
        let host = self.hosts.check(&head.headers).filter(|_| head.uri.authority().is_none()).ok_or(MISDIRECTED)?;
        let path = head.uri.path();
        let is_post = match head.method {
            Method::GET | Method::HEAD => false,
            Method::POST => true,
            _ => return Err((StatusCode::METHOD_NOT_ALLOWED, "Send a GET, or a POST of a form.")),
        };
        if path == "/style.css" && !is_post {
            return Ok(([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE).into_response());
        }
        let fields = match is_post {
            true => self.form(&head.headers, host, body).await?,
            false => Fields::read(head.uri.query().unwrap_or_default().as_bytes()).map_err(|_| UNREADABLE)?,
        };
        let known = cookie(&head.headers, &self.cookie);
        if is_post && !known.as_ref().is_some_and(|known| self.sessions.is_token(known, fields.text("token"))) {
            tracing::debug!(address = %client.address, path, "a form without its token was refused");
            return Err(NO_TOKEN);
        }
        let (session, is_new) = match known {
            Some(session) => (session, false),
            None => (Cookie::new().map_err(|_| NO_RANDOMNESS)?, true),
        };
        let mut response = self.serve(client, path, &fields, &session, is_post).await?;
        if is_new && !response.headers().contains_key(header::SET_COOKIE) {
            self.set_cookie(&mut response, &session);
        }
        if client.certificate.is_some() || self.sessions.user(&session).is_some() {
            response.extensions_mut().insert(Proven);
        }
        Ok(response)
    }

    /// Reads a form that comes from a page of this host.
    async fn form(&self, headers: &HeaderMap, host: &str, body: Body) -> Result<Fields, Refused> {
        if !self.hosts.is_own_form(headers, host) {
            return Err((StatusCode::FORBIDDEN, "The form is one of another site; nothing was changed."));
        }
        let media_type = only(headers, header::CONTENT_TYPE).and_then(|value| value.split(';').next());
        if media_type.is_none_or(|value| !value.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")) {
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the form of a page."));
        }
        let body = tokio::time::timeout(BODY_TIME, read_body(body, MAX_FORM)).await;
        let body = body.map_err(|_| (StatusCode::REQUEST_TIMEOUT, "The form came too slowly; send it again."))?;
        let body = body.map_err(|unread| match unread {
            UnreadBody::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "The form is too long."),
            UnreadBody::BrokeOff => UNREADABLE,
        })?;
        let body = Zeroizing::new(body.to_vec());
        Fields::read(&body).map_err(|_| UNREADABLE)
    }

    /// Serves a request whose form, if it is one, is one of this session.
    async fn serve(
        &self,
        client: &Client,
        path: &str,
        fields: &Fields,
        session: &Cookie,
        is_post: bool,
    ) -> Result<Response, Refused> {
        let user = self.sessions.user(session).filter(|_| !self.users.is_empty());
        let token = self.sessions.token(session);
        match path {
            "/login" if !self.users.is_empty() => {
                return match is_post {
                    true => self.log_in(client, fields, &token).await,
                    false => Ok(self.page(path, StatusCode::OK, None, &login(&token, None))),
                };
            }
            "/logout" if is_post => {
                self.sessions.log_out(session);
                return Ok(see("/"));
            }
            _ if user.is_none() && !self.users.is_empty() => return Ok(see("/login")),
            _ => {}
        }
        let has_session = user.is_some();
        let visitor = Visitor { name: user.or_else(|| client.certificate.clone()), token, has_session };
        let (status, page) = match is_post {
            true => match self.site.change(path, fields, &visitor).await {
                Ok(target) => return Ok(see(&target)),
                Err(problem) => problem_page(problem),
            },
            false => match self.site.show(path, fields, &visitor).await {
                Ok(page) => (StatusCode::OK, page),
                Err(problem) => problem_page(problem),
            },
        };
        Ok(self.page(path, status, Some(&visitor), &page))
    }

    async fn log_in(&self, client: &Client, fields: &Fields, token: &str) -> Result<Response, Refused> {
        let (name, password) = (fields.text("name"), Zeroizing::new(fields.text("password").to_owned()));
        match self.users.log_in(client.address, self.start.elapsed(), name, password).await {
            Ok(user) => {
                tracing::info!(address = %client.address, ?user, "a user has logged in to the status pages");
                let session = self.sessions.log_in(&user).map_err(|_| NO_RANDOMNESS)?;
                let mut response = see("/");
                self.set_cookie(&mut response, &session);
                Ok(response)
            }
            Err(LoginRefused::Wrong) => {
                tracing::warn!(address = %client.address, "a wrong name or password for the status pages");
                let page = login(token, Some("The name or the password is wrong."));
                Ok(self.page("/login", StatusCode::FORBIDDEN, None, &page))
            }
            Err(LoginRefused::TooMany(wait)) => {
                tracing::debug!(address = %client.address, "too many try to log in to the status pages");
                let page = login(token, Some("There are too many attempts. Wait a minute, and try again."));
                Ok(too_many(wait, self.page("/login", StatusCode::OK, None, &page)))
            }
        }
    }

    fn page(&self, path: &str, status: StatusCode, visitor: Option<&Visitor>, page: &Page) -> Response {
        let html = document::<S>(path, visitor, page).into_string();
        (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
    }

    fn set_cookie(&self, response: &mut Response, session: &Cookie) {
        let secure = if self.hosts.has_tls() { "; Secure" } else { "" };
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie, session.text());
        if let Ok(cookie) = HeaderValue::try_from(cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
    }
}

fn problem_page(problem: Problem) -> (StatusCode, Page) {
    (problem.status(), refused("That did not work", problem.text()))
}

/// Sends a browser to another page of this host.
fn see(target: &str) -> Response {
    let location = HeaderValue::try_from(target).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

fn too_many(wait: Duration, mut response: Response) -> Response {
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(header::RETRY_AFTER, wait.as_secs().saturating_add(1).into());
    response
}

/// Adds what every answer has.
fn sealed(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

const CONTENT_SECURITY_POLICY: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const STYLE: &str = include_str!("style.css");

const MISDIRECTED: Refused = (
    StatusCode::MISDIRECTED_REQUEST,
    "These pages are not those of this host; without TLS use localhost, and with it a name of [pages] or an address.",
);

const NO_TOKEN: Refused = (
    StatusCode::FORBIDDEN,
    "The form is not one of this session, or the service has started since; nothing was changed. Load the page again.",
);

const UNREADABLE: Refused = (StatusCode::BAD_REQUEST, "The request cannot be read.");

const NO_RANDOMNESS: Refused = (StatusCode::INTERNAL_SERVER_ERROR, "The system has no random numbers.");

/// How long a form may take. It is short.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The most bytes of a form.
const MAX_FORM: usize = 8_192;

/// The requests of one address in a second, and at once.
const REQUESTS_PER_SECOND: u32 = 20;
const REQUESTS_AT_ONCE: u32 = 200;

#[cfg(test)]
mod tests;
