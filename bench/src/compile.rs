//! Peers in C are shared objects, compiled when they are first used: from a file of ours, and Debian's library or the
//! sources that a crate ships. Such a crate is never built: only its files are used.
//!
//! What must always hold: an object that was compiled from other sources, or with other settings, is not used; each
//! object exports only `peer` or `signer`, so that two builds of one library can be in one process.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::sync::Mutex;

use terse_interop::compile::objects::Compiler;
use terse_interop::compile::{OPTIMISATION, directory, run, shipped};
use terse_interop::peer::{boringssl, wolfssl};

use crate::stack::Version;

/// A peer in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// Debian's OpenSSL.
    OpenSsl,
    /// The current wolfSSL, in assembly where it has some.
    WolfSslAsm,
    /// The current wolfSSL, for small devices.
    WolfSslLow,
    /// Mbed TLS 3.5, for small devices.
    MbedTls,
    /// Debian's GnuTLS.
    GnuTls,
    /// The current BoringSSL.
    BoringSsl,
}

/// What a peer in C is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Handshakes: `c/peer.h`.
    Handshakes(Version),
    /// Signed data of CMS: `c/cms/signer.h`.
    SignedData,
    /// The same, with nothing else in the library, for a program that is as small as it can be.
    SmallProgram,
}

impl Purpose {
    /// Returns the flags with which the sources that a crate ships are compiled for this purpose. Each version of DTLS has
    /// an object of its own: TLS alone takes less memory, and so does DTLS 1.2.
    const fn defined(self) -> &'static [&'static str] {
        match self {
            Self::Handshakes(Version::Tls12 | Version::Tls13) => &[],
            Self::Handshakes(Version::Dtls12) => &["-DDATAGRAMS"],
            Self::Handshakes(Version::Dtls13) => &["-DDATAGRAMS", "-DDATAGRAMS_13"],
            Self::SignedData => &["-DSIGNS_IN_CMS"],
            Self::SmallProgram => &["-DSIGNS_IN_CMS", "-DNO_RSA"],
        }
    }

    /// Returns the compiler's options for code.
    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Handshakes(_) | Self::SignedData => &[OPTIMISATION, "-fPIC"],
            Self::SmallProgram => SMALL,
        }
    }

    /// Returns our files of the interface: the first is that of exports.
    const fn interface(self) -> &'static [&'static str] {
        match self {
            Self::Handshakes(_) => &["c/peer.map", "c/peer.h"],
            Self::SignedData => &["c/cms/signer.map", "c/cms/signer.h"],
            Self::SmallProgram => &["c/cms/program.c", "c/cms/signer.h"],
        }
    }
}

/// The parts from which an object is linked.
struct Parts {
    /// Object files, compiled from sources that a crate ships.
    objects: Vec<PathBuf>,
    /// The compiler's flags for our file.
    flags: Vec<String>,
    /// The linker's flags.
    libraries: &'static [&'static str],
    /// The packages that must be installed.
    packages: &'static str,
}

