//! How many certification requests of a device are passed on to an EST server, and how often.

use terse_brski::est::CsrAttributes;

use super::est_server::with_est;
use super::scripted_est::EstScript;
use super::world::{SERIAL, ahead, refused, text};
use crate::deadline::Deadline;

#[tokio::test]
async fn a_device_passes_so_many_requests_on_in_a_day() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    for number in 0..32 {
        let (script, status) = match number % 2 {
            0 => (EstScript::Honest, 200),
            _ => (EstScript::Status(403, "no"), 403),
        };
        est.script(script);
        let request = device.certification_request(&CsrAttributes::default());
        assert_eq!(pledge.enroll("simpleenroll", &request).await.status, status, "{number}");
    }
    let one_more = device.certification_request(&CsrAttributes::default());
    refused(&pledge.enroll("simpleenroll", &one_more).await, 429, "tomorrow");
    assert_eq!(est.requests().len(), 32);
    registrar.stop().await;
}

#[tokio::test]
async fn the_wait_after_each_refusal_is_twice_as_long() {
    let (world, est) = with_est("").await;
    est.script(EstScript::Status(403, "no"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let request = device.certification_request(&CsrAttributes::default());
    refused(&device.join(&registrar).await.enroll("simpleenroll", &request).await, 403, "no");
    registrar.stop().await;
    // After a minute, two and four; half a minute is left for a slow machine.
    for (seconds, asked) in [(30, 1), (70, 2), (160, 2), (200, 3), (410, 3), (450, 4)] {
        let registrar = world.start_at(ahead(seconds)).await;
        refused(&device.connect(&registrar).await.enroll("simpleenroll", &request).await, 403, "no");
        assert_eq!(est.requests().len(), asked, "{seconds}");
        registrar.stop().await;
    }
    // It ends at an hour.
    let database = world.database().await;
    sqlx::query("UPDATE passed_on SET refusals = 4000000000").execute(&database).await.unwrap();
    for (seconds, asked) in [(1_000, 5), (4_500, 5), (4_700, 6)] {
        let registrar = world.start_at(ahead(seconds)).await;
        refused(&device.connect(&registrar).await.enroll("simpleenroll", &request).await, 403, "no");
        assert_eq!(est.requests().len(), asked, "{seconds}");
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_device_waits_for_two_requests_at_a_time() {
    let (world, est) = with_est("").await;
    est.script(EstScript::Later(202, "100"));
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    let requests: Vec<_> = (0..3).map(|_| device.certification_request(&CsrAttributes::default())).collect();
    for (request, wait) in requests.iter().zip([100, 100, 60]) {
        let answer = pledge.enroll("simpleenroll", request).await;
        assert_eq!((answer.status, answer.retry_after), (202, Some(wait)));
    }
    assert_eq!(est.requests().len(), 2);
    registrar.stop().await;
    // The device has dropped the first two.
    let registrar = world.start_at(ahead(170)).await;
    let mut pledge = device.connect(&registrar).await;
    for request in requests.iter().rev() {
        assert_eq!(pledge.enroll("simpleenroll", request).await.status, 202);
    }
    assert_eq!(est.requests().len(), 4);
    registrar.stop().await;
}

#[tokio::test]
async fn a_certificate_too_many_is_refused_and_not_asked_for_again() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    est.script(EstScript::Slow);
    let request = device.certification_request(&CsrAttributes::default());
    let others = async {
        est.until_requested().await;
        let database = world.database().await;
        let mut transaction = database.begin().await.unwrap();
        let time = i64::try_from(super::world::now().as_secs()).unwrap();
        for number in 0..32_u8 {
            // All but the newest are forgotten when they end, and these last until after the registrar has started again.
            let insert = "INSERT INTO certificates SELECT $1, idevid, idevid, $1, idevid, $2, $3 FROM joinings";
            let (issued, end) = (time - i64::from(number), time + 86_400);
            let insert = sqlx::query(insert).bind(vec![number; 32]).bind(issued).bind(end);
            insert.execute(&mut *transaction).await.unwrap();
        }
        transaction.commit().await.unwrap();
        est.release(1);
    };
    let (mut answer, ()) = tokio::join!(pledge.enroll("simpleenroll", &request), others);
    // On a busy machine it may take longer than a device is kept waiting.
    let deadline = Deadline::new();
    while answer.status == 202 {
        deadline.wait(text(&answer)).await;
        answer = pledge.enroll("simpleenroll", &request).await;
    }
    refused(&answer, 429, "tomorrow");
    assert_eq!(pledge.enroll("simpleenroll", &request).await, answer);
    registrar.stop().await;
    // Also when it may be sent again.
    let registrar = world.start_at(ahead(3_700)).await;
    refused(&device.connect(&registrar).await.enroll("simpleenroll", &request).await, 429, "tomorrow");
    assert_eq!(est.requests().len(), 1);
    registrar.stop().await;
}

#[tokio::test]
async fn requests_that_came_to_nothing_are_forgotten() {
    let (world, est) = with_est("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.join(&registrar).await;
    for script in [EstScript::Honest, EstScript::Status(403, "no"), EstScript::Later(202, "5")] {
        est.script(script);
        pledge.enroll("simpleenroll", &device.certification_request(&CsrAttributes::default())).await;
    }
    registrar.stop().await;
    assert_eq!(world.count("passed_on").await, 2, "the third has its certificate");
    let registrar = world.start_at(ahead(6 * 86_400)).await;
    world.until_count("passed_on", 0).await;
    registrar.stop().await;
}
