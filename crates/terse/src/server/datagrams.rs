//! `terse server --dtls` serves all clients on one socket, in one thread.
//!
//! What must always hold: whatever one client does or fails to do, the others are served.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::net::SocketAddr;
use std::net::UdpSocket;

use terse_net::{CacheFile, DatagramEvent, DatagramServer, NetError};
use terse_tls::{ApiMisuse, ConnectionHandle, EndpointLimits, Error, Path, Summary};

use super::{Server, wait_out};
use crate::credentials::{failed, warn_unsaved};
use crate::export;
use crate::failure::Failure;
use crate::output::{self, Ended};
use crate::trace::TraceLog;

/// A client whose handshake is complete.
struct Client {
    address: SocketAddr,
    /// The summary at that time, in case the connection is replaced.
    summary: Summary,
}

/// The clients, and how many more connections may end.
struct Clients {
    connected: BTreeMap<ConnectionHandle, Client>,
    left: Option<u32>,
}

impl Server {
    pub(super) fn serve_datagrams(&self) -> Result<(), Failure> {
        let (socket, address) = self.listen(|address| {
            let socket = UdpSocket::bind(address)?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        })?;
        let shared = &self.args.shared;
        let mut config = self.config.to_builder();
        config.datagrams(shared.datagrams(address.ip()));
        let trace = shared.verbose.then(|| Arc::new(TraceLog::new("")));
        if let Some(trace) = &trace {
            config.trace(trace.clone());
        }
        let config = Arc::new(config.build().map_err(failed)?);
        let limits = EndpointLimits::default()
            .require_cookie(!self.args.no_cookie)
            .tickets_prove_addresses(!self.args.always_cookie)
            .first_contacts_per_second(self.args.first_contacts_per_second.unwrap_or(0));
        let server = DatagramServer::new(config, limits, socket, self.clock);
        let mut server = server.map_err(failed)?.with_idle_timeout(self.args.idle_timeout());
        // Any datagram may begin a connection.
        let (crl_files, identities) = (self.crl_files.clone(), self.identities.clone());
        server = server.with_watch(Box::new(move |from| {
            trace.iter().for_each(|trace| trace.set_connection(from.map(Path::address)));
            crl_files.iter().for_each(|files| files.refresh());
            identities.iter().for_each(|identities| identities.refresh());
        }));
        output::line(format_args!("listening {address}"))?;
        let mut clients = Clients { connected: BTreeMap::new(), left: self.args.max_connections };
        while clients.left != Some(0) {
            self.staples.refresh();
            match server.next_event(self.staples.until_renewal()) {
                Ok(Some((handle, event))) => self.handle(&mut server, &mut clients, handle, event),
                Ok(None) => {}
                Err(NetError::Io(error)) => wait_out("receive from clients", &error),
                Err(error) => output::warn(&error),
            }
            self.identities.iter().for_each(|identities| identities.save());
            warn_unsaved(self.cache_file.as_deref().and_then(CacheFile::take_error));
            if let Some(error) = server.take_send_error().filter(|_| shared.verbose) {
                output::warn(&format!("a datagram could not be sent, and counts as lost: {error}"));
            }
        }
        let counted = server.counters().by_name().into_iter().filter(|(_, count)| *count > 0);
        let counts: Vec<_> = counted.map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
        if shared.verbose && !counts.is_empty() {
            output::warn(&format!("counted beside the connections: {}", counts.join(", ")));
        }
        Ok(())
    }

    fn handle(
        &self,
        server: &mut DatagramServer,
        clients: &mut Clients,
        handle: ConnectionHandle,
        event: DatagramEvent,
    ) {
        let result = match event {
            DatagramEvent::Connected => {
                if let (Some(address), Some(connection)) = (server.address(handle), server.connection(handle)) {
                    clients.connected.insert(handle, Client { address, summary: connection.summary().clone() });
                }
                self.args.reply.as_ref().map_or(Ok(()), |reply| send(server, handle, reply.as_bytes()))
            }
            DatagramEvent::Data(data) | DatagramEvent::EarlyData(data) if self.args.echo => send(server, handle, &data),
            DatagramEvent::AddressChanged { from, to } => {
                if let Some(client) = clients.connected.get_mut(&handle) {
                    client.address = to.address();
                }
                if self.args.shared.verbose {
                    output::warn(&format!("the client {from} is at {to} now"));
                }
                Ok(())
            }
            DatagramEvent::PeerClosed => return self.end(server, clients, handle, Ok(())),
            DatagramEvent::Failed(error) => Err(NetError::Tls(error)),
            DatagramEvent::Idle => Err(NetError::TimedOut { in_handshake: false }),
            DatagramEvent::Replaced => return self.replaced(clients, handle),
            _ => Ok(()),
        };
        if let Err(error) = result {
            self.end(server, clients, handle, Err(error));
        }
    }

    /// Prints the report of a connection, and ends it. The report comes first: a client that has seen its connection
    /// end may look for it.
    fn end(
        &self,
        server: &mut DatagramServer,
        clients: &mut Clients,
        handle: ConnectionHandle,
        result: Result<(), NetError>,
    ) {
        if let (Some(address), Some(connection)) = (server.address(handle), server.connection(handle)) {
            let label = self.args.shared.export.as_deref();
            match result.and_then(|()| export::hex(connection, label)) {
                Ok(exported) => self.report(address, connection, exported.as_deref()),
                Err(error) => self.failed(address, connection.summary(), &error),
            }
            clients.count_end();
        }
        server.end(handle);
        clients.connected.remove(&handle);
    }

    /// Reports a connection that is gone because its client began another one. One whose handshake was not complete is
    /// not reported.
    fn replaced(&self, clients: &mut Clients, handle: ConnectionHandle) {
        let Some(Client { address, summary }) = clients.connected.remove(&handle) else { return };
        let problem = format!("the client {address} has lost its connection and began another one");
        output::warn(&problem);
        if self.json {
            let ended = Ended { summary: &summary, error: Some(&problem), alpn: None, exported: None };
            self.warn_unprinted(ended.print_json());
        }
        clients.count_end();
    }
}

/// Sends `message`. If too much is queued for the client, the message is dropped, as if the network had lost it, and
/// counted.
fn send(server: &mut DatagramServer, handle: ConnectionHandle, message: &[u8]) -> Result<(), NetError> {
    match server.send(handle, message) {
        Err(NetError::Tls(Error::ApiMisuse(ApiMisuse::SendBufferFull))) => Ok(()),
        result => result,
    }
}

impl Clients {
    fn count_end(&mut self) {
        self.left = self.left.map(|left| left.saturating_sub(1));
    }
}
