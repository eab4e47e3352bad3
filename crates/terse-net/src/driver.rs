//! A driver has what blocking and asynchronous streams do alike with a connection: it gives the connection its time and
//! randomness, its input and the end of its input, and maps errors.
//!
//! What must always hold: the clock is read once in each turn, which begins where a call may have waited; a transport
//! that ends without a close_notify is never a proper end.

use std::io::{self, ErrorKind};

use terse_tls::cache::StoreAnswer;
use terse_tls::crypto::CryptoError;
use terse_tls::{Connection, Error, Event, Now};

use crate::buffer::Buffer;
use crate::{Clock, NetError, OsRng};

/// A connection over a byte stream, with the clock and the randomness that its calls take.
pub(crate) struct Driver {
    pub(crate) connection: Connection,
    clock: Clock,
    /// The time of the current turn.
    now: Now,
    rng: OsRng,
    peer_closed: bool,
}

impl Driver {
    pub(crate) fn new(connection: Connection, clock: Clock) -> Self {
        Self { connection, clock, now: clock.now(), rng: OsRng, peer_closed: false }
    }

    /// Begins a turn.
    pub(crate) fn turn(&mut self) {
        self.now = self.clock.now_after(self.now);
    }

    /// Whether the peer has closed its direction properly.
    pub(crate) fn peer_closed(&self) -> bool {
        self.peer_closed
    }

    /// Gives the connection the input that was read. Fewer bytes are taken while application data waits.
    pub(crate) fn handle_input(&mut self, input: &mut Buffer) -> Result<(), Error> {
        let taken = self.connection.handle_input(self.now, &mut self.rng, input.filled_mut())?;
        input.consume(taken);
        self.note_events();
        Ok(())
    }

    /// Fills `output`, which is empty. It stays empty if there is nothing to send.
    pub(crate) fn fill_output(&mut self, output: &mut Buffer) {
        output.fill_with(|bytes| self.connection.poll_transmit(self.now, bytes).unwrap_or(0));
    }

    /// The transport has ended.
    pub(crate) fn end_of_input(&mut self) -> Result<(), NetError> {
        let in_handshake = self.connection.is_handshaking();
        match self.connection.handle_end_of_input(self.now) {
            Ok(()) if self.peer_closed => Ok(()),
            Ok(()) => Err(Error::Truncated.into()), // this follows a failure, and is never a proper end
            Err(Error::Truncated) if in_handshake => Err(NetError::ClosedInHandshake),
            Err(error) => Err(error.into()),
        }
    }

    /// Maps an error of the transport, with which it has ended if the peer has dropped the connection.
    pub(crate) fn io_error(&mut self, error: io::Error) -> NetError {
        let in_handshake = self.connection.is_handshaking();
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => NetError::TimedOut { in_handshake },
            _ if is_reset(&error) => match self.end_of_input() {
                Err(error @ NetError::ClosedInHandshake) => error,
                _ => NetError::Io(error),
            },
            _ => NetError::Io(error),
        }
    }

    /// Answers the connection's request for a signature, which may have taken its time.
    pub(crate) fn provide_signature(&mut self, signature: Result<&[u8], CryptoError>) -> Result<(), Error> {
        self.turn();
        let result = self.connection.provide_signature(self.now, &mut self.rng, signature);
        self.note_events();
        result
    }

    /// Answers the connection's request to a store, which may have taken its time.
    #[cfg(feature = "tokio")]
    pub(crate) fn provide_store_answer(&mut self, answer: StoreAnswer) -> Result<(), Error> {
        self.turn();
        self.answer_store(answer)
    }

    /// Answers that the store is unavailable, if the connection asks for it: nobody could answer later.
    pub(crate) fn go_on_without_store(&mut self) -> Result<(), Error> {
        let answer = self.connection.store_request().map(StoreAnswer::unavailable);
        answer.map_or(Ok(()), |answer| self.answer_store(answer))
    }

    /// The application stops waiting for the peer (docs/caching.md, 4.2).
    pub(crate) fn give_up(&mut self) {
        self.turn();
        self.connection.give_up(self.now);
    }

    fn answer_store(&mut self, answer: StoreAnswer) -> Result<(), Error> {
        let result = self.connection.provide_store_answer(self.now, &mut self.rng, answer);
        self.note_events();
        result
    }

    /// Notes that the peer has closed its direction. What else an event says, the connection can be asked for.
    fn note_events(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            self.peer_closed |= event == Event::PeerClosed;
        }
    }
}

/// Whether the peer has dropped the connection.
pub(crate) fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
