//! Registrars that authenticate themselves: by HTTP Basic, by a client certificate, by the signature of their request.

use std::fs;

use base64ct::{Base64, Encoding};
use terse_aws_lc::PROVIDER;
use terse_brski::cms::Signed;
use terse_brski::masa::{Claims, Nonceless, PinChoice};
use terse_brski::voucher::{Assertion, Pin, Voucher};
use terse_onboard::client::Outgoing;
use terse_onboard::masa::Authentication;

use super::scene::{Domain, SECRET, Scene, refused, send, voucher};

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", Base64::encode_string(format!("{name}:{password}").as_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_makes_a_customer() {
    let mut scene = Scene::new().await;
    scene.add_customer("secret_file = \"plant.secret\"");
    scene.config.authentication = Authentication::Required;
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = voucher(&scene.request("a nonce"));
    let good = basic("plant", SECRET);
    let wrong = [
        basic("plant", "0123456789abcdeF"),
        basic("plant", ""),
        basic("plan", SECRET),
        basic("", ""),
        "Basic".into(),
        "Basic !".into(),
        format!("Basic {}", Base64::encode_string(SECRET.as_bytes())),
        good.replace("Basic", "Bearer"),
        format!("Basic {}", "QUFB".repeat(2_000)),
    ];
    for authorization in wrong.iter().map(|wrong| Some(wrong.as_str())).chain([None]) {
        let answer = send(&mut connection, Outgoing { authorization, ..request.clone() }).await.unwrap();
        refused(&answer, 401, "name and password of a customer are needed");
    }
    let good = good.replace("Basic", "bAsIc"); // RFC 9110, 11.1
    let answer = send(&mut connection, Outgoing { authorization: Some(&good), ..request }).await.unwrap();
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    // The audit log is for customers then, too.
    let path = "/.well-known/brski/requestauditlog";
    let request = Outgoing { path, ..voucher(&scene.request("a nonce")) };
    refused(&send(&mut connection, request.clone()).await.unwrap(), 401, "a customer");
    let answer = send(&mut connection, Outgoing { authorization: Some(&good), ..request }).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_also_where_none_is_needed() {
    let mut scene = Scene::new().await;
    scene.add_customer("secret_file = \"plant.secret\"");
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = voucher(&scene.request("a nonce"));
    let wrong = basic("plant", "wrong");
    let answer = send(&mut connection, Outgoing { authorization: Some(&wrong), ..request.clone() }).await.unwrap();
    refused(&answer, 401, "a customer");
    assert_eq!(send(&mut connection, request).await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_makes_a_customer() {
    let mut scene = Scene::new().await;
    scene.add_customer("ca = \"plant-ca.pem\"");
    scene.config.authentication = Authentication::Required;
    scene.config.policy.claims = Claims::SalesList; // the device was sold to "plant"
    let masa = scene.start().await;
    let request = voucher(&scene.request("a nonce"));

    let stranger = Domain::new("Plant"); // of the same name
    let mut connection = scene.connect(masa.address, Some(&stranger.registrar)).await;
    refused(&send(&mut connection, request.clone()).await.unwrap(), 401, "client certificate");
    let mut connection = scene.connect(masa.address, None).await;
    refused(&send(&mut connection, request.clone()).await.unwrap(), 401, "client certificate");

    let mut connection = scene.connect(masa.address, Some(&scene.domain.registrar)).await;
    let answer = send(&mut connection, request).await.unwrap();
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sales_list_knows_a_customer_by_its_password() {
    let mut scene = Scene::new().await;
    scene.add_customer("secret_file = \"plant.secret\"");
    scene.config.policy.claims = Claims::SalesList;
    let masa = scene.start().await;
    let mut connection = scene.connect(masa.address, None).await;
    let request = voucher(&scene.request("a nonce"));
    refused(&send(&mut connection, request.clone()).await.unwrap(), 403, "was not sold to this domain");
    let good = basic("plant", SECRET);
    let answer = send(&mut connection, Outgoing { authorization: Some(&good), ..request }).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_customers_get_vouchers_without_a_nonce() {
    let mut scene = Scene::new().await;
    scene.config.policy.nonceless = Some(Nonceless { lifetime: 3_600, pin: PinChoice::Highest });
    let masa = scene.start().await;
    let request = scene.nonceless_request();
    refused(&scene.ask(masa.address, &request).await, 403, "only a registrar that is known here");
    masa.stop().await;

    // Its CA is known: the signature of the request is enough.
    let policy = scene.config.policy.clone();
    scene.add_customer("ca = \"plant-ca.pem\"");
    scene.config.policy = policy;
    let masa = scene.start().await;
    let answer = scene.ask(masa.address, &request).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let signed = Signed::verify(&PROVIDER, &answer.body, &[]).unwrap();
    let voucher = Voucher::from_json(&signed.content).unwrap();
    assert_eq!((voucher.nonce, voucher.assertion), (None, Assertion::Logged));
    assert!(voucher.expires_on.is_some());
    assert_eq!(voucher.pins, [Pin::Certificate(scene.domain.authority.root().clone())]);
    assert_eq!(scene.ask(masa.address, &request).await, answer);
    assert_eq!(scene.log().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_that_cannot_be_known_is_a_mistake_of_the_configuration() {
    let cases = [
        ("too-brief", "secret_file = \"plant.secret\"", "plant.secret: the password is shorter than 16 characters"),
        (SECRET, "secret_file = \"nowhere.secret\"", "nowhere.secret: cannot be read"),
        (SECRET, "ca = \"masa.key\"", "masa.key: holds no certificate"),
    ];
    for (secret, lines, expected) in cases {
        let mut scene = Scene::new().await;
        scene.add_customer(lines);
        fs::write(scene.directory.path().join("masa/plant.secret"), secret).unwrap();
        let error = scene.config.check().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains(secret), "{error}");
    }
}
