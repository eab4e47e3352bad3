//! `new-pki DIRECTORY` makes new certificates like those that are checked in under `fuzz/pki`. All seeds must be made
//! anew then. `new-pki DIRECTORY onboarding` makes those under `fuzz/pki/onboarding`, on which fewer seeds depend.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use terse_pki::{
    Authority, AuthorityOptions, IdevidOptions, LeafOptions, NameAttribute, NewRequest, RegistrarOptions,
    RequestOptions, Revocation, Subject, Usage,
};
use terse_testkit::pki::{CLIENT_NAME, NOW, SERVER_NAME, validity};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args_os().nth(1).ok_or("usage: new-pki DIRECTORY [onboarding]")?;
    let directory = Path::new(&directory);
    if env::args_os().nth(2).is_some_and(|what| what == "onboarding") {
        onboarding(directory)
    } else {
        peers(directory)
    }
}

fn peers(directory: &Path) -> Result<(), Box<dyn Error>> {
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
    write(directory, certificates.map(|(name, der)| (name, der.as_ref())))?;
    Ok(fs::write(directory.join("crl.der"), crl)?)
}

/// A manufacturer with a device, and a domain with a registrar: what registrar and MASA know of each other.
fn onboarding(directory: &Path) -> Result<(), Box<dyn Error>> {
    let authority = |name: &str| {
        let options = AuthorityOptions::new("p256x2".parse()?, validity());
        Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options })
    };
    let (maker, domain) = (authority("Maker")?, authority("Plant")?);
    let masa_url = Some("masa.maker.example:9443".parse()?);
    let idevid = maker.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new("WI-3005", NOW - 86_400) })?;
    let registrar = domain.issue_registrar(&RegistrarOptions::new("registrar.plant.example", validity()))?;
    let crl = domain.crl(0, &[Revocation::of_serial_number(&[7], NOW)], validity())?;
    let subject = Subject::common_name("pump 7")?.with(NameAttribute::SerialNumber, "WI-3005")?;
    let mut options = RequestOptions::new(subject);
    options.names = vec!["pump-7.plant.example".into(), "192.0.2.7".into()];
    let request = NewRequest::new(&options)?;
    let files = [
        ("maker.der", maker.root().as_ref()),
        ("idevid.der", idevid.leaf().as_ref()),
        ("domain.der", domain.root().as_ref()),
        ("registrar.der", registrar.leaf().as_ref()),
        ("crl.der", crl.as_ref()),
        ("request.der", request.request().der()),
    ];
    write(directory, files)
}

fn write<const N: usize>(directory: &Path, files: [(&str, &[u8]); N]) -> Result<(), Box<dyn Error>> {
    // The provider takes such a signature for a bad one.
    if files.iter().any(|(_, der)| der.last() == Some(&0)) {
        return Err("a signature ends in a zero: run this again".into());
    }
    fs::create_dir_all(directory)?;
    for (name, der) in files {
        fs::write(directory.join(name), der)?;
    }
    Ok(())
}
