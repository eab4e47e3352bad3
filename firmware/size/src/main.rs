//! `make size`: builds the images for Cortex-M, and prints how large they are and what of.
//!
//! It reads the ELF files that Cargo makes, as a linker has laid them out, and needs no tools beside.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use image::Image;
use object::read::elf::ElfFile32;

mod image;
mod owner;
mod peers;

const TARGET: &str = "thumbv7em-none-eabihf";

/// An image.
struct Entry {
    name: &'static str,
    what: &'static str,
    /// The most bytes of flash that it may take.
    most: u64,
    /// What it may not have beside [`ABSENT`], because it does not name it: the beginnings of names.
    absent: &'static [&'static str],
}

/// The pledges.
const PLEDGES: [Entry; 3] = [
    Entry {
        name: "cbrski-min",
        what: "cBRSKI, one of each algorithm, chains in order",
        most: 259_000,
        absent: &[STREAMS, CACHE, CACHED, IDENTITY, WEBPKI, PSKS],
    },
    Entry {
        name: "cbrski-typ",
        what: "cBRSKI, three suites, X25519 and Ed25519 beside P-256, path building",
        most: 323_000,
        absent: &[],
    },
    Entry {
        name: "brski-https",
        what: "BRSKI over HTTPS, two suites, P-256, chains in order",
        most: 258_000,
        absent: &[DATAGRAMS, CACHE, CACHED, IDENTITY, WEBPKI, PSKS],
    },
];

/// The clients.
const CLIENTS: [Entry; 5] = [
    Entry {
        name: "tls13-x509",
        what: "TLS 1.3, certificates on P-256",
        most: 113_500,
        absent: &[DATAGRAMS, CACHE, CACHED, IDENTITY, WEBPKI, PSKS],
    },
    Entry {
        name: "dtls13-compact",
        what: "DTLS 1.3, certificates on P-256, `compact`",
        most: 181_000,
        absent: &[STREAMS, IDENTITY, WEBPKI, PSKS],
    },
    Entry {
        name: "tls13-raw-key",
        what: "TLS 1.3, raw public keys on P-256",
        most: 105_500,
        absent: &[DATAGRAMS, CACHE, CACHED, IDENTITY, WEBPKI, PSKS],
    },
    Entry {
        name: "tls13-psk",
        what: "TLS 1.3, pre-shared key, X25519",
        most: 78_000,
        absent: &[DATAGRAMS, CACHE, CACHED, IDENTITY, WEBPKI, CERTIFICATES],
    },
    Entry {
        name: "tls13-identity",
        what: "TLS 1.3, identity key on ristretto255",
        most: 103_500,
        absent: &[DATAGRAMS, CACHE, CACHED, WEBPKI, CERTIFICATES, PSKS],
    },
];

/// What the clients take without an engine: the start, a driver, memory, and the cryptography of a handshake.
const BARE: [Entry; 2] = [
    Entry {
        name: "bare-p256",
        what: "what `tls13-x509` and `tls13-raw-key` have beside the engine",
        most: 35_000,
        absent: &ENGINE,
    },
    Entry { name: "bare-x25519", what: "what `tls13-psk` has beside the engine", most: 23_500, absent: &ENGINE },
];

const ENGINE: [&str; 5] = [
    "terse_tls::cert::",
    "terse_tls::connection::",
    "terse_tls::handshake::",
    "terse_tls::link::",
    "terse_tls::schedule::",
];
const DATAGRAMS: &str = "terse_tls::link::datagram::";
const STREAMS: &str = "terse_tls::link::stream::";
const CACHE: &str = "terse_tls::cache::client::ClientSession::";
const CACHED: &str = "terse_tls::handshake::tls13::client::certificates::cached::";
const PSKS: &str = "terse_tls::handshake::client::psk::OfferedPsks";
const IDENTITY: &str = "terse_tls::handshake::identity::client::";
const WEBPKI: &str = "webpki::";
const CERTIFICATES: &str = "terse_tls::handshake::tls13::client::certificates::";

/// What no image may have, because it names neither TLS 1.2, nor a server, nor revocation lists, nor staples, nor sessions, nor early
/// data.
const ABSENT: [&str; 9] = [
    "terse_tls::handshake::tls12::client::",
    "terse_tls::handshake::tls12::server::",
    "terse_tls::handshake::tls13::server::client_hello",
    "terse_tls::cert::crls::Crls::of",
    "terse_tls::cert::ocsp::Judge",
    "terse_tls::endpoint::",
    "terse_tls::handshake::store::ExpectRow",
    "terse_tls::handshake::tls13::client::tickets::session_tickets",
    "terse_tls::handshake::client::early_data::OfferedEarlyData::begin",
];

const USAGE: &str = "\
usage: terse-size [--crates N | --symbols N]
       terse-size --peers

--peers builds the images of the peers alone, and prints their directory.

Example: make size SIZE=\"--symbols 40\"";

