use std::string::{String, ToString as _};
use std::vec;
use std::vec::Vec;

use pki_types::UnixTime;
use proptest::prelude::*;
use terse_testkit::vectors;

use super::*;
use crate::Malformed;
use crate::cbor::Writer;
use crate::voucher::tests::{a_request, a_voucher};
use crate::voucher::{Assertion, MAX_LEN, Nonce, Pin, Voucher, VoucherRequest};

const KINDS: [Kind; 2] = [Kind::Voucher, Kind::VoucherRequest];

/// How a key says which field it is.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Delta,
    Absolute,
    Name,
}

const NAMINGS: [Naming; 3] = [Naming::Delta, Naming::Absolute, Naming::Name];

fn encode(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::with_capacity(0);
    write(&mut writer);
    writer.into_vec()
}

fn key(kind: Kind, field: Field, naming: Naming) -> Vec<u8> {
    let delta = kind.delta(field).unwrap();
    encode(|writer| match naming {
        Naming::Delta => writer.integer(delta),
        Naming::Absolute => {
            writer.tag(47);
            writer.integer(kind.sid() + delta);
        }
        Naming::Name => writer.text(field.name()),
    })
}

/// A value that each field can have.
fn value(field: Field) -> Vec<u8> {
    encode(|writer| match field {
        Field::CreatedOn | Field::ExpiresOn | Field::LastRenewalDate => writer.text("2016-10-07T19:31:42Z"),
        Field::Assertion => writer.integer(1_u8),
        Field::SerialNumber => writer.text("JADA123456789"),
        Field::DomainCertRevocationChecks => writer.boolean(false),
        Field::PinnedDomainPubkSha256 | Field::ProximityRegistrarPubkSha256 => writer.bytes(&[7; 32]),
        _ => writer.bytes(b"foobar"),
    })
}

fn in_container(kind: Kind, entries: &[Vec<u8>]) -> Vec<u8> {
    encode(|writer| {
        writer.map(1);
        writer.integer(kind.sid());
        writer.map(entries.len());
        entries.iter().for_each(|entry| writer.encoded(entry));
    })
}

fn entry(kind: Kind, field: Field, naming: Naming) -> Vec<u8> {
    [key(kind, field, naming), value(field)].concat()
}

/// The fields of a kind, in the order of their SIDs.
fn fields(kind: Kind) -> Vec<Field> {
    let mut fields: Vec<_> = Field::ALL.into_iter().filter(|field| kind.delta(*field).is_some()).collect();
    fields.sort_by_key(|field| kind.delta(*field));
    fields
}

/// Every field of a kind.
fn all_fields(kind: Kind, naming: Naming) -> Vec<Vec<u8>> {
    fields(kind).into_iter().map(|field| entry(kind, field, naming)).collect()
}

fn read(kind: Kind, cbor: &[u8]) -> Result<(), Malformed> {
    match kind {
        Kind::Voucher => Voucher::from_cbor(cbor).map(|_| ()),
        Kind::VoucherRequest => VoucherRequest::from_cbor(cbor).map(|_| ()),
    }
}

/// draft-ietf-anima-constrained-voucher-31, "Example Voucher Artifacts", but for the certificates.
#[test]
fn a_voucher_has_the_sids_of_the_draft() {
    let mut voucher = Voucher::new("JADA123456789".into(), Assertion::Proximity);
    voucher.created_on = crate::date::parse("2022-12-05T19:19:23Z");
    voucher.domain_cert_revocation_checks = Some(false);
    voucher.nonce = Some(Nonce::new(&[0x83, 0x1d, 0x51, 0x98, 0xa6, 0xca, 0x2c, 0x7f]).unwrap());
    voucher.pins = vec![Pin::Certificate(vec![0x30, 0x82].into())];
    let expected = b"\xa1\x19\x09\x93\xa6\x01\x02\x02\x742022-12-05T19:19:23Z\x03\xf4\
        \x07\x48\x83\x1d\x51\x98\xa6\xca\x2c\x7f\x08\x42\x30\x82\x0b\x6dJADA123456789";
    assert_eq!(voucher.to_cbor(), expected);
    assert_eq!(Voucher::from_cbor(expected), Ok(voucher));
}

