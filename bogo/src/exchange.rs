//! The connections of a run are made one after the other: handshake, the flags' actions, and an echo until the runner
//! closes.

use terse_net::OsRng;
use terse_tls::summary::EarlyDataStatus;
use terse_tls::{Connection, HandshakeType, ProtocolVersion};

use crate::clock::ShiftedClock;
use crate::config::{Config, Observations, Shared};
use crate::options::{CredentialKind, CredentialOptions, Options, Refusal, Run};
use crate::wire::{End, Wire};
use crate::{Failure, expect, wire};

/// Makes all connections. `version` becomes that of the last one.
pub(crate) fn connections(run: &Run, version: &mut Option<ProtocolVersion>) -> Result<(), Failure> {
    // Unimplemented flags are reported before the runner waits for a connection.
    let shared = Shared::new(run.resume_count > 0)?;
    for options in [&run.initial, &run.resume][..1 + usize::from(run.resume_count > 0)].iter() {
        Config::new(options, &shared, &Observations::default())?;
    }
    let mut clock = ShiftedClock::new(run.initial.dtls);
    for number in 0..=run.resume_count {
        let options = if number == 0 { &run.initial } else { &run.resume };
        connection(run, options, &shared, &mut clock, number > 0, version)?;
        clock.shift += options.resumption_delay;
    }
    Ok(())
}

fn connection(
    run: &Run,
    options: &Options,
    shared: &Shared,
    clock: &mut ShiftedClock,
    is_resume: bool,
    version: &mut Option<ProtocolVersion>,
) -> Result<(), Failure> {
    if !shared.sessions.begin() && is_resume && !options.server {
        return Err(Failure::Unexpected("no session to offer".into()));
    }
    let observations = Observations::default();
    observations.selected.store(-1, std::sync::atomic::Ordering::Relaxed);
    let config = Config::new(options, shared, &observations)?;
    let socket = wire::connect(run)?;
    let connection = match config {
        Config::Client(config, server) => Connection::client(config, server, clock.now(), &mut OsRng)?,
        Config::Server(config) => Connection::server(config, clock.now())?,
    };
    let wire = Wire::new(connection, socket, *clock, options);
    let mut exchange = Exchange { wire, options, retry: &run.retry, shared, observations, is_resume };
    let result = exchange.run();
    *version = exchange.wire.connection.summary().version.or(*version);
    *clock = exchange.wire.clock;
    exchange.wire.drain();
    result
}

struct Exchange<'a> {
    wire: Wire,
    options: &'a Options,
    retry: &'a Options,
    shared: &'a Shared,
    observations: Observations,
    is_resume: bool,
}

