//! Handshakes as data: what is refused, and why.

use super::{DATAGRAMS, STREAM, handshake, seconds};
use crate::script::{Action, Handshake, Party, Step, Transport};
use core::time::Duration;

#[test]
fn each_side_has_its_part() {
    let stream = handshake(STREAM);
    assert_eq!(stream.transport(), Transport::Stream);
    assert_eq!(stream.parts(Party::Client), [78, 422, 59, 6, 45]);
    assert_eq!(stream.parts(Party::Server), [92, 422, 9, 6, 45]);
    assert_eq!(stream.computing(Party::Client), Duration::from_millis(1500));
    let names = |party| -> Vec<String> {
        let describe = |action| match action {
            Action::Send(message) => format!("send {} {}", message.number, message.name),
            Action::Await(message) => format!("await {} {}", message.number, message.name),
            Action::Compute(time) => format!("compute {time:?}"),
        };
        handshake(DATAGRAMS).actions(party).into_iter().map(describe).collect()
    };
    assert_eq!(
        names(Party::Client),
        [
            "send 1 ClientHello",
            "await 2 HelloVerifyRequest",
            "send 3 ClientHello, with the cookie",
            "await 4 ServerHello to ServerHelloDone",
            "compute 2s",
            "send 5 Certificate to Finished",
            "await 6 ChangeCipherSpec, Finished",
        ]
    );
    assert_eq!(
        names(Party::Server)[2..4],
        ["await 3 ClientHello, with the cookie", "send 4 ServerHello to ServerHelloDone"]
    );
}

#[test]
fn computing_is_scaled_by_shares() {
    let quick = handshake(STREAM).with_computing(Party::Client, seconds(3));
    let times = |handshake: &Handshake| -> Vec<(Party, Duration)> {
        let time = |step: &Step| match step {
            Step::Compute(party, time) => Some((*party, *time)),
            Step::Send(..) => None,
        };
        handshake.steps().iter().filter_map(time).collect()
    };
    let server = (Party::Server, Duration::from_millis(250));
    assert_eq!(times(&quick), [(Party::Client, seconds(1)), (Party::Client, seconds(2)), server]);
    let none = quick.with_computing(Party::Client, Duration::ZERO).with_computing(Party::Client, seconds(1));
    assert_eq!(none.computing(Party::Client), Duration::ZERO, "nothing has no shares");
}

#[test]
fn what_cannot_be_played_is_refused() {
    let refused = |transport: &str, steps: &str| {
        let text = format!("transport = \"{transport}\"\nsteps = [{steps}]");
        toml::from_str::<Handshake>(&text).expect_err(&text).to_string()
    };
    let hello = r#"{ client = "ClientHello", bytes = 100 }"#;
    for (transport, steps, cause) in [
        ("stream", String::new(), "at least one message"),
        ("stream", r#"{ client = "A", bytes = 5 }"#.into(), "step 1 (A): 5 bytes; it must be 6 to 18437"),
        ("datagrams", r#"{ client = "A", bytes = [14, 13] }"#.into(), "step 1 (A): 13 bytes; it must be 14 to"),
        ("stream", r#"{ client = "A", bytes = [] }"#.into(), "1 to 255 records"),
        ("datagrams", r#"{ server = "B", bytes = 20 }"#.into(), "the client sends the first flight"),
        ("datagrams", format!("{hello}, {hello}"), "step 2 (ClientHello): the other side sends the next flight"),
        ("stream", r#"{ client = "A", bytes = 20, seconds = 1.0 }"#.into(), "a step has `client` or `server`"),
        ("stream", r#"{ computes = "client", seconds = -1.0 }"#.into(), "`seconds` must be 0 or more"),
        ("stream", r#"{ computes = "nobody", seconds = 1.0 }"#.into(), "unknown variant `nobody`"),
        ("pigeons", hello.into(), "unknown variant `pigeons`"),
        ("stream", r#"{ client = "A", byte = 20 }"#.into(), "unknown field `byte`"),
        ("stream", r#"{ client = "A", bytes = "20" }"#.into(), "a number of bytes, or a list of them"),
        ("stream", format!(r#"{hello}, {{ server = "B", bytes = 20, stateless = true }}"#), "can be stateless"),
        (
            "datagrams",
            r#"{ client = "A", bytes = [20, 20] }, { server = "B", bytes = 20, stateless = true }"#.into(),
            "of one datagram",
        ),
        ("datagrams", r#"{ client = "A", bytes = 20, stateless = true }"#.into(), "can be stateless"),
    ] {
        let text = refused(transport, &steps);
        assert!(text.contains(cause), "{steps}: {text}");
    }
}
