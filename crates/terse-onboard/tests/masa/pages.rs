//! The operator of a MASA sees devices and vouchers on its status pages, and changes who may have a device.

use terse_onboard::masa::MasaConfig;

use super::browser::{Browser, encoded, next};
use super::scene::{Domain, SERIAL, Scene, refused};

/// A scene with status pages at loopback, and these further keys for them.
async fn scene(pages: &str) -> Scene {
    let mut scene = Scene::new().await;
    let path = scene.directory.path().join("masa/masa.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}\n[pages]\n{pages}\n")).unwrap();
    scene.config = MasaConfig::read(&path).unwrap();
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_blocked_unblocked_and_released_on_pages() {
    let scene = scene("listen = \"127.0.0.1:0\"").await;
    let masa = scene.start().await;
    let rival = Domain::new("Rival");
    assert_eq!(scene.ask(masa.address, &scene.request("a nonce")).await.status, 200);
    let mut browser = Browser::new(masa.pages.unwrap());
    let overview = browser.page("/").await;
    assert!(overview.contains("<strong>1</strong><a href=\"/vouchers\">"), "{overview}");
    assert!(browser.page("/vouchers").await.contains(SERIAL));
    let devices = browser.page("/devices?state=owned").await;
    let link = devices.split("href=\"").find(|link| link.starts_with("/device?serial=")).unwrap();
    let device = link.split('"').next().unwrap().replace("&amp;", "&");
    let page = browser.page(&device).await;
    for part in [SERIAL, "registered", "proximity", "<bdi>a nonce</bdi>", "plant"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let query = device.strip_prefix("/device?").unwrap().to_owned();
    let asked = scene.request_of(&rival, "another nonce");
    refused(&scene.ask(masa.address, &asked).await, 403, "belongs to another domain");

    for (change, state, status) in
        [("block", "blocked", 406), ("unblock", "registered", 403), ("release", "registered", 200)]
    {
        let confirm = browser.page(&format!("/device/{change}?{query}")).await;
        assert_ne!(scene.ask(masa.address, &asked).await.status, status, "a GET changes nothing");
        assert_eq!(browser.post(&format!("/device/{change}"), &query).await.status, 403, "without a token");
        let done = browser.submit(&confirm, &[]).await;
        assert_eq!((done.status, done.field("location")), (303, Some(&*device)), "{}", done.body);
        assert!(browser.page(&device).await.contains(&format!(">{state}</span>")), "{change}");
        assert_eq!(scene.ask(masa.address, &asked).await.status, status, "{change}");
    }
    assert_eq!(browser.get("/device/destroy?serial=x&issuer=").await.status, 404);
    assert_eq!(browser.get("/device?serial=none&issuer=").await.status, 404);
    masa.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_others_reach_need_authentication() {
    let scene = scene("listen = \"0.0.0.0:0\"").await;
    let mut service = terse_onboard::masa::MasaService::open(&scene.config).await.unwrap();
    let refused = service.listen_for_pages(&scene.config).await.unwrap_err().to_string();
    assert!(refused.contains("client_ca") && refused.contains("[[pages.user]]"), "{refused}");
    assert!(scene.config.check().await.unwrap_err().to_string().contains("client_ca"));
}

/// All serial numbers that the pages of a list have, in their order.
async fn walk(browser: &mut Browser, path: &str) -> Vec<String> {
    let (mut serials, mut path) = (Vec::new(), Some(path.to_owned()));
    while let Some(address) = path {
        let page = browser.page(&address).await;
        let rows = page.split("href=\"/device?serial=").skip(1);
        let of_page: Vec<_> =
            rows.map(|row| row.split("<bdi>").nth(1).unwrap().split('<').next().unwrap().to_owned()).collect();
        assert!(of_page.len() <= 50, "{address} has {}", of_page.len());
        serials.extend(of_page);
        path = next(&page);
    }
    serials
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_searched_have_pages_and_are_text() {
    let scene = scene("listen = \"127.0.0.1:0\"").await;
    let masa = scene.start().await;
    let database = scene.pool().await;
    let evil = "<script>alert(1)</script>\"\u{202e}";
    let mut expected = vec![SERIAL.to_owned(), "&lt;script&gt;alert(1)&lt;/script&gt;&quot;⟨U+202E⟩".to_owned()];
    let mut transaction = database.begin().await.unwrap();
    for number in 0..700_i64 {
        let serial = match number {
            0 => evil.to_owned(),
            _ if number % 2 == 0 => format!("Z-{number:03}"),
            _ => format!("a-{number:03}"),
        };
        expected.extend((number > 0).then(|| serial.clone()));
        let digest = [number.to_be_bytes(); 4].concat();
        for query in [
            "INSERT INTO devices (serial_number, idevid_issuer, is_registered, is_blocked, sold_to, owner, entries) \
             VALUES ($1, $2, 1, CASE WHEN $3 < 5 THEN 1 ELSE 0 END, '[]', NULL, 1)",
            "INSERT INTO audit_log (serial_number, idevid_issuer, number, date, domain_id, domain_key, assertion, \
             position, hash, request, voucher_sha256) VALUES ($1, $2, 1, $3, $2, $2, 'logged', $3 + 1, $2, $2, $2)",
            "INSERT INTO issued_vouchers (request, voucher, serial_number, idevid_issuer, number, expires_on) \
             VALUES ($2, $2, $1, $2, 1, $3)",
        ] {
            let query = sqlx::query(query).bind(&serial).bind(&digest).bind(number);
            query.execute(&mut *transaction).await.unwrap();
        }
    }
    for number in 2..=120_i64 {
        let query = "INSERT INTO audit_log (serial_number, idevid_issuer, number, date, domain_id, domain_key, assertion, \
                     position, hash, request, voucher_sha256) \
                     VALUES ('a-699', $1, $2, $2, $1, $1, 'verified', $2 + 1000, $1, $1, $1)";
        let query = sqlx::query(query).bind([699_i64.to_be_bytes(); 4].concat()).bind(number);
        query.execute(&mut *transaction).await.unwrap();
    }
    transaction.commit().await.unwrap();
    let mut browser = Browser::new(masa.pages.unwrap());
    // `<` is before letters in the order of bytes, and so is `&`, by which it is written.
    expected.sort();
    assert_eq!(walk(&mut browser, "/devices").await, expected, "each once, in the order of bytes");
    let with = |prefix: &str| expected.iter().filter(|serial| serial.starts_with(prefix)).cloned().collect::<Vec<_>>();
    for prefix in ["Z", "a-01", "a-011", "z", "%", "Z_"] {
        assert_eq!(walk(&mut browser, &format!("/devices?serial={}", encoded(prefix))).await, with(prefix), "{prefix}");
        assert_eq!(
            walk(&mut browser, &format!("/vouchers?serial={}", encoded(prefix))).await,
            with(prefix),
            "{prefix}"
        );
    }
    assert_eq!(walk(&mut browser, "/vouchers").await.len(), 700, "the device of the factory has none");
    assert_eq!(walk(&mut browser, "/devices?state=blocked").await.len(), 5);
    for path in ["/devices", "/vouchers", &format!("/devices?serial={}", encoded(evil))] {
        let page = browser.page(path).await;
        assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
    }
    let mut path = format!("/device?serial=a-699&issuer={}", format!("{:016x}", 699).repeat(4));
    let mut numbers = Vec::new();
    loop {
        let page = browser.page(&path).await;
        let rows = page.split(" data-head=\"Number\"><div>").skip(1);
        numbers.extend(rows.map(|row| row.split('<').next().unwrap().parse::<i64>().unwrap()));
        match next(&page) {
            Some(next) => path = next,
            None => break,
        }
    }
    assert!(numbers.iter().copied().eq((1..=120).rev()), "{numbers:?}");
    masa.stop().await;
}
