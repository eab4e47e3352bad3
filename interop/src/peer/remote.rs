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

    /// Waits until the peer has received this application data.
    fn expect(&mut self, data: &[u8]);

    /// Returns what our side must send so that the peer replaces its sending key, and what the peer answers. It returns
    /// `None` if the peer takes orders directly.
    fn updates_keys_on(&self) -> Option<(&'static [u8], &'static [u8])> {
        None
    }

    /// Replaces the peer's sending key, and asks for ours to be replaced if the peer can.
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

    /// Returns the keying material that the peer exports for [`crate::case::EXPORTER_LABEL`].
    fn keying_material(&mut self) -> Vec<u8> {
        cannot()
    }

    /// Checks that the peer understood which server name our client asked for.
    fn expect_server_name(&mut self, _: &str) {
        cannot()
    }

    /// Checks which application protocol the peer agreed to.
    fn expect_protocol(&mut self, _: &str) {
        cannot()
    }

    /// Waits until the peer has seen a good OCSP response that was stapled to our certificate.
    fn expect_staple(&mut self) {
        cannot()
    }

    /// Returns what our side must send so that the peer closes. It returns `None` if the peer takes orders directly.
    fn closes_on(&self) -> Option<&'static [u8]> {
        None
    }

    /// Closes the connection properly.
    fn close(&mut self) {
        cannot()
    }

    /// Waits until the peer has understood our `close_notify`.
    fn expect_close(&mut self) {
        cannot()
    }

    /// Waits until the peer has received this alert.
    fn expect_alert(&mut self, _: AlertDescription) {
        cannot()
    }

    /// Ends the peer abruptly, without a close_notify.
    fn vanish(&mut self) {
        cannot()
    }

    /// Returns whether the peer leaves after the first handshake of several, without an alert.
    fn leaves_first(&self) -> bool {
        false
    }

    /// Gets ready for the next connection, after the last one has ended: a client offers the session that it was given,
    /// a server knows those that it gave. [`Case::connections`](crate::case::Case::connections) says how many there are.
    fn next(&mut self) {
        cannot()
    }

    /// Returns what the peer says about a connection that has ended, if the peer is one of ours.
    fn report(&mut self) -> Option<serde_json::Value> {
        None
    }

    /// Returns the wire of the connection that the peer is ready for.
    fn wire(&mut self) -> Box<dyn Wire> {
        cannot()
    }
}

/// Panics, for a side that is asked for something its cells never ask for.
fn cannot() -> ! {
    panic!("this side cannot do that");
}
