//! The network of a device.

/// What carries bytes to one peer: a stream, or datagrams.
pub trait Wire {
    /// Takes what has come: a stretch of a stream, or one datagram. Returns its length; 0 if nothing has come.
    fn receive(&mut self, milliseconds: u64, buffer: &mut [u8]) -> usize;

    /// Sends a stretch of a stream, or one datagram.
    fn transmit(&mut self, milliseconds: u64, bytes: &[u8]);

    /// Waits for a moment, or until something may have come.
    fn pause(&mut self);
}
