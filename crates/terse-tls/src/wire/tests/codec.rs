//! Tests of the codec itself, and of code points.

use alloc::string::ToString;
use alloc::vec;

use super::*;

#[test]
fn a_reader_gives_what_there_is_and_no_more() {
    let mut reader = Reader::new(&[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(reader.u8(), Ok(1));
    assert_eq!(reader.u16(), Ok(0x0203));
    assert_eq!(reader.u24(), Ok(0x0004_0506));
    assert_eq!(reader.u32(), Ok(0x0102_0304));
    assert_eq!(reader.u64(), Ok(0x0708_090a_0b0c_0d0e));
    let rest = reader;
    assert_eq!(reader.u16(), Err(InvalidMessage::Truncated));
    assert_eq!(reader.take(2), Err(InvalidMessage::Truncated));
    assert_eq!(reader.take(usize::MAX), Err(InvalidMessage::Truncated));
    assert_eq!(reader.vec8(), Err(InvalidMessage::Truncated), "a length, and less than it says");
    assert_eq!(rest.finish(), Err(InvalidMessage::TrailingData));
    let mut reader = rest;
    assert_eq!((reader.rest(), reader.is_empty(), reader.finish()), (&[15][..], true, Ok(())));
}

#[test]
fn vectors_are_a_length_and_that_many_bytes() {
    let mut reader = Reader::new(&[1, 7, 0, 2, 8, 9, 0, 0, 1, 10, 0]);
    assert_eq!(reader.vec8(), Ok(&[7][..]));
    assert_eq!(reader.vec16(), Ok(&[8, 9][..]));
    assert_eq!(reader.vec24(), Ok(&[10][..]));
    assert_eq!(reader.vec8(), Ok(&[][..]));
    for len in 0..4 {
        assert_eq!(Reader::new(&[0, 0, 2, 1][..len]).vec24(), Err(InvalidMessage::Truncated));
    }
    assert_eq!(Reader::new(&[0xff; 4]).vec24(), Err(InvalidMessage::Truncated));
}

/// Encodes through `encode` into a buffer that is large enough.
fn written(encode: impl Fn(&mut Writer<'_>)) -> Result<Vec<u8>, EncodeError> {
    let mut count = Writer::new(&mut []);
    encode(&mut count);
    let mut buffer = vec![0xee; count.len() + 1];
    let mut writer = Writer::new(&mut buffer);
    encode(&mut writer);
    let len = writer.finish()?;
    assert_eq!(buffer[len], 0xee, "nothing past the end");
    Ok(buffer[..len].to_vec())
}

#[test]
fn a_vector_may_be_as_long_as_its_length_field_says() {
    let long = vec![7; 1 << 24];
    type Write = fn(&mut Writer<'_>, &[u8]);
    let kinds: [(usize, Write); 3] = [
        (1, |writer, bytes| writer.vec8(bytes)),
        (2, |writer, bytes| writer.vec16(bytes)),
        (3, |writer, bytes| writer.vec24(bytes)),
    ];
    for (field, write) in kinds {
        let limit = 1 << (8 * field);
        let longest = written(|writer| write(writer, &long[..limit - 1])).unwrap();
        assert_eq!(longest.len(), field + limit - 1);
        assert!(longest[..field].iter().all(|byte| *byte == 0xff));
        assert_eq!(written(|writer| write(writer, &long[..limit])), Err(EncodeError));
        assert_eq!(written(|writer| write(writer, &[])).unwrap(), vec![0; field]);
    }
    assert_eq!(written(|writer| writer.u24((1 << 24) - 1)).unwrap(), [0xff; 3]);
    assert_eq!(written(|writer| writer.u24(1 << 24)), Err(EncodeError));
}

#[test]
fn a_vector_within_a_vector_counts_into_both() {
    let nested = |inner: usize| {
        let inner = vec![7; inner];
        written(|writer| writer.vec::<1>(|writer| writer.vec16(&inner)))
    };
    assert_eq!(nested(1).unwrap(), [3, 0, 1, 7]);
    assert_eq!(nested(253).unwrap()[..3], [255, 0, 253]);
    assert_eq!(nested(254), Err(EncodeError));
}

#[test]
fn a_writer_past_its_end_only_counts() {
    for room in 0..6 {
        let mut buffer = [0xee; 6];
        let mut writer = Writer::new(&mut buffer[..room]);
        writer.vec16(&[1, 2, 3, 4]);
        assert_eq!(writer.len(), 6);
        assert_eq!(writer.finish(), Err(EncodeError));
        assert_eq!(buffer[room..], [0xee; 6][room..]);
    }
    let mut buffer = [0; 6];
    let mut writer = Writer::new(&mut buffer);
    writer.vec16(&[1, 2, 3, 4]);
    assert_eq!((writer.finish(), buffer), (Ok(6), [0, 4, 1, 2, 3, 4]));
}

#[test]
fn a_list_is_checked_to_its_last_byte() {
    let list = List::<KeyShareEntry<'_>>::new(&[0, 29, 0, 1, 5, 0, 23, 0, 2, 6, 7]).unwrap();
    let entries: Vec<_> = list.iter().map(|entry| (entry.group, entry.key_exchange)).collect();
    assert_eq!(entries, [(NamedGroup::X25519, &[5][..]), (NamedGroup::SECP256R1, &[6, 7])]);
    assert!(!list.is_empty() && List::<NamedGroup>::new(&[]).unwrap().is_empty());
    assert_eq!(List::<NamedGroup>::new(&[0, 29, 0]).unwrap_err(), InvalidMessage::Truncated);
    let items = [NamedGroup::X25519, NamedGroup(0x1234)];
    assert_eq!(List::Items(&items), List::Wire(&[0, 29, 0x12, 0x34]));
    assert_ne!(List::Items(&items), List::Wire(&[0, 29]));
    assert_eq!(List::Items(&items).to_vec().unwrap(), [0, 29, 0x12, 0x34]);
}

/// Defines tests that every value survives, known or not, and that a name leads back to its value.
macro_rules! code_point_tests {
    ($($name:ident: $type:ident($int:ty),)*) => {$(
        codec_test!($name: $type, any::<$int>(), |value| $type(*value));
    )*

        #[test]
        fn names_lead_back_to_their_values() {
            $(
                let named = (0..=<$int>::MAX).map($type).filter_map(|value| Some((value, value.name()?)));
                for (value, name) in named {
                    assert_eq!($type::from_name(name), Some(value), "{name}");
                    assert_eq!(value.to_string(), name);
                }
                assert_eq!($type::from_name("no such thing"), None);
            )*
        }
    };
}

code_point_tests! {
    protocol_version: ProtocolVersion(u16),
    content_type: ContentType(u8),
    handshake_type: HandshakeType(u8),
    cipher_suite: CipherSuite(u16),
    named_group: NamedGroup(u16),
    signature_scheme: SignatureScheme(u16),
    extension_type: ExtensionType(u16),
    alert_description: AlertDescription(u8),
    cached_information_type: CachedInformationType(u8),
    certificate_type: CertificateType(u8),
    certificate_status_type: CertificateStatusType(u8),
    client_certificate_type: ClientCertificateType(u8),
    psk_key_exchange_mode: PskKeyExchangeMode(u8),
}

/// Users read `Display`, with numbers as in the registries; `Debug` is for programmers.
#[test]
fn unknown_values_are_written_as_numbers() {
    assert_eq!(CipherSuite(0xfafa).to_string(), "unknown (0xfafa)");
    assert_eq!(NamedGroup(0x1e).to_string(), "unknown (0x001e)");
    assert_eq!(AlertDescription(200).to_string(), "unknown (200)");
    assert_eq!(ExtensionType(4242).to_string(), "unknown (4242)");
    assert_eq!(ExtensionType(0xf).to_string(), "heartbeat");
    assert_eq!(format!("{:?}", ContentType(0)), "ContentType(0x0)");
    assert_eq!(CipherSuite::TLS_AES_128_CCM_SHA256.to_string(), "TLS_AES_128_CCM_SHA256");
    let error = crate::Error::from(PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType(200)));
    assert_eq!(error.to_string(), "the peer broke the protocol: the message unknown (200) is not due now");
}

/// RFC 9846, 4.5.2: no PKCS #1, no SHA-1 and nothing unknown signs a handshake.
#[test]
fn few_schemes_sign_handshakes() {
    let signs: Vec<u16> = (0..=u16::MAX).filter(|scheme| SignatureScheme(*scheme).signs_tls13_handshakes()).collect();
    assert_eq!(signs, [0x0403, 0x0503, 0x0804, 0x0805, 0x0806, 0x0807]);
}
