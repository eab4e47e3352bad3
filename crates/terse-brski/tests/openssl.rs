//! OpenSSL verifies what this crate signs, and signs what this crate verifies. Without the `openssl` command the tests are
//! skipped; with `TERSE_REQUIRE_ALL=1` that is a failure.

use std::sync::Arc;

use pki_types::UnixTime;
use terse_brski::cms::{Signed, Unsigned};
use terse_brski::{Malformed, SignatureRefused};
use terse_pki::{Authority, AuthorityOptions, Credential, VoucherSignerOptions};
use terse_rustcrypto::PROVIDER;
use terse_testkit::openssl::{NOW, OpenSsl, VALIDITY};
use terse_testkit::rng::SeededRng;
use terse_tls::SignatureScheme;
use terse_tls::crypto::SigningKey;

const VOUCHER: &[u8] = br#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"JADA123456789"}}"#;

/// The command that signs, as services and other pledges would use it.
const SIGN: &str = "cms -sign -binary -nodetach -outform DER -in voucher -signer leaf.pem -inkey leaf.key \
                    -certfile intermediates.pem -out signed";

const VOUCHER_TYPE: &str = "-econtent_type 1.2.840.113549.1.9.16.1.40";

/// That of PKCS #7.
const DATA_TYPE: &str = "-econtent_type 1.2.840.113549.1.7.1";

const KINDS: [(&str, SignatureScheme); 3] = [
    ("p256x3", SignatureScheme::ECDSA_SECP256R1_SHA256),
    ("p384x3", SignatureScheme::ECDSA_SECP384R1_SHA384),
    ("rsa2048x3", SignatureScheme::RSA_PKCS1_SHA256),
];

/// OpenSSL 3.0 has no CMS with Ed25519, but it has the structure and the signature.
const ED25519: (&str, SignatureScheme) = ("ed25519x3", SignatureScheme::ED25519);

fn signer(chain: &str) -> (Authority, Credential) {
    let options = AuthorityOptions::new(chain.parse().unwrap(), VALIDITY);
    let authority = Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap();
    let credential = authority.issue_voucher_signer(&VoucherSignerOptions::new("Maker", VALIDITY)).unwrap();
    (authority, credential)
}

/// Returns OpenSSL with the files of a signer.
fn openssl_with(chain: &str) -> Option<(OpenSsl, Credential)> {
    let openssl = OpenSsl::new()?;
    let (authority, credential) = signer(chain);
    openssl.write_chain(&authority, credential.chain());
    openssl.write("leaf.key", credential.key_pem().as_bytes());
    openssl.write("voucher", VOUCHER);
    Some((openssl, credential))
}

fn sign(credential: &Credential, scheme: SignatureScheme, content: &[u8]) -> Vec<u8> {
    let key: Arc<dyn SigningKey> = terse_aws_lc::PROVIDER.load_key(credential.key()).unwrap();
    let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(NOW + 60));
    let unsigned = Unsigned::new(&PROVIDER, content, credential.chain(), scheme, Some(time)).unwrap();
    unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap()
}

/// OpenSSL signs with these options added; returns what it wrote. Content of no other type is a voucher.
fn signed_by(openssl: &OpenSsl, options: &str) -> Vec<u8> {
    let content_type = if options.contains("-econtent_type") { "" } else { VOUCHER_TYPE };
    openssl.run(&format!("{SIGN} {content_type} {options}"));
    openssl.read("signed")
}

#[test]
fn openssl_verifies_what_is_signed_here() {
    for (chain, scheme) in KINDS {
        let Some((openssl, credential)) = openssl_with(chain) else { return };
        openssl.write("signed", sign(&credential, scheme, VOUCHER));
        let verify =
            format!("cms -verify -binary -inform DER -in signed -CAfile root.pem -attime {} -out content", NOW + 60);
        openssl.run(&format!("{verify} -purpose any"));
        assert_eq!(openssl.read("content"), VOUCHER);
        // As OpenSSL's own mail programs would, and as strictly as it can.
        openssl.run(&format!("{verify} -x509_strict"));
        let mut changed = sign(&credential, scheme, VOUCHER);
        *changed.last_mut().unwrap() ^= 1;
        openssl.write("signed", &changed);
        assert!(!openssl.output(&format!("{verify} -purpose any")).status.success());
    }
}

