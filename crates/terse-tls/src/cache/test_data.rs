//! Small values for the tests of this module.

use crate::proof::FinishedProof;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use pki_types::{ServerName, UnixTime};

use super::*;
use crate::cache::Defences;
use crate::cert::SuitableCredentials;
use crate::cert::{CertificateIdentity, Validity, VerifiedPeer};
use crate::summary::Transport;
use crate::time::{Instant, Now};
use crate::wire::{CertificateType, ProtocolVersion, SignatureScheme};

pub(super) const TRUST: TrustId = TrustId([7; 8]);
pub(super) const ASKED: RequestedCertificate = RequestedCertificate {
    trust_id: TRUST,
    certificate_type: CertificateType::X509,
    version: ProtocolVersion::TLS_1_3,
    has_extensions: false,
};
pub(super) const OWN: Fingerprint = fingerprint(1);
pub(super) const SERVER: Fingerprint = fingerprint(2);
pub(super) const REQUEST: Fingerprint = fingerprint(3);
/// Within the validity of [`peer`].
pub(super) const TODAY: u64 = 1_800_000_000;
pub(super) const NOT_AFTER: u64 = TODAY + 365 * 24 * 60 * 60;

pub(super) const fn fingerprint(n: u8) -> Fingerprint {
    Fingerprint([n; 32])
}

pub(super) const fn ticket(n: u64) -> Ticket {
    Ticket(n.to_be_bytes())
}

pub(super) fn at(unix: u64) -> Now {
    Now { unix: Some(UnixTime::since_unix_epoch(Duration::from_secs(unix))), ..no_clock() }
}

pub(super) fn no_clock() -> Now {
    Now { monotonic: Instant(0), unix: None }
}

pub(super) fn server_id() -> ServerId {
    ServerId::new(&ServerName::try_from("device.example").expect("a DNS name"))
}

pub(super) fn scope() -> Scope {
    Scope { server: server_id(), port: 443, transport: Transport::Stream, credential: Some(OWN) }
}

pub(super) fn peer() -> Arc<VerifiedPeer> {
    peer_named(Box::from([0x30; 20]))
}

pub(super) fn peer_named(subject: Box<[u8]>) -> Arc<VerifiedPeer> {
    let validity = Validity { not_before: TODAY - 1000, not_before_depth: 0, not_after: NOT_AFTER, not_after_depth: 1 };
    let identity = CertificateIdentity { subject, subject_alt_name: Box::default() };
    Arc::new(VerifiedPeer::of_chain(Box::from([4; 91]), validity, identity, 2))
}

/// For a raw public key that was seen in `version`.
pub(super) fn raw_entry(fingerprint: Fingerprint, version: ProtocolVersion) -> PeerEntry {
    let peer = Arc::new(VerifiedPeer::of_raw_public_key(Box::from([4; 91])));
    PeerEntry::new(fingerprint, version, TRUST, server_id(), &peer)
}

/// A row of `bithac`.
pub(super) fn row(entry: PeerEntry) -> Row {
    Row { entry: Some(Arc::new(entry)), seen: None, address: None }
}

pub(super) fn entry(fingerprint: Fingerprint) -> PeerEntry {
    PeerEntry::new(fingerprint, ProtocolVersion::TLS_1_3, TRUST, server_id(), &peer())
}

pub(super) fn request(length: u16) -> RequestEntry {
    RequestEntry {
        asks_status: false,
        suitable: SuitableCredentials::default(),
        version: ProtocolVersion::TLS_1_3,
        fingerprint: REQUEST,
        signature_algorithms: vec![SignatureScheme(0x0403), SignatureScheme(0x0807)],
        length,
    }
}

pub(super) fn context() -> Context<'static> {
    Context {
        now: at(TODAY),
        trust_id: TRUST,
        revocation: None,
        certificate_types: &[CertificateType::X509],
        own_certificates: &[OWN],
        answers: &|_, own| own == Some(OWN),
        without_clock: false,
        defences: Defences::default(),
        resumes: false,
        versions: &[ProtocolVersion::TLS_1_3],
    }
}

pub(super) fn client_cache(store: Arc<dyn ClientStore>) -> ClientCache {
    ClientCache::new(store, Schemes::BITHAC)
}

pub(super) fn learned(ticket: Option<Ticket>) -> Learned {
    Learned {
        proof: FinishedProof::after_finished(),
        server_certificate: Some(entry(SERVER)),
        certificate_request: Some(request(200)),
        ticket: ticket.map(|ticket| (ticket, TicketSubject::Client(OWN))),
    }
}

pub(super) const ALL: Selection = Selection {
    reduced: false,
    scheme: Some(Scheme::Bithac),
    server_certificate: true,
    certificate_request: true,
    client_certificate: true,
    uses_ticket: true,
};

/// All rows with their parents, least recently used lineage first, and in each the older ticket first.
pub(super) fn commits(store: &MemoryServerStore) -> Vec<Commit> {
    let commits = |lineage: Lineage| {
        let parent = lineage.parent.map(|parent| parent.ticket);
        let tickets: Vec<_> = lineage.tickets().enumerate().collect();
        let commit = move |(number, ticket)| Commit {
            ticket,
            row: lineage.row(number).expect("there"),
            parent: parent.filter(|_| number == 0),
            time: None,
        };
        tickets.into_iter().rev().map(commit)
    };
    store.lineages().into_iter().flat_map(commits).collect()
}

/// What `store` has under `tickets`.
pub(super) fn look_up(store: &dyn ServerStore, tickets: impl IntoIterator<Item = Ticket>) -> TicketRows {
    let mut rows = TicketRows::default();
    assert_eq!(rows.look_up(store, tickets.into_iter()), None, "it answers at once");
    rows
}

/// What a server shows that no ticket of `bithac` names.
const UNSEEN: ServerObjects = ServerObjects { certificate: SERVER, request: None };

impl ServerSession {
    /// A session of `bithac`.
    pub(super) fn begin_bithac(
        cache: &ServerCache,
        asked: Option<RequestedCertificate>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        Self::begin_by(Scheme::Bithac, cache, UNSEEN, asked, host_name, now, without_clock)
    }

    /// A session of `compact` that shows `own`.
    pub(super) fn begin_compact(
        cache: &ServerCache,
        own: ServerObjects,
        asked: Option<RequestedCertificate>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        Self::begin_by(Scheme::Compact, cache, own, asked, host_name, now, without_clock)
    }

    fn begin_by(
        scheme: Scheme,
        cache: &ServerCache,
        shown: ServerObjects,
        asked: Option<RequestedCertificate>,
        host_name: Option<&[u8]>,
        now: Now,
        without_clock: bool,
    ) -> Self {
        let request = OwnRequest { fingerprint: &|| Fingerprint([0; 32]), pays: true };
        let context = ServerContext {
            cache,
            own: OwnObjects { certificate: shown.certificate, request: Some(request), has_extensions: false },
            host_name,
            asked: &|| asked,
            revocation: &|| None,
            now,
            without_clock,
            defences: Defences::default(),
        };
        Self::begin(scheme, &context, shown)
    }
}
