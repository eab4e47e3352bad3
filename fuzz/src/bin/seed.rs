//! Writes the inputs that fuzzing begins with.
//!
//! - `seed pki DIRECTORY`: new certificates, as they are checked in under `fuzz/pki`. All other seeds then have to be made
//!   anew.
//! - `seed corpus DIRECTORY`: for each target a directory with real handshakes of every mode, messages, files and
//!   certificates.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use terse_fuzz::seeds;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Revocation, Usage};
use terse_testkit::pki::{CLIENT_NAME, NOW, SERVER_NAME, validity};

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pki", directory] => write_pki(Path::new(directory)),
        ["corpus", directory] => write_corpus(Path::new(directory)),
        _ => Err(io::Error::other("usage: seed pki|corpus DIRECTORY")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_pki(directory: &Path) -> io::Result<()> {
    let chain = "p256x3".parse().map_err(io::Error::other)?;
    let authority = Authority::new(&AuthorityOptions::new(chain, validity())).map_err(io::Error::other)?;
    let issue = |name: &str, usage| {
        let options = LeafOptions { usage, ..LeafOptions::new(name, validity()) };
        authority.issue(&options).map_err(io::Error::other)
    };
    let (server, client) = (issue(SERVER_NAME, Usage::Server)?, issue(CLIENT_NAME, Usage::Client)?);
    let revoked = Revocation::new(client.leaf(), NOW).map_err(io::Error::other)?;
    let crl = authority.crl(1, &[revoked], validity()).map_err(io::Error::other)?;
    let intermediate = authority.certificates().nth(1).ok_or_else(|| io::Error::other("no intermediate"))?;
    fs::create_dir_all(directory)?;
    fs::write(directory.join("root.der"), authority.root())?;
    fs::write(directory.join("intermediate.der"), intermediate)?;
    fs::write(directory.join("server.der"), server.leaf())?;
    fs::write(directory.join("client.der"), client.leaf())?;
    fs::write(directory.join("crl.der"), crl)?;
    // The provider takes this for a bad signature.
    let is_good =
        [authority.root(), intermediate, server.leaf(), client.leaf()].iter().all(|der| der.last() != Some(&0));
    if is_good { Ok(()) } else { Err(io::Error::other("a signature ends in a zero: run this again")) }
}

fn write_corpus(directory: &Path) -> io::Result<()> {
    for (target, seeds) in seeds::all() {
        let directory = directory.join(target);
        fs::create_dir_all(&directory)?;
        for (name, bytes) in seeds {
            fs::write(directory.join(name), bytes)?;
        }
    }
    Ok(())
}
