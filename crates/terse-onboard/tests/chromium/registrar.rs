//! The pages of a registrar.

use terse_onboard::pages::hash_password;

use super::driver::Chromium;
use super::hand::Hand;
use super::walk::Site;
use super::world::{Device, Pledge, Running, World, now};

/// What somebody could call a device.
pub(crate) const EVIL: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}&amp;";

/// How [`EVIL`] is shown.
pub(crate) const SHOWN: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>⟨U+202E⟩&amp;";

const PASSWORD: &str = "correct horse battery";

/// A domain that asks its operator, with these keys for its pages.
async fn world(pages: &str) -> World {
    let world = World::with("devices = \"ask\"").await;
    world.change("[enrolment]", &format!("[pages]\n{pages}\n[enrolment]"));
    world
}

/// Sends a request of a device, which waits.
async fn ask(device: &Device, registrar: &Running) -> (Pledge, Vec<u8>) {
    let mut pledge = device.connect(registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    (pledge, request)
}

/// Stores devices in all states, of which some have hostile names and some long ones.
async fn fill(world: &World) {
    let database = world.database().await;
    let (long, time) = ("W".repeat(64), i64::try_from(now().as_secs()).unwrap());
    for (number, serial, state) in [
        (1, EVIL, "awaiting-operator"),
        (2, &*long, "awaiting-operator"),
        (3, EVIL, "answered"),
        (4, &*long, "answered"),
        (5, "WI-3001", "superseded"),
        (6, "WI-3002", "awaiting-operator"),
    ] {
        let has_joined = (3..=5).contains(&number);
        for query in if has_joined { &QUERIES[..] } else { &QUERIES[..1] } {
            let query = sqlx::query(query).bind(vec![number; 32]).bind(serial).bind(time).bind(state);
            query.execute(&database).await.unwrap();
        }
    }
    let reject = "INSERT INTO decisions VALUES ($1, 'WI-3002', 'maker', 0, $2)";
    sqlx::query(reject).bind(vec![6; 32]).bind(time).execute(&database).await.unwrap();
}

/// A request of a device, and what it has said and got: with its digest, its name, the time and the state of the request.
const QUERIES: [&str; 5] = [
    "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, masa, received, state, failure_status, \
     failure_text) VALUES ($1, $1, $2, $2, $1, $2 || $2, $3, $4, 403, $2 || $2)",
    "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_reason, audit_tried, ldevid) \
     VALUES ($1, $2, 'maker', $1, $3, CASE WHEN $4 = 'answered' THEN 'bad' ELSE 'good' END, $2 || $2, $3, $1)",
    "INSERT INTO certificates (request, client, idevid, certificate_sha256, certificate, issued, not_after) \
     VALUES ($1, $1, $1, $1, $1, $3 - 900000, CASE WHEN $4 = 'answered' OR $2 = '' THEN $3 + 90000 ELSE $3 - 90000 END)",
    "INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention) \
     VALUES ($1, 1, $3, $4, 'idevid', 0, $2 || ' ' || $2, 1)",
    "INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention) \
     VALUES ($1, 2, $3, $4, 'idevid', 1, $2, 0)",
];

/// The MASA is gone, and one device waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_whole_for_a_user_who_logs_in_over_tls() {
    let Some(chromium) = Chromium::start() else { return };
    let hash = hash_password(PASSWORD).unwrap();
    let name = format!("alice <a> {}", "W".repeat(64));
    let user = format!("listen = \"0.0.0.0:0\"\n[[pages.user]]\nname = \"{name}\"\npassword_hash = \"{hash}\"");
    let world = world(&user).await;
    let registrar = world.start().await;
    fill(&world).await;
    ask(&world.device("WI-3005"), &registrar).await;
    let (mut waiting, request) = ask(&world.device("WI-3006"), &registrar).await;
    world.masa.go().await;
    world.operator().await.accept("WI-3006", None).await.unwrap();
    assert_eq!(waiting.request_voucher(&request).await.status, 202);

    let origin = format!("https://127.0.0.1:{}", registrar.pages.unwrap().port());
    let site = Site { chromium: &chromium, origin, name: "registrar" };
    assert_eq!(site.visit("/"), Vec::<String>::new(), "the page to log in");
    for (password, status) in [("wrong horse battery", 403), (PASSWORD, 200)] {
        Hand::Keyboard.write(&chromium, "Name", &name);
        Hand::Keyboard.write(&chromium, "Password", password);
        Hand::Keyboard.follow(&chromium, "Log in");
        assert_eq!(site.check(&format!("/login-{status}"), status), Vec::<String>::new());
    }
    assert!(chromium.text().contains(&format!("You are {name}")), "{}", chromium.text());
    assert!(chromium.text().contains("out of reach"), "{}", chromium.text());
    site.walk(include_str!("../../src/registrar/pages.rs"));
    Hand::Keyboard.follow(&chromium, "Waiting");
    assert!(chromium.text().contains(SHOWN), "{}", chromium.text());
    Hand::Mouse.follow(&chromium, "Log out");
    assert!(!chromium.text().contains("alice"));
    chromium.go(&format!("{}/waiting", site.origin));
    assert!(chromium.text().contains("Password") && !chromium.text().contains(SHOWN));
    drop(chromium);
    registrar.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_are_accepted_rejected_and_found_by_mouse_and_by_keyboard() {
    let Some(chromium) = Chromium::start() else { return };
    let world = world("listen = \"127.0.0.1:0\"").await;
    let registrar = world.start().await;
    fill(&world).await;
    let origin = format!("http://localhost:{}", registrar.pages.unwrap().port());
    let site = Site { chromium: &chromium, origin, name: "registrar" };
    for hand in [Hand::Mouse, Hand::Keyboard] {
        let wanted = [format!("A-{hand:?}"), format!("R-{hand:?}")];
        for (serial, [link, button, state], status) in [
            (&wanted[0], ["Accept…", "Accept the device", "accepted on"], 200),
            (&wanted[1], ["Reject…", "Reject the device", "rejected on"], 406),
        ] {
            let (mut pledge, request) = ask(&world.device(serial), &registrar).await;
            chromium.go(&site.origin);
            hand.follow(&chromium, "wait for a decision");
            hand.follow(&chromium, serial);
            hand.follow(&chromium, link);
            assert_eq!(pledge.request_voucher(&request).await.status, 202, "nothing is decided yet");
            hand.follow(&chromium, button);
            assert!(chromium.text().contains(state), "{}", chromium.text());
            assert_eq!(pledge.request_voucher(&request).await.status, status);
        }
        // Of the two it finds one by its state, and of all those with hostile names by that.
        hand.follow(&chromium, "Devices");
        hand.choose(&chromium, "State", "Rejected");
        hand.follow(&chromium, "Search");
        let text = chromium.text();
        assert!(text.contains(&wanted[1]) && !text.contains(&wanted[0]), "{text}");
        hand.choose(&chromium, "State", "All");
        hand.write(&chromium, "Serial number begins with", &wanted[0]);
        hand.follow(&chromium, "Search");
        let text = chromium.text();
        assert!(text.contains(&wanted[0]) && !text.contains(&wanted[1]), "{text}");
        hand.write(&chromium, "Serial number begins with", "<script>alert(1)</script>\"'>");
        hand.follow(&chromium, "Search");
        let text = chromium.text();
        assert!(text.contains(SHOWN) && !text.contains(&wanted[0]), "{text}");
        hand.follow(&chromium, SHOWN);
        assert!(chromium.text().contains("waits for a decision"), "{}", chromium.text());
    }
    let noticed = chromium.noticed();
    assert!(noticed.statuses.iter().all(|status| *status == 200), "{noticed:?}");
    assert!(noticed.console.is_empty(), "{noticed:?}");
    drop(chromium);
    registrar.stop().await;
}
