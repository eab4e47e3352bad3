//! An operator sees the registrar on its status pages, and decides there.

use std::sync::Arc;

use terse_net::Clock;
use terse_net::tokio::Connector;
use terse_onboard::pages::hash_password;
use terse_onboard::registrar::{PendingReason, Service};
use terse_pki::LeafOptions;
use terse_tls::{CertificateType, ClientConfig, Trust};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::browser::{Answer, Browser, attribute, encoded, next};
use super::world::{PROVIDER, Pledge, Running, SERIAL, World, ahead, authority, now, tls, validity};
use crate::deadline::soon;

/// A domain that asks its operator, with status pages at loopback and these further keys for them.
async fn world(pages: &str) -> World {
    let world = World::with("devices = \"ask\"").await;
    world.change("[enrolment]", &format!("[pages]\nlisten = \"127.0.0.1:0\"\n{pages}\n[enrolment]"));
    world
}

fn browser(registrar: &Running) -> Browser {
    Browser::new(registrar.pages.unwrap())
}

/// A device that waits for the operator.
async fn ask(world: &World, registrar: &Running) -> (Pledge, Vec<u8>) {
    let device = world.device(SERIAL);
    let mut pledge = device.connect(registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);
    (pledge, request)
}

fn links<'a>(page: &'a str, path: &str) -> Vec<&'a str> {
    let links = page.split("<a ").skip(1).filter_map(|link| link.split("href=\"").nth(1)?.split('"').next());
    links.filter(|link| link.starts_with(path)).collect()
}

