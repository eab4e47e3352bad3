use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

#[test]
fn fields_are_taken_one_by_one() {
    let json = r#" {"a": 1, "b": "two", "c": null, "d": [{"a": 2}], "e": "07", "f": true} "#;
    let mut object = Object::parse(json, &[]).unwrap();
    assert_eq!(object.take::<u8>("a"), Ok(Some(1)));
    assert_eq!(object.take::<u8>("a"), Ok(None));
    assert_eq!(object.take::<u8>("b"), Err(Malformed::Invalid("b")));
    assert_eq!(object.take::<u8>("c"), Ok(None));
    assert_eq!(object.take_json("d"), Some(r#"[{"a": 2}]"#));
    assert_eq!(object.take_number("e"), Ok(Some(7)));
    assert_eq!(object.into_names().collect::<Vec<_>>(), ["f"]);
}

#[test]
fn numbers_may_be_in_strings() {
    let number = |json: &str| {
        let json = [r#"{"n":"#, json, "}"].concat();
        Object::parse(&json, &[]).unwrap().take_number("n")
    };
    for json in ["18446744073709551615", r#""18446744073709551615""#] {
        assert_eq!(number(json), Ok(Some(u64::MAX)));
    }
    for json in ["-1", "1.0", "1e3", "true", "[1]", "18446744073709551616", r#""""#, r#""+1""#, r#"" 1""#, r#""0x1""#] {
        assert_eq!(number(json), Err(Malformed::Invalid("n")), "{json}");
    }
    assert_eq!(number("null"), Ok(None));
}

#[test]
fn the_same_name_twice_is_refused_however_it_is_written() {
    for json in [r#"{"a":1,"b":2,"a":1}"#, r#"{"a":1,"\u0061":1}"#] {
        assert_eq!(Object::parse(json, &["b", "a"]).err(), Some(Malformed::Duplicate("a")));
        assert_eq!(Object::parse(json, &["b"]).err(), Some(Malformed::Duplicate("an unknown field")));
    }
    // What is in a value is no name of this object.
    Object::parse(r#"{"a":{"a":1}}"#, &[]).unwrap();
}

#[test]
fn what_is_no_object_is_refused() {
    for json in ["", "1", "[]", "null", r#""a""#, "{", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1,}"#, "{} {}", "{}x", "{a:1}"]
    {
        assert_eq!(Object::parse(json, &[]).err(), Some(Malformed::Json), "{json}");
    }
}

#[test]
fn values_that_nobody_takes_may_be_deep() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let json = [r#"{"deep":"#, &deep, r#","a":1}"#].concat();
    assert_eq!(Object::parse(&json, &[]).unwrap().take("a"), Ok(Some(1)));
    assert_eq!(Object::parse(&json[..200_000], &[]).err(), Some(Malformed::Json));
}

#[test]
fn white_space_goes_but_not_in_strings() {
    let json = "{ \"a b\" :\r\n[ 1,\t\"c \\\" d\\\\\" , \" \" ] }";
    assert_eq!(in_one_line(json), r#"{"a b":[1,"c \" d\\"," "]}"#);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(json in "[{}\\[\\]:,\"\\\\au01 \n-]{0,40}") {
        if let Ok(mut object) = Object::parse(&json, &["a"]) {
            let _ = object.take_number("a");
        }
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&json) {
            let line = in_one_line(&json);
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
        }
    }
}
