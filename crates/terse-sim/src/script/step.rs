//! The steps of a handshake, as data.
//!
//! What must always hold: a [`Handshake`] can be played. Each message has room for its header; flights over datagrams
//! alternate, and only the server's first may be stateless.

use alloc::borrow::Cow;
use core::fmt;
use core::time::Duration;

use serde::Deserialize;

use super::Party;

/// What both sides of a handshake do, in order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "File")]
pub struct Handshake {
    transport: Transport,
    steps: Vec<Step>,
}

/// What carries a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP: each part of a message is a record, and is written by itself.
    Stream,
    /// UDP: each message is a flight, and each part of it a datagram.
    Datagrams,
}

/// A step of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A side sends a message, and the other waits for it.
    Send(Party, Message),
    /// A side computes for so long.
    Compute(Party, Duration),
}

/// A message of a stream, or a flight of datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The names of what it stands for.
    pub name: Cow<'static, str>,
    /// The number of the message in the handshake, from 1, as RFC 6347, 4.2.4, numbers flights.
    pub number: u8,
    /// The bytes of each record, or of each datagram.
    pub parts: Vec<usize>,
    /// Whether a server sends it without keeping anything of the client, and without a timer: HelloVerifyRequest (RFC 6347,
    /// 4.2.1).
    pub stateless: bool,
}

/// A step as one side sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The side sends a message.
    Send(Message),
    /// The side waits for a message of the other.
    Await(Message),
    /// The side computes for so long.
    Compute(Duration),
}

impl Handshake {
    /// Checks and numbers the steps of a handshake. The text of a failure says which step is wrong, and what would be right.
    pub fn new(transport: Transport, mut steps: Vec<Step>) -> Result<Self, String> {
        let mut number = 0;
        let mut last: Option<(Party, bool)> = None;
        for (index, step) in steps.iter_mut().enumerate() {
            let Step::Send(party, message) = step else { continue };
            let wrong = |cause: &dyn fmt::Display| Err(format!("step {} ({}): {cause}", index + 1, message.name));
            number += 1;
            let Ok(small) = u8::try_from(number) else { return wrong(&"a handshake has at most 255 messages") };
            message.number = small;
            if message.parts.is_empty() || message.parts.len() > 255 {
                return wrong(&"a message has 1 to 255 records or datagrams");
            }
            let (least, most) = transport.part_len();
            if let Some(bytes) = message.parts.iter().find(|bytes| !(least..=most).contains(*bytes)) {
                return wrong(&format_args!("{bytes} bytes; it must be {least} to {most}, its header included"));
            }
            if transport == Transport::Datagrams {
                match last {
                    Some((before, _)) if before == *party => return wrong(&"the other side sends the next flight"),
                    None if *party == Party::Server => return wrong(&"the client sends the first flight"),
                    _ => {}
                }
            }
            let answers_one_datagram = matches!(last, Some((_, true)) if number == 2);
            if message.stateless && (transport == Transport::Stream || *party == Party::Client || !answers_one_datagram)
            {
                return wrong(&"only the server's answer to a client's first flight of one datagram can be stateless");
            }
            last = Some((*party, message.parts.len() == 1));
        }
        if number == 0 {
            return Err("a handshake has at least one message".to_owned());
        }
        Ok(Self { transport, steps })
    }

    /// Returns what carries the handshake.
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns what one side does.
    pub fn actions(&self, party: Party) -> Vec<Action> {
        let action = |step: &Step| match step {
            Step::Send(from, message) if *from == party => Some(Action::Send(message.clone())),
            Step::Send(_, message) => Some(Action::Await(message.clone())),
            Step::Compute(who, time) => (*who == party).then_some(Action::Compute(*time)),
        };
        self.steps.iter().filter_map(action).collect()
    }

    /// Returns the bytes that a side sends in each record or datagram, in order.
    pub fn parts(&self, party: Party) -> Vec<usize> {
        let of = |step: &Step| match step {
            Step::Send(from, message) if *from == party => message.parts.clone(),
            _ => Vec::new(),
        };
        self.steps.iter().flat_map(of).collect()
    }

    /// Returns how long a side computes in all.
    pub fn computing(&self, party: Party) -> Duration {
        let of = |step: &Step| match step {
            Step::Compute(who, time) if *who == party => *time,
            _ => Duration::ZERO,
        };
        self.steps.iter().map(of).sum()
    }

    /// Returns this handshake on another device: `party` computes for `total` in all, and each of its computations keeps its
    /// share. A side that does not compute stays so.
    pub fn with_computing(mut self, party: Party, total: Duration) -> Self {
        let before = self.computing(party).as_nanos();
        for step in &mut self.steps {
            if let Step::Compute(who, time) = step
                && *who == party
            {
                // A part of `total`, which fits.
                let nanoseconds = (total.as_nanos() * time.as_nanos()).checked_div(before).unwrap_or(0);
                *time = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
            }
        }
        self
    }
}

impl Transport {
    /// Returns the least and the most bytes of a record or datagram. A record of TLS 1.2 has a header of 5 bytes and at most
    /// 2^14 + 2048 more (RFC 5246, 6.2.3), one of DTLS 1.2 a header of 13 (RFC 6347, 4.1); neither is empty.
    const fn part_len(self) -> (usize, usize) {
        match self {
            Self::Stream => (6, 5 + (1 << 14) + 2048),
            Self::Datagrams => (14, 13 + (1 << 14) + 2048),
        }
    }
}

/// A handshake in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    transport: Transport,
    steps: Vec<Entry>,
}

/// A step in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    client: Option<String>,
    server: Option<String>,
    computes: Option<Party>,
    bytes: Option<Bytes>,
    seconds: Option<f64>,
    #[serde(default)]
    stateless: bool,
    /// Whatever a file says about a step.
    #[serde(rename = "what")]
    _what: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a number of bytes, or a list of them")]
enum Bytes {
    One(usize),
    Many(Vec<usize>),
}

impl Entry {
    fn step(self) -> Result<Step, &'static str> {
        let Self { client, server, computes, bytes, seconds, stateless, _what } = self;
        let (party, name, bytes) = match (client, server, computes, bytes, seconds) {
            (Some(name), None, None, Some(bytes), None) => (Party::Client, name, bytes),
            (None, Some(name), None, Some(bytes), None) => (Party::Server, name, bytes),
            (None, None, Some(party), None, Some(seconds)) if !stateless => {
                let time = Duration::try_from_secs_f64(seconds).map_err(|_| "`seconds` must be 0 or more")?;
                return Ok(Step::Compute(party, time));
            }
            _ => {
                return Err(
                    "a step has `client` or `server` with `bytes`, or `computes` (\"client\", \"server\") with `seconds`",
                );
            }
        };
        let parts = match bytes {
            Bytes::One(bytes) => vec![bytes],
            Bytes::Many(bytes) => bytes,
        };
        Ok(Step::Send(party, Message { name: name.into(), number: 0, parts, stateless }))
    }
}

impl TryFrom<File> for Handshake {
    type Error = String;

    fn try_from(file: File) -> Result<Self, String> {
        let steps = file.steps.into_iter().enumerate();
        let steps = steps.map(|(index, entry)| entry.step().map_err(|cause| format!("step {}: {cause}", index + 1)));
        Self::new(file.transport, steps.collect::<Result<_, _>>()?)
    }
}
