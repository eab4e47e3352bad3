//! rustls, on aws-lc-rs and on ring.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::client::{ClientSessionMemoryCache, Resumption, Tls12Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::server::{NoServerSessionStorage, ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, Connection, HandshakeKind, NamedGroup, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme,
};
use terse_interop::pki::{Holder, Pki, SERVER_NAME};

use crate::pipe::Wire;
use crate::stack::{End, Mode, Profile, Setting, Side, Stack, Version, World};

/// rustls with one of its providers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rustls {
    /// aws-lc-rs
    AwsLc,
    /// ring
    Ring,
}

impl Stack for Rustls {
    fn name(&self) -> &str {
        match self {
            Self::AwsLc => "rustls-aws-lc",
            Self::Ring => "rustls-ring",
        }
    }

    fn version(&self) -> Result<String, String> {
        Ok("rustls 0.23".into())
    }

    fn has(&self, setting: Setting) -> bool {
        matches!(setting.mode, Mode::Full | Mode::Resumed) && !setting.version.is_datagram()
    }

    fn world(&self, setting: Setting) -> Result<Box<dyn World>, String> {
        if setting.version.is_datagram() {
            return Err("rustls has no DTLS".into());
        }
        let provider = Arc::new(self.provider(setting));
        let name = ServerName::try_from(SERVER_NAME).map_err(text)?;
        let (client, server) = (client(&provider, setting)?, server(&provider, setting, *self)?);
        Ok(Box::new(RustlsWorld { client: Arc::new(client), server: Arc::new(server), name }))
    }
}

impl Rustls {
    /// Returns the provider, with only the algorithms of the setting.
    fn provider(self, setting: Setting) -> CryptoProvider {
        let mut provider = match self {
            Self::AwsLc => aws_lc_rs::default_provider(),
            Self::Ring => ring::default_provider(),
        };
        let suite = match (setting.version, setting.profile) {
            (Version::Tls13 | Version::Dtls13, _) => CipherSuite::TLS13_AES_128_GCM_SHA256,
            (_, Profile::Ec3) => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            (_, Profile::Rsa3) => CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        };
        let schemes: &[SignatureScheme] = match setting.profile {
            Profile::Ec3 => &[SignatureScheme::ECDSA_NISTP256_SHA256],
            Profile::Rsa3 => &[SignatureScheme::RSA_PSS_SHA256, SignatureScheme::RSA_PKCS1_SHA256],
        };
        provider.cipher_suites.retain(|known| known.suite() == suite);
        provider.kx_groups.retain(|group| group.name() == NamedGroup::secp256r1);
        let known = provider.signature_verification_algorithms.mapping.iter();
        let kept: Vec<_> = known.filter(|(scheme, _)| schemes.contains(scheme)).copied().collect();
        provider.signature_verification_algorithms.mapping = kept.leak(); // a few bytes for each world
        provider
    }

    fn ticketer(self) -> Result<Arc<dyn rustls::server::ProducesTickets>, String> {
        match self {
            Self::AwsLc => aws_lc_rs::Ticketer::new().map_err(text),
            Self::Ring => ring::Ticketer::new().map_err(text),
        }
    }
}

fn versions(setting: Setting) -> [&'static rustls::SupportedProtocolVersion; 1] {
    match setting.version {
        Version::Tls13 | Version::Dtls13 => [&TLS13],
        _ => [&TLS12],
    }
}

fn credential(pki: &Pki, side: terse_interop::pki::Side) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let issued = pki.issued(side, Holder::Member);
    (issued.chain().to_vec(), issued.key().clone_key())
}

fn roots(pki: &Pki) -> Result<Arc<RootCertStore>, String> {
    let mut roots = RootCertStore::empty();
    roots.add(pki.root()).map_err(text)?;
    Ok(Arc::new(roots))
}

