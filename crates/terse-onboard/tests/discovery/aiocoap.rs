//! aiocoap asks, and answers.
//!
//! `tools/prepare.sh` installs it in `target/python`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};

use terse_onboard::discovery::coap::{CoreResponder, Link, Links, Reach, Seeker, Sought};
use terse_onboard::discovery::{Change, Discovery as _, Place};

use super::world::{Running, is_on_link, skipped};
use crate::deadline::{SAFETY_LIMIT, soon};

/// Returns a Python that has aiocoap.
fn python() -> Option<&'static str> {
    let prepared = concat!(env!("CARGO_TARGET_TMPDIR"), "/../python/bin/python");
    let has_aiocoap = |program: &&str| {
        let tried = Command::new(program).args(["-c", "import aiocoap"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = [prepared, "python3"].into_iter().find(has_aiocoap);
    if found.is_none() {
        skipped("aiocoap", "tools/prepare.sh");
    }
    found
}

/// A script that runs, and is ended when this is dropped.
struct Script {
    child: Child,
    lines: Receiver<String>,
}

impl Script {
    fn spawn(python: &str, arguments: &[&str]) -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/discovery/peer.py");
        let mut command = Command::new(python);
        command.arg("-u").arg(path).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line.trim_end().into()))
        });
        Self { child, lines }
    }

    /// Returns the next line that it prints, or an empty one at the end.
    fn line(&mut self) -> String {
        match self.lines.recv_timeout(SAFETY_LIMIT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => String::new(),
            Err(RecvTimeoutError::Timeout) => panic!("the script says nothing, and does not end"),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn aiocoap_finds_links() {
    let Some(python) = python() else { return };
    let address = "127.0.0.1:0".parse().unwrap();
    let proxy = Running::start(CoreResponder::new(Links::join_proxy(5684)).at(address).unwrap());
    let registrar = Links::registrar("0.0.0.0:5685".parse().unwrap(), Some("192.0.2.1:5686".parse().unwrap()));
    let registrar = Running::start(CoreResponder::new(registrar).at(address).unwrap());
    for (responder, query, said) in [
        (&proxy, "brski-jp=*", "2.05 40 <>;brski-jp=5684"),
        (&proxy, "rt=brski", "2.05 40"),
        (&registrar, "rt=brski", "2.05 40 <coaps://127.0.0.1:5685/b>;rt=brski"),
        (&registrar, "rt=brski.rjp", "2.05 40 <jpy://192.0.2.1:5686>;rt=brski.rjp"),
    ] {
        let mut script = Script::spawn(python, &["ask", &responder.address.to_string(), query]);
        assert_eq!(script.line(), said, "confirmable");
        let said = if said == "2.05 40" { "nothing" } else { said };
        assert_eq!(script.line(), said, "not confirmable");
    }
    assert_eq!((proxy.stop().await.answered, registrar.stop().await.answered), (3, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn aiocoap_is_found_by_multicast_and_by_its_address() {
    let Some(python) = python() else { return };
    if !is_on_link("discovery::aiocoap::aiocoap_is_found_by_multicast_and_by_its_address") {
        return;
    }
    let link = Link::named("link0").unwrap();
    let mut script = Script::spawn(python, &["answer", "link0"]);
    assert_eq!(script.line(), "ready");
    let own = Place::from(link.address(57_101));
    for (sought, place) in [
        (Sought::JoinProxy, own),
        (Sought::Registrar, Place::new("2001:db8::52", 5684)),
        (Sought::StatelessRegistrar, Place::new("2001:db8::52", 5685)),
    ] {
        for reach in [Reach::AllLinks, Reach::Hosts(vec![Place::from(link.address(5683))])] {
            let mut seeker = Seeker::new(&[sought], reach).unwrap();
            assert_eq!(soon(seeker.next()).await, Change::Found(place.clone()));
        }
    }
}
