use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

/// Takes an encoding apart, as nothing but this test does.
struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self) -> i64 {
        i64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = self.number();
        self.take(len.try_into().unwrap()).to_vec()
    }

    fn optional<T>(&mut self, decode: impl FnOnce(&mut Self) -> T) -> Option<T> {
        match self.take(1) {
            [0] => None,
            [1] => Some(decode(self)),
            other => panic!("{other:?}"),
        }
    }

    fn entry(&mut self) -> Entry {
        Entry {
            serial_number: String::from_utf8(self.bytes()).unwrap(),
            idevid_issuer: self.bytes(),
            number: self.number(),
            date: self.number(),
            domain_id: self.bytes(),
            domain_key: self.bytes(),
            nonce: self.optional(Self::bytes),
            assertion: String::from_utf8(self.bytes()).unwrap(),
            request: self.optional(Self::bytes),
            voucher_sha256: self.optional(Self::bytes),
            expires_on: self.optional(Self::number),
        }
    }
}

/// Few different bytes, so that entries are often alike and boundaries are often all that differs.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(0u8..3, 0..6)
}

fn any_text() -> impl Strategy<Value = String> {
    any_bytes().prop_map(|bytes| bytes.into_iter().map(char::from).collect())
}

fn any_number() -> impl Strategy<Value = i64> {
    prop_oneof![0i64..3, any::<i64>()]
}

prop_compose! {
    fn any_entry()(
        (serial_number, assertion) in (any_text(), any_text()),
        (idevid_issuer, domain_id, domain_key) in (any_bytes(), any_bytes(), any_bytes()),
        (number, date, expires_on) in (any_number(), any_number(), option::of(any_number())),
        (nonce, request, voucher_sha256) in
            (option::of(any_bytes()), option::of(any_bytes()), option::of(any_bytes())),
    ) -> Entry {
        Entry {
            serial_number, idevid_issuer, number, date, domain_id, domain_key, nonce, assertion, request, voucher_sha256,
            expires_on,
        }
    }
}

proptest! {
    #[test]
    fn an_encoding_stands_for_one_entry(entries in vec(any_entry(), 1..4)) {
        // What can be read back to the last byte, one after the other, stands for nothing else.
        let encoded: Vec<u8> = entries.iter().flat_map(Entry::encode).collect();
        let mut decoder = Decoder(&encoded);
        for entry in &entries {
            prop_assert_eq!(&decoder.entry(), entry);
        }
        prop_assert!(decoder.0.is_empty());
    }

    #[test]
    fn entries_that_differ_have_other_links(one in any_entry(), other in any_entry(), previous in any::<Sha256>()) {
        prop_assert_eq!(one == other, one.link(&previous) == other.link(&previous));
        prop_assert_ne!(one.link(&previous), one.link(&one.link(&previous)));
    }
}

#[test]
fn a_link_is_what_the_documentation_says() {
    let entry = Entry {
        serial_number: "A".into(),
        idevid_issuer: vec![4],
        number: 1,
        date: 2,
        domain_id: vec![5, 6],
        domain_key: vec![7],
        nonce: Some(vec![]),
        assertion: "logged".into(),
        request: None,
        voucher_sha256: Some(vec![8]),
        expires_on: Some(3),
    };
    let number = |value: u8| [0, 0, 0, 0, 0, 0, 0, value];
    let mut expected = b"terse masa audit log 1\0".to_vec();
    expected.extend([9; 32]);
    for field in [
        &[&number(1)[..], b"A"].concat()[..],
        &[&number(1)[..], &[4]].concat(),
        &number(1),
        &number(2),
        &[&number(2)[..], &[5, 6]].concat(),
        &[&number(1)[..], &[7]].concat(),
        &[&[1][..], &number(0)].concat(),
        &[&number(6)[..], b"logged"].concat(),
        &[0],
        &[&[1][..], &number(1), &[8]].concat(),
        &[&[1][..], &number(3)].concat(),
    ] {
        expected.extend_from_slice(field);
    }
    assert_eq!(entry.link(&[9; 32]), sha256(&[&expected]));
}
