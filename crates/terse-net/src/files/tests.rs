//! The keys in `fixtures` were made by OpenSSL 3.0. All but `pkcs1.pem` are the same P-256 key, and the encrypted ones
//! have the passphrase "correct horse".

use std::fs;

use tempfile::NamedTempFile;
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity, to_pem};

use super::*;

const SEC1: &str = include_str!("fixtures/sec1.pem");
const PKCS8: &str = include_str!("fixtures/pkcs8.pem");
const PKCS1: &str = include_str!("fixtures/pkcs1.pem");
const PBKDF2: &str = include_str!("fixtures/pbkdf2.pem");
const SCRYPT: &str = include_str!("fixtures/scrypt.pem");
const DES3: &str = include_str!("fixtures/des3.pem");
const PBES1: &str = include_str!("fixtures/pbes1.pem");
const SHA1: &str = include_str!("fixtures/sha1.pem");
const LEGACY: &str = include_str!("fixtures/legacy.pem");
const CSR: &str = include_str!("fixtures/csr.pem");
const PUBLIC: &str = include_str!("fixtures/pub.pem");
const PASSPHRASE: Option<&[u8]> = Some(b"correct horse");

fn file(contents: impl AsRef<[u8]>) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, contents).unwrap();
    file
}

/// Returns the message without the path at its beginning, which must be there.
fn message<T>(file: &NamedTempFile, result: Result<T, FileError>) -> String {
    let message = result.err().expect("an error").to_string();
    assert!(!message.contains('\n'), "{message}");
    message.strip_prefix(&format!("{}: ", file.path().display())).expect("the path comes first").to_owned()
}

fn certificates_error(contents: impl AsRef<[u8]>) -> String {
    let file = file(contents);
    message(&file, read_certificates(&file))
}

fn key(contents: impl AsRef<[u8]>, passphrase: Option<&[u8]>) -> Zeroizing<PrivateKeyDer<'static>> {
    read_private_key(file(contents), passphrase).unwrap()
}

fn key_error(contents: impl AsRef<[u8]>, passphrase: Option<&[u8]>) -> String {
    let file = file(contents);
    message(&file, read_private_key(&file, passphrase))
}

fn authority() -> Authority {
    let validity = Validity::days(1_763_700_000, 30);
    Authority::new(&AuthorityOptions::new("p256x3".parse().unwrap(), validity)).unwrap()
}

fn der(pem: &str) -> Zeroizing<Vec<u8>> {
    terse_pem::sections(pem.as_bytes()).next().unwrap().unwrap().decode().unwrap()
}

#[test]
fn certificates_are_read_from_pem_and_der() {
    let authority = authority();
    let credential = authority.issue(&LeafOptions::new("a.example", Validity::days(1_763_700_000, 9))).unwrap();
    let pem = credential.chain_pem();
    let read = |contents: &[u8]| read_certificates(file(contents)).unwrap();
    assert_eq!(read(pem.as_bytes()), credential.chain());
    assert_eq!(read(pem.replace('\n', "\r\n").as_bytes()), credential.chain());
    assert_eq!(read(credential.leaf()), credential.chain()[..1]);
    // A key and remarks in any encoding may stand in the same file.
    let mixed = [b"M\xfcller\n", SEC1.as_bytes(), pem.as_bytes()].concat();
    assert_eq!(read(&mixed), credential.chain());
    assert_eq!(key(&mixed, None).secret_der(), &**der(SEC1));
}

#[test]
fn crls_are_read_from_pem_and_der() {
    let authority = authority();
    let crls = [0, 1].map(|issuer| authority.crl(issuer, &[], Validity::days(1_763_700_000, 7)).unwrap());
    let pem = crls.each_ref().map(|crl| to_pem("X509 CRL", crl)).concat();
    assert_eq!(read_crls(file(pem)).unwrap(), crls);
    assert_eq!(read_crls(file(&crls[1])).unwrap(), crls[1..]);

    let certificate = file(authority.root_pem());
    assert_eq!(
        message(&certificate, read_crls(&certificate)),
        "holds no CRL, but a certificate; give the file with the CRL"
    );
    let file = file(to_pem("X509 CRL", authority.root()));
    let error = message(&file, read_crls(&file));
    assert!(error.starts_with("CRL 1 is malformed ("), "{error}");
}

