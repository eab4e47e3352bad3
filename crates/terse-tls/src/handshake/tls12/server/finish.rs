//! The client's Finished, and the server's, which is sent after the session and the cache entries are stored.

use alloc::boxed::Box;

use super::flight::Handshaking;
use crate::cache::{Committing, NotSaved};
use crate::error::Error;
use crate::handshake::certificate_types::learn_issuers;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::store::{AfterCommit, ExpectCommit};
use crate::handshake::tls12::traffic::Traffic;
use crate::handshake::{Handshake, Message, Output};
use crate::schedule::tls12::{MasterSecret, Randoms, RecordKeys};
use crate::schedule::{EpochKeys, Transcript};
use crate::wire::{Finished, HandshakeType};

/// The rest of the handshake after the cache entry is committed.
struct Finish {
    randoms: Randoms,
    transcript: Transcript,
    extended_master_secret: bool,
    master_secret: MasterSecret,
    keys: RecordKeys,
}

/// The state that expects the client's Finished.
pub(crate) struct ExpectFinished {
    handshaking: Handshaking,
    /// The client, if it has authenticated with a certificate.
    client: Option<ProvenPeer>,
    master_secret: MasterSecret,
    /// The keys for sending.
    keys: RecordKeys,
}

impl ExpectFinished {
    /// Expects the client's records under the new keys.
    pub(super) fn new(
        handshaking: Handshaking,
        client: Option<ProvenPeer>,
        master_secret: MasterSecret,
        output: &mut Output<'_>,
    ) -> Self {
        let keys = master_secret.key_block(&handshaking.randoms);
        output.receive.keys = Some(Box::new(EpochKeys::Tls12(keys.client)));
        Self { handshaking, client, master_secret, keys: keys.server }
    }

    /// RFC 5246, 7.4.9. The new ticket is committed before anything is sent (docs/caching.md, 4.2).
    #[inline(never)]
    pub(super) fn finished(self: Box<Self>, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { handshaking, client, master_secret, keys } = *self;
        let Handshaking { config, suite, randoms, mut transcript, extended_master_secret, cache, resumable, .. } =
            handshaking;
        let Finished(verify_data) = message.expect(HandshakeType::FINISHED)?;
        let verified = master_secret.verify_client_finished(verify_data, &transcript.current());
        let proof = config.common.defences().finished(verified)?;
        let peer = client.as_ref().map(|client| &*client.peer);
        learn_issuers(&config, &proof, peer);
        transcript.add(message.bytes);
        if let Some(resumable) = resumable {
            resumable.keep(suite, &master_secret, peer, &mut transcript, output)?;
        }
        if let Some(mut session) = cache
            && let Some(subject) = session.names(client.as_ref().and_then(|client| client.fingerprint))
        {
            let ticket = master_secret.ticket(config.common.provider.sha256, &subject);
            let entry = client.as_ref().and_then(|client| session.entry(client.fingerprint?, &client.peer));
            match session.client_at(output.client_address).commit(proof, ticket, entry) {
                Committing::Done(saved) => output.committed(saved),
                Committing::Pending(commit) => {
                    let rest = Finish { randoms, transcript, extended_master_secret, master_secret, keys };
                    return Ok(ExpectCommit::commit(commit, rest));
                }
            }
        }
        Finish { randoms, transcript, extended_master_secret, master_secret, keys }.send(output)
    }
}

impl AfterCommit for Finish {
    fn committed(self, saved: Result<(), NotSaved>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        output.committed(saved);
        self.send(output)
    }
}

impl Finish {
    #[inline(never)]
    fn send(self, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { randoms, mut transcript, extended_master_secret, master_secret, keys } = self;
        output.link.new_keys(&EpochKeys::Tls12(keys))?;
        let verify_data = master_secret.server_verify_data(&transcript.current());
        output.send(HandshakeType::FINISHED, &Finished(&verify_data), &mut transcript)?;
        output.link.end_of_flight()?;
        Ok(Box::new(Traffic::new(false, master_secret, randoms, extended_master_secret)))
    }
}
