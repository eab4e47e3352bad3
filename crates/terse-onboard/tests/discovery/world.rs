//! What the tests share: a link in a namespace, questions and answers byte by byte, and a responder in a task.

use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;
use std::process::Command;

use terse_brski::coap::Payload;
use terse_brski::coap::discovery::Question;
use terse_net::OsRng;
use terse_onboard::discovery::coap::{CoreCounters, CoreResponder};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::deadline::{SAFETY_LIMIT, soon};

pub(crate) fn question(query: &'static str) -> Question {
    Question::new(query, &mut OsRng).unwrap()
}

/// Returns the answer to a question, not confirmable: with this content format and these links.
pub(crate) fn answer(question: &[u8], content_format: u8, links: &str) -> Vec<u8> {
    assert_eq!(question[0], 0x58, "not confirmable, with a token of 8 bytes");
    let token = &question[4..12];
    [&[0x58, 0x45, 0, 1], token, &[0xc1, content_format, 0xff], links.as_bytes()].concat()
}

/// A responder that runs until it is stopped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<CoreCounters>,
}

impl Running {
    pub(crate) fn start(responder: CoreResponder) -> Self {
        let address = responder.local_addrs().next().unwrap();
        let (stop, stopped) = watch::channel(false);
        Self { address, stop, task: tokio::spawn(responder.run(stopped)) }
    }

    /// Stops it, and returns what it has done.
    pub(crate) async fn stop(self) -> CoreCounters {
        self.stop.send_replace(true);
        soon(self.task).await.unwrap()
    }
}

/// A socket that asks a responder.
pub(crate) struct Asking(UdpSocket);

impl Asking {
    pub(crate) fn new(ip: &str, responder: SocketAddr) -> Self {
        let socket = UdpSocket::bind((ip, 0)).unwrap();
        socket.connect(responder).unwrap();
        socket.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        Self(socket)
    }

    pub(crate) fn send(&self, datagram: &[u8]) {
        self.0.send(datagram).unwrap();
    }

    /// Waits for a datagram.
    pub(crate) fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2_048];
        let len = self.0.recv(&mut buffer).expect("an answer");
        buffer[..len].to_vec()
    }

    /// Asks once, and returns the links.
    pub(crate) fn ask(&self, query: &'static str) -> Payload {
        let mut question = question(query);
        self.send(&question.next_datagram());
        question.read(&self.receive()).expect("links").links
    }

    /// Whether a datagram has come, without a wait.
    pub(crate) fn has_come(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let has_come = self.0.recv(&mut [0; 2_048]).is_ok();
        self.0.set_nonblocking(false).unwrap();
        has_come
    }

    /// Returns how many datagrams have come, for as long as the next one comes in this time.
    pub(crate) fn count(&self, pause: Duration) -> u64 {
        self.0.set_read_timeout(Some(pause)).unwrap();
        let mut count = 0;
        while self.0.recv(&mut [0; 2_048]).is_ok() {
            count += 1;
        }
        self.0.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        count
    }
}

/// Runs the test `name` again in a network namespace with a link, `link0`, and returns false when that has succeeded, or if it
/// must be skipped. In that second run it returns true.
pub(crate) fn is_on_link(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        for command in [
            "ip link set lo up",
            "ip link add link0 type veth peer name link1",
            "ip link set link0 addrgenmode none",
            "ip link set link1 addrgenmode none",
            "ip link set link1 up",
            "ip link set link0 up",
            "ip addr add fe80::a/64 dev link0 nodad",
        ] {
            let (program, arguments) = command.split_once(' ').unwrap();
            let output = Command::new(program).args(arguments.split(' ')).output().unwrap();
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        }
        return true;
    }
    let tried = Command::new("unshare").args(["--net", "ip", "link", "add", "type", "veth"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skipped("a link in a network namespace", "run this as root, where veth links can be made");
        return false;
    }
    let mut again = Command::new("unshare");
    again.arg("--net").arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
    let output = again.env(INSIDE, "1").output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// Says that a test is skipped because something is missing, and what helps.
pub(crate) fn skipped(what: &str, help: &str) {
    let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
    assert!(!required, "{what} is required: {help}");
    println!("skipped: {what} is not here: {help}");
}

/// Set in the second run of a test.
const INSIDE: &str = "TERSE_ONBOARD_INSIDE_NAMESPACE";
