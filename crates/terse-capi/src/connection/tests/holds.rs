//! The ticket that a running connection holds, in a store that has room for one server.

use super::*;

#[test]
fn a_held_ticket_is_offered_once_also_if_its_server_was_forgotten() {
    let pki = Pki::new();
    let mut store = Store::default();
    for callbacks in [None, Some(callbacks(&mut store, 0))] {
        let broker = broker(&pki, TERSE_USE_CACHE);
        let device = device_for(1, &pki, callbacks.as_ref(), TERSE_USE_CACHE);
        let begin = |port| Pair::at_port(port, &device, &broker);
        let connected = |port| {
            let pair = begin(port);
            assert_eq!(pair.run(), [TERSE_OK; 2]);
            let mode = pair.summary(0).mode;
            (pair, mode)
        };
        assert_eq!(connect(&device, &broker).mode, TerseMode::Full);
        let first = begin(8883); // holds the ticket of before
        assert_eq!(connected(8884).1, TerseMode::Full, "the memory now has this server alone");
        let (second, mode) = connected(8883);
        assert_eq!(mode, TerseMode::Full, "the first holds the ticket");
        drop(first);
        let (third, mode) = connected(8883);
        assert_eq!(mode, TerseMode::Full, "the second holds its own ticket");
        drop((second, third));
        assert_eq!(connected(8883).1, TerseMode::Compact);
    }
}
