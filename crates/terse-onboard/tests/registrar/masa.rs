//! A MASA that is down, slow, or answers what it should not; and where a MASA URL may lead.

use terse_brski::artefact::Format;
use terse_brski::http::VOUCHER_CMS_JSON;
use terse_pki::IdevidOptions;

use super::scripted_masa::Script;
use super::world::{Device, SERIAL, World, ahead, now, refused};
use crate::vacant::Vacant;

#[tokio::test]
async fn what_a_masa_answers_has_its_status() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let cases = [
        (Script::Status(403, "the device is not yours"), 403, "it says: the device is not yours"),
        (Script::Status(404, "unknown device"), 404, "it says: unknown device"),
        (Script::Status(406, "no such format"), 406, "it says: no such format"),
        // A pledge would take that for an attack.
        (Script::Status(401, "who are you?"), 403, "it says: who are you?"),
        (Script::Status(400, "what?"), 502, "it says: what?"),
        (Script::Status(403, "\u{1b}[2J"), 403, ""),
        (Script::Answer("text/html", b"<html>".to_vec()), 502, "no voucher of an accepted type"),
        (Script::Answer(VOUCHER_CMS_JSON, b"garbage".to_vec()), 502, "voucher"),
        (Script::Answer(VOUCHER_CMS_JSON, vec![0x30; 16_385]), 502, "too long"),
        (Script::Redirect("https://elsewhere.example/".into()), 502, ""),
    ];
    for (script, status, part) in cases {
        world.masa.script(script.clone());
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        let before = world.masa.requests().len();
        let answer = pledge.request_voucher(&request).await;
        refused(&answer, status, part);
        assert!(!answer.body.contains(&0x1b));
        // The same request has the same answer, and the MASA is left alone.
        assert_eq!(pledge.request_voucher(&request).await, answer, "{script:?}");
        assert_eq!(world.masa.requests().len(), before + 1);
    }
    assert_eq!(world.masa.issued(), 0);
    assert!(world.operator().await.devices().await.unwrap().is_empty());
    registrar.stop().await;
}

#[tokio::test]
async fn a_masa_that_cannot_answer_now_is_asked_the_same_again() {
    for format in Format::ALL {
        let world = World::new().await;
        let registrar = world.start().await;
        let device = world.device(SERIAL).of(format);
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        world.masa.script(Script::Status(503, "not now"));
        for _ in 0..3 {
            let answer = pledge.request_voucher(&request).await;
            assert_eq!(answer.status, 202);
            assert!(matches!(answer.retry_after, Some(5 | 30)));
        }
        assert_eq!(world.masa.requests().len(), 1, "it is not asked more often");
        registrar.stop().await;
        world.masa.script(Script::Honest);
        let registrar = world.start_at(ahead(120)).await;
        let mut pledge = device.connect(&registrar).await;
        assert_eq!(pledge.request_voucher(&request).await.status, 200);
        let requests = world.masa.requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0], requests[1], "one request of the registrar");
        registrar.stop().await;
    }
}

#[tokio::test]
async fn a_masa_that_is_busy_is_asked_the_same_again_when_it_says() {
    let world = World::new().await;
    let device = world.device(SERIAL);
    let registrar = world.start().await;
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    world.masa.script(Script::Busy(60));
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(60)));
    registrar.stop().await;
    world.masa.script(Script::Honest);
    for (seconds, status, requests) in [(5, 202, 1), (90, 200, 2)] {
        let registrar = world.start_at(ahead(seconds)).await;
        let mut pledge = device.connect(&registrar).await;
        assert_eq!(pledge.request_voucher(&request).await.status, status);
        assert_eq!(world.masa.requests().len(), requests);
        registrar.stop().await;
    }
    assert_eq!(world.masa.requests()[0], world.masa.requests()[1], "one request of the registrar");
}

#[tokio::test]
async fn a_masa_that_has_refused_or_is_away_for_hours_is_asked_anew() {
    let world = World::new().await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    world.masa.script(Script::Status(403, "not yet sold"));
    refused(&pledge.request_voucher(&request).await, 403, "not yet sold");
    registrar.stop().await;
    world.masa.script(Script::Status(503, "not now"));
    for seconds in [120, 13 * 3_600] {
        let registrar = world.start_at(ahead(seconds)).await;
        let mut pledge = device.connect(&registrar).await;
        assert_eq!(pledge.request_voucher(&request).await.status, 202);
        registrar.stop().await;
    }
    let requests = world.masa.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0] != requests[1] && requests[1] != requests[2] && requests[0] != requests[2]);
}

