//! Early data (0-RTT; RFC 9846, 2.3) at the interface of a connection.

use super::{Connection, Progress};
use crate::error::{ApiMisuse, Error};
use crate::wire::ContentType;

impl Connection {
    /// Takes early data (0-RTT) to send, on a client that is configured for it ([`crate::resume::ClientResumption`],
    /// [`crate::ClientIdentity::early_data`]). Returns how many bytes were taken: none without a session or ticket that
    /// allows it, fewer than given at the limit of the session or ticket, at [`crate::Common::max_send_buffer`], or once
    /// the server does not take them. Over datagrams all are taken or none.
    ///
    /// [`crate::Summary::early_data`] says whether the server took it. If it did not, nothing is sent again but by the
    /// application. A network may deliver early data twice. [`crate::Summary::early_data_protection`] says whether it is forward
    /// secret: early data of a session is not.
    pub fn send_early_data(&mut self, data: &[u8]) -> Result<usize, Error> {
        if self.closed || self.failure.is_some() {
            return Err(ApiMisuse::Closed.into());
        }
        let wanted = match self.config.as_client() {
            Some(config) => {
                let of_sessions = config.resumption.as_ref().is_some_and(|resumption| resumption.early_data);
                of_sessions || config.identity.as_ref().is_some_and(|identity| identity.may_offer_early_data())
            }
            None => false,
        };
        if !wanted {
            return Err(ApiMisuse::NoEarlyData.into());
        }
        if self.is_datagram() && data.len() > self.link.sender().max_fragment() {
            return Err(ApiMisuse::MessageTooLong.into());
        }
        let produced = self.link.sender().produced();
        let mut taken = 0;
        for fragment in data.chunks(self.link.sender().max_fragment().max(1)) {
            let left = usize::try_from(self.agreed.early_data).unwrap_or(usize::MAX);
            if self.is_datagram() && fragment.len() > left {
                break;
            }
            let fragment = &fragment[..fragment.len().min(left)];
            if fragment.is_empty() || self.link.sender().pending() >= self.config.common().max_send_buffer {
                break;
            }
            self.link.sender_mut().record(ContentType::APPLICATION_DATA, fragment)?;
            self.agreed.early_data -= fragment.len() as u32; // at most what is left
            taken += fragment.len();
        }
        self.summary.sent.early_data_bytes += self.link.sender().produced() - produced;
        Ok(taken)
    }

    /// Moves early data that was received to `out`. Returns how many bytes; 0 when there are none.
    ///
    /// Somebody who has the session, or who has the client's identity key and a ticket, sent it, but maybe not now, and
    /// maybe not for the first time: act on it only as far as the application protocol allows that (RFC 9846, F.5).
    pub fn recv_early_data(&mut self, out: &mut [u8]) -> usize {
        if self.early_data == Progress::Due {
            return 0;
        }
        let len = self.link.receiver_mut().plaintext_mut().read(out);
        if self.link.receiver().plaintext().is_empty() {
            self.early_data = Progress::Due;
        }
        len
    }
}
