use std::format;
use std::string::ToString as _;
use std::vec;

use proptest::prelude::*;

use super::field::{Field, VOUCHER, VOUCHER_REQUEST};
use super::*;

fn time(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds))
}

fn in_container(container: &str, fields: &str) -> String {
    format!(r#"{{"{container}":{{{fields}}}}}"#)
}

fn voucher(fields: &str) -> Result<Voucher, Malformed> {
    Voucher::from_json(in_container(VOUCHER, fields).as_bytes())
}

fn request(fields: &str) -> Result<VoucherRequest, Malformed> {
    VoucherRequest::from_json(in_container(VOUCHER_REQUEST, fields).as_bytes())
}

/// A value that each field can have.
const fn value_of(field: Field) -> &'static str {
    match field {
        Field::CreatedOn => r#""2016-10-07T19:31:42Z""#,
        Field::ExpiresOn => r#""2016-10-21T19:31:42Z""#,
        Field::LastRenewalDate => r#""2017-10-07T19:31:42Z""#,
        Field::Assertion => r#""logged""#,
        Field::SerialNumber => r#""JADA123456789""#,
        Field::Nonce => r#""62a2e7693d82fcda2624de58fb6722e5""#,
        Field::DomainCertRevocationChecks => "false",
        Field::PinnedDomainPubkSha256 | Field::ProximityRegistrarPubkSha256 => {
            r#""AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=""#
        }
        _ => r#""Zm9vYmFy""#,
    }
}