#[tokio::test]
async fn a_masa_that_is_down_keeps_the_pledge_waiting() {
    let world = World::new().await;
    let nobody = Vacant::new();
    let gone = nobody.address;
    world.change(&world.masa.address.to_string(), &gone.to_string());
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(1)));
    registrar.stop().await;

    // It is there again, under a name.
    let port = world.masa.address.port();
    world.change(&gone.to_string(), &format!("localhost:{port}"));
    let registrar = world.start_at(ahead(120)).await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.request_voucher(&request).await.status, 200);
    registrar.stop().await;
}

#[tokio::test]
async fn a_slow_masa_holds_up_nobody() {
    let world = World::new().await;
    world.change("hold_milliseconds = 30000", "hold_milliseconds = 1");
    world.masa.script(Script::Slow);
    let registrar = world.start().await;
    let (device, other) = (world.device(SERIAL), world.device("WI-3006"));
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    let answer = pledge.request_voucher(&request).await;
    assert_eq!((answer.status, answer.retry_after), (202, Some(5)));
    let mut pledge_2 = other.connect(&registrar).await;
    let request_2 = other.voucher_request(&pledge_2);
    assert_eq!(pledge_2.request_voucher(&request_2).await.status, 202);
    assert_eq!(pledge.get("/health").await.status, 200);
    // The pledge goes, and its voucher comes.
    drop((pledge, pledge_2));
    world.masa.release();
    world.masa.release();
    let mut pledge = device.connect(&registrar).await;
    pledge.until_voucher(&request).await;
    other.connect(&registrar).await.until_voucher(&request_2).await;
    assert_eq!((world.masa.requests().len(), world.masa.issued()), (2, 2));
    registrar.stop().await;
}

#[tokio::test]
async fn the_name_and_the_ca_of_the_masa_count() {
    let world = World::new().await;
    let other = super::world::authority("Other");
    std::fs::write(world.folder.path().join("registrar/other.pem"), other.root_pem()).unwrap();
    world.change("devices = \"all\"", "devices = \"all\"\nmasa_anchors = \"other.pem\"");
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    assert!(world.masa.requests().is_empty());
    registrar.stop().await;

    // 127.0.0.2 is the same host, and no name of its certificate.
    world.change("masa_anchors = \"other.pem\"", "");
    let port = world.masa.address.port();
    world.change(&world.masa.address.to_string(), &format!("127.0.0.2:{port}"));
    let registrar = world.start_at(ahead(120)).await;
    let mut pledge = device.connect(&registrar).await;
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    assert!(world.masa.requests().is_empty());
    registrar.stop().await;
}

#[tokio::test]
async fn a_masa_url_of_a_certificate_leads_to_no_local_address() {
    let world = World::new().await;
    let url = format!("masa_url = \"{}\"", world.masa.address);
    world.change(&url, "");
    let registrar = world.start().await;
    let masa_port = world.masa.address.port();
    let own = registrar.address.to_string();
    for (masa_url, status, part) in [
        (format!("127.0.0.2:{masa_port}"), 403, "not public"),
        (format!("localhost:{masa_port}"), 403, "local network"),
        (format!("[::1]:{masa_port}"), 403, "not public"),
        (format!("[::ffff:127.0.0.2]:{masa_port}"), 403, "not public"),
        ("10.0.0.1".to_owned(), 403, "not public"),
        (own, 403, "this registrar"),
        (world.masa.address.to_string(), 403, "this registrar"),
        ("registrar.plant.example".to_owned(), 403, "this registrar"),
    ] {
        let options = IdevidOptions::new(SERIAL, now().as_secs() - 3_600);
        let options = IdevidOptions { masa_url: Some(masa_url.parse().unwrap()), ..options };
        let device = Device::with(&world.maker, &options);
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        refused(&pledge.request_voucher(&request).await, status, part);
    }
    assert!(world.masa.requests().is_empty());
    registrar.stop().await;
}
