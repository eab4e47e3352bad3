//! Attempts that end without a voucher.

use super::*;

#[test]
fn an_error_ends_an_attempt_with_the_status_that_corresponds_to_it() {
    for (code, status) in [
        (Code::UNAUTHORIZED, 401),
        (Code::FORBIDDEN, 403),
        (Code::NOT_FOUND, 404),
        (Code::NOT_ACCEPTABLE, 406),
        (Code::UNSUPPORTED_CONTENT_FORMAT, 415),
        (Code::INTERNAL_SERVER_ERROR, 500),
        (Code::SERVICE_UNAVAILABLE, 503),
        (Code::DELETED, 204),
        (Code::VALID, 304),
    ] {
        let response = Response { max_age: None, ..Response::error(code, "text") };
        let mut world = World::new(Registrar::answering_at(Resource::RequestVoucher, response));
        assert_eq!(world.run_to_failure(), AttemptFailed::NoVoucher(status));
        assert_eq!(world.registrar.requests.len(), 1);
    }
}

#[test]
fn a_registrar_without_certificates_is_asked_for_nothing() {
    let mut world = World::new(Registrar { chain: Vec::new(), ..Registrar::new() });
    assert_eq!(world.run_to_failure(), AttemptFailed::Certificates);
    let mut world = World::new(Registrar { chain: vec![b"\x30\x00".to_vec().into()], ..Registrar::new() });
    assert!(matches!(world.run_to_failure(), AttemptFailed::Request(_)));
    assert!(world.registrar.requests.is_empty());
}
