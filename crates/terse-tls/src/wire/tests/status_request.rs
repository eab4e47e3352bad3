//! Tests of OCSP stapling.

use super::*;

fn responder_id_list(ids: &[Vec<u8>]) -> Vec<u8> {
    ids.iter().flat_map(|id| [&(id.len() as u16).to_be_bytes()[..], id].concat()).collect()
}

codec_test!(
    status_request: CertificateStatusRequest<'_>,
    (vec(bytes(1..40), 0..4).prop_map(|ids| responder_id_list(&ids)), bytes(0..60)),
    |model| CertificateStatusRequest::Ocsp { responder_id_list: &model.0, request_extensions: &model.1 }
);
codec_test!(certificate_status: CertificateStatus<'_>, bytes(1..600), |response| CertificateStatus(response));
codec_test!(status_requested: StatusRequested, Just(()), |_unit| StatusRequested);

#[test]
fn what_is_asked_for_takes_five_bytes() {
    assert_eq!(CertificateStatusRequest::ANY.to_vec().unwrap(), [1, 0, 0, 0, 0]);
}

#[test]
fn a_request_of_another_type_is_left_alone() {
    let request = [&[2][..], b"whatever"].concat();
    let expected = CertificateStatusRequest::Other(CertificateStatusType(2), b"whatever");
    assert_eq!(CertificateStatusRequest::parse_all(&request), Ok(expected));
    assert_eq!(expected.to_vec().unwrap(), request);
}

#[test]
fn a_response_of_another_type_was_not_asked_for() {
    assert_eq!(error::<CertificateStatus<'_>>(&[2, 0, 0, 1, 0]), InvalidMessage::IllegalValue);
    assert_eq!(error::<CertificateStatus<'_>>(&[1, 0, 0, 0]), InvalidMessage::IllegalLength);
}

#[test]
fn responders_have_names() {
    let nameless = [1, 0, 2, 0, 0, 0, 0];
    assert_eq!(error::<CertificateStatusRequest<'_>>(&nameless), InvalidMessage::IllegalLength);
}
