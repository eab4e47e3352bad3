use super::{Acceptance, JSON, VOUCHER_CMS_JSON, acceptance, is, is_named};

#[test]
fn parameters_and_case_of_a_content_type_do_not_count() {
    for value in [VOUCHER_CMS_JSON, "Application/Voucher-CMS+JSON", " application/voucher-cms+json ; charset=utf-8"] {
        assert!(is(Some(value), VOUCHER_CMS_JSON), "{value}");
    }
    for value in ["", "application/voucher-cms", "application/voucher-cms+jsonx", JSON, ";application/voucher-cms+json"]
    {
        assert!(!is(Some(value), VOUCHER_CMS_JSON), "{value}");
    }
    assert!(!is(None, VOUCHER_CMS_JSON));
}

#[test]
fn only_a_type_itself_names_it() {
    let tomorrow = "application/voucher-of-tomorrow";
    for accept in
        [tomorrow, "text/html, APPLICATION/voucher-of-tomorrow ;q=0.5", "*/*, application/voucher-of-tomorrow"]
    {
        assert!(is_named(Some(accept), tomorrow), "{accept}");
        assert!(is_named(Some(accept), "application/voucher-of-tomorrow; version=2"), "{accept}");
    }
    for accept in
        ["*/*", "application/*", "application/voucher-of-tomorrow;q=0", "application/voucher-of-tomorrows", ""]
    {
        assert!(!is_named(Some(accept), tomorrow), "{accept}");
    }
    for wildcard in ["*/*", "application/*"] {
        assert!(!is_named(Some(wildcard), wildcard), "{wildcard}");
    }
    assert!(!is_named(None, tomorrow));
    assert!(!is_named(Some(&"*/*,".repeat(300)), tomorrow));
}

#[test]
fn a_long_accept_is_not_read() {
    let long = "*/*,".repeat(256);
    assert_eq!(acceptance(Some(&long), VOUCHER_CMS_JSON), Acceptance::Accepted);
    assert_eq!(acceptance(Some(&(long + ",")), VOUCHER_CMS_JSON), Acceptance::NotUnderstood);
}

#[test]
fn an_accept_is_read_as_rfc_9110_says() {
    use Acceptance::{Accepted, NotAcceptable, NotUnderstood};
    for (accept, expected) in [
        (None, Accepted),
        (Some(""), Accepted),
        (Some("*/*"), Accepted),
        (Some("application/*"), Accepted),
        (Some("APPLICATION/*;q=0.1"), Accepted),
        (Some(VOUCHER_CMS_JSON), Accepted),
        (Some("application/voucher+cose, application/voucher-cms+json;q=0.5"), Accepted),
        (Some("application/voucher-cms+json;q=0.001"), Accepted),
        (Some("text/plain, */*;q=0.1"), Accepted),
        (Some("application/voucher-cms+json, */*;q=0"), Accepted),
        (Some("application/voucher-cms+json;q=0, */*"), NotAcceptable),
        (Some("application/voucher-cms+json; q=0.000"), NotAcceptable),
        (Some("*/*;q=0"), NotAcceptable),
        (Some("application/voucher+cose"), NotAcceptable),
        (Some("application/voucher-cose+cbor"), NotAcceptable),
        (Some("text/html, application/voucher-jws+json"), NotAcceptable),
        (Some("text/html"), NotUnderstood),
        (Some("text/*"), NotUnderstood),
        (Some("garbage"), NotUnderstood),
        (Some(",,;;=,"), NotUnderstood),
    ] {
        assert_eq!(acceptance(accept, VOUCHER_CMS_JSON), expected, "{accept:?}");
    }
}
