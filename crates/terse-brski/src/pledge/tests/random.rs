//! Random sequences of events: whatever comes, there is no panic, and no enrollment without a voucher of the manufacturer.
//! [`World`] checks each command.

use std::vec::Vec;

use proptest::prelude::*;

use super::pki::{self, PKI};
use super::registrar::Registrar;
use super::world::Reply;
use super::*;

/// Does something that a driver, a network or an attacker could do.
fn disturb(world: &mut World, choice: u8, amount: u32) {
    let connection =
        if world.is_connected() && !amount.is_multiple_of(4) { world.connection() } else { ConnectionId(amount % 7) };
    match choice {
        0..=119 => {
            world.step();
        }
        120..=129 => world.now += u64::from(amount % 100_000),
        130..=139 => {
            let proxies: Vec<_> = (0..amount % 20).map(|number| Proxy(number + amount % 5)).collect();
            world.give(Input::Found(&proxies));
        }
        140..=144 => world.give(Input::Gone(Proxy(amount % 5))),
        145..=147 => world.give(Input::LinkChanged),
        148..=170 => {
            // The next response is damaged.
            if let Some(Reply::Response(connection, mut answer)) = world.replies.pop_front() {
                match amount % 7 {
                    0 => answer.status = (amount % 600) as u16,
                    1 => answer.body.truncate(amount as usize % (answer.body.len() + 1)),
                    2 if !answer.body.is_empty() => {
                        let place = amount as usize % answer.body.len();
                        answer.body[place] ^= 1 << (amount % 8);
                    }
                    3 => answer = Answer::wait(if amount.is_multiple_of(2) { "7" } else { "x" }),
                    4 => answer = Answer::redirect(if amount.is_multiple_of(2) { "/x" } else { "https://a.example/x" }),
                    5 => answer.content_type = None,
                    _ => answer.body.resize(amount as usize % 70_000, 0),
                }
                world.reply(Reply::Response(connection, answer));
            }
        }
        171..=190 => {
            world.replies.retain(|reply| !matches!(reply, Reply::Response(..) | Reply::Connected(..)));
            world.reply(Reply::Lost(connection));
        }
        191..=200 => {
            world.give(Input::Connected { connection, presented: Presented::Chain(PKI.other_registrar.chain()) })
        }
        201..=206 => world.give(Input::Connected { connection, presented: Presented::Chain(PKI.registrar.chain()) }),
        207..=215 => {
            world.give(Input::Response { connection, response: Response::new((amount % 600) as u16, b"AAAA") })
        }
        216..=221 => world.give(Input::Signed(SignatureId(amount % 9), Ok(Vec::new()))),
        222..=225 => world.give(Input::Key(Ok(pki::new_key()))),
        226..=228 => world.give(Input::Stored(amount.is_multiple_of(2))),
        229..=235 => world.has_clock = amount.is_multiple_of(2),
        _ => world.give(Input::Timer),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_sequence_of_events_enrolls_without_a_voucher_of_the_manufacturer(
        seed in any::<u64>(),
        choices in proptest::collection::vec((any::<u8>(), any::<u32>()), 0..200),
    ) {
        let registrars = [(Proxy(1), Registrar::attacker()), (Proxy(2), Registrar::stranger())];
        let mut world = World::with(pki::config(), registrars);
        world.rng = SeededRng::new(seed);
        for (choice, amount) in choices {
            disturb(&mut world, choice, amount);
            prop_assert!(world.pledge.phase() < Phase::ReportVoucher);
        }
        let is_imprinted = world.events.iter().any(|(_, event)| matches!(event, Event::Imprinted(_)));
        prop_assert!(!is_imprinted);
    }

    #[test]
    fn a_pledge_enrolls_when_the_disturbances_end(
        seed in any::<u64>(),
        choices in proptest::collection::vec((any::<u8>(), any::<u32>()), 0..100),
    ) {
        let registrars = [(Proxy(1), Registrar::new()), (Proxy(2), Registrar::attacker())];
        let mut world = World::with(pki::config(), registrars);
        world.rng = SeededRng::new(seed);
        for (choice, amount) in choices {
            disturb(&mut world, choice, amount);
        }
        world.has_clock = true;
        // What was swallowed by the disturbances is not waited for: a driver that has lost an answer says so.
        if world.pledge.phase() < Phase::Enrolled && world.pledge.poll_timeout().is_none() {
            for reply in [Reply::Key(Ok(pki::new_key())), Reply::Stored(false)] {
                world.reply(reply);
            }
        }
        // Announcements come again and again. A table that is full of proxies without a registrar has room later.
        for _ in 0..2_000 {
            world.give(Input::Found(&[Proxy(1)]));
            if world.pledge.phase() == Phase::Enrolled || !world.step() {
                break;
            }
        }
        prop_assert_eq!(world.pledge.phase(), Phase::Enrolled);
    }
}
