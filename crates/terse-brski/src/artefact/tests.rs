use super::Format;
use crate::http::{Acceptance, Posted, VOUCHER_CMS_JSON, VOUCHER_COSE, VOUCHER_COSE_CBOR};

#[test]
fn each_media_type_is_of_one_form() {
    for (name, format) in [
        (VOUCHER_CMS_JSON, Some(Format::CmsJson)),
        (VOUCHER_COSE, Some(Format::CoseCbor)),
        (" Application/Voucher+COSE; charset=utf-8", Some(Format::CoseCbor)),
        (VOUCHER_COSE_CBOR, Some(Format::CoseCbor)),
        ("application/voucher-jws+json", None),
        ("application/cbor", None),
        ("", None),
    ] {
        assert_eq!(Format::of_media_type(Some(name)), format, "{name}");
    }
    assert_eq!(Format::of_media_type(None), None);
}

#[test]
fn the_answer_has_the_name_of_the_request_or_another_that_is_accepted() {
    use Acceptance::{Accepted, NotAcceptable, NotUnderstood};
    for (content_type, accept, expected) in [
        (VOUCHER_CMS_JSON, None, (Accepted, VOUCHER_CMS_JSON)),
        (VOUCHER_COSE, None, (Accepted, VOUCHER_COSE)),
        (VOUCHER_COSE_CBOR, None, (Accepted, VOUCHER_COSE_CBOR)),
        (VOUCHER_COSE_CBOR, Some("*/*"), (Accepted, VOUCHER_COSE_CBOR)),
        (VOUCHER_COSE_CBOR, Some(VOUCHER_COSE), (Accepted, VOUCHER_COSE)),
        (VOUCHER_COSE, Some(VOUCHER_COSE_CBOR), (Accepted, VOUCHER_COSE_CBOR)),
        (VOUCHER_COSE, Some("application/voucher+cose;q=0, */*"), (Accepted, VOUCHER_COSE_CBOR)),
        (VOUCHER_COSE, Some(VOUCHER_CMS_JSON), (NotAcceptable, VOUCHER_COSE)),
        (VOUCHER_CMS_JSON, Some(VOUCHER_COSE), (NotAcceptable, VOUCHER_CMS_JSON)),
        (VOUCHER_COSE, Some("*/*;q=0"), (NotAcceptable, VOUCHER_COSE)),
        (VOUCHER_COSE, Some("text/html"), (NotUnderstood, VOUCHER_COSE)),
    ] {
        let posted = Posted { content_type: Some(content_type), accept, body: b"" };
        let format = Format::of_media_type(posted.content_type).unwrap();
        assert_eq!(format.acceptance(&posted), expected, "{content_type} {accept:?}");
    }
}

#[test]
fn an_artefact_tells_its_form() {
    assert_eq!(Format::of_artefact(b"\xd2\x84"), Format::CoseCbor);
    assert_eq!(Format::of_artefact(b"\x30\x82"), Format::CmsJson);
    assert_eq!(Format::of_artefact(b""), Format::CmsJson);
}
