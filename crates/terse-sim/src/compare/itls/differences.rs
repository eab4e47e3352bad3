//! What differs from the paper, and why: a sentence for each difference.

use super::point::Figure;

/// A part of the paper's evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tables I and II.
    Tables,
    /// A figure.
    Figure(Figure),
}

/// A difference from the paper.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The parts that it is about.
    pub parts: &'static [Part],
    /// A sentence that says what differs, and why.
    pub text: &'static str,
}

/// All differences, in the order of the paper's tables and figures.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        parts: &[Part::Tables],
        text: "Certificates: the paper's sizes are taken as those of PEM files, because each of the four is one that a PEM \
               file can have, and only so do the tables add up with chains of two; each side sends a chain of two certificates whose \
               PEM files have exactly 1,322 (RSA-2048), 1,667 (RSA-3072), 814 and 839 bytes (ECC at 112 and 128 bit).",
    },
    Difference {
        parts: &[Part::Tables],
        text: "rsa: the paper exchanges keys by DHE, for which this engine has no groups; P-256 stands for it, whose two key \
               shares are 382 bytes shorter than those over 2,048 bits, and 638 bytes shorter than those over 3,072 bits.",
    },
    Difference {
        parts: &[Part::Tables],
        text: "ecc at 112 bit: the paper has keys on a curve over 224 bits, which this engine does not have; keys on P-256 \
               stand for them, in certificates of the paper's size.",
    },
    Difference {
        parts: &[Part::Tables],
        text: "rsa and ecc: 83 to 126 bytes of the paper's totals are then left over, in messages whose sizes it does not give; \
               a hello has one suite, one group and only the signature schemes that the certificates need here.",
    },
    Difference {
        parts: &[Part::Tables],
        text: "psk: the paper's bytes have no room for a key exchange, so that its handshakes cannot be forward secret; this \
               engine always adds one, whose two extensions take 82 bytes with X25519.",
    },
    Difference {
        parts: &[Part::Tables],
        text: "identity: the paper's symmetric pairing needs points of some hundred bytes, which grow with the strength; a \
               point has 32 bytes on ristretto255 and 48 on BLS12-381, of one strength for both tables.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Ideal)],
        text: "Computing: both sides take the times of the device that is named, with AWS-LC, curve25519-dalek and blst; the \
               paper has wolfSSL and the pairing library PBC on an Intel i5-6300HQ, with which certificates cost more than \
               pairings, and here pairings cost more than certificates.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Ideal), Part::Figure(Figure::Delay)],
        text: "rsa, ecc: a chain has a root that is not sent, so that each side verifies two certificates; the paper does not \
               say what its programs verify.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Delay), Part::Figure(Figure::Loss), Part::Figure(Figure::Rate)],
        text: "identity, compact: both sides have met before, as two programs that connect 500 times have; at first contact \
               identity takes 64 bytes more, and compact is then ecc.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Delay), Part::Figure(Figure::Loss), Part::Figure(Figure::Rate)],
        text: "Network: it is simulated, with a TCP like Linux's but for CUBIC and RACK, and delay, loss and rate hold each \
               way; the paper has netem between two virtual machines with Linux 4.10, and does not say which ways it set.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Delay)],
        text: "rsa and ecc at MTU 127: a handshake takes 5 and 3 round trips of 512 ms at the server, and in the paper 6 and 4; \
               a flight leaves in full segments here, and the paper does not say how wolfSSL's was cut.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Delay)],
        text: "rsa and ecc at MTU 1500: the paper's handshakes take 111 and 86 ms longer than the round trip of 512 ms, and the \
               paper does not say for what; here computing takes less than 2 ms of a handshake.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Loss)],
        text: "Means under heavy loss rest on the few handshakes that wait for a timer which doubles again and again, so that \
               two seeds differ by as much as the standard error says; so does the paper's mean of 500, in which psk at MTU 127 \
               takes longer than iTLS, with fewer bytes.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Rate)],
        text: "rsa: with DHE the paper sends more, but all 6,767 bytes of table II take 846 ms at 64 kbit/s, and its text has \
               1,236 ms; how its rate was limited is not said.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Rate)],
        text: "identity: a handshake has 330 or 362 bytes, and in the paper 924 or 1,176, so that it takes about as long as psk here.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Exchanges)],
        text: "identity-0rtt: its early data is forward secret under a ticket of the connection before, as in the paper; that \
               of identity-bls12381-0rtt is sent under the two identities alone, as at first contact, and is not.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Exchanges)],
        text: "resumed-0rtt: this engine sends early data in resumed sessions and not under pre-shared keys from elsewhere, so \
               that resumption stands for the paper's psk with 0-RTT.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Exchanges)],
        text: "rsa and ecc: an exchange takes 3 round trips at MTU 1500, and 7 and 5 at MTU 127, to 2 with early data, which \
               are ratios of 1.5, 3.5 and 2.5; the paper's ranges go further up, as its handshakes in figure 5 take longer.",
    },
    Difference {
        parts: &[Part::Figure(Figure::Exchanges)],
        text: "identity-bls12381-0rtt: pairings take a few milliseconds, so that its ratios are below the paper's where the \
               delay is as short; the paper's computers took longer for certificates than for pairings.",
    },
];
