//! A network namespace for this process alone.

use std::process::Command;
use std::{env, fs, process};

/// Runs this program again in a namespace, and ends with it; the call returns in that second run.
pub(crate) fn enter_or_skip() {
    if env::var_os(INSIDE).is_some() {
        return;
    }
    if !fs::exists("/dev/net/tun").unwrap_or(false) {
        skip("there is no /dev/net/tun");
    }
    let tried = Command::new("unshare").args(["--net", "ip", "tuntap", "add", "dev", "probe", "mode", "tun"]).output();
    match tried {
        Ok(output) if output.status.success() => {}
        Ok(output) => skip(&format!("no TUN device in a new namespace: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => skip(&format!("unshare: {error}")),
    }
    let this = env::current_exe().expect("a test has a file");
    let status = Command::new("unshare").arg("--net").arg(this).env(INSIDE, "1").status().expect("it ran before");
    process::exit(status.code().unwrap_or(1));
}

/// Writes a setting of the kernel's TCP, in this namespace.
pub(crate) fn set(name: &str, value: &str) {
    let path = format!("/proc/sys/net/ipv4/{name}");
    fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// Runs `ip` with these arguments.
pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("ip ran before");
    assert!(status.success(), "ip {arguments}");
}

fn skip(why: &str) -> ! {
    println!("skipped: the kernel's TCP: {}", why.trim());
    process::exit(i32::from(env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1")));
}

const INSIDE: &str = "TERSE_SIM_INSIDE_NAMESPACE";
