use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream;
use http_body_util::BodyExt as _;
use maud::html;

use super::super::PagesConfig;
use super::*;

/// A site that counts what it is asked.
#[derive(Default)]
struct Counting {
    shown: AtomicUsize,
    changed: AtomicUsize,
}

impl Site for Counting {
    const NAME: &'static str = "Counting";
    const MENU: &'static [(&'static str, &'static str)] = &[("/", "Overview")];

    async fn show(&self, path: &str, _: &Fields, visitor: &Visitor) -> Result<Page, Problem> {
        self.shown.fetch_add(1, Ordering::Relaxed);
        match path {
            "/" => Ok(Page::new("Overview", html! { p { (visitor.token) } })),
            "/broken" => Err(sqlx::Error::PoolTimedOut.into()),
            _ => Err(Problem::NotFound),
        }
    }

    async fn change(&self, path: &str, fields: &Fields, _: &Visitor) -> Result<String, Problem> {
        self.changed.fetch_add(1, Ordering::Relaxed);
        match path {
            "/change" => Ok(fields.text("to").to_owned()),
            _ => Err(Problem::NotFound),
        }
    }
}

fn gate(config: &str) -> Gate<Counting> {
    let config: PagesConfig = crate::config::parse(Path::new("pages.toml"), config).unwrap();
    let none = Path::new("none");
    let settings = PagesSettings::load(none, &config, (none, none), terse_net::Clock::new()).unwrap();
    Gate::new(Counting::default(), settings, 8081).unwrap()
}

const PLAIN: &str = "listen = \"127.0.0.1:0\"";

fn client() -> Client {
    Client { address: [127, 0, 0, 1].into(), certificate: None }
}

