//! Messages: what is written is read as the same.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use crate::coap::Code;
use crate::coap::message::{Kind, Message};

proptest! {
    #[test]
    fn messages_are_read_as_they_were_written(
        kind in prop::sample::select(vec![Kind::Confirmable, Kind::NonConfirmable, Kind::Acknowledgement, Kind::Reset]),
        code in 1u8..,
        id: u16,
        token in prop::collection::vec(any::<u8>(), 0..=8),
        options in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..60)), 0..=20),
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut message = Message::new(kind, Code(code), id, &token);
        options.iter().for_each(|(number, value)| message.push(*number, value));
        message.set_payload(&payload);
        let read = Message::parse(&message.encode()).unwrap();
        prop_assert_eq!((read.kind(), read.code(), read.id()), (kind, Code(code), id));
        prop_assert_eq!((read.token(), read.payload()), (&*token, &*payload));
        let mut expected: Vec<_> = options.iter().map(|(number, value)| (*number, &**value)).collect();
        expected.sort_by_key(|(number, _)| *number);
        let got: Vec<_> = read.options().flat_map(|(number, values)| values.map(move |value| (number, value))).collect();
        prop_assert_eq!(got, expected);
    }

    /// Options have one encoding only: what parses is encoded to the same bytes.
    #[test]
    fn what_parses_is_written_as_it_was_read(mut datagram in prop::collection::vec(any::<u8>(), 4..200)) {
        datagram[0] = 0x40 | datagram[0] & 0x33;
        if let Ok(message) = Message::parse(&datagram) {
            prop_assert_eq!(&*message.encode(), &datagram);
        }
    }
}
