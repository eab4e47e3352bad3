//! What a service needs of others, as JSON for operators (GET /health/dependencies).
//!
//! What must always hold: it tells what is known, and asks nobody; there is nothing in it of what a client has sent.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use terse_brski::http::JSON;

use crate::seen::{LastSeen, Sight};

/// The dependencies of a service, and whether each is well.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    entries: Vec<Value>,
    is_failing: bool,
}

impl Dependencies {
    /// Adds one. `is_well` is `None` if that is not known, and then counts as well.
    pub(crate) fn add(&mut self, name: &str, is_well: Option<bool>, details: Value) {
        self.is_failing |= is_well == Some(false);
        let mut entry = Map::from_iter([("name".to_owned(), json!(name)), ("ok".to_owned(), json!(is_well))]);
        if let Value::Object(details) = details {
            entry.extend(details);
        }
        self.entries.push(entry.into());
    }

    /// Adds one that is asked from time to time, with when it was asked last.
    pub(crate) fn add_seen(&mut self, name: &str, seen: &LastSeen, mut details: Value) {
        let sight = seen.get();
        if let Value::Object(details) = &mut details {
            details.insert("seen".into(), json!(sight.map(|Sight { time, .. }| time)));
        }
        self.add(name, sight.map(|sight| sight.is_well), details);
    }

    /// Returns the answer: 200 if nothing is known to fail, else 503.
    pub(crate) fn response(self) -> Response {
        let (status, text) = match self.is_failing {
            true => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
            false => (StatusCode::OK, "ok"),
        };
        let json = json!({ "status": text, "dependencies": self.entries }).to_string();
        (status, [(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], json).into_response()
    }
}
