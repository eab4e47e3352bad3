//! avahi finds what is announced here, and what it announces is found here (RFC 8995, Appendix B; RFC 6762; RFC 6763).
//!
//! Each test runs again in namespaces of its own, as root: with two ends of a link, a message bus and avahi's daemon, which
//! nobody else sees, and which end with it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use terse_net::Clock;
use terse_onboard::discovery::mdns::{Announcement, Browser};
use terse_onboard::discovery::{Change, Discovery as _, Service};
use terse_onboard::join_proxy::follow;
use terse_onboard::registrar::{self, InitOptions, init};
use terse_pki::{Authority, AuthorityOptions, Validity};
use tokio::sync::watch;

use super::programs::{Folder, is_here, skipped};
use crate::deadline::{SAFETY_LIMIT, soon};

#[test]
fn avahi_finds_a_registrar_until_it_is_withdrawn() {
    let Some(link) = Link::enter("foreign::avahi::avahi_finds_a_registrar_until_it_is_withdrawn") else { return };
    assert_eq!(link.browse(), Vec::<String>::new());
    let mut browsing =
        link.spawn("timeout", &format!("{} avahi-browse -rp _brski-registrar._tcp", SAFETY_LIMIT.as_secs()));
    let mut said = Lines::of(browsing.0.stdout.take().unwrap());
    let announcement = Announcement::new(Service::Registrar, "plant", 8443).unwrap();
    let address = format!(";{ADDRESS};");
    said.until(|line| line.starts_with("=;link0;IPv4;") && line.contains(&address));
    let found = link.browse();
    assert!(found.iter().any(|line| line.contains(&address)), "{found:?}");
    for line in &found {
        let fields: Vec<_> = line.split(';').collect();
        assert_eq!(fields[3..6], ["plant", "_brski-registrar._tcp", "local"], "{line}");
        assert_eq!(fields[8], "8443", "{line}");
    }
    drop(announcement);
    said.until(|line| line.starts_with("-;link0;IPv4;plant;"));
}

/// The registrar says so in its configuration, and a join proxy that is not told where it is uses it.
#[test]
fn a_registrar_that_is_configured_to_be_announced_is_found_until_it_stops() {
    let name = "foreign::avahi::a_registrar_that_is_configured_to_be_announced_is_found_until_it_stops";
    let Some(link) = Link::enter(name) else { return };
    let mut browsing =
        link.spawn("timeout", &format!("{} avahi-browse -rp _brski-registrar._tcp", SAFETY_LIMIT.as_secs()));
    let mut said = Lines::of(browsing.0.stdout.take().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (port, mut known, stop, running) = runtime.block_on(async {
        let service = registrar::Service::open(&link.registrar(), Clock::new()).await.unwrap();
        let listening = service.listen().await.unwrap_or_else(|error| panic!("{error}"));
        let port = listening.address().port();
        let (stop, stopped) = watch::channel(false);
        let (registrars, known) = watch::channel(Vec::new());
        let (_, failures) = tokio::sync::mpsc::channel(1);
        tokio::spawn(follow(Browser::new(Service::Registrar).unwrap(), registrars, failures));
        (port, known, stop, tokio::spawn(listening.run(stopped)))
    });
    let address = format!(";{ADDRESS};{port};");
    said.until(|line| line.starts_with("=;link0;IPv4;registrar;") && line.contains(&address));
    runtime.block_on(async {
        let found = soon(known.wait_for(|registrars| !registrars.is_empty())).await.unwrap().clone();
        assert!(found.iter().all(|registrar| registrar.port() == port));
        stop.send_replace(true);
        soon(running).await.unwrap();
        soon(known.wait_for(Vec::is_empty)).await.unwrap();
    });
    said.until(|line| line.starts_with("-;link0;IPv4;registrar;"));
}

#[test]
fn a_join_proxy_that_avahi_announces_is_found_until_it_is_withdrawn() {
    let name = "foreign::avahi::a_join_proxy_that_avahi_announces_is_found_until_it_is_withdrawn";
    let Some(link) = Link::enter(name) else { return };
    let mut publisher = link.spawn("avahi-publish", "--service plant _brski-proxy._tcp 8444");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut browser = Browser::new(Service::Proxy).unwrap();
        let mut known = Vec::new();
        while known.is_empty() {
            note(&mut known, soon(browser.next()).await);
        }
        publisher.end();
        // Other addresses of it may have come meanwhile.
        while !known.is_empty() {
            note(&mut known, soon(browser.next()).await);
        }
    });
}

fn note(known: &mut Vec<terse_onboard::discovery::Place>, change: Change) {
    match change {
        Change::Found(place) => {
            assert_eq!(place.port(), 8444);
            known.push(place);
        }
        Change::Gone(place) => known.retain(|other| *other != place),
    }
}

