//! The devices, which join at once, and the kills and cuts meanwhile.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use terse_onboard::discovery::Fixed;
use terse_onboard::pledge::{CredentialDirectory, Progress, Settings, onboard};
use tokio::sync::{Semaphore, watch};

use super::scene::{From, Scene, serial_number};
use crate::bootstrap::process::cpu_ms;

/// What became of the devices.
pub(super) struct Joined {
    pub(super) seconds: f64,
    pub(super) each: Vec<f64>,
    pub(super) failed_attempts: usize,
    pub(super) verified_vouchers: usize,
    pub(super) kills: usize,
    pub(super) cuts: usize,
    pub(super) cpu_seconds: Option<f64>,
    /// The certificates of the devices, each in DER.
    pub(super) certificates: Vec<Vec<u8>>,
}

/// What all devices count.
#[derive(Default)]
struct Counts {
    failed_attempts: AtomicUsize,
    verified_vouchers: AtomicUsize,
}

/// Lets all devices join, and kills a registrar and a MASA when a third and two thirds of them are enrolled; with `has_cuts` it also
/// cuts the other two off from their database at a sixth, and from their clients at half.
pub(super) fn join(scene: &Scene, pledges: usize, at_once: usize, has_cuts: bool) -> Result<Joined, String> {
    let (counts, turns) = (Arc::new(Counts::default()), Arc::new(Semaphore::new(at_once)));
    let (enrolled, mut watched) = watch::channel(0_usize);
    let own_cpu_seconds = || Some(cpu_ms(std::process::id())? / 1e3);
    let (begin, before) = (Instant::now(), own_cpu_seconds());
    scene.runtime.block_on(async {
        let mut joining = tokio::task::JoinSet::new();
        for number in 0..pledges {
            let (device, place) = (scene.device(number)?, scene.place());
            let credentials = CredentialDirectory::new(scene.path("credentials").join(serial_number(number)));
            let (counts, turns, enrolled) = (counts.clone(), turns.clone(), enrolled.clone());
            joining.spawn(async move {
                let _turn = turns.acquire().await.map_err(|error| error.to_string())?;
                let begin = Instant::now();
                let settings = Settings { max_failures: NonZeroU32::new(ATTEMPTS), ..Settings::default() };
                let observe = |progress: Progress| match progress {
                    Progress::Failed(..) => _ = counts.failed_attempts.fetch_add(1, Relaxed),
                    Progress::Imprinted(..) => _ = counts.verified_vouchers.fetch_add(1, Relaxed),
                    _ => {}
                };
                let joined = onboard(&device, Fixed::new([place]), &credentials, &settings, observe).await;
                let joined = joined.map_err(|why| format!("{}: {why}", device.serial_number()))?;
                enrolled.send_modify(|count| *count += 1);
                let leaf = joined.credential.as_ref().and_then(|credential| credential.chain().first());
                match (joined.is_reported, leaf) {
                    (true, Some(leaf)) => Ok((begin.elapsed().as_secs_f64(), leaf.to_vec())),
                    _ => Err(format!("{}: it is not enrolled and reported", device.serial_number())),
                }
            });
        }
        let disturbing = async {
            let (mut kills, mut cuts) = (0, 0);
            for (sixth, what) in EVENTS {
                if matches!(what, Event::Cut(_)) && !has_cuts {
                    continue;
                }
                let is_due = |count: &usize| *count * 6 >= pledges * sixth;
                watched.wait_for(is_due).await.map_err(|error| error.to_string())?;
                match what {
                    Event::Kill => {
                        scene.kill();
                        kills += 1;
                        eprintln!("a registrar and a MASA are killed");
                        tokio::time::sleep(AWAY).await;
                        tokio::task::block_in_place(|| scene.restart())?;
                    }
                    Event::Cut(from) => {
                        scene.cut(from);
                        cuts += 1;
                        eprintln!("a registrar and a MASA are cut off: {from:?}");
                        tokio::time::sleep(CUT_OFF).await;
                        scene.mend(from);
                    }
                }
            }
            Ok::<_, String>((kills, cuts))
        };
        let waiting = async {
            let (mut each, mut certificates) = (Vec::new(), Vec::new());
            while let Some(joined) = joining.join_next().await {
                let (seconds, certificate) = joined.map_err(|error| error.to_string())??;
                each.push(seconds);
                certificates.push(certificate);
                if each.len().is_multiple_of(100) {
                    eprintln!("{} of {pledges} devices are enrolled", each.len());
                }
            }
            Ok::<_, String>((each, certificates))
        };
        let ((mut each, certificates), (kills, cuts)) = tokio::try_join!(waiting, disturbing)?;
        each.sort_by(f64::total_cmp);
        Ok(Joined {
            seconds: begin.elapsed().as_secs_f64(),
            each,
            failed_attempts: counts.failed_attempts.load(Relaxed),
            verified_vouchers: counts.verified_vouchers.load(Relaxed),
            kills,
            cuts,
            cpu_seconds: own_cpu_seconds().zip(before).map(|(after, before)| after - before),
            certificates,
        })
    })
}

/// What happens meanwhile.
#[derive(Clone, Copy)]
enum Event {
    Kill,
    Cut(From),
}

/// When so many sixths of the devices are enrolled.
const EVENTS: [(usize, Event); 4] =
    [(1, Event::Cut(From::Database)), (2, Event::Kill), (3, Event::Cut(From::Clients)), (4, Event::Kill)];

/// How often a device tries.
const ATTEMPTS: u32 = 50;

/// How long a service that was killed is away.
const AWAY: Duration = Duration::from_secs(1);

/// How long one is cut off.
const CUT_OFF: Duration = Duration::from_secs(5);