#[tokio::test]
async fn a_device_that_is_accepted_on_a_page_joins() {
    let world = world("").await;
    let registrar = world.start().await;
    let device = world.device(SERIAL);
    let mut pledge = device.connect(&registrar).await;
    let request = device.voucher_request(&pledge);
    assert_eq!(pledge.request_voucher(&request).await.status, 202);

    let mut browser = browser(&registrar);
    assert!(browser.page("/").await.contains("<strong>1</strong><a href=\"/waiting\">"));
    let waiting = browser.page("/waiting").await;
    let key = terse_brski::digest::public_key_sha256(&PROVIDER, &device.certificate()).unwrap();
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    for part in [SERIAL, "maker", "it wants to join", "CN=Maker", &key, "MASA in its certificate"] {
        assert!(waiting.contains(part), "{part} in {waiting}");
    }
    let confirm = browser.page(links(&waiting, "/device/accept")[0]).await;
    assert!(confirm.contains(&key) && confirm.contains(SERIAL));
    assert_eq!(world.operator().await.pending().await.unwrap().len(), 1, "a GET changes nothing");
    let done = browser.submit(&confirm, &[]).await;
    assert_eq!(done.status, 303, "{}", done.body);
    assert!(browser.page(done.field("location").unwrap()).await.contains("accepted on"));
    assert!(browser.page("/waiting").await.contains("No device waits to join."));
    assert_eq!(pledge.request_voucher(&request).await.status, 200);

    let ldevid = device.enrol(&registrar).await;
    let mut member = device.connect_with(&registrar, &ldevid).await;
    assert_eq!(member.enroll_status(true).await.status, 200);
    let page = browser.page(done.field("location").unwrap()).await;
    for part in ["enrolled", "newest", "answered", "enrolment"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let devices = browser.page("/devices?state=enrolled").await;
    assert!(devices.contains(SERIAL) && !browser.page("/devices?state=rejected").await.contains(SERIAL));
    assert!(browser.page("/certificates?days=366").await.contains(SERIAL));
    assert!(!browser.page("/certificates?days=30").await.contains(SERIAL));
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_whose_certificate_has_ended_is_not_shown_as_a_good_one() {
    let world = world("").await;
    world.change("devices = \"ask\"", "devices = \"all\"");
    let registrar = world.start().await;
    world.device(SERIAL).enrol(&registrar).await;
    assert!(browser(&registrar).page("/devices").await.contains("has a certificate"));
    registrar.stop().await;
    let registrar = world.start_at(ahead(366 * 86_400)).await;
    let devices = browser(&registrar).page("/devices").await;
    assert!(devices.contains("certificate has ended") && !devices.contains("has a certificate"), "{devices}");
    assert!(browser(&registrar).page("/devices?state=problem").await.contains(SERIAL));
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_whose_certificate_is_revoked_says_so_and_is_let_in_on_a_page() {
    let world = world("").await;
    world.change("devices = \"ask\"", "devices = \"all\"");
    let registrar = world.start().await;
    world.device(SERIAL).enrol(&registrar).await;
    let operator = world.operator().await;
    operator.accept(SERIAL, None).await.unwrap();
    let mut browser = browser(&registrar);
    let devices = browser.page("/devices").await;
    let device = browser.page(links(&devices, "/device?")[0]).await;
    assert!(links(&device, "/device/accept").is_empty(), "it is accepted already");
    operator.revoke(SERIAL, None, None).await.unwrap();
    assert!(browser.page("/devices?state=problem").await.contains("its certificate is revoked"));
    let device = browser.page(links(&devices, "/device?")[0]).await;
    let confirm = browser.page(links(&device, "/device/accept")[0]).await;
    assert_eq!(browser.submit(&confirm, &[]).await.status, 303);
    assert!(!browser.page("/devices").await.contains("its certificate is revoked"));
    registrar.stop().await;
}

#[tokio::test]
async fn a_device_that_is_rejected_on_a_page_stays_out() {
    let world = world("").await;
    let registrar = world.start().await;
    let (mut pledge, request) = ask(&world, &registrar).await;
    let mut browser = browser(&registrar);
    let waiting = browser.page("/waiting").await;
    let confirm = browser.page(links(&waiting, "/device/reject")[0]).await;
    assert_eq!(browser.submit(&confirm, &[]).await.status, 303);
    assert_eq!(pledge.request_voucher(&request).await.status, 406);
    assert!(browser.page("/devices?state=rejected").await.contains(SERIAL));
    registrar.stop().await;
}

#[tokio::test]
async fn a_decision_is_about_one_certificate() {
    let world = world("").await;
    let registrar = world.start().await;
    let (one, other) = (world.device(SERIAL), world.device(SERIAL));
    let mut pledges = Vec::new();
    for device in [&one, &other] {
        let mut pledge = device.connect(&registrar).await;
        let request = device.voucher_request(&pledge);
        assert_eq!(pledge.request_voucher(&request).await.status, 202);
        pledges.push((pledge, request));
    }
    let mut browser = browser(&registrar);
    let id: String =
        terse_brski::digest::sha256(&PROVIDER, &one.certificate()).iter().map(|b| format!("{b:02x}")).collect();
    let confirm = browser.page(&format!("/device/accept?id={id}")).await;
    assert_eq!(browser.submit(&confirm, &[]).await.status, 303);
    for ((pledge, request), status) in pledges.iter_mut().zip([200, 202]) {
        assert_eq!(pledge.request_voucher(request).await.status, status);
    }
    registrar.stop().await;
}

#[tokio::test]
async fn a_form_of_somebody_else_changes_nothing() {
    let world = world("").await;
    let registrar = world.start().await;
    ask(&world, &registrar).await;
    let (mut own, mut other) = (browser(&registrar), browser(&registrar));
    let waiting = own.page("/waiting").await;
    let accept = links(&waiting, "/device/accept")[0].to_owned();
    let (confirm, others) = (own.page(&accept).await, other.page(&accept).await);
    let id = accept.split_once("id=").unwrap().1.to_owned();
    let token = |page: &str| {
        let inputs = page.split("<input").find(|input| input.contains("name=\"token\"")).unwrap().to_owned();
        attribute(&inputs, "value").to_owned()
    };
    let (token, others) = (token(&confirm), token(&others));
    assert_ne!(token, others);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let right = format!("id={id}&token={token}");
    for (fields, body, status) in [
        (form, format!("id={id}"), 403),
        (form, format!("id={id}&token="), 403),
        (form, format!("id={id}&token={others}"), 403),
        (form, format!("id={id}&token={token}&token={token}"), 400),
        ("", right.clone(), 415),
        ("Content-Type: text/plain\r\n", right.clone(), 415),
        (&format!("{form}Origin: http://evil.example\r\n"), right.clone(), 403),
        (&format!("{form}Origin: null\r\n"), right.clone(), 403),
        (&format!("{form}Sec-Fetch-Site: cross-site\r\n"), right.clone(), 403),
        (form, format!("{right}&x={}", "x".repeat(8_192)), 413),
    ] {
        let answer = own.send("POST", "/device/accept", fields, &body).await;
        assert_eq!(answer.status, status, "{fields} {body}: {}", answer.body);
    }
    let mut stranger = browser(&registrar);
    assert_eq!(stranger.post("/device/accept", &right).await.status, 403, "the cookie is another one");
    for path in ["/device/accept", "/device/reject"] {
        assert_eq!(own.get(&format!("{path}?{right}")).await.status, 200, "it asks");
        assert_eq!(own.send("PUT", path, form, &right).await.status, 405);
    }
    assert_eq!(own.post("/device", &right).await.status, 404);
    let pending = world.operator().await.pending().await.unwrap();
    assert_eq!((pending.len(), &pending[0].reason), (1, &PendingReason::Join));
    assert_eq!(own.post("/device/accept", &right).await.status, 303);
    registrar.stop().await;
}

#[tokio::test]
async fn every_answer_forbids_scripts_frames_and_copies() {
    let world = world("").await;
    let registrar = world.start().await;
    let mut browser = browser(&registrar);
    let port = registrar.pages.unwrap().port();
    let mut answers: Vec<Answer> = Vec::new();
    for path in
        ["/", "/waiting", "/devices", "/certificates", "/failures", "/style.css", "/none", "/device", "/device?id=00"]
    {
        answers.push(browser.get(path).await);
    }
    for host in ["evil.example", "192.0.2.1", &format!("localhost.evil.example:{port}")] {
        let answer = browser.send_raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).await;
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains('<') && answer.field("set-cookie").is_none());
        answers.push(answer);
    }
    answers.push(browser.post("/login", "").await);
    for answer in answers {
        let policy = answer.field("content-security-policy").unwrap();
        assert_eq!(
            policy,
            "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        );
        assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.field("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        for part in ["<script", "<style", " style=", " onclick", "http://", "https://"] {
            assert!(!answer.body.contains(part), "{part} in {}", answer.body);
        }
    }
    registrar.stop().await;
}

#[tokio::test]
async fn what_devices_say_is_text() {
    let world = world("").await;
    let registrar = world.start().await;
    let database = world.database().await;
    let evil = "<script>alert(1)</script>\"'><b>\u{202e}x\u{7}&amp;";
    let end = i64::try_from(now().as_secs()).unwrap();
    for (query, numbers) in [
        (
            "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, masa, received, state, failure_status, \
             failure_text) VALUES ($1, $1, $2, $2, $1, $2, $3, 'awaiting-operator', 403, $2)",
            vec![1, 2],
        ),
        (
            "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_reason, audit_tried, \
             ldevid, enroll_status) VALUES ($1, $2, $2, $1, $3, 'bad', $2, $3, $1, 0)",
            vec![2],
        ),
        (
            "INSERT INTO certificates (request, client, idevid, certificate_sha256, certificate, issued, not_after) \
             VALUES ($1, $1, $1, $1, $1, $3, CASE WHEN $2 = '' THEN 0 ELSE $3 END)",
            vec![2],
        ),
        (
            "INSERT INTO telemetry (idevid, number, received, topic, sender, status, reason, needs_attention) \
             VALUES ($1, 1, $3, $2, 'idevid', 0, $2, 1)",
            vec![2],
        ),
    ] {
        for number in numbers {
            let query = sqlx::query(query).bind(vec![number; 32]).bind(evil).bind(end);
            query.execute(&database).await.unwrap();
        }
    }
    let mut browser = browser(&registrar);
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let mut paths: Vec<String> = ["/", "/waiting", "/devices", "/certificates", "/failures"].map(str::to_owned).into();
    paths.push(format!("/devices?serial={}", encoded(evil)));
    for id in [one, two] {
        paths.extend(["/device", "/device/accept", "/device/reject"].map(|path| format!("{path}?id={id}")));
    }
    for path in &paths {
        let page = browser.page(path).await;
        for part in ["<script", "<b>", "\u{202e}", "\u{7}", "\"'>"] {
            assert!(!page.replace("<!DOCTYPE", "").contains(part), "{part:?} in {path}: {page}");
        }
        if path != "/" {
            assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&gt;&lt;b&gt;"), "{path}: {page}");
        }
    }
    assert!(browser.page("/waiting").await.contains("⟨U+202E⟩x⟨U+0007⟩&amp;amp;"));
    registrar.stop().await;
}

/// All serial numbers that the pages of a list have, in their order.
async fn walk(browser: &mut Browser, path: &str) -> Vec<String> {
    let (mut serials, mut path) = (Vec::new(), Some(path.to_owned()));
    while let Some(address) = path {
        let page = browser.page(&address).await;
        let rows = page.split("href=\"/device?id=").skip(1);
        let of_page: Vec<String> =
            rows.map(|row| row.split("<bdi>").nth(1).unwrap().split('<').next().unwrap().into()).collect();
        assert!(of_page.len() <= 50, "{address} has {}", of_page.len());
        serials.extend(of_page);
        path = next(&page);
    }
    serials
}

#[tokio::test]
async fn lists_are_searched_and_have_pages() {
    let world = world("").await;
    let registrar = world.start().await;
    let database = world.database().await;
    let start = i64::try_from(now().as_secs()).unwrap();
    let mut transaction = database.begin().await.unwrap();
    for number in 0..1_200_i64 {
        // Every third one has a voucher; of the others each second one waits. `a` is behind `Z` in bytes.
        let serial = format!("{}-{number:04}", if number % 2 == 0 { "Z" } else { "a" });
        let (state, is_joined) = if number % 3 == 0 { ("answered", true) } else { ("awaiting-operator", false) };
        let digest = [number.to_be_bytes(); 4].concat();
        let insert = "INSERT INTO requests (request, idevid, serial_number, manufacturer, nonce, received, state) \
                      VALUES ($1, $1, $2, 'maker', $1, $3, $4)";
        let insert = sqlx::query(insert).bind(&digest).bind(&serial).bind(start - number / 7).bind(state);
        insert.execute(&mut *transaction).await.unwrap();
        if is_joined {
            let insert = "INSERT INTO joinings (idevid, serial_number, manufacturer, request, begun, audit, audit_tried, ldevid) \
                          VALUES ($1, $2, 'maker', $1, $3, 'good', $3, $1)";
            let insert = sqlx::query(insert).bind(&digest).bind(&serial).bind(start);
            insert.execute(&mut *transaction).await.unwrap();
            let insert = "INSERT INTO certificates (request, client, idevid, certificate_sha256, certificate, issued, not_after) \
                          VALUES ($1, $1, $1, $1, $1, $2, $3)";
            let insert = sqlx::query(insert).bind(&digest).bind(start).bind(start + 86_400 + number / 7);
            insert.execute(&mut *transaction).await.unwrap();
            let insert = "INSERT INTO telemetry (idevid, number, received, topic, sender, status, needs_attention) \
                          VALUES ($1, $2, $3, 'voucher', 'idevid', 0, 1)";
            let insert = sqlx::query(insert).bind(&digest).bind(number).bind(start - number / 7);
            insert.execute(&mut *transaction).await.unwrap();
        }
    }
    transaction.commit().await.unwrap();
    let mut browser = browser(&registrar);
    let all = walk(&mut browser, "/devices").await;
    let mut expected: Vec<String> =
        (0..1_200).map(|number| format!("{}-{number:04}", if number % 2 == 0 { "Z" } else { "a" })).collect();
    expected.sort();
    assert_eq!(all, expected, "each once, in the order of bytes");
    let with = |prefix: &str| expected.iter().filter(|serial| serial.starts_with(prefix)).cloned().collect::<Vec<_>>();
    for prefix in ["Z", "a-01", "a-0101", "z", "%", "Z-_", "Z-1199"] {
        assert_eq!(walk(&mut browser, &format!("/devices?serial={}", encoded(prefix))).await, with(prefix), "{prefix}");
    }
    assert_eq!(walk(&mut browser, "/devices?state=joined").await.len(), 400);
    assert_eq!(walk(&mut browser, "/devices?state=waiting&serial=Z").await.len(), 400);
    assert_eq!(walk(&mut browser, "/devices?state=rejected").await.len(), 0);
    let mut waiting = walk(&mut browser, "/waiting").await;
    waiting.sort();
    waiting.dedup();
    assert_eq!(waiting.len(), 800);
    for path in ["/certificates?days=30", "/failures"] {
        let mut listed = walk(&mut browser, path).await;
        listed.sort();
        listed.dedup();
        assert_eq!(listed.len(), 400, "{path}");
    }
    let overview = browser.page("/").await;
    assert!(overview.contains("<strong>800</strong>") && overview.contains("<strong>400</strong>"), "{overview}");
    assert_eq!(browser.get("/devices?state=none").await.status, 400);
    assert_eq!(browser.get("/certificates?days=0").await.status, 400);
    assert_eq!(browser.get("/failures?before=x").await.status, 400);
    registrar.stop().await;
}

#[tokio::test]
async fn pages_that_others_reach_need_authentication() {
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let world = world("").await;
        world.change("[pages]\nlisten = \"127.0.0.1:0\"", &format!("[pages]\nlisten = \"{listen}\""));
        let Err(refused) = Service::open(&world.config(), Clock::new()).await else { panic!("{listen} is open") };
        let refused = refused.to_string();
        assert!(refused.contains("client_ca") && refused.contains("[[pages.user]]"), "{refused}");
        let refused = terse_onboard::registrar::check(&world.config(), Clock::new()).await.unwrap_err().to_string();
        assert!(refused.contains("client_ca"), "{refused}");
    }
}

#[tokio::test]
async fn a_user_logs_in_over_tls() {
    let hash = hash_password("correct horse battery").unwrap();
    let world = world(&format!("[[pages.user]]\nname = \"alice <a>\"\npassword_hash = \"{hash}\"")).await;
    world.change("[pages]\nlisten = \"127.0.0.1:0\"", "[pages]\nlisten = \"0.0.0.0:0\"");
    let registrar = world.start().await;
    ask(&world, &registrar).await;
    let address = ([127, 0, 0, 1], registrar.pages.unwrap().port()).into();
    let mut browser = Browser::with_tls(address, connector(None));
    for path in ["/", "/waiting", "/devices", "/device?id=00", "/device/accept", "/none"] {
        let answer = browser.get(path).await;
        assert_eq!((answer.status, answer.field("location")), (303, Some("/login")), "{path}");
        assert!(answer.body.is_empty());
    }
    let form = browser.page("/login").await;
    let refused = browser.submit(&form, &[("name", "alice <a>"), ("password", "wrong horse battery")]).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("The name or the password is wrong."));
    let before = browser.cookie.clone();
    let answer = browser.submit(&form, &[("name", "alice <a>"), ("password", "correct horse battery")]).await;
    assert_eq!(answer.status, 303, "{}", answer.body);
    assert_ne!(browser.cookie, before, "a cookie that somebody else knew is worth nothing");

    let waiting = browser.page("/waiting").await;
    assert!(waiting.contains("You are <bdi>alice &lt;a&gt;</bdi>"), "{waiting}");
    let confirm = browser.page(links(&waiting, "/device/accept")[0]).await;
    let old = std::mem::replace(&mut browser.cookie, before);
    assert_eq!(browser.submit(&confirm, &[]).await.status, 403, "the token is one of the session");
    browser.cookie = old;
    assert_eq!(browser.submit(&confirm, &[]).await.status, 303);
    let logout = waiting.split("<form").find(|form| form.contains("/logout")).unwrap();
    let token = attribute(logout.split("<input").nth(1).unwrap(), "value");
    assert_eq!(browser.post("/logout", &format!("token={token}")).await.status, 303);
    assert_eq!(browser.get("/").await.status, 303);
    registrar.stop().await;
}

