//! What a pledge has when it signs, the same for all: an IDevID with its key, and a voucher request of [`CONTENT_LEN`] bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use terse_brski::certificate::public_key;
use terse_brski::cms::Signed;
use terse_brski::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, NameAttribute, Subject, Validity};

use super::now;

/// A pledge, in a directory of files.
#[derive(Debug)]
pub struct Pledge {
    directory: PathBuf,
    /// The key of the IDevID, PKCS #8.
    pub key: PrivateKeyDer<'static>,
    /// The IDevID, and the certificate of its issuer unless that is the root.
    pub chain: Vec<CertificateDer<'static>>,
    /// The voucher request, JSON.
    pub content: Vec<u8>,
    /// The same voucher request before it is encoded.
    pub request: VoucherRequest,
    /// The same, with the registrar by the SHA-256 of its public key, as pledges of constrained BRSKI name it.
    pub short_request: VoucherRequest,
}

/// The length of the voucher request in the paper that this repeats.
pub const CONTENT_LEN: usize = 783;

/// The length of the registrar's certificate. It is such that the serial number, which makes up the rest, has 10 to 20 digits.
const REGISTRAR_LEN: usize = 441;

/// The length of each certificate of the manufacturer's CA, and about that of an IDevID.
const CA_LEN: usize = 450;

/// The files of a pledge.
const CONTENT: &str = "request.json";
const KEY: &str = "key.der";
const CERTIFICATES: [&str; 2] = ["idevid.der", "issuer.der"];
const ROOT: &str = "root.pem";

impl Pledge {
    /// Makes a pledge and its files in `directory`, with a chain as `terse pki` names it: `p256x2` is the IDevID alone beside
    /// the root, which is not sent.
    pub fn make(directory: &Path, chain: &str) -> Result<Self, String> {
        let text = |error: terse_pki::Error| error.to_string();
        let start = now().as_secs() - 3_600;
        let options = |name: &str, chain: &str, len| {
            let chain = chain.parse().map_err(text)?;
            let options = AuthorityOptions::new(chain, Validity::without_end(start));
            let options = AuthorityOptions { name: name.into(), length: Some(len), key_identifiers: true, ..options };
            Authority::new(&options).map_err(text)
        };
        let registrar = options("Registrar CA", "p256x2", REGISTRAR_LEN)?;
        let registrar = CertificateDer::from_pem_slice(registrar.root_pem().as_bytes());
        let registrar = registrar.map_err(|error| error.to_string())?;
        let (serial_number, content) = request(&registrar)?;

        let authority = options("Manufacturer CA", chain, CA_LEN)?;
        let organization = "A Manufacturer of Pumps, Valves and Sensors";
        let subject = Subject::empty().with(NameAttribute::Organization, organization).map_err(text)?;
        let masa_url = Some("masa.manufacturer.example:9443".parse().map_err(text)?);
        let idevid = IdevidOptions { subject, masa_url, ..IdevidOptions::new(&serial_number, start) };
        let idevid = authority.issue_idevid(&idevid).map_err(text)?;

        let write = |name: &str, bytes: &[u8]| {
            let path = directory.join(name);
            fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
        };
        if idevid.chain().len() > CERTIFICATES.len() {
            return Err(format!("{chain}: a chain of one or two certificates is signed with"));
        }
        write(CONTENT, &content)?;
        write(KEY, idevid.key().secret_der())?;
        write(ROOT, authority.root_pem().as_bytes())?;
        for (name, certificate) in CERTIFICATES.into_iter().zip(idevid.chain()) {
            write(name, certificate)?;
        }
        Self::read(directory)
    }

    /// Reads the files of a pledge.
    pub fn read(directory: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let content = read(CONTENT)?;
        let request = VoucherRequest::from_json(&content).map_err(|error| error.to_string())?;
        let present = CERTIFICATES.into_iter().filter(|name| directory.join(name).exists());
        Ok(Self {
            directory: directory.into(),
            key: PrivatePkcs8KeyDer::from(read(KEY)?).into(),
            chain: present.map(|name| read(name).map(CertificateDer::from)).collect::<Result<_, _>>()?,
            content,
            short_request: by_key_hash(&request)?,
            request,
        })
    }

    /// Returns the directory of its files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the arguments of a program that signs (`c/cms/program.c`).
    pub(super) fn arguments(&self) -> impl Iterator<Item = PathBuf> {
        let certificates = CERTIFICATES.into_iter().take(self.chain.len());
        [CONTENT, KEY].into_iter().chain(certificates).map(|name| self.directory.join(name))
    }

    /// Verifies that `signed` is this pledge's voucher request with its certificates, signed by its key, now.
    pub fn check(&self, signed: &[u8]) -> Result<(), String> {
        let signed = Signed::verify(&terse_rustcrypto::PROVIDER, signed, &[]).map_err(|error| error.to_string())?;
        let is_now = signed.signing_time.is_some_and(|time| time.as_secs().abs_diff(now().as_secs()) < 3_600);
        match signed.content == self.content && signed.chain == self.chain && is_now {
            true => Ok(()),
            false => Err("what was signed is not this pledge's voucher request".into()),
        }
    }

    /// Verifies `signed` with the command of OpenSSL, which must be there, up to the root.
    pub fn check_with_openssl(&self, signed: &[u8]) -> Result<(), String> {
        let path = self.directory.join("signed.der");
        fs::write(&path, signed).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut command = Command::new("openssl");
        command.args("cms -verify -binary -inform DER -purpose any -in signed.der -CAfile".split(' '));
        command.args([ROOT, "-out", "verified.json"]).current_dir(&self.directory);
        let output = command.output().map_err(|error| format!("openssl does not run ({error}): install openssl"))?;
        let verified = fs::read(self.directory.join("verified.json")).unwrap_or_default();
        match output.status.success() && verified == self.content {
            true => Ok(()),
            false => Err(format!("openssl cms -verify: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Returns a voucher request that names the registrar by the SHA-256 of its public key instead of its certificate.
fn by_key_hash(request: &VoucherRequest) -> Result<VoucherRequest, String> {
    let [Pin::Certificate(registrar)] = &request.proximity_registrar[..] else {
        return Err("the voucher request names its registrar in another way than expected".into());
    };
    let key = public_key(registrar).map_err(|error| error.to_string())?;
    let digest = terse_rustcrypto::PROVIDER.sha256.hash(&[key]);
    let digest = digest.as_ref().try_into().map_err(|_| "SHA-256 has 32 bytes")?;
    let mut short = request.clone();
    short.proximity_registrar = vec![Pin::PublicKeySha256(digest)];
    Ok(short)
}

/// Returns a voucher request of [`CONTENT_LEN`] bytes, and the serial number in it.
fn request(registrar: &CertificateDer<'static>) -> Result<(String, Vec<u8>), String> {
    let json = |serial_number: &str| {
        let mut request = VoucherRequest::new(serial_number.into());
        request.assertion = Some(Assertion::Proximity);
        request.created_on = Some(now());
        request.nonce = Some(Nonce::of_random(&[0x5a; 16]));
        request.proximity_registrar = vec![Pin::Certificate(registrar.clone())];
        request.to_json()
    };
    let missing = CONTENT_LEN.checked_sub(json("").len()).filter(|missing| (10..=20).contains(missing));
    let serial_number = "7".repeat(missing.ok_or("the registrar's certificate has another length than expected")?);
    let content = json(&serial_number);
    Ok((serial_number, content))
}