/// The same, "Example Registrar Voucher Request (RVR) Artifact": all keys are names.
#[test]
fn names_are_read_as_sids_are() {
    let request = encode(|writer| {
        writer.map(1);
        writer.text("ietf-voucher-request:voucher");
        writer.map(6);
        writer.text("assertion");
        writer.integer(2_u8);
        writer.text("created-on");
        writer.text("2022-12-05T19:19:19.536Z");
        writer.text("nonce");
        writer.bytes(&[0x83, 0x1d, 0x51, 0x98, 0xa6, 0xca, 0x2c, 0x7f]);
        writer.text("idevid-issuer");
        writer.bytes(&[0x04, 0x18]);
        writer.text("serial-number");
        writer.text("JADA123456789");
        writer.text("prior-signed-voucher-request");
        writer.bytes(&[0xa1, 0x19]);
    });
    let request = VoucherRequest::from_cbor(&request).unwrap();
    assert_eq!(request.assertion, Some(Assertion::Proximity));
    assert_eq!(request.created_on, crate::date::parse("2022-12-05T19:19:19Z"));
    assert_eq!(request.nonce.as_ref().unwrap().as_bytes(), [0x83, 0x1d, 0x51, 0x98, 0xa6, 0xca, 0x2c, 0x7f]);
    assert_eq!(request.idevid_issuer.as_deref(), Some(&[0x04, 0x18][..]));
    assert_eq!(request.prior_signed_voucher_request.as_deref(), Some(&[0xa1, 0x19][..]));
    for kind in KINDS {
        for naming in NAMINGS {
            assert_eq!(read(kind, &in_container(kind, &all_fields(kind, naming))), Ok(()), "{naming:?}");
        }
    }
    let of = |naming| Voucher::from_cbor(&in_container(Kind::Voucher, &all_fields(Kind::Voucher, naming))).unwrap();
    assert_eq!(of(Naming::Delta), of(Naming::Name));
    assert_eq!(of(Naming::Delta), of(Naming::Absolute));
    assert_eq!(of(Naming::Delta).to_cbor(), in_container(Kind::Voucher, &all_fields(Kind::Voucher, Naming::Delta)));
}

#[test]
fn every_field_twice_is_refused_however_it_is_named() {
    for kind in KINDS {
        for field in fields(kind) {
            for (first, second) in NAMINGS.into_iter().flat_map(|first| NAMINGS.map(|second| (first, second))) {
                let twice = [entry(kind, field, first), entry(kind, field, second)];
                let refused = Err(Malformed::Duplicate(field.name()));
                assert_eq!(read(kind, &in_container(kind, &twice)), refused, "{first:?}, {second:?}");
            }
        }
    }
    // Also what is ignored in this kind, and what only a name has in it.
    let request = Field::PriorSignedVoucherRequest;
    let name = entry(Kind::VoucherRequest, request, Naming::Name);
    let refused = read(Kind::Voucher, &in_container(Kind::Voucher, &[name.clone(), name]));
    assert_eq!(refused, Err(Malformed::Duplicate(request.name())));
}

#[test]
fn there_is_one_container() {
    let entries = all_fields(Kind::Voucher, Naming::Delta);
    let fields = &in_container(Kind::Voucher, &entries)[4..];
    let keys = |kind: Kind| {
        let sid = kind.sid();
        let absolute = encode(|writer| {
            writer.tag(47);
            writer.integer(sid);
        });
        [encode(|writer| writer.integer(sid)), absolute, encode(|writer| writer.text(kind.container()))]
    };
    for key in keys(Kind::Voucher) {
        assert!(Voucher::from_cbor(&[&[0xa1], &key[..], fields].concat()).is_ok());
        for other in keys(Kind::Voucher).into_iter().chain(keys(Kind::VoucherRequest)) {
            let both = [&[0xa2], &key[..], fields, &other, fields].concat();
            assert_eq!(Voucher::from_cbor(&both), Err(Malformed::Duplicate("voucher")));
            assert_eq!(VoucherRequest::from_cbor(&both), Err(Malformed::Duplicate("voucher")));
        }
    }
    // A request is no voucher, whoever signed it.
    let request = in_container(Kind::VoucherRequest, &all_fields(Kind::VoucherRequest, Naming::Delta));
    assert_eq!(Voucher::from_cbor(&request), Err(Malformed::Missing("ietf-voucher:voucher")));
    let voucher = in_container(Kind::Voucher, &entries);
    assert_eq!(VoucherRequest::from_cbor(&voucher), Err(Malformed::Missing("ietf-voucher-request:voucher")));
    assert_eq!(Voucher::from_cbor(&[0xa0]), Err(Malformed::Missing("ietf-voucher:voucher")));
}

