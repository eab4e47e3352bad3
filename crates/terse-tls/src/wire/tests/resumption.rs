//! Tests of tickets, pre-shared keys, and certificate types.

use super::*;

codec_test!(
    new_session_ticket: NewSessionTicket<'_>,
    (any::<u32>(), any::<u32>(), bytes(0..20), bytes(1..200), extension_block()),
    |model| NewSessionTicket {
        ticket_lifetime: model.0,
        ticket_age_add: model.1,
        ticket_nonce: &model.2,
        ticket: &model.3,
        extensions: extensions(&model.4),
    }
);
codec_test!(
    pre_shared_key_client_hello: PreSharedKeyClientHello<'_>,
    vec(((bytes(1..40), any::<u32>()), bytes(32..70)), 1..4),
    |offers; lists = [offers.iter().map(offered_psk).unzip()].into();|
    offered_psks(&lists[0])
);
codec_test!(psk_identity_alone: PskIdentity<'_>, (bytes(1..300), any::<u32>()), |model| psk_identity(model));
codec_test!(psk_binder: PskBinder<'_>, bytes(32..256), |binder| PskBinder(binder));
codec_test!(pre_shared_key_server_hello: PreSharedKeyServerHello, any::<u16>(), |i| PreSharedKeyServerHello(*i));
codec_test!(
    psk_key_exchange_modes: PskKeyExchangeModes<'_>,
    vec(any::<u8>().prop_map(PskKeyExchangeMode), 1..256),
    |modes| PskKeyExchangeModes(List::Items(modes))
);
codec_test!(early_data: EarlyData, Just(()), |_unit| EarlyData);
codec_test!(max_early_data_size: MaxEarlyDataSize, any::<u32>(), |size| MaxEarlyDataSize(*size));
codec_test!(
    session_ticket: SessionTicket<'_>,
    bytes(0..300),
    |ticket| SessionTicket(ticket),
    shorter |_, _| true // it fills the extension
);
codec_test!(
    client_certificate_types: ClientCertificateTypes<'_>,
    vec(any::<u8>().prop_map(CertificateType), 1..256),
    |types| ClientCertificateTypes(List::Items(types))
);
codec_test!(
    server_certificate_types: ServerCertificateTypes<'_>,
    vec(any::<u8>().prop_map(CertificateType), 1..256),
    |types| ServerCertificateTypes(List::Items(types))
);
codec_test!(
    client_certificate_type: ClientCertificateTypeSelected,
    any::<u8>(),
    |kind| ClientCertificateTypeSelected(CertificateType(*kind))
);
codec_test!(
    server_certificate_type: ServerCertificateTypeSelected,
    any::<u8>(),
    |kind| ServerCertificateTypeSelected(CertificateType(*kind))
);

fn psk_identity((identity, age): &(Vec<u8>, u32)) -> PskIdentity<'_> {
    PskIdentity { identity, obfuscated_ticket_age: *age }
}

fn offered_psk<'a>((identity, binder): &'a ((Vec<u8>, u32), Vec<u8>)) -> (PskIdentity<'a>, PskBinder<'a>) {
    (psk_identity(identity), PskBinder(binder))
}

fn offered_psks<'a>(lists: &'a (Vec<PskIdentity<'a>>, Vec<PskBinder<'a>>)) -> PreSharedKeyClientHello<'a> {
    PreSharedKeyClientHello { identities: List::Items(&lists.0), binders: List::Items(&lists.1) }
}

/// Returns `pre_shared_key` with identities of one byte and binders of these lengths.
fn encoded_psks(identities: usize, binders: &[u8]) -> Vec<u8> {
    let identities = [0, 1, b'x', 0, 0, 0, 0].repeat(identities);
    let binders: Vec<u8> = binders.iter().flat_map(|len| [&[*len], &[9].repeat((*len).into())[..]].concat()).collect();
    let vector = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    [vector(&identities), vector(&binders)].concat()
}

