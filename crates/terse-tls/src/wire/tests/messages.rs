//! Tests of handshake messages and alerts.

use alloc::vec;

use super::*;

/// Whether the extensions, which versions before TLS 1.3 may leave out, begin at `len`.
fn without_extensions(bytes: &[u8], len: usize) -> bool {
    let rest = |mut reader: Reader<'_>| {
        reader.take(2 + 32)?;
        reader.vec8()?;
        reader.vec16()?;
        reader.vec8()?;
        Ok::<_, InvalidMessage>(reader.rest().len())
    };
    rest(Reader::new(bytes)) == Ok(bytes.len() - len)
}

codec_test!(
    client_hello: ClientHello<'_>,
    (any::<u16>(), any::<[u8; 32]>(), bytes(0..33), vec(any::<u16>(), 1..10), bytes(1..4), extension_block()),
    |model; items = model.3.iter().map(|suite| CipherSuite(*suite)).collect();|
    ClientHello {
        legacy_version: ProtocolVersion(model.0),
        random: model.1,
        legacy_session_id: &model.2,
        cookie: None,
        cipher_suites: CipherSuites(List::Items(&items)),
        legacy_compression_methods: &model.4,
        extensions: extensions(&model.5),
    },
    shorter without_extensions
);
codec_test!(
    hello_verify_request: HelloVerifyRequest<'_>,
    (any::<u16>(), bytes(0..256)),
    |model| HelloVerifyRequest { server_version: ProtocolVersion(model.0), cookie: &model.1 }
);
codec_test!(
    server_hello: ServerHello<'_>,
    (any::<u16>(), any::<[u8; 32]>(), bytes(0..33), any::<u16>(), any::<u8>(), extension_block()),
    |model| ServerHello {
        legacy_version: ProtocolVersion(model.0),
        random: model.1,
        legacy_session_id_echo: &model.2,
        cipher_suite: CipherSuite(model.3),
        legacy_compression_method: model.4,
        extensions: extensions(&model.5),
    },
    shorter |bytes, len| len == 2 + 32 + 1 + usize::from(bytes[34]) + 2 + 1
);
codec_test!(
    encrypted_extensions: EncryptedExtensions<'_>,
    extension_block(),
    |block| EncryptedExtensions(extensions(block))
);
codec_test!(
    certificate_request: CertificateRequest<'_>,
    (bytes(0..256), extension_block()),
    |model| CertificateRequest { certificate_request_context: &model.0, extensions: extensions(&model.1) }
);
codec_test!(
    cached_certificate_request: CachedCertificateRequest<'_>,
    (bytes(0..20), bytes(1..256)),
    |model| CachedCertificateRequest { certificate_request_context: &model.0, hash_value: &model.1 }
);
codec_test!(
    certificate: Certificate<'_>,
    (bytes(0..20), vec((bytes(0..300), extension_block()), 0..4)),
    |model; items = (model.1.iter())
        .map(|(cert_data, block)| CertificateEntry { cert_data, extensions: extensions(block) })
        .collect();|
    Certificate { certificate_request_context: &model.0, certificate_list: List::Items(&items) }
);
codec_test!(
    certificate_entry: CertificateEntry<'_>,
    (bytes(0..300), extension_block()),
    |model| CertificateEntry { cert_data: &model.0, extensions: extensions(&model.1) }
);
codec_test!(
    certificate_verify: CertificateVerify<'_>,
    (any::<u16>(), bytes(0..300)),
    |model| CertificateVerify { algorithm: SignatureScheme(model.0), signature: &model.1 }
);
codec_test!(
    finished: Finished<'_>,
    bytes(0..64),
    |verify_data| Finished(verify_data),
    shorter |_, _| true // the key schedule knows the length
);
codec_test!(key_update: KeyUpdate, any::<bool>(), |requested| KeyUpdate { update_requested: *requested });
codec_test!(
    alert: Alert,
    (any::<u8>(), any::<u8>()),
    |model| Alert { level: model.0, description: AlertDescription(model.1) }
);

