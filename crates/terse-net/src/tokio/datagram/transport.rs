//! The way of datagrams between the socket and the engine, through the framing.
//!
//! What must always hold: a datagram is handled before the next is read; what cannot be read or sent is counted, and
//! stops nothing; nothing waits for the socket to take a datagram.

use core::net::SocketAddr;
use core::task::{Context, Poll};
use std::io::{self, ErrorKind};

use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use super::DatagramEndpoint;
use crate::NetError;
use crate::datagram::{is_interruption, is_of_network};
use crate::tokio::{Framing, Misframed};

impl<F: Framing> DatagramEndpoint<F> {
    /// Reads and handles a datagram that has arrived. Returns whether there was one; if not, `cx` is woken when one
    /// comes.
    pub(super) fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, NetError> {
        let mut buffer = ReadBuf::new(&mut self.input);
        let from = match self.socket.poll_recv_from(cx, &mut buffer) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(from)) => from,
            // Asked again at once: nobody would wake this task otherwise.
            Poll::Ready(Err(error)) if is_interruption(&error) || is_of_network(&error) => return Ok(true),
            Poll::Ready(Err(error)) => return Err(NetError::Io(error)),
        };
        let len = buffer.filled().len();
        self.turn();
        let refused = match self.framing.read(from, &self.input[..len]) {
            Ok((path, range)) => match self.input[..len].get_mut(range) {
                Some(datagram) => {
                    if let Some(watch) = &mut self.watch {
                        watch(Some(&path));
                    }
                    self.endpoint.handle_datagram(self.now, &mut self.rng, path, datagram);
                    return Ok(true);
                }
                None => Misframed::Malformed,
            },
            Err(refused) => refused,
        };
        let counter = match refused {
            Misframed::Malformed => &mut self.counters.misframed,
            Misframed::HeaderTooLong => &mut self.counters.headers_too_long,
        };
        *counter = counter.saturating_add(1);
        Ok(true)
    }

    /// Sends what the engine has to send.
    pub(super) fn flush(&mut self) {
        let overhead = self.overhead;
        while let Some((path, len)) = self.endpoint.poll_transmit(self.now, &mut self.output[overhead..]) {
            let prefix = self.framing.write(&path, len, &mut self.output[..overhead]);
            let sent = match prefix.and_then(|prefix| Some((prefix, overhead.checked_sub(prefix)?))) {
                Some((prefix, start)) => {
                    self.output.copy_within(..prefix, start); // right before the datagram
                    send_at_once(&self.socket, &self.output[start..overhead + len], path.address())
                }
                None => Err(ErrorKind::InvalidInput.into()),
            };
            if let Err(error) = sent {
                self.counters.unsent = self.counters.unsent.saturating_add(1);
                self.send_error = Some(error); // no client's network may stop the others
            }
        }
    }
}

/// Sends a datagram if the socket takes it without waiting.
fn send_at_once(socket: &UdpSocket, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
    loop {
        match socket.try_send_to(datagram, to) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result.map(drop),
        }
    }
}
