use rustix::io::Errno;

use super::*;
use crate::deadline::Deadline;

fn loopback(last: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, last], 5684))
}

#[tokio::test]
async fn a_name_that_has_no_addresses_at_the_moment_keeps_those_before() {
    let (there, gone) = (Place::new("127.0.0.1", 5684), Place::new("nowhere.invalid", 5684));
    let mut known = HashMap::from([(gone.clone(), vec![loopback(7), loopback(8)])]);
    look_up(&[there.clone(), gone.clone()], &mut known).await;
    assert_eq!(known[&there], [loopback(1)]);
    assert_eq!(known[&gone], [loopback(7), loopback(8)]);
}

#[tokio::test]
async fn all_addresses_are_in_the_order_of_the_registrars_and_each_is_there_once() {
    let places = [("127.0.0.2", 5684), ("127.0.0.1", 5684), ("127.0.0.2", 5684)];
    let (places, known) = watch::channel(places.map(|(host, port)| Place::new(host, port)).to_vec());
    let registrars = Registrars::start(known, None, Failover::FIRST_SILENCE);
    let deadline = Deadline::new();
    while registrars.pass_on().is_none() {
        deadline.wait("there is no address").await;
    }
    assert_eq!(registrars.pass_on(), Some(loopback(2)));
    registrars.failed(loopback(2));
    assert_eq!(registrars.pass_on(), Some(loopback(1)));
    registrars.failed(loopback(1));
    assert_eq!(registrars.pass_on(), Some(loopback(2)), "there are two");
    // Others are used when they are told.
    places.send_replace(vec![Place::new("127.0.0.3", 5684)]);
    let deadline = Deadline::new();
    while registrars.pass_on() != Some(loopback(3)) {
        deadline.wait(registrars.pass_on()).await;
    }
}

/// The first turn of the task has looked no name up yet.
#[tokio::test]
async fn an_address_is_used_while_names_are_still_looked_up() {
    let places = ["nowhere.invalid", "127.0.0.2", "::1"].map(|host| Place::new(host, 5684)).to_vec();
    let (_places, known) = watch::channel(places);
    let registrars = Registrars::start(known, None, Failover::FIRST_SILENCE);
    tokio::task::yield_now().await;
    assert_eq!(registrars.pass_on(), Some(loopback(2)));
}

#[tokio::test(start_paused = true)]
async fn names_are_looked_up_again_when_nobody_tells_of_registrars_any_more() {
    let (places, known) = watch::channel(vec![Place::new("127.0.0.1", 5684)]);
    let registrars = Registrars::start(known, None, Failover::FIRST_SILENCE);
    drop(places);
    let deadline = Deadline::new();
    while registrars.pass_on().is_none() {
        deadline.check("there is no address");
        tokio::task::yield_now().await; // which takes no time here
    }
    // Once because the sender is gone, and then after each pause.
    for _ in 0..3 {
        tokio::time::sleep(AGAIN).await;
        lock(&registrars.failover).replace(Vec::new());
        tokio::time::sleep(AGAIN + SOON).await;
        assert_eq!(registrars.pass_on(), Some(loopback(1)), "it was looked up again");
    }
}

#[tokio::test]
async fn a_machine_without_sockets_blames_no_registrar() {
    let (_places, known) = watch::channel(["127.0.0.1", "127.0.0.2"].map(|host| Place::new(host, 5684)).to_vec());
    let registrars = Registrars::start(known, None, Failover::FIRST_SILENCE);
    tokio::task::yield_now().await;
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        registrars.not_connected(loopback(1), &io::Error::from_raw_os_error(errno.raw_os_error()));
        assert_eq!(registrars.pass_on(), Some(loopback(1)), "{errno}");
    }
    registrars.not_connected(loopback(1), &io::Error::from_raw_os_error(Errno::NETUNREACH.raw_os_error()));
    assert_eq!(registrars.pass_on(), Some(loopback(2)));
}

#[tokio::test]
async fn a_registrar_that_is_given_up_is_reported() {
    let (_places, known) = watch::channel(["fe80::1%7", "127.0.0.2"].map(|host| Place::new(host, 5684)).to_vec());
    let (failures, mut reported) = mpsc::channel(4);
    let registrars = Registrars::start(known, Some(failures), Failover::FIRST_SILENCE);
    tokio::task::yield_now().await;
    let first: SocketAddr = "[fe80::1%7]:5684".parse().unwrap();
    assert_eq!(registrars.pass_on(), Some(first), "an interface has a number");
    assert!(reported.try_recv().is_err(), "nothing has failed");
    registrars.failed(first);
    assert_eq!(reported.try_recv(), Ok(Place::new("fe80::1%7", 5684)), "the place that was told");
    registrars.failed(first);
    assert!(reported.try_recv().is_err(), "another one is used");
}