#[tokio::test]
async fn guesses_are_limited() {
    let hash = hash_password("correct horse battery").unwrap();
    let world = world(&format!("[[pages.user]]\nname = \"alice\"\npassword_hash = \"{hash}\"")).await;
    let registrar = world.start().await;
    let mut browser = browser(&registrar);
    let form = browser.page("/login").await;
    for _ in 0..10 {
        assert_eq!(browser.submit(&form, &[("name", "alice"), ("password", "guess")]).await.status, 403);
    }
    let answer = browser.submit(&form, &[("name", "alice"), ("password", "correct horse battery")]).await;
    assert_eq!(answer.status, 429);
    assert!(answer.field("retry-after").is_some());
    registrar.stop().await;
}

#[tokio::test]
async fn a_client_certificate_names_the_operator() {
    let world = world("client_ca = \"operators.pem\"").await;
    let operators = authority("Operators");
    std::fs::write(world.config().with_file_name("operators.pem"), operators.root_pem()).unwrap();
    let registrar = world.start().await;
    let address = registrar.pages.unwrap();
    let bob = operators.issue(&LeafOptions::new("bob.plant.example", validity())).unwrap();
    let mut browser = Browser::with_tls(address, connector(Some(tls(&bob))));
    let page = browser.page("/").await;
    assert!(page.contains("You are <bdi>bob.plant.example</bdi>") && !page.contains("Log out"), "{page}");

    // A certificate of another CA, and none.
    let stranger = authority("Others").issue(&LeafOptions::new("bob.plant.example", validity())).unwrap();
    for credential in [Some(tls(&stranger)), None] {
        let transport = TcpStream::connect(address).await.unwrap();
        let server = terse_tls::ServerAddress::new(address.ip().into(), address.port());
        // In TLS 1.3 the client learns of it after its own handshake.
        if let Ok(mut stream) = connector(credential).connect(server, transport).await {
            let mut read = Vec::new();
            assert!(stream.read_to_end(&mut read).await.is_err() && read.is_empty());
        }
    }
    registrar.stop().await;
}

fn connector(credential: Option<terse_tls::Credential>) -> Connector {
    let mut config = ClientConfig::builder(&PROVIDER);
    config.trust(Trust::unverified(&[CertificateType::X509]).unwrap()).send_server_name(false);
    config.credentials(Vec::from_iter(credential));
    Connector::new(Arc::new(config.build().unwrap()), Clock::new())
}

#[tokio::test]
async fn connections_that_say_nothing_are_bounded_and_keep_nobody_out() {
    let world = world("").await;
    let registrar = world.start().await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(TcpStream::connect(registrar.pages.unwrap()).await.unwrap());
    }
    // An address has 32 of them. The first ones have made room.
    let mut read = Vec::new();
    let _ = soon(silent[0].read_to_end(&mut read)).await; // a reset is an end as well
    assert!(read.is_empty());
    ask(&world, &registrar).await;
    assert!(browser(&registrar).page("/waiting").await.contains(SERIAL), "an operator gets in beside them");
    drop(silent);
    registrar.stop().await;
}
