//! What drives a connection: records in, the handshake's next state, alerts, and the end.
//!
//! What must always hold: after an error there is no handshake left to drive; while a signature or a store is waited for,
//! no message is handled.

use super::{Connection, Progress};
use crate::cache::{self, StoreAnswer};
use crate::config::TraceEvent;
use crate::crypto::Rng;
use crate::error::{ApiMisuse, Error, PeerMisbehaved};
use crate::handshake::server::ReceivedClientHello;
use crate::handshake::tls13::server::Chosen;
use crate::handshake::{Handshake, LookUp, Message, Output, Receive};
use crate::link::{Incoming, Newest, Received, Record};
use crate::time::Now;
use crate::wire::{Alert, AlertDescription, ContentType, HandshakeType, ProtocolVersion};

impl Connection {
    /// Takes records, until application data, a signature or a store is to be waited for.
    pub(super) fn handle_records(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        let mut taken = 0;
        while (taken < input.len() || self.link.receiver().has_waiting())
            && self.link.receiver().plaintext().is_empty()
            && !self.is_waiting()
        {
            if self.peer_closed != Progress::Due && !self.has_acks() {
                return Ok(input.len());
            }
            taken += self.handle_record(now, rng, &mut input[taken..])?;
        }
        Ok(taken)
    }

    /// Takes up to the end of one record. Returns how many bytes of the input that is.
    #[inline(never)]
    fn handle_record(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        let taken = self.take_record(now, rng, input);
        if let Some(driver) = self.link.datagrams() {
            self.summary.dropped = driver.dropped();
        }
        taken
    }

    fn take_record(&mut self, now: Now, rng: &mut dyn Rng, input: &mut [u8]) -> Result<usize, Error> {
        let was_connected = self.is_connected();
        let Record { taken, received, len, is_dropped, newest } =
            self.link.receiver_mut().receive(now.monotonic, input)?;
        if let Some(Newest { has_new_id }) = newest {
            self.arrivals.is_newer = true;
            self.arrivals.is_from_path = !matches!(received, Received::ReturnRoutabilityCheck(_));
            self.arrivals.has_new_id |= has_new_id;
        }
        if !was_connected {
            self.summary.received.record_bytes += taken as u64;
        }
        let is_dropped = self.handle_received(now, rng, received, len)? || is_dropped;
        if !is_dropped {
            self.arrivals.bytes = self.arrivals.bytes.saturating_add(taken);
        }
        Ok(taken)
    }

    /// Handles what a record of `len` bytes brought. Returns whether it was dropped.
    #[inline(never)]
    fn handle_received(&mut self, now: Now, rng: &mut dyn Rng, received: Received, len: usize) -> Result<bool, Error> {
        let (is_ignored, has_acks) = (self.is_ignored(&received), self.has_acks());
        if is_ignored {
            self.link.receiver_mut().plaintext_mut().discard();
        }
        if let Some(driver) = self.link.datagrams_mut() {
            if is_ignored {
                driver.ignored();
            } else {
                driver.came(now.monotonic, &received, has_acks);
            }
        }
        if is_ignored {
            return Ok(false);
        }
        let mut is_dropped = false;
        match received {
            Received::Nothing => {}
            Received::Handshake => {
                if let Some(driver) = self.link.datagrams_mut() {
                    driver.heard(now.monotonic);
                }
                if self.is_connected() {
                    self.summary.received.post_handshake_bytes += len as u64;
                }
                self.handle_messages(now, rng)?;
            }
            Received::ApplicationData => is_dropped = self.handle_application_data()?,
            Received::Alert(alert) => is_dropped = self.handle_alert(alert)?,
            Received::Ack { .. } | Received::Repeated | Received::ReturnRoutabilityCheck(_) => {
                is_dropped = self.handle_over_datagrams(now, received, len)?;
            }
        }
        if let Some(code) = self.over_datagrams {
            (code.answer_request)(self, rng)?;
        }
        if self.is_connected()
            && self.link.datagrams_mut().is_some_and(|driver| driver.key_has_many_forgeries())
            && self.link.sender().can_update_keys()
        {
            self.update_keys(true)?; // RFC 9147, 4.5.3
        }
        Ok(is_dropped)
    }

