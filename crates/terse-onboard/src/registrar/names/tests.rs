use super::*;

fn filled(name: &str, serial_number: &str) -> Option<Vec<String>> {
    of_device(&[name.to_owned()], serial_number, "maker")
}

#[test]
fn a_name_is_filled_in() {
    let expected = Some(vec!["wi-3005.maker.plant.example".to_owned()]);
    assert_eq!(filled("{serial}.{manufacturer}.plant.example", "WI-3005"), expected);
    assert_eq!(of_device(&[], "not a name!", "maker"), Some(Vec::new()));
}

#[test]
fn a_serial_number_cannot_leave_its_label() {
    for serial_number in ["", "a.b", "*", "a b", "{manufacturer}", "-", "a.", &"a".repeat(64)] {
        assert_eq!(filled("{serial}.plant.example", serial_number), None, "{serial_number:?}");
    }
}

#[test]
fn the_attributes_survive_their_encoding() {
    let attributes = attributes(&["wi-3005.plant.example".to_owned()]).unwrap();
    assert_eq!(attributes.extensions.len(), 1);
    assert_eq!(CsrAttributes::from_der(&attributes.to_der()).unwrap(), attributes);
    assert!(self::attributes(&[]).unwrap().extensions.is_empty());
}

#[test]
fn hexadecimal_digits_are_read_in_pairs() {
    assert_eq!(from_hex("0a:FF"), Some(vec![10, 255]));
    for wrong in ["", "0", "0g", "abc"] {
        assert_eq!(from_hex(wrong), None, "{wrong}");
    }
}
