//! Connections that are lost, in every state.

use std::vec::Vec;

use super::pki::{self, Late, PKI};
use super::registrar::Registrar;
use super::world::Reply;
use super::*;

const ALL: [Phase; 13] = [
    Phase::Connect,
    Phase::SignVoucherRequest,
    Phase::RequestVoucher,
    Phase::ReportVoucher,
    Phase::RequestCaCerts,
    Phase::RequestCsrAttributes,
    Phase::MakeKey,
    Phase::SignRequest,
    Phase::Enroll,
    Phase::Store,
    Phase::ReportEnrollment,
    Phase::RefuseVoucher,
    Phase::ReportFailure,
];

fn world() -> World {
    let idevid = PKI.idevid.chain().to_vec();
    let late = terse_tls::Credential::new(idevid, Arc::new(Late(pki::idevid_key()))).unwrap();
    let mut world = World::with(pki::config_with(late), [(Proxy(1), Registrar::new())]);
    world.has_late_key = true;
    world
}

/// Loses the connection, and with it the response that was under way.
fn lose(world: &mut World) {
    let connection = world.connection();
    world.replies.retain(|reply| !matches!(reply, Reply::Response(..) | Reply::Connected(..)));
    world.reply(Reply::Lost(connection));
}

#[test]
fn a_pledge_enrolls_although_a_connection_is_lost_in_any_state() {
    for phase in &ALL[..11] {
        let mut world = world();
        world.run_to(*phase);
        lose(&mut world);
        if *phase < Phase::ReportVoucher {
            assert_eq!(world.failures(), [AttemptFailed::ConnectionLost], "{phase:?}");
        } else {
            assert_eq!(world.failures(), [], "{phase:?}");
        }
        world.run_to(Phase::Enrolled);
        assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported: true }));
        let connects = match phase {
            Phase::Store => 2, // the connection with the IDevID was not needed any more
            _ => 3,
        };
        assert_eq!(world.connects.len(), connects, "{phase:?}");
        // Each request was made once, or the same again.
        for path in [CA_CERTS, CSR_ATTRIBUTES, SIMPLE_ENROLL] {
            let requests = world.registrar().requests.iter().filter(|request| request.path == path);
            let bodies: Vec<_> = requests.map(|request| request.body.clone()).collect();
            assert!(bodies.iter().all(|body| *body == bodies[0]), "{phase:?}");
        }
    }
}

#[test]
fn a_silent_registrar_is_left_in_any_state() {
    for phase in [
        Phase::ReportVoucher,
        Phase::RequestCaCerts,
        Phase::RequestCsrAttributes,
        Phase::Enroll,
        Phase::ReportEnrollment,
    ] {
        let mut world = world();
        world.run_to(phase);
        let begun = world.now;
        world.replies.clear();
        world.run_to(Phase::Enrolled);
        assert_eq!(world.now - begun, 61_000, "{phase:?}: a minute without a response, and a second");
        assert_eq!(world.failures(), [], "{phase:?}");
    }
}

#[test]
fn a_new_connection_before_the_ldevid_is_for_the_same_certificates() {
    for phase in [Phase::ReportVoucher, Phase::RequestCaCerts, Phase::RequestCsrAttributes, Phase::Enroll] {
        let options = terse_pki::RegistrarOptions::new("registrar2.plant.example", pki::validity());
        let other = pki::credential(&PKI.domain.issue_registrar(&options).unwrap());
        let mut world = world();
        world.run_to(phase);
        lose(&mut world);
        let requests = world.registrar().requests.len();
        world.registrar().chain = other.chain().to_vec();
        let why = world.run_to_failure();
        assert_eq!(why, AttemptFailed::Enrollment(EnrollmentFailed::ConnectionLost));
        assert_eq!(world.registrar().requests.len(), requests, "{phase:?}: it was told nothing");
    }
}