    /// Handles what comes over datagrams alone. Returns whether it was dropped.
    fn handle_over_datagrams(&mut self, now: Now, received: Received, len: usize) -> Result<bool, Error> {
        let Some(code) = self.over_datagrams else { return Ok(true) }; // a stream has none of these
        match received {
            Received::Ack { numbers, is_protected } => (code.handle_ack)(self, now, &numbers, is_protected, len),
            Received::Repeated => (code.peer_repeats)(self, now),
            Received::ReturnRoutabilityCheck(check) => return (code.handle_check)(self, check),
            _ => {}
        }
        Ok(false)
    }

    /// What came is not due: see [`Incoming::not_due`](crate::link::Incoming::not_due). Returns that it was dropped.
    #[inline(never)]
    pub(super) fn not_due(&mut self, content_type: ContentType) -> Result<bool, Error> {
        self.link.receiver_mut().not_due(content_type).map(|()| true)
    }

    /// Handles the messages that are whole, as far as nothing is waited for.
    pub(super) fn handle_messages(&mut self, now: Now, rng: &mut dyn Rng) -> Result<(), Error> {
        while !self.is_waiting() && self.link.receiver().message()?.is_some() {
            self.step(now, rng, |handshake, receiver, output| {
                let bytes = receiver.message()?.unwrap_or_default();
                let message = Message::new(bytes, output.link.transport())?;
                output.note_received(message, &*handshake);
                Ok((handshake.handle(message, output)?, bytes.len()))
            })?;
        }
        Ok(())
    }

