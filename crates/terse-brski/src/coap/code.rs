//! Codes of requests and responses (RFC 7252, 3 and 12.1).

use core::fmt;

/// A code: a class in the upper three bits, and a detail in the lower five.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u8);

macro_rules! codes {
    ($($name:ident = $class:literal . $detail:literal, $text:literal, $source:literal;)+) => {
        impl Code {
            $(#[doc = concat!(stringify!($class), ".", stringify!($detail), " ", $text, " (", $source, ").")]
            pub const $name: Self = Self($class << 5 | $detail);)+

            /// Returns the name in the registry, if the code is known here.
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    EMPTY = 0 . 0, "Empty", "RFC 7252, 4.1";
    GET = 0 . 1, "GET", "RFC 7252, 5.8.1";
    POST = 0 . 2, "POST", "RFC 7252, 5.8.2";
    CREATED = 2 . 1, "Created", "RFC 7252, 5.9.1.1";
    DELETED = 2 . 2, "Deleted", "RFC 7252, 5.9.1.2";
    VALID = 2 . 3, "Valid", "RFC 7252, 5.9.1.3";
    CHANGED = 2 . 4, "Changed", "RFC 7252, 5.9.1.4";
    CONTENT = 2 . 5, "Content", "RFC 7252, 5.9.1.5";
    CONTINUE = 2 . 31, "Continue", "RFC 7959, 2.9.1";
    BAD_REQUEST = 4 . 0, "Bad Request", "RFC 7252, 5.9.2.1";
    UNAUTHORIZED = 4 . 1, "Unauthorized", "RFC 7252, 5.9.2.2";
    BAD_OPTION = 4 . 2, "Bad Option", "RFC 7252, 5.9.2.3";
    FORBIDDEN = 4 . 3, "Forbidden", "RFC 7252, 5.9.2.4";
    NOT_FOUND = 4 . 4, "Not Found", "RFC 7252, 5.9.2.5";
    METHOD_NOT_ALLOWED = 4 . 5, "Method Not Allowed", "RFC 7252, 5.9.2.6";
    NOT_ACCEPTABLE = 4 . 6, "Not Acceptable", "RFC 7252, 5.9.2.7";
    REQUEST_ENTITY_INCOMPLETE = 4 . 8, "Request Entity Incomplete", "RFC 7959, 2.9.2";
    CONFLICT = 4 . 9, "Conflict", "RFC 8132, 3.4";
    PRECONDITION_FAILED = 4 . 12, "Precondition Failed", "RFC 7252, 5.9.2.8";
    REQUEST_ENTITY_TOO_LARGE = 4 . 13, "Request Entity Too Large", "RFC 7252, 5.9.2.9";
    UNSUPPORTED_CONTENT_FORMAT = 4 . 15, "Unsupported Content-Format", "RFC 7252, 5.9.2.10";
    UNPROCESSABLE_ENTITY = 4 . 22, "Unprocessable Entity", "RFC 8132, 3.4";
    TOO_MANY_REQUESTS = 4 . 29, "Too Many Requests", "RFC 8516";
    INTERNAL_SERVER_ERROR = 5 . 0, "Internal Server Error", "RFC 7252, 5.9.3.1";
    NOT_IMPLEMENTED = 5 . 1, "Not Implemented", "RFC 7252, 5.9.3.2";
    BAD_GATEWAY = 5 . 2, "Bad Gateway", "RFC 7252, 5.9.3.3";
    SERVICE_UNAVAILABLE = 5 . 3, "Service Unavailable", "RFC 7252, 5.9.3.4";
    GATEWAY_TIMEOUT = 5 . 4, "Gateway Timeout", "RFC 7252, 5.9.3.5";
    PROXYING_NOT_SUPPORTED = 5 . 5, "Proxying Not Supported", "RFC 7252, 5.9.3.6";
}

impl Code {
    /// Returns the class: 0 for requests, 2 for success, 4 and 5 for errors.
    pub const fn class(self) -> u8 {
        self.0 >> 5
    }

    /// Whether this is the code of a response that says success.
    pub const fn is_success(self) -> bool {
        self.class() == 2
    }

    /// Whether this is the code of a request.
    pub const fn is_request(self) -> bool {
        self.class() == 0 && self.0 != 0
    }

    /// Whether this is the code of a response.
    pub const fn is_response(self) -> bool {
        matches!(self.class(), 2 | 4 | 5)
    }
}

/// Prints `4.04 Not Found`.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.class(), self.0 & 0x1f)?;
        match self.name() {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
