//! The command's cache file may not be writable, or be written by two programs.

use std::fs;
use std::process::Command;
use std::thread;

use crate::common::{self, Pki};
use serde_json::Value;

const MUTUAL: &str = "--client-ca @ca.pem --require-client-cert --echo";
const DEVICE: &str = "--cert @client.pem --key @client.key --send hello --expect 5 --cache-file @client.cache";

fn modes(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["mode"].as_str().unwrap()).collect()
}

/// Returns `command` with a limit of so many blocks of 512 bytes on the files that it writes: to it, a full disk.
fn with_full_disk(command: &Command, blocks: u8) -> Command {
    let mut limited = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    limited.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
    limited
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_once_and_leaves_the_file() {
    let pki = Pki::new();
    let server = pki.server(MUTUAL);
    let first_modes = modes(&pki.client(&server, DEVICE).objects()).join(" ");
    assert_eq!(first_modes, "full");
    let saved = fs::read(pki.path("client.cache")).unwrap();
    // The contents alone, without later changes, are longer than each of these limits.
    let contents = 46 + u32::from_be_bytes(saved[10..14].try_into().unwrap());
    for blocks in 0..=(contents / 512) as u8 {
        let always =
            format!("client --connect {} --server-name {} --ca @ca.pem --json", server.address, common::SERVER);
        let command = pki.command(&always, &format!("{DEVICE} --repeat 3"));
        let outcome = common::run(with_full_disk(&command, blocks));
        assert_eq!(modes(&outcome.objects())[1..], ["compact", "compact"], "what is kept in memory is used");
        assert_eq!(outcome.stderr.matches("client.cache cannot be written").count(), 1, "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        assert_eq!(fs::read(pki.path("client.cache")).unwrap(), saved);
        let names = fs::read_dir(pki.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count(), 0);
    }
    let outcome = pki.client(&server, &format!("{DEVICE} --repeat 2"));
    assert_eq!((modes(&outcome.objects()), outcome.stderr.as_str()), (vec!["full", "compact"], ""));
}

/// The last one that writes wins; entries of the others are lost, and may cost full handshakes. No connection fails,
/// and a reader finds the file whole.
#[test]
fn two_programs_may_write_one_file() {
    const EACH: usize = 25;
    let pki = Pki::new();
    let server = pki.server(&format!("{MUTUAL} --cache-file @server.cache"));
    let options = format!("{DEVICE} --repeat {EACH}");
    let outcomes = thread::scope(|threads| {
        let (pki, address, options) = (&pki, &server.address, &options);
        let clients: Vec<_> = (0..3).map(|_| threads.spawn(move || pki.client_at(address, options))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    for outcome in outcomes {
        assert_eq!(outcome.objects().len(), EACH);
        assert_eq!(outcome.stderr, "");
    }
    let outcome = pki.client(&server, &format!("{DEVICE} --repeat 2"));
    assert_eq!((modes(&outcome.objects())[1], outcome.stderr.as_str()), ("compact", ""), "the file is whole");
}

/// Two servers write one file: at least one of them knows each client.
#[test]
fn two_servers_may_write_one_file() {
    let pki = Pki::new();
    let mut servers = [0; 2].map(|_| pki.server(&format!("{MUTUAL} --cache-file @server.cache")));
    let addresses = servers.each_ref().map(|server| server.address.clone());
    thread::scope(|threads| {
        for (n, address) in addresses.iter().enumerate() {
            let pki = &pki;
            let options = DEVICE.replace("client.cache", &format!("client{n}.cache"));
            threads.spawn(move || {
                assert_eq!(pki.client_at(address, &format!("{options} --repeat 20")).objects().len(), 20)
            });
        }
    });
    for server in &mut servers {
        assert_eq!(server.end(), "");
    }
    let mut server = pki.server(&format!("{MUTUAL} --cache-file @server.cache"));
    assert_eq!(modes(&pki.client(&server, &format!("{DEVICE} --repeat 2")).objects()), ["full", "compact"]);
    assert_eq!(server.end(), "", "the file is whole");
}
