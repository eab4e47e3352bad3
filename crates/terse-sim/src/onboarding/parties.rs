//! Who takes part: certificates and keys are not the simulator's.

use alloc::sync::Arc;
use core::fmt;

use pki_types::CertificateDer;
use terse_tls::crypto::{CryptoProvider, SigningKey};
use terse_tls::{
    ApiMisuse, CertificateType, CipherSuite, ClientAuthentication, ClientConfig, Common, Credential, Datagrams,
    NamedGroup, ProtocolVersion, ServerConfig, SignatureScheme, Trust,
};

use super::setting::Protocol;

/// The certificates and keys of a manufacturer with a device, and of a domain. All keys are for ECDSA with P-256.
#[derive(Clone)]
pub struct Parties {
    /// The cryptography of all.
    pub provider: CryptoProvider,
    /// The IDevID of the device. Its certificate names a MASA.
    pub idevid: Credential,
    /// The root of the manufacturer, to which the IDevID leads.
    pub manufacturer: CertificateDer<'static>,
    /// The signer of vouchers. The device knows its certificate.
    pub masa: Credential,
    /// The registrar of the domain, whose root is not in its chain.
    pub registrar: Credential,
    /// The CA certificates of the domain, the root first.
    pub domain: Vec<CertificateDer<'static>>,
    /// The key that the device makes for its LDevID.
    pub ldevid_key: Arc<dyn SigningKey>,
    /// The CA of the domain.
    pub authority: Arc<dyn IssuesLdevids>,
    /// When the onboarding begins, in UNIX seconds: all certificates are valid then.
    pub begins: u64,
}

/// The CA of a domain.
pub trait IssuesLdevids: Send + Sync {
    /// Issues the LDevID of the device with this IDevID for a certification request (PKCS #10). Returns it, and the CAs above it but
    /// the root.
    fn issue(&self, request: &[u8], idevid: &CertificateDer<'_>) -> Result<Vec<CertificateDer<'static>>, String>;
}

impl Parties {
    /// Returns the configuration of the pledge's connections with this credential. Nobody has verified the registrar yet.
    pub(super) fn client(
        &self,
        credential: &Credential,
        protocol: &Protocol,
        datagrams: Option<Datagrams>,
    ) -> Result<Arc<ClientConfig>, ApiMisuse> {
        let mut config = ClientConfig::builder(&self.provider);
        config.trust(Trust::unverified(&[CertificateType::X509])?);
        config.credential(credential.clone()).send_server_name(false);
        restrict(config.common_mut(), protocol, datagrams);
        Ok(Arc::new(config.build()?))
    }

    /// Returns the configuration of the registrar's connections, which decides later about who comes.
    pub(super) fn server(
        &self,
        protocol: &Protocol,
        datagrams: Option<Datagrams>,
    ) -> Result<Arc<ServerConfig>, ApiMisuse> {
        let mut config = ServerConfig::builder(&self.provider);
        config.credential(self.registrar.clone());
        let anybody = Trust::unverified(&[CertificateType::X509])?;
        config.client_authentication(ClientAuthentication::Required(anybody)).certificate_authorities(false);
        restrict(config.common_mut(), protocol, datagrams);
        Ok(Arc::new(config.build()?))
    }
}

/// Offers what constrained BRSKI requires, and nothing else.
fn restrict(common: &mut Common, protocol: &Protocol, datagrams: Option<Datagrams>) {
    let (version, suite) = match protocol {
        Protocol::Coaps { dtls, .. } => (dtls.version(), dtls.suite()),
        Protocol::Https { .. } => (ProtocolVersion::TLS_1_3, CipherSuite::TLS_AES_128_CCM_SHA256),
    };
    common.set_versions([version]).set_suites([suite]).set_groups([NamedGroup::SECP256R1]);
    common.set_signature_schemes([SignatureScheme::ECDSA_SECP256R1_SHA256]).set_datagrams(datagrams);
}

impl fmt::Debug for Parties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parties").field("begins", &self.begins).finish_non_exhaustive()
    }
}
