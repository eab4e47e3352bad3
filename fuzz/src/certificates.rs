//! The fuzz target `certificates` takes certificates, revocation lists, raw public keys and OCSP responses of any
//! bytes, from a peer and from the configuration. Signatures are accepted unless they end in a zero.
//!
//! ```text
//! what(1) time(1) { length(2) der }*
//! ```

use core::time::Duration;

use pki_types::{CertificateDer, CertificateRevocationListDer, SubjectPublicKeyInfoDer, UnixTime};
use terse_testkit::pki::{DAY, NOW, server_address};
use terse_tls::fuzzing::{verify_chain, verify_raw_public_key, verify_staple};
use terse_tls::{ClientConfig, Credential, Stapling, Trust};

use crate::pki::{self, INTERMEDIATE, SERVER};
use crate::provider::{self, Key};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some(([what, time], rest)) = data.split_first_chunk() else { return };
    let provider = provider::transparent();
    let items = items(rest);
    let at = UnixTime::since_unix_epoch(Duration::from_secs(NOW + u64::from(*time) * DAY));
    let time = (*time != 0xff).then_some(at);
    let address = server_address();
    let name = (what & 0x10 == 0).then_some(&address.name);
    let chain: Vec<_> = items.iter().map(|der| CertificateDer::from(*der)).collect();
    let first = items.first().copied().unwrap_or_default();
    if what & 0x80 != 0 {
        // The first item is the response. Without a chain it is about the server's certificate.
        let trust = pki::trust().with_stapling(Stapling::Require).accept_without_clock();
        let known = [SERVER, INTERMEDIATE].map(CertificateDer::from);
        let chain = if chain.len() > 1 { &chain[1..] } else { &known[..] };
        verify_staple(&provider, &trust, chain, name, first, time);
        let _ = pki::credential(SERVER, false).set_staple(&provider, Some(first));
        return;
    }
    match what % 6 {
        0 => drop(verify_chain(&provider, &pki::trust(), &chain, name, time)),
        1 => drop(verify_chain(&provider, &pki::trust_with_crl().accept_without_clock(), &chain, name, time)),
        2 => {
            // The first item is the root, the second the list.
            let crls = items.get(1).map(|crl| CertificateRevocationListDer::from(*crl));
            if let Ok(trust) = Trust::new(&chain[..chain.len().min(1)])
                && let Ok(trust) = trust.clone().with_crls(crls.as_slice()).or(Ok::<_, ()>(trust))
            {
                assert!(!format!("{trust:?}").is_empty());
                verify_chain(&provider, &trust.accept_without_clock(), chain.get(2..).unwrap_or_default(), name, time);
            }
        }
        3 => {
            let known = pki::raw_trust(SERVER);
            verify_raw_public_key(&provider, &known, first);
            // Whether the provider verifies such a key is found when a configuration is built.
            if let Ok(trust) = Trust::raw_public_keys(&[SubjectPublicKeyInfoDer::from(first)])
                && ClientConfig::builder(&provider).trust(trust.clone()).build().is_ok()
            {
                verify_raw_public_key(&provider, &trust, first).expect("a key that is trusted");
            }
        }
        4 => {
            let chain = chain.iter().map(|der| der.clone().into_owned()).collect();
            let _ = Credential::new(chain, Key::shared(pki::public_key(SERVER), false));
        }
        _ => {
            let key = Key::shared(SubjectPublicKeyInfoDer::from(first).into_owned(), false);
            let _ = Credential::raw_public_key(key);
        }
    }
}

/// Returns the items of an input, each after its length.
pub(crate) fn items(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut items = Vec::new();
    while let Some((len, body)) = rest.split_first_chunk()
        && items.len() < MAX_ITEMS
    {
        let (item, next) = body.split_at(usize::from(u16::from_be_bytes(*len)).min(body.len()));
        items.push(item);
        rest = next;
    }
    items
}

const MAX_ITEMS: usize = 6;
