//! Wireshark's command line, `tshark`, reads captures.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether tshark is installed. If it is not, the test says so, and fails where nothing may be skipped.
pub(crate) fn is_there() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
        assert!(!required, "tshark is required: apt-get install tshark");
        eprintln!("skipped: tshark is not installed");
    }
    there
}

/// A capture in a file that is removed when this is dropped.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(name: &str, content: &[u8]) -> Self {
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = std::env::temp_dir().join(format!("terse-{}-{name}.pcapng", std::process::id()));
        std::fs::write(&path, content).expect("a temporary file");
        Self(path)
    }

    /// Returns the values of `fields` in the frames that `filter` selects: a line for each frame, values between bars.
    pub(crate) fn fields(&self, filter: &str, fields: &[&str]) -> Vec<String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/terse.lua");
        let mut command = Command::new("tshark");
        command.arg("-X").arg(format!("lua_script:{}", script.display()));
        command.arg("-r").arg(&self.0).args(["-Y", filter, "-T", "fields", "-E", "separator=|"]);
        // The ports of the tests are not well-known.
        command.args(["-d", "tcp.port==4433,tls", "-d", "udp.port==4433,dtls"]);
        // The prefix of the meshes in the tests.
        command.args(["-o", "6lowpan.context0:bbbb::/64"]);
        for protocol in ["ip", "tcp", "udp"] {
            command.arg("-o").arg(format!("{protocol}.check_checksum:TRUE"));
        }
        for field in fields {
            command.args(["-e", field]);
        }
        let output = command.output().expect("tshark runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !errors.contains("Lua"), "{errors}");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    /// Returns how many frames `filter` selects.
    pub(crate) fn count(&self, filter: &str) -> usize {
        self.fields(filter, &["frame.number"]).len()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // It is a temporary file, and may stay.
        let _ = std::fs::remove_file(&self.0);
    }
}
