//! The driver of each image against a registrar in memory, over (D)TLS: requests and responses come through.

use std::collections::VecDeque;
use std::sync::Arc;

use pki_types::CertificateDer;
use terse_brski::coap::{self, Code};
use terse_brski::pledge::{AttemptFailed, Event, Proxy, Target};
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, Validity};
use terse_rustcrypto::PROVIDER;
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{
    CertificateType, ClientAuthentication, Connection, Credential, Datagrams, Instant, Now, ServerConfig, Trust,
};

use crate::board::{Board, Received};
use crate::coaps::CoapsExchange;
use crate::driver::Driver;
use crate::exchange::Exchange;
use crate::https::HttpsExchange;
use crate::keys;

/// A registrar that answers each request by an error, and notes it.
trait Registrar {
    fn answer(&mut self, now: Now, rng: &mut dyn Rng, data: &[u8]) -> Vec<Vec<u8>>;

    /// Whether it closes the connection with its answer.
    fn closes(&self) -> bool {
        false
    }
}

struct Https {
    closes: bool,
}

impl Registrar for Https {
    fn answer(&mut self, _: Now, _: &mut dyn Rng, data: &[u8]) -> Vec<Vec<u8>> {
        if data.starts_with(b"POST ") {
            let head = "POST /.well-known/brski/requestvoucher HTTP/1.1\r\nHost: registrar\r\n\
                        Content-Type: application/voucher-cms+json\r\nAccept: application/voucher-cms+json\r\n\
                        Content-Length: ";
            assert!(data.starts_with(head.as_bytes()), "{}", String::from_utf8_lossy(data));
            return vec![b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nunknown".to_vec()];
        }
        Vec::new() // the rest of the request
    }

    fn closes(&self) -> bool {
        self.closes
    }
}

struct Coaps(Option<coap::Server>);

impl Registrar for Coaps {
    fn answer(&mut self, now: Now, rng: &mut dyn Rng, data: &[u8]) -> Vec<Vec<u8>> {
        let server = self.0.get_or_insert_with(|| coap::Server::new(Default::default(), rng).expect("randomness"));
        server.handle_input(now, data);
        while let Some((id, request)) = server.poll_request() {
            assert_eq!(request.content_format, Some(836), "a voucher request");
            server.respond(now, rng, id, coap::Response::error(Code::NOT_FOUND, "unknown")).expect("randomness");
        }
        let mut datagrams = Vec::new();
        let mut datagram = [0; 1_100];
        while let Some(len) = server.poll_transmit(now, &mut datagram) {
            datagrams.push(datagram[..len].to_vec());
        }
        datagrams
    }
}

/// A device beside a registrar, whose time goes on whenever it waits.
struct Desk<R> {
    time: u64,
    random: u64,
    config: Arc<ServerConfig>,
    server: Option<Connection>,
    registrar: R,
    sent: VecDeque<Vec<u8>>,
    events: Vec<Event>,
}

impl<R> Rng for Desk<R> {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        out.fill_with(|| {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 56) as u8
        });
        Ok(())
    }
}

/// Randomness of the registrar.
struct Other(u8);

impl Rng for Other {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        out.fill_with(|| {
            self.0 = self.0.wrapping_mul(5).wrapping_add(1);
            self.0
        });
        Ok(())
    }
}

impl<R: Registrar> Desk<R> {
    /// Sends what the registrar has to send.
    fn pump(&mut self, now: Now) {
        let Some(server) = &mut self.server else { return };
        let mut buffer = [0; 1_400];
        while let Some(len) = server.poll_transmit(now, &mut buffer) {
            self.sent.push_back(buffer[..len].to_vec());
        }
    }
}

impl<R: Registrar> Board for Desk<R> {
    fn now(&mut self) -> Now {
        Now::new(Instant(self.time), None)
    }

    fn open(&mut self, to: &Target) {
        assert_eq!(*to, Target::Proxy(Proxy(1)));
        let now = self.now();
        self.server = Some(Connection::server(self.config.clone(), now).expect("a server"));
    }

    fn close(&mut self) {
        self.server = None;
        self.sent.clear();
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let Some(bytes) = self.sent.pop_front() else { return Received::Nothing };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Received::Bytes(bytes.len())
    }