fn request(method: Method, path: &str, fields: &[(&str, &str)], body: Body) -> Request<Body> {
    let builder = Request::builder().method(method).uri(path).header("host", "localhost:8081");
    let builder = fields.iter().fold(builder, |builder, (name, value)| builder.header(*name, *value));
    builder.body(body).unwrap()
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// A cookie, and the token of its forms.
async fn session(gate: &Gate<Counting>) -> (String, String) {
    let response = gate.answer(&client(), request(Method::GET, "/", &[], Body::empty())).await;
    let cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let page = text(response).await;
    let token = page.split("<p>").nth(1).unwrap().split('<').next().unwrap().to_owned();
    (cookie.split(';').next().unwrap().to_owned(), token)
}

#[tokio::test]
async fn a_form_with_the_token_of_its_session_is_carried_out() {
    let gate = gate(PLAIN);
    let (cookie, token) = session(&gate).await;
    let (_, other) = session(&gate).await;
    let send = async |cookie: &str, token: &str| {
        let fields = [FORM, ("cookie", cookie), ("sec-fetch-site", "same-origin"), ("origin", "null")];
        let body = Body::from(format!("to=/there&token={token}"));
        gate.answer(&client(), request(Method::POST, "/change", &fields, body)).await
    };
    for (cookie, token) in
        [(&*cookie, &*other), (&cookie, ""), (&cookie, &token[1..]), ("terse-8081=0", &token), ("", &token)]
    {
        assert_eq!(send(cookie, token).await.status(), 403);
    }
    assert_eq!(gate.site.changed.load(Ordering::Relaxed), 0);
    let done = send(&cookie, &token).await;
    assert_eq!(
        (done.status(), &done.headers()["location"]),
        (StatusCode::SEE_OTHER, &HeaderValue::from_static("/there"))
    );
    assert_eq!(gate.site.changed.load(Ordering::Relaxed), 1);
    assert!(!done.headers().contains_key("set-cookie"), "the cookie stays");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_is_slow_or_long_ends() {
    let gate = gate(PLAIN);
    let (cookie, token) = session(&gate).await;
    let fields = [FORM, ("cookie", &*cookie)];
    let slow = Body::from_stream(stream::pending::<Result<&[u8], std::io::Error>>());
    let slow = gate.answer(&client(), request(Method::POST, "/change", &fields, slow)).await;
    assert_eq!(slow.status(), StatusCode::REQUEST_TIMEOUT);
    for (length, status) in [(MAX_FORM, 303), (MAX_FORM + 1, 413), (1 << 20, 413)] {
        let body = format!("token={token}&x=");
        let body = format!("{body}{}", "x".repeat(length - body.len()));
        let answer = gate.answer(&client(), request(Method::POST, "/change", &fields, body.into())).await;
        assert_eq!(answer.status(), status, "{length}");
    }
    let broken = stream::iter([Ok("token="), Err(std::io::Error::other("it broke"))]);
    let broken = gate.answer(&client(), request(Method::POST, "/change", &fields, Body::from_stream(broken))).await;
    assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_is_no_request_of_a_browser_reaches_no_page() {
    let gate = gate(PLAIN);
    let status = async |request| gate.answer(&client(), request).await.status().as_u16();
    assert_eq!(status(request(Method::DELETE, "/", &[], Body::empty())).await, 405);
    assert_eq!(status(request(Method::GET, "http://evil.example/", &[], Body::empty())).await, 421);
    assert_eq!(status(request(Method::GET, "/", &[("host", "evil.example")], Body::empty())).await, 421);
    assert_eq!(status(request(Method::GET, "/?a=1&a=2", &[], Body::empty())).await, 400);
    assert_eq!(gate.site.shown.load(Ordering::Relaxed), 0);
    assert_eq!(status(request(Method::GET, "/none", &[], Body::empty())).await, 404);
    assert_eq!(status(request(Method::GET, "/broken", &[], Body::empty())).await, 503);
    assert_eq!(status(request(Method::HEAD, "/", &[], Body::empty())).await, 200);
    assert_eq!(gate.site.shown.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn the_requests_of_an_address_are_limited() {
    let gate = gate(PLAIN);
    let ask = async || gate.answer(&client(), request(Method::GET, "/style.css", &[], Body::empty())).await;
    for _ in 0..REQUESTS_AT_ONCE {
        assert_eq!(ask().await.status(), 200);
    }
    let refused = ask().await;
    assert_eq!(
        (refused.status(), &refused.headers()["retry-after"]),
        (StatusCode::TOO_MANY_REQUESTS, &HeaderValue::from_static("1"))
    );
    assert!(refused.headers().contains_key("content-security-policy"));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn nothing_is_seen_before_a_login() {
    let hash = super::super::hash_password("correct horse battery").unwrap();
    let gate = gate(&format!("{PLAIN}\n[[user]]\nname = \"alice\"\npassword_hash = \"{hash}\""));
    for path in ["/", "/none", "/broken", "/logout"] {
        let answer = gate.answer(&client(), request(Method::GET, path, &[], Body::empty())).await;
        assert_eq!(
            (answer.status(), &answer.headers()["location"]),
            (StatusCode::SEE_OTHER, &HeaderValue::from_static("/login"))
        );
    }
    let answer = gate.answer(&client(), request(Method::GET, "/login", &[], Body::empty())).await;
    let cookie = answer.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    let page = text(answer).await;
    let token = page.split("name=\"token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let post = async |path: &str, cookie: &str, body: String| {
        gate.answer(&client(), request(Method::POST, path, &[FORM, ("cookie", cookie)], body.into())).await
    };
    let answer = post("/change", &cookie, format!("token={token}")).await;
    assert_eq!(answer.headers()["location"], "/login");
    let answer = post("/login", &cookie, format!("token={token}&name=alice&password=correct+horse+batter")).await;
    assert_eq!(answer.status(), 403);
    let answer = post("/login", &cookie, format!("token={token}&name=alice&password=correct+horse+battery")).await;
    assert_eq!(answer.status(), 303);
    let new = answer.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!((gate.site.shown.load(Ordering::Relaxed), gate.site.changed.load(Ordering::Relaxed)), (0, 0));
    let see = async |cookie: &str| {
        gate.answer(&client(), request(Method::GET, "/", &[("cookie", cookie)], Body::empty())).await
    };
    assert_eq!(see(&cookie).await.status(), 303, "the cookie of before is worth nothing");
    let page = see(&new).await;
    assert_eq!(page.status(), 200);
    assert!(text(page).await.contains("alice"));
}
