use std::path::Path;

use proptest::prelude::*;

use super::*;

const MODULE: &str = "?module-path=/usr/lib/softhsm/libsofthsm2.so";

fn parse(path: &str) -> Result<KeyUri, UriError> {
    KeyUri::parse(&format!("pkcs11:{path}{MODULE}"))
}

fn query(query: &str) -> Result<KeyUri, UriError> {
    KeyUri::parse(&format!("pkcs11:object=a{MODULE}&{query}"))
}

#[test]
fn a_uri_names_a_key_its_module_and_its_pin() {
    let uri = "pkcs11:token=The%20Plant;manufacturer=Snake%20Oil,%20Inc.;model=1.0;serial=DECC0401648;slot-id=327;\
               object=domain&ca;id=%01%ff;type=private?module-path=/usr/lib/a.so&pin-source=file:pin";
    let uri = KeyUri::parse(uri).unwrap();
    let expected = KeyUri {
        token: Some("The Plant".into()),
        manufacturer: Some("Snake Oil, Inc.".into()),
        model: Some("1.0".into()),
        serial: Some("DECC0401648".into()),
        slot_id: Some(327),
        object: Some("domain&ca".into()),
        id: Some(vec![1, 0xff]),
        module_path: "/usr/lib/a.so".into(),
        pin_source: Some("pin".into()),
    };
    assert_eq!(uri, expected);
    let token = r#"token "The Plant", manufacturer "Snake Oil, Inc.", model "1.0", serial "DECC0401648", slot-id 327"#;
    assert_eq!(uri.of_token(), token);
    assert_eq!(uri.of_key(), r#"object "domain&ca", id %01%FF"#);
    assert_eq!(KeyUri::parse("PKCS11:id=%01?module-path=/a.so").unwrap().id, Some(vec![1]));
}

#[test]
fn a_pin_source_is_a_path_or_a_file_uri() {
    for (source, path) in [
        ("pin", "pin"),
        ("/etc/pin", "/etc/pin"),
        ("../a%20pin", "../a pin"),
        ("file:pin", "pin"),
        ("file:///etc/pin", "/etc/pin"),
        ("file:/etc/a%2520pin", "/etc/a pin"),
        ("FILE://localhost/etc/pin", "/etc/pin"),
    ] {
        assert_eq!(query(&format!("pin-source={source}")).unwrap().pin_source.as_deref(), Some(Path::new(path)));
    }
    for source in
        ["", "|/bin/echo", "https://example.org/pin", "pkcs11:object=pin", "file://other/pin", "file:", "a%00"]
    {
        let error = query(&format!("pin-source={source}")).unwrap_err().to_string();
        assert!(error.contains("pin-source"), "{source}: {error}");
    }
}

#[test]
fn no_part_of_a_pin_is_repeated() {
    for wrong in ["pin-value=1234", "pin-value=12&34", "pin-value:1234", "1234", "pin-source=pin&pin-value=1234"] {
        let error = query(wrong).unwrap_err().to_string();
        assert!(!error.contains("34"), "{error}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (path, part) in [
        ("", "object or id"),
        ("token=plant", "object or id"),
        ("object=a;colour=red", "the attribute colour is unknown; remove it"),
        ("object=a;object=a", "object is there twice"),
        ("object=a;;id=%01", "attribute 2 of the path or the query has no name"),
        ("object=a;", "attribute 2 of the path or the query has no name"),
        ("object", "attribute 1 of the path or the query has no name"),
        ("obj ect=a", "attribute 1 of the path or the query has no name"),
        ("object=a b", "the value of object"),
        ("object=a/b", "the value of object"),
        ("object=%4", "the value of object"),
        ("object=%+4", "the value of object"),
        ("object=%ff", "the value of object"),
        ("object=a%0ab", "the value of object"),
        ("object=a#b", "the value of object"),
        ("object=ä", "the value of object"),
        ("id=", "the value of id"),
        ("object=a;token=123456789012345678901234567890123", "token has more than 32 bytes"),
        ("object=a;serial=12345678901234567", "serial has more than 16 bytes"),
        ("object=a;slot-id=-1", "the value of slot-id"),
        ("object=a;slot-id=", "the value of slot-id"),
        ("object=a;slot-id=99999999999999999999", "the value of slot-id"),
        ("object=a;type=cert", "write type=private"),
        ("object=a;slot-description=b", "slot-description is not supported so: use token"),
        ("object=a;library-version=2.1", "library-version is not supported so: module-path"),
    ] {
        let error = parse(path).unwrap_err().to_string();
        assert!(error.contains(part), "{path}: {error}");
    }
    for (uri, part) in [
        ("", "holds no PKCS #11 URI"),
        ("object=a", "holds no PKCS #11 URI"),
        ("pkcs12:object=a", "holds no PKCS #11 URI"),
        ("pkcs11:object=a", "lacks module-path"),
        ("pkcs11:object=a?module-path=a.so", "give an absolute path"),
        ("pkcs11:object=a?module-name=softhsm2", "use module-path"),
        ("pkcs11:object=a?module-path=/a.so&pin-value=1234", "name that by pin-source"),
        ("pkcs11:object=a?module-path=/a.so&colour=red", "the attribute colour is unknown"),
        ("pkcs11:object=a?module-path=/a.so&module-path=/b.so", "module-path is there twice"),
        ("pkcs11:object=a?module-path=/a.so\npkcs11:", "the value of module-path"),
    ] {
        let error = KeyUri::parse(uri).unwrap_err().to_string();
        assert!(error.contains(part), "{uri}: {error}");
        assert!(!error.contains("1234"), "{error}");
    }
    assert_eq!(parse(&"a".repeat(MAX_LEN)), Err(UriError::TooLong));
}

fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02x}")).collect()
}

proptest! {
    #[test]
    fn any_label_and_id_can_be_written(object in "\\PC{0,40}", id in prop::collection::vec(any::<u8>(), 1..40)) {
        let uri = parse(&format!("object={};id={}", encoded(object.as_bytes()), encoded(&id))).unwrap();
        prop_assert_eq!((uri.object, uri.id), (Some(object), Some(id)));
    }

    #[test]
    fn nothing_makes_the_parser_panic(text in ".{0,200}", path in "[a-z=;?&%0-9|/:#-]{0,200}") {
        let _ = KeyUri::parse(&text);
        let _ = KeyUri::parse(&format!("pkcs11:{path}"));
        let _ = query(&format!("pin-source={path}"));
    }
}
