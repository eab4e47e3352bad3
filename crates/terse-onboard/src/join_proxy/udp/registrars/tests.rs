use super::*;

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
    let registrars = Registrars::start(known, Failover::FIRST_SILENCE);
    while registrars.pass_on().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(registrars.pass_on(), Some(loopback(2)));
    registrars.failed(loopback(2));
    assert_eq!(registrars.pass_on(), Some(loopback(1)));
    registrars.failed(loopback(1));
    assert_eq!(registrars.pass_on(), Some(loopback(2)), "there are two");
    // Others are used when they are told.
    places.send_replace(vec![Place::new("127.0.0.3", 5684)]);
    while registrars.pass_on() != Some(loopback(3)) {
        tokio::task::yield_now().await;
    }
}
