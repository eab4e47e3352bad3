use super::not_reported;

#[test]
fn a_form_whose_pledge_could_not_report_has_a_line() {
    assert_eq!(not_reported(core::iter::empty()), "");
    let line = "\nDTLS 1.2: the pledge has its LDevID, and could not report it to its registrar.\n";
    assert_eq!(not_reported(["DTLS 1.2"].into_iter()), line);
}
