//! Tests with the traces of RFC 8448: every message is parsed, every secret derived, every record decrypted and
//! encrypted again.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::cache::Parts;
use crate::crypto::SharedSecret;
use crate::record::stream::{HEADER_LEN, Header, MAX_ENCRYPTED, MAX_FRAGMENT, RecordKey, write_plaintext};
use crate::schedule::trace::{Trace, unhex};
use crate::schedule::{EpochKeys, Pending, Transcript};
use crate::test_crypto::{SHA256, SUITE, traffic_secret};
use crate::wire::{
    Certificate, CertificateRequest, CertificateVerify, ClientHello, ContentType, Cookie, Encode, EncryptedExtensions,
    EndOfEarlyData, ExtensionMessage, ExtensionType, Finished, HandshakeType, KeyShareClientHello,
    KeyShareHelloRetryRequest, KeyShareServerHello, MaxEarlyDataSize, NewSessionTicket, Parse, PreSharedKeyClientHello,
    PreSharedKeyServerHello, ProtocolVersion, PskBinder, Reader, RecordSizeLimit, SelectedVersion, ServerHello,
    SignatureAlgorithms, SignatureScheme, SupportedGroups, SupportedVersions,
};

const SCHEDULE: Schedule = Schedule { suite: &SUITE, label_prefix: b"tls13 " };

#[test]
fn simple_1_rtt_handshake() {
    let trace = Trace::read(include_str!("rfc8448/simple.hex"));
    trace.replay();
    assert_eq!(trace.all("server record").len(), 5, "two of the handshake, a ticket, data, close_notify");
}

#[test]
fn resumed_0_rtt_handshake() {
    let trace = Trace::read(include_str!("rfc8448/resumed_0_rtt.hex"));
    trace.replay();
    let first = Trace::read(include_str!("rfc8448/simple.hex"));
    let ticket: NewSessionTicket<'_> = body(first.last("server NewSessionTicket"));
    let resumption = ResumptionSecret { schedule: SCHEDULE, secret: Secret::new(first.last("resumption_secret")) };
    assert_eq!(resumption.psk(ticket.ticket_nonce).unwrap().as_ref(), trace.last("psk"));
    assert_eq!(ticket.extensions.require::<MaxEarlyDataSize>().unwrap(), MaxEarlyDataSize(1024));
    let client: ClientHello<'_> = body(trace.last("client ClientHello"));
    let offered: PreSharedKeyClientHello<'_> = client.extensions.require().unwrap();
    assert_eq!(offered.identities.iter().next().unwrap().identity, ticket.ticket);
    let server: ServerHello<'_> = body(trace.last("server ServerHello"));
    assert_eq!(server.extensions.require::<PreSharedKeyServerHello>().unwrap(), PreSharedKeyServerHello(0));
}

