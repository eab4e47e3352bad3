//! Clients of other TLS libraries, compiled from the sources that crates carry, for the sizes of their images.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::Endianness;
use object::read::elf::ElfFile32;

use crate::image::{self, Image};

/// A library, and where its sources are.
struct Peer {
    name: &'static str,
    /// The crate that carries them.
    carrier: &'static str,
    /// The directory in the crate.
    directory: &'static str,
    /// The directories with C files, and the files that are no programs of their own.
    sources: &'static [&'static str],
    excluded: &'static [&'static str],
    includes: &'static [&'static str],
    defines: &'static [&'static str],
}

const PEERS: [Peer; 2] = [
    Peer {
        name: "mbedtls",
        carrier: "mbedtls-rs-sys",
        directory: "mbedtls",
        sources: &["library", "3rdparty/p256-m", "3rdparty/p256-m/p256-m"],
        excluded: &[],
        includes: &["include", "library", "3rdparty/p256-m"],
        defines: &["-DMBEDTLS_CONFIG_FILE=\"config.h\""],
    },
    Peer {
        name: "wolfssl",
        carrier: "wolfssl-sys",
        directory: "wolfssl-src",
        sources: &["src", "wolfcrypt/src"],
        // They are included by others.
        excluded: &["misc.c", "evp.c", "async.c", "bio.c", "conf.c", "pk.c", "x509.c", "x509_str.c", "ssl_"],
        includes: &["."],
        defines: &["-DWOLFSSL_USER_SETTINGS"],
    },
];

/// What the images are made for: in their names, in words, and the macros that say so.
const FORMS: [(&str, &str, &[&str]); 2] =
    [("x509", "certificates on P-256", &[]), ("psk", "pre-shared key, X25519", &["-DPSK"])];

const FLAGS: [&str; 13] = [
    "-mcpu=cortex-m4",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mfpu=fpv4-sp-d16",
    "-Os",
    "-flto",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wl,--gc-sections",
    "--specs=nano.specs",
    "--specs=nosys.specs",
    "-nostartfiles",
    "-w",
];

/// An image of a peer.
pub(crate) struct Built {
    /// What it is.
    what: String,
    /// The ELF file.
    elf: PathBuf,
}

/// Compiles the clients into a directory.
pub(crate) fn build(cargo: &Path, directory: &Path) -> Result<Vec<Built>, Box<dyn Error>> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../peers"));
    std::fs::create_dir_all(directory)?;
    let mut images = Vec::new();
    for peer in &PEERS {
        let (version, source) = carrier(cargo, folder, peer.carrier)?;
        for (form, what, macros) in FORMS {
            let elf = directory.join(format!("{}-{form}", peer.name));
            compile(peer, &source.join(peer.directory), folder, macros, &elf)?;
            let what = format!("`{}` of {} {version}: TLS 1.3, {what}", peer.name, peer.carrier);
            images.push(Built { what, elf });
        }
    }
    Ok(images)
}

/// Returns a table of their sizes.
pub(crate) fn table(images: &[Built]) -> Result<String, Box<dyn Error>> {
    let mut rows = Vec::new();
    for Built { what, elf } in images {
        let bytes = std::fs::read(elf)?;
        rows.push((what.clone(), Image::read(&ElfFile32::<Endianness>::parse(&*bytes)?)?));
    }
    Ok(format!("{}\n{DIFFERENCES}", image::flash_of("peer", &rows)))
}

/// What a reader must know to compare the sizes with those of our clients.
const DIFFERENCES: &str = "\
The start code and drivers of the peers do what ours do, their generator of random numbers is the same (SHA-256 of a seed and a
number), and `make firmware` runs them with the same credentials against the same servers. What differs: the peers read the private
key from PKCS #8, where ours is a bare scalar; they allocate with newlib's malloc, from the RAM that their variables leave, so that
their bss says nothing; and their P-256 is C (Mbed TLS has its driver p256-m), where ours is assembly.
";

/// Returns the version of a crate, and the directory that Cargo has unpacked it to.
fn carrier(cargo: &Path, folder: &Path, name: &str) -> Result<(String, PathBuf), Box<dyn Error>> {
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version", "1", "--locked"]).current_dir(folder);
    let output = metadata.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let package = packages.iter().find(|package| package["name"] == name).ok_or("a crate is missing")?;
    let (version, manifest) = (package["version"].as_str(), package["manifest_path"].as_str());
    let manifest = Path::new(manifest.ok_or("a crate has no manifest")?);
    Ok((version.unwrap_or_default().to_owned(), manifest.parent().unwrap_or(manifest).to_owned()))
}

fn compile(peer: &Peer, source: &Path, folder: &Path, macros: &[&str], elf: &Path) -> Result<(), Box<dyn Error>> {
    let own = folder.join(peer.name);
    let mut files = Vec::new();
    for directory in peer.sources {
        for entry in std::fs::read_dir(source.join(directory))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_excluded = peer.excluded.iter().any(|excluded| name.starts_with(excluded));
            if name.ends_with(".c") && !is_excluded {
                files.push(path);
            }
        }
    }
    files.sort(); // the order decides about the layout
    let mut compiler = Command::new("arm-none-eabi-gcc");
    compiler.args(FLAGS).args(macros).args(peer.defines).arg("-I").arg(&own);
    for include in peer.includes {
        compiler.arg("-I").arg(source.join(include));
    }
    compiler
        .arg("-T")
        .arg(folder.join("link.ld"))
        .arg(own.join("main.c"))
        .arg(folder.join("device.c"))
        .args(files)
        .arg("-o")
        .arg(elf);
    let output = compiler.output();
    let output =
        output.map_err(|error| format!("arm-none-eabi-gcc: {error}; install the package gcc-arm-none-eabi"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", peer.name, String::from_utf8_lossy(&output.stderr)).into()),
    }
}