impl Exchange<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        let early = self.handshake()?;
        self.check()?;
        self.export()?;
        self.write_first(early)?;
        if self.options.shim_shuts_down {
            return self.shut_down();
        }
        self.echo()?;
        self.check_session()?;
        if self.options.check_close_notify {
            if self.wire.end != Some(End::CloseNotify) {
                return Err(Failure::Unexpected("no close_notify".into()));
            }
            self.wire.connection.close();
        }
        self.wire.flush();
        Ok(())
    }

    /// Runs the handshake. Returns how many bytes were sent as early data.
    fn handshake(&mut self) -> Result<usize, Failure> {
        let mut early = 0;
        if !self.options.server && self.options.enable_early_data && self.options.shim_writes_first {
            if self.options.read_with_unfinished_write {
                return Err(Refusal::Unimplemented("-read-with-unfinished-write with early data".into()).into());
            }
            for write in self.initial_writes() {
                early += self.wire.connection.send_early_data(&write)?;
                self.wire.flush();
            }
        }
        self.wire.flush();
        while !self.wire.is_connected {
            self.wire.receive()?;
        }
        if self.options.expect.never_done { Err(Failure::HandshakeDone) } else { Ok(early) }
    }

    /// Checks the connection. After a rejection of early data, other expectations apply.
    fn check(&mut self) -> Result<(), Failure> {
        let summary = self.wire.connection.summary();
        let is_retry = self.is_resume && !self.options.server && summary.early_data == EarlyDataStatus::Rejected;
        expect::early_data(self.options, summary, self.is_resume)?;
        if is_retry {
            self.options = self.retry;
        }
        // In DTLS 1.2 a second ClientHello answers HelloVerifyRequest.
        let is_dtls12 = self.options.dtls && summary.version == Some(ProtocolVersion::TLS_1_2);
        let hello_retry = !is_dtls12 && self.observations.messages.count(HandshakeType::CLIENT_HELLO) > 1;
        let selected = self.selected_credential();
        let reason = expect::EarlyDataReason {
            summary,
            is_resume: self.is_resume,
            hello_retry,
            sessions: &self.shared.sessions,
        };
        reason.check(self.options)?;
        if let (Some(expected), false) = (self.options.expect.session_id, self.is_resume) {
            expect::require("the server keeps the session as expected", self.shared.keeps_sessions() == expected)?;
        }
        expect::handshake(self.options, &self.wire.connection, self.is_resume, hello_retry, selected)
    }

    /// Returns the credential that signed, or whose pre-shared key both sides have.
    fn selected_credential(&self) -> i32 {
        let identity = self.wire.connection.summary().peer.psk_identity.as_deref();
        let has_it = |credential: &CredentialOptions| {
            credential.kind == CredentialKind::PreSharedKey && Some(credential.psk_identity.as_slice()) == identity
        };
        match (0..).zip(&self.options.credentials).find(|(_, credential)| has_it(credential)) {
            Some((number, _)) => number,
            None => self.observations.selected.load(std::sync::atomic::Ordering::Relaxed),
        }
    }

    fn export(&mut self) -> Result<(), Failure> {
        let Options { export_keying_material: len, export_label, export_context, .. } = self.options;
        if *len == 0 {
            return Ok(());
        }
        let mut material = vec![0; *len];
        let context = self.options.use_export_context.then_some(export_context.as_slice());
        self.wire.connection.export_keying_material(export_label, context, &mut material)?;
        self.wire.send(&material)
    }

    fn initial_writes(&self) -> Vec<Vec<u8>> {
        let one = self.options.initial_write.clone().unwrap_or_else(|| b"hello".to_vec());
        vec![one; self.options.repeat_initial_write.unwrap_or(1)]
    }

    /// Writes the first data. `early` bytes were sent already; bytes that the server did not accept are sent again.
    fn write_first(&mut self, early: usize) -> Result<(), Failure> {
        if self.options.write_different_record_sizes {
            for len in [0, 1, 255, 256, 257, 16383, 16384, 16385, 32767, 32768, 32769] {
                self.wire.send(&vec![0x42; len])?;
            }
        }
        if self.options.read_with_unfinished_write {
            self.wire.connection.send(&self.initial_writes().concat())?;
            self.wire.send_byte();
            return self.echo_before_flush();
        }
        if !self.options.shim_writes_first {
            return Ok(());
        }
        let accepted = self.wire.connection.summary().early_data == EarlyDataStatus::Accepted;
        let mut sent = if accepted { early } else { 0 };
        for write in self.initial_writes() {
            let skipped = sent.min(write.len());
            sent -= skipped;
            self.wire.send(&write[skipped..])?;
        }
        Ok(())
    }

    /// Reads and answers data while earlier output is not sent yet.
    fn echo_before_flush(&mut self) -> Result<(), Failure> {
        let mut buffer = [0; 512];
        loop {
            let len = self.wire.connection.recv(&mut buffer);
            if len > 0 {
                self.wire.flush();
                return self.wire.send(&complement(&buffer[..len]));
            }
            if self.wire.end.is_some() {
                self.wire.flush();
                return Ok(());
            }
            self.wire.receive_only()?;
        }
    }

    /// Answers all data with its complement, early data first.
    fn echo(&mut self) -> Result<(), Failure> {
        if self.options.write_different_record_sizes {
            return Ok(());
        }
        let early_data = std::mem::take(&mut self.wire.early_data);
        self.wire.send(&complement(&early_data))?;
        let mut buffer = vec![0; self.options.read_size.unwrap_or(if self.options.dtls { 16384 } else { 512 })];
        loop {
            if self.options.key_update_before_read {
                self.wire.update_keys()?;
            }
            let len = self.wire.recv(&mut buffer)?;
            if self.options.use_exporter_between_reads && self.wire.end.is_none() {
                self.wire.connection.export_keying_material(b"", None, &mut [0])?;
            }
            if len == 0 {
                return Ok(());
            }
            if self.options.key_update {
                self.wire.connection.update_keys(false)?;
            }
            self.wire.send(&complement(&buffer[..len]))?;
        }
    }

    /// Checks whether the server issued a session, as the test says.
    fn check_session(&self) -> Result<(), Failure> {
        if self.options.server {
            return Ok(());
        }
        let summary = self.wire.connection.summary();
        expect::session(self.options, summary, self.shared.sessions.offered(), self.shared.sessions.received())
    }

    fn shut_down(&mut self) -> Result<(), Failure> {
        if !self.options.check_close_notify {
            self.wire.flush();
            return Ok(());
        }
        self.wire.connection.close();
        self.wire.flush();
        match self.wire.recv(&mut [0; 1024])? {
            0 if self.wire.end == Some(End::CloseNotify) => Ok(()),
            0 => Err(Failure::Unexpected("no close_notify".into())),
            _ => Err(Failure::Unexpected("application data after the shutdown".into())),
        }
    }
}

fn complement(data: &[u8]) -> Vec<u8> {
    data.iter().map(|byte| byte ^ 0xff).collect()
}