#[test]
fn hello_retry_request() {
    let trace = Trace::read(include_str!("rfc8448/hello_retry_request.hex"));
    trace.replay();
    let retry: ServerHello<'_> = body(trace.last("server HelloRetryRequest"));
    assert!(retry.is_hello_retry_request());
    let second: ClientHello<'_> = body(trace.last("client ClientHello"));
    let cookie: Cookie<'_> = retry.extensions.require().unwrap();
    assert_eq!(second.extensions.require::<Cookie<'_>>().unwrap(), cookie);
    let KeyShareHelloRetryRequest(group) = retry.extensions.require().unwrap();
    let KeyShareClientHello(shares) = second.extensions.require().unwrap();
    assert_eq!(shares.iter().next().unwrap().group, group);
}

#[test]
fn client_authentication() {
    let trace = Trace::read(include_str!("rfc8448/client_authentication.hex"));
    trace.replay();
    let request: CertificateRequest<'_> = body(trace.last("server CertificateRequest"));
    assert!(request.certificate_request_context.is_empty());
    request.extensions.check_request(ExtensionMessage::CertificateRequest).unwrap();
    let SignatureAlgorithms(schemes) = request.extensions.require().unwrap();
    for side in ["server", "client"] {
        let certificate: Certificate<'_> = body(trace.last(&[side, " Certificate"].concat()));
        assert_eq!(certificate.certificate_list.iter().count(), 1);
        let verify: CertificateVerify<'_> = body(trace.last(&[side, " CertificateVerify"].concat()));
        assert!(schemes.iter().any(|scheme| scheme == verify.algorithm));
    }
}

#[test]
fn compatibility_mode() {
    let trace = Trace::read(include_str!("rfc8448/compatibility_mode.hex"));
    trace.replay();
    let client: ClientHello<'_> = body(trace.last("client ClientHello"));
    let server: ServerHello<'_> = body(trace.last("server ServerHello"));
    assert_eq!((client.legacy_session_id.len(), client.legacy_session_id), (32, server.legacy_session_id_echo));
}

/// Computes HKDF-Expand-Label with an `HkdfLabel` made by hand (RFC 9846, 7.1).
fn expand(secret: &[u8], len: u16, label: &[u8], context: &[u8]) -> Vec<u8> {
    let mut out = vec![0; len.into()];
    let info = [&len.to_be_bytes()[..], &[label.len() as u8], label, &[context.len() as u8], context].concat();
    SHA256.hkdf_expand(secret, &[&info], &mut out).unwrap();
    out
}

#[test]
fn labels_without_a_published_vector() {
    let secret = traffic_secret(&SUITE, 1);
    assert_eq!(secret.update().unwrap().expose(), expand(secret.expose(), 32, b"tls13 traffic upd", b""));

    let fingerprint = Fingerprint([9; 32]);
    let resumption = ResumptionSecret { schedule: SCHEDULE, secret: Secret::new(&[7; 32]) };
    let ticket = resumption.ssc_ticket(CachedInformationType::CERT, fingerprint).unwrap();
    let context = [&[1][..], &[9; 32]].concat();
    assert_eq!(ticket.0[..], expand(&[7; 32], 8, b"tls13 ssc_ticket", &context));
    let other = resumption.ssc_ticket(CachedInformationType::CERT_REQ, fingerprint).unwrap();
    assert_ne!(ticket, other);

    let exporter = ExporterSecret { schedule: SCHEDULE, secret: Secret::new(&[7; 32]) };
    let mut exported = [0; 100];
    exporter.export(b"EXPORTER-test", b"context", &mut exported).unwrap();
    let derived = expand(&[7; 32], 32, b"tls13 EXPORTER-test", SHA256.hash(&[]).as_ref());
    assert_eq!(exported[..], expand(&derived, 100, b"tls13 exporter", SHA256.hash(&[b"context"]).as_ref()));
}

/// docs/caching.md. The values were computed with Python's `hmac`.
#[test]
fn tickets_for_everything_static() {
    let [server, request, client] = [2, 3, 1].map(|n| Fingerprint([n; 32]));
    for (request, client, tls, dtls) in [
        (Some(request), Some(client), "3c3b38b84b51741a", "bce5c7acf8b9d684"),
        (Some(request), None, "2722b11d3a374aba", "89ad4246082a4e72"),
        (None, None, "8fbbbc14752c7c73", "095d5dcbf8a14b82"),
    ] {
        let subject = TicketSubject::Static(Parts {
            server_certificate: server,
            certificate_request: request,
            client_certificate: client,
        });
        for (label_prefix, expected) in [(&b"tls13 "[..], tls), (b"dtls13", dtls)] {
            let schedule = Schedule { suite: &SUITE, label_prefix };
            let resumption = ResumptionSecret { schedule, secret: Secret::new(&[7; 32]) };
            assert_eq!(resumption.ticket(SHA256, &subject).unwrap().0[..], unhex(expected));
        }
    }
}

#[test]
fn the_prefix_of_the_link_is_in_every_label() {
    let shared_secret = || SharedSecret::new(vec![1; 32]);
    let empty = SHA256.hash(&[]);
    let early_secret = SHA256.hkdf_extract(&[0; 32], &[0; 32]);
    let salt = expand(early_secret.as_ref(), 32, b"dtls13derived", empty.as_ref());
    let early = EarlySecret::new(SHA256, b"dtls13", None);
    assert_eq!(early.secret.as_ref(), early_secret.as_ref());
    let handshake = early.handshake_secret(&SUITE, &shared_secret()).unwrap();
    assert_eq!(handshake.secret.as_ref(), SHA256.hkdf_extract(&salt, &[1; 32]).as_ref());
    let traffic = handshake.client_traffic(&empty).unwrap();
    assert_eq!(traffic.expose(), expand(handshake.secret.as_ref(), 32, b"dtls13c hs traffic", empty.as_ref()));
    assert_eq!(traffic.write_iv().unwrap()[..], expand(traffic.expose(), 12, b"dtls13iv", b""));
}

#[test]
fn an_exporter_refuses_what_hkdf_cannot_give() {
    let exporter = ExporterSecret { schedule: SCHEDULE, secret: Secret::new(&[7; 32]) };
    let longest_label = [b'x'; 255 - "tls13 ".len()];
    assert_eq!(exporter.export(&longest_label, &[0; 1000], &mut vec![0; 255 * 32]), Ok(()));
    assert_eq!(exporter.export(&longest_label, b"", &mut vec![0; 255 * 32 + 1]), Err(CryptoError::InvalidLength));
    assert_eq!(exporter.export(&longest_label, b"", &mut vec![0; 0x1_0000]), Err(CryptoError::InvalidLength));
    assert_eq!(exporter.export(&[b'x'; 250], b"", &mut [0; 32]), Err(CryptoError::InvalidLength));
}

/// RFC 9846, 7.1; RFC 9258, 5.2.
#[test]
fn a_binder_has_the_label_of_its_key() {
    let early = EarlySecret::new(SHA256, b"tls13 ", Some(&[8; 16]));
    let empty = SHA256.hash(&[]);
    let messages = SHA256.hash(&[b"truncated ClientHello"]);
    for (kind, label) in [
        (PskKind::Resumption, &b"tls13 res binder"[..]),
        (PskKind::External, b"tls13 ext binder"),
        (PskKind::Imported, b"tls13 imp binder"),
    ] {
        let binder_key = expand(early.secret.as_ref(), 32, label, empty.as_ref());
        let finished_key = expand(&binder_key, 32, b"tls13 finished", b"");
        let binder = early.binder(kind, &messages).unwrap();
        assert_eq!(binder, SHA256.hmac(&finished_key, &[messages.as_ref()]));
        early.verify_binder(kind, binder.as_ref(), &messages).unwrap();
    }
    let binder = early.binder(PskKind::External, &messages).unwrap();
    let refused = |kind, binder: &[u8]| early.verify_binder(kind, binder, &messages).err();
    let bad = Some(PeerMisbehaved::BadBinder.into());
    assert_eq!(refused(PskKind::Imported, binder.as_ref()), bad);
    assert_eq!(refused(PskKind::External, &binder.as_ref()[..31]), bad);
    assert_eq!(refused(PskKind::External, &[binder.as_ref(), &[0]].concat()), bad);
    assert_eq!(refused(PskKind::External, &[0; 32]), bad);
    let other = early.verify_binder(PskKind::External, binder.as_ref(), &empty);
    assert_eq!(other.err(), bad, "another ClientHello");
}

/// docs/caching.md, 4.1: what is left out stands in the transcript as a message_hash message.
#[test]
fn a_synthetic_message_binds_the_fingerprint() {
    let mut transcript = Pending::new(b"ClientHello").start(SHA256);
    transcript.add_synthetic(Fingerprint([5; 32]));
    transcript.add(b"CertificateVerify");
    let expected = [b"ClientHello", &[254, 0, 0, 32][..], &[5; 32], b"CertificateVerify"].concat();
    assert_eq!(transcript.current(), SHA256.hash(&[&expected]));
    assert_eq!(transcript.current(), SHA256.hash(&[&expected]), "looking does not change it");
}

/// Replays the trace of a section of the RFC.
impl Trace {
    fn replay(&self) {
        self.check_messages();
        let early_secret = self.check_early_secret();
        let early_traffic = self.check_early_traffic(&early_secret);
        let [(client_handshake, client_application), (server_handshake, server_application)] =
            self.check_schedule(early_secret);
        let early = early_traffic.iter().map(|secret| ("EndOfEarlyData", secret));
        let client = early.chain([("Finished", &client_handshake), ("", &client_application)]);
        self.check_records("client", &client.collect::<Vec<_>>());
        self.check_records("server", &[("Finished", &server_handshake), ("", &server_application)]);
    }

    fn check_messages(&self) {
        for (name, bytes) in &self.0 {
            let Some((_, name)) = name.split_once(' ') else { continue };
            match name {
                "ClientHello" => same::<ClientHello<'_>>(bytes, HandshakeType::CLIENT_HELLO),
                "ServerHello" | "HelloRetryRequest" => same::<ServerHello<'_>>(bytes, HandshakeType::SERVER_HELLO),
                "EncryptedExtensions" => {
                    same::<EncryptedExtensions<'_>>(bytes, HandshakeType::ENCRYPTED_EXTENSIONS);
                }
                "CertificateRequest" => same::<CertificateRequest<'_>>(bytes, HandshakeType::CERTIFICATE_REQUEST),
                "Certificate" => same::<Certificate<'_>>(bytes, HandshakeType::CERTIFICATE),
                "CertificateVerify" => same::<CertificateVerify<'_>>(bytes, HandshakeType::CERTIFICATE_VERIFY),
                "EndOfEarlyData" => same::<EndOfEarlyData>(bytes, HandshakeType::END_OF_EARLY_DATA),
                "Finished" => same::<Finished<'_>>(bytes, HandshakeType::FINISHED),
                "NewSessionTicket" => same::<NewSessionTicket<'_>>(bytes, HandshakeType::NEW_SESSION_TICKET),
                "private_key" | "key_share" | "record" | "payload" | "truncated" => {}
                other => panic!("{other} is not checked"),
            }
        }
        self.check_hellos();
    }

    fn check_hellos(&self) {
        let client: ClientHello<'_> = body(self.last("client ClientHello"));
        client.extensions.check_request(ExtensionMessage::ClientHello).unwrap();
        let offered: Vec<ExtensionType> = client.extensions.iter().map(|(kind, _)| kind).collect();
        let SupportedVersions(versions) = client.extensions.require().unwrap();
        assert!(versions.iter().eq([ProtocolVersion::TLS_1_3]));
        let SignatureAlgorithms(schemes) = client.extensions.require().unwrap();
        assert!(schemes.iter().any(|scheme| scheme == SignatureScheme::RSA_PSS_RSAE_SHA256));
        let SupportedGroups(groups) = client.extensions.require().unwrap();

        let server: ServerHello<'_> = body(self.last("server ServerHello"));
        assert!(!server.is_hello_retry_request());
        assert_eq!(server.cipher_suite, SUITE.id);
        server.extensions.check_response(ExtensionMessage::ServerHello, &offered).unwrap();
        assert_eq!(server.extensions.require::<SelectedVersion>().unwrap().0, ProtocolVersion::TLS_1_3);
        let KeyShareServerHello(share) = server.extensions.require().unwrap();
        assert_eq!(share.key_exchange, self.last("server key_share"));
        assert!(groups.iter().any(|group| group == share.group));

        let EncryptedExtensions(extensions) = body(self.last("server EncryptedExtensions"));
        extensions.check_response(ExtensionMessage::EncryptedExtensions, &offered).unwrap();
        assert_eq!(extensions.require::<RecordSizeLimit>().unwrap(), RecordSizeLimit(MAX_FRAGMENT as u16 + 1));
    }

    fn check_early_secret(&self) -> EarlySecret {
        let Some(psk) = self.all("psk").pop() else { return EarlySecret::new(SHA256, b"tls13 ", None) };
        let early_secret = EarlySecret::new(SHA256, b"tls13 ", Some(psk));
        assert_eq!(early_secret.secret.as_ref(), self.last("early_secret"));
        let hello = self.last("client ClientHello");
        let offered: PreSharedKeyClientHello<'_> = body::<ClientHello<'_>>(hello).extensions.require().unwrap();
        let truncated = &hello[..hello.len() - offered.binders_len()];
        assert_eq!(truncated, self.last("client truncated"));
        let messages = SHA256.hash(&[truncated]);
        assert_eq!(messages.as_ref(), self.last("hash_of_truncated"));
        let binder = early_secret.binder(PskKind::Resumption, &messages).unwrap();
        assert_eq!(binder.as_ref(), self.last("binder"));
        assert!(offered.binders.iter().eq([PskBinder(binder.as_ref())]));
        early_secret
    }

    fn check_early_traffic(&self, early_secret: &EarlySecret) -> Option<TrafficSecret> {
        let expected = self.all("client_early_traffic_secret").pop()?;
        let hello = SHA256.hash(&[self.last("client ClientHello")]);
        assert_eq!(hello.as_ref(), self.last("hash_of_client_hello"));
        let secret = early_secret.client_traffic(&SUITE, &hello).unwrap();
        assert_eq!(secret.expose(), expected);
        self.check_key("client_early", &secret);
        Some(secret)
    }

    /// Derives all secrets and compares them. Returns the traffic secrets of handshake and application data, the
    /// client's first.
    fn check_schedule(&self, early_secret: EarlySecret) -> [(TrafficSecret, TrafficSecret); 2] {
        let equal = |name: &str, bytes: &[u8]| assert_eq!(bytes, self.last(name), "{name}");
        let shared_secret = self.shared_secret();
        equal("shared_secret", shared_secret.as_ref());

        let mut transcript = self.transcript();
        let hello = transcript.current();
        equal("hash_to_server_hello", hello.as_ref());
        let handshake = early_secret.handshake_secret(&SUITE, &shared_secret).unwrap();
        equal("handshake_secret", handshake.secret.as_ref());
        let handshakes = [handshake.client_traffic(&hello).unwrap(), handshake.server_traffic(&hello).unwrap()];
        for (side, secret) in ["client", "server"].into_iter().zip(&handshakes) {
            equal(&[side, "_handshake_traffic_secret"].concat(), secret.expose());
            self.check_key(&[side, "_handshake"].concat(), secret);
        }

        self.check_flight("server", &handshakes[1], &mut transcript);
        let server_finished = transcript.current();
        equal("hash_to_server_finished", server_finished.as_ref());
        let main = handshake.main_secret().unwrap();
        equal("main_secret", main.secret.as_ref());
        equal("exporter_secret", main.exporter(&server_finished).unwrap().expose());
        let (client, server) = (main.client_traffic(&server_finished), main.server_traffic(&server_finished));
        let applications = [client.unwrap(), server.unwrap()];
        for (side, secret) in ["client", "server"].into_iter().zip(&applications) {
            equal(&[side, "_application_traffic_secret_0"].concat(), secret.expose());
            self.check_key(&[side, "_application"].concat(), secret);
        }

        self.all("client EndOfEarlyData").iter().for_each(|message| transcript.add(message));
        self.check_flight("client", &handshakes[0], &mut transcript);
        equal("hash_to_client_finished", transcript.current().as_ref());
        equal("resumption_secret", main.resumption(&transcript.current()).unwrap().secret.as_ref());
        let [client, server] = handshakes;
        let [client_application, server_application] = applications;
        [(client, client_application), (server, server_application)]
    }

    /// Computes the shared secret from both sides, which must agree.
    fn shared_secret(&self) -> SharedSecret {
        let [client, server] = [("client", "server"), ("server", "client")].map(|(ours, theirs)| {
            let private_key: [u8; 32] = self.last(&[ours, " private_key"].concat()).try_into().unwrap();
            let key_share = self.last(&[theirs, " key_share"].concat());
            match <[u8; 32]>::try_from(key_share) {
                Ok(x25519) => x25519_dalek::x25519(private_key, x25519).to_vec(),
                Err(_) => {
                    let private_key = p256::SecretKey::from_slice(&private_key).unwrap();
                    let public_key = p256::PublicKey::from_sec1_bytes(key_share).unwrap();
                    let shared = p256::ecdh::diffie_hellman(private_key.to_nonzero_scalar(), public_key.as_affine());
                    shared.raw_secret_bytes().to_vec()
                }
            }
        });
        assert_eq!(client, server);
        SharedSecret::new(client)
    }

    /// Returns the transcript of ClientHello...ServerHello (RFC 9846, 4.1).
    fn transcript(&self) -> Transcript {
        let mut client_hellos = self.all("client ClientHello").into_iter();
        let mut transcript = Pending::new(client_hellos.next().unwrap()).start(SHA256);
        if let Some(second) = client_hellos.next() {
            transcript = transcript.replace_by_hash();
            transcript.add(self.last("server HelloRetryRequest"));
            transcript.add(second);
        }
        transcript.add(self.last("server ServerHello"));
        transcript
    }

    fn check_key(&self, name: &str, secret: &TrafficSecret) {
        let mut key = [0; 16];
        secret.write_key(&mut key).unwrap();
        assert_eq!(key, self.last(&[name, "_key"].concat()), "{name}");
        assert_eq!(secret.write_iv().unwrap(), self.last(&[name, "_iv"].concat()), "{name}");
    }

    /// Adds the flight that ends with the Finished of `side`, and checks that Finished.
    fn check_flight(&self, side: &str, secret: &TrafficSecret, transcript: &mut Transcript) {
        for name in ["EncryptedExtensions", "CertificateRequest", "Certificate", "CertificateVerify", "Finished"] {
            for message in self.all(&[side, " ", name].concat()) {
                if name == "Finished" {
                    let messages = transcript.current();
                    let Finished(verify_data) = body(message);
                    assert_eq!(secret.verify_data(&messages).unwrap().as_ref(), verify_data);
                    secret.verify(verify_data, &messages).unwrap();
                    check_refused_finished(secret, verify_data, &messages);
                }
                transcript.add(message);
            }
        }
    }

    /// Decrypts every record of `side`, and encrypts it again. Each secret is used up to the message beside it.
    fn check_records(&self, side: &str, secrets: &[(&str, &TrafficSecret)]) {
        let key = |secret: &TrafficSecret| RecordKey::new(&EpochKeys::Tls13(secret.clone())).unwrap();
        let mut keys = secrets.iter().map(|(last, secret)| (*last, [key(secret), key(secret)]));
        let (mut last, [mut open, mut seal]) = keys.next().unwrap();
        let mut waiting = Vec::new();
        for (name, bytes) in &self.0 {
            let Some(name) = name.strip_prefix(side).and_then(|name| name.strip_prefix(' ')) else { continue };
            match name {
                "private_key" | "key_share" | "truncated" => {}
                "record" => {
                    check_record(bytes, &waiting, &mut open, &mut seal);
                    if waiting.iter().any(|(name, _)| *name == last) {
                        (last, [open, seal]) = keys.next().unwrap();
                    }
                    waiting.clear();
                }
                content => waiting.push((content, &bytes[..])),
            }
        }
        assert!(last.is_empty() && waiting.is_empty());
    }
}

/// Checks that `record` contains `contents`, and that sealing them gives the same bytes.
fn check_record(record: &[u8], contents: &[(&str, &[u8])], open: &mut RecordKey, seal: &mut RecordKey) {
    let content: Vec<u8> = contents.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let header = Header::parse(*record.first_chunk().unwrap());
    assert_eq!(header.len, record.len() - HEADER_LEN);
    let is_protected = header.content_type == ContentType::APPLICATION_DATA;
    header.check(MAX_ENCRYPTED).unwrap();
    let mut again = Vec::new();
    if !is_protected {
        assert_eq!(record[HEADER_LEN..], content);
        write_plaintext(header.content_type, &content, &mut again);
        again[2] = record[2]; // the record of the first ClientHello has the version 0x0301
        assert_eq!(again, record);
        return;
    }
    let mut opened = record.to_vec();
    let (kind, opened) = open.deprotect(&mut opened, MAX_FRAGMENT + 1).unwrap();
    assert_eq!(opened, content);
    let expected = match contents {
        [("payload", [1, 0])] => ContentType::ALERT,
        [("payload", _)] => ContentType::APPLICATION_DATA,
        _ => ContentType::HANDSHAKE,
    };
    assert_eq!(kind, expected);
    seal.append(kind, &content, &mut again).unwrap();
    assert_eq!(again, record);
}

fn check_refused_finished(secret: &TrafficSecret, verify_data: &[u8], messages: &Digest) {
    for byte in 0..verify_data.len() {
        let mut wrong = verify_data.to_vec();
        wrong[byte] ^= 1;
        assert_eq!(secret.verify(&wrong, messages).err(), Some(PeerMisbehaved::BadFinished.into()));
        let short = secret.verify(&verify_data[..byte], messages);
        assert_eq!(short.err(), Some(InvalidMessage::IllegalLength.into()));
    }
    let long = [verify_data, &[0]].concat();
    assert_eq!(secret.verify(&long, messages).err(), Some(InvalidMessage::IllegalLength.into()));
}

/// Parses the body of a message, which has a header.
fn body<'a, M: Parse<'a>>(message: &'a [u8]) -> M {
    M::parse_all(&message[4..]).unwrap()
}

/// Checks the header, and that the body is encoded to the same bytes.
fn same<'a, M: Parse<'a> + Encode>(message: &'a [u8], kind: HandshakeType) {
    let mut reader = Reader::new(message);
    assert_eq!(HandshakeType::parse(&mut reader).unwrap(), kind);
    assert_eq!(reader.vec24().unwrap(), &message[4..]);
    assert_eq!(body::<M>(message).to_vec().unwrap(), message[4..]);
}
