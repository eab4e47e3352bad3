//! Shows one chain to a side.

use std::sync::LazyLock;

use pki_types::CertificateDer;
use terse_testkit::fault::{first, message};
use terse_testkit::pair::{Side, at};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoProvider;
use terse_tls::{
    AlertDescription as Alert, CertificateError, ClientAuthentication, Error, HandshakeType, ProtocolVersion, Trust,
};

use super::different::{self, Refusal};
use super::maker::KEYS;

/// A chain with its leaf first, and the trust anchors of the side that looks.
pub(crate) struct Specimen {
    pub(crate) name: &'static str,
    pub(crate) chain: Vec<Vec<u8>>,
    pub(crate) anchors: Vec<Vec<u8>>,
    /// Why the chain is refused, and which alert the other side gets; `None` if it is accepted.
    pub(crate) refused: Option<(Error, Alert)>,
}

impl Specimen {
    /// Returns a specimen that is refused for a reason of certificates.
    pub(crate) fn refused(
        name: &'static str,
        chain: Vec<Vec<u8>>,
        anchor: &[u8],
        error: CertificateError,
        alert: Alert,
    ) -> Self {
        Self { name, chain, anchors: vec![anchor.to_vec()], refused: Some((error.into(), alert)) }
    }

    /// Returns a specimen that is accepted.
    pub(crate) fn accepted(name: &'static str, chain: Vec<Vec<u8>>, anchor: &[u8]) -> Self {
        Self { name, chain, anchors: vec![anchor.to_vec()], refused: None }
    }
}

/// Both.
pub(crate) const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2];
const PROVIDERS: [&CryptoProvider; 2] = [&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER];

/// Shows what `specimens` makes for each role: by a server and by a client, in both versions, to both providers.
pub(crate) fn show(specimens: impl Fn(Side) -> Vec<Specimen>) {
    show_in(&VERSIONS, specimens);
}

/// Shows the specimens to both sides, in `versions`.
pub(crate) fn show_in(versions: &[ProtocolVersion], specimens: impl Fn(Side) -> Vec<Specimen>) {
    for by in Side::BOTH {
        let specimens = specimens(by);
        assert!(!specimens.is_empty());
        for (specimen, version) in specimens.iter().flat_map(|specimen| versions.iter().map(move |v| (specimen, *v))) {
            PROVIDERS.into_iter().for_each(|provider| show_one(specimen, by, version, provider));
        }
    }
}

/// Shows a specimen to a side that builds paths, and to one that does not.
fn show_one(specimen: &Specimen, by: Side, version: ProtocolVersion, provider: &CryptoProvider) {
    let anchors: Vec<_> = specimen.anchors.iter().map(|der| CertificateDer::from(der.clone())).collect();
    let building = Trust::new(&anchors).unwrap();
    let show = |how: &str, trust: Trust, refused: Option<&(Error, Alert)>| {
        let context = format!("{}, shown by the {by:?} in {version} to a side that {how}", specimen.name);
        show_to(&specimen.chain, trust, refused, by, version, provider, &context);
    };
    show("builds paths", building, specimen.refused.as_ref());
    let in_order = Trust::without_path_building(&anchors);
    match different::refusal(specimen.name) {
        None => show("builds no paths", in_order.unwrap(), specimen.refused.as_ref()),
        Some(Refusal::OfChain(error, alert)) => {
            show("builds no paths", in_order.unwrap(), Some(&(error.into(), alert)));
        }
        Some(Refusal::OfTrustAnchor(error)) => assert_eq!(in_order.err(), Some(error), "{}", specimen.name),
    }
}

fn show_to(
    chain: &[Vec<u8>],
    trust: Trust,
    refused: Option<&(Error, Alert)>,
    by: Side,
    version: ProtocolVersion,
    provider: &CryptoProvider,
    context: &str,
) {
    let mut setup = Setup::mutual(provider, provider, KEYS).only(version).keeping();
    match by {
        Side::Server => {
            setup.client.trust(trust);
        }
        Side::Client => {
            setup.server.client_authentication(ClientAuthentication::Required(trust));
        }
    }
    let shown = certificate(version, chain);
    setup.common(by).set_fault(Some(first(HandshakeType::CERTIFICATE, move |message| message.clone_from(&shown))));
    let mut pair = setup.pair(1);
    let result = pair.run();
    let victim = by.other();
    let context = format!("{context}: {result:?}");
    let Some((error, alert)) = refused else {
        assert!(result.is_ok() && pair.client.is_connected() && pair.server.is_connected(), "{context}");
        return;
    };
    // TLS 1.2 has no alert of its own for a certificate that is missing.
    let alert = match *alert {
        Alert::CERTIFICATE_REQUIRED if version == ProtocolVersion::TLS_1_2 => Alert::HANDSHAKE_FAILURE,
        alert => alert,
    };
    assert_eq!(pair.failure(victim), Some(error), "{context}");
    assert_eq!(pair.failure(by), Some(&Error::AlertReceived(alert)), "{context}");
    assert!(!pair.side(victim).0.is_connected(), "{context}");
    let kept = pair.stores.as_ref().unwrap().size(victim);
    assert_eq!(kept, NOTHING[victim as usize], "{context}");
}

/// What the stores hold after a handshake that failed: a client notes the failure.
static NOTHING: LazyLock<[(usize, usize); 2]> = LazyLock::new(|| {
    let provider = &terse_aws_lc::PROVIDER;
    let mut pair = Setup::mutual(provider, provider, KEYS).keeping().pair(1);
    pair.client.give_up(at(0));
    let stores = pair.stores.as_ref().unwrap();
    Side::BOTH.map(|side| stores.size(side))
});

/// Returns a Certificate message (RFC 9846, 4.5.1; RFC 5246, 7.4.2).
pub(crate) fn certificate(version: ProtocolVersion, chain: &[Vec<u8>]) -> Vec<u8> {
    let u24 = |len: usize| (len as u32).to_be_bytes()[1..].to_vec();
    let (context, extensions): (&[u8], &[u8]) = match version {
        ProtocolVersion::TLS_1_2 => (&[], &[]),
        _ => (&[0], &[0, 0]),
    };
    let entries: Vec<u8> = chain.iter().flat_map(|der| [&u24(der.len()), &der[..], extensions].concat()).collect();
    message(HandshakeType::CERTIFICATE, &[context, &u24(entries.len()), &entries].concat())
}
