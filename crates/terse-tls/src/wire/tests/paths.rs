//! What a connection says about its paths: checks whether they are good.

use super::*;

codec_test!(
    return_routability_check: ReturnRoutabilityCheck,
    (0..3, any::<[u8; 8]>()),
    |model| match model.0 {
        0 => ReturnRoutabilityCheck::PathChallenge(model.1),
        1 => ReturnRoutabilityCheck::PathResponse(model.1),
        _ => ReturnRoutabilityCheck::PathDrop(model.1),
    }
);
codec_test!(rrc: Rrc, Just(()), |_unit| Rrc);

/// RFC 9853, 4
#[test]
fn checks_have_the_form_of_the_rfc() {
    let cookie = [1, 2, 3, 4, 5, 6, 7, 8];
    for (message, msg_type) in [
        (ReturnRoutabilityCheck::PathChallenge(cookie), 0),
        (ReturnRoutabilityCheck::PathResponse(cookie), 1),
        (ReturnRoutabilityCheck::PathDrop(cookie), 2),
    ] {
        let bytes = message.to_vec().unwrap();
        assert_eq!(bytes, [msg_type, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(bytes.len(), ReturnRoutabilityCheck::LEN);
    }
    for msg_type in 3..=255 {
        assert_eq!(error::<ReturnRoutabilityCheck>(&[msg_type, 0, 0, 0, 0, 0, 0, 0, 0]), InvalidMessage::IllegalValue);
    }
}