    /// Handles the ClientHello that the link began with, once it was read; in TLS 1.3 maybe with what was chosen from
    /// it. While a store takes its time it waits as bytes, as any message does.
    pub(super) fn handle_client_hello<'a>(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        received: &'a ReceivedClientHello<'a>,
        mut chosen: Option<Chosen<'a>>,
    ) -> Result<(), Error> {
        self.step(now, rng, |handshake, _, output| {
            output.note_received(received.message, &*handshake);
            Ok((handshake.handle_client_hello(received, &mut chosen, output)?, received.message.bytes.len()))
        })
    }

    /// The signature that was waited for is there.
    pub(super) fn handle_signature(&mut self, now: Now, rng: &mut dyn Rng, signature: &[u8]) -> Result<(), Error> {
        self.step(now, rng, |handshake, _, output| Ok((handshake.signed(signature, output)?, 0)))?;
        self.handle_messages(now, rng)?;
        self.handle_records(now, rng, &mut []).map(|_| ())
    }

    /// The store that was waited for has answered.
    pub(super) fn handle_store_answer(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        answer: StoreAnswer,
    ) -> Result<(), Error> {
        self.step(now, rng, |handshake, receiver, output| {
            handshake.answered(answer, receiver.message()?.unwrap_or_default(), output)
        })?;
        self.handle_messages(now, rng)?;
        self.handle_records(now, rng, &mut []).map(|_| ())
    }

    /// Goes from one state of the handshake to the next. `change` also says how many bytes of messages it handled.
    fn step(
        &mut self,
        now: Now,
        rng: &mut dyn Rng,
        change: impl FnOnce(Handshake, &dyn Incoming, &mut Output<'_>) -> Result<(Handshake, usize), Error>,
    ) -> Result<(), Error> {
        let handshake = self.handshake.take().ok_or(ApiMisuse::Closed)?;
        let produced = self.link.sender().produced();
        let was_finished = handshake.is_finished();
        let (receiver, mut output) = self.output(now, rng);
        let (handshake, handled) = change(handshake, receiver, &mut output)?;
        if let Some(LookUp { rows, pending: Some((ticket, wait)) }) = output.look_up.take().map(|look_up| *look_up) {
            self.proceed(wait(handshake, rows, ticket), now); // the message stays where it is
            return Ok(());
        }
        let (mut receive, learned) = (output.receive, output.learned);
        if was_finished {
            self.summary.sent.post_handshake_bytes += self.link.sender().produced() - produced;
        }
        self.link.receiver_mut().consume(handled); // before the cache needs room
        if let (Some(session), Some(learned)) = (&mut self.cache, learned) {
            session.finished(*learned);
        }
        let ids = receive.connection_ids.take();
        self.apply(receive)?;
        let (is_finished, has_acks) = (handshake.is_finished(), self.has_acks());
        if let Some(driver) = self.link.datagrams_mut() {
            driver.handled(now.monotonic, is_finished, has_acks);
        }
        self.proceed(handshake, now);
        match (ids, self.over_datagrams) {
            (Some(ids), Some(code)) => (code.handle_ids)(self, ids),
            // A stream has none, and its handshake has refused them.
            (Some(_), None) => Err(PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::NEW_CONNECTION_ID).into()),
            (None, _) => Ok(()),
        }
    }

    /// What the handshake has to do with: what came, and what it can do.
    pub(super) fn output<'a>(&'a mut self, now: Now, rng: &'a mut dyn Rng) -> (&'a dyn Incoming, Output<'a>) {
        let (receiver, sender) = self.link.both_mut();
        let output = Output {
            link: sender,
            rng,
            now,
            summary: &mut self.summary,
            agreed: &mut self.agreed,
            client_address: self.client_address,
            cache: self.cache.as_deref_mut(),
            trace: self.config.common().trace.as_deref(),
            learned: None,
            look_up: None,
            receive: Receive::default(),
        };
        (receiver, output)
    }

    /// Changes what is received next as the handshake says.
    #[inline(never)]
    fn apply(&mut self, receive: Receive) -> Result<(), Error> {
        let receiver = self.link.receiver_mut();
        let waits = match receive.early_data_keys {
            Some(keys) => receiver.early_data_keys(&keys)?,
            None => false,
        };
        if let Some(keys) = receive.keys.filter(|_| !waits) {
            receiver.new_keys(&keys)?;
        }
        if let Some(skip) = receive.skip_early_data {
            receiver.skip_early_data(skip);
        }
        if let Some(max_inner) = receive.max_inner {
            receiver.limit_records(max_inner);
        }
        if let Some(driver) = self.link.datagrams_mut().filter(|_| receive.connection_id) {
            driver.expect_connection_id();
        }
        Ok(())
    }

    /// Enters the next state.
    #[inline(never)]
    pub(super) fn proceed(&mut self, handshake: Handshake, now: Now) {
        self.link.receiver_mut().ignore_change_cipher_spec(handshake.ignores_change_cipher_spec());
        if handshake.is_finished() && self.connected == Progress::Due {
            self.connected = Progress::Happened;
            self.summary.handshake_ms = now.monotonic.since(self.started);
            // Tickets count apart: those of TLS 1.2 come within the handshake, a server's of TLS 1.3 in the same step.
            if !self.is_datagram() {
                self.summary.sent.record_bytes = self.link.sender().produced() - self.summary.sent.post_handshake_bytes;
            }
            self.summary.received.record_bytes -= self.summary.received.post_handshake_bytes;
        }
        self.needs_signature = match handshake.signature_request() {
            Some(_) => Progress::Happened,
            None => Progress::Due,
        };
        self.needs_store = match handshake.store_request() {
            Some(_) => Progress::Happened,
            None => Progress::Due,
        };
        self.handshake = Some(handshake);
    }

    /// Returns whether it was dropped.
    #[inline(never)]
    fn handle_application_data(&mut self) -> Result<bool, Error> {
        let waiting = self.link.receiver().plaintext().len();
        if let Some(taken) = self.handshake.as_mut().and_then(|state| state.early_data(waiting)) {
            taken?;
            if waiting > 0 {
                self.early_data = Progress::Happened;
            }
            return Ok(false);
        }
        let Some(traffic) = self.handshake.as_mut().and_then(|state| state.traffic_mut()) else {
            return self.not_due(ContentType::APPLICATION_DATA);
        };
        if waiting > 0 {
            traffic.received_data();
        }
        if let Some(session) = &mut self.cache {
            session.confirmed();
        }
        Ok(false)
    }

    /// RFC 9846, 6. Returns whether it was dropped.
    #[inline(never)]
    fn handle_alert(&mut self, alert: Alert) -> Result<bool, Error> {
        if let Some(trace) = &self.config.common().trace {
            trace.event(TraceEvent::AlertReceived(alert.description));
        }
        match alert.description {
            AlertDescription::CLOSE_NOTIFY if self.is_connected() => {
                self.peer_closed = Progress::Happened;
                if let Some(session) = &mut self.cache {
                    session.confirmed();
                    session.release();
                }
                Ok(false)
            }
            // It overtook the last flight, which will come again.
            AlertDescription::CLOSE_NOTIFY if self.is_datagram() => self.not_due(ContentType::ALERT),
            AlertDescription::CLOSE_NOTIFY => {
                self.answer_close();
                Err(Error::AlertReceived(alert.description))
            }
            _ if self.is_warning(alert) => self.link.receiver_mut().ignored().map(|()| false),
            description => Err(Error::AlertReceived(description)),
        }
    }

    /// In TLS 1.2 the level says it (RFC 5246, 7.2.2); in TLS 1.3 it says nothing, and `user_canceled` alone is none of
    /// the errors (RFC 9846, 6.1): close_notify follows.
    fn is_warning(&self, alert: Alert) -> bool {
        match self.may_speak(ProtocolVersion::TLS_1_2) {
            true => alert.level == Alert::WARNING,
            false => alert.description == AlertDescription::USER_CANCELED,
        }
    }

    /// The peer closes in the middle of the handshake: close_notify answers close_notify (RFC 5246, 7.2.1; RFC 9846,
    /// 6.1). But that of a server which has sent its Finished would tell the client that its own was verified
    /// (docs/caching.md, 4.2).
    #[inline(never)]
    fn answer_close(&mut self) {
        if !self.handshake.as_ref().is_some_and(|state| state.awaits_last_finished()) {
            self.send_alert(Alert { level: Alert::WARNING, description: AlertDescription::CLOSE_NOTIFY });
        }
    }

    /// What follows close_notify is ignored (RFC 9846, 6.1; RFC 9147, 5.10). But whoever sent it still acknowledges
    /// what this side sends, and wants its own last flight acknowledged.
    fn is_ignored(&self, received: &Received) -> bool {
        let is_repetition = matches!(received, Received::Nothing | Received::Ack { .. } | Received::Repeated);
        self.peer_closed != Progress::Due && !is_repetition
    }

    /// Whether records are acknowledged (RFC 9147, 7), or may be.
    fn has_acks(&self) -> bool {
        self.is_datagram() && self.may_speak(ProtocolVersion::TLS_1_3)
    }

    /// Whether this is a connection of `version`, or can still become one.
    fn may_speak(&self, version: ProtocolVersion) -> bool {
        self.summary.version.map_or_else(|| self.config.common().enables(version), |selected| selected == version)
    }

    /// The connection is over: tells the peer and the cache.
    pub(super) fn fail(&mut self, error: Error, now: Now) -> Error {
        self.link.receiver_mut().plaintext_mut().discard();
        self.early_data = Progress::Due;
        self.tell_peer(&error);
        let failure = match error {
            Error::AlertReceived(AlertDescription::CLOSE_NOTIFY) => cache::Failure::TimeoutOrClose,
            _ => cache::Failure::AlertOrFailedCheck,
        };
        self.abandon(error, failure, now);
        error
    }

    /// Sends the alert that is due for a fatal error.
    #[inline(never)]
    pub(super) fn tell_peer(&mut self, error: &Error) {
        if let Some(description) = error.alert_in(self.summary.version).filter(|_| !self.closed) {
            self.send_alert(Alert { level: Alert::FATAL, description });
        }
    }

    #[inline(never)]
    pub(super) fn abandon(&mut self, error: Error, failure: cache::Failure, now: Now) {
        if let Some(session) = &mut self.cache {
            session.failed(failure, now);
        }
        if self.connected == Progress::Due && !self.is_datagram() {
            self.summary.sent.record_bytes = self.link.sender().produced();
        }
        self.handshake = None;
        self.failure = Some(error);
    }

    #[inline(never)]
    pub(super) fn send_alert(&mut self, alert: Alert) {
        // If even this fails, the transport's end will have to tell the peer.
        if self.link.sender_mut().last_alert(alert).is_ok()
            && let Some(trace) = &self.config.common().trace
        {
            trace.event(TraceEvent::AlertSent(alert.description));
        }
    }
}
