use terse_brski::pledge::{Event, Https};
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, Validity};
use terse_tls::Credential;

use super::*;
use crate::discovery::mdns::MAX_KNOWN;
use crate::discovery::mdns::known::Known;

/// A device with an IDevID of its own.
fn device() -> Device {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(0));
    let maker = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    let idevid = maker.issue_idevid(&IdevidOptions::new("WI-3005", 0)).unwrap();
    let key = terse_aws_lc::PROVIDER.load_key(idevid.key()).unwrap();
    let credential = Credential::new(idevid.chain().to_vec(), key).unwrap();
    let anchors = vec![maker.root().clone()];
    let config = terse_brski::pledge::PledgeConfig::new(&terse_aws_lc::PROVIDER, credential.clone(), anchors).unwrap();
    Device::new(credential, config)
}

/// Tells the driver what discovery has found.
fn discover<O: FnMut(Progress) + Send>(driver: &mut Driver<'_, Https, O>, known: &mut Known) {
    known.changes.drain(..).for_each(|change| driver.changed(change));
}

#[test]
fn registrars_that_only_let_the_pledge_wait_do_not_keep_the_places_of_discovery() {
    let (device, settings) = (device(), Settings::default());
    let credentials = CredentialDirectory::new("unused");
    let mut driver = Driver::new(&device, &credentials, &settings, |_| {});
    let mut known = Known::default();
    for number in 0..MAX_KNOWN {
        known.resolved(&format!("{number}"), Some(Place::new(format!("{number}.example"), 8443)));
    }
    let real = Place::new("proxy.example", 8443);
    known.resolved("true one", Some(real.clone()));
    discover(&mut driver, &mut known);
    let mut offered = VecDeque::new();
    // Every registrar that has its turn answers 202. The machine tries the one that was tried least recently.
    let is_tried = (0..3 * MAX_KNOWN).any(|_| {
        for answer in driver.answers.drain(..) {
            match answer {
                Answer::Found(proxy) => offered.push_front(proxy),
                Answer::Gone(proxy) => offered.retain(|offered| *offered != proxy),
                _ => {}
            }
        }
        offered.rotate_left(1);
        driver.proxy = offered.back().copied();
        let is_real = driver.proxy.and_then(|proxy| driver.places.of(proxy)) == Some(&real);
        driver.inform(Event::Waiting);
        if let Some(place) = driver.failed.take() {
            known.failed(&place);
        }
        discover(&mut driver, &mut known);
        is_real
    });
    assert!(is_tried);
}
