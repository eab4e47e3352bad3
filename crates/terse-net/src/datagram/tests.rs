//! Tests of the sizes of packets, and of how often the clock is read.

use super::*;

#[test]
fn a_packet_has_its_headers() {
    let sizes = |mtu| ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"].map(|ip| max_datagram(mtu, ip.parse().unwrap()));
    assert_eq!(sizes(1280), [1252, 1232, 1252]);
    assert_eq!(sizes(1500), [1472, 1452, 1472]);
    assert_eq!(sizes(20), [0, 0, 0]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_icmp_messages_become_is_of_the_network() {
    use rustix::io::Errno;

    let error = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
    let of_network = [Errno::CONNREFUSED, Errno::CONNRESET, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::NETDOWN];
    for errno in of_network.into_iter().chain(REPORTS).chain([Errno::ACCESS, Errno::PERM]) {
        assert!(is_of_network(&error(errno)), "{errno}");
    }
    for errno in [Errno::MFILE, Errno::NOBUFS, Errno::NOMEM, Errno::MSGSIZE, Errno::IO, Errno::ADDRNOTAVAIL] {
        assert!(!is_of_network(&error(errno)), "{errno}");
    }
}

#[cfg(unix)]
#[test]
fn the_last_tick_is_looked_for_once_for_a_message_and_twice_by_a_client_that_waits() {
    use alloc::sync::Arc;
    use std::net::UdpSocket;
    use std::thread;

    use terse_tls::{Connection, Datagrams, EndpointLimits, ServerAddress};

    use crate::OsRng;
    use crate::clock::{READINGS, TICKS};
    use crate::stream::tests::{NAME, configs};

    const MESSAGES: u32 = 100;
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(300));
    let (mut client, mut server, clock) = configs(true, |key| key);
    for common in [client.common_mut(), server.common_mut()] {
        common.set_datagrams(Some(Datagrams::default()));
    }
    server.client_authentication(terse_tls::ClientAuthentication::None);
    let [client_socket, server_socket] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    client_socket.connect(server_socket.local_addr().unwrap()).unwrap();
    let mut server =
        DatagramServer::new(Arc::new(server.build().unwrap()), EndpointLimits::default(), server_socket, clock)
            .unwrap();
    let address = ServerAddress::new(NAME.try_into().unwrap(), 443);
    let connection = Connection::client(Arc::new(client.build().unwrap()), address, clock.now(), &mut OsRng).unwrap();
    let mut client = DatagramClient::new(connection, client_socket, clock);
    let mut client = thread::scope(|scope| {
        let client = scope.spawn(move || client.handshake().map(|()| client));
        while server.next_event(PATIENCE).unwrap().expect("an event").1 != DatagramEvent::Connected {}
        client.join().unwrap().unwrap()
    });
    let mut received = [0; 200];
    let (mut sent, mut taken, mut waited) = (0, 0, 0);
    READINGS.set(0);
    for _ in 0..MESSAGES {
        TICKS.set(0);
        client.send(&[7; 128]).unwrap();
        sent += TICKS.get();
        TICKS.set(0);
        let Some((handle, DatagramEvent::Data(data))) = server.next_event(PATIENCE).unwrap() else { panic!("no data") };
        taken += TICKS.get();
        TICKS.set(0);
        server.send(handle, &data).unwrap();
        sent += TICKS.get();
        TICKS.set(0);
        assert_eq!(client.receive(&mut received).unwrap(), 128);
        waited += TICKS.get();
    }
    assert_eq!(sent, 2 * MESSAGES);
    // Datagrams that the handshake leaves to be read and sent add a few turns.
    assert!((MESSAGES..=MESSAGES + 8).contains(&taken), "{taken}");
    assert!((2 * MESSAGES..=2 * MESSAGES + 8).contains(&waited), "{waited}");
    // The clock itself is read only by a server that finds no datagram waiting.
    assert!(READINGS.get() <= MESSAGES + 8, "{}", READINGS.get());
}
