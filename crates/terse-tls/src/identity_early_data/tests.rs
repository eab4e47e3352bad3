use proptest::prelude::*;

use super::*;
use crate::identity::IdentityAlgorithm;

fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

fn record(expires: u64, address: Option<AddressId>) -> SecretTicketRecord {
    SecretTicketRecord {
        binding: TicketBinding([7; 32]),
        expires,
        client: identity("device:c"),
        public_part: [5; 32].into(),
        secret: Zeroizing::new([9; 32].into()),
        address,
    }
}

#[test]
fn records_of_tickets_survive_their_encoding() {
    for address in [None, Some(AddressId([1, 2, 3, 4]))] {
        let bytes = record(77, address).to_bytes();
        let read = SecretTicketRecord::from_bytes(&bytes).expect("well-formed");
        assert_eq!((*read.to_bytes()).clone(), *bytes);
        assert_eq!((read.expires(), read.address(), &read.secret[..]), (77, address, &[9; 32][..]));
        for len in 0..bytes.len() {
            assert!(SecretTicketRecord::from_bytes(&bytes[..len]).is_err(), "{len}");
        }
        assert!(SecretTicketRecord::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        assert!(!alloc::format!("{read:?}").contains("9, 9"));
    }
}

/// Everything on which a ticket depends makes another binding.
#[test]
fn a_ticket_is_bound_to_its_context() {
    let parameters =
        |epoch| IdentityParameters::new(IdentityAlgorithm::Ristretto255, &[9; 32], epoch, 1).expect("the right length");
    let (seven, eight) = (parameters(7), parameters(8));
    let (a, b) = (identity("dns:a.example"), identity("dns:b.example"));
    let binding = |parameters, server, transport, application_protocol, max_size| {
        let context = TicketContext { parameters, server, transport, application_protocol, max_size };
        TicketBinding::new(crate::test_crypto::SHA256, &context)
    };
    let bindings = [
        binding(&seven, &a, Transport::Stream, None, 1),
        binding(&eight, &a, Transport::Stream, None, 1),
        binding(&seven, &b, Transport::Stream, None, 1),
        binding(&seven, &a, Transport::Datagram, None, 1),
        binding(&seven, &a, Transport::Stream, Some(b"coap"), 1),
        binding(&seven, &a, Transport::Stream, Some(b"mqtt"), 1),
        binding(&seven, &a, Transport::Stream, None, 2),
    ];
    for (nth, binding) in bindings.iter().enumerate() {
        assert!(!bindings[..nth].contains(binding), "{nth}");
    }
}

#[test]
fn a_store_in_memory_is_bounded_and_forgets_what_has_expired() {
    let store = MemorySecretTickets::new(2);
    let id = |byte| SecretTicketId([byte; 16]);
    for byte in 1..4 {
        store.put(id(byte), record(100 + u64::from(byte), None), 0).expect("it is in memory");
    }
    assert_eq!(store.len(), 2);
    assert!(store.find(&id(1)).is_none() && store.find(&id(2)).is_some());
    store.forget_expired(102);
    assert!(store.find(&id(2)).is_none() && store.find(&id(3)).is_some());
    store.put(id(4), record(300, None), 103).expect("it is in memory");
    assert_eq!(store.len(), 1, "a new ticket has the same effect");
    assert!(store.take(&id(4)) && !store.take(&id(4)) && store.is_empty());
}

#[test]
fn a_ticket_is_spent_once_and_at_its_address() {
    let store = MemorySecretTickets::new(2);
    let (id, address, other) = (SecretTicketId([1; 16]), AddressId([1; 4]), AddressId([2; 4]));
    store.put(id, record(100, Some(address)), 0).expect("it is in memory");
    assert!(!store.spend(&id, other));
    assert!(store.spend(&id, address));
    assert!(!store.spend(&id, address));
    assert!(!store.spend(&SecretTicketId([2; 16]), address));
    assert!(store.take(&id), "it is still there for its early data");
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes: Vec<u8>) {
        if let Ok(record) = SecretTicketRecord::from_bytes(&bytes) {
            prop_assert_eq!(&record.to_bytes()[..], &bytes[..]);
        }
    }
}
