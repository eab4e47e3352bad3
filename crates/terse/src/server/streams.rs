//! `terse server` over TCP: a thread for each connection.
//!
//! What must always hold: no peer holds a thread for ever.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use terse_net::{CacheFile, NetError, Stream, Timed};
use terse_tls::{Connection, Summary};

use super::{Server, wait_out};
use crate::credentials::warn_unsaved;
use crate::export;
use crate::failure::Failure;
use crate::output;
use crate::trace::TraceLog;

/// The number of connections that are served at a time; more wait to be accepted.
const MAX_CONCURRENT: usize = 256;

/// The longest time that a connection may take to end.
const CLOSING_TIME: Duration = Duration::from_secs(2);

impl Server {
    pub(super) fn serve_streams(&self) -> Result<(), Failure> {
        let (listener, address) = self.listen(|address| {
            let listener = TcpListener::bind(address)?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        })?;
        output::line(format_args!("listening {address}"))?;
        self.serve(&listener);
        Ok(())
    }

    fn serve(&self, listener: &TcpListener) {
        let slots = Slots::default();
        thread::scope(|scope| {
            let mut left = self.args.max_connections;
            while left != Some(0) {
                let slot = slots.take();
                let (socket, peer) = match listener.accept() {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        if error.kind() != ErrorKind::ConnectionAborted {
                            wait_out("accept a connection", &error); // not for a client that is gone
                        }
                        continue;
                    }
                };
                left = left.map(|left| left - 1); // the loop ends at 0
                let serve = move || {
                    self.serve_one(socket, peer);
                    drop(slot);
                };
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, serve) {
                    output::warn(&format!("{peer}: no thread for this connection: {error}"));
                }
            }
        });
    }

    /// Serves one connection, from TCP to close_notify, and prints its report.
    fn serve_one(&self, socket: TcpStream, peer: SocketAddr) {
        let mut stream = match self.open(socket, peer) {
            Ok(stream) => stream,
            Err(error) => return self.failed(peer, &Summary::default(), &error),
        };
        let result = self.converse(&mut stream);
        self.identities.iter().for_each(|identities| identities.save());
        warn_unsaved(self.cache_file.as_deref().and_then(CacheFile::take_error));
        // The report comes first: a client that has seen its connection end may look for it.
        match result {
            Ok(exported) => self.report(peer, stream.connection(), exported.as_deref()),
            Err(error) => self.failed(peer, stream.connection().summary(), &error),
        }
        stream.transport_mut().linger(CLOSING_TIME);
    }

    fn open(&self, socket: TcpStream, peer: SocketAddr) -> Result<Stream<Timed>, NetError> {
        let mut transport = Timed::new(socket).map_err(NetError::Io)?;
        transport.set_limit(self.args.shared.timeout());
        self.staples.refresh();
        self.crl_files.iter().for_each(|files| files.refresh());
        self.identities.iter().for_each(|identities| identities.refresh());
        let mut config = self.config.to_builder();
        if self.args.shared.verbose {
            config.trace(Arc::new(TraceLog::new(&peer.to_string())));
        }
        let connection =
            Connection::server(Arc::new(config.build().map_err(terse_tls::Error::from)?), self.clock.now())?;
        Ok(Stream::new(connection, transport, self.clock))
    }

    /// Does everything until the client closes. Returns the exported bytes.
    fn converse(&self, stream: &mut Stream<Timed>) -> Result<Option<String>, NetError> {
        let mut chunk = [0; 0x4000];
        loop {
            match stream.receive_early_data(&mut chunk)? {
                0 => break,
                len if self.args.echo => stream.send(&chunk[..len])?, // with the first flight
                _ => {}
            }
        }
        stream.handshake()?;
        let exported = export::hex(stream.connection(), self.args.shared.export.as_deref())?;
        if let Some(text) = &self.args.reply {
            stream.transport_mut().set_limit(self.args.shared.timeout());
            stream.send(text.as_bytes())?;
        }
        loop {
            stream.transport_mut().set_limit(self.args.idle_timeout());
            match stream.receive(&mut chunk) {
                Ok(0) => break,
                Ok(len) if self.args.echo => {
                    stream.transport_mut().set_limit(self.args.shared.timeout());
                    stream.send(&chunk[..len])?;
                }
                Ok(_) => {}
                Err(error) => {
                    if matches!(error, NetError::TimedOut { .. }) {
                        stream.transport_mut().set_limit(CLOSING_TIME);
                        let _ = stream.close(); // the error to report is that nothing came
                    }
                    return Err(error);
                }
            }
        }
        stream.transport_mut().set_limit(CLOSING_TIME);
        match stream.close() {
            // A client that does not wait for the answer to its close_notify loses nothing.
            Ok(()) | Err(NetError::Io(_) | NetError::TimedOut { .. }) => Ok(exported),
            Err(error) => Err(error),
        }
    }
}

/// A counter of the connections that are being served.
#[derive(Default)]
struct Slots {
    taken: Mutex<usize>,
    freed: Condvar,
}

/// The slot of one connection, which is free again when this is dropped.
struct Slot<'a>(&'a Slots);

impl Slots {
    /// Waits for a free slot.
    fn take(&self) -> Slot<'_> {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken >= MAX_CONCURRENT;
        *self.freed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner) += 1;
        Slot(self)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1; // `take` added it
        self.0.freed.notify_one();
    }
}