impl Library {
    /// Returns the shared object, or the static program, or the reason why there is none.
    pub(crate) fn object(self, purpose: Purpose) -> Result<PathBuf, String> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut hasher = DefaultHasher::new();
        (purpose.options(), purpose.defined()).hash(&mut hasher);
        let files = self.files(purpose)?;
        for file in files.iter().chain(purpose.interface()).chain(&["Cargo.toml", "src/compile.rs"]) {
            fs::read(own(file)).map_err(|error| format!("{file}: {error}"))?.hash(&mut hasher);
        }
        let suffix = if purpose == Purpose::SmallProgram { "" } else { ".so" };
        let name = format!("bench-{self:?}-{:016x}", hasher.finish()).to_lowercase();
        let object = directory().join(format!("{name}{suffix}"));
        if !object.exists() {
            let unfinished = directory().join(format!("{name}.{}", id()));
            self.compile(&unfinished, purpose, files[0])?;
            fs::rename(&unfinished, &object).map_err(|error| format!("{}: {error}", object.display()))?;
        }
        Ok(object)
    }

    /// Returns the library as an archive, whole: Debian's, or one of all object files.
    pub(crate) fn archive(self, purpose: Purpose) -> Result<PathBuf, String> {
        let Parts { objects, packages, .. } = self.parts(purpose)?;
        if self == Self::OpenSsl {
            let found = run(Command::new("cc").arg("-print-file-name=libcrypto.a"), "install build-essential")?;
            let found = PathBuf::from(found.trim());
            return if found.is_absolute() { Ok(found) } else { Err(format!("install the packages {packages}")) };
        }
        let archive = directory().join(format!("bench-{self:?}-{}.a", id()).to_lowercase());
        run(Command::new("ar").arg("rcs").arg(&archive).args(objects), "install the package binutils")?;
        Ok(archive)
    }

    fn compile(self, object: &Path, purpose: Purpose, file: &str) -> Result<(), String> {
        let Parts { objects, flags, libraries, packages } = self.parts(purpose)?;
        let mut command = Command::new("cc");
        command.args(purpose.options()).args(["-Wall", "-Wextra", "-Werror"]).args(flags);
        let interface = own(purpose.interface()[0]);
        if purpose == Purpose::SmallProgram {
            command.args(STATIC).arg(interface);
        } else {
            command.args(["-shared", "-Wl,-Bsymbolic", "-Wl,-z,defs"]);
            command.arg(format!("-Wl,--version-script={}", interface.display()));
        }
        command.arg(own(file)).args(objects).args(libraries).arg("-o").arg(object);
        run(&mut command, &format!("install the packages {packages}")).map(drop)
    }

    fn parts(self, purpose: Purpose) -> Result<Parts, String> {
        Ok(match self {
            Self::OpenSsl => Parts {
                objects: Vec::new(),
                flags: Vec::new(),
                libraries: &["-lssl", "-lcrypto"],
                packages: "libssl-dev and build-essential",
            },
            Self::WolfSslAsm => wolfssl("c/wolfssl-asm", WOLFSSL_ASSEMBLY, purpose)?,
            Self::WolfSslLow => wolfssl("c/wolfssl-low", &[], purpose)?,
            Self::MbedTls => mbedtls(purpose)?,
            Self::GnuTls => Parts {
                objects: Vec::new(),
                flags: Vec::new(),
                libraries: &["-lgnutls"],
                packages: "libgnutls28-dev and build-essential",
            },
            Self::BoringSsl => {
                let made = boringssl::boringssl()?;
                let (objects, flags) = (made.libraries, made.flags);
                Parts { objects, flags, libraries: boringssl::LIBRARIES, packages: boringssl::PACKAGES }
            }
        })
    }

    /// Returns our files that it is made of: the first is compiled with the library, the others configure it.
    fn files(self, purpose: Purpose) -> Result<&'static [&'static str], String> {
        let signs = !matches!(purpose, Purpose::Handshakes(_));
        Ok(match self {
            Self::OpenSsl if signs => &["c/cms/openssl.c"],
            Self::WolfSslAsm if signs => &["c/cms/wolfssl.c", "c/wolfssl-common.h", "c/wolfssl-asm/user_settings.h"],
            Self::WolfSslLow if signs => &["c/cms/wolfssl.c", "c/wolfssl-common.h", "c/wolfssl-low/user_settings.h"],
            _ if signs => return Err("it does not sign in CMS here".into()),
            Self::OpenSsl => &["c/openssl.c"],
            Self::WolfSslAsm => &["c/wolfssl.c", "c/wolfssl-common.h", "c/wolfssl-asm/user_settings.h"],
            Self::WolfSslLow => &["c/wolfssl.c", "c/wolfssl-common.h", "c/wolfssl-low/user_settings.h"],
            Self::MbedTls => &["c/mbedtls.c", "c/mbedtls/config.h"],
            Self::GnuTls => &["c/gnutls.c"],
            Self::BoringSsl => &["c/boringssl.c"],
        })
    }
}

