//! The server does not exist, is silent, or refuses without proof.

use alloc::sync::Arc;
use core::time::Duration;
use std::io::ErrorKind;
use std::sync::mpsc;

use terse_net::{NetError, NoAnswer};
use terse_tls::{AlertDescription, CertificateError, Datagrams, Error, ProtocolVersion};

use super::world::{EchoServer, SAFETY_LIMIT, client, configs, configs_of, datagrams, patient, socket, vacant};

/// Returns a client's configuration that gives up after three attempts.
fn impatient() -> terse_tls::ConfigBuilder<terse_tls::ClientConfig> {
    impatient_after(20)
}

/// The same, whose first attempt waits for so many milliseconds, and the next ones for twice and four times that.
fn impatient_after(milliseconds: u64) -> terse_tls::ConfigBuilder<terse_tls::ClientConfig> {
    configs(Datagrams::default().initial_timeout(milliseconds).min_timeout(20).max_retransmissions(2)).0
}

#[track_caller]
fn no_answer(result: Result<(), NetError>) -> NoAnswer {
    match result {
        Err(NetError::NoAnswer(no_answer)) => no_answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_says_nothing_is_asked_again() {
    let silent = socket();
    let mut client = client(&impatient(), silent.local_addr().unwrap());
    let no_answer = no_answer(client.handshake());
    let NoAnswer { in_handshake, heard, asked, alert, network, dropped, .. } = no_answer;
    assert_eq!((in_handshake, heard, asked, alert, network, dropped), (true, false, 3, None, None, 0));
    assert!(no_answer.waited >= Duration::from_millis(20 + 40 + 80)); // the timers' own
    // All attempts send the same ClientHello, in records of their own.
    silent.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
    let mut hellos = Vec::new();
    for _ in 0..3 {
        let mut datagram = vec![0; 2_000];
        let len = silent.recv(&mut datagram).unwrap();
        datagram.truncate(len);
        hellos.push(datagram);
    }
    assert!(hellos.iter().all(|hello| hello[13..] == hellos[0][13..]));
    assert_eq!(hellos.iter().map(|hello| hello[10]).collect::<Vec<_>>(), [0, 1, 2]);
    // The connection was given up.
    assert!(!client.connection().is_handshaking());
}

#[test]
fn a_time_limit_ends_a_handshake_that_would_go_on() {
    let silent = socket();
    let (config, _) = configs(patient());
    let mut client = client(&config, silent.local_addr().unwrap());
    client.set_limit(Duration::from_millis(50));
    let no_answer = no_answer(client.handshake());
    assert_eq!((no_answer.asked, no_answer.heard), (1, false));
    assert!(!client.connection().is_handshaking());
}

/// A host without a server refuses each datagram (ICMP). The error reports that, and the client believes it only in the
/// end.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_port_is_asked_as_often_as_any() {
    let (_nobody, closed) = vacant();
    let mut client = client(&impatient(), closed);
    let no_answer = no_answer(client.handshake());
    assert_eq!((no_answer.asked, no_answer.network), (3, Some(ErrorKind::ConnectionRefused)));
}

/// The port opens while the client retransmits: the earlier reports of the network are forgotten.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_comes_up_late_is_found() {
    let (mut config, server) = configs(datagrams());
    let (sent_again, is_sent_again) = mpsc::channel();
    config.trace(Arc::new(SentAgain(sent_again)));
    let (nobody, address) = vacant();
    let server = std::thread::spawn(move || {
        is_sent_again.recv_timeout(SAFETY_LIMIT).expect("the client asks again");
        drop(nobody); // as late as can be: nobody else may take the port
        EchoServer::start_at(address, server)
    });
    let mut client = client(&config, address);
    client.set_limit(SAFETY_LIMIT);
    client.handshake().unwrap();
    assert!(client.connection().summary().retransmissions > 0);
    drop(server.join().unwrap());
}

/// Tells when a flight is sent again.
#[cfg(target_os = "linux")]
struct SentAgain(mpsc::Sender<()>);

#[cfg(target_os = "linux")]
impl terse_tls::Trace for SentAgain {
    fn event(&self, event: terse_tls::TraceEvent<'_>) {
        if matches!(event, terse_tls::TraceEvent::SentAgain { .. }) {
            let _ = self.0.send(()); // once is enough
        }
    }
}

#[test]
fn something_else_that_answers_is_no_server() {
    let other = socket();
    let mut client = client(&impatient_after(500), other.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        other.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        for _ in 0..3 {
            let (_, from) = other.recv_from(&mut [0; 2_000]).unwrap();
            other.send_to(b"SIP/2.0 400 Bad Request\r\n\r\n", from).unwrap();
            other.send_to(b"", from).unwrap();
        }
    });
    let no_answer = no_answer(client.handshake());
    assert_eq!((no_answer.asked, no_answer.heard, no_answer.alert), (3, false, None));
    assert!(no_answer.dropped >= 2, "{no_answer:?}"); // the last may come too late
    answering.join().unwrap();
}

#[test]
fn an_alert_that_nobody_vouches_for_is_believed_in_the_end() {
    let refusing = socket();
    let mut client = client(&impatient_after(2_000), refusing.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        refusing.set_read_timeout(Some(SAFETY_LIMIT)).unwrap();
        let (_, from) = refusing.recv_from(&mut [0; 2_000]).unwrap();
        let handshake_failure = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40];
        refusing.send_to(&handshake_failure, from).unwrap();
        refusing
    });
    let no_answer = no_answer(client.handshake());
    assert_eq!(no_answer.alert, Some(AlertDescription::HANDSHAKE_FAILURE));
    assert!(no_answer.asked < 3, "{no_answer:?}");
    answering.join().unwrap();
}

#[test]
fn a_stranger_s_certificate_is_refused_on_both_sides() {
    for (version, unprotected) in [(ProtocolVersion::TLS_1_2, 1), (ProtocolVersion::TLS_1_3, 0)] {
        let (mut config, _) = configs(datagrams());
        config.versions(vec![version]);
        let (_, server) = configs_of("Another CA", datagrams());
        let server = EchoServer::start(server);
        let mut client = client(&config, server.address);
        let error = client.handshake().unwrap_err();
        assert!(matches!(error, NetError::Tls(Error::Certificate(CertificateError::UnknownIssuer))), "{error:?}");
        // In DTLS 1.2 the server believes the alert once nothing else comes.
        let (event, summary) = server.event();
        assert_eq!(event, terse_net::DatagramEvent::Failed(Error::AlertReceived(AlertDescription::UNKNOWN_CA)));
        assert_eq!(summary.unwrap().dropped.unprotected_alert, unprotected);
    }
}
