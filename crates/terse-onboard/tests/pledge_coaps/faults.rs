//! Networks that lose, double and reorder datagrams, and registrars that are silent or go away.

use std::collections::BTreeSet;

use terse_brski::coap::Resource;
use terse_brski::pledge::{AttemptFailed, EnrollmentFailed};
use terse_onboard::discovery::{Fixed, Place};
use terse_onboard::pledge::{CredentialDirectory, DtlsVersion, onboard};
use tokio::net::UdpSocket;

use super::registrar::{Registrar, Reply, Script};
use super::relay::{Fault, Relay};
use super::{WHOLE, device, impatient, join, once, until};
use crate::deadline::soon;

/// Each `nth` datagram of a direction is lost.
fn losing(nth: usize) -> Fault {
    Box::new(move |_, number, datagram| if number % nth == nth - 1 { vec![] } else { vec![datagram] })
}

/// Each `nth` datagram of a direction comes twice.
fn doubling(nth: usize) -> Fault {
    Box::new(
        move |_, number, datagram| {
            if number % nth == nth - 1 { vec![datagram.clone(), datagram] } else { vec![datagram] }
        },
    )
}

/// Each `nth` datagram of a direction comes after the one behind it.
fn reordering(nth: usize) -> Fault {
    let mut held = [None, None];
    Box::new(move |way, number, datagram| {
        let held = &mut held[way as usize];
        match number % nth == nth - 1 {
            true => held.replace(datagram).into_iter().collect(),
            false => core::iter::once(datagram).chain(held.take()).collect(),
        }
    })
}

async fn joins_in_spite_of(fault: Fault, version: DtlsVersion) {
    let registrar = Registrar::start(Script::default()).await;
    let relay = Relay::start(registrar.port(), fault).await;
    let mut settings = once();
    settings.coaps.version = version;
    let onboarded = join(&device(), relay.place(), &settings).await.result.unwrap();
    assert!(onboarded.is_reported);
    assert_eq!(registrar.resources(), WHOLE, "nothing is carried out twice");
}

#[tokio::test]
async fn datagrams_that_are_lost_are_sent_again() {
    for nth in [10, 5, 3] {
        joins_in_spite_of(losing(nth), DtlsVersion::Dtls13).await;
    }
    joins_in_spite_of(losing(5), DtlsVersion::Dtls12).await;
}

#[tokio::test]
async fn datagrams_that_come_twice_count_once() {
    for nth in [1, 2, 3] {
        joins_in_spite_of(doubling(nth), DtlsVersion::Dtls13).await;
    }
    joins_in_spite_of(doubling(1), DtlsVersion::Dtls12).await;
}

#[tokio::test]
async fn datagrams_that_overtake_each_other_do_no_harm() {
    for nth in [2, 3, 5] {
        joins_in_spite_of(reordering(nth), DtlsVersion::Dtls13).await;
    }
    joins_in_spite_of(reordering(3), DtlsVersion::Dtls12).await;
}

/// The connection is made again, and the step repeats its request.
#[tokio::test]
async fn a_registrar_that_closes_the_connection_is_connected_to_again() {
    let registrar = Registrar::start(Script::answering_at(Resource::CaCerts, 1, Reply::Close)).await;
    join(&device(), registrar.place(), &once()).await.result.unwrap();
    let connections: BTreeSet<_> = registrar.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections.len(), 3);
}

#[tokio::test]
async fn a_registrar_that_goes_away_ends_the_attempt() {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let script = Script::answering(move |seen| {
        let is_last = seen.resource == Resource::SimpleEnroll;
        is_last.then(|| {
            let _ = sender.send(());
            Reply::Silence
        })
    });
    let registrar = Registrar::start(script).await;
    let place = registrar.place();
    let vanishing = tokio::spawn(async move {
        soon(receiver.recv()).await;
        registrar.vanish().await;
    });
    let why = join(&device(), place, &impatient()).await.failure();
    assert_eq!(why, AttemptFailed::Enrollment(EnrollmentFailed::ConnectionLost));
    vanishing.await.unwrap();
}

#[tokio::test]
async fn a_registrar_that_never_answers_ends_the_attempt() {
    // No DTLS at all, nobody at the port, and no answer to a request.
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let why = join(&device(), Place::new("127.0.0.1", port), &impatient()).await.failure();
    assert_eq!(why, AttemptFailed::ConnectionLost);
    silent.connect(("127.0.0.1", port)).await.unwrap(); // to itself: it hears nobody else, and the port is unreachable
    let why = join(&device(), Place::new("127.0.0.1", port), &impatient()).await.failure();
    assert_eq!(why, AttemptFailed::ConnectionLost);
    let registrar = Registrar::start(Script::answering_at(Resource::RequestVoucher, 9, Reply::Silence)).await;
    let why = join(&device(), registrar.place(), &impatient()).await.failure();
    assert_eq!(why, AttemptFailed::ConnectionLost);
    assert_eq!(registrar.resources(), [Resource::RequestVoucher], "it is the same message, again and again");
}

/// Whoever drops the future ends the connection.
#[tokio::test]
async fn a_pledge_that_is_stopped_closes_its_connection() {
    let registrar = Registrar::start(Script::answering_at(Resource::RequestVoucher, 1, Reply::Silence)).await;
    let folder = tempfile::tempdir().unwrap();
    let credentials = CredentialDirectory::new(folder.path().join("credentials"));
    let (device, settings) = (device(), once());
    let joining = onboard(&device, Fixed::new([registrar.place()]), &credentials, &settings, |_| {});
    tokio::select! {
        result = joining => panic!("{result:?}"),
        () = until(|| registrar.seen().len(), |seen| *seen > 0) => {}
    }
    until(|| registrar.closed(), |closed| *closed > 0).await;
}
