use super::*;

fn error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.raw_os_error())
}

#[test]
fn errors_of_an_address_say_nothing_of_the_sockets_of_the_machine() {
    for errno in [Errno::CONNREFUSED, Errno::PROTO, Errno::HOSTDOWN, Errno::ACCESS, Errno::PERM, Errno::CONNRESET] {
        assert!(!is_too_long(&error(errno)) && is_of_address(&error(errno)), "{errno}");
    }
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::MSGSIZE, Errno::IO] {
        assert!(!is_of_address(&error(errno)), "{errno}");
    }
    for errno in [Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT] {
        assert!(!is_of_network(&error(errno)) && is_of_address(&error(errno)), "{errno}");
    }
    assert!(is_too_long(&error(Errno::MSGSIZE)));
}
