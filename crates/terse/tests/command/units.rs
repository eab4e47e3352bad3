//! The units of systemd in `packaging/systemd`: systemd understands them, and what they start runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Server, run, terse};

/// Where the units and their configurations are once they are installed.
const BINARY: &str = "/usr/local/bin/terse";

const SERVICES: [&str; 3] = ["registrar", "masa", "join-proxy"];

fn unit(service: &str) -> String {
    let path = format!("../../packaging/systemd/terse-{service}.service");
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn setting<'a>(unit: &'a str, key: &str) -> &'a str {
    let found: Vec<_> = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect();
    assert_eq!(found.len(), 1, "{key} is not there once");
    found[0]
}

#[test]
fn systemd_understands_each_unit() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |service: &str| {
        let path = folder.path().join(format!("terse-{service}.service"));
        // What is to be started must be there.
        fs::write(&path, unit(service).replace(BINARY, env!("CARGO_BIN_EXE_terse"))).unwrap();
        path
    };
    let units: Vec<PathBuf> = SERVICES.into_iter().map(write).collect();
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no"]).args(&units);
    let outcome = run(command);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:#?}");
}

#[test]
fn each_unit_has_no_rights_beyond_its_own_folder() {
    for service in SERVICES {
        let unit = unit(service);
        for (key, value) in [
            ("User", format!("terse-{service}").as_str()),
            ("StateDirectory", &format!("terse-{service}")),
            ("StateDirectoryMode", "0700"),
            ("NoNewPrivileges", "yes"),
            ("CapabilityBoundingSet", ""),
            ("ProtectSystem", "strict"),
            ("ProtectHome", "yes"),
            ("PrivateDevices", "yes"),
            ("MemoryDenyWriteExecute", "yes"),
            ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_NETLINK AF_UNIX"),
            ("UMask", "0077"),
        ] {
            assert_eq!(setting(&unit, key), value, "{service}: {key}");
        }
        let users = include_str!("../../../../packaging/systemd/terse.sysusers.conf");
        let user = format!("u terse-{service} - ");
        assert!(users.lines().any(|line| line.starts_with(&user)), "nobody makes the user of {service}");
    }
}

/// Each service is set up in the folder of its unit as docs/operating.md says, and started by the unit's own command line.
#[cfg(unix)]
#[test]
fn the_command_line_of_each_unit_starts_its_service() {
    let folder = tempfile::tempdir().unwrap();
    let state = |service: &str| folder.path().join(format!("terse-{service}")).display().to_string();
    let ok = |words: &[&str]| {
        let mut command = terse();
        command.args(words).current_dir(folder.path());
        let outcome = run(command);
        assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    };
    ok(&["masa", "init", "--out", &state("masa"), "--name", "masa.maker.example", "--listen", "127.0.0.1:0"]);
    let (out, ca) = (state("registrar"), format!("{}/ca/ca.pem", state("masa")));
    let registrar = ["--name", "registrar.plant.example", "--manufacturer-ca", &ca, "--listen", "127.0.0.1:0"];
    ok(&[&["registrar", "init", "--out", &out][..], &registrar].concat());
    ok(&["join-proxy", "init", "--out", &state("join-proxy"), "--registrar", "127.0.0.1:1"]);
    let path = format!("{}/join-proxy.toml", state("join-proxy"));
    let text = fs::read_to_string(&path).unwrap().replace("[::]:8443", "127.0.0.1:0");
    fs::write(&path, text.replace("announce = true", "announce = false")).unwrap();
    for service in SERVICES {
        let unit = unit(service);
        let line = setting(&unit, "ExecStart").strip_prefix(BINARY).unwrap().trim();
        let installed = format!("/var/lib/terse-{service}/");
        assert!(line.contains(&installed), "{line}");
        let mut command = terse();
        command.args(line.replace(&installed, &format!("{}/", state(service))).split(' ')).current_dir(state(service));
        let server = Server::start(command);
        assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
        let (code, errors) = server.terminate();
        assert_eq!(code, Some(0), "{service}: {errors}");
    }
}