/// OpenSSL reads the structure and writes it as DER: it was DER already.
#[test]
fn openssl_encodes_the_same_der() {
    for (chain, scheme) in KINDS.into_iter().chain([ED25519]) {
        let Some((openssl, credential)) = openssl_with(chain) else { return };
        for len in [0, 1, 100, 127, 128, 255, 256, 5000] {
            let signed = sign(&credential, scheme, &vec![b' '; len]);
            openssl.write("signed", &signed);
            openssl.run("cms -cmsout -inform DER -outform DER -in signed -out again");
            assert_eq!(openssl.read("again"), signed, "{chain}, {len}");
        }
        let text = openssl.run("cms -cmsout -inform DER -in signed -print -noout");
        for part in ["version: 3", "1.2.840.113549.1.9.16.1.40", "object: contentType", "object: signingTime"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}

/// RFC 8419, 3.1 and 4: the key signs the attributes, not their hash, and among them is the SHA-512 of the content.
#[test]
fn openssl_and_this_agree_about_ed25519() {
    let (chain, scheme) = ED25519;
    let Some((openssl, credential)) = openssl_with(chain) else { return };
    let unsigned = Unsigned::new(&PROVIDER, VOUCHER, credential.chain(), scheme, None).unwrap();
    openssl.write("attributes", unsigned.message());
    openssl.run("dgst -sha512 -binary -out digest voucher");
    let digest = openssl.read("digest");
    assert!(unsigned.message().windows(64).any(|window| window == digest));
    // OpenSSL signs, and it is verified here.
    openssl.run("pkeyutl -sign -rawin -inkey leaf.key -in attributes -out signature");
    let signature = openssl.read("signature");
    let signed = unsigned.signed(&signature);
    for provider in [&PROVIDER, &terse_aws_lc::PROVIDER] {
        assert_eq!(Signed::verify(provider, &signed, &[]).unwrap().content, VOUCHER);
        // What is signed here, which has no randomness, OpenSSL would have signed.
        let key = provider.load_key(credential.key()).unwrap();
        let unsigned = Unsigned::new(provider, VOUCHER, credential.chain(), scheme, None).unwrap();
        assert_eq!(unsigned.sign(&*key, &mut SeededRng::new(1)).unwrap(), signed);
    }
    openssl.run("pkeyutl -verify -rawin -inkey leaf.key -in attributes -sigfile signature");
    openssl.write("signed", &signed);
    let text = openssl.run("cms -cmsout -inform DER -in signed -print -noout");
    for part in ["algorithm: sha512 (2.16.840.1.101.3.4.2.3)", "algorithm: ED25519 (1.3.101.112)"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_openssl_signs_is_verified_here() {
    for (chain, _) in KINDS {
        let Some((openssl, credential)) = openssl_with(chain) else { return };
        for options in ["", "-nosmimecap", "-keyid", "-md sha256", "-md sha384", DATA_TYPE] {
            let encoded = signed_by(&openssl, options);
            for provider in [&PROVIDER, &terse_aws_lc::PROVIDER] {
                let signed = Signed::verify(provider, &encoded, &[]).unwrap();
                assert_eq!(signed.content, VOUCHER, "{options}");
                assert_eq!(signed.chain, credential.chain());
                assert!(signed.signing_time.is_some());
                assert_eq!(Signed::verify_ber(provider, &encoded, &[]).unwrap().content, VOUCHER);
            }
        }
        let without = signed_by(&openssl, "-nocerts");
        assert_eq!(Signed::verify(&PROVIDER, &without, credential.chain()).unwrap().chain[0], credential.chain()[0]);
        assert_eq!(Signed::verify(&PROVIDER, &without, &[]).unwrap_err(), SignatureRefused::NoSigner);
    }
}

/// With `-stream` lengths are indefinite, and the content is in segments.
#[test]
fn services_take_what_openssl_streams() {
    for (chain, _) in KINDS {
        let Some((openssl, credential)) = openssl_with(chain) else { return };
        for len in [1, 80, 10_000] {
            let content = VOUCHER.repeat(len / VOUCHER.len() + 1)[..len].to_vec();
            openssl.write("voucher", &content);
            for options in ["", "-keyid", DATA_TYPE] {
                let encoded = signed_by(&openssl, &format!("-stream {options}"));
                assert!(encoded.starts_with(&[0x30, 0x80]), "an indefinite length");
                let signed = Signed::verify_ber(&PROVIDER, &encoded, &[]).unwrap();
                assert_eq!(signed.content, content);
                assert_eq!(signed.chain, credential.chain());
                // A pledge asks for DER (RFC 8366, 5.4).
                let refused = Signed::verify(&PROVIDER, &encoded, &[]).unwrap_err();
                assert_eq!(refused, SignatureRefused::Malformed(Malformed::Der("ContentInfo")));
            }
        }
    }
}

#[test]
fn what_openssl_streams_is_no_less_protected() {
    let Some((openssl, credential)) = openssl_with("p256x3") else { return };
    let encoded = signed_by(&openssl, "-stream");
    for len in 0..encoded.len() {
        assert!(Signed::verify_ber(&PROVIDER, &encoded[..len], &[]).is_err(), "{len}");
    }
    assert!(Signed::verify_ber(&PROVIDER, &[&encoded[..], &[0, 0]].concat(), &[]).is_err());
    let mut changed = encoded.clone();
    for place in 0..encoded.len() {
        changed[place] ^= 1 << (place % 8);
        if let Ok(signed) = Signed::verify_ber(&PROVIDER, &changed, &[]) {
            assert_eq!(signed.content, VOUCHER, "{place}");
            let key = terse_brski::certificate::public_key;
            assert_eq!(key(&signed.chain[0]), key(&credential.chain()[0]), "{place}");
        }
        changed[place] = encoded[place];
    }
}

#[test]
fn what_openssl_could_sign_and_nobody_should_is_refused() {
    let Some((openssl, _)) = openssl_with("p256x3") else { return };
    let refusal = |options: &str| {
        let encoded = signed_by(&openssl, options);
        let refused = Signed::verify(&PROVIDER, &encoded, &[]).unwrap_err();
        assert_eq!(Signed::verify_ber(&PROVIDER, &encoded, &[]).unwrap_err(), refused);
        refused
    };
    assert_eq!(refusal("-noattr"), SignatureRefused::SignedAttributes("signedAttrs"));
    assert_eq!(refusal("-md sha512"), SignatureRefused::Algorithm);
    assert_eq!(refusal("-md sha1"), SignatureRefused::Algorithm);
    let (_, other) = signer("p256x2");
    openssl.write("other.pem", other.chain_pem().as_bytes());
    openssl.write("other.key", other.key_pem().as_bytes());
    assert_eq!(refusal("-signer other.pem -inkey other.key"), SignatureRefused::Signers);
    let mistyped = refusal("-econtent_type 1.2.840.113549.1.9.16.1.4");
    assert_eq!(mistyped, SignatureRefused::Malformed(Malformed::Invalid("eContentType")));
    openssl.run(&SIGN.replace("-nodetach", ""));
    let detached = Signed::verify(&PROVIDER, &openssl.read("signed"), &[]).unwrap_err();
    assert_eq!(detached, SignatureRefused::Malformed(Malformed::Missing("eContent")));
    openssl.run("cms -data_create -in voucher -outform DER -out signed");
    let data = Signed::verify(&PROVIDER, &openssl.read("signed"), &[]).unwrap_err();
    assert_eq!(data, SignatureRefused::Malformed(Malformed::Invalid("contentType")));

    let Some((openssl, _)) = openssl_with("rsa2048x3") else { return };
    let pss = signed_by(&openssl, "-keyopt rsa_padding_mode:pss");
    assert_eq!(
        Signed::verify(&PROVIDER, &pss, &[]).unwrap_err(),
        SignatureRefused::Malformed(Malformed::Der("signatureAlgorithm"))
    );
}