/// Both ends of a link in a namespace, with avahi on it.
struct Link {
    folder: tempfile::TempDir,
    _bus: Running,
    _daemon: Running,
}

/// A program that is ended when this is dropped.
struct Running(Child);

impl Link {
    /// Runs the test `name` again in namespaces, and returns `None` when that has succeeded, or if it must be skipped. In
    /// that second run it returns the link.
    fn enter(name: &str) -> Option<Self> {
        if std::env::var_os(INSIDE).is_some() {
            return Some(Self::new());
        }
        let are_here = is_here("avahi-browse", "--version", "avahi-utils")
            && is_here("avahi-daemon", "--version", "avahi-daemon")
            && is_here("dbus-daemon", "--version", "dbus-daemon")
            && is_here("ip", "-Version", "iproute2")
            && is_here("unshare", "--version", "util-linux");
        if !are_here {
            return None;
        }
        let tried =
            Command::new("unshare").args(NAMESPACES).args(["ip", "link", "add", "type", "veth"]).output().unwrap();
        if !tried.status.success() {
            skipped("a link in a network namespace", "run this as root, where veth links can be made");
            return None;
        }
        let mut again = Command::new("unshare");
        again.args(NAMESPACES).arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]);
        let output = again.env(INSIDE, "1").output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        None
    }

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = Folder(folder.path());
        let run = |command: &str| {
            let (program, arguments) = command.split_once(' ').unwrap();
            let output = files.output(program, arguments);
            assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        };
        // The places of the message bus and of avahi's files, which only this mount namespace sees.
        run("mount -t tmpfs tmpfs /run");
        run("mkdir /run/dbus");
        run("ip link set lo up");
        run("ip link add link0 type veth peer name link1");
        run("ip link set link1 up");
        run("ip link set link0 up");
        run(&format!("ip addr add {ADDRESS}/24 dev link0"));
        files.write("bus.conf", BUS);
        files.write("avahi.conf", "[server]\nuse-ipv4=yes\nuse-ipv6=yes\n");
        let mut bus = spawn(files, "dbus-daemon", "--nofork --config-file=bus.conf --print-address=1");
        Lines::of(bus.0.stdout.take().unwrap()).until(|line| line.contains("unix:"));
        let mut daemon = spawn(files, "avahi-daemon", "--no-drop-root --no-chroot --no-rlimits --file=avahi.conf");
        Lines::of(daemon.0.stderr.take().unwrap()).until(|line| line.contains("Server startup complete"));
        Self { folder, _bus: bus, _daemon: daemon }
    }

    /// Makes a registrar that is to be announced, and returns its configuration.
    fn registrar(&self) -> PathBuf {
        let maker = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(0));
        let (maker_pem, out) = (self.folder.path().join("maker.pem"), self.folder.path().join("plant"));
        fs::write(&maker_pem, Authority::new(&maker).unwrap().root_pem()).unwrap();
        let options = InitOptions::new(out, "registrar.example".into(), maker_pem);
        let config = init(&options, Clock::new()).unwrap().swap_remove(0); // it comes first
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, text.replace("listen = \"[::]:8443\"", "announce = true\nlisten = \"[::]:0\"")).unwrap();
        config
    }

    fn spawn(&self, program: &str, arguments: &str) -> Running {
        spawn(Folder(self.folder.path()), program, arguments)
    }

    /// Returns what `avahi-browse` has resolved, a line for each interface and protocol.
    fn browse(&self) -> Vec<String> {
        let output = Folder(self.folder.path()).output("avahi-browse", "-rpt _brski-registrar._tcp");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().filter(|line| line.starts_with('=')).map(str::to_owned).collect()
    }
}

fn spawn(folder: Folder<'_>, program: &str, arguments: &str) -> Running {
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(folder.path("")).stdin(Stdio::null());
    Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The lines that a program writes, which are read for as long as it runs.
struct Lines(mpsc::Receiver<String>);

impl Lines {
    fn of(output: impl Read + Send + 'static) -> Self {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(line); // nobody has to wait for it
            }
        });
        Self(lines)
    }

    /// Waits for a line.
    #[track_caller]
    fn until(&mut self, is_it: impl Fn(&str) -> bool) {
        let mut said = Vec::new();
        while !said.last().is_some_and(|line: &String| is_it(line)) {
            let line = self.0.recv_timeout(SAFETY_LIMIT);
            said.push(line.unwrap_or_else(|error| panic!("the line does not come ({error}): {said:#?}")));
        }
    }
}

impl Running {
    fn end(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Set in the second run of a test.
const INSIDE: &str = "TERSE_ONBOARD_INSIDE_NAMESPACE";

/// All that runs in them ends with the first program.
const NAMESPACES: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// The address of one end of the link (RFC 5737).
const ADDRESS: &str = "192.0.2.1";

/// A message bus on which everybody may do everything.
const BUS: &str = r#"<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
  </policy>
</busconfig>
"#;
