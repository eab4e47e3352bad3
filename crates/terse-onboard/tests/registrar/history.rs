//! What is kept of old requests, and what an audit log is compared with.

use sqlx::Row as _;

use super::world::{SERIAL, World, ahead};

const DAY: u64 = 86_400;

#[tokio::test]
async fn a_request_is_repeated_after_a_newer_one_and_goes_after_some_days() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let requests = [device.voucher_request(&pledge), device.voucher_request(&pledge)];
    let mut vouchers = Vec::new();
    for request in &requests {
        vouchers.push(pledge.request_voucher(request).await);
        assert_eq!(vouchers.last().unwrap().status, 200);
    }
    assert_eq!(pledge.request_voucher(&requests[0]).await, vouchers[0], "its device has a newer one");
    registrar.stop().await;

    let registrar = world.start_at(ahead(6 * DAY)).await;
    world.until_count("requests", 1).await;
    registrar.stop().await;
    assert_eq!(world.count("history").await, 2);

    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.request_voucher(&requests[1]).await, vouchers[1], "the newest one stays");
    device.join(&registrar).await;
    let devices = world.operator().await.devices().await.unwrap();
    assert_eq!(devices[0].audit, "good", "the nonces of requests that went are known");
    registrar.stop().await;
}

#[tokio::test]
async fn requests_without_an_answer_go_after_some_days() {
    let world = World::with("devices = \"ask\"").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    registrar.stop().await;
    for (days, left) in [(4, 1), (6, 0)] {
        let registrar = world.start_at(ahead(days * DAY)).await;
        world.until_count("requests", left).await;
        registrar.stop().await;
    }
}

#[tokio::test]
async fn the_nonces_of_a_device_are_bounded_and_older_ones_are_nobodys() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    device.join(&registrar).await;
    let database = world.database().await;
    let mut transaction = database.begin().await.unwrap();
    for number in 2..1_100_i64 {
        let one = "INSERT INTO history (request, idevid, serial_number, manufacturer, number, nonce) \
                   SELECT $1, idevid, serial_number, manufacturer, $2, $1 FROM joinings";
        let mut nonce = [0; 32];
        nonce[..8].copy_from_slice(&number.to_be_bytes());
        sqlx::query(one).bind(&nonce[..]).bind(number).execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
    assert_eq!(world.count("history").await, 1_099);

    // The audit log still names the first nonce.
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    assert_eq!(pledge.voucher_status(true).await.status, 200);
    let refused = pledge.until_decided("/.well-known/est/cacerts").await;
    assert_eq!(refused.status, 403, "{}", super::world::text(&refused));
    let rows =
        sqlx::query("SELECT MIN(number), MAX(number), COUNT(*) FROM history").fetch_one(&database).await.unwrap();
    let [oldest, newest, count] = [0, 1, 2].map(|column| rows.get::<i64, _>(column));
    assert_eq!((oldest, newest, count), (77, 1_100, 1_024));
    world.operator().await.accept(SERIAL, None).await.unwrap();
    assert_eq!(pledge.until_decided("/.well-known/est/cacerts").await.status, 200);
    registrar.stop().await;
}
