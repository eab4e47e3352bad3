//! `new-pki DIRECTORY` makes new certificates like those that are checked in under `fuzz/pki`. All seeds must be made
//! anew then.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use terse_pki::{Authority, AuthorityOptions, LeafOptions, Revocation, Usage};
use terse_testkit::pki::{CLIENT_NAME, NOW, SERVER_NAME, validity};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args_os().nth(1).ok_or("usage: new-pki DIRECTORY")?;
    let authority = Authority::new(&AuthorityOptions::new("p256x3".parse()?, validity()))?;
    let issue = |name: &str, usage| authority.issue(&LeafOptions { usage, ..LeafOptions::new(name, validity()) });
    let (server, client) = (issue(SERVER_NAME, Usage::Server)?, issue(CLIENT_NAME, Usage::Client)?);
    let crl = authority.crl(1, &[Revocation::new(client.leaf(), NOW)?], validity())?;
    let intermediate = authority.certificates().nth(1).ok_or("no intermediate")?;
    let certificates = [
        ("root.der", authority.root()),
        ("intermediate.der", intermediate),
        ("server.der", server.leaf()),
        ("client.der", client.leaf()),
    ];
    // The provider takes such a signature for a bad one.
    if certificates.iter().any(|(_, der)| der.last() == Some(&0)) {
        return Err("a signature ends in a zero: run this again".into());
    }
    fs::create_dir_all(&directory)?;
    for (name, der) in certificates {
        fs::write(Path::new(&directory).join(name), der)?;
    }
    Ok(fs::write(Path::new(&directory).join("crl.der"), crl)?)
}