#[test]
fn lengths_outside_their_range_are_decode_errors() {
    use InvalidMessage::{IllegalLength, Truncated};
    assert_eq!(error::<PskBinder<'_>>(&[&[31][..], &[9; 31]].concat()), IllegalLength);
    assert_eq!(error::<PskIdentity<'_>>(&[0; 6]), IllegalLength);
    assert_eq!(error::<PreSharedKeyClientHello<'_>>(&encoded_psks(0, &[])), IllegalLength);
    assert_eq!(error::<PreSharedKeyClientHello<'_>>(&encoded_psks(0, &[32])), IllegalLength);
    assert_eq!(error::<PreSharedKeyClientHello<'_>>(&encoded_psks(1, &[])), IllegalLength);
    assert_eq!(error::<PreSharedKeyClientHello<'_>>(&encoded_psks(2, &[32, 31])), IllegalLength);
    assert_eq!(error::<PskKeyExchangeModes<'_>>(&[0]), IllegalLength);
    assert_eq!(error::<ClientCertificateTypes<'_>>(&[0]), IllegalLength);
    assert_eq!(error::<ServerCertificateTypes<'_>>(&[0]), IllegalLength);
    assert_eq!(error::<NewSessionTicket<'_>>(&[0; 13]), IllegalLength, "the ticket is empty");
    assert_eq!(error::<NewSessionTicket<'_>>(&[0; 10]), Truncated);
}

/// RFC 9846, 4.3.11: there is one binder for each identity, in the same order.
#[test]
fn each_identity_has_a_binder() {
    assert!(PreSharedKeyClientHello::parse_all(&encoded_psks(2, &[32, 48])).is_ok());
    for (identities, binders) in [(1, &[32, 32][..]), (2, &[32]), (3, &[255, 32])] {
        let offered = encoded_psks(identities, binders);
        assert_eq!(error::<PreSharedKeyClientHello<'_>>(&offered), InvalidMessage::IllegalValue);
    }
}

/// Returns a ClientHello that offers two keys, with these binders.
fn client_hello(psks: &PreSharedKeyClientHello<'_>) -> Vec<u8> {
    let mut builder = ExtensionsBuilder::default();
    builder.push(&PskKeyExchangeModes(List::Items(&[PskKeyExchangeMode::PSK_DHE_KE]))).unwrap();
    assert_ne!(builder.extensions().last(), Some(ExtensionType::PRE_SHARED_KEY));
    builder.push(psks).unwrap();
    let hello = ClientHello {
        legacy_version: ProtocolVersion::TLS_1_2,
        random: [7; 32],
        legacy_session_id: &[],
        cookie: None,
        cipher_suites: CipherSuites(List::Items(&[CipherSuite::TLS_AES_128_GCM_SHA256])),
        legacy_compression_methods: &[0],
        extensions: builder.extensions(),
    };
    hello.to_vec().unwrap()
}

/// RFC 9846, 4.3.11.2: the binders are the last bytes, and all bytes before them are independent of them.
#[test]
fn binders_are_written_over_the_end_of_a_client_hello() {
    let identities = [&b"one"[..], b"two"].map(|identity| PskIdentity { identity, obfuscated_ticket_age: 1 });
    let offer =
        |binders| PreSharedKeyClientHello { identities: List::Items(&identities), binders: List::Items(binders) };
    let (placeholders, binders) =
        ([PskBinder(&[0; 32]), PskBinder(&[0; 48])], [PskBinder(&[1; 32]), PskBinder(&[2; 48])]);
    let (before, after) = (client_hello(&offer(&placeholders)), client_hello(&offer(&binders)));

    let received = ClientHello::parse_all(&after).unwrap().extensions;
    assert_eq!(received.last(), Some(ExtensionType::PRE_SHARED_KEY));
    let binders_len = received.require::<PreSharedKeyClientHello<'_>>().unwrap().binders_len();
    assert_eq!(binders_len, 2 + 1 + 32 + 1 + 48);
    let truncated = after.len() - binders_len;
    assert_eq!(before[..truncated], after[..truncated]);
    assert_eq!(after[truncated..truncated + 4], [0, 82, 32, 1]);

    let mut patched = before;
    offer(&binders).patch_binders(&mut patched).unwrap();
    assert_eq!(patched, after);
    assert_eq!(offer(&binders).patch_binders(&mut patched[..binders_len - 1]), Err(EncodeError));
}
