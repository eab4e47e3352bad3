//! A Chromium that a test drives over WebDriver (W3C), by a chromedriver of its own. Both end with the test, however that ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use super::programs::is_here;
use crate::deadline::SAFETY_LIMIT;

pub(crate) struct Chromium {
    /// The shell that ends chromedriver when its standard input is closed.
    shell: Child,
    port: u16,
    session: String,
}

/// How a page is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) is_dark: bool,
    pub(crate) width: u32,
}

/// What Chromium has noticed for a while.
#[derive(Debug)]
pub(crate) struct Noticed {
    /// The messages in the console.
    pub(crate) console: Vec<String>,
    /// The addresses of all requests.
    pub(crate) requests: Vec<String>,
    /// The status of each document that has come.
    pub(crate) statuses: Vec<u64>,
}

impl Look {
    /// What a page is loaded with.
    pub(crate) const LIGHT: Self = Self { is_dark: false, width: 1_280 };

    /// The width of a small telephone, in pixels of CSS.
    pub(crate) const TELEPHONE: u32 = 360;

    /// Each colour and each width, and what is in narrow pages alone in both colours.
    pub(crate) const ALL: [(&str, Self); 3] = [
        ("light", Self::LIGHT),
        ("telephone", Self { width: Self::TELEPHONE, ..Self::LIGHT }),
        ("dark-telephone", Self { is_dark: true, width: Self::TELEPHONE }),
    ];
}

impl Chromium {
    /// Starts one, or says that there is none here.
    pub(crate) fn start() -> Option<Self> {
        let is_here =
            is_here("chromium", "--version", "chromium") && is_here("chromedriver", "--version", "chromium-driver");
        is_here.then(|| {
            let mut shell = Command::new("sh");
            shell.args(["-c", SCRIPT]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut shell = shell.stderr(Stdio::null()).spawn().expect("sh is here");
            let port = port(shell.stdout.take().unwrap());
            let mut this = Self { shell, port, session: String::new() };
            this.session = this.begin();
            this
        })
    }

    /// Begins a session. Returns its name.
    fn begin(&self) -> String {
        // The browser ends when its pipe to chromedriver is closed.
        let mut arguments = vec!["--headless=new", "--remote-debugging-pipe", "--disable-dev-shm-usage"];
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        arguments.extend(is_root.then_some("--no-sandbox")); // it refuses to have one as root
        let wanted = json!({
            "acceptInsecureCerts": true,
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        });
        let session = self.send("POST", "/session", &json!({ "capabilities": { "alwaysMatch": wanted } })).unwrap();
        session["sessionId"].as_str().unwrap().to_owned()
    }

    /// Loads a page.
    pub(crate) fn go(&self, address: &str) {
        self.command("url", &json!({ "url": address })).unwrap();
    }

    /// Runs the body of a function in the page.
    pub(crate) fn try_run(&self, script: &str, arguments: &Value) -> Result<Value, String> {
        self.command("execute/sync", &json!({ "script": script, "args": arguments }))
    }

    pub(crate) fn run(&self, script: &str, arguments: &Value) -> Value {
        self.try_run(script, arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"))
    }

    /// Presses keys, one after the other, so many times.
    pub(crate) fn press(&self, keys: &str, times: usize) {
        self.press_all(keys.repeat(times).chars().flat_map(|key| [("keyDown", key), ("keyUp", key)]));
    }

    /// Presses a key so many times while another one is down.
    pub(crate) fn press_with(&self, held: char, key: char, times: usize) {
        let pressed = std::iter::repeat_n([("keyDown", key), ("keyUp", key)], times).flatten();
        self.press_all([("keyDown", held)].into_iter().chain(pressed).chain([("keyUp", held)]));
    }

    fn press_all(&self, keys: impl Iterator<Item = (&'static str, char)>) {
        let actions: Vec<Value> = keys.map(|(kind, key)| json!({ "type": kind, "value": key.to_string() })).collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.command("actions", &json!({ "actions": [keyboard] })).unwrap();
    }

    /// Clicks on an element that a script has returned.
    pub(crate) fn click(&self, element: &Value) {
        self.command(&format!("element/{}/click", name(element)), &json!({})).unwrap();
    }

    /// Removes what is in a field that a script has returned.
    pub(crate) fn clear(&self, element: &Value) {
        self.command(&format!("element/{}/clear", name(element)), &json!({})).unwrap();
    }

    /// The text that the page shows.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body.innerText", &json!([])).as_str().unwrap().to_owned()
    }

    /// Shows the page in another way.
    pub(crate) fn look(&self, look: Look) {
        let scheme = if look.is_dark { "dark" } else { "light" };
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({
                "features": [{ "name": "prefers-color-scheme", "value": scheme }],
            }),
        );
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            &json!({
                "width": look.width, "height": 800, "deviceScaleFactor": 1, "mobile": look.width == Look::TELEPHONE,
            }),
        );
    }

