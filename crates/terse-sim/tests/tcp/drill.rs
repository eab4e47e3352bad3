//! A drill is a scenario as text: segments with times in milliseconds.
//!
//! A segment is `FLAGS left:right [ack N] [win N] [mss N] [scale N] [sackok] [sack a-b ...] [ts value echo] [ect0|ce]`.
//! FLAGS are the letters S, F, R, P, E (ECE), W (CWR), or `-` for none. Both sides begin with sequence number 0.
//! What is expected is written without windows and timestamps.

use core::fmt::Write as _;
use terse_sim::Time;
use terse_sim::tcp::{Config, Connection, Ecn, Flags, SackBlock, Segment, SequenceNumber, Transmit};

/// A connection, whose peer is the test.
pub(crate) struct Drill {
    pub(crate) connection: Connection,
    now: Time,
    /// The segments that were sent and not expected yet.
    sent: Vec<String>,
    /// The last segment that was sent.
    pub(crate) last: Segment,
}

impl Drill {
    /// Returns a client that has just begun.
    pub(crate) fn client(config: Config) -> Self {
        let connection = Connection::connect(config, 1, 2, 0, Time::ZERO);
        Self::new(connection)
    }

    /// Returns a server that has just received this SYN.
    pub(crate) fn server(config: Config, syn: &str) -> Self {
        let connection = Connection::accept(config, &parse(syn).0, 0, Time::ZERO).expect("it is a SYN");
        Self::new(connection)
    }

    /// Returns a client whose handshake took from 0 to 100 ms; the peer's SYN has these options.
    pub(crate) fn established(config: Config, options: &str) -> Self {
        let mut drill = Self::client(config);
        drill.at(100);
        drill.inject(&format!("S 0:0 ack 1 {options}"));
        drill.sent.clear();
        drill
    }

    fn new(connection: Connection) -> Self {
        let mut drill = Self { connection, now: Time::ZERO, sent: Vec::new(), last: Segment::default() };
        drill.transmit();
        drill
    }

    /// Lets time pass until `milliseconds`; timers expire on the way.
    pub(crate) fn at(&mut self, milliseconds: u64) {
        let until = Time::from_millis(milliseconds);
        while let Some(time) = self.connection.poll_timeout().filter(|time| *time <= until) {
            self.now = self.now.max(time);
            self.connection.handle_timeout(self.now);
            self.transmit();
        }
        self.now = until;
    }

    /// Delivers a segment.
    pub(crate) fn inject(&mut self, text: &str) {
        let (segment, ecn) = parse(text);
        self.connection.handle_segment(self.now, &segment, ecn);
        self.transmit();
    }

    pub(crate) fn write(&mut self, len: usize) {
        assert_eq!(self.connection.send(self.now, &vec![7; len]), len);
        self.transmit();
    }

    pub(crate) fn read(&mut self, len: usize) {
        assert_eq!(self.connection.recv(self.now, &mut vec![0; len]), len);
        self.transmit();
    }

    pub(crate) fn close(&mut self) {
        self.connection.close(self.now);
        self.transmit();
    }

    pub(crate) fn abort(&mut self) {
        self.connection.abort(self.now);
        self.transmit();
    }

    /// Asserts that exactly these segments were sent since the last call: `milliseconds segment`.
    #[track_caller]
    pub(crate) fn expect(&mut self, expected: &[&str]) {
        assert_eq!(core::mem::take(&mut self.sent), expected);
    }

    fn transmit(&mut self) {
        while let Some(Transmit { segment, ecn }) = self.connection.poll_transmit(self.now) {
            self.sent.push(format!("{} {}", self.now.as_millis(), describe(&segment, ecn)));
            self.last = segment;
        }
    }
}

fn describe(segment: &Segment, ecn: Ecn) -> String {
    let Flags { fin, syn, rst, psh, ece, cwr } = segment.flags;
    let letters = [(syn, 'S'), (fin, 'F'), (rst, 'R'), (psh, 'P'), (ece, 'E'), (cwr, 'W')];
    let mut text: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
    if text.is_empty() {
        text.push('-');
    }
    let left = segment.sequence.0;
    write!(text, " {left}:{}", left.wrapping_add(segment.payload.len() as u32)).expect("a string");
    if let Some(acknowledgement) = segment.acknowledgement {
        write!(text, " ack {}", acknowledgement.0).expect("a string");
    }
    if !segment.options.sack.is_empty() {
        text.push_str(" sack");
        for block in &segment.options.sack {
            write!(text, " {}-{}", block.left.0, block.right.0).expect("a string");
        }
    }
    match ecn {
        Ecn::NotEct => {}
        Ecn::Ect0 => text.push_str(" ect0"),
        other => panic!("nothing here sends {other:?}"),
    }
    text
}

fn parse(text: &str) -> (Segment, Ecn) {
    let mut words = text.split_whitespace().peekable();
    let flags = words.next().expect("flags");
    let (left, right) = pair(words.next().expect("a range"), ':');
    let mut segment = Segment {
        source_port: 2,
        destination_port: 1,
        sequence: SequenceNumber(left),
        flags: Flags {
            syn: flags.contains('S'),
            fin: flags.contains('F'),
            rst: flags.contains('R'),
            psh: flags.contains('P'),
            ece: flags.contains('E'),
            cwr: flags.contains('W'),
        },
        window: 60_000,
        payload: vec![9; right.wrapping_sub(left) as usize],
        ..Segment::default()
    };
    let mut ecn = Ecn::NotEct;
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).expect("a number");
        match word {
            "ack" => segment.acknowledgement = Some(SequenceNumber(number())),
            "win" => segment.window = number() as u16,
            "mss" => segment.options.maximum_segment_size = Some(number() as u16),
            "scale" => segment.options.window_scale = Some(number() as u8),
            "sackok" => segment.options.sack_permitted = true,
            "ts" => segment.options.timestamps = Some((number(), number())),
            "sack" => {
                while let Some(block) = words.next_if(|word| word.contains('-')) {
                    let (left, right) = pair(block, '-');
                    let block = SackBlock { left: SequenceNumber(left), right: SequenceNumber(right) };
                    segment.options.sack.push(block);
                }
            }
            "ect0" => ecn = Ecn::Ect0,
            "ce" => ecn = Ecn::Ce,
            other => panic!("what is {other}?"),
        }
    }
    (segment, ecn)
}

fn pair(text: &str, separator: char) -> (u32, u32) {
    let (left, right) = text.split_once(separator).expect("two numbers");
    (left.parse().expect("a number"), right.parse().expect("a number"))
}