#[test]
fn private_keys_are_read_in_every_form() {
    for (pem, is_form) in [
        (PKCS8, (|key| matches!(key, PrivateKeyDer::Pkcs8(_))) as fn(&PrivateKeyDer<'_>) -> bool),
        (SEC1, |key| matches!(key, PrivateKeyDer::Sec1(_))),
        (PKCS1, |key| matches!(key, PrivateKeyDer::Pkcs1(_))),
    ] {
        for key in [key(pem, None), key(&*der(pem), None), key(pem, PASSPHRASE)] {
            assert!(is_form(&key), "{pem}");
            assert_eq!(key.secret_der(), &**der(pem));
        }
    }
    // `openssl ecparam -genkey` puts the parameters in front.
    let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    assert_eq!(key(format!("{parameters}{SEC1}"), None).secret_der(), &**der(SEC1));
}

#[test]
fn encrypted_keys_open_with_their_passphrase() {
    for pem in [PBKDF2, SCRYPT] {
        for contents in [pem.as_bytes(), &der(pem)] {
            assert_eq!(key(contents, PASSPHRASE).secret_der(), &**der(PKCS8));
            assert_eq!(key_error(contents, None), "the private key is encrypted; give its passphrase");
            let wrong = "the passphrase does not open the private key; check it, spaces at its end included";
            assert_eq!(key_error(contents, Some(b"correct horse ")), wrong);
        }
    }
    let credential = authority().issue(&LeafOptions::new("a.example", Validity::days(1_763_700_000, 9))).unwrap();
    let pem = credential.encrypted_key_pem(b"correct horse").unwrap();
    assert_eq!(key(pem, PASSPHRASE).secret_der(), credential.key().secret_der());
}

/// One wrong passphrase in 256 decrypts to a valid padding; its error must be the same as any other's.
#[test]
fn no_wrong_passphrase_opens_a_key() {
    let scrypt = der(SCRYPT);
    for number in 0..600 {
        let problem = decrypt(&scrypt, Some(format!("wrong {number}").as_bytes())).unwrap_err();
        assert!(matches!(problem, Problem::WrongPassphrase), "{number}: {problem:?}");
    }
}

#[test]
fn weak_encryption_is_refused_with_the_way_out() {
    for passphrase in [None, PASSPHRASE] {
        let error = key_error(LEGACY, passphrase);
        assert!(error.contains("legacy format") && error.contains("openssl pkcs8 -topk8 -in /"), "{error}");
    }
    for pem in [DES3, PBES1, SHA1] {
        let error = key_error(pem, PASSPHRASE);
        assert!(error.contains("not supported; convert it with `openssl pkcs8 -topk8 -v2 aes-256-cbc"), "{error}");
    }
}

#[test]
fn what_was_found_instead_is_said() {
    let want_certificate = |found| format!("holds no certificate, but {found}; give the file with the certificate");
    for contents in [PKCS8.as_bytes(), PBKDF2.as_bytes(), LEGACY.as_bytes(), &der(SEC1), &der(PBKDF2)] {
        assert_eq!(certificates_error(contents), want_certificate("a private key"));
    }
    assert_eq!(certificates_error(CSR), want_certificate("a certificate request"));
    assert_eq!(certificates_error(&*der(PUBLIC)), want_certificate("a public key"));
    assert_eq!(certificates_error(format!("{SEC1}{PUBLIC}{SEC1}")), want_certificate("a private key and a public key"));
    let pkcs7 = "-----BEGIN PKCS7-----\nMAA=\n-----END PKCS7-----\n";
    assert_eq!(certificates_error(pkcs7), want_certificate("a \"PKCS7\" block"));

    let root = authority().root_pem();
    assert_eq!(key_error(root, None), "holds no private key, but a certificate; give the file with the private key");
}

#[test]
fn files_without_anything_useful() {
    assert_eq!(certificates_error(""), "is empty; give the file with the certificate");
    assert_eq!(certificates_error(" \r\n\n"), "is empty; give the file with the certificate");
    let garbage = "holds no certificate, nor anything else in PEM or complete DER; give the file with the certificate";
    assert_eq!(certificates_error([0x30, 0x82, 0xff, 0xff, 0, 1]), garbage);
    assert_eq!(certificates_error([0xfe; 1000]), garbage);
    assert_eq!(certificates_error("Dear device,"), garbage);

    let missing = file("");
    fs::remove_file(&missing).unwrap();
    let error = message(&missing, read_certificates(&missing));
    assert!(
        error.starts_with("cannot be read: ") && error.ends_with("; check the path and the permissions"),
        "{error}"
    );

    let big = file("");
    fs::OpenOptions::new().write(true).open(&big).unwrap().set_len(MAX_FILE_SIZE + 1).unwrap();
    let error = message(&big, read_certificates(&big));
    assert_eq!(error, "is larger than 16 MiB; give the file with the certificate");
}

#[test]
fn damaged_certificates() {
    let authority = authority();
    let pem = authority.root_pem();
    // A file that is cut at any byte is an error: without BEGIN nothing is found, and without END the file is
    // truncated.
    for length in 1..pem.trim_end().len() {
        let expected = if length < "-----BEGIN ".len() { Problem::Unrecognized } else { Problem::Truncated };
        let problem = blocks(&pem.as_bytes()[..length], Item::Certificate).err().unwrap();
        assert_eq!(format!("{problem:?}"), format!("{expected:?}"), "{length}");
    }
    assert_eq!(certificates_error(&pem[..300]), "ends within a PEM block; copy the file again, whole");
    for length in 1..authority.root().len() {
        assert!(blocks(&authority.root()[..length], Item::Certificate).is_err(), "{length}");
    }

    let second = |damaged: String| certificates_error(format!("{pem}{damaged}"));
    let why =
        |reason| format!("certificate 2 is malformed ({reason}); copy the file again, or make the certificate anew");
    assert_eq!(second(pem.replace("MII", "M!I")), why("not base64"));
    assert_eq!(second(to_pem("CERTIFICATE", &[0x30, 0])), why("not valid DER"));
    assert_eq!(second(to_pem("CERTIFICATE", &authority.root()[..200])), why("not valid DER"));
}

#[test]
fn damaged_keys() {
    let error = key_error(to_pem("PRIVATE KEY", &der(PKCS8)[..100]), None);
    assert!(error.starts_with("private key 1 is malformed ("), "{error}");
    let structure = "private key 1 is malformed (not a PKCS #8, SEC 1 or PKCS #1 structure)";
    assert!(key_error(to_pem("PRIVATE KEY", &[0x30, 0]), None).starts_with(structure));
    assert!(key_error(to_pem("PRIVATE KEY", &[0x30, 5, 2, 1, 0, 0x30, 0]), None).starts_with(structure));
}

#[test]
fn a_passphrase_is_the_first_line() {
    let read = |contents: &str| read_passphrase(file(contents)).unwrap().to_vec();
    for contents in [
        "correct horse",
        "correct horse\n",
        "correct horse\r\n",
        "correct horse\nbattery staple\n",
        "\u{feff}correct horse\n",
    ] {
        assert_eq!(read(contents), b"correct horse", "{contents:?}");
    }
    assert_eq!(read(" two  spaces "), b" two  spaces ");
    for contents in ["", "\n", "\r\n", "\nsecond line"] {
        let file = file(contents);
        assert_eq!(message(&file, read_passphrase(&file)), "holds no passphrase; write it into the first line");
    }
}

#[test]
fn public_keys_are_read_from_pem_and_der() {
    let spki = der(PUBLIC);
    for contents in [PUBLIC.as_bytes(), &spki, PUBLIC.replace('\n', "\r\n").as_bytes()] {
        assert_eq!(read_public_keys(file(contents)).unwrap(), [SubjectPublicKeyInfoDer::from(&**spki)]);
    }
    assert_eq!(read_public_keys(file(format!("{PUBLIC}and another\n{PUBLIC}"))).unwrap().len(), 2);

    let error = |contents: &str| {
        let file = file(contents);
        message(&file, read_public_keys(&file))
    };
    assert_eq!(error(SEC1), "holds no public key, but a private key; give the file with the public key");
    let pkcs1 = to_pem("RSA PUBLIC KEY", &[0x30, 6, 2, 1, 1, 2, 1, 1]);
    let expected =
        "public key 1 is malformed (not a SubjectPublicKeyInfo); copy the file again, or make the public key";
    assert!(error(&pkcs1).starts_with(expected), "{}", error(&pkcs1));
    assert!(error(&to_pem("PUBLIC KEY", &spki[..60])).starts_with(expected));
}

#[test]
fn a_pre_shared_key_is_written_in_hexadecimal() {
    let digits = "00112233445566778899aAbBcCdDeEfF";
    let key: Vec<u8> = (0..=15).map(|n| n << 4 | n).collect();
    for contents in
        [digits.to_owned(), format!("{digits}\n"), format!(" \r\n{digits}\r\n"), format!("\u{feff}{digits} \n\n")]
    {
        assert_eq!(*read_psk(file(&contents)).unwrap(), key, "{contents:?}");
    }
    assert_eq!(read_psk(file(digits.repeat(20))).unwrap().len(), 320);

    let error = |contents: &str| {
        let file = file(contents);
        message(&file, read_psk(&file))
    };
    let not_hexadecimal = "is not an even number of hexadecimal digits; make a key with `openssl rand -hex 32`";
    for contents in [&digits[1..], &digits.replace('f', "g"), &format!("0x{digits}"), "secret", "0011 2233", "\u{e9}"] {
        assert_eq!(error(contents), not_hexadecimal, "{contents:?}");
    }
    assert!(error(&digits[2..]).starts_with("holds 15 bytes, and a key of less than 16 can be guessed; "));
    assert_eq!(error(" \n"), "is empty; give the file with the pre-shared key");
}
