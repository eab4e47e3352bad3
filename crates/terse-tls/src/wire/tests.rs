//! Tests of every type on the wire: an encoded value parses again to an equal value; shorter and longer bytes do not
//! parse; bytes that parse are encoded again to the same bytes; and nothing panics.

use alloc::format;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::error::{InvalidMessage, PeerMisbehaved};

mod codec;
mod extensions;
mod identity;
mod messages;
mod paths;
mod resumption;
mod status_request;
mod tls12;

/// `codec_test!(name: Type, strategy, |model| value)`: generates values of a type from owned models, and tests their
/// encoding. `|model; items = …;|` makes a vector that `value` borrows. `shorter` tells at which lengths the beginning
/// of the encoding is itself a valid value.
macro_rules! codec_test {
    (
        $name:ident: $type:ty, $strategy:expr,
        |$model:ident $(; $items:ident = $init:expr;)?| $value:expr
        $(, shorter $shorter:expr)?
    ) => {
        #[test]
        fn $name() {
            proptest!(config(), |(model in $strategy, mutations in mutations(), garbage in bytes(0..60))| {
                let $model = &model;
                $(let $items: Vec<_> = $init;)?
                let value: $type = $value;
                #[allow(unused_mut, unused_assignments)]
                let mut shorter: fn(&[u8], usize) -> bool = |_, _| false;
                $(shorter = $shorter;)?
                let bytes = value.to_vec().unwrap();
                round_trip::<$type>(&value, &bytes, shorter);
                let longer = [&bytes[..], &[0]].concat();
                refuses_more::<$type>(&longer, shorter);
                let mutated = mutate(bytes.clone(), &mutations);
                encodes_as_it_came::<$type>(&mutated);
                encodes_as_it_came::<$type>(&garbage);
            });
        }
    };
}
use codec_test;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) }
}

fn round_trip<'a, T: Parse<'a> + Encode + PartialEq + Debug>(
    value: &T,
    bytes: &'a [u8],
    shorter: fn(&[u8], usize) -> bool,
) {
    assert_eq!(T::parse_all(bytes).as_ref(), Ok(value));
    for len in 0..bytes.len() {
        let result = T::parse_all(&bytes[..len]);
        assert_eq!(result.is_ok(), shorter(bytes, len), "the first {len} of {bytes:?}: {result:?}");
    }
    for len in 0..bytes.len() {
        let mut buffer = alloc::vec![0; len];
        let mut writer = Writer::new(&mut buffer);
        value.encode(&mut writer);
        assert_eq!((writer.len(), writer.finish()), (bytes.len(), Err(EncodeError)));
    }
}

/// Asserts that bytes with one more byte do not parse, unless `shorter` allows it.
fn refuses_more<'a, T: Parse<'a> + Debug>(longer: &'a [u8], shorter: fn(&[u8], usize) -> bool) {
    assert_eq!(T::parse_all(longer).is_ok(), shorter(longer, longer.len()), "{longer:?}");
}

/// Asserts that bytes that parse are encoded to the same bytes. A hello without extensions gets an empty block.
fn encodes_as_it_came<'a, T: Parse<'a> + Encode + Debug>(bytes: &'a [u8]) {
    let Ok(value) = T::parse_all(bytes) else { return };
    assert!(!format!("{value:?}").is_empty());
    let again = value.to_vec().unwrap();
    assert!(again == bytes || again == [bytes, &[0, 0]].concat(), "{bytes:?} became {again:?}");
}

/// A change of one byte, or of the length by one byte.
#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    Add(Index, i8),
    Insert(Index, u8),
    Remove(Index),
    Truncate(Index),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Mutation::Set(place, byte)),
        (any::<Index>(), -2i8..3).prop_map(|(place, difference)| Mutation::Add(place, difference)),
        (any::<Index>(), any::<u8>()).prop_map(|(place, byte)| Mutation::Insert(place, byte)),
        any::<Index>().prop_map(Mutation::Remove),
        any::<Index>().prop_map(Mutation::Truncate),
    ];
    vec(mutation, 1..4)
}

fn mutate(mut bytes: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        let at = |index: &Index| index.index(bytes.len().max(1));
        match mutation {
            Mutation::Insert(place, byte) => bytes.insert(at(place), *byte),
            _ if bytes.is_empty() => {}
            Mutation::Set(place, byte) => {
                let place = at(place);
                bytes[place] = *byte;
            }
            Mutation::Add(place, difference) => {
                let place = at(place);
                bytes[place] = bytes[place].wrapping_add_signed(*difference);
            }
            Mutation::Remove(place) => {
                let place = at(place);
                bytes.remove(place);
            }
            Mutation::Truncate(place) => {
                let place = at(place);
                bytes.truncate(place);
            }
        }
    }
    bytes
}

fn bytes(len: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), len)
}

/// Generates an extension block with its length: known and unknown types, each at most once.
fn extension_block() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![0u16..60, any::<u16>()];
    proptest::collection::btree_map(kind, bytes(0..20), 0..5).prop_map(|extensions| {
        let block = extensions
            .iter()
            .flat_map(|(kind, body)| [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat());
        let block: Vec<u8> = block.collect();
        [&(block.len() as u16).to_be_bytes()[..], &block].concat()
    })
}

fn extensions(block: &[u8]) -> Extensions<'_> {
    Extensions::parse_all(block).unwrap()
}

/// Returns the error of bytes that do not parse as `T`.
fn error<'a, T: Parse<'a> + Debug>(bytes: &'a [u8]) -> InvalidMessage {
    T::parse_all(bytes).unwrap_err()
}
