//! Tests of `identity_share` in its four messages.

use super::*;
use crate::identity::Authority;

codec_test!(
    identity_share_client_hello: IdentityShareClientHello<'_>,
    (any::<u8>(), any::<[u8; 8]>(), bytes(2..256), bytes(0..256), prop_oneof![Just(Vec::new()), bytes(1..300)]),
    |model| IdentityShareClientHello {
        algorithm: model.0,
        authority: Authority(model.1),
        identity: &model.2,
        key_exchange: &model.3,
        ticket: &model.4,
    },
    shorter |bytes, len| len == without_ticket(bytes) && len < bytes.len()
);
codec_test!(
    identity_share_server_hello: IdentityShareServerHello<'_>,
    (bytes(0..256), bytes(0..256)),
    |model| IdentityShareServerHello { identity: &model.0, key_exchange: &model.1 }
);
codec_test!(identity_share_hello_retry_request: IdentityShareHelloRetryRequest, Just(()), |_unit| {
    IdentityShareHelloRetryRequest
});

codec_test!(
    identity_share_new_session_ticket: IdentityShareNewSessionTicket<'_>,
    bytes(0..256),
    |model| IdentityShareNewSessionTicket { key_exchange: model }
);

/// How long a share in a ClientHello is without its ticket.
fn without_ticket(bytes: &[u8]) -> usize {
    let identity_len = usize::from(bytes[9]);
    let key_exchange_len = usize::from(bytes[10 + identity_len]);
    11 + identity_len + key_exchange_len
}

/// docs/identity-format.md, 7
#[test]
fn shares_have_the_form_of_the_document() {
    let share = IdentityShareClientHello {
        algorithm: 0x82,
        authority: Authority([1, 2, 3, 4, 5, 6, 7, 8]),
        identity: &[3, 0xee],
        key_exchange: &[9, 9],
        ticket: &[],
    };
    let bytes = [0x82, 1, 2, 3, 4, 5, 6, 7, 8, 2, 3, 0xee, 2, 9, 9];
    assert_eq!(share.to_vec().unwrap(), bytes);
    assert_eq!((share.code(), share.holds_public_part()), (2, true));
    let share = IdentityShareClientHello { algorithm: 0x72, ticket: &[7], ..share };
    assert_eq!(share.to_vec().unwrap()[1..], [&bytes[1..], &[0, 1, 7]].concat());
    assert_eq!((share.code(), share.holds_public_part()), (2, false));
    assert_eq!((share.wants_ticket(), share.first_contact(), share.secret_ticket()), (true, None, None));
    let share = IdentityShareClientHello { ticket: &[1, 2, 3, 4], ..share };
    assert_eq!((share.first_contact(), share.secret_ticket()), (Some(0x0102_0304), None));
    let share = IdentityShareClientHello { algorithm: 0x82, ..share };
    assert_eq!(
        (share.wants_ticket(), share.first_contact(), share.secret_ticket()),
        (false, None, Some(&[1, 2, 3, 4][..]))
    );
    let ticket = IdentityShareNewSessionTicket { key_exchange: &[9, 9] };
    assert_eq!(ticket.to_vec().unwrap(), [2, 9, 9]);
    let answer = IdentityShareServerHello { identity: &[], key_exchange: &[9, 9] };
    assert_eq!(answer.to_vec().unwrap(), [0, 2, 9, 9]);
    assert_eq!(IdentityShareHelloRetryRequest.to_vec().unwrap(), []);
}

#[test]
fn shares_with_other_lengths_are_decode_errors() {
    use InvalidMessage::{IllegalLength, TrailingData, Truncated};
    let with = |rest: &[u8]| [&[1; 9][..], rest].concat();
    assert_eq!(error::<IdentityShareClientHello<'_>>(&with(&[0, 1, 9])), IllegalLength, "no identity");
    assert_eq!(error::<IdentityShareClientHello<'_>>(&with(&[1, 1, 1, 9])), IllegalLength, "a type alone");
    assert_eq!(error::<IdentityShareClientHello<'_>>(&with(&[2, 1, 1, 1, 9, 0, 0])), IllegalLength, "an empty ticket");
    assert_eq!(error::<IdentityShareClientHello<'_>>(&with(&[2, 1, 1, 1, 9, 0])), Truncated);
    assert_eq!(error::<IdentityShareClientHello<'_>>(&with(&[2, 1, 1, 1, 9, 0, 1, 7, 0])), TrailingData);
    assert_eq!(error::<IdentityShareServerHello<'_>>(&[0, 1, 9, 0]), TrailingData);
    assert_eq!(error::<IdentityShareHelloRetryRequest>(&[0]), TrailingData);
    assert_eq!(error::<IdentityShareNewSessionTicket<'_>>(&[1, 9, 0]), TrailingData);
    assert_eq!(error::<IdentityShareNewSessionTicket<'_>>(&[2, 9]), Truncated);
}
