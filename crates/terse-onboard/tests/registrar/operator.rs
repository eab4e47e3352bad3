//! An operator lets devices in, and keeps them out.

use terse_brski::est::CsrAttributes;
use terse_onboard::registrar::{OperatorError, PendingReason, Rejection};

use super::world::{SERIAL, World, ahead, refused};

#[tokio::test]
async fn a_device_waits_until_it_is_accepted() {
    let world = World::with("devices = \"ask\"").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    for _ in 0..2 {
        let answer = pledge.request_voucher(&request).await;
        assert_eq!((answer.status, answer.retry_after), (202, Some(60)));
    }
    let operator = world.operator().await;
    let pending = operator.pending().await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!((pending[0].serial_number.as_str(), &pending[0].reason), (SERIAL, &PendingReason::Join));
    assert!(world.masa.requests().is_empty(), "the MASA is not told before");

    assert!(matches!(operator.accept("WI-3006", None).await, Err(OperatorError::Unknown(_))));
    operator.accept(SERIAL, None).await.unwrap();
    assert!(operator.pending().await.unwrap().is_empty());
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    // A new request of the same device is as good.
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_rejected_device_gets_nothing_any_more() {
    let world = World::with("devices = \"ask\"").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    let operator = world.operator().await;
    operator.reject(SERIAL, None).await.unwrap();
    refused(&pledge.request_voucher(&request).await, 406, "rejected");
    let again = device.voucher_request(&pledge);
    refused(&pledge.request_voucher(&again).await, 406, "rejected");
    assert!(operator.pending().await.unwrap().is_empty());
    assert!(world.masa.requests().is_empty());

    // An operator may change the decision, and change it back.
    operator.accept(SERIAL, None).await.unwrap();
    let ldevid = device.enrol(&registrar).await;
    operator.reject(SERIAL, None).await.unwrap();
    let request = device.certification_request(&CsrAttributes::default());
    let mut member = device.connect_with(&registrar, &ldevid).await;
    refused(&member.enroll("simplereenroll", &request).await, 406, "rejected");
    refused(&pledge.enroll("simpleenroll", &request).await, 406, "rejected");
    refused(&pledge.request_voucher(&again).await, 406, "rejected");
    assert!(operator.devices().await.unwrap()[0].is_rejected);
    registrar.stop().await;
}

#[tokio::test]
async fn a_rejected_device_is_known_when_its_requests_are_forgotten() {
    let world = World::with("devices = \"ask\"").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    let rejected = world.operator().await.reject(SERIAL, None).await.unwrap();
    assert_eq!(rejected, Rejection::Rejected("maker".into()));
    registrar.stop().await;
    let registrar = world.start_at(ahead(6 * 86_400)).await;
    world.until_count("requests", 0).await;
    assert_eq!(world.operator().await.accept(SERIAL, None).await.unwrap(), "maker");
    registrar.stop().await;
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_list_needs_no_operator() {
    let world = World::with("devices = \"list\"\nserial_numbers = [\"WI-3005\"]").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    let other = world.device("WI-3006");
    let mut pledge = other.connect(&registrar).await;
    let request = other.voucher_request(&pledge);
    refused(&pledge.request_voucher(&request).await, 404, "not among");
    assert!(world.operator().await.pending().await.unwrap().is_empty());
    registrar.stop().await;
}
