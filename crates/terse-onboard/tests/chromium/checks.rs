//! What is looked at on all pages is noticed: here are pages on which it is wrong.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use super::driver::Chromium;
use super::walk::Site;

/// A page with all that is looked for in its structure, its colours, its width and its focus.
const BAD: &str = "<!DOCTYPE html><html><body style='background: white; margin: 0'>\
    <a href='/plain' style='color: #c00'>plain</a>\
    <h1>One</h1><h1>Two</h1><h3>Three</h3>\
    <p>dark <span style='color: #888'>pale</span></p>\
    <input name='x'><button></button>\
    <a href='#gone' id='twice' style='color: #00c; outline: none'>no outline</a>\
    <a href='/plain' id='twice' tabindex='-1' style='color: #00c'>no Tab</a>\
    <div style='width: 500px'>wide</div></body></html>";

/// A page on which nothing is wrong but what it loads.
const PLAIN: &str = "<!DOCTYPE html><html lang='en'><head><meta name='viewport' content='width=device-width'><title>Plain</title>\
    <link rel='stylesheet' href='/style.css'></head><body><main><h1>Plain</h1><p>Text</p></main>MORE</body></html>";

const STYLE: &str = "body { background: #fff; color: #000 } .scroll { overflow-x: auto }";

/// What is too wide for a telephone: on the page itself, and in a part that scrolls.
const WIDE: &str = "<p>0123456789012345678901234567890123456789012345678901234567890123456789</p>";
const SCROLLING: &str =
    "<div class='scroll'>0123456789012345678901234567890123456789012345678901234567890123456789</div>";

/// Serves pages until the process ends. Returns where.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    // Chromium has connections in advance.
    std::thread::spawn(move || {
        listener.incoming().for_each(|stream| drop(std::thread::spawn(|| answer(stream.unwrap()))))
    });
    origin
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    lines.find(|line| line.is_empty());
    let page = |more: &str| PLAIN.replace("MORE", more);
    let policy = "Content-Security-Policy: default-src 'none'; style-src 'self'\r\n";
    let (status, kind, policy, body) = match first.split(' ').nth(1).unwrap() {
        "/style.css" => ("200 OK", "css", policy, STYLE.to_owned()),
        "/plain" => ("200 OK", "html", policy, page("")),
        "/bad" => ("200 OK", "html", "", BAD.to_owned()),
        "/wide" => ("200 OK", "html", policy, page(WIDE)),
        "/scrolling" => ("200 OK", "html", policy, page(SCROLLING)),
        "/script" => ("200 OK", "html", policy, page("<script>document.title = ''</script>")),
        "/abroad" => ("200 OK", "html", "", page("<img src='http://127.0.0.1:1/abroad.png'>")),
        _ => ("404 Not Found", "html", policy, page("")),
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/{kind}\r\nConnection: close\r\n{policy}\r\n");
    let _ = stream.write_all((head + &body).as_bytes()); // whoever is not there any more needs none
}

/// Whether one of the texts says so.
#[track_caller]
fn says(wrong: &[String], part: &str) {
    assert!(wrong.iter().any(|text| text.contains(part)), "{part:?} is not among {wrong:#?}");
}

#[test]
fn what_is_wrong_with_a_page_is_noticed() {
    let Some(chromium) = Chromium::start() else { return };
    let site = Site { chromium: &chromium, origin: serve(), name: "bad" };
    assert_eq!(site.visit("/plain"), Vec::<String>::new());

    let wrong = site.visit("/bad");
    for part in [
        "the language is \"\"",
        "there is no title",
        "there are 2 headings of the first rank",
        "there is no main part",
        "<h3> \"Three\" leaves out a rank",
        "has no label",
        "<button> \"\" has no name",
        "the id \"twice\" is there twice",
        "nothing is at #gone",
        "<body> \"",
        "light: \"pale\" has a contrast of 3.54",
        "telephone: \"pale\" has a contrast of 3.54",
        "telephone: the window is 980 wide",
        "telephone: the page is 980 wide",
        "\"no outline\" has a focus that nobody sees",
        "\"no Tab\" is not reached by Tab",
    ] {
        says(&wrong, part);
    }
    assert!(!wrong.iter().any(|text| text.contains("\"dark")), "{wrong:#?}");

    let wrong = site.visit("/script");
    says(&wrong, "<script> \"document.title = ''\" runs");
    says(&wrong, "Content Security Policy");
    let wrong = site.visit("/wide");
    says(&wrong, "telephone: the page is");
    assert!(!wrong.iter().any(|text| text.contains(": light: ") || text.contains("<p>")), "{wrong:#?}");
    let wrong = site.visit("/scrolling");
    says(&wrong, "telephone: <div> \"0123456789");
    assert!(!wrong.iter().any(|text| text.contains("the page is")), "{wrong:#?}");
    let wrong = site.visit("/abroad");
    assert_eq!(wrong.iter().filter(|text| text.contains("http://127.0.0.1:1/abroad.png")).count(), 2, "{wrong:#?}");
    says(&site.visit("/missing"), "status [404]");
    assert_eq!(site.check("/missing", 404), ["/missing: status []"], "it is noticed once");
}
