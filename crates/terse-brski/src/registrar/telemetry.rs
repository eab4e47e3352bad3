//! What pledges say about their voucher and their enrolment (RFC 8995, 5.7 and 5.9.4).
//!
//! What must always hold: what a stranger says is logged, and changes nothing.

use pki_types::CertificateDer;
use terse_tls::crypto::CryptoProvider;

use super::{Joining, Refusal, Registrar};
use crate::digest::sha256;
use crate::http::{CBOR, JSON, Posted, is};
use crate::telemetry::Status;

/// What a status message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The voucher: `voucher_status`.
    Voucher,
    /// The enrolment: `enrollstatus`.
    Enrolment,
}

/// A status message, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Telemetry {
    /// The message. Its texts are the pledge's words.
    pub status: Status,
    /// Who has sent it. RFC 8995, 5.9.4 requires that this is logged.
    pub sender: Sender,
    /// Whether a person must be told: its version is later than what is known, the pledge has failed, or its sender is not
    /// the device.
    pub needs_attention: bool,
    /// The record with what the message changes, to store, if it changes anything.
    pub joining: Option<Joining>,
}

/// Who has sent a status message, by the client certificate of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The device, with its IDevID.
    Idevid,
    /// The device, with the LDevID that it got.
    Ldevid,
    /// Somebody else, or nobody who showed a certificate.
    Other,
}

impl Registrar {
    /// Reads a status message. `joining` is the record of the certificate that the client has presented: as its IDevID, or
    /// as its LDevID.
    ///
    /// The answer is 200 (RFC 8995, 5.7), also to a stranger, who learns nothing from it.
    pub fn read_status(
        &self,
        topic: Topic,
        presented: &[CertificateDer<'_>],
        posted: &Posted<'_>,
        joining: Option<&Joining>,
    ) -> Result<Telemetry, Refusal> {
        let status = match posted.content_type {
            json if is(json, JSON) => Status::from_json(posted.body),
            cbor if is(cbor, CBOR) => Status::from_cbor(posted.body),
            _ => return Err(Refusal::StatusType),
        };
        let status = status.map_err(Refusal::Status)?;
        let sender = sender(&self.provider, presented, joining);
        // A voucher is judged before there is an LDevID.
        let is_device = match (topic, sender) {
            (Topic::Voucher, Sender::Idevid) | (Topic::Enrolment, Sender::Idevid | Sender::Ldevid) => true,
            (Topic::Voucher, Sender::Ldevid) | (_, Sender::Other) => false,
        };
        let joining = joining.filter(|_| is_device && status.version == 1).map(|joining| {
            let said = Some(status.status);
            match topic {
                Topic::Voucher => Joining { voucher_status: said, ..joining.clone() },
                Topic::Enrolment => Joining { enroll_status: said, ..joining.clone() },
            }
        });
        let needs_attention = !is_device || status.version != 1 || !status.status;
        Ok(Telemetry { status, sender, needs_attention, joining })
    }
}

fn sender(provider: &CryptoProvider, presented: &[CertificateDer<'_>], joining: Option<&Joining>) -> Sender {
    let shown = presented.first().map(|certificate| sha256(provider, certificate));
    match (shown, joining) {
        (Some(shown), Some(joining)) if shown == joining.idevid => Sender::Idevid,
        (Some(shown), Some(joining)) if Some(shown) == joining.ldevid => Sender::Ldevid,
        _ => Sender::Other,
    }
}