#[test]
fn unknown_fields_are_ignored() {
    let unknown = [
        &b"\x0c\x63url"[..],                                 // additional-configuration-url
        b"\x18\x64\x80",                                     // a difference that nobody has
        b"\x38\x64\xf6",                                     // one below the container
        b"\xd8\x2f\x1b\x00\x00\x00\x47\x35\x8d\xd0\xfe\xa0", // a SID of another module
        b"\xd8\x2f\x19\x09\xc6\x81\xa1\x00\xf9\x00\x00",     // the assertion of a request
        b"\x6fexample:keyword\xfb\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x6fexample:keyword\x9f\xff",    // twice
        b"\x76ietf-voucher:assertion\x00", // RFC 9254, 3.3: the simple name, and no other
    ];
    let mut entries: Vec<Vec<u8>> = unknown.iter().map(|entry| entry.to_vec()).collect();
    entries.push(entry(Kind::Voucher, Field::Assertion, Naming::Delta));
    entries.push(entry(Kind::Voucher, Field::SerialNumber, Naming::Delta));
    let read = Voucher::from_cbor(&in_container(Kind::Voucher, &entries));
    assert_eq!(read, Ok(Voucher::new("JADA123456789".into(), Assertion::Logged)));
}

/// RFC 8995, 3.4: "any occurrence MUST be ignored".
#[test]
fn what_is_not_valid_in_a_request_is_ignored() {
    let kind = Kind::VoucherRequest;
    for field in fields(kind).into_iter().filter(|field| !kind.has(*field)) {
        for value in [&b"\xf6"[..], b"\x07", b"\x81\xa0", b"\x60"] {
            let ignored = [&key(kind, field, Naming::Delta)[..], value].concat();
            let cbor = in_container(kind, &[ignored, entry(kind, Field::SerialNumber, Naming::Delta)]);
            assert_eq!(VoucherRequest::from_cbor(&cbor), Ok(VoucherRequest::new("JADA123456789".into())));
        }
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let values = [
        &b"\xf6"[..],
        b"\x04",
        b"\x20",
        b"\x80",
        b"\xa0",
        b"\x60",
        b"\x40",
        b"\x66foobar",
        b"\x46foobar",
        b"\xf5",
        b"\xfb\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\xc1\x00",
    ];
    for kind in KINDS {
        for field in fields(kind).into_iter().filter(|field| kind.has(*field)) {
            let fits = |value: &[u8]| match field {
                Field::SerialNumber => value == b"\x66foobar",
                Field::DomainCertRevocationChecks => value == b"\xf5",
                Field::PinnedDomainPubkSha256 | Field::ProximityRegistrarPubkSha256 => false,
                Field::Assertion | Field::CreatedOn | Field::ExpiresOn | Field::LastRenewalDate => false,
                _ => value == b"\x46foobar",
            };
            for value in values.into_iter().filter(|value| !fits(value)) {
                let cbor = in_container(kind, &[[&key(kind, field, Naming::Delta)[..], value].concat()]);
                assert_eq!(read(kind, &cbor), Err(Malformed::Invalid(field.name())), "{value:x?}");
            }
        }
    }
}

#[test]
fn keys_of_another_type_are_refused() {
    for key in [&b"\x40"[..], b"\x80", b"\xf6", b"\xc1\x01", b"\xd8\x2f\x20", b"\xd8\x2f\x61a", b"\xd8\x30\x19\x09\x94"]
    {
        let inner = in_container(Kind::Voucher, &[[key, &[0]].concat()]);
        assert_eq!(Voucher::from_cbor(&inner), Err(Malformed::Cbor), "{key:x?}");
        assert_eq!(Voucher::from_cbor(&[&[0xa1], key, &[0xa0]].concat()), Err(Malformed::Cbor), "{key:x?}");
    }
}

/// RFC 9254, 3: "the indefinite length encoding [...] SHALL be supported".
#[test]
fn lengths_may_be_indefinite() {
    let cbor = b"\xbf\x19\x09\x93\xbf\x01\x01\x07\x5f\x42ab\x46cdefgh\xff\x0b\x7f\x61A\x61B\xff\x7f\x69serial\
        -nu\x63mbe\x61x\xff\x9f\xff\xff\xff";
    let mut expected = Voucher::new("AB".into(), Assertion::Logged);
    expected.nonce = Some(Nonce::new(b"abcdefgh").unwrap());
    assert_eq!(Voucher::from_cbor(cbor), Ok(expected));
    for len in 0..cbor.len() {
        assert_eq!(Voucher::from_cbor(&cbor[..len]), Err(Malformed::Cbor), "{len}");
    }
}

#[test]
fn cbor_ends_where_it_should_and_is_bounded() {
    for kind in KINDS {
        let cbor = in_container(kind, &all_fields(kind, Naming::Absolute));
        for len in 0..cbor.len() {
            assert_eq!(read(kind, &cbor[..len]), Err(Malformed::Cbor), "{len}");
        }
        assert_eq!(read(kind, &[&cbor[..], &[0]].concat()), Err(Malformed::Cbor));
        assert_eq!(read(kind, &[0; MAX_LEN + 1]), Err(Malformed::TooLong(MAX_LEN)));
    }
    let padded = |len: usize| {
        let padding = encode(|writer| {
            writer.integer(99_u8);
            writer.bytes(&vec![0; len]);
        });
        in_container(Kind::VoucherRequest, &[padding, entry(Kind::VoucherRequest, Field::SerialNumber, Naming::Delta)])
    };
    let overhead = padded(300).len() - 300;
    assert_eq!(read(Kind::VoucherRequest, &padded(MAX_LEN - overhead)), Ok(()));
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(Malformed::Cbor.to_string(), "it is no CBOR of the form that is due");
    let cbor = in_container(Kind::Voucher, &[entry(Kind::Voucher, Field::Assertion, Naming::Delta)]);
    assert_eq!(Voucher::from_cbor(&cbor), Err(Malformed::Missing("serial-number")));
    let cbor = in_container(Kind::Voucher, &[entry(Kind::Voucher, Field::SerialNumber, Naming::Delta)]);
    assert_eq!(Voucher::from_cbor(&cbor), Err(Malformed::Missing("assertion")));
}

/// The bytes of a payload are those of its first byte string that begins with the key of a container.
#[test]
fn the_payloads_of_the_draft_are_written_as_they_are() {
    for (name, container) in [("pvr", 2501_u16), ("voucher", 2451)] {
        let Some(cose) = vectors::hex(&std::format!("brski/cbrski/{name}.hex")) else { return };
        let head = [&[0xa1, 0x19][..], &container.to_be_bytes()].concat();
        let start = cose.windows(4).position(|window| window == head).unwrap();
        let payload = &cose[start..cose.len() - 66];
        let again = match container {
            2501 => VoucherRequest::from_cbor(payload).unwrap().to_cbor(),
            _ => {
                let voucher = Voucher::from_cbor(payload).unwrap();
                assert!(voucher.created_on.is_some());
                voucher.to_cbor()
            }
        };
        if name == "pvr" {
            assert_eq!(again, payload);
        } else {
            // Its date has a fraction of a second, and so is long enough for a longer head.
            assert_eq!(again.len() + ".708".len() + 1, payload.len());
        }
    }
}

fn a_raw_nonce() -> impl Strategy<Value = Option<Nonce>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 1..64).prop_map(|bytes| Nonce::new(&bytes).unwrap()))
}

