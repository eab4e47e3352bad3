//! The side that asks, with hosts that a test plays.

use core::net::SocketAddr;

use terse_onboard::discovery::coap::{Reach, Seeker, Sought};
use terse_onboard::discovery::{Change, Discovery as _, Place};
use tokio::net::UdpSocket;

use super::world::answer;
use crate::deadline::soon;
use crate::vacant::{occupied_udp, vacant_udp};

const LINKS: u8 = 40;

/// Makes an answer of a question.
type Answer<'a> = dyn Fn(&[u8]) -> Vec<u8> + 'a;

/// A host that answers.
struct Host(UdpSocket);

impl Host {
    async fn new() -> Self {
        Self(UdpSocket::bind("127.0.0.1:0").await.unwrap())
    }

    fn place(&self) -> Place {
        Place::from(self.0.local_addr().unwrap())
    }

    fn seeker(&self, sought: &[Sought]) -> Seeker {
        Seeker::new(sought, Reach::Hosts(vec![self.place()])).unwrap()
    }

    /// Waits for a question.
    async fn asked(&self) -> (Vec<u8>, SocketAddr) {
        let mut buffer = [0; 2_048];
        let (len, from) = self.0.recv_from(&mut buffer).await.unwrap();
        (buffer[..len].to_vec(), from)
    }

    /// Answers the next questions with these datagrams, each made of the question, and the later ones not at all.
    async fn answer(&self, answers: &[&Answer<'_>]) -> core::convert::Infallible {
        for answer in answers {
            let (question, from) = self.asked().await;
            self.0.send_to(&answer(&question), from).await.unwrap();
        }
        loop {
            self.asked().await;
        }
    }
}

/// Waits for the next change while a host answers.
async fn next(seeker: &mut Seeker, host: &Host, answers: &[&Answer<'_>]) -> Change {
    tokio::select! {
        change = seeker.next() => change,
        never = host.answer(answers) => match never {},
    }
}

fn loopback(port: u16) -> Place {
    Place::new("127.0.0.1", port)
}

#[tokio::test(start_paused = true)]
async fn a_place_is_found_and_gone_when_it_answers_no_more() {
    let host = Host::new().await;
    let mut seeker = host.seeker(&[Sought::JoinProxy]);
    let found = next(&mut seeker, &host, &[&|question| answer(question, LINKS, "<>;brski-jp=5684")]).await;
    assert_eq!(found, Change::Found(loopback(5684)), "the address of the answer, with the port in it");
    assert_eq!(next(&mut seeker, &host, &[]).await, Change::Gone(loopback(5684)));
    let again = next(&mut seeker, &host, &[&|question| answer(question, LINKS, "<>;brski-jp=5684")]).await;
    assert_eq!(again, Change::Found(loopback(5684)));
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_none_are_ignored() {
    let host = Host::new().await;
    let mut seeker = host.seeker(&[Sought::JoinProxy]);
    let found = next(
        &mut seeker,
        &host,
        &[
            &|_| Vec::new(),
            &|_| vec![0xff; 1_000],
            &|question| question.to_vec(),
            &|question| answer(question, 50, "<>;brski-jp=1"),
            &|question| answer(question, LINKS, &"<>;brski-jp=2,".repeat(33)),
            &|question| answer(question, LINKS, "<>;brski-jp=0"),
            &|question| answer(question, LINKS, "<>;brski-jp=65536"),
            &|question| answer(question, LINKS, &format!("<>;brski-jp=3;x={}", "x".repeat(3_000))),
            &|question| [answer(question, LINKS, "<>;brski-jp=4"), vec![0xff; 9]].concat(),
            &|question| {
                let mut other = answer(question, LINKS, "<>;brski-jp=5");
                other[5] ^= 1; // the token
                other
            },
            &|question| {
                let mut error = answer(question, LINKS, "<>;brski-jp=6");
                error[1] = 0x84; // 4.04
                error
            },
            &|question| answer(question, LINKS, "<>;brski-jp=7"),
        ],
    )
    .await;
    assert_eq!(found, Change::Found(loopback(7)));
}

#[tokio::test(start_paused = true)]
async fn one_host_has_a_bounded_number_of_places() {
    let host = Host::new().await;
    let mut seeker = host.seeker(&[Sought::JoinProxy]);
    let many: Vec<_> = (1..=32).map(|port| format!("<>;brski-jp={port}")).collect();
    let mut found = vec![next(&mut seeker, &host, &[&|question| answer(question, LINKS, &many.join(","))]).await];
    loop {
        match next(&mut seeker, &host, &[]).await {
            Change::Gone(_) => break, // nothing else comes before
            change => found.push(change),
        }
    }
    assert_eq!(found.len(), terse_onboard::discovery::mdns::MAX_OF_HOST, "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn registrars_are_found_by_their_links() {
    for (sought, query, links) in [
        (Sought::Registrar, "rt=brski", "<coaps://192.0.2.1:5684/b>;rt=brski,<coaps://192.0.2.1:1/b>;rt=brski.rjp"),
        (Sought::StatelessRegistrar, "rt=brski.rjp", "<jpy://192.0.2.1:5684>;rt=brski.rjp"),
    ] {
        let host = Host::new().await;
        let mut seeker = host.seeker(&[sought]);
        let reply = |question: &[u8]| {
            assert!(question.ends_with(query.as_bytes()), "{question:?}");
            answer(question, LINKS, links)
        };
        assert_eq!(next(&mut seeker, &host, &[&reply]).await, Change::Found(Place::new("192.0.2.1", 5684)));
    }
}

/// A confirmable answer is acknowledged (RFC 7252, 4.2).
#[tokio::test(start_paused = true)]
async fn an_answer_that_asks_for_it_is_acknowledged() {
    let host = Host::new().await;
    let mut seeker = host.seeker(&[Sought::JoinProxy]);
    let confirmable = |question: &[u8]| {
        let mut answer = answer(question, LINKS, "<>;brski-jp=5684");
        answer[0] = 0x48;
        answer
    };
    let found = next(&mut seeker, &host, &[&confirmable]).await;
    assert_eq!(found, Change::Found(loopback(5684)));
    assert_eq!(soon(host.asked()).await.0, [0x60, 0, 0, 1], "its message ID");
}

/// The network reports that nobody has the port, until somebody has.
#[tokio::test(start_paused = true)]
async fn a_host_that_is_not_there_yet_is_asked_again() {
    let (_nobody, address) = vacant_udp();
    let place = Place::from(address);
    let mut seeker = Seeker::new(&[Sought::JoinProxy], Reach::Hosts(vec![place.clone()])).unwrap();
    tokio::select! {
        change = seeker.next() => panic!("{change:?}"),
        () = tokio::time::sleep(core::time::Duration::from_secs(100)) => {}
    }
    let socket = occupied_udp(address);
    socket.set_nonblocking(true).unwrap();
    let host = Host(UdpSocket::from_std(socket).unwrap());
    let found = next(&mut seeker, &host, &[&|question| answer(question, LINKS, "<>;brski-jp=5684")]).await;
    assert_eq!(found, Change::Found(loopback(5684)));
}