fn wolfssl(settings: &str, assembly: &[&str], purpose: Purpose) -> Result<Parts, String> {
    if !assembly.is_empty() && !cfg!(target_arch = "x86_64") {
        return Err("its assembly is measured on x86-64 only".into());
    }
    let shipped = shipped("wolfssl-sys")?.join("wolfssl-src");
    let mut flags = vec!["-DWOLFSSL_USER_SETTINGS".into(), include(&own(settings)), include(&shipped)];
    flags.extend(purpose.defined().iter().map(|flag| (*flag).to_owned()));
    let intrinsics: &[&str] = if assembly.is_empty() { &[] } else { &["-maes"] }; // in aes.c
    // A source file that is not configured compiles to nothing.
    let sources = wolfssl::SOURCES.iter().chain(assembly).chain(WOLFSSL_CMS).map(|source| shipped.join(source));
    from_sources("wolfSSL", &sources.collect::<Vec<_>>(), intrinsics, flags, purpose)
}

fn mbedtls(purpose: Purpose) -> Result<Parts, String> {
    let shipped = shipped("psa-crypto-sys")?.join("vendor");
    let configuration = own("c/mbedtls/config.h");
    let mut flags = vec![
        format!("-DMBEDTLS_CONFIG_FILE=\"{}\"", configuration.display()),
        include(&shipped.join("include")),
        include(&shipped.join("library")),
    ];
    flags.extend(purpose.defined().iter().map(|flag| (*flag).to_owned()));
    let library = shipped.join("library");
    let files = fs::read_dir(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "c");
    // A source file that is not configured compiles to nothing.
    let mut sources: Vec<PathBuf> = files.flatten().map(|file| file.path()).filter(is_source).collect();
    sources.sort();
    from_sources("Mbed TLS", &sources, &[], flags, purpose)
}

/// Compiles a library from sources. `flags` are its configuration, for our file too.
fn from_sources(
    name: &str,
    sources: &[PathBuf],
    options: &[&str],
    flags: Vec<String>,
    purpose: Purpose,
) -> Result<Parts, String> {
    eprintln!("compiling what is new in {name}, once");
    let options = purpose.options().iter().chain(&["-w"]).chain(options).map(|option| (*option).to_owned()).collect();
    let objects = Compiler { options, settings: flags.clone() }.objects(sources)?;
    Ok(Parts { objects, flags, libraries: &["-lm"], packages: "build-essential" })
}

/// Returns the flag for headers of others, which suppresses their warnings.
fn include(directory: &Path) -> String {
    format!("-isystem{}", directory.display())
}

/// The additional sources of the build with assembly.
const WOLFSSL_ASSEMBLY: &[&str] = &[
    "wolfcrypt/src/aes_asm.S",
    "wolfcrypt/src/aes_gcm_asm.S",
    "wolfcrypt/src/aes_x86_64_asm.S",
    "wolfcrypt/src/cpuid.c",
    "wolfcrypt/src/sha256_asm.S",
    "wolfcrypt/src/sp_x86_64.c",
    "wolfcrypt/src/sp_x86_64_asm.S",
];

/// The additional source of the builds that sign in CMS.
const WOLFSSL_CMS: &[&str] = &["wolfcrypt/src/pkcs7.c"];

/// The compiler's options for programs that are to be small.
pub(crate) const SMALL: &[&str] = &["-Os", "-ffunction-sections", "-fdata-sections"];

/// The linker's options for a static program without what it does not use.
pub(crate) const STATIC: &[&str] = &["-static", "-Wl,--gc-sections", "-s"];

/// Returns the path of a file of ours.
pub(crate) fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
