use core::sync::atomic::Ordering::Relaxed;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use super::*;
use crate::deadline::{Deadline, soon};
use crate::discovery::{Change, Discovery};
use crate::vacant::Vacant;

struct Running {
    address: SocketAddr,
    registrar: watch::Sender<Option<Place>>,
    stop: watch::Sender<bool>,
    proxy: JoinHandle<Counters>,
}

async fn start(registrar: Option<Place>, limits: Limits) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (registrar, place) = watch::channel(registrar);
    let (stop, stopped) = watch::channel(false);
    let proxy = tokio::spawn(JoinProxy::new(listener, place, limits).run(stopped));
    Running { address, registrar, stop, proxy }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Connects again and again, until there is a place.
    async fn connect_when_free(&self, listener: &TcpListener) {
        let deadline = Deadline::new();
        loop {
            let mut next = self.connect().await;
            tokio::select! {
                accepted = soon(listener.accept()) => break drop(accepted.unwrap()),
                closed = is_closed(&mut next) => assert!(closed),
            }
            deadline.check("there is no place");
        }
    }

    async fn stop(self) -> Counters {
        self.stop.send(true).unwrap();
        soon(self.proxy).await.unwrap()
    }
}

/// Returns a registrar, as far as a proxy knows one.
async fn registrar() -> (TcpListener, Place) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, Place::new(address.ip().to_string(), address.port()))
}

/// A place at which nobody is.
fn nobody() -> (Vacant, Place) {
    let vacant = Vacant::new();
    let place = Place::new(vacant.address.ip().to_string(), vacant.address.port());
    (vacant, place)
}

/// Whether the other end has closed the connection, in whatever way.
async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(soon(stream.read(&mut [0; 64])).await, Ok(0) | Err(_))
}

/// Whatever bytes these are, they arrive unchanged, and each direction ends by itself.
#[tokio::test]
async fn bytes_pass_both_ways_and_each_direction_ends_by_itself() {
    let (listener, place) = registrar().await;
    let running = start(Some(place), Limits { connections: 1, ..Limits::default() }).await;
    let mut pledge = running.connect().await;
    let (mut other, _) = soon(listener.accept()).await.unwrap();
    let sent: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
    let (to, from) = (sent.clone(), sent.clone());
    let writer = tokio::spawn(async move {
        pledge.write_all(&to).await.unwrap();
        pledge.shutdown().await.unwrap();
        let mut answer = Vec::new();
        pledge.read_to_end(&mut answer).await.unwrap();
        answer
    });
    let mut received = Vec::new();
    soon(other.read_to_end(&mut received)).await.unwrap();
    assert!(received == sent);
    soon(other.write_all(&from)).await.unwrap();
    other.shutdown().await.unwrap();
    assert!(soon(writer).await.unwrap() == sent);
    running.connect_when_free(&listener).await; // then the first connection has been counted
    let counters = running.stop().await;
    assert_eq!((counters.relayed, counters.bytes, counters.cut_off), (2, 200_000, 0));
}

/// Which of them is idle longest is decided by what the registrar has sent.
#[tokio::test]
async fn one_address_has_its_share_of_the_connections_and_makes_room_for_itself() {
    let (listener, place) = registrar().await;
    let running = start(Some(place), Limits { per_address: 2, ..Limits::default() }).await;
    let mut first = running.connect().await;
    let (mut first_end, _) = soon(listener.accept()).await.unwrap();
    let mut second = running.connect().await;
    let (_second_end, _) = soon(listener.accept()).await.unwrap();
    second.write_all(b"a stranger sends what it likes").await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await; // so that one is later than the other
    soon(first_end.write_all(b"hello")).await.unwrap();
    soon(first.read_exact(&mut [0; 5])).await.unwrap();
    let mut third = running.connect().await;
    let (mut third_end, _) = soon(listener.accept()).await.unwrap();
    assert!(is_closed(&mut second).await, "the third one of an address");
    for (pledge, registrar) in [(&mut first, &mut first_end), (&mut third, &mut third_end)] {
        pledge.write_all(b"still there").await.unwrap();
        soon(registrar.read_exact(&mut [0; 11])).await.unwrap();
    }
    assert_eq!(running.stop().await.made_room, 1);
}

