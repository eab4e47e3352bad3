//! Tests of the messages for new paths: return routability checks, and new connection IDs.

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

codec_test!(
    new_connection_id: NewConnectionId<'_>,
    (vec(bytes(0..256), 0..6), any::<bool>()),
    |model; items = model.0.iter().map(|cid| ConnectionId(cid)).collect();|
    NewConnectionId {
        cids: List::Items(&items),
        usage: if model.1 { ConnectionIdUsage::CidImmediate } else { ConnectionIdUsage::CidSpare },
    }
);
codec_test!(
    request_connection_id: RequestConnectionId,
    any::<u8>(),
    |num_cids| RequestConnectionId { num_cids: *num_cids }
);

/// RFC 9147, 9
#[test]
fn new_connection_ids_have_the_form_of_the_rfc() {
    let cids = [ConnectionId(&[1, 2]), ConnectionId(&[]), ConnectionId(&[3, 4])];
    for (usage, byte) in [(ConnectionIdUsage::CidImmediate, 0), (ConnectionIdUsage::CidSpare, 1)] {
        let message = NewConnectionId { cids: List::Items(&cids), usage };
        assert_eq!(message.to_vec().unwrap(), [0, 7, 2, 1, 2, 0, 2, 3, 4, byte]);
        assert_eq!(NewConnectionId { cids: List::Items(&[]), usage }.to_vec().unwrap(), [0, 0, byte]);
    }
    assert_eq!(error::<NewConnectionId<'_>>(&[0, 0, 2]), InvalidMessage::IllegalValue);
    assert_eq!(error::<NewConnectionId<'_>>(&[0, 2, 2, 1, 0]), InvalidMessage::Truncated);
    assert_eq!(RequestConnectionId { num_cids: 7 }.to_vec().unwrap(), [7]);
}

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