/// How many crates are listed, unless an argument says otherwise.
const CRATES: usize = 12;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("terse-size: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (crates, symbols) = match &arguments[..] {
        [] => (CRATES, 0),
        [option, count] if option == "--crates" => (count.parse()?, 0),
        [option, count] if option == "--symbols" => (CRATES, count.parse()?),
        [option] if option == "--peers" => {
            peers::build(Path::new(&cargo()), &peers_directory()?)?;
            println!("{}", peers_directory()?.display());
            return Ok(());
        }
        _ => return Err(USAGE.into()),
    };
    let directory = build()?;
    let mut images = Vec::new();
    for entries in [&PLEDGES[..], &CLIENTS, &BARE] {
        images.extend(report(&directory, entries, crates, symbols)?);
    }
    check_names(&images)?;
    println!("{}", peers::table(&peers::build(Path::new(&cargo()), &peers_directory()?)?)?);
    Ok(())
}

/// Prints the tables of some images, and checks each. Returns the images.
fn report<'a>(
    directory: &Path,
    entries: &'a [Entry],
    crates: usize,
    symbols: usize,
) -> Result<Vec<(&'a Entry, Image)>, Box<dyn Error>> {
    let mut images = Vec::new();
    for Entry { name, .. } in entries {
        let bytes = std::fs::read(directory.join(name)).map_err(|error| format!("{name}: {error}"))?;
        images.push(Image::read(&ElfFile32::<object::Endianness>::parse(&*bytes)?)?);
    }
    let (table, images) = image::sizes(entries, images);
    println!("{table}");
    println!("{}", image::crates(entries, &images, crates));
    if symbols > 0 {
        for (Entry { name, .. }, image) in entries.iter().zip(&images) {
            println!("{name}\n{}", image.symbols(symbols));
        }
    }
    entries.iter().zip(&images).try_for_each(|(entry, image)| check(entry, image))?;
    Ok(entries.iter().zip(images).collect())
}

/// Checks that an image is no larger than it may be, and has nothing that it does not name.
fn check(Entry { name, most, absent, .. }: &Entry, image: &Image) -> Result<(), Box<dyn Error>> {
    if image.flash() > *most {
        return Err(
            format!("{name} takes more than {most} bytes of flash: find out why, or write down a new limit").into()
        );
    }
    match image.find(&ABSENT).or_else(|| image.find(absent)) {
        Some(symbol) => Err(format!("{name} has code that it does not name: {symbol}").into()),
        None => Ok(()),
    }
}

/// Checks that what some images may not have is in another one: else it has another name by now, and nothing would be found.
fn check_names(images: &[(&Entry, Image)]) -> Result<(), Box<dyn Error>> {
    for name in images.iter().flat_map(|(entry, _)| entry.absent) {
        let mut others = images.iter().filter(|(entry, _)| !entry.absent.contains(name));
        if !others.any(|(_, image)| image.find(&[name]).is_some()) {
            return Err(format!("no image has {name}: it has another name, or nothing to look for").into());
        }
    }
    Ok(())
}

/// Builds the images, and returns their directory.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    let target = target()?;
    // One after the other, so that no package has features that only the other one wants.
    for package in ["terse-pledge", "terse-lean"] {
        let mut build = Command::new(cargo());
        build.args(["build", "--quiet", "--locked", "--release", "--package", package, "--target", TARGET]);
        build.arg("--target-dir").arg(&target).current_dir(WORKSPACE); // where Cargo finds the flags of the target
        if !build.status()?.success() {
            return Err(format!("the images of {package} cannot be built").into());
        }
    }
    Ok(target.join(TARGET).join("release"))
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Returns the directory that Cargo builds in.
fn target() -> Result<PathBuf, Box<dyn Error>> {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| Path::new(WORKSPACE).join("target"), PathBuf::from);
    Ok(std::path::absolute(target)?)
}

/// Returns the directory of the peers' images.
fn peers_directory() -> Result<PathBuf, Box<dyn Error>> {
    Ok(target()?.join("peers"))
}

const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[cfg(test)]
mod tests {
    use super::*;

    /// No image has it, so that nobody would notice a new name in the source otherwise.
    #[test]
    fn what_no_image_may_have_is_in_the_engine() {
        for name in ABSENT {
            let mut module = Path::new(WORKSPACE).join("../crates/terse-tls/src");
            let mut names = name.split("::").skip(1).filter(|name| !name.is_empty()).peekable();
            while let Some(name) =
                names.next_if(|name| module.join(name).is_dir() || module.join(name).with_extension("rs").is_file())
            {
                module.push(name);
            }
            let files = [module.with_extension("rs"), module.join("mod.rs")];
            let text: String = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
            for item in names {
                let is_defined = ["fn ", "struct "].iter().any(|kind| text.contains(&format!("{kind}{item}")));
                assert!(is_defined, "{name}: {} has no {item}", module.display());
            }
        }
    }
}