/// Strangers hold all places from many addresses, and say nothing. A pledge comes through, and stays when its handshake goes on.
#[tokio::test]
async fn strangers_with_all_places_keep_no_pledge_out() {
    let (listener, place) = registrar().await;
    let running = start(Some(place), Limits { connections: 8, ..Limits::default() }).await;
    let from = async |last: u8| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 3, last], 0))).unwrap();
        let stream = socket.connect(running.address).await.unwrap();
        (stream, soon(listener.accept()).await.unwrap().0)
    };
    let mut held = Vec::new();
    for last in 1..20 {
        held.push(from(last).await);
    }
    let (mut pledge, mut registrar) = from(100).await;
    // A flight of each side, and the answer to the second one.
    for _ in 0..2 {
        pledge.write_all(b"flight").await.unwrap();
        soon(registrar.read_exact(&mut [0; 6])).await.unwrap();
        registrar.write_all(b"answer").await.unwrap();
        soon(pledge.read_exact(&mut [0; 6])).await.unwrap();
    }
    for last in 1..20 {
        held.push(from(last).await);
    }
    pledge.write_all(b"request").await.unwrap();
    soon(registrar.read_exact(&mut [0; 7])).await.unwrap();
    assert_eq!(running.stop().await.made_room, 2 * 19 + 1 - 8);
}

#[tokio::test]
async fn a_silent_connection_is_cut_off() {
    let (listener, place) = registrar().await;
    let limits = Limits { idle: Duration::from_millis(50), ..Limits::default() };
    let running = start(Some(place), limits).await;
    let mut pledge = running.connect().await;
    let (mut other, _) = soon(listener.accept()).await.unwrap();
    assert!(is_closed(&mut pledge).await);
    assert!(is_closed(&mut other).await);
}

#[tokio::test]
async fn a_connection_ends_with_its_time_however_busy_it_is() {
    let (listener, place) = registrar().await;
    let limits = Limits { total: Duration::from_millis(100), ..Limits::default() };
    let running = start(Some(place), limits).await;
    let mut pledge = running.connect().await;
    let (mut other, _) = soon(listener.accept()).await.unwrap();
    let echo = tokio::spawn(async move {
        let mut byte = [0];
        while other.read_exact(&mut byte).await.is_ok() && other.write_all(&byte).await.is_ok() {}
    });
    let mut byte = [7];
    soon(async { while pledge.write_all(&byte).await.is_ok() && pledge.read_exact(&mut byte).await.is_ok() {} }).await;
    soon(echo).await.unwrap();
}

#[tokio::test]
async fn too_many_bytes_are_not_passed_on() {
    let (listener, place) = registrar().await;
    let running = start(Some(place), Limits { bytes: 10_000, ..Limits::default() }).await;
    let mut pledge = running.connect().await;
    let (mut other, _) = soon(listener.accept()).await.unwrap();
    let writer = tokio::spawn(async move { while pledge.write_all(&[0; 1_000]).await.is_ok() {} });
    let mut received = Vec::new();
    let _ = soon(other.read_to_end(&mut received)).await; // it may end by a reset
    assert!(received.len() <= 10_000, "{}", received.len());
    soon(writer).await.unwrap();
}

#[tokio::test]
async fn without_a_registrar_connections_are_closed_until_there_is_one() {
    let running = start(None, Limits::default()).await;
    assert!(is_closed(&mut running.connect().await).await);
    let (_vacant, place) = nobody();
    running.registrar.send_replace(Some(place));
    assert!(is_closed(&mut running.connect().await).await);
    let (listener, place) = registrar().await;
    running.registrar.send_replace(Some(place));
    let _pledge = running.connect().await;
    soon(listener.accept()).await.unwrap();
    running.stop().await;
}

