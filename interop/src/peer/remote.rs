//! What a cell asks of the peer's side while both sides meet.

use terse_tls::AlertDescription;

use crate::tap::Wire;

/// A peer during a meeting. All calls wait until what they ask for has happened, and panic if it does not, or if this peer
/// cannot do it.
pub trait Remote {
    /// Whether it sends back what it receives, and cannot send anything else.
    fn echoes(&self) -> bool {
        false
    }

    /// Sends application data: whole lines of text.
    fn send(&mut self, data: &[u8]);

    /// Has received this application data.
    fn expect(&mut self, data: &[u8]);

    /// What our side must send for the peer to replace its sending key, and what it answers, if it takes no other
    /// orders.
    fn updates_keys_on(&self) -> Option<(&'static [u8], &'static [u8])> {
        None
    }

    /// Replaces its sending key, and asks for ours to be replaced if it can.
    fn update_keys(&mut self) {
        cannot()
    }

    /// Tells the other side to use another connection ID of this side from now on (RFC 9147, 9).
    fn change_connection_id(&mut self) {
        cannot()
    }

    /// Asks for a renegotiation (RFC 5246, 7.4.1.1).
    fn renegotiate(&mut self) {
        cannot()
    }

    /// The keying material that it exports for [`crate::case::EXPORTER_LABEL`].
    fn keying_material(&mut self) -> Vec<u8> {
        cannot()
    }

    /// The name that our client asked for, as it understood it.
    fn expect_server_name(&mut self, _: &str) {
        cannot()
    }

    /// The application protocol that it agreed to.
    fn expect_protocol(&mut self, _: &str) {
        cannot()
    }

    /// It saw a good OCSP response that was stapled to our certificate.
    fn expect_staple(&mut self) {
        cannot()
    }

    /// What our side must send for the peer to close, if it takes no other orders.
    fn closes_on(&self) -> Option<&'static [u8]> {
        None
    }

    /// Closes the connection properly.
    fn close(&mut self) {
        cannot()
    }

    /// Has understood our `close_notify`.
    fn expect_close(&mut self) {
        cannot()
    }

    /// Has received this alert.
    fn expect_alert(&mut self, _: AlertDescription) {
        cannot()
    }

    /// Disappears without a farewell.
    fn vanish(&mut self) {
        cannot()
    }

    /// Whether it leaves after the first handshake of several, without a word.
    fn leaves_first(&self) -> bool {
        false
    }

    /// Gets ready for the next connection, after the last one has ended: a client offers the session that it was given,
    /// a server knows those that it gave. [`Case::connections`](crate::case::Case::connections) says how many there are.
    fn next(&mut self) {
        cannot()
    }

    /// What it says about a connection that has ended, if it is one of ours.
    fn report(&mut self) -> Option<serde_json::Value> {
        None
    }

    /// The wire of the connection that it is ready for.
    fn wire(&mut self) -> Box<dyn Wire> {
        cannot()
    }
}

/// What a side says that is asked for something else than its cells ask for.
fn cannot() -> ! {
    panic!("this side cannot do that");
}
