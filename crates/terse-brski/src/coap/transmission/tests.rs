use super::*;

#[test]
fn the_defaults_give_the_times_of_the_rfc() {
    // RFC 7252, 4.8.2
    let parameters = Transmission::default();
    assert_eq!(parameters.max_transmit_wait_ms(), 93_000);
    assert_eq!(parameters.exchange_lifetime_ms(), 247_000);
}

#[test]
fn extreme_parameters_do_not_overflow() {
    let parameters = Transmission { ack_timeout_ms: u32::MAX, ack_random_percent: u32::MAX, max_retransmit: u8::MAX };
    let mut rng = terse_testkit::rng::SeededRng::new(1);
    let mut retransmission = Retransmission::begin(Instant(u64::MAX - 1), &parameters, &mut rng).unwrap();
    let retransmissions = (0..100).take_while(|_| retransmission.handle_timeout(Instant(u64::MAX))).count();
    assert_eq!(retransmissions, 10);
    let zero = Transmission { ack_timeout_ms: 0, ack_random_percent: 0, max_retransmit: 0 };
    let mut retransmission = Retransmission::begin(Instant(0), &zero, &mut rng).unwrap();
    assert_eq!(retransmission.deadline(), Instant(1));
    assert!(retransmission.is_due());
    retransmission.sent();
    assert!(!retransmission.is_due());
    assert!(retransmission.handle_timeout(Instant(0)) && !retransmission.handle_timeout(Instant(1)));
}