/// Counts the warnings of a thread.
struct Warnings(Arc<core::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let is_own = event.metadata().target().starts_with("terse_onboard::join_proxy");
        if is_own && *event.metadata().level() == tracing::Level::WARN {
            self.0.fetch_add(1, Relaxed);
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn that_there_is_no_registrar_is_said_once() {
    let warnings = Arc::default();
    let _guard = tracing::subscriber::set_default(Warnings(Arc::clone(&warnings)));
    let running = start(None, Limits::default()).await;
    for times in 1..3 {
        for _ in 0..3 {
            assert!(is_closed(&mut running.connect().await).await);
        }
        assert_eq!(warnings.load(Relaxed), times);
        let (listener, place) = registrar().await;
        running.registrar.send_replace(Some(place));
        let mut pledge = running.connect().await;
        let (mut other, _) = soon(listener.accept()).await.unwrap();
        pledge.write_all(b"hello").await.unwrap();
        soon(other.read_exact(&mut [0; 5])).await.unwrap();
        running.registrar.send_replace(None);
    }
}

/// Finds what a test sends.
struct Told(tokio::sync::mpsc::Receiver<Change>);

impl Discovery for Told {
    async fn next(&mut self) -> Change {
        match self.0.recv().await {
            Some(change) => change,
            None => core::future::pending().await,
        }
    }
}

#[tokio::test]
async fn the_registrars_are_those_that_are_announced_in_their_order_until_they_are_gone() {
    let (tell, told) = tokio::sync::mpsc::channel(8);
    let (sender, mut registrars) = watch::channel(Vec::new());
    let (_failed, failures) = mpsc::channel(1);
    let following = tokio::spawn(follow(Told(told), sender, failures));
    let [a, b] = ["a.example", "b.example"].map(|host| Place::new(host, 8443));
    for change in [Change::Found(a.clone()), Change::Found(b.clone()), Change::Found(a.clone())] {
        tell.send(change).await.unwrap();
    }
    assert_eq!(*soon(registrars.wait_for(|places| places.len() == 2)).await.unwrap(), [a.clone(), b.clone()]);
    tell.send(Change::Gone(a)).await.unwrap();
    assert_eq!(*soon(registrars.wait_for(|places| places.len() == 1)).await.unwrap(), std::slice::from_ref(&b));
    tell.send(Change::Gone(b)).await.unwrap();
    soon(registrars.wait_for(Vec::is_empty)).await.unwrap();
    drop(registrars);
    soon(following).await.unwrap();
}

#[tokio::test]
async fn announcements_of_one_host_do_not_take_all_places_of_registrars() {
    let (tell, told) = tokio::sync::mpsc::channel(8);
    let (sender, mut registrars) = watch::channel(Vec::new());
    let (_failed, failures) = mpsc::channel(1);
    tokio::spawn(follow(Told(told), sender, failures));
    for port in 1..100 {
        tell.send(Change::Found(Place::new("flood.example", port))).await.unwrap();
    }
    let other = Place::new("registrar.example", 8443);
    tell.send(Change::Found(other.clone())).await.unwrap();
    let known = soon(registrars.wait_for(|places| places.contains(&other))).await.unwrap().clone();
    assert!(known.len() < MAX_REGISTRARS, "{known:?}");
}

#[tokio::test]
async fn registrars_that_cannot_be_reached_give_way_to_those_that_wait() {
    let (answering, real) = registrar().await;
    // At the address of the true one, and then everywhere.
    let at_its_host = (1..=5).map(|port| Place::new(real.host(), port));
    let elsewhere = (1..=5 * MAX_REGISTRARS as u16).map(|port| Place::new(format!("127.0.1.{port}"), 1));
    for false_ones in [at_its_host.collect::<Vec<_>>(), elsewhere.take(MAX_REGISTRARS + 5).collect()] {
        let (tell, told) = tokio::sync::mpsc::channel(64);
        let (sender, mut places) = watch::channel(Vec::new());
        let (failed, failures) = mpsc::channel(MAX_REGISTRARS);
        tokio::spawn(follow(Told(told), sender, failures));
        for place in false_ones.iter().chain([&real]) {
            tell.send(Change::Found(place.clone())).await.unwrap();
        }
        // It is behind all of them, and waits.
        let count = false_ones.len().min(4).max(false_ones.len() - 5);
        soon(places.wait_for(|places| places.len() == count)).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = listener.local_addr().unwrap();
        let (_stop, stopped) = watch::channel(false);
        let running = JoinProxy::with_registrars(listener, places, Limits::default()).report_failures(failed);
        tokio::spawn(running.run(stopped));
        let pledges = async {
            loop {
                is_closed(&mut TcpStream::connect(proxy).await.unwrap()).await;
            }
        };
        tokio::select! {
            accepted = soon(answering.accept()) => drop(accepted.unwrap()),
            () = pledges => {}
        }
    }
}

/// Starts a join proxy for these registrars, and returns its address with what keeps it alive.
async fn start_for(registrars: Vec<Place>, limits: Limits) -> (SocketAddr, watch::Sender<Vec<Place>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, places) = watch::channel(registrars);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        JoinProxy::with_registrars(listener, places, limits).run(stopped).await;
        drop(stop);
    });
    (address, sender)
}

