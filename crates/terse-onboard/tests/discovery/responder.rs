//! The side that answers, asked by unicast.

use core::time::Duration;
use std::time::Instant;

use terse_onboard::discovery::coap::{CoreResponder, Links};

use super::world::{Asking, Running, question};
use crate::deadline::Deadline;

fn join_proxy() -> Running {
    Running::start(CoreResponder::new(Links::join_proxy(5684)).at("127.0.0.1:0".parse().unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registrar_answers_what_is_asked_at_each_address() {
    for (ip, link) in [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")] {
        let links = Links::registrar("[::]:5684".parse().unwrap(), Some("[::]:5685".parse().unwrap()));
        let responder = CoreResponder::new(links).at((ip.parse::<core::net::IpAddr>().unwrap(), 0).into()).unwrap();
        let running = Running::start(responder);
        let asking = Asking::new(ip, running.address);
        assert_eq!(*asking.ask("rt=brski"), format!("<coaps://{link}:5684/b>;rt=brski").into_bytes());
        assert_eq!(*asking.ask("rt=brski.rjp"), format!("<jpy://{link}:5685>;rt=brski.rjp").into_bytes());
        assert!(asking.ask("rt=ace.est*").starts_with(b"</e/crts>;rt=ace.est.crts"));
        assert_eq!(running.stop().await.answered, 3);
    }
}

/// Nothing ends it, and what comes after is answered first.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_questions_that_are_not_confirmable_get_no_answer() {
    let running = join_proxy();
    let asking = Asking::new("127.0.0.1", running.address);
    let right = question("brski-jp=*").next_datagram();
    let changed = |at: usize, byte: u8| {
        let mut datagram = right.to_vec();
        datagram[at] = byte;
        datagram
    };
    for wrong in [
        Vec::new(),
        vec![0xff; 1_400],
        vec![b'x'; 4_000],
        right[..right.len() - 1].to_vec(),
        changed(1, 2),
        question("rt=brski").next_datagram().to_vec(),
    ] {
        asking.send(&wrong);
    }
    assert_eq!(*asking.ask("brski-jp=*"), b"<>;brski-jp=5684");
    let counters = running.stop().await;
    assert_eq!((counters.answered, counters.ignored, counters.refused), (1, 6, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_has_the_answers_of_one_share() {
    let (running, start) = (join_proxy(), Instant::now());
    let (flood, datagram) = (Asking::new("127.0.0.1", running.address), question("brski-jp=*").next_datagram());
    (0..2_000).for_each(|_| flood.send(&datagram));
    (0..8).for_each(|_| drop(flood.receive()));
    let answers = 8 + flood.count(Duration::from_millis(200));
    // 8 at once, and 4 a second.
    let most = 8 + start.elapsed().as_millis() as u64 / 250 + 1;
    assert!((8..=most).contains(&answers), "{answers} of {most}");
    let others = |range: core::ops::Range<u8>| {
        range.map(|last| Asking::new(&format!("127.0.0.{last}"), running.address)).collect::<Vec<_>>()
    };
    // Somebody is answered once there is room in the queue of the socket.
    let (deadline, first) = (Deadline::new(), others(32..36));
    while !first.iter().any(Asking::has_come) {
        first.iter().for_each(|other| other.send(&datagram));
        deadline.wait("nobody is answered").await;
    }
    // Of thirty others, chance lets one in 32 have the same share.
    let others = others(2..32);
    others.iter().for_each(|other| other.send(&datagram));
    let (deadline, mut answered) = (Deadline::new(), 0);
    while answered <= 15 {
        deadline.wait(answered).await;
        answered += others.iter().filter(|other| other.has_come()).count();
    }
    assert!(running.stop().await.refused > 0);
}