proptest! {
    #[test]
    fn what_is_written_is_read(voucher in a_voucher(), request in a_request(), nonce in a_raw_nonce()) {
        let voucher = Voucher { nonce: nonce.clone(), ..voucher };
        let request = VoucherRequest { nonce, ..request };
        for cbor in [voucher.to_cbor(), request.to_cbor()] {
            prop_assert_eq!(cbor.len(), cbor.capacity());
        }
        prop_assert_eq!(Voucher::from_cbor(&voucher.to_cbor()), Ok(voucher));
        prop_assert_eq!(VoucherRequest::from_cbor(&request.to_cbor()), Ok(request));
    }

    /// A changed byte is an error, or something that is again written and read.
    #[test]
    fn changed_cbor_is_no_panic(request in a_request(), changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
        let mut cbor = request.to_cbor();
        for (place, byte) in changes {
            let place = place.index(cbor.len());
            cbor[place] = byte;
        }
        if let Ok(read) = VoucherRequest::from_cbor(&cbor) {
            prop_assert_eq!(VoucherRequest::from_cbor(&read.to_cbor()), Ok(read));
        }
        let _ = Voucher::from_cbor(&cbor);
    }

    #[test]
    fn no_input_is_a_panic(cbor in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (Voucher::from_cbor(&cbor), VoucherRequest::from_cbor(&cbor));
        let in_container = [&[0xa1, 0x19, 0x09, 0x93], &cbor[..]].concat();
        let _ = Voucher::from_cbor(&in_container);
    }
}

/// A time outside of what text can say is not what a voucher has.
#[test]
fn dates_are_text() {
    let mut voucher = Voucher::new(String::from("1"), Assertion::Verified);
    voucher.expires_on = Some(UnixTime::since_unix_epoch(core::time::Duration::from_secs(1_670_926_532)));
    let cbor = voucher.to_cbor();
    assert!(cbor.windows(21).any(|window| window == b"\x742022-12-13T10:15:32Z"));
}