/// Returns a ClientHello with these numbers of bytes in session ID, cipher suites and compression methods.
fn hello(session_id: u8, suites: u8, methods: u8) -> Vec<u8> {
    let vector = |len: u8| [&[len][..], &vec![0; len.into()]].concat();
    [&[3; 34][..], &vector(session_id), &[0], &vector(suites), &vector(methods)].concat()
}

#[test]
fn a_client_hello_keeps_to_the_lengths_of_its_fields() {
    assert!(ClientHello::parse_all(&hello(32, 2, 1)).is_ok());
    assert_eq!(error::<ClientHello<'_>>(&hello(33, 2, 1)), InvalidMessage::IllegalLength);
    assert_eq!(error::<ClientHello<'_>>(&hello(0, 0, 1)), InvalidMessage::IllegalLength);
    assert_eq!(error::<ClientHello<'_>>(&hello(0, 2, 0)), InvalidMessage::IllegalLength);
    assert_eq!(error::<ClientHello<'_>>(&hello(0, 3, 1)), InvalidMessage::Truncated);
}

/// RFC 6347, 4.2.1: the cookie follows the session ID, and is empty at first. TLS has the list of suites there.
#[test]
fn a_client_hello_has_a_cookie_over_datagrams_only() {
    let cookie = [5; 8];
    let suites = [CipherSuite(0xc02b)];
    let hello = ClientHello {
        legacy_version: Transport::Datagram.version(ProtocolVersion::TLS_1_2),
        random: [1; 32],
        legacy_session_id: &[2; 32],
        cookie: Some(&cookie),
        cipher_suites: CipherSuites(List::Items(&suites)),
        legacy_compression_methods: &[0],
        extensions: Extensions::EMPTY,
    };
    let bytes = hello.to_vec().unwrap();
    assert_eq!(bytes[..2], [254, 253]);
    let read = ClientHello::read(&bytes, Transport::Datagram).unwrap();
    assert_eq!((read.legacy_version, read.cookie), (ProtocolVersion::TLS_1_2, Some(&cookie[..])));
    for len in 0..bytes.len() - 2 {
        assert!(ClientHello::read(&bytes[..len], Transport::Datagram).is_err());
    }
    let without = ClientHello { cookie: None, ..hello }.to_vec().unwrap();
    assert_eq!(without.len(), bytes.len() - 1 - cookie.len());
    assert!(ClientHello::read(&without, Transport::Datagram).is_err());
    assert_eq!(ClientHello::read(&without, Transport::Stream).unwrap().cookie, None);
}

#[test]
fn a_server_hello_keeps_to_the_length_of_its_session_id() {
    let hello = |len: u8| [&[3; 34][..], &[len], &vec![0; len.into()], &[0x13, 1, 0]].concat();
    assert_eq!(ServerHello::parse_all(&hello(32)).unwrap().extensions, Extensions::EMPTY);
    assert_eq!(error::<ServerHello<'_>>(&hello(33)), InvalidMessage::IllegalLength);
}

/// RFC 9846, 4.2.3
#[test]
fn a_hello_retry_request_is_known_by_its_random() {
    let expected = crate::test_crypto::SHA256.hash(&[b"HelloRetryRequest"]);
    assert_eq!(ServerHello::HELLO_RETRY_REQUEST, expected.as_ref());
    let mut hello = [&[3, 3][..], expected.as_ref(), &[0, 0x13, 1, 0]].concat();
    assert!(ServerHello::parse_all(&hello).unwrap().is_hello_retry_request());
    hello[2] ^= 1;
    assert!(!ServerHello::parse_all(&hello).unwrap().is_hello_retry_request());
}

#[test]
fn key_update_asks_or_does_not() {
    for request in 2..=255 {
        assert_eq!(error::<KeyUpdate>(&[request]), InvalidMessage::IllegalValue);
    }
    assert_eq!(error::<CachedCertificateRequest<'_>>(&[0, 0]), InvalidMessage::IllegalLength);
}
