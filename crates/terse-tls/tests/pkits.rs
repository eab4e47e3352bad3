//! Vectors of path validation that CI has: the test cases of NIST's Public Key Interoperability Test Suite (PKITS), judged
//! with path building and without, and with CRLs and without. Debian's package python3-cryptography-vectors has its files;
//! `TERSE_PKITS` names another folder with `certs` and `crls`.
//!
//! PKITS says what RFC 3280 and its policies want, from 2010 to 2030. Where Terse judges otherwise, a table says why
//! ([`different`]).

use std::fs;
use std::path::Path;

use pki_types::{CertificateDer, CertificateRevocationListDer};
use terse_testkit::pki::unix_time;
use terse_testkit::vectors;
use terse_tls::{ApiMisuse, Expect, Trust};
use x509_cert::Certificate;
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode as _;
use x509_cert::name::Name;

use judged::Judged;

mod different;
pub(crate) mod judged;

/// The folder of Debian's package.
const PKITS: &str = "/usr/lib/python3/dist-packages/cryptography_vectors/x509/PKITS_data";

/// How many cases of PKITS say by their names whether they are valid.
const CASES: usize = 203;

struct Suite {
    certificates: Vec<CertificateFile>,
    crls: Vec<CrlFile>,
}

struct CertificateFile {
    name: String,
    der: Vec<u8>,
    /// The identifier of its key, and of its issuer's; a trust anchor has no issuer's.
    key: [u8; 20],
    issuer_key: Option<[u8; 20]>,
}

struct CrlFile {
    der: Vec<u8>,
    issuer: Name,
    issuer_key: [u8; 20],
}

/// A chain, leaf first and without its trust anchor, and its CRLs.
struct Case<'a> {
    anchor: CertificateDer<'a>,
    chain: Vec<CertificateDer<'a>>,
    crls: Vec<CertificateRevocationListDer<'a>>,
}

/// What is said about a case with path building, and without.
type Both = (Judged, Judged);

impl Suite {
    fn read(folder: &Path) -> Self {
        let certificates = files(&folder.join("certs")).into_iter();
        let crls = files(&folder.join("crls")).into_iter();
        Self {
            certificates: certificates.map(|(name, der)| CertificateFile::new(name, der)).collect(),
            crls: crls.map(|(_, der)| CrlFile::new(der)).collect(),
        }
    }

    /// Follows the key identifiers up to the trust anchor. They are right even where a name or a signature is wrong, and
    /// tell CAs with one name and two keys apart. The CRLs are those with the name or the key of one of the CAs.
    fn case<'a>(&'a self, leaf: &'a CertificateFile) -> Case<'a> {
        let mut chain = vec![leaf];
        while let Some(issuer_key) = chain[chain.len() - 1].issuer_key {
            chain.push(self.certificates.iter().find(|certificate| certificate.key == issuer_key).unwrap());
        }
        let cas: Vec<_> = chain[1..].iter().map(|ca| (ca.key, ca.subject())).collect();
        let has_ca = |crl: &&CrlFile| cas.iter().any(|(key, name)| *key == crl.issuer_key || *name == crl.issuer);
        let crls = self.crls.iter().filter(has_ca).map(|crl| CertificateRevocationListDer::from(&crl.der[..]));
        let mut chain: Vec<_> = chain.iter().map(|certificate| CertificateDer::from(&certificate.der[..])).collect();
        Case { anchor: chain.pop().unwrap(), chain, crls: crls.collect() }
    }
}

impl CertificateFile {
    fn new(name: String, der: Vec<u8>) -> Self {
        let key = behind(SUBJECT_KEY_IDENTIFIER, &der).unwrap();
        Self { name, key, issuer_key: behind(AUTHORITY_KEY_IDENTIFIER, &der), der }
    }

    fn subject(&self) -> Name {
        <Certificate>::from_der(&self.der).unwrap().tbs_certificate().subject().clone()
    }
}

impl CrlFile {
    fn new(der: Vec<u8>) -> Self {
        let issuer = <CertificateList>::from_der(&der).unwrap().tbs_cert_list.issuer;
        Self { issuer, issuer_key: behind(AUTHORITY_KEY_IDENTIFIER, &der).unwrap(), der }
    }
}

/// Returns the name of each file of a folder, without its extension, and what it contains.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

/// Returns the key identifier behind the beginning of an extension. Not every certificate of PKITS parses.
fn behind(beginning: &[u8], der: &[u8]) -> Option<[u8; 20]> {
    let place = der.windows(beginning.len()).position(|window| window == beginning)? + beginning.len();
    der.get(place..place + 20)?.try_into().ok()
}

impl Case<'_> {
    fn judge(&self, with_crls: bool) -> Both {
        let by = |trust: fn(&[CertificateDer<'_>]) -> Result<Trust, ApiMisuse>| {
            let trust = trust(core::slice::from_ref(&self.anchor));
            let trust = if with_crls { trust.and_then(|trust| trust.with_crls(&self.crls)) } else { trust };
            Judged::by(&trust, &self.chain, Expect::AnyUsage, unix_time(0))
        };
        (by(Trust::new), by(Trust::without_path_building))
    }
}

#[test]
fn pkits() {
    let Some(folder) = vectors::directory("TERSE_PKITS", PKITS) else { return };
    let suite = Suite::read(&folder);
    let mut seen = Vec::new();
    for (leaf, name) in suite.certificates.iter().filter_map(|file| Some((file, file.name.strip_suffix("EE")?))) {
        let case = suite.case(leaf);
        let judged = [case.judge(false), case.judge(true)];
        let accepted = judged.map(|(building, in_order)| (building.is_accepted(), in_order.is_accepted()));
        assert!(accepted.iter().all(|(building, in_order)| *building || !in_order), "{name}: {judged:?}");
        // The others depend on the policies that somebody wants: what one accepts, the other does as well.
        if let Some(is_valid) = is_valid(name) {
            assert_eq!(accepted, different::expected(name, is_valid), "{name}: {judged:?}");
            seen.push(name);
        }
    }
    assert_eq!(seen.len(), CASES, "cases");
    let unseen: Vec<_> = different::all().filter(|name| !seen.contains(name)).collect();
    assert!(unseen.is_empty(), "{unseen:?} are no cases");
}

/// Returns what the name of a case says.
fn is_valid(name: &str) -> Option<bool> {
    match (name.starts_with("Valid"), name.starts_with("Invalid")) {
        (false, false) => None,
        (is_valid, _) => Some(is_valid),
    }
}

/// What authorityKeyIdentifier (RFC 5280, 4.2.1.1) begins with, if a `keyIdentifier` of 20 bytes is all that it has.
const AUTHORITY_KEY_IDENTIFIER: &[u8] = &[0x06, 3, 0x55, 0x1d, 35, 0x04, 24, 0x30, 22, 0x80, 20];

/// What subjectKeyIdentifier (RFC 5280, 4.2.1.2) begins with, if it has 20 bytes.
const SUBJECT_KEY_IDENTIFIER: &[u8] = &[0x06, 3, 0x55, 0x1d, 14, 0x04, 22, 0x04, 20];
