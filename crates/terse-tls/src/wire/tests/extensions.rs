//! Tests of extensions: their bodies, the block, and the messages in which each may appear.

use alloc::vec;

use super::*;

codec_test!(extension_blocks: Extensions<'_>, extension_block(), |block| extensions(block));

codec_test!(
    supported_versions: SupportedVersions<'_>,
    vec(any::<u16>().prop_map(ProtocolVersion), 1..128),
    |versions| SupportedVersions(List::Items(versions))
);
codec_test!(selected_version: SelectedVersion, any::<u16>(), |version| SelectedVersion(ProtocolVersion(*version)));
codec_test!(cookie: Cookie<'_>, bytes(1..300), |cookie| Cookie(cookie));
codec_test!(
    cipher_suites: CipherSuites<'_>,
    vec(any::<u16>().prop_map(CipherSuite), 1..200),
    |suites| CipherSuites(List::Items(suites))
);
codec_test!(
    supported_groups: SupportedGroups<'_>,
    vec(any::<u16>().prop_map(NamedGroup), 1..20),
    |groups| SupportedGroups(List::Items(groups))
);
codec_test!(
    signature_algorithms: SignatureAlgorithms<'_>,
    vec(any::<u16>().prop_map(SignatureScheme), 1..20),
    |schemes| SignatureAlgorithms(List::Items(schemes))
);
codec_test!(
    signature_algorithms_cert: SignatureAlgorithmsCert<'_>,
    vec(any::<u16>().prop_map(SignatureScheme), 1..20),
    |schemes| SignatureAlgorithmsCert(List::Items(schemes))
);
codec_test!(
    certificate_authorities: CertificateAuthorities<'_>,
    vec(bytes(1..60), 1..5),
    |names; items = names.iter().map(|name| DistinguishedName(name)).collect();|
    CertificateAuthorities(List::Items(&items))
);
codec_test!(distinguished_name: DistinguishedName<'_>, bytes(1..300), |name| DistinguishedName(name));
codec_test!(
    protocol_name_list: ProtocolNameList<'_>,
    vec(bytes(1..60), 1..5),
    |names; items = names.iter().map(|name| ProtocolName(name)).collect();|
    ProtocolNameList(List::Items(&items))
);
codec_test!(protocol_name: ProtocolName<'_>, bytes(1..256), |name| ProtocolName(name));
codec_test!(
    server_name_list: ServerNameList<'_>,
    vec((any::<u8>(), bytes(1..60)), 1..4),
    |names; items = names.iter().map(|(name_type, name)| ServerName { name_type: *name_type, name }).collect();|
    ServerNameList::Names(List::Items(&items)),
    shorter |_, len| len == 0 // the server's acknowledgement
);
codec_test!(server_name: ServerName<'_>, "[!-~]{1,300}", |name| ServerName::host(name));
codec_test!(acknowledged_server_name: ServerNameList<'_>, Just(()), |_unit| ServerNameList::Acknowledged);
codec_test!(
    max_fragment_length: MaxFragmentLength,
    prop::sample::select(vec![512, 1024, 2048, 4096]),
    |len| MaxFragmentLength::from_bytes(*len).unwrap()
);
codec_test!(record_size_limit: RecordSizeLimit, 64u16.., |limit| RecordSizeLimit(*limit));

codec_test!(
    connection_id: ConnectionId<'_>,
    bytes(0..256),
    |cid| ConnectionId(cid)
);
codec_test!(
    key_share_entry: KeyShareEntry<'_>,
    (any::<u16>(), bytes(1..300)),
    |entry| KeyShareEntry { group: NamedGroup(entry.0), key_exchange: &entry.1 }
);
codec_test!(
    key_share_client_hello: KeyShareClientHello<'_>,
    vec((any::<u16>(), bytes(1..60)), 0..4),
    |entries; items = key_share_entries(entries);|
    KeyShareClientHello(List::Items(&items))
);
codec_test!(
    key_share_server_hello: KeyShareServerHello<'_>,
    (any::<u16>(), bytes(1..100)),
    |entry| KeyShareServerHello(KeyShareEntry { group: NamedGroup(entry.0), key_exchange: &entry.1 })
);
codec_test!(
    key_share_hello_retry_request: KeyShareHelloRetryRequest,
    any::<u16>(),
    |group| KeyShareHelloRetryRequest(NamedGroup(*group))
);

codec_test!(
    cached_object: CachedObject<'_>,
    (any::<u8>(), bytes(1..256)),
    |object| CachedObject { kind: CachedInformationType(object.0), hash_value: &object.1 }
);
codec_test!(
    cached_information: CachedInformation<'_>,
    vec((any::<u8>(), bytes(1..40)), 1..4),
    |objects; items = (objects.iter())
        .map(|(kind, hash_value)| CachedObject { kind: CachedInformationType(*kind), hash_value })
        .collect();|
    CachedInformation(List::Items(&items))
);
codec_test!(
    selected_information: SelectedInformation<'_>,
    vec(any::<u8>().prop_map(CachedInformationType), 1..4),
    |kinds| SelectedInformation(List::Items(kinds))
);
codec_test!(
    cached_client_object: CachedClientObject<'_>,
    (any::<u8>(), bytes(1..256)),
    |object| CachedClientObject { kind: CachedInformationType(object.0), ticket: &object.1 }
);
codec_test!(
    client_cached_info: ClientCachedInfo<'_>,
    prop::option::of(vec((any::<u8>(), bytes(1..20)), 0..4)),
    |objects; items = (objects.iter().flatten())
        .map(|(kind, ticket)| CachedClientObject { kind: CachedInformationType(*kind), ticket })
        .collect();|
    ClientCachedInfo(objects.is_some().then_some(List::Items(&items))),
    shorter |_, len| len == 0 // "supported"
);
codec_test!(
    selected_client_object: SelectedClientObject,
    (any::<u8>(), any::<u16>()),
    |object| SelectedClientObject { kind: CachedInformationType(object.0), index: object.1 }
);
codec_test!(
    selected_client_info: SelectedClientInfo<'_>,
    prop::option::of(vec((any::<u8>(), any::<u16>()), 0..4)),
    |objects; items = (objects.iter().flatten())
        .map(|(kind, index)| SelectedClientObject { kind: CachedInformationType(*kind), index: *index })
        .collect();|
    SelectedClientInfo(objects.is_some().then_some(List::Items(&items))),
    shorter |_, len| len == 0 // "supported"
);

codec_test!(
    compact_offer: CompactOffer,
    any::<Option<[u8; 8]>>(),
    |ticket| CompactOffer(*ticket),
    shorter |_, len| len == 0 // "supported"
);
codec_test!(
    compact_selection: CompactSelection,
    any::<u8>(),
    |bits| CompactSelection(Some(*bits)),
    shorter |_, len| len == 0 // "supported"
);

fn key_share_entries(entries: &[(u16, Vec<u8>)]) -> Vec<KeyShareEntry<'_>> {
    entries.iter().map(|(group, key_exchange)| KeyShareEntry { group: NamedGroup(*group), key_exchange }).collect()
}

#[test]
fn lengths_outside_their_range_are_decode_errors() {
    use InvalidMessage::{IllegalLength, Truncated};
    assert_eq!(error::<SupportedVersions<'_>>(&[0]), IllegalLength);
    assert_eq!(error::<SupportedVersions<'_>>(&[3, 3, 4, 3]), Truncated);
    assert_eq!(error::<CipherSuites<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<CipherSuites<'_>>(&[0, 3, 0x13, 1, 0x13]), Truncated);
    assert_eq!(error::<SupportedGroups<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<SignatureAlgorithms<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<SignatureAlgorithmsCert<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<Cookie<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<CertificateAuthorities<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<CertificateAuthorities<'_>>(&[0, 2, 0, 0]), IllegalLength);
    assert_eq!(error::<ProtocolNameList<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<ProtocolNameList<'_>>(&[0, 1, 0]), IllegalLength);
    assert_eq!(error::<KeyShareEntry<'_>>(&[0, 29, 0, 0]), IllegalLength);
    assert_eq!(error::<KeyShareClientHello<'_>>(&[0, 4, 0, 29, 0, 0]), IllegalLength);
    assert_eq!(error::<ServerNameList<'_>>(&[0, 3, 0, 0, 0]), IllegalLength);
    assert_eq!(error::<ServerNameList<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<CachedInformation<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<CachedObject<'_>>(&[1, 0]), IllegalLength);
    assert_eq!(error::<SelectedInformation<'_>>(&[0, 0]), IllegalLength);
    assert_eq!(error::<ClientCachedInfo<'_>>(&[0, 2, 1, 0]), IllegalLength);
    assert_eq!(error::<SelectedClientInfo<'_>>(&[0, 2, 1, 0]), Truncated);
    for kind in [IllegalLength, Truncated, InvalidMessage::TrailingData] {
        assert_eq!(crate::Error::from(kind).alert(), Some(AlertDescription::DECODE_ERROR));
    }
}

#[test]
fn values_outside_their_range_are_illegal_parameters() {
    let illegal = InvalidMessage::IllegalValue;
    for code in (0..=255).filter(|code| !(1..=4).contains(code)) {
        assert_eq!(error::<MaxFragmentLength>(&[code]), illegal);
    }
    for limit in 0..64 {
        assert_eq!(error::<RecordSizeLimit>(&u16::to_be_bytes(limit)), illegal);
    }
    let host_name = |list: &[u8]| ServerNameList::parse_all(list).unwrap().host_name().map(|name| name.is_some());
    for byte in (0..=0x20).chain(0x7f..=0xff) {
        assert_eq!(host_name(&[0, 5, 0, 0, 2, b'a', byte]), Err(illegal), "in no DNS name, nor in a log");
    }
    assert_eq!(host_name(&[0, 8, 0, 0, 1, b'a', 0, 0, 1, b'b']), Err(illegal), "two of one type");
    assert_eq!(host_name(&[0, 9, 1, 0, 2, 9, 9, 0, 0, 1, b'b']), Ok(true), "the other one is skipped");
    assert_eq!(host_name(&[0, 4, 1, 0, 1, 0]), Ok(false));
    assert_eq!(crate::Error::from(illegal).alert(), Some(AlertDescription::ILLEGAL_PARAMETER));
    assert_eq!(MaxFragmentLength::from_bytes(256), None);
    assert_eq!(MaxFragmentLength::Bytes512.bytes(), 512);
    assert_eq!(MaxFragmentLength::Bytes4096.bytes(), 4096);
}

#[test]
fn an_extension_comes_once() {
    for (kind, other) in [(0, 0), (51, 51), (0x1234, 0x1234)] {
        let block: Vec<u8> =
            [kind, 7, other].into_iter().flat_map(|kind: u16| [kind.to_be_bytes(), [0, 0]]).flatten().collect();
        let block = [&[0, block.len() as u8][..], &block].concat();
        assert_eq!(error::<Extensions<'_>>(&block), InvalidMessage::DuplicateExtension);
    }
}

#[test]
fn an_extension_fills_its_body() {
    let block = extensions(&[0, 7, 0, 43, 0, 3, 3, 4, 0]);
    assert_eq!(block.get::<SelectedVersion>(), Err(InvalidMessage::TrailingData));
    assert_eq!(block.get::<RecordSizeLimit>(), Ok(None));
    let missing = ExtensionError::Missing(ExtensionType::RECORD_SIZE_LIMIT);
    assert_eq!(block.require::<RecordSizeLimit>(), Err(missing));
}

#[test]
fn a_builder_writes_in_order() {
    let mut builder = ExtensionsBuilder::default();
    builder.push(&SelectedVersion(ProtocolVersion::TLS_1_3)).unwrap();
    builder.push(&RecordSizeLimit(64)).unwrap();
    assert_eq!(builder.types(), [ExtensionType::SUPPORTED_VERSIONS, ExtensionType::RECORD_SIZE_LIMIT]);
    let encoded = builder.extensions().to_vec().unwrap();
    assert_eq!(encoded, [0, 12, 0, 43, 0, 2, 3, 4, 0, 28, 0, 2, 0, 64]);
    assert_eq!(extensions(&encoded), builder.extensions());
    assert_eq!(extensions(&encoded).require(), Ok(RecordSizeLimit(64)));
}

/// The code points are for private use, so the configuration chooses them.
#[test]
fn an_extension_may_have_another_code_point() {
    let private = ExtensionType(0xff99);
    let mut builder = ExtensionsBuilder::default();
    builder.push_as(private, &RecordSizeLimit(64)).unwrap();
    assert_eq!(builder.types(), [private]);
    let encoded = builder.extensions().to_vec().unwrap();
    assert_eq!(encoded, [0, 6, 0xff, 0x99, 0, 2, 0, 64]);
    assert_eq!(extensions(&encoded).get_as(private), Ok(Some(RecordSizeLimit(64))));
    assert_eq!(extensions(&encoded).get::<RecordSizeLimit>(), Ok(None));
}

#[test]
fn a_block_holds_no_more_than_its_length_field_can_say() {
    let long = vec![7; 0xffff];
    let mut builder = ExtensionsBuilder::default();
    assert_eq!(builder.push(&Cookie(&long)), Err(EncodeError), "with its own length the body has 0x10001 bytes");
    assert_eq!(builder.push(&Cookie(&long[..0xffff - 1])), Err(EncodeError));
    assert_eq!(builder.types(), [], "nothing was added");
    builder.push(&Cookie(&long[..0xffff - 2 - 4])).unwrap();
    assert_eq!(builder.extensions().to_vec().unwrap().len(), 2 + 0xffff);
    builder.push(&RecordSizeLimit(64)).unwrap();
    assert_eq!(builder.extensions().to_vec(), Err(EncodeError));
}

const PLACES: [ExtensionMessage; 8] = [
    ExtensionMessage::ClientHello,
    ExtensionMessage::ServerHello,
    ExtensionMessage::HelloRetryRequest,
    ExtensionMessage::EncryptedExtensions,
    ExtensionMessage::CertificateRequest,
    ExtensionMessage::Certificate,
    ExtensionMessage::NewSessionTicket,
    ExtensionMessage::ServerHello12,
];

/// The expected values are the table of RFC 9846, 4.3, and the extensions' own RFCs for those that it does not list.
#[test]
fn known_extensions_stand_where_the_table_says() {
    use ExtensionMessage::{
        Certificate as CT, CertificateRequest as CR, ClientHello as CH, EncryptedExtensions as EE,
        HelloRetryRequest as HRR, NewSessionTicket as NST, ServerHello as SH, ServerHello12 as SH12,
    };
    let table: &[(u16, &[ExtensionMessage])] = &[
        (0, &[CH, EE, CR, SH12]),
        (1, &[CH, EE, SH12]),
        (5, &[CH, CR, CT, SH12]),
        (10, &[CH, EE, SH12]),
        (11, &[CH, SH12]),
        (13, &[CH, CR]),
        (16, &[CH, EE, SH12]),
        (18, &[CH, CR, CT, SH12]),
        (19, &[CH, EE, SH12]),
        (20, &[CH, EE, SH12]),
        (23, &[CH, SH12]),
        (25, &[CH, EE, SH12]),
        (28, &[CH, EE, SH12]),
        (35, &[CH, SH12]),
        (41, &[CH, SH]),
        (42, &[CH, EE, NST]),
        (43, &[CH, SH, HRR]),
        (44, &[CH, HRR]),
        (45, &[CH]),
        (47, &[CH, CR]),
        (48, &[CR]),
        (49, &[CH]),
        (50, &[CH, CR]),
        (51, &[CH, SH, HRR]),
        (54, &[CH, SH, SH12]),
        (61, &[CH, SH, SH12]),
        (0xff01, &[CH, SH12]),
        (0xff42, &[CH, EE, SH12]),
        (0xff44, &[CH, EE, SH12]),
        (0xff49, &[CH, SH, HRR, NST]),
    ];
    // These have names for error messages, but are unknown.
    let named = [2, 3, 4, 14, 15, 17, 21, 22, 27, 34, 57, 58, 0xfe0d].map(ExtensionType);
    for kind in (0..=u16::MAX).map(ExtensionType) {
        let places = table.iter().find(|(known, _)| *known == kind.0).map_or(&PLACES[..], |(_, places)| places);
        let is_known = kind.name().is_some() && !named.contains(&kind);
        assert_eq!(is_known, places != PLACES, "{kind} is known and not in the table, or the reverse");
        for place in PLACES {
            let expected = if places.contains(&place) { Ok(()) } else { Err(ExtensionError::Misplaced(kind)) };
            assert_eq!(kind.check_place(place), expected, "{kind} in {place:?}");
        }
    }
}

#[test]
fn requests_may_hold_what_is_unknown_and_responses_what_was_offered() {
    let block = [0, 8, 0x12, 0x34, 0, 0, 0, 16, 0, 0];
    let [unknown, alpn] = [ExtensionType(0x1234), ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION];
    let block = extensions(&block);
    assert_eq!(block.check_request(ExtensionMessage::ClientHello), Ok(()));
    let misplaced = Err(ExtensionError::Misplaced(alpn));
    assert_eq!(block.check_request(ExtensionMessage::CertificateRequest), misplaced);
    let place = ExtensionMessage::EncryptedExtensions;
    assert_eq!(block.check_response(place, &[alpn, unknown]), Ok(()));
    assert_eq!(block.check_response(place, &[alpn]), Err(ExtensionError::Unsolicited(unknown)));
    assert_eq!(block.check_response(place, &[unknown]), Err(ExtensionError::Unsolicited(alpn)));
    assert_eq!(
        block.check_response(ExtensionMessage::ServerHello, &[alpn, unknown]),
        misplaced,
        "even if it was offered"
    );
    assert_eq!(Extensions::EMPTY.check_response(place, &[]), Ok(()));
    assert_eq!((block.last(), Extensions::EMPTY.last()), (Some(alpn), None));
}
