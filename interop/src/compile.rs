//! The programs in `c/` and `java/`, compiled when they are first asked for: against Debian's libraries, against Scandium,
//! which Maven fetches, and against the current wolfSSL and BoringSSL, whose sources the crates `wolfssl-sys` and
//! `boring-sys` ship. Those crates themselves are never built: that needs autotools and libclang, and leaves out early data
//! and raw public keys.
//!
//! What must always hold: what was compiled from other sources, or with other settings, is not used.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use objects::Compiler;

pub mod boringssl;
pub mod objects;

/// A library that a program is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Debian's wolfSSL 5.5.
    WolfSsl55,
    /// The current wolfSSL.
    WolfSsl,
    /// The current BoringSSL.
    BoringSsl,
    /// Debian's Mbed TLS 2.28.
    MbedTls,
    /// Debian's Bouncy Castle 1.72.
    BouncyCastle,
    /// Scandium, the version that `java/scandium/pom.xml` names.
    Scandium,
    /// The crate `dimpl`.
    Dimpl,
}

impl Library {
    /// Its program, or why there is none.
    pub fn command(self) -> Result<Command, String> {
        static PROGRAMS: [OnceLock<Result<PathBuf, String>>; 7] = [const { OnceLock::new() }; 7];
        let program = PROGRAMS[self as usize].get_or_init(|| self.compile()).as_deref().map_err(Clone::clone)?;
        let Some(class) = self.class() else { return Ok(Command::new(program)) };
        let jars = program.join("jars");
        let jars = fs::read_to_string(&jars).map_err(|error| format!("{}: {error}", jars.display()))?;
        let mut command = Command::new("java");
        command.args(["-XX:TieredStopAtLevel=1", "-cp", &format!("{}:{jars}", program.display()), class]);
        Ok(command)
    }

    /// The class that it begins with, if it is made of Java.
    const fn class(self) -> Option<&'static str> {
        match self {
            Self::BouncyCastle => Some("Peer"),
            Self::Scandium => Some("Scandium"),
            Self::WolfSsl55 | Self::WolfSsl | Self::BoringSsl | Self::MbedTls | Self::Dimpl => None,
        }
    }

    /// What it says about its version, or why it cannot be used here.
    pub fn version(self) -> Result<String, String> {
        let output = run(self.command()?.arg("version"), "its program")?;
        Ok(output.trim().to_owned())
    }

    fn compile(self) -> Result<PathBuf, String> {
        if self == Self::Dimpl {
            return built_by_cargo("dimpl-peer");
        }
        let mut hasher = DefaultHasher::new();
        let others = ["c/peer.h", "c/wolfssl/user_settings.h", "java/scandium/pom.xml"].map(own);
        for file in self.sources().iter().chain(&others) {
            fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut hasher);
        }
        include_str!("../Cargo.toml").hash(&mut hasher); // the versions of wolfssl-sys and boring-sys
        WOLFSSL_SOURCES.hash(&mut hasher);
        let name = format!("{self:?}-{:016x}", hasher.finish()).to_lowercase();
        let program = directory().join(&name);
        if program.exists() {
            return Ok(program);
        }
        let unfinished = directory().join(format!("{name}.{}", std::process::id()));
        let mut command = Command::new(if self.class().is_some() { "javac" } else { "cc" });
        if self.class().is_some() {
            let jars = self.jars()?;
            let written = fs::create_dir_all(&unfinished).and_then(|()| fs::write(unfinished.join("jars"), &jars));
            written.map_err(|error| format!("{}: {error}", unfinished.display()))?;
            command.args(["-Xlint:all,-path", "-Werror", "-cp", &jars, "-d"]).arg(&unfinished);
        } else {
            command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&unfinished);
        }
        command.args(self.sources());
        let packages = match self {
            Self::WolfSsl55 => {
                command.arg("-lwolfssl");
                "libwolfssl-dev and build-essential"
            }
            Self::MbedTls => {
                command.args(["-lmbedtls", "-lmbedx509", "-lmbedcrypto"]);
                "libmbedtls-dev and build-essential"
            }
            Self::WolfSsl => {
                let wolfssl = shipped("wolfssl-sys")?.join("wolfssl-src");
                command.args(WOLFSSL_FLAGS).arg("-I").arg(own("c/wolfssl")).arg("-isystem").arg(&wolfssl);
                command.args(wolfssl_objects(&wolfssl)?).arg("-lm");
                "build-essential"
            }
            Self::BoringSsl => {
                let made = boringssl::boringssl()?;
                command.args(made.flags).args(made.libraries).args(boringssl::LIBRARIES);
                boringssl::PACKAGES
            }
            Self::BouncyCastle => "libbctls-java and default-jdk-headless",
            Self::Scandium => "maven and default-jdk-headless",
            Self::Dimpl => "",
        };
        run(&mut command, &format!("install the packages {packages}"))?;
        fs::rename(&unfinished, &program).map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(program)
    }

    /// What its program is made of.
    fn sources(self) -> Vec<PathBuf> {
        match self {
            Self::WolfSsl55 | Self::WolfSsl => vec![own("c/peer.c"), own("c/sockets.c"), own("c/wolfssl.c")],
            Self::BoringSsl => vec![own("c/peer.c"), own("c/sockets.c"), own("c/boringssl.c")],
            Self::MbedTls => vec![own("c/peer.c"), own("c/sockets.c"), own("c/mbedtls.c")],
            Self::BouncyCastle => vec![own("java/Peer.java")],
            Self::Scandium => vec![own("java/scandium/Scandium.java"), own("java/scandium/Settings.java")],
            Self::Dimpl => Vec::new(), // Cargo knows
        }
    }

    /// The libraries of a program in Java.
    fn jars(self) -> Result<String, String> {
        if self != Self::Scandium {
            return Ok(DEBIAN_JARS.into());
        }
        let list = directory().join(format!("jars.{}", std::process::id()));
        let mut command = Command::new("mvn");
        command.args(["--quiet", "--batch-mode", "dependency:build-classpath", "--file"]);
        command.arg(own("java/scandium/pom.xml")).arg(format!("-Dmdep.outputFile={}", list.display()));
        run(&mut command, "install the package maven; it fetches Scandium")?;
        let jars = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let _ = fs::remove_file(&list); // there is nothing to be done if it stays
        Ok(jars)
    }
}