/// Every field, with its value.
fn all_fields() -> String {
    let fields: Vec<_> = Field::ALL.iter().map(|field| format!(r#""{}":{}"#, field.name(), value_of(*field))).collect();
    fields.join(",")
}

/// RFC 8366, 5.2, but for the values that stand for base64.
#[test]
fn the_examples_of_rfc_8366() {
    let ephemeral = voucher(
        r#""created-on": "2016-10-07T19:31:42Z", "assertion": "logged", "serial-number": "JADA123456789",
           "idevid-issuer": "Zm9v", "pinned-domain-cert": "YmFy", "nonce": "base64encodedvalue==""#,
    );
    assert_eq!(
        ephemeral.unwrap(),
        Voucher {
            created_on: Some(time(1_475_868_702)),
            idevid_issuer: Some(b"foo".as_slice().into()),
            pins: vec![Pin::Certificate(b"bar".to_vec().into())],
            nonce: Some(Nonce::new(b"base64encodedvalue==").unwrap()),
            ..Voucher::new("JADA123456789".into(), Assertion::Logged)
        }
    );
    let lasting = voucher(
        r#""created-on": "2016-10-07T19:31:42Z", "expires-on": "2016-10-21T19:31:42Z", "assertion": "verified",
           "serial-number": "JADA123456789", "idevid-issuer": "Zm9v", "pinned-domain-cert": "YmFy",
           "domain-cert-revocation-checks": "true", "last-renewal-date": "2017-10-07T19:31:42Z""#,
    );
    assert_eq!(
        lasting.unwrap(),
        Voucher {
            created_on: Some(time(1_475_868_702)),
            expires_on: Some(time(1_477_078_302)),
            idevid_issuer: Some(b"foo".as_slice().into()),
            pins: vec![Pin::Certificate(b"bar".to_vec().into())],
            domain_cert_revocation_checks: Some(true),
            last_renewal_date: Some(time(1_507_404_702)),
            ..Voucher::new("JADA123456789".into(), Assertion::Verified)
        }
    );
}

/// RFC 8995, figures 6 to 8, but for the values that stand for base64.
#[test]
fn the_examples_of_rfc_8995() {
    let nonce = Nonce::new(b"62a2e7693d82fcda2624de58fb6722e5").unwrap();
    let of_pledge = request(
        r#""assertion": "proximity", "nonce": "62a2e7693d82fcda2624de58fb6722e5", "serial-number" : "JADA123456789",
           "created-on": "2017-01-01T00:00:00.000Z", "proximity-registrar-cert": "YmFy""#,
    );
    assert_eq!(
        of_pledge.unwrap(),
        VoucherRequest {
            created_on: Some(time(1_483_228_800)),
            assertion: Some(Assertion::Proximity),
            nonce: Some(nonce.clone()),
            proximity_registrar: vec![Pin::Certificate(b"bar".to_vec().into())],
            ..VoucherRequest::new("JADA123456789".into())
        }
    );
    let of_registrar = request(
        r#""assertion" : "proximity", "nonce": "62a2e7693d82fcda2624de58fb6722e5", "created-on": "2017-01-01T00:00:02.000Z",
           "idevid-issuer": "Zm9v", "serial-number": "JADA123456789", "prior-signed-voucher-request": "YmFy""#,
    );
    assert_eq!(
        of_registrar.unwrap(),
        VoucherRequest {
            created_on: Some(time(1_483_228_802)),
            assertion: Some(Assertion::Proximity),
            idevid_issuer: Some(b"foo".as_slice().into()),
            nonce: Some(nonce),
            prior_signed_voucher_request: Some(b"bar".as_slice().into()),
            ..VoucherRequest::new("JADA123456789".into())
        }
    );
    let offline = request(
        r#""created-on": "2017-01-01T00:00:02.000Z", "idevid-issuer": "Zm9v", "serial-number": "JADA123456789""#,
    );
    assert_eq!(
        offline.unwrap(),
        VoucherRequest {
            created_on: Some(time(1_483_228_802)),
            idevid_issuer: Some(b"foo".as_slice().into()),
            ..VoucherRequest::new("JADA123456789".into())
        }
    );
}

#[test]
fn json_has_no_white_space() {
    let voucher = Voucher {
        created_on: Some(time(1_475_868_702)),
        expires_on: Some(time(1_477_078_302)),
        idevid_issuer: Some(b"foo".as_slice().into()),
        pins: vec![Pin::PublicKey(b"foobar".as_slice().into()), Pin::Certificate(b"bar".to_vec().into())],
        domain_cert_revocation_checks: Some(false),
        nonce: Some(Nonce::new(b"a\"b").unwrap()),
        last_renewal_date: Some(time(1_507_404_702)),
        ..Voucher::new("a\\b".into(), Assertion::AgentProximity)
    };
    let expected = in_container(
        VOUCHER,
        concat!(
            r#""created-on":"2016-10-07T19:31:42Z","expires-on":"2016-10-21T19:31:42Z","assertion":"agent-proximity","#,
            r#""serial-number":"a\\b","idevid-issuer":"Zm9v","pinned-domain-cert":"YmFy","pinned-domain-pubk":"Zm9vYmFy","#,
            r#""domain-cert-revocation-checks":false,"nonce":"a\"b","last-renewal-date":"2017-10-07T19:31:42Z""#,
        ),
    );
    assert_eq!(core::str::from_utf8(&voucher.to_json()).unwrap(), expected);
}

#[test]
fn pins_that_are_the_same_are_equal() {
    let (key, certificate) = (r#""pinned-domain-pubk":"Zm9v""#, r#""pinned-domain-cert":"YmFy""#);
    let of =
        |pins: [&str; 2]| voucher(&format!(r#"{},"assertion":"logged","serial-number":"1""#, pins.join(","))).unwrap();
    assert_eq!(of([key, certificate]), of([certificate, key]));
    let read = of([key, certificate]);
    assert_eq!(read.pins, [Pin::Certificate(b"bar".to_vec().into()), Pin::PublicKey(b"foo".as_slice().into())]);
    assert_eq!(Voucher::from_json(&read.to_json()), Ok(read));
}

#[test]
fn every_field_twice_is_refused() {
    for field in Field::ALL {
        let name = field.name();
        // The first letter of a name may be written as its number.
        let escaped = format!("\\u{:04x}{}", name.as_bytes()[0], &name[1..]);
        for again in [name, &escaped] {
            let fields = format!(r#"{},"{again}":{}"#, all_fields(), value_of(field));
            assert_eq!(voucher(&fields), Err(Malformed::Duplicate(name)));
            assert_eq!(request(&fields), Err(Malformed::Duplicate(name)));
        }
    }
    assert!(voucher(&all_fields()).is_ok());
    assert!(request(&all_fields()).is_ok());
}

#[test]
fn there_is_one_container() {
    let fields = all_fields();
    for (first, second) in
        [(VOUCHER, VOUCHER), (VOUCHER_REQUEST, VOUCHER), (VOUCHER, VOUCHER_REQUEST), (VOUCHER_REQUEST, VOUCHER_REQUEST)]
    {
        let json = format!(r#"{{"{first}":{{{fields}}},"{second}":{{{fields}}}}}"#);
        assert_eq!(Voucher::from_json(json.as_bytes()), Err(Malformed::Duplicate("voucher")));
        assert_eq!(VoucherRequest::from_json(json.as_bytes()), Err(Malformed::Duplicate("voucher")));
    }
    // A request is no voucher, whoever signed it.
    assert_eq!(
        Voucher::from_json(in_container(VOUCHER_REQUEST, &fields).as_bytes()),
        Err(Malformed::Missing("ietf-voucher:voucher"))
    );
    assert_eq!(
        VoucherRequest::from_json(in_container(VOUCHER, &fields).as_bytes()),
        Err(Malformed::Missing("ietf-voucher-request:voucher"))
    );
    for other in ["voucher", "ietf-voucher:Voucher", "vch:voucher"] {
        let json = in_container(other, &fields);
        assert_eq!(Voucher::from_json(json.as_bytes()), Err(Malformed::Missing("ietf-voucher:voucher")));
    }
}

#[test]
fn names_of_fields_have_no_module() {
    let fields = r#""ietf-voucher:assertion":"logged","assertion":"verified","serial-number":"1""#;
    assert_eq!(voucher(fields), Ok(Voucher::new("1".into(), Assertion::Verified)));
}

#[test]
fn unknown_fields_are_ignored() {
    let nested = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let json = format!(
        r#"{{"x":1.5e300,"{VOUCHER}":{{"est-domain":"a","est-domain":{{"b":[null,true]}},"serial-number":"1","n":{nested},"assertion":"logged"}},"y":{{}}}}"#
    );
    assert_eq!(Voucher::from_json(json.as_bytes()), Ok(Voucher::new("1".into(), Assertion::Logged)));
}

/// RFC 8995, 3.4: "any occurrence MUST be ignored".
#[test]
fn what_is_not_valid_in_a_request_is_ignored() {
    let expected = VoucherRequest::new("1".into());
    for name in
        ["pinned-domain-cert", "pinned-domain-pubk", "expires-on", "last-renewal-date", "domain-cert-revocation-checks"]
    {
        for value in [r#""Zm9v""#, "null", "7", "[{}]", r#""?""#] {
            assert_eq!(request(&format!(r#""{name}":{value},"serial-number":"1""#)), Ok(expected.clone()), "{name}");
        }
    }
    let fields =
        r#""proximity-registrar-cert":1,"prior-signed-voucher-request":2,"serial-number":"1","assertion":"logged""#;
    assert_eq!(voucher(fields), Ok(Voucher::new("1".into(), Assertion::Logged)));
}

#[test]
fn what_is_due_is_missing() {
    assert_eq!(voucher(r#""assertion":"logged""#), Err(Malformed::Missing("serial-number")));
    assert_eq!(voucher(r#""serial-number":"1""#), Err(Malformed::Missing("assertion")));
    assert_eq!(request(r#""assertion":"logged""#), Err(Malformed::Missing("serial-number")));
    assert_eq!(Voucher::from_json(b"{}"), Err(Malformed::Missing("ietf-voucher:voucher")));
}

#[test]
fn values_of_another_type_are_refused() {
    for field in Field::ALL {
        for value in ["null", "1", "-1", "1.5", "[]", "{}", r#"["logged"]"#, r#""""#, "true"] {
            let fields = format!(r#""{}":{value}"#, field.name());
            let refused = Malformed::Invalid(field.name());
            let is_boolean = field == Field::DomainCertRevocationChecks && value == "true";
            match field {
                Field::PriorSignedVoucherRequest
                | Field::ProximityRegistrarCert
                | Field::ProximityRegistrarPubk
                | Field::ProximityRegistrarPubkSha256 => assert_eq!(request(&fields), Err(refused), "{fields}"),
                _ if is_boolean => assert_eq!(voucher(&fields), Err(Malformed::Missing("assertion"))),
                _ => assert_eq!(voucher(&fields), Err(refused), "{fields}"),
            }
        }
    }
}

#[test]
fn values_that_a_field_cannot_have_are_refused() {
    for (field, value, error) in [
        ("assertion", "Logged", Malformed::Invalid("assertion")),
        ("assertion", "2", Malformed::Invalid("assertion")),
        ("created-on", "yesterday", Malformed::Invalid("created-on")),
        ("expires-on", "2016-10-07", Malformed::Invalid("expires-on")),
        ("idevid-issuer", "Zg", Malformed::Base64("idevid-issuer")),
        ("pinned-domain-cert", "_-__", Malformed::Base64("pinned-domain-cert")),
        ("pinned-domain-pubk-sha256", "Zm9v", Malformed::Invalid("pinned-domain-pubk-sha256")),
        ("domain-cert-revocation-checks", "TRUE", Malformed::Invalid("domain-cert-revocation-checks")),
        ("nonce", &"n".repeat(65), Malformed::Invalid("nonce")),
    ] {
        assert_eq!(voucher(&format!(r#""{field}":"{value}""#)), Err(error));
    }
    assert!(voucher(&format!(r#""serial-number":"1","assertion":"logged","nonce":"{}""#, "n".repeat(64))).is_ok());
}

#[test]
fn base64_may_be_in_lines() {
    let read = voucher(r#""serial-number":"1","assertion":"logged","pinned-domain-cert":"Zm9v\nYm\/y\n""#);
    let certificate = base64::decode("Zm9vYm/y", "certificate").unwrap();
    assert_eq!(read.unwrap().pins, [Pin::Certificate(certificate.into())]);
}

#[test]
fn what_is_not_json_is_refused() {
    for json in [
        "",
        "null",
        "[]",
        "\"ietf-voucher:voucher\"",
        "{",
        r#"{"ietf-voucher:voucher":{}"#,
        r#"{"ietf-voucher:voucher":[]}"#,
        r#"{"ietf-voucher:voucher":null}"#,
        r#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"1"}}x"#,
        r#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"1"}}{}"#,
        r#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"1",}}"#,
        r#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":"\ud800"}}"#,
        r#"{"ietf-voucher:voucher":{"assertion":"logged","serial-number":'1'}}"#,
        "\u{feff}{}",
    ] {
        assert_eq!(Voucher::from_json(json.as_bytes()), Err(Malformed::Json), "{json}");
    }
    let latin1 =
        in_container(VOUCHER, r#""assertion":"logged","serial-number":"?""#).replace('?', "\u{1}").into_bytes();
    assert_eq!(Voucher::from_json(&latin1), Err(Malformed::Json));
    let latin1: Vec<_> = latin1.into_iter().map(|byte| if byte == 1 { 0xe4 } else { byte }).collect();
    assert_eq!(Voucher::from_json(&latin1), Err(Malformed::Json));
}

#[test]
fn json_is_bounded() {
    let json = in_container(VOUCHER, r#""assertion":"logged","serial-number":"1""#);
    let padded = |len: usize| format!("{json}{}", " ".repeat(len - json.len()));
    assert!(Voucher::from_json(padded(MAX_LEN).as_bytes()).is_ok());
    assert_eq!(Voucher::from_json(padded(MAX_LEN + 1).as_bytes()), Err(Malformed::TooLong(MAX_LEN)));
    assert_eq!(VoucherRequest::from_json(padded(MAX_LEN + 1).as_bytes()), Err(Malformed::TooLong(MAX_LEN)));
}

/// A truncated voucher is none, and what `serde_json` says has no part in it.
#[test]
fn json_that_ends_early_is_refused() {
    for (json, read) in [
        (
            in_container(VOUCHER, &all_fields()),
            (|json| Voucher::from_json(json).err()) as fn(&[u8]) -> Option<Malformed>,
        ),
        (in_container(VOUCHER_REQUEST, &all_fields()), |json| VoucherRequest::from_json(json).err()),
    ] {
        for len in 0..json.len() {
            assert_eq!(read(&json.as_bytes()[..len]), Some(Malformed::Json), "{len}");
        }
    }
}

#[test]
fn a_nonce_is_opaque() {
    for bytes in [&b""[..], &[b'n'; 65]] {
        assert_eq!(Nonce::new(bytes), Err(Malformed::Invalid("nonce")));
    }
    assert_eq!(Nonce::of_random(&[0xfb; 16]).as_bytes(), b"+/v7+/v7+/v7+/v7+/v7+w==");
    assert_eq!(Nonce::of_random(&[1; 40]), Nonce::of_random(&[1; 32]));
    assert_eq!(Nonce::of_random_bytes(&[0xfb; 16]).as_bytes(), [0xfb; 16]);
    assert_eq!(Nonce::of_random_bytes(&[1; 40]).as_bytes(), [1; 32]);
    let of_bytes = VoucherRequest { nonce: Some(Nonce::new(&[0xff; 8]).unwrap()), ..VoucherRequest::new("1".into()) };
    let read = VoucherRequest::from_json(&of_bytes.to_json()).unwrap();
    assert_eq!(read.nonce.unwrap().as_bytes(), b"//////////8=");
}

#[test]
fn assertions_have_names_and_values() {
    for assertion in Assertion::ALL {
        assert_eq!(Assertion::of_name(assertion.name()), Some(assertion));
        assert_eq!(Assertion::of_value(assertion.value().into()), Some(assertion));
    }
    assert_eq!(Assertion::of_name("Verified"), None);
    assert_eq!(Assertion::of_value(4), None);
}

#[test]
fn errors_say_what_is_wrong() {
    let error = voucher(&format!("{},\"nonce\":\"1\"", all_fields())).unwrap_err();
    assert_eq!(error.to_string(), "it has nonce twice");
}

fn bytes(len: core::ops::Range<usize>) -> impl Strategy<Value = Box<[u8]>> {
    prop::collection::vec(any::<u8>(), len).prop_map(Into::into)
}

fn a_time() -> impl Strategy<Value = UnixTime> {
    (0_u64..253_402_300_800).prop_map(time)
}

fn a_nonce() -> impl Strategy<Value = Nonce> {
    "\\PC{1,16}".prop_map(|text| Nonce::new(text.as_bytes()).unwrap())
}

/// Pins, one of a kind at most, in the order in which they are written.
fn pins() -> impl Strategy<Value = Vec<Pin>> {
    (prop::option::of(bytes(1..600)), prop::option::of(bytes(1..200)), any::<Option<[u8; 32]>>()).prop_map(
        |(certificate, key, hash)| {
            let certificate = certificate.map(|certificate| Pin::Certificate(certificate.into_vec().into()));
            certificate.into_iter().chain(key.map(Pin::PublicKey)).chain(hash.map(Pin::PublicKeySha256)).collect()
        },
    )
}

prop_compose! {
    pub(super) fn a_voucher()(
        dates in prop::array::uniform3(prop::option::of(a_time())),
        assertion in prop::sample::select(Assertion::ALL.as_slice()),
        serial_number in "\\PC{1,40}",
        idevid_issuer in prop::option::of(bytes(1..40)),
        pins in pins(),
        domain_cert_revocation_checks in any::<Option<bool>>(),
        nonce in prop::option::of(a_nonce()),
    ) -> Voucher {
        let [created_on, expires_on, last_renewal_date] = dates;
        Voucher {
            created_on, expires_on, last_renewal_date, idevid_issuer, pins, domain_cert_revocation_checks, nonce,
            ..Voucher::new(serial_number, assertion)
        }
    }
}

prop_compose! {
    pub(super) fn a_request()(
        created_on in prop::option::of(a_time()),
        assertion in prop::option::of(prop::sample::select(Assertion::ALL.as_slice())),
        serial_number in "\\PC{1,40}",
        idevid_issuer in prop::option::of(bytes(1..40)),
        nonce in prop::option::of(a_nonce()),
        prior_signed_voucher_request in prop::option::of(bytes(1..2000)),
        proximity_registrar in pins(),
    ) -> VoucherRequest {
        VoucherRequest {
            created_on, assertion, idevid_issuer, nonce, prior_signed_voucher_request, proximity_registrar,
            ..VoucherRequest::new(serial_number)
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(voucher in a_voucher(), request in a_request()) {
        prop_assert_eq!(Voucher::from_json(&voucher.to_json()), Ok(voucher));
        prop_assert_eq!(VoucherRequest::from_json(&request.to_json()), Ok(request));
    }

    /// A changed byte is an error, or something that is again written and read.
    #[test]
    fn changed_json_is_no_panic(request in a_request(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
        let mut json = request.to_json();
        for (place, byte) in changes {
            let place = place.index(json.len());
            json[place] = byte;
        }
        if let Ok(read) = VoucherRequest::from_json(&json) {
            prop_assert_eq!(VoucherRequest::from_json(&read.to_json()), Ok(read));
        }
        let _ = Voucher::from_json(&json);
    }

    #[test]
    fn no_input_is_a_panic(json in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (Voucher::from_json(&json), VoucherRequest::from_json(&json));
    }
}
