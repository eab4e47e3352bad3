//! A path that carries little at a time: a flight of many small datagrams is long on its way, and ACKs say what of it is
//! lost (RFC 9147, 7).

use terse_testkit::datagrams::{Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_tls::{Datagrams, Error, ProtocolVersion};

use super::modes::{SIZES, mutual};
use super::outcome::SEED;

fn pair() -> DatagramPair {
    let settings = Datagrams::default().max_datagram(SIZES[0]);
    mutual("rsa2048x3").over(ProtocolVersion::TLS_1_3, settings).datagram_pair(SEED)
}

/// Datagrams leave one after the other.
#[derive(Default)]
struct Narrow {
    /// When all have left, of each direction.
    free: [u64; 2],
    /// How many there were.
    many: [usize; 2],
}

/// How long each takes, in milliseconds.
const EACH: u64 = 20;

impl Narrow {
    /// `is_lost` is asked with the number of the datagram in its direction, from 0.
    fn carry(&mut self, datagram: &Datagram, is_lost: impl FnOnce(Side, usize) -> bool) -> Fate {
        let direction = datagram.from as usize;
        self.free[direction] = self.free[direction].max(datagram.sent) + EACH;
        let number = self.many[direction];
        self.many[direction] += 1;
        if is_lost(datagram.from, number) {
            return Vec::new();
        }
        datagram.arrives_after(self.free[direction] - datagram.sent)
    }
}

/// Each flight is longer on its way than a quarter of the timer, and nearly as long as the timer. What is lost goes out
/// again, and nothing else, although ACKs come in several datagrams and while most of the flight has not arrived.
#[test]
fn only_what_is_lost_is_sent_again() {
    for lost in [&[8][..], &[8, 9, 10], &[7, 16, 25], &[6, 11, 16, 21, 26]] {
        for side in Side::BOTH {
            let (mut pair, mut path) = (pair(), Narrow::default());
            pair.run(|datagram| path.carry(datagram, |from, number| from == side && lost.contains(&number))).unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected());
            let again = Side::BOTH.map(|side| pair.side(side).0.summary().retransmissions);
            // What was lost may need a datagram more: numbers have become longer.
            let expected = lost.len() as u32..=lost.len() as u32 + 1;
            assert!(expected.contains(&again[side as usize]), "{side:?}: {lost:?}, {again:?}");
            assert_eq!(again[side.other() as usize], 0, "{side:?}: {lost:?}");
        }
    }
}

/// RFC 9147, 7.2: an answer acknowledges the whole flight, so a ClientHello that is being answered is not sent again.
#[test]
fn what_is_being_answered_is_not_sent_again() {
    let (mut pair, mut path) = (pair(), Narrow::default());
    let error = pair.run(|datagram| path.carry(datagram, |from, number| from == Side::Server && number > 9));
    assert_eq!(error.unwrap_err().error, Error::TimedOut);
    assert_eq!(pair.failure(Side::Client), Some(&Error::TimedOut));
    assert_eq!(pair.client.summary().retransmissions, 0);
    assert!(pair.server.summary().retransmissions > 0);
}
