//! Tests of the messages and extensions of TLS 1.2.

use alloc::vec;

use super::*;

codec_test!(hello_request: HelloRequest, Just(()), |_unit| HelloRequest);
codec_test!(server_hello_done: ServerHelloDone, Just(()), |_unit| ServerHelloDone);
codec_test!(
    certificate: Certificate12<'_>,
    vec(bytes(1..300), 0..4),
    |chain; items = chain.iter().map(|certificate| Asn1Cert(certificate)).collect();|
    Certificate12(List::Items(&items))
);
codec_test!(asn1_cert: Asn1Cert<'_>, bytes(1..600), |certificate| Asn1Cert(certificate));
codec_test!(raw_public_key: RawPublicKey12<'_>, bytes(0..600), |key| RawPublicKey12(key));
codec_test!(cached_message: CachedMessage12<'_>, bytes(1..256), |hash_value| CachedMessage12(hash_value));
codec_test!(
    certificate_request: CertificateRequest12<'_>,
    (
        vec(any::<u8>().prop_map(ClientCertificateType), 1..4),
        vec(any::<u16>().prop_map(SignatureScheme), 1..10),
        vec(bytes(1..60), 0..4),
    ),
    |model; items = model.2.iter().map(|name| DistinguishedName(name)).collect();|
    CertificateRequest12 {
        certificate_types: List::Items(&model.0),
        signature_algorithms: SignatureAlgorithms(List::Items(&model.1)),
        certificate_authorities: List::Items(&items),
    }
);

fn params((group, public): &(u16, Vec<u8>)) -> EcdheParams<'_> {
    EcdheParams { group: NamedGroup(*group), public }
}

codec_test!(ecdhe_params: EcdheParams<'_>, (any::<u16>(), bytes(1..256)), |model| params(model));
codec_test!(
    server_key_exchange_ecdhe: ServerKeyExchangeEcdhe<'_>,
    ((any::<u16>(), bytes(1..100)), any::<u16>(), bytes(0..300)),
    |model| ServerKeyExchangeEcdhe {
        params: params(&model.0),
        algorithm: SignatureScheme(model.1),
        signature: &model.2,
    }
);
codec_test!(server_key_exchange_psk: ServerKeyExchangePsk<'_>, bytes(0..300), |hint| ServerKeyExchangePsk { hint });
codec_test!(
    server_key_exchange_ecdhe_psk: ServerKeyExchangeEcdhePsk<'_>,
    (bytes(0..300), (any::<u16>(), bytes(1..100))),
    |model| ServerKeyExchangeEcdhePsk { hint: &model.0, params: params(&model.1) }
);
codec_test!(
    client_key_exchange_ecdhe: ClientKeyExchangeEcdhe<'_>,
    bytes(1..256),
    |public| ClientKeyExchangeEcdhe { public }
);
codec_test!(
    client_key_exchange_psk: ClientKeyExchangePsk<'_>,
    bytes(0..300),
    |identity| ClientKeyExchangePsk { identity }
);
codec_test!(
    client_key_exchange_ecdhe_psk: ClientKeyExchangeEcdhePsk<'_>,
    (bytes(0..300), bytes(1..100)),
    |model| ClientKeyExchangeEcdhePsk { identity: &model.0, public: &model.1 }
);
codec_test!(
    new_session_ticket: NewSessionTicket12<'_>,
    (any::<u32>(), bytes(0..300)),
    |model| NewSessionTicket12 { lifetime_hint: model.0, ticket: &model.1 }
);

codec_test!(extended_master_secret: ExtendedMasterSecret, Just(()), |_unit| ExtendedMasterSecret);
codec_test!(renegotiation_info: RenegotiationInfo<'_>, bytes(0..256), |verify_data| RenegotiationInfo(verify_data));
codec_test!(ec_point_formats: EcPointFormats<'_>, Just(()), |_unit| EcPointFormats::uncompressed());

#[test]
fn lengths_outside_their_range_are_decode_errors() {
    use InvalidMessage::{IllegalLength, TrailingData, Truncated};
    assert_eq!(error::<Certificate12<'_>>(&[0, 0, 3, 0, 0, 0]), IllegalLength);
    assert_eq!(error::<Certificate12<'_>>(&[0, 0, 5, 0, 0, 1, 7, 0]), Truncated);
    assert_eq!(error::<Certificate12<'_>>(&[0, 0, 0, 0, 0, 0]), TrailingData);
    assert_eq!(error::<CachedMessage12<'_>>(&[0]), IllegalLength);
    assert_eq!(error::<CertificateRequest12<'_>>(&[0, 0, 2, 4, 3, 0, 0]), IllegalLength);
    assert_eq!(error::<CertificateRequest12<'_>>(&[1, 64, 0, 0, 0, 0]), IllegalLength);
    assert_eq!(error::<CertificateRequest12<'_>>(&[1, 64, 0, 3, 4, 3, 4, 0, 0]), Truncated);
    assert_eq!(error::<CertificateRequest12<'_>>(&[1, 64, 0, 2, 4, 3, 0, 2, 0, 0]), IllegalLength);
    assert_eq!(error::<EcdheParams<'_>>(&[3, 0, 29, 0]), IllegalLength);
    assert_eq!(error::<ClientKeyExchangeEcdhe<'_>>(&[0]), IllegalLength, "only fixed ECDH leaves it out");
    assert_eq!(error::<ClientKeyExchangeEcdhePsk<'_>>(&[0, 0, 0]), IllegalLength);
    assert_eq!(error::<EcPointFormats<'_>>(&[0]), IllegalLength);
}

#[test]
fn what_may_be_empty_is() {
    assert_eq!(Certificate12::parse_all(&[0; 3]), Ok(Certificate12(List::Items(&[]))));
    assert_eq!(RawPublicKey12::parse_all(&[0; 3]), Ok(RawPublicKey12(&[])));
    assert_eq!(RenegotiationInfo(&[]).to_vec().unwrap(), [0]);
    assert_eq!(ExtendedMasterSecret.to_vec().unwrap(), []);
    let request = CertificateRequest12::parse_all(&[1, 64, 0, 2, 4, 3, 0, 0]).unwrap();
    assert!(request.certificate_authorities.is_empty());
}

#[test]
fn what_a_length_field_cannot_say_is_not_encoded() {
    let long = vec![7; 0x1_0000];
    assert_eq!(CachedMessage12(&long[..256]).to_vec(), Err(EncodeError));
    assert_eq!(EcdheParams { group: NamedGroup::X25519, public: &long[..256] }.to_vec(), Err(EncodeError));
    assert_eq!(ServerKeyExchangePsk { hint: &long }.to_vec(), Err(EncodeError));
    assert_eq!(ClientKeyExchangePsk { identity: &long }.to_vec(), Err(EncodeError));
    assert_eq!(NewSessionTicket12 { lifetime_hint: 0, ticket: &long }.to_vec(), Err(EncodeError));
}

/// RFC 8422, 5.4: explicit curves are deprecated.
#[test]
fn a_curve_is_named() {
    assert!(EcdheParams::parse_all(&[3, 0, 29, 1, 7]).is_ok());
    for curve_type in (0..=255).filter(|curve_type| *curve_type != 3) {
        assert_eq!(error::<EcdheParams<'_>>(&[curve_type, 0, 29, 1, 7]), InvalidMessage::IllegalValue);
    }
}

/// RFC 8422, 5.1.2
#[test]
fn points_are_uncompressed() {
    let mut builder = ExtensionsBuilder::default();
    builder.push(&EcPointFormats::uncompressed()).unwrap();
    assert_eq!(builder.extensions().as_bytes(), [0, 0x0b, 0, 2, 1, 0]);
    assert!(EcPointFormats::parse_all(&[3, 2, 1, 0]).is_ok(), "others may stand beside it");
    assert_eq!(error::<EcPointFormats<'_>>(&[2, 2, 1]), InvalidMessage::IllegalValue);
}