#[test]
fn connections_that_are_lost_again_and_again_end_the_attempt() {
    for phase in [Phase::ReportVoucher, Phase::RequestCaCerts, Phase::RequestCsrAttributes, Phase::Enroll] {
        let mut world = world();
        world.run_to(phase);
        let begun = world.now;
        for _ in 0..6 {
            world.run_to(phase);
            world.run(10, World::is_connected);
            lose(&mut world);
        }
        assert_eq!(world.failures(), [AttemptFailed::Enrollment(EnrollmentFailed::ConnectionLost)], "{phase:?}");
        assert_eq!(world.now - begun, 31_000, "{phase:?}: the pledge waits 1, 2, 4, 8 and 16 s");
    }
}

#[test]
fn an_enrollment_counts_although_it_cannot_be_reported() {
    let mut world = world();
    world.run_to(Phase::ReportEnrollment);
    for _ in 0..6 {
        world.run(10, World::is_connected);
        lose(&mut world);
    }
    assert_eq!(world.pledge.phase(), Phase::Enrolled);
    assert_eq!(world.events.last().map(|(_, event)| *event), Some(Event::Enrolled { is_reported: false }));
}

#[test]
fn a_failure_is_reported_over_its_own_connection_or_not_at_all() {
    let refusing = || Registrar::answering(|request| (request.path == SIMPLE_ENROLL).then(|| Answer::status(403)));
    let expected = AttemptFailed::Enrollment(EnrollmentFailed::Refused(403));
    let mut world = World::new(refusing());
    world.run_to(Phase::ReportFailure);
    lose(&mut world);
    assert_eq!(world.failures(), [expected]);
    assert_eq!(world.connects.len(), 1);

    let mut world = World::new(refusing());
    world.run_to(Phase::ReportFailure);
    world.replies.clear();
    assert_eq!(world.run_to_failure(), expected);
    assert_eq!(world.connects.len(), 1);

    let mut world = World::new(Registrar::attacker());
    world.run_to(Phase::RefuseVoucher);
    lose(&mut world);
    assert!(matches!(world.failures()[..], [AttemptFailed::Voucher(_)]));
}

#[test]
fn a_connection_that_is_lost_while_the_registrar_decides_is_made_when_it_is_due() {
    let mut left = 1;
    let mut world = World::new(Registrar::answering(move |request| {
        let waits = request.path == SIMPLE_ENROLL && left > 0;
        left -= usize::from(waits);
        waits.then(|| Answer::wait("40"))
    }));
    world.run(100, |world| world.events.iter().any(|(_, event)| *event == Event::Waiting));
    lose(&mut world);
    assert!(!world.is_connected());
    assert_eq!(world.pledge.poll_timeout(), Some(Instant(41_000)));
    world.run_to(Phase::Enrolled);
    let requests = world.registrar().requests.iter().filter(|request| request.path == SIMPLE_ENROLL);
    let bodies: Vec<_> = requests.map(|request| request.body.clone()).collect();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
}

#[test]
fn inputs_of_other_connections_and_signatures_are_ignored() {
    for phase in ALL.into_iter().take(11) {
        let mut world = world();
        world.run_to(phase);
        let events = world.events.len();
        let connections = [ConnectionId(0), ConnectionId(999)];
        for connection in connections {
            world.give(Input::Lost(connection));
            world.give(Input::Connected { connection, presented: Presented::Chain(PKI.other_registrar.chain()) });
            world.give(Input::Response { connection, response: Response::new(403, b"") });
        }
        for signature in [SignatureId(0), SignatureId(999)] {
            world.give(Input::Signed(signature, Ok(Vec::new())));
        }
        if phase != Phase::MakeKey {
            world.give(Input::Key(Ok(pki::new_key())));
        }
        if phase != Phase::Store {
            world.give(Input::Stored(false));
        }
        world.give(Input::Timer);
        assert_eq!((world.pledge.phase(), world.events.len()), (phase, events));
        world.run_to(Phase::Enrolled);
    }
}
