use std::collections::BTreeSet;

use super::*;

#[test]
fn names_are_read_as_they_are_printed() {
    let mut names = BTreeSet::new();
    for operation in Operation::ALL {
        let name = operation.to_string();
        assert_eq!(name.parse(), Ok(operation));
        assert_eq!(name.ends_with("-per-kb"), operation.is_on_bytes(), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        names.insert(name);
    }
    assert_eq!(names.len(), Operation::ALL.len(), "a name stands for one operation");
    assert_eq!("rsa-8192-verify".parse(), Ok(Operation::Verify(SignatureKey::Rsa(8192))));
}

#[test]
fn other_names_are_refused_with_those_that_exist() {
    for name in ["x448-generate", "rsa-2048-decrypt", "rsa-70000-sign", "X25519MLKEM768-generate", ""] {
        let error = name.parse::<Operation>().unwrap_err();
        assert!(error.contains("bls12381-pairing"), "{name}: {error}");
    }
}
