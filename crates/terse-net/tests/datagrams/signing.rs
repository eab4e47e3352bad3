//! Private keys, and stores, are elsewhere and answer later.

use alloc::sync::Arc;
use core::task::Poll;

use terse_net::pki_types::SubjectPublicKeyInfoDer;
use terse_net::{DatagramEvent, NetError, OsRng, Signer};
use terse_tls::cache::{
    AddressId, ClientCache, Commit, MemoryClientStore, NotSaved, Row, Schemes, ServerCache, ServerStore, Ticket,
};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Error, SignatureScheme};

use super::world::{EchoServer, SAFETY_LIMIT, client, configs_with, datagrams};

/// A key in a secure element.
pub struct Outside(pub Arc<dyn SigningKey>);

impl SigningKey for Outside {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

#[test]
fn both_keys_are_outside() {
    let mut inside = None;
    let (config, server) = configs_with("Plant CA", datagrams(), |key| {
        inside = Some(key.clone());
        Arc::new(Outside(key))
    });
    let key = inside.unwrap();
    let signer = || -> Signer {
        let key = key.clone();
        Box::new(move |request| {
            Ok(key.sign(request.scheme(), request.message(), &mut OsRng)?.done().expect("it is in memory"))
        })
    };
    let signs = signer();
    let server = EchoServer::start_with(server, |server| server.with_signer(signs));
    let mut client = client(&config, server.address).with_signer(signer());
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    client.send(b"hello").unwrap();
    assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
    assert_eq!(server.event().0, DatagramEvent::Connected);
}

#[test]
fn nobody_is_there_to_sign() {
    let (config, server) = configs_with("Plant CA", datagrams(), |key| Arc::new(Outside(key)));
    let server = EchoServer::start(server);
    let error = client(&config, server.address).handshake().unwrap_err();
    assert_eq!(server.event().0, DatagramEvent::Failed(Error::Crypto(CryptoError::SigningFailed)));
    // The alert is not protected.
    assert!(matches!(error, NetError::NoAnswer(no_answer) if no_answer.alert.is_some()));
}

/// A store that is never ready at once.
struct Elsewhere;

impl ServerStore for Elsewhere {
    fn find(&self, _: &Ticket) -> Poll<Option<Row>> {
        Poll::Pending
    }

    fn commit(&self, _: &Commit) -> Poll<Result<(), NotSaved>> {
        Poll::Pending
    }

    fn spend(&self, _: &Ticket, _: AddressId) -> Result<bool, NotSaved> {
        Ok(false)
    }

    fn remove(&self, _: &Ticket) -> Result<(), NotSaved> {
        Ok(())
    }
}

/// A blocking server cannot wait for its store: the second connection offers a ticket that is not found, and both
/// handshakes are full.
#[test]
fn nobody_is_there_to_ask_the_store() {
    let (mut config, mut server) = configs_with("Plant CA", datagrams(), |key| key);
    let schemes = Schemes::COMPACT;
    config.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(1)), schemes)));
    server.cache(Some(ServerCache::new(Arc::new(Elsewhere), schemes)));
    let server = EchoServer::start(server);
    for _ in 0..2 {
        let mut client = client(&config, server.address);
        client.set_limit(SAFETY_LIMIT);
        client.handshake().unwrap();
        client.send(b"hello").unwrap();
        assert_eq!(client.receive(&mut [0; 8]).unwrap(), 5);
        assert!(client.connection().summary().cached.is_empty());
    }
    assert_eq!(server.event().0, DatagramEvent::Connected);
}
