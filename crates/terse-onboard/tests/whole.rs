//! The whole of it on loopback: a factory with its MASA, a domain with its registrar, a join proxy, and devices.

use core::num::NonZeroU32;

use terse_onboard::discovery::Fixed;
use terse_onboard::pledge::{CredentialDirectory, GaveUp, Onboarded, Progress, Settings, onboard, renew};
use terse_pki::{KeyAlgorithm, Subject};

mod world;

use world::World;

/// Onboards a device of the factory, which gives up after so many failures.
async fn join(world: &World, serial_number: &str, max_failures: u32) -> (Result<Onboarded, GaveUp>, Vec<Progress>) {
    let device = world.device(serial_number);
    let settings = Settings { max_failures: NonZeroU32::new(max_failures), ..Settings::default() };
    let mut progress = Vec::new();
    let places = Fixed::new([world.proxy.clone()]);
    let result =
        onboard(&device, places, &credentials(world, serial_number), &settings, |event| progress.push(event)).await;
    (result, progress)
}

fn credentials(world: &World, serial_number: &str) -> CredentialDirectory {
    CredentialDirectory::new(world.folder().join("credentials").join(serial_number))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_comes_from_the_factory_earns_its_credential_and_renews_it() {
    let world = World::start(&["WI-3005"]).await;
    let (result, progress) = join(&world, "WI-3005", 1).await;
    let onboarded = result.unwrap_or_else(|why| panic!("{why}: {progress:?}"));
    assert!(onboarded.is_reported);
    let subject = Subject::of(&onboarded.credential.as_ref().unwrap().chain()[0]).unwrap();
    assert!(subject.to_string().contains("WI-3005"), "{subject}");
    let reports = world.operator().await.devices().await.unwrap();
    let report = reports.iter().find(|report| report.serial_number == "WI-3005").unwrap();
    assert_eq!((report.voucher_status, report.enroll_status), (Some(true), Some(true)));
    assert_eq!(report.audit, "good");
    assert_eq!(world.audit_entries("WI-3005").await, 1);

    // The credential is that of a device of the domain: with it alone the device renews it.
    let credentials = credentials(&world, "WI-3005");
    let renewed = renew(&credentials, &world.proxy, KeyAlgorithm::P256).await.unwrap();
    let (stored, anchors) = credentials.read().unwrap();
    assert_eq!(stored.chain(), renewed.chain());
    assert_eq!(anchors, onboarded.anchors);
    assert_ne!(renewed.chain()[0], onboarded.credential.as_ref().unwrap().chain()[0]);
    assert_eq!(Subject::of(&renewed.chain()[0]).unwrap().to_string(), subject.to_string());
    renew(&credentials, &world.registrar, KeyAlgorithm::Ed25519).await.unwrap();
    world.stop().await;
}

/// Each device gets its own certificate, and the MASA has noted each once.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_devices_join_at_once_through_one_proxy() {
    let serial_numbers: Vec<_> = (0..100).map(|number| format!("WI-{number:04}")).collect();
    let serial_numbers: Vec<_> = serial_numbers.iter().map(String::as_str).collect();
    let world = World::start(&serial_numbers).await;
    let all = serial_numbers.iter().map(|serial_number| join(&world, serial_number, 20));
    let mut leaves = std::collections::BTreeSet::new();
    for (serial_number, (result, progress)) in serial_numbers.iter().zip(join_all(all).await) {
        let onboarded = result.unwrap_or_else(|why| panic!("{serial_number}: {why}: {progress:?}"));
        leaves.insert(onboarded.credential.as_ref().unwrap().chain()[0].to_vec());
    }
    assert_eq!(leaves.len(), serial_numbers.len());
    for report in world.operator().await.devices().await.unwrap() {
        assert_eq!((report.voucher_status, report.enroll_status), (Some(true), Some(true)), "{report:?}");
    }
    for serial_number in serial_numbers {
        assert!(world.audit_entries(serial_number).await >= 1, "{serial_number}");
    }
    world.stop().await;
}

/// The MASA is killed while devices wait for its vouchers, and comes back: each device joins in the end, and no voucher
/// is lost from the audit log.
#[tokio::test(flavor = "multi_thread")]
async fn devices_join_although_the_masa_is_killed_in_the_middle() {
    let serial_numbers: Vec<_> = (0..100).map(|number| format!("WI-{number:04}")).collect();
    let serial_numbers: Vec<_> = serial_numbers.iter().map(String::as_str).collect();
    let world = World::start(&serial_numbers).await;
    let (imprinted, mut first) = tokio::sync::watch::channel(false);
    let joining = serial_numbers.iter().map(|serial_number| {
        let (world, imprinted) = (&world, imprinted.clone());
        async move {
            let device = world.device(serial_number);
            let settings = Settings { max_failures: NonZeroU32::new(20), ..Settings::default() };
            let mut vouchers = 0;
            let observe = |event: Progress| {
                if matches!(event, Progress::Imprinted(..)) {
                    vouchers += 1;
                    imprinted.send_replace(true);
                }
            };
            let places = Fixed::new([world.proxy.clone()]);
            let result = onboard(&device, places, &credentials(world, serial_number), &settings, observe).await;
            (result.unwrap(), vouchers)
        }
    });
    let killing = async {
        first.wait_for(|is_imprinted| *is_imprinted).await.unwrap();
        world.masa.kill();
        world.masa.restart();
    };
    let (joined, ()) = tokio::join!(join_all(joining), killing);
    for (serial_number, (onboarded, vouchers)) in serial_numbers.iter().zip(joined) {
        let subject = Subject::of(&onboarded.credential.as_ref().unwrap().chain()[0]).unwrap();
        assert!(subject.to_string().contains(serial_number));
        assert!(
            world.audit_entries(serial_number).await >= vouchers,
            "{serial_number}: a voucher left without an entry"
        );
    }
    world.stop().await;
}

/// Awaits all at once, and returns what each gives, in their order.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut pending: Vec<_> = futures.into_iter().map(Box::pin).map(Some).collect();
    let mut results: Vec<Option<F::Output>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, result) in pending.iter_mut().zip(&mut results) {
            if let Some(running) = future
                && let std::task::Poll::Ready(output) = running.as_mut().poll(cx)
            {
                (*result, *future) = (Some(output), None);
            }
        }
        match pending.iter().all(Option::is_none) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