/// Where Debian keeps Bouncy Castle.
const DEBIAN_JARS: &str = "/usr/share/java/bctls.jar:/usr/share/java/bcprov.jar:/usr/share/java/bcutil.jar";

/// The program `name` of this workspace, built like this one: with the packages that `make test` names, Cargo turns on the
/// same features, and compiles nothing twice.
pub fn built_by_cargo(name: &str) -> Result<PathBuf, String> {
    let built = profile_directory();
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--quiet", "--workspace", "--exclude", "terse-bench", "--bin", name, "--manifest-path"]);
    command.arg(own("../Cargo.toml")).arg("--target-dir").arg(built.with_file_name(""));
    if built.ends_with("release") {
        command.arg("--release");
    }
    run(&mut command, "Cargo has to build it")?;
    Ok(built.join(name))
}

/// A file of ours.
fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// Where Cargo has put this program.
fn profile_directory() -> PathBuf {
    let executable = env::current_exe().expect("a running program has a path");
    let built = executable.ancestors().skip(1).find(|path| !path.ends_with("deps"));
    built.expect("a program in a directory").to_owned()
}

/// Where the programs are kept: beside what Cargo has built, for all profiles.
pub fn directory() -> PathBuf {
    let directory = profile_directory().with_file_name("peers");
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}

/// The output of `command`. `hint`: what may help if it fails.
pub fn run(command: &mut Command, hint: &str) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` does not run ({error}); {hint}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().take(5).collect();
    Err(format!("`{name}` fails; {hint}\n{}", lines.join("\n")))
}

/// Where Cargo keeps the files of `package`, which some manifest here names. They are downloaded if need be.
pub fn shipped(package: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--format-version", "1", "--manifest-path"]);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let hint = format!("it has to find the sources of the crate {package}: `cargo fetch` gets them");
    let metadata = run(&mut command, &hint)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|error| format!("metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages.filter(|known| known["name"] == package).find_map(|known| known["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| format!("Cargo knows of no crate {package}"))?;
    Ok(Path::new(manifest).with_file_name(""))
}

/// Compiles wolfSSL, which takes half a minute, once.
fn wolfssl_objects(wolfssl: &Path) -> Result<Vec<PathBuf>, String> {
    eprintln!("compiling the current wolfSSL, once");
    let sources: Vec<PathBuf> = WOLFSSL_SOURCES.iter().map(|source| wolfssl.join(source)).collect();
    let mut settings: Vec<String> = WOLFSSL_FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    settings.extend([own("c/wolfssl").as_path(), wolfssl].map(|directory| format!("-I{}", directory.display())));
    Compiler { options: ["-O1", "-w"].map(str::to_owned).into(), settings }.objects(&sources)
}

const WOLFSSL_FLAGS: &[&str] = &["-DWOLFSSL_USER_SETTINGS"];

/// What TLS needs, in portable C.
pub const WOLFSSL_SOURCES: &[&str] = &[
    "src/ssl.c", // the largest first
    "src/internal.c",
    "src/tls13.c",
    "src/tls.c",
    "src/dtls.c",
    "src/dtls13.c",
    "src/keys.c",
    "src/wolfio.c",
    "wolfcrypt/src/aes.c",
    "wolfcrypt/src/asn.c",
    "wolfcrypt/src/chacha.c",
    "wolfcrypt/src/chacha20_poly1305.c",
    "wolfcrypt/src/coding.c",
    "wolfcrypt/src/curve25519.c",
    "wolfcrypt/src/ecc.c",
    "wolfcrypt/src/ed25519.c",
    "wolfcrypt/src/error.c",
    "wolfcrypt/src/evp.c",
    "wolfcrypt/src/fe_operations.c",
    "wolfcrypt/src/ge_operations.c",
    "wolfcrypt/src/hash.c",
    "wolfcrypt/src/hmac.c",
    "wolfcrypt/src/kdf.c",
    "wolfcrypt/src/logging.c",
    "wolfcrypt/src/md5.c",
    "wolfcrypt/src/memory.c",
    "wolfcrypt/src/poly1305.c",
    "wolfcrypt/src/pwdbased.c",
    "wolfcrypt/src/random.c",
    "wolfcrypt/src/rsa.c",
    "wolfcrypt/src/sha.c",
    "wolfcrypt/src/sha256.c",
    "wolfcrypt/src/sha3.c",
    "wolfcrypt/src/sha512.c",
    "wolfcrypt/src/signature.c",
    "wolfcrypt/src/sp_int.c",
    "wolfcrypt/src/wc_encrypt.c",
    "wolfcrypt/src/wc_mlkem.c",
    "wolfcrypt/src/wc_mlkem_poly.c",
    "wolfcrypt/src/wc_port.c",
    "wolfcrypt/src/wolfmath.c",
];
