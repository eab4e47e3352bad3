//! Application data goes from client to server with AES-128-GCM: megabytes per second of CPU time, both sides together,
//! driven as applications drive them. No data goes through the system: of its calls, only those of the clock count.

use super::rates::interleaved;
use super::{Effort, Field, Metric, Sample, Warm, cpu_seconds};
use crate::probe::Unwatched;
use crate::stack::{Mode, Stack, Version};

/// Measures all `stacks`. A stack that fails is reported to `failed`, and left out.
pub fn measure(
    stacks: &[&dyn Stack],
    field: Field,
    effort: Effort,
    failed: &mut dyn FnMut(&dyn Stack, String),
) -> Vec<Sample> {
    let mut samples = Vec::new();
    let large = match field.version {
        Version::Dtls12 => (Metric::BulkDatagrams, 1_200 - RECORD_12),
        Version::Dtls13 => (Metric::BulkDatagrams, 1_200 - RECORD_13),
        Version::Tls12 | Version::Tls13 => (Metric::BulkLargeWrites, 0x4000),
    };
    for (metric, size) in [large, (Metric::BulkMediumWrites, 1024), (Metric::BulkSmallWrites, 128)] {
        let make = |stack: &dyn Stack| {
            let mut warm = Warm::new(stack, field.with(Mode::Full))?;
            warm.open(&mut Unwatched)?;
            warm.pair().as_applications();
            Ok(warm)
        };
        let run = |warm: &mut Warm| throughput(warm, size, effort.slice_ms as f64 / 1e3);
        let rates = interleaved(stacks.iter().copied(), make, run, effort.rounds, failed);
        samples.extend(rates.into_iter().filter_map(|(stack, rates)| field.median(stack, metric, rates)));
    }
    samples
}

fn throughput(warm: &mut Warm, size: usize, seconds: f64) -> Result<f64, String> {
    let (data, mut buffer) = (vec![0x5a; size], vec![0; 0x4000]);
    let writes = (BATCH / size).max(1);
    let start = cpu_seconds();
    let mut bytes = 0_u64;
    loop {
        for _ in 0..writes {
            warm.pair().carry(&data, &mut buffer)?;
        }
        bytes += (writes * size) as u64;
        let spent = cpu_seconds() - start;
        if spent >= seconds {
            return Ok(bytes as f64 / 1e6 / spent);
        }
    }
}

/// The overhead of a DTLS 1.2 record with AES-GCM: header, nonce, tag.
const RECORD_12: usize = 13 + 8 + 16;

/// The most overhead of a DTLS 1.3 record: header with a number of two bytes and a length, type, tag.
const RECORD_13: usize = 5 + 1 + 16;

/// The bytes between two readings of the clock.
const BATCH: usize = 0x4_0000;
