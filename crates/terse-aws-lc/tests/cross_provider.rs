//! This provider and `terse-rustcrypto` interoperate.

use terse_aws_lc::PROVIDER as AWS_LC;
use terse_rustcrypto::PROVIDER as RUSTCRYPTO;
use terse_testkit::provider_suite::interop;

#[test]
fn groups() {
    interop::groups(&AWS_LC, &RUSTCRYPTO);
    interop::groups(&RUSTCRYPTO, &AWS_LC);
}

#[test]
fn records() {
    interop::records(&AWS_LC, &RUSTCRYPTO);
    interop::records(&RUSTCRYPTO, &AWS_LC);
}

#[test]
fn signatures() {
    interop::signatures(&AWS_LC, &RUSTCRYPTO);
    interop::signatures(&RUSTCRYPTO, &AWS_LC);
}

#[test]
fn this_provider_signs_with_rsa() {
    let key = include_str!("../../terse-provider-suite/src/data/rsa2048.pkcs8.pem");
    let key = pki_types::pem::PemObject::from_pem_slice(key.as_bytes()).expect("well-formed");
    assert!(AWS_LC.load_key(&key).is_ok());
}
