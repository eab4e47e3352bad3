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

fn template(attributes: &[&str], manufacturers: &[&str]) -> Result<SubjectTemplate, String> {
    let attributes: Vec<_> = attributes.iter().map(|attribute| (*attribute).to_owned()).collect();
    SubjectTemplate::new(&attributes, manufacturers)
}

#[test]
fn by_default_a_subject_has_the_manufacturer_and_the_serial_number() {
    let template = template(&DEFAULT_SUBJECT, &["maker", "other"]).unwrap();
    let subject = |serial_number, manufacturer| template.of_device(serial_number, manufacturer).unwrap().to_string();
    assert_eq!(subject("WI-3005", "maker"), "O=maker, SERIALNUMBER=WI-3005");
    assert_eq!(subject("WI-3005", "other"), "O=other, SERIALNUMBER=WI-3005");
}

#[test]
fn a_serial_number_stays_in_its_attribute() {
    let template = template(&["CN=device {serial}", "O={manufacturer}"], &["maker"]).unwrap();
    for serial_number in ["1, CN=plant-admin", "1+CN=plant-admin", "{manufacturer}", "{serial}"] {
        let subject = template.of_device(serial_number, "maker").unwrap();
        let expected = Subject::common_name(&format!("device {serial_number}")).unwrap();
        assert_eq!(subject, expected.with(NameAttribute::Organization, "maker").unwrap());
    }
    for serial_number in ["1\u{202e}", "1\n", " ", &"1".repeat(65)] {
        assert!(template.of_device(serial_number, "maker").is_none(), "{serial_number:?}");
    }
}

#[test]
fn a_template_of_which_two_devices_could_have_one_subject_is_refused() {
    let two = ["maker", "other"];
    let refused = |attributes: &[&str], manufacturers: &[&str]| template(attributes, manufacturers).unwrap_err();
    assert!(refused(&["CN=device"], &["maker"]).contains("put {serial} into it"));
    assert!(refused(&[], &["maker"]).contains("put {serial} into it"));
    assert!(refused(&["CN={serial}"], &two).contains("put {manufacturer} into it"));
    assert!(template(&["CN={serial}"], &["maker"]).is_ok());
    assert!(refused(&["CN={manufacturer}{serial}"], &two).contains("give each its own"));
    assert!(refused(&["X={serial}"], &["maker"]).contains("cannot stand in a subject"));
    assert!(refused(&["CN"], &["maker"]).contains("cannot stand in a subject"));
    assert!(refused(&DEFAULT_SUBJECT, &[&"m".repeat(65)]).contains("shorten the name"));
}

#[test]
fn the_attributes_survive_their_encoding() {
    let attributes = attributes(None, &["wi-3005.plant.example".to_owned()]).unwrap();
    assert_eq!(attributes.extensions.len(), 1);
    assert_eq!(CsrAttributes::from_der(&attributes.to_der()).unwrap(), attributes);
    assert!(self::attributes(None, &[]).unwrap().extensions.is_empty());
    let subject = Subject::common_name("WI-3005").unwrap();
    let attributes = self::attributes(Some(&subject), &[]).unwrap();
    let asked = CsrAttributes::from_der(&attributes.to_der()).unwrap();
    assert_eq!(asked.subject_for(Subject::empty().der()).unwrap(), subject.der());
}

#[test]
fn hexadecimal_digits_are_read_in_pairs() {
    assert_eq!(from_hex("0a:FF"), Some(vec![10, 255]));
    for wrong in ["", "0", "0g", "abc"] {
        assert_eq!(from_hex(wrong), None, "{wrong}");
    }
}
