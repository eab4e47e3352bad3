//! The current BoringSSL, driven by `c/boringssl.c`. Its sources are in the crate `boring-sys`, which itself is never built,
//! because that needs libclang; the libraries are made with CMake, as BoringSSL's own documentation says.
//!
//! What must always hold: its libraries are kept under the name of the crate's version and their optimisation, and only
//! when they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::thread;

use terse_tls::ProtocolVersion;

use super::absence::absent;
use super::driver::Driver;
use super::{Absence, DatagramCookies, Implementation, Remote, Way};
use crate::case::Case;
use crate::compile::{CProgram, Launcher, OPTIMISATION, directory, run, shipped};
use crate::features::Carrier;

/// Both versions of DTLS.
pub(super) struct BoringSsl;

static DRIVER: Driver = Driver::new(make);

fn make() -> Result<Launcher, String> {
    let program = CProgram {
        name: "boringssl",
        source: "c/boringssl.c",
        settings: &["Cargo.toml", "src/peer/boringssl.rs"],
        library: |compiler| {
            let made = boringssl()?;
            compiler.args(made.flags).args(made.libraries).args(LIBRARIES);
            Ok(())
        },
        packages: PACKAGES,
    };
    program.compile()
}

impl Implementation for BoringSsl {
    fn name(&self) -> &'static str {
        "boringssl"
    }

    fn version(&self) -> Result<String, String> {
        DRIVER.version()
    }

    fn speaks(&self, _: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Udp
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        Some(DRIVER.server(case))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        Some(DRIVER.client(case, way))
    }

    fn absences(&self) -> &'static [Absence] {
        ABSENCES
    }

    fn datagram_cookies(&self) -> DatagramCookies {
        DatagramCookies::Never
    }
}

const IMPORTS_KEYS: &str = "BoringSSL imports every key (RFC 9258)";

const NO_CCM: &str = "BoringSSL has no CCM suites";

const NO_LIMITS: &str = "BoringSSL has neither record_size_limit nor max_fragment_length";

const SEALS_SESSIONS: &str = "BoringSSL's server seals its sessions of DTLS 1.3";

const NO_COOKIES: &str = "BoringSSL's server sends no cookies";

const ABSENCES: &[Absence] = &[
    absent("TLS_AES_128_CCM_SHA256", NO_CCM),
    absent("TLS_AES_128_CCM_8_SHA256", NO_CCM),
    absent("TLS_ECDHE_ECDSA_WITH_AES_128_CCM", NO_CCM),
    absent("TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8", NO_CCM),
    absent("max_fragment_length", NO_LIMITS),
    absent("record_size_limit_of_ours", NO_LIMITS),
    absent("record_size_limit_of_the_peer", NO_LIMITS),
    absent("hello_verify_request", NO_COOKIES).for_our_client(),
    absent("hello_retry_request_with_cookie", NO_COOKIES).for_our_client(),
    absent("connection_id_of_both", "BoringSSL has no connection IDs"),
    absent("connection_id_of_ours", "BoringSSL has no connection IDs"),
    absent("connection_id_of_the_peer", "BoringSSL has no connection IDs"),
    absent("connection_id_changed_by_ours", "BoringSSL has no connection IDs"),
    absent("pre_shared_key", IMPORTS_KEYS).tls13(),
    absent("pre_shared_key", NO_CCM).tls12(),
    absent("pre_shared_key_with_ecdhe", NO_CCM),
    absent("extended_master_secret_missing", "BoringSSL always uses it"),
    absent("early_data", "BoringSSL has no early data in DTLS"),
    absent("early_data_lost_to_a_cookie", "BoringSSL has no early data in DTLS"),
    absent("resumption_of_kept_sessions", SEALS_SESSIONS).for_our_client().tls13(),
];

/// What a file of C needs to be compiled and linked with BoringSSL.
#[derive(Debug)]
pub struct Libraries {
    /// Arguments for the compiler; `CRATE` is the name of the crate with its version.
    pub flags: Vec<String>,
    /// Arguments for the linker.
    pub libraries: Vec<PathBuf>,
}

/// The other libraries that the linker needs.
pub const LIBRARIES: &[&str] = &["-lstdc++", "-lpthread"];

/// The Debian packages that building BoringSSL needs.
pub const PACKAGES: &str = "build-essential and cmake";

/// Returns BoringSSL's libraries. They are compiled once, which takes a minute or two, and serve both the programs and the
/// shared objects whose speed is measured.
pub fn boringssl() -> Result<Libraries, String> {
    let package = shipped("boring-sys")?;
    let name = package.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let name = name.ok_or("a crate in a directory")?;
    let sources = package.join("deps/boringssl");
    let libraries = libraries(&name, &sources)?;
    let include = format!("-isystem{}", sources.join("include").display());
    Ok(Libraries {
        flags: vec![format!("-DCRATE=\"{name}\""), include],
        libraries: ["libssl.a", "libcrypto.a"].map(|library| libraries.join(library)).into(),
    })
}

/// Returns where the libraries are.
fn libraries(name: &str, sources: &Path) -> Result<PathBuf, String> {
    let libraries = directory().join(format!("boringssl-pic{OPTIMISATION}-of-{name}"));
    if libraries.exists() {
        return Ok(libraries);
    }
    eprintln!("compiling the current BoringSSL, once");
    let unfinished = directory().join(format!("boringssl.{}", id()));
    let hint = format!("install the packages {PACKAGES}");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(sources).arg("-B").arg(&unfinished).args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]);
    // BoringSSL makes its warnings errors, and writes them for other compilers than ours. Nobody debugs it here.
    cmake.args(["C", "CXX"].map(|language| format!("-DCMAKE_{language}_FLAGS_RELEASE={OPTIMISATION} -g0 -w")));
    run(cmake.arg("-DCMAKE_POSITION_INDEPENDENT_CODE=ON"), &hint)?;
    let processors = thread::available_parallelism().map_or(1, usize::from).to_string(); // without a number: all at once
    run(
        Command::new("cmake").arg("--build").arg(&unfinished).args(["--parallel", &processors, "--target", "ssl"]),
        &hint,
    )?;
    let _ = fs::remove_dir_all(unfinished.join("CMakeFiles")); // large, and no longer needed
    match fs::rename(&unfinished, &libraries) {
        Err(error) if !libraries.exists() => Err(format!("{}: {error}", libraries.display())),
        Err(_) => fs::remove_dir_all(unfinished).map(|()| libraries).map_err(|error| error.to_string()), // another process was faster
        Ok(()) => Ok(libraries),
    }
}
