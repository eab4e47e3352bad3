//! What BiTHaC measured, for comparison: section V-A, with figures 4 and 5. RSA-2048 chains of three on both sides,
//! mutual authentication, one message each way, close; all layers up to Ethernet; wolfSSL, in containers.
//!
//! The text gives shares, and one difference in bytes; absolute values follow from these where they do:
//! `BiTHaC = 452 B / 16.58 %`, `full = BiTHaC / (1 - 54.89 %)`.

use super::setting::{Mode, Version};

/// A value of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperValue {
    /// How much less than a full handshake, in percent: the least and the most, over the MTUs for which it is given.
    pub saved: (f64, f64),
    /// Bytes on all layers, where they can be derived.
    pub bytes: Option<f64>,
    /// The place in the paper.
    pub source: &'static str,
}

/// The chains of the paper's measurements, as [`super::Parties`]' makers name them.
pub const CERTIFICATES: &str = "rsa2048x3";

/// The MTUs of figure 4, in bytes of the IP packet.
pub const MTUS: [usize; 3] = [1500, 576, 127];

/// Figure 5: BiTHaC in TLS 1.3, MTU 1500: resumption needs 452 B less, which are 16.58 %.
const BITHAC_13: f64 = 452.0 / 0.1658;

/// Figure 5: BiTHaC is 54.89 % less than this.
const FULL_13: f64 = BITHAC_13 / (1.0 - 0.5489);

/// What the paper says of `mode` in `version` at `mtu`, if it says anything.
pub fn value(version: Version, mode: Mode, mtu: usize) -> Option<PaperValue> {
    let known = |saved, bytes, source| Some(PaperValue { saved, bytes, source });
    match (version, mode, mtu) {
        (Version::Tls12, Mode::Rfc7924, _) if MTUS.contains(&mtu) => {
            known((27.58, 31.67), None, "figure 4: 27.58 to 31.67 %, depending on the MTU")
        }
        (Version::Tls12, Mode::Bithac, _) if MTUS.contains(&mtu) => {
            known((38.86, 43.25), None, "figure 4: 38.86 to 43.25 %, depending on the MTU")
        }
        (Version::Tls12, Mode::Resumed, _) if MTUS.contains(&mtu) => known((0.0, 80.0), None, "figure 4: up to 80 %"),
        (Version::Tls13, Mode::Full, 1500) => known((0.0, 0.0), Some(FULL_13), "figure 5, from 54.89 %"),
        (Version::Tls13, Mode::Bithac, 1500) => known((54.89, 54.89), Some(BITHAC_13), "figure 5: 54.89 %"),
        (Version::Tls13, Mode::Resumed, 1500) => {
            let saved = 100.0 * (1.0 - (BITHAC_13 - 452.0) / FULL_13);
            known((saved, saved), Some(BITHAC_13 - 452.0), "figure 5: 452 B less than BiTHaC")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper: "more than 3.3 kB (54.89 %)" saved.
    #[test]
    fn what_is_derived_agrees_with_what_is_said() {
        assert!((3_300.0..3_400.0).contains(&(FULL_13 - BITHAC_13)), "{FULL_13} {BITHAC_13}");
        let resumed = value(Version::Tls13, Mode::Resumed, 1500).and_then(|value| value.bytes);
        assert!(resumed.is_some_and(|bytes| (1.0 - bytes / BITHAC_13 - 0.1658).abs() < 1e-6));
    }
}