    fn transmit(&mut self, bytes: &[u8]) {
        let (now, rng) = (self.now(), &mut Other(7));
        let Some(server) = &mut self.server else { return };
        let mut input = bytes.to_vec();
        let mut rest = &mut input[..];
        while !rest.is_empty() {
            let taken = server.handle_input(now, rng, rest).expect("a client that behaves");
            rest = &mut rest[taken..];
            let mut data = [0; 4_096];
            loop {
                let len = server.recv(&mut data);
                if len == 0 {
                    break;
                }
                for answer in self.registrar.answer(now, rng, &data[..len]) {
                    server.send(&answer).expect("it is connected");
                    if self.registrar.closes() {
                        server.close();
                    }
                }
            }
        }
        self.pump(now);
    }

    fn wait(&mut self, until: Option<Instant>) {
        let until = until.expect("something is due");
        self.time = self.time.max(until.0);
        let now = self.now();
        if let Some(server) = &mut self.server {
            server.handle_timeout(now).expect("nothing is lost");
        }
        self.pump(now);
    }

    fn store(&mut self, _: &[CertificateDer<'_>], _: &[u8], _: &[CertificateDer<'_>]) -> bool {
        false
    }

    fn inform(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// Returns what a pledge learns of a registrar that does not know it.
fn refused<E: Exchange>(registrar: impl Registrar, datagrams: Option<Datagrams>) -> Vec<Event> {
    let options = AuthorityOptions::new("p256x3".parse().expect("a chain"), Validity::without_end(1_767_225_600));
    let authority = Authority::new(&options).expect("an authority");
    let options = IdevidOptions {
        masa_url: Some("masa.example:9443".parse().expect("an authority")),
        ..IdevidOptions::new("JADA123456789", 1_767_225_600)
    };
    let issued = authority.issue_idevid(&options).expect("an IDevID");
    let key = PROVIDER.load_key(issued.key()).expect("a key");
    let idevid = Credential::new(issued.chain().to_vec(), key).expect("a credential");
    let anchors = vec![issued.chain().last().expect("an issuer").clone()];
    // Nobody has verified the registrar, which may as well be another device.
    let mut config = ServerConfig::builder(&PROVIDER);
    let anybody = Trust::unverified(&[CertificateType::X509]).expect("a type");
    config.credential(idevid.clone()).client_authentication(ClientAuthentication::Required(anybody));
    let config = Arc::new(config.datagrams(datagrams).build().expect("a configuration"));
    let (sent, events) = (VecDeque::new(), Vec::new());
    let mut desk = Desk { time: 0, random: 1, config, server: None, registrar, sent, events };
    let mut driver =
        Driver::<_, E>::new(&mut desk, &PROVIDER, keys::p256, idevid, anchors, Trust::without_path_building)
            .expect("a pledge");
    driver.find(&[Proxy(1)]);
    for _ in 0..200 {
        driver.step();
    }
    desk.events
}

#[test]
fn a_pledge_over_coaps_hears_what_its_registrar_answers() {
    let events = refused::<CoapsExchange>(Coaps(None), Some(Datagrams::default().max_datagram(1_024)));
    assert!(events.contains(&Event::Failed(Proxy(1), AttemptFailed::NoVoucher(404))), "{events:?}");
}

#[test]
fn a_pledge_over_https_hears_what_its_registrar_answers() {
    for closes in [false, true] {
        let events = refused::<HttpsExchange>(Https { closes }, None);
        let heard = Event::Failed(Proxy(1), AttemptFailed::NoVoucher(404));
        assert!(events.contains(&heard), "{closes}: {events:?}");
    }
}

#[test]
fn keys_are_made_from_randomness_and_no_key_is_zero() {
    assert!(keys::p256(&[0; 32]).is_none() && keys::p256(&[0xff; 32]).is_none());
    for kind in [keys::p256 as keys::Kind, keys::ed25519] {
        let new = keys::generate(kind, &mut Other(1)).expect("a key");
        let again = kind(&new.secret).expect("the same key");
        assert_eq!(new.key.public_key(), again.public_key());
    }
}
