//! What a registrar remembers of a pledge (RFC 8995, 5.6 to 5.9). Each is plain data, for a row of a database that all
//! replicas share.
//!
//! What must always hold: a pledge is recognized by its certificate, whole.

use alloc::string::String;
use alloc::vec::Vec;

use pki_types::UnixTime;
use serde::{Deserialize, Serialize};

use crate::digest::Sha256;
use crate::stored;

/// A pledge's voucher request. Its SHA-256 is its key in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// The SHA-256 of the request.
    pub request: Sha256,
    /// When it came first.
    #[serde(with = "stored::seconds")]
    pub received: UnixTime,
    /// What became of it.
    pub state: RequestState,
}

/// What became of a pledge's voucher request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RequestState {
    /// It waits for an operator.
    AwaitingOperator,
    /// An operator has allowed it.
    Allowed,
    /// An operator has rejected it.
    Rejected,
    /// The MASA is asked. If it refuses, the record is kept: the same request has the same answer for a minute, and is as good as a
    /// new one afterwards.
    Forwarded {
        /// When the registrar's request was made: its created-on.
        #[serde(with = "stored::seconds")]
        created_on: UnixTime,
        /// When it was last sent; it is sent again a minute later. If the MASA wants it again at some other time, this is a minute
        /// before that. If it could not be sent, this is the start of 1970: then it may be sent again at once.
        #[serde(with = "stored::seconds")]
        sent: UnixTime,
        /// The registrar's voucher request, signed. It is stored before it is sent, so that another replica can send the
        /// same.
        registrar_request: Vec<u8>,
    },
    /// The MASA has answered.
    Answered {
        /// The registrar's voucher request, signed: the audit log is requested by the same.
        registrar_request: Vec<u8>,
        /// The Content-Type of the voucher.
        content_type: String,
        /// The voucher, as the MASA has sent it.
        voucher: Vec<u8>,
    },
}

/// A device that has a voucher and joins the domain. The SHA-256 of its certificate is its key in the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// The SHA-256 of its IDevID, the certificate by which it asked for the voucher.
    pub idevid: Sha256,
    /// What the device said of its voucher (RFC 8995, 5.7).
    pub voucher_status: Option<bool>,
    /// What the audit log said.
    pub audit: AuditState,
    /// The SHA-256 of the LDevID that it got.
    pub ldevid: Option<Sha256>,
    /// What the device said of its enrolment (RFC 8995, 5.9.4).
    pub enroll_status: Option<bool>,
}

impl Joining {
    /// Creates the record of a device to which a voucher is sent.
    pub const fn new(idevid: Sha256) -> Self {
        Self { idevid, voucher_status: None, audit: AuditState::Requested, ldevid: None, enroll_status: None }
    }
}

/// What the audit log of a device said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditState {
    /// It has not come yet.
    Requested,
    /// It is as the policy wants it.
    Good,
    /// It is not.
    Bad,
}