/// Waits until a registrar has accepted the connection of a pledge that comes now.
async fn arrives(proxy: SocketAddr, registrar: &TcpListener) {
    let pledge = TcpStream::connect(proxy).await.unwrap();
    soon(registrar.accept()).await.unwrap();
    drop(pledge);
}

#[tokio::test]
async fn the_next_registrar_has_its_turn_when_one_cannot_be_reached_and_keeps_it() {
    let (_vacant, dead) = nobody();
    let (second, second_place) = registrar().await;
    let (third, third_place) = registrar().await;
    let (proxy, _places) = start_for(vec![dead, second_place, third_place], Limits::default()).await;
    for _ in 0..3 {
        arrives(proxy, &second).await;
    }
    // When that one fails, too, the one after it is next, and stays.
    drop(second);
    for _ in 0..3 {
        arrives(proxy, &third).await;
    }
}

/// A registrar whose queue of connections is full does not answer. Nothing else in a test can be silent like that.
async fn silent() -> (Place, impl Sized) {
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = silent.local_addr().unwrap();
    let silent = silent.listen(1).unwrap();
    let mut waiting = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(stream);
        assert!(waiting.len() < 64, "the queue has no end");
    }
    (Place::new(address.ip().to_string(), address.port()), (silent, waiting))
}

#[tokio::test]
async fn a_registrar_that_does_not_answer_costs_a_bounded_time() {
    let (silent_place, _silent) = silent().await;
    let (answering, place) = registrar().await;
    let limits = Limits { connect_one: Duration::from_millis(50), ..Limits::default() };
    let (proxy, _places) = start_for(vec![silent_place, place], limits).await;
    arrives(proxy, &answering).await;
}

#[tokio::test]
async fn however_many_registrars_are_silent_the_others_have_their_turn() {
    let (mut places, mut all_silent) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let (place, silent) = silent().await;
        places.push(place);
        all_silent.push(silent);
    }
    let (answering, place) = registrar().await;
    places.push(place);
    let limits = Limits {
        connect_one: Duration::from_millis(50),
        connect: Duration::from_millis(250), // for five of them
        ..Limits::default()
    };
    let (proxy, _places) = start_for(places, limits).await;
    assert!(is_closed(&mut TcpStream::connect(proxy).await.unwrap()).await);
    // Each pledge goes on where the last one has ended. On a busy machine that is not far.
    for _ in 0..6 {
        let mut pledge = TcpStream::connect(proxy).await.unwrap();
        tokio::select! {
            accepted = answering.accept() => return drop(accepted.unwrap()),
            closed = is_closed(&mut pledge) => assert!(closed),
        }
    }
    panic!("the others never have their turn");
}

#[tokio::test]
async fn registrars_that_are_announced_later_are_tried_too() {
    let (_vacant, dead) = nobody();
    let (proxy, places) = start_for(vec![dead.clone()], Limits::default()).await;
    assert!(is_closed(&mut TcpStream::connect(proxy).await.unwrap()).await);
    let (answering, place) = registrar().await;
    places.send_replace(vec![dead, place]);
    arrives(proxy, &answering).await;
}
