//! The same through a stateless join proxy in a 6TiSCH network.

use core::time::Duration;

use terse_sim::onboarding::mesh::{Outcome, Setting, run};
use terse_sim::onboarding::{Dtls, Failed, Step};
use terse_testkit::rng::seeds;

use super::made::PARTIES;

fn onboard(setting: &Setting) -> Outcome {
    run(setting, &PARTIES).unwrap_or_else(|failed| panic!("{setting:?}: {failed}"))
}

#[test]
fn it_ends_enrolled_over_each_number_of_hops() {
    for dtls in Dtls::ALL {
        let outcomes: Vec<Outcome> = (2..=4).map(|hops| onboard(&Setting::new(dtls, hops))).collect();
        for outcome in &outcomes {
            assert_eq!((outcome.failures, outcome.lost, outcome.is_reported), (0, 0, true));
            let taken: Vec<Step> = outcome.steps.iter().map(|count| count.step).collect();
            let steps = Step::ALL.into_iter().filter(|step| *step != Step::CsrAttributes);
            assert_eq!(taken, steps.collect::<Vec<_>>());
            let times: Duration = outcome.steps.iter().map(|count| count.time).sum();
            assert_eq!(times, outcome.enrolled, "each moment is of one step");
            // The radios that have something to do take more than those that listen, and the proxy has two hops to serve.
            for [with, idle] in [outcome.pledge, outcome.proxy, outcome.others] {
                assert!(with > idle && idle > 0.0, "{outcome:?}");
            }
            assert!(outcome.proxy[0] > outcome.pledge[0], "{outcome:?}");
        }
        // The hop of the pledge has the same bytes, wherever it is; those before it have more the more they are.
        let of_pledge = |outcome: &Outcome| outcome.total().up + outcome.total().down;
        let of_network = |outcome: &Outcome| outcome.total().mesh_up + outcome.total().mesh_down;
        for pair in outcomes.windows(2) {
            assert_eq!(of_pledge(&pair[0]), of_pledge(&pair[1]), "{pair:?}");
            assert!(of_network(&pair[0]) < of_network(&pair[1]) && pair[0].enrolled < pair[1].enrolled);
        }
    }
}

/// What the pledge sends in a step does not depend on what is behind the proxy, nor on when the frames leave.
#[test]
fn each_step_has_the_same_bytes_on_the_hop_of_the_pledge() {
    for dtls in Dtls::ALL {
        let steps = |hops| {
            let outcome = onboard(&Setting::new(dtls, hops));
            outcome.steps.iter().map(|count| (count.step, count.bytes.up, count.bytes.down)).collect::<Vec<_>>()
        };
        let (near, far) = (steps(2), steps(4));
        for ((step, up, down), (_, far_up, far_down)) in near.iter().zip(&far) {
            assert_eq!((up, down), (far_up, far_down), "{dtls:?} {step}: {near:?} {far:?}");
        }
        // The certificate of the device goes in the handshake, and each status is two frames each way at most.
        let (_, status, _) = near.iter().find(|(step, ..)| *step == Step::VoucherStatus).copied().unwrap();
        let (_, handshake, _) = near[0];
        assert!(handshake > 1_000 && status < 200, "{near:?}");
    }
}

/// Over two hops one is the pledge's, and one the proxy's, with JPY messages: 36 to 38 bytes more for each datagram, and no other.
#[test]
fn the_header_of_the_proxy_is_what_its_hop_has_more() {
    let outcome = onboard(&Setting::new(Dtls::V13, 2));
    let total = outcome.total();
    // 14 datagrams each way, as on a plain link; ports and prefixes are compressed in other ways, and fragments are other ones.
    for (mesh, pledge) in [(total.mesh_up, total.up), (total.mesh_down, total.down)] {
        let more = mesh - pledge;
        assert!((14 * 36..16 * (38 + 23)).contains(&more), "{more}");
    }
}

#[test]
fn it_ends_enrolled_where_motes_lose_frames() {
    for dtls in Dtls::ALL {
        let lossy = |seed| Setting { loss: 0.02, seed, ..Setting::new(dtls, 3) };
        let lost: usize = seeds(5).map(|seed| onboard(&lossy(seed)).lost).sum();
        assert!(lost > 0, "motes lose frames");
        assert_eq!(onboard(&lossy(3)), onboard(&lossy(3)), "a seed is a run");
        assert_ne!(onboard(&lossy(3)), onboard(&lossy(4)));
    }
}

/// DTLS 1.2 sends whole flights again, after 9, 18, 36 and 60 s, and a flight is many frames on each of three hops. With a minute for
/// each handshake most are given up, and the registrar may never learn that the pledge is enrolled.
#[test]
fn a_handshake_has_time_for_all_of_its_retransmissions() {
    for seed in seeds(5) {
        let outcome = onboard(&Setting { loss: 0.05, seed, ..Setting::new(Dtls::V12, 3) });
        assert!(outcome.is_reported, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(run(&Setting::new(Dtls::V13, 1), &PARTIES), Err(Failed::Mesh(_))));
    let setting = Setting { loss: 1.0, limit: Duration::from_secs(600), ..Setting::new(Dtls::V13, 2) };
    assert!(matches!(run(&setting, &PARTIES), Err(Failed::NotEnrolled(_))));
}
