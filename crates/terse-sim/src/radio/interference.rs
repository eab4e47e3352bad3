//! Strength of signals: what share of frames arrives at a strength, alone and beside others that are sent at the same time.
//!
//! Both are the 6TiSCH Simulator's ways (SimEngine/Connectivity.py: `RSSI_PDR_TABLE`, `convert_rssi_to_pdr`,
//! `_compute_pdr_with_interference`). Its table says that it comes from an experiment, the data set "dust" of Berkeley, except for
//! both ends.
//!
//! What must always hold: strengths are rounded to a thousandth of a decibel before they decide anything, so that machines whose
//! logarithms differ in their last bit have the same results.

/// Returns the share of frames that arrive with this strength in dBm: linear between the entries of the table.
pub fn rssi_to_delivery(rssi: f64) -> f64 {
    let above = (rounded(rssi) - f64::from(WEAKEST)) * THOUSAND;
    if above.is_nan() || above < 0.0 {
        return 0.0;
    }
    let (index, thousandths) = ((above.round() as usize) / 1_000, (above.round() as usize) % 1_000);
    match TABLE.get(index..index + 2) {
        Some([low, high]) => low + (high - low) * (thousandths as f64 / THOUSAND),
        _ => 1.0,
    }
}

/// Returns the share of frames that arrive beside others: those of a signal whose strength above the noise is the ratio of the
/// signal to noise and all others together (SINR). All strengths are in dBm.
///
/// It is to be multiplied by the share that arrives without the others. Strengths that a radio measures contain the noise.
pub fn delivery_among(signal: f64, others: &[f64], noise: f64) -> f64 {
    let mut interference = Interference::new(noise);
    others.iter().for_each(|other| interference.add(*other));
    interference.delivery(signal)
}

/// All signals that are sent beside another one, as they are found one after the other.
pub(super) struct Interference {
    /// The power of the noise, and of all signals above it, in milliwatts.
    noise: f64,
    disturbing: f64,
}

impl Interference {
    /// Creates the interference of no signals at all, beside this noise in dBm.
    pub(super) fn new(noise: f64) -> Self {
        Self { noise: milliwatts(noise), disturbing: 0.0 }
    }

    /// Adds a signal of this strength in dBm.
    pub(super) fn add(&mut self, strength: f64) {
        self.disturbing += self.above_noise(strength);
    }

    /// Returns the share of frames that arrive with this strength in dBm, as [`delivery_among`].
    pub(super) fn delivery(&self, signal: f64) -> f64 {
        let ratio = self.above_noise(signal) / (self.disturbing + self.noise);
        if ratio <= 0.0 {
            return 0.0;
        }
        // The same ratio, with the noise alone.
        rssi_to_delivery(10.0 * (ratio * self.noise + self.noise).log10())
    }

    fn above_noise(&self, strength: f64) -> f64 {
        (milliwatts(strength) - self.noise).max(0.0)
    }
}

/// Rounds to a thousandth.
pub(super) fn rounded(decibels: f64) -> f64 {
    (decibels * THOUSAND).round() / THOUSAND
}

fn milliwatts(strength: f64) -> f64 {
    10_f64.powf(strength / 10.0)
}

/// The noise of a receiver in dBm (SimEngine/Mote/radio.py: `noisepower`).
pub(super) const NOISE: f64 = -105.0;

const THOUSAND: f64 = 1_000.0;
/// The strength of the first entry, in dBm. Each further one is 1 dB stronger.
const WEAKEST: i8 = -97;
/// The share of frames that arrive.
const TABLE: [f64; 19] = [
    0.0000, 0.1494, 0.2340, 0.4071, 0.6359, 0.6866, 0.7476, 0.8603, 0.8702, 0.9324, 0.9427, 0.9562, 0.9611, 0.9739,
    0.9745, 0.9844, 0.9854, 0.9903, 1.0000,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_close(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 1e-4
    }

    #[test]
    fn delivery_follows_the_table() {
        for (rssi, expected) in [(-97.0, 0.0), (-96.0, 0.1494), (-93.0, 0.6359), (-80.0, 0.9903), (-79.0, 1.0)] {
            assert!(is_close(rssi_to_delivery(rssi), expected), "{rssi}");
        }
        // Half of them at -93.6 dBm, as the table's comment has it.
        assert!(is_close(rssi_to_delivery(-93.594), 0.5), "{}", rssi_to_delivery(-93.594));
        assert!(is_close(rssi_to_delivery(-95.5), 0.1917));
        assert_eq!([-97.001, -200.0, f64::NEG_INFINITY, f64::NAN].map(rssi_to_delivery), [0.0; 4]);
        assert_eq!([-78.9, 0.0, f64::INFINITY].map(rssi_to_delivery), [1.0; 3]);
        let steps: Vec<f64> = (-9_800..-7_800).map(|rssi| rssi_to_delivery(f64::from(rssi) / 100.0)).collect();
        assert!(steps.is_sorted() && steps.iter().all(|share| (0.0..=1.0).contains(share)));
    }

    #[test]
    fn a_stronger_signal_arrives_beside_a_weaker_one() {
        // Alone, the ratio is that to the noise: nothing changes.
        assert!(is_close(delivery_among(-93.0, &[], NOISE), 0.6359));
        // -75 dBm against -90 dBm: by hand, S = 3.1591e-8 mW, I = 9.684e-10 mW, N = 3.162e-11 mW; S / (I + N) = 31.59, which is
        // 15.0 dB, and with N a signal of -89.869 dBm.
        let strength = 10.0 * (31.59_f64 * 3.1623e-11 + 3.1623e-11).log10();
        assert!(is_close(strength, -89.8691), "{strength}");
        assert!((delivery_among(-75.0, &[-90.0], NOISE) - rssi_to_delivery(strength)).abs() < 0.001);
        assert!((delivery_among(-75.0, &[-90.0], NOISE) - 0.8616).abs() < 0.001);
        // Of two equal ones, none: the ratio is about 0 dB, which is 3 dB above the noise.
        assert_eq!(delivery_among(-60.0, &[-60.0], NOISE), 0.0);
        // Several weak ones add up: S / (4 I + N) = 8.09, and with N -95.41 dBm.
        let many = delivery_among(-75.0, &[-90.0; 4], NOISE);
        assert!((many - 0.199).abs() < 0.001, "{many}");
        // Others below the noise are none, and a signal below it is lost.
        assert!(is_close(delivery_among(-93.0, &[-110.0], NOISE), 0.6359));
        assert_eq!(delivery_among(-106.0, &[-110.0], NOISE), 0.0);
    }
}
