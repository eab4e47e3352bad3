//! The pages of a MASA.

use terse_onboard::masa::MasaConfig;

use super::driver::Chromium;
use super::hand::Hand;
use super::registrar::{EVIL, SHOWN};
use super::scene::{Running, SERIAL, Scene, now};
use super::walk::Site;

/// A scene with status pages at loopback, and a device that has had a voucher.
async fn scene() -> (Scene, Running) {
    let mut scene = Scene::new().await;
    let path = scene.directory.path().join("masa/masa.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[pages]\nlisten = \"127.0.0.1:0\"\n")).unwrap();
    scene.config = MasaConfig::read(&path).unwrap();
    let masa = scene.start().await;
    fill(&scene).await;
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    (scene, masa)
}

fn site<'a>(chromium: &'a Chromium, masa: &Running) -> Site<'a> {
    Site { chromium, origin: format!("http://localhost:{}", masa.pages.unwrap().port()), name: "masa" }
}

/// Stores devices in all states, of which some have hostile names and some long ones; the last one has an audit log of two pages.
async fn fill(scene: &Scene) {
    let database = scene.pool().await;
    let time = i64::try_from(now()).unwrap();
    let long = "W".repeat(64);
    let devices = [(1_i64, EVIL, 1), (2, &*long, 1), (3, "WI-3001", 1), (4, "WI-3002", MANY)];
    for (number, serial, entries) in devices {
        let device = "INSERT INTO devices (serial_number, idevid_issuer, is_registered, is_blocked, sold_to, owner, entries) \
                      VALUES ($2, $1, CASE WHEN $3 = 3 THEN 0 ELSE 1 END, CASE WHEN $3 = 2 THEN 1 ELSE 0 END, $4, \
                      CASE WHEN $3 = 1 THEN $1 END, $5)";
        let sold_to = serde_json::json!([{ "customer": serial }]).to_string();
        let device = sqlx::query(device).bind(vec![u8::try_from(number).unwrap(); 32]).bind(serial).bind(number);
        device.bind(sold_to).bind(entries).execute(&database).await.unwrap();
        for entry in 1..=entries {
            let digest = [number, entry, number, entry].map(i64::to_be_bytes).concat();
            let position = 1_000 * number + entry;
            let issuer = vec![u8::try_from(number).unwrap(); 32];
            let log = "INSERT INTO audit_log (serial_number, idevid_issuer, number, date, domain_id, domain_key, nonce, assertion, \
                       position, hash, request, voucher_sha256) VALUES ($2, $3, $4, $5, $1, $1, $6, 'logged', $7, $1, $1, $1)";
            let log = sqlx::query(log).bind(&digest).bind(serial).bind(&issuer).bind(entry).bind(time + entry);
            let nonce = (entry % 2 == 1).then(|| serial.as_bytes().to_vec());
            log.bind(nonce).bind(position).execute(&database).await.unwrap();
            let voucher = "INSERT INTO issued_vouchers (request, voucher, serial_number, idevid_issuer, number, expires_on) \
                           VALUES ($1, $1, $2, $3, $4, $5)";
            let voucher = sqlx::query(voucher).bind(&digest).bind(serial).bind(&issuer).bind(entry);
            voucher.bind(time + 86_400).execute(&database).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_whole() {
    let Some(chromium) = Chromium::start() else { return };
    let (scene, masa) = scene().await;
    let site = site(&chromium, &masa);
    site.walk(include_str!("../../src/masa/pages.rs"));
    site.visit("/devices");
    assert!(chromium.text().contains(SHOWN), "{}", chromium.text());
    // What is not there is a page as all others.
    chromium.go(&format!("{}/none", site.origin));
    assert_eq!(site.check("/none", 404), Vec::<String>::new());
    drop(chromium);
    masa.stop().await;
    drop(scene);
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_are_blocked_unblocked_released_and_found_by_mouse_and_by_keyboard() {
    let Some(chromium) = Chromium::start() else { return };
    let (scene, masa) = scene().await;
    let site = site(&chromium, &masa);
    for hand in [Hand::Mouse, Hand::Keyboard] {
        chromium.go(&site.origin);
        hand.follow(&chromium, "Devices");
        hand.write(&chromium, "Serial number begins with", "WI");
        hand.follow(&chromium, "Search");
        assert!(!chromium.text().contains(SHOWN) && chromium.text().contains("WI-3001"), "{}", chromium.text());
        hand.follow(&chromium, SERIAL);
        for (link, button, state, status) in [
            ("Block…", "Block the device", "blocked", 406),
            ("Unblock…", "Unblock the device", "registered", 200),
            ("Release…", "Release the device", "nobody", 200),
        ] {
            hand.follow(&chromium, link);
            hand.follow(&chromium, button);
            assert!(chromium.text().contains(state), "{}", chromium.text());
            let again = scene.request(&format!("{hand:?} {button}"));
            assert_eq!(scene.ask(masa.address, &again).await.status, status, "{button}");
        }
        // Two requests were answered. Their vouchers are found, and so is the log of another device, page by page.
        hand.follow(&chromium, "Vouchers");
        hand.write(&chromium, "Serial number begins with", SERIAL);
        hand.follow(&chromium, "Search");
        let text = chromium.text();
        assert!(text.contains(&format!("{hand:?} Release the device")) && !text.contains("WI-3002"), "{text}");
        hand.follow(&chromium, "Devices");
        hand.choose(&chromium, "State", "Blocked");
        hand.follow(&chromium, "Search");
        assert!(!chromium.text().contains("WI-3002"), "{}", chromium.text());
        hand.choose(&chromium, "State", "Belong to nobody");
        hand.follow(&chromium, "Search");
        hand.follow(&chromium, "WI-3002");
        hand.follow(&chromium, "Next page");
        assert!(chromium.run("return location.search", &serde_json::json!([])).as_str().unwrap().contains("before="));
        assert!(chromium.text().contains("Vouchers, the newest first"), "{}", chromium.text());
    }
    let noticed = chromium.noticed();
    assert!(noticed.statuses.iter().all(|status| *status == 200), "{noticed:?}");
    assert!(noticed.console.is_empty(), "{noticed:?}");
    drop(chromium);
    masa.stop().await;
}

/// More entries than a page has.
const MANY: i64 = 60;