    /// Writes a picture of the whole page into a file.
    pub(crate) fn picture(&self, file: &std::path::Path) {
        let size = self.devtools("Page.getLayoutMetrics", &json!({}))["cssContentSize"].take();
        let clip = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.devtools("Page.captureScreenshot", &wanted);
        let png = <base64ct::Base64 as base64ct::Encoding>::decode_vec(picture["data"].as_str().unwrap()).unwrap();
        std::fs::write(file, png).unwrap();
    }

    /// Returns what Chromium has noticed since this was asked last.
    pub(crate) fn noticed(&self) -> Noticed {
        let log = |kind: &str| {
            let entries = self.command("se/log", &json!({ "type": kind })).unwrap();
            let messages =
                entries.as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap().to_owned());
            messages.collect::<Vec<_>>()
        };
        let mut noticed = Noticed { console: log("browser"), requests: Vec::new(), statuses: Vec::new() };
        for message in log("performance") {
            let message: Value = serde_json::from_str(&message).unwrap();
            let (message, parameters) = (&message["message"]["method"], &message["message"]["params"]);
            match message.as_str().unwrap() {
                "Network.requestWillBeSent" if parameters["request"]["url"] != FIRST => {
                    noticed.requests.push(parameters["request"]["url"].as_str().unwrap().to_owned());
                }
                "Network.responseReceived"
                    if parameters["type"] == "Document" && parameters["response"]["url"] != FIRST =>
                {
                    noticed.statuses.push(parameters["response"]["status"].as_u64().unwrap());
                }
                _ => {}
            }
        }
        noticed
    }

    /// Sends a command of the DevTools protocol.
    fn devtools(&self, command: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).unwrap()
    }

    fn command(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.send("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// Sends a command of WebDriver. Returns its value, or what is wrong.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let (status, body) = self.exchange(method, path, &body.to_string()).map_err(|error| error.to_string())?;
        let mut body: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        let value = body["value"].take();
        match status.contains(" 200 ") {
            true => Ok(value),
            false => Err(value["message"].as_str().unwrap_or(&status).to_owned()),
        }
    }

    /// Returns the first line of an answer, and its body. Chromedriver keeps the connection whatever it is told.
    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<(String, Vec<u8>)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(SAFETY_LIMIT))?;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.port);
        let kind = "Content-Type: application/json; charset=utf-8";
        stream.write_all(format!("{head}{kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())?;
        let mut stream = BufReader::new(stream);
        let (mut status, mut length) = (String::new(), 0);
        stream.read_line(&mut status)?;
        for line in stream.by_ref().lines() {
            match line?.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().map_err(std::io::Error::other)?;
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer)?;
        Ok((status, answer))
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser ends in order, if it still can.
        let _ = self.exchange("DELETE", &format!("/session/{}", self.session), "");
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

impl Noticed {
    /// Returns what is wrong: documents with another status, requests that go elsewhere, and whatever is in the console. That
    /// a document is an error is there as well.
    pub(crate) fn wrong(self, origin: &str, status: u64) -> Vec<String> {
        let Self { console, requests, statuses } = self;
        let is_known = |message: &String| status != 200 && message.contains(&format!("with a status of {status}"));
        let mut wrong: Vec<String> = console.into_iter().filter(|message| !is_known(message)).collect();
        wrong.extend(requests.into_iter().filter(|address| !address.starts_with(&format!("{origin}/"))));
        wrong.extend((statuses != [status]).then(|| format!("status {statuses:?}")));
        wrong
    }
}

/// Returns the port that chromedriver says. A thread reads its output to the end, since chromedriver must be able to say more.
fn port(output: ChildStdout) -> u16 {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)))
    });
    let mut said = Vec::new();
    loop {
        let line = lines.recv_timeout(SAFETY_LIMIT);
        let line = line.unwrap_or_else(|error| panic!("chromedriver says no port: {error}; it said {said:?}"));
        if let Some((_, port)) = line.trim_end_matches('.').split_once("started successfully on port ") {
            return port.parse().unwrap();
        }
        said.push(line);
    }
}

/// Returns the name of an element.
fn name(element: &Value) -> &str {
    element["element-6066-11e4-a52e-4f735466cecf"].as_str().unwrap_or_else(|| panic!("{element} is no element"))
}

/// What a new window has, which may be noticed later than the first page is asked for.
const FIRST: &str = "data:,";

/// Runs chromedriver, which writes its port, in a new folder, until the standard input ends.
const SCRIPT: &str = r#"
    folder=$(mktemp -d "${TMPDIR:-/tmp}/terse-chromium.XXXXXX")
    TMPDIR="$folder" HOME="$folder" chromedriver --port=0 &
    cat >/dev/null
    kill $!
    wait $!
    # As long as Chromium runs, it makes its folders again. One that does not end in two minutes is killed.
    tries=0
    while pgrep -f "$folder" >/dev/null; do
        sleep 0.1
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || pkill -KILL -f "$folder"
    done
    until rm -rf "$folder" 2>/dev/null || [ $tries -ge 3000 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
"#;