fn client(provider: &Arc<CryptoProvider>, setting: Setting) -> Result<ClientConfig, String> {
    let pki = Pki::shared(setting.profile.chain(), None);
    let (chain, key) = credential(&pki, terse_interop::pki::Side::Client);
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&versions(setting)).map_err(text)?;
    let mut config = builder.with_root_certificates(roots(&pki)?).with_client_auth_cert(chain, key).map_err(text)?;
    config.resumption = match setting.mode {
        Mode::Resumed => Resumption::store(Arc::new(ClientSessionMemoryCache::new(8)))
            .tls12_resumption(Tls12Resumption::SessionIdOnly),
        _ => Resumption::disabled(),
    };
    Ok(config)
}

fn server(provider: &Arc<CryptoProvider>, setting: Setting, rustls: Rustls) -> Result<ServerConfig, String> {
    let pki = Pki::shared(setting.profile.chain(), None);
    let (chain, key) = credential(&pki, terse_interop::pki::Side::Server);
    let clients = WebPkiClientVerifier::builder_with_provider(roots(&pki)?, provider.clone());
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&versions(setting)).map_err(text)?;
    let builder = builder.with_client_cert_verifier(clients.build().map_err(text)?);
    let mut config = builder.with_single_cert(chain, key).map_err(text)?;
    match (setting.mode, setting.version) {
        (Mode::Resumed, Version::Tls12 | Version::Dtls12) => config.session_storage = ServerSessionMemoryCache::new(8),
        (Mode::Resumed, Version::Tls13 | Version::Dtls13) => config.ticketer = rustls.ticketer()?,
        _ => {
            config.send_tls13_tickets = 0;
            config.session_storage = Arc::new(NoServerSessionStorage {});
        }
    }
    Ok(config)
}

struct RustlsWorld {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
}

impl World for RustlsWorld {
    fn connect(&self, side: Side) -> Result<Box<dyn End>, String> {
        let connection = match side {
            Side::Client => ClientConnection::new(self.client.clone(), self.name.clone()).map_err(text)?.into(),
            Side::Server => ServerConnection::new(self.server.clone()).map_err(text)?.into(),
        };
        Ok(Box::new(RustlsEnd(connection)))
    }
}

struct RustlsEnd(Connection);

impl RustlsEnd {
    fn turn(&mut self, wire: Wire<'_>) -> Result<(), String> {
        loop {
            let mut waiting = &*wire.input.waiting();
            if waiting.is_empty() || !self.0.wants_read() {
                break;
            }
            let taken = self.0.read_tls(&mut waiting).map_err(text)?;
            wire.input.consume(taken);
            self.0.process_new_packets().map_err(text)?;
        }
        while self.0.wants_write() {
            let len = self.0.write_tls(&mut wire.output.room()).map_err(text)?;
            wire.output.produce(len);
        }
        Ok(())
    }

    fn plaintext(&mut self, out: &mut [u8]) -> Result<usize, String> {
        match self.0.reader().read(out) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            other => other.map_err(text),
        }
    }
}

impl End for RustlsEnd {
    fn handshake(&mut self, wire: Wire<'_>) -> Result<bool, String> {
        self.turn(wire)?;
        Ok(!self.0.is_handshaking())
    }

    fn mode(&self) -> Mode {
        if self.0.handshake_kind() == Some(HandshakeKind::Resumed) { Mode::Resumed } else { Mode::Full }
    }

    fn as_application(self: Box<Self>) -> Box<dyn End> {
        self
    }

    fn write(&mut self, wire: Wire<'_>, data: &[u8]) -> Result<(), String> {
        self.0.writer().write_all(data).map_err(text)?;
        self.turn(wire)
    }

    fn read(&mut self, wire: Wire<'_>, out: &mut [u8]) -> Result<usize, String> {
        match self.plaintext(out)? {
            0 => {
                self.turn(wire)?;
                self.plaintext(out)
            }
            len => Ok(len),
        }
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}
